-- missing_permissions: the optional permissions that the credential lacked when it was tested last, by the platform's names.
-- new_record_channels: the sales channels on which a publish puts the records that it creates, by the platform's ids. Null: the default of
-- the platform. An empty array: none.
ALTER TABLE store ADD COLUMN missing_permissions text[] NOT NULL DEFAULT '{}', ADD COLUMN new_record_channels text[];

-- The error of a publish that succeeded says what the platform did not do. NOT VALID: all rows satisfied the stricter check, so they need
-- no scan.
ALTER TABLE entity_history DROP CONSTRAINT entity_history_error_check;
ALTER TABLE entity_history ADD CONSTRAINT entity_history_error_check
  CHECK (action = 'published' OR (action = 'publish_failed') = (error IS NOT NULL)) NOT VALID;
