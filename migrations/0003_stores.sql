-- A commerce store linked to the account. Unlinking keeps the row, so linking the domain again restores its store versions.
CREATE TABLE store (
  account_id       uuid NOT NULL REFERENCES account (id),
  id               uuid NOT NULL,
  domain           text NOT NULL CHECK (domain <> ''),
  name             text NOT NULL CHECK (name <> ''),
  -- Any platform that has an adapter in some process, or none. Which names are adapters is known to the processes only.
  platform         text NOT NULL CHECK (platform ~ '^[a-z][a-z0-9-]{0,31}$'),
  status           text NOT NULL DEFAULT 'linked' CHECK (status IN ('linked', 'unlinked')),
  primary_locale   text NOT NULL,
  locales          text[] NOT NULL,
  currency         text NOT NULL,
  last_imported_at timestamptz,
  -- The account's change_seq when the store was last unlinked. Derived columns of its store versions can be outdated
  -- only for entities that were stamped after that. Null after the job that links the store again has finished.
  unlinked_at_seq  bigint,
  -- The platform's token, encrypted and bound to this account and store (src/stores/SecretBox.ts). Null: the platform
  -- needs no token, or the store is not linked.
  credential       bytea,
  -- The time zone in which merchants enter times of the store: an IANA name. Null: not chosen yet.
  time_zone        text CHECK (time_zone <> ''),
  -- When the platform was last asked whether it accepts the credential, and why it refused it. A refusal of null: it accepted it.
  tested_at        timestamptz,
  refusal          text,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, domain)
);

-- The account that a store is reserved for, of every platform whose adapter verifies stores, so that a store belongs to one account only.
-- The service reveals that a domain is taken only to a caller with a token that works for that store. The key is unique over all accounts; on
-- a cluster, a key of `store` cannot be.
CREATE TABLE shopify_shop (
  domain     text PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account (id)
);

COMMENT ON TABLE shopify_shop IS
  'The account that a store is reserved for: of every platform whose adapter verifies stores, not only of Shopify. The name stays, because processes of the version before use it during an upgrade.';
