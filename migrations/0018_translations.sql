-- What each store says about products and collections in other languages than its main one, as its platform had it at the last
-- refresh. Rows stay while the entity is off the store: who reads joins store_version, and store for what is linked.

-- A field that can be translated, and what it says in its source language. Keys are the platform's: title, body_html,
-- meta_title and so on. An empty source has nothing to translate.
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

-- One value in one language. source_digest is the digest of the source that it was made from, digest that of the source now
-- (translatable_field.digest, null where the platform gives none). A translation is outdated when the two differ; where one of
-- them is not known it is what the platform says (said_outdated).
--
-- Outdated fields of a store:     SELECT entity_id, locale, key FROM translation WHERE account_id = .. AND store_id = .. AND outdated
-- Fields without a translation:   translatable_field f (source_value <> '') for every language of store.locales but
--                                 f.source_locale, where no translation of (entity_id, locale, key) is here with value <> ''
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
