-- Definitions of metafields and metaobjects, and the entries of the latter. Those of several stores with the same owner type,
-- namespace and key, or the same type, are one definition; its row stays when no store has it any more, so that it keeps its id
-- when one has it again.
CREATE TABLE metafield_definition (
  account_id uuid NOT NULL REFERENCES account (id),
  id         uuid NOT NULL,
  owner_type text NOT NULL CHECK (owner_type IN ('product', 'variant', 'collection', 'media', 'market', 'shop')),
  namespace  text NOT NULL,
  key        text NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, owner_type, namespace, key)
);

-- A definition as one store has it.
CREATE TABLE metafield_definition_store (
  account_id       uuid NOT NULL,
  store_id         uuid NOT NULL,
  definition_id    uuid NOT NULL,
  platform_id      text NOT NULL,
  name             text NOT NULL,
  description      text,
  type             text NOT NULL,
  validations      jsonb NOT NULL CHECK (jsonb_typeof(validations) = 'array'),
  metafields_count bigint NOT NULL,
  PRIMARY KEY (account_id, store_id, definition_id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  FOREIGN KEY (account_id, definition_id) REFERENCES metafield_definition (account_id, id)
);

CREATE TABLE metaobject_definition (
  account_id uuid NOT NULL REFERENCES account (id),
  id         uuid NOT NULL,
  type       text NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, type)
);

-- entries_count is what the platform counts; of more than 10,000 entries only so many are kept.
CREATE TABLE metaobject_definition_store (
  account_id       uuid NOT NULL,
  store_id         uuid NOT NULL,
  definition_id    uuid NOT NULL,
  platform_id      text NOT NULL,
  name             text NOT NULL,
  description      text,
  display_name_key text,
  fields           jsonb NOT NULL CHECK (jsonb_typeof(fields) = 'array'),
  entries_count    bigint NOT NULL,
  translatable     boolean NOT NULL,
  PRIMARY KEY (account_id, store_id, definition_id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  FOREIGN KEY (account_id, definition_id) REFERENCES metaobject_definition (account_id, id)
);

-- An entry belongs to one store.
CREATE TABLE metaobject_entry (
  account_id    uuid NOT NULL,
  id            uuid NOT NULL,
  definition_id uuid NOT NULL,
  store_id      uuid NOT NULL,
  platform_id   text NOT NULL,
  handle        text NOT NULL,
  display_name  text NOT NULL,
  status        text NOT NULL CHECK (status IN ('active', 'draft')),
  fields        jsonb NOT NULL CHECK (jsonb_typeof(fields) = 'array'),
  updated_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, store_id, platform_id),
  FOREIGN KEY (account_id, definition_id) REFERENCES metaobject_definition (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);

CREATE INDEX metaobject_entry_by_definition ON metaobject_entry (account_id, definition_id);
