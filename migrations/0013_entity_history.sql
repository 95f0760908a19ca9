-- Who changed the draft of an entity, when and how: one row for every layer (the canonical one, or one store's) that a write
-- changed. Written by the transaction of the change, never updated.
CREATE TABLE entity_history (
  account_id     uuid NOT NULL,
  entity_id      uuid NOT NULL,
  -- Drawn under the entity's lock: of one entity in the order of its changes.
  sequence       bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  draft_revision integer NOT NULL CHECK (draft_revision > 0),
  store_id       uuid,
  action         text NOT NULL
    CHECK (action IN ('created', 'attributes', 'added_to_store', 'removed_from_store', 'gallery', 'members', 'variants')),
  changes        jsonb NOT NULL CHECK (jsonb_typeof(changes) = 'array'),
  actor_kind     text NOT NULL CHECK (actor_kind IN ('user', 'key', 'connection', 'cli')),
  actor_id       uuid,
  actor_name     text,
  -- No foreign key: an import writes a row for every entity, and to check its own id for each costs a tenth of that.
  import_id      uuid,
  at             timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, entity_id, sequence),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);
