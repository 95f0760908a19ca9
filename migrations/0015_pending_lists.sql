-- Lists of entities with a draft that is not yet published, or without one: on any store, and on one store. Usually few are
-- pending, and without these indexes a list of them reads the whole account.
CREATE INDEX entity_walk_by_pending ON entity (account_id, kind, pending_publish, change_seq);
CREATE INDEX store_version_unpublished ON store_version (account_id, store_id, entity_id) WHERE pending_publish;
