-- Data of stores other than their catalogs: markets, definitions of metafields and metaobjects, translations. A market
-- or definition that several stores share is one row here and one row per store in the table *_store. The shared row
-- stays when no store has it any more, so it keeps its id if a store adds it again.

-- Markets of several stores with the same handle are one shared market.
CREATE TABLE market (
  account_id uuid NOT NULL REFERENCES account (id),
  id         uuid NOT NULL,
  handle     text NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, handle)
);

CREATE TABLE market_store (
  account_id    uuid NOT NULL,
  store_id      uuid NOT NULL,
  market_id     uuid NOT NULL,
  platform_id   text NOT NULL,
  name          text NOT NULL,
  status        text NOT NULL CHECK (status IN ('active', 'draft')),
  type          text NOT NULL,
  currency      text,
  regions       jsonb NOT NULL CHECK (jsonb_typeof(regions) = 'array'),
  web_presences jsonb NOT NULL CHECK (jsonb_typeof(web_presences) = 'array'),
  PRIMARY KEY (account_id, store_id, market_id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  FOREIGN KEY (account_id, market_id) REFERENCES market (account_id, id)
);

-- A price catalog attached to a market of a store. id is the platform's; a store may attach one catalog to several markets.
CREATE TABLE market_catalog (
  account_id       uuid NOT NULL,
  store_id         uuid NOT NULL,
  market_id        uuid NOT NULL,
  id               text NOT NULL,
  title            text NOT NULL,
  status           text NOT NULL CHECK (status IN ('active', 'archived', 'draft')),
  currency         text,
  price_adjustment jsonb,
  PRIMARY KEY (account_id, store_id, market_id, id),
  FOREIGN KEY (account_id, store_id, market_id) REFERENCES market_store (account_id, store_id, market_id) ON DELETE CASCADE
);

-- Metafield definitions of several stores with the same owner type, namespace and key are one shared definition.
CREATE TABLE metafield_definition (
  account_id uuid NOT NULL REFERENCES account (id),
  id         uuid NOT NULL,
  owner_type text NOT NULL CHECK (owner_type IN ('product', 'variant', 'collection', 'media', 'market', 'shop')),
  namespace  text NOT NULL,
  key        text NOT NULL,
  -- The account's own definition: name, description, type, validations. Null: only stores define the key.
  own        jsonb CHECK (jsonb_typeof(own) = 'object'),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, owner_type, namespace, key)
);

CREATE TABLE metafield_definition_store (
  account_id       uuid NOT NULL,
  store_id         uuid NOT NULL,
  definition_id    uuid NOT NULL,
  -- Empty: an imported file defines the key, not the platform.
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

-- Metaobject definitions of several stores with the same type are one shared definition.
CREATE TABLE metaobject_definition (
  account_id uuid NOT NULL REFERENCES account (id),
  id         uuid NOT NULL,
  type       text NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, type)
);

-- entries_count is the number on the platform. At most 10,000 entries of a definition are stored here.
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

-- Translations of products and collections, as the platform had them at the last refresh. Rows stay when the entity is
-- removed from the store; readers therefore join store_version, and store to skip unlinked stores.

-- A translatable field with its text in the source language. key is the platform's (title, body_html, meta_title, ...). A field
-- with an empty source has nothing to translate.
CREATE TABLE translatable_field (
  account_id    uuid NOT NULL,
  store_id      uuid NOT NULL,
  entity_id     uuid NOT NULL,
  key           text NOT NULL,
  type          text NOT NULL,
  source_locale text NOT NULL,
  source_value  text NOT NULL,
  digest        text,
  PRIMARY KEY (account_id, store_id, entity_id, key),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id)
);

-- One text in one language. source_digest: digest of the source text from which it was translated. digest: digest of
-- the source text now (translatable_field.digest, null if the platform provides none). The translation is outdated if
-- they differ. If one is unknown, said_outdated, the platform's own answer, decides.
--
-- Outdated fields of a store:     SELECT entity_id, locale, key FROM translation WHERE account_id = .. AND store_id = .. AND outdated
-- Fields without a translation:   each translatable_field f with source_value <> '', for each language of store.locales except
--                                 f.source_locale, if no translation of (entity_id, locale, key) has a value other than ''
CREATE TABLE translation (
  account_id    uuid NOT NULL,
  store_id      uuid NOT NULL,
  entity_id     uuid NOT NULL,
  locale        text NOT NULL,
  key           text NOT NULL,
  value         text NOT NULL,
  source_digest text,
  digest        text,
  said_outdated boolean NOT NULL,
  outdated      boolean NOT NULL GENERATED ALWAYS AS (
    CASE WHEN source_digest IS NOT NULL AND digest IS NOT NULL THEN source_digest <> digest ELSE said_outdated END
  ) STORED,
  updated_at    timestamptz,
  PRIMARY KEY (account_id, store_id, entity_id, locale, key),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id)
);

-- Data of these tables that an import has read but not applied yet. One row is a market, a definition, an entry, the
-- translatable fields of an entity, or its translations in one language. name identifies the row within its kind; a
-- later row with the same name replaces it. Every look-up uses the whole key, because the planner has no statistics
-- about a table that was just filled.
CREATE TABLE mirror_item (
  account_id uuid NOT NULL REFERENCES account (id),
  import_id  uuid NOT NULL,
  kind       text NOT NULL
    CHECK (kind IN (
      'market', 'metafield_definition', 'metaobject_definition', 'metaobject_entry', 'translatable_fields', 'translations'
    )),
  name       text NOT NULL COLLATE "C",
  -- The id for the record to create, if none exists yet.
  id         uuid NOT NULL,
  content    jsonb NOT NULL,
  staged_at  timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, import_id, kind, name)
);

CREATE INDEX mirror_item_staged_at ON mirror_item (staged_at);
