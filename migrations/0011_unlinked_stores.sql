-- The account's change_seq when the store was unlinked last: what is derived of its versions can be out of date only for
-- entities that were stamped since.
ALTER TABLE store ADD COLUMN unlinked_at_seq bigint;
