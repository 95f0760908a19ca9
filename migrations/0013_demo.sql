-- The shops of the demo platform: the data that a real commerce platform would keep itself. Catalog tables never refer to them.

-- A product, variant, collection or file of a shop. Variants without a position come last.
CREATE TABLE demo_shop_record (
  account_id  uuid NOT NULL,
  store_id    uuid NOT NULL,
  platform_id text NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('product', 'variant', 'collection', 'media')),
  entity_id   uuid,
  parent_id   text,
  position    integer,
  attributes  jsonb NOT NULL CHECK (jsonb_typeof(attributes) = 'object'),
  media       text[] NOT NULL DEFAULT '{}',
  members     text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (account_id, store_id, platform_id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  CHECK ((kind = 'variant') = (parent_id IS NOT NULL))
);

-- A publication that was applied. key is the publication's id: a repeated request with the same key changes nothing.
CREATE TABLE demo_shop_effect (
  account_id   uuid NOT NULL,
  store_id     uuid NOT NULL,
  key          text NOT NULL,
  entity_id    uuid NOT NULL,
  platform_ids jsonb NOT NULL,
  applied_at   timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, store_id, key),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);

-- The failures that a shop simulates: each kind, with the percentage of calls that it affects.
CREATE TABLE demo_shop_failure (
  account_id   uuid NOT NULL,
  store_id     uuid NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('delay', 'error', 'refuse', 'lost')),
  percent      integer NOT NULL CHECK (percent BETWEEN 1 AND 100),
  delay_millis integer NOT NULL DEFAULT 0 CHECK (delay_millis >= 0),
  PRIMARY KEY (account_id, store_id, kind),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);

-- Markets, definitions, entries and translations of a shop, in the form in which the platform client returns them.
CREATE TABLE demo_shop_section (
  account_id uuid NOT NULL,
  store_id   uuid NOT NULL,
  section    text NOT NULL,
  ordinal    integer NOT NULL,
  content    jsonb NOT NULL,
  PRIMARY KEY (account_id, store_id, section, ordinal),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);
