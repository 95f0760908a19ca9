-- A commerce store linked to the account. Unlinking keeps the row, so linking the domain again restores its store versions.
CREATE TABLE store (
  account_id       uuid NOT NULL REFERENCES account (id),
  id               uuid NOT NULL,
  domain           text NOT NULL CHECK (domain <> ''),
  name             text NOT NULL CHECK (name <> ''),
  platform         text NOT NULL CHECK (platform IN ('shopify', 'demo', 'none')),
  status           text NOT NULL DEFAULT 'linked' CHECK (status IN ('linked', 'unlinked')),
  primary_locale   text NOT NULL,
  locales          text[] NOT NULL,
  currency         text NOT NULL,
  last_imported_at timestamptz,
  -- The account's change_seq when the store was last unlinked. Derived columns of its store versions can be outdated
  -- only for entities that were stamped after that.
  unlinked_at_seq  bigint,
  -- The platform's token, encrypted and bound to this account and store (src/stores/SecretBox.ts). Null: the platform
  -- needs no token, or the store is not linked.
  credential       bytea,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, domain)
);

-- A linked Shopify store belongs to one account only. The service reveals that a domain is taken only to a caller with
-- a token that works for that store.
CREATE UNIQUE INDEX store_shopify_domain ON store (domain) WHERE platform = 'shopify' AND status = 'linked';
