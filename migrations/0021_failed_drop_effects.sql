-- The failed effects of a store, which are opened again when it is linked again.
CREATE INDEX drop_effect_failed ON drop_effect (account_id, store_id) WHERE outcome = 'failed';
