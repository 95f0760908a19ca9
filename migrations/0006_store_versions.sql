-- What a store says differently (overrides: key -> {value, type}) and what it last accepted (null: never).
CREATE TABLE store_version (
  account_id          uuid NOT NULL,
  entity_id           uuid NOT NULL,
  store_id            uuid NOT NULL,
  overrides           jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(overrides) = 'object'),
  accepted            jsonb,
  pending_publish     boolean NOT NULL DEFAULT true,
  last_publish_status text NOT NULL DEFAULT 'never_published'
    CHECK (last_publish_status IN ('never_published', 'pending', 'published', 'failed')),
  published_at        timestamptz,
  last_publish_error  jsonb,
  platform_id         text,
  PRIMARY KEY (account_id, entity_id, store_id),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);

CREATE INDEX store_version_by_store ON store_version (account_id, store_id, entity_id);
