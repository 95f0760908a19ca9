-- What a store's platform says beside its catalog, read by an import and not yet taken over: one row a market, definition,
-- entry, entity with its translatable fields, or entity and language. name tells the rows of a kind apart; what is read twice is
-- here once, as it was read last. Rows are looked up by their whole key, as of a table that was just filled nothing else is sure.
CREATE TABLE mirror_item (
  account_id uuid NOT NULL REFERENCES account (id),
  import_id  uuid NOT NULL,
  kind       text NOT NULL
    CHECK (kind IN (
      'market', 'metafield_definition', 'metaobject_definition', 'metaobject_entry', 'translatable_fields', 'translations'
    )),
  name       text NOT NULL COLLATE "C",
  -- Of the record that it becomes, if there is none yet.
  id         uuid NOT NULL,
  content    jsonb NOT NULL,
  staged_at  timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, import_id, kind, name)
);

CREATE INDEX mirror_item_staged_at ON mirror_item (staged_at);

-- Whose a platform's record is.
CREATE INDEX IF NOT EXISTS store_version_platform ON store_version (account_id, store_id, platform_id) WHERE platform_id IS NOT NULL;
