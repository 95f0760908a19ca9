-- A commerce store linked to the account. Unlinking keeps the row, so that linking the domain again restores its versions.
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
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, domain)
);
