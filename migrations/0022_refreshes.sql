-- A refresh reads the store through its platform: it has no file.
ALTER TABLE import_run DROP CONSTRAINT import_run_source_check;
ALTER TABLE import_run
  ALTER COLUMN file_name DROP NOT NULL,
  ADD CONSTRAINT import_run_source_check CHECK (source IN ('csv', 'refresh')),
  ADD CONSTRAINT import_run_file_check CHECK ((source = 'csv') = (file_name IS NOT NULL));

-- What a refresh read of a store, and the entity that each record is: until it is under review. root is the record's own
-- ordinal, of a variant that of its product: a product and its variants lie together.
CREATE TABLE import_record (
  account_id  uuid NOT NULL,
  run_id      uuid NOT NULL,
  root        integer NOT NULL,
  ordinal     integer NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('product', 'variant', 'collection', 'media')),
  platform_id text NOT NULL,
  said_id     uuid,
  sku         text,
  handle      text,
  address     text,
  attributes  jsonb NOT NULL CHECK (jsonb_typeof(attributes) = 'object'),
  related     text[] NOT NULL,
  entity_id   uuid,
  PRIMARY KEY (account_id, run_id, root, ordinal),
  FOREIGN KEY (account_id, run_id) REFERENCES import_run (account_id, id)
);

CREATE UNIQUE INDEX import_record_platform ON import_record (account_id, run_id, platform_id);
CREATE UNIQUE INDEX import_record_entity ON import_record (account_id, run_id, entity_id) WHERE entity_id IS NOT NULL;
CREATE INDEX import_record_sku ON import_record (account_id, run_id, sku) WHERE sku IS NOT NULL;

-- A field that was edited here and in the store since the last publish, and who decided which value stays.
CREATE TABLE import_conflict (
  account_id   uuid NOT NULL,
  run_id       uuid NOT NULL,
  ordinal      integer NOT NULL,
  entity_id    uuid NOT NULL,
  store_id     uuid NOT NULL,
  field        text NOT NULL,
  accepted     text,
  draft_value  text NOT NULL,
  store_value  text NOT NULL,
  decision     text CHECK (decision IN ('keep_draft', 'take_store')),
  decided_kind text CHECK (decided_kind IN ('user', 'key', 'connection', 'cli')),
  decided_id   uuid,
  decided_name text,
  decided_at   timestamptz,
  PRIMARY KEY (account_id, run_id, ordinal),
  FOREIGN KEY (account_id, run_id) REFERENCES import_run (account_id, id),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  CHECK ((decision IS NULL) = (decided_kind IS NULL) AND (decision IS NULL) = (decided_at IS NULL))
);

-- What a refresh matches by. An address may be longer than an index takes.
CREATE INDEX IF NOT EXISTS store_version_platform ON store_version (account_id, store_id, platform_id) WHERE platform_id IS NOT NULL;
CREATE INDEX entity_address ON entity (account_id, md5(split_part(attributes #>> '{url,value}', '?', 1))) WHERE kind = 'media';
CREATE INDEX entity_collection_handle ON entity (account_id, (attributes #>> '{handle,value}')) WHERE kind = 'collection';
