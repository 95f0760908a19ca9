-- Whether a publish ended without a certain outcome, or wrote a part, so that the store may have the entity. An entity that was only refused
-- can be taken off the store.
ALTER TABLE store_version ADD COLUMN may_be_live boolean NOT NULL DEFAULT false;

-- The outcomes of earlier publishes are not known here.
UPDATE store_version SET may_be_live = true WHERE accepted IS NULL AND last_publish_status IN ('pending', 'failed');
