-- version moves with every visible change of the account; change_seq orders canonical changes (walks);
-- both are raised by the last statement of a writing transaction.
CREATE TABLE account (
  id              uuid PRIMARY KEY,
  name            text NOT NULL CHECK (name <> ''),
  version         bigint NOT NULL DEFAULT 0,
  change_seq      bigint NOT NULL DEFAULT 0,
  last_changed_at timestamptz NOT NULL DEFAULT app_now(),
  created_at      timestamptz NOT NULL DEFAULT app_now()
);

-- Looked up by hash before the account is known: the hash is global by design.
CREATE TABLE api_key (
  account_id   uuid NOT NULL REFERENCES account (id),
  id           uuid NOT NULL,
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  name         text NOT NULL CHECK (name <> ''),
  last_four    text NOT NULL CHECK (length(last_four) = 4),
  scopes       text[] NOT NULL CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['pim:read', 'pim:write']),
  created_at   timestamptz NOT NULL DEFAULT app_now(),
  last_used_at timestamptz,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  PRIMARY KEY (account_id, id)
);
