-- Indexes for lists of entities with or without an unpublished draft, on any store and on one store. Usually few drafts
-- are unpublished, and without these indexes such a list reads the whole account.
CREATE INDEX entity_walk_by_pending ON entity (account_id, kind, pending_publish, change_seq);
CREATE INDEX store_version_unpublished ON store_version (account_id, store_id, entity_id) WHERE pending_publish;
