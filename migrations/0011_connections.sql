-- OAuth clients. They belong to no account: users of any account may connect to one.
CREATE TABLE oauth_client (
  id            uuid PRIMARY KEY,
  name          text NOT NULL CHECK (name <> ''),
  redirect_uris text[] NOT NULL CHECK (cardinality(redirect_uris) > 0),
  created_at    timestamptz NOT NULL DEFAULT app_now(),
  -- The URL of the metadata document that identifies the client. The row is a copy of the document as it was last read. Null: the client
  -- registered itself.
  metadata_url  text UNIQUE
);

CREATE INDEX oauth_client_created ON oauth_client (created_at);

-- An authorization request, as the consent page showed it. The decision applies to this row, not to what the form
-- sends.
CREATE TABLE oauth_request (
  account_id     uuid NOT NULL,
  id             uuid NOT NULL,
  user_id        uuid NOT NULL,
  -- The session of the browser that showed the page. Other browsers cannot decide.
  session_hash   bytea NOT NULL CHECK (length(session_hash) = 32),
  -- SHA-256 of the token in the page's form. The token is valid for one decision.
  form_hash      bytea NOT NULL CHECK (length(form_hash) = 32),
  client_id      uuid NOT NULL REFERENCES oauth_client (id),
  redirect_uri   text NOT NULL,
  state          text,
  tier           text NOT NULL CHECK (tier IN ('pim:read', 'pim:write', 'pim:publish')),
  code_challenge text NOT NULL,
  resource       text NOT NULL,
  expires_at     timestamptz NOT NULL,
  decided_at     timestamptz,
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);

CREATE INDEX oauth_request_client ON oauth_request (client_id);
CREATE INDEX oauth_request_expiry ON oauth_request (expires_at);

-- A connection: the access that a user granted to a client. The row stays after the connection ended.
CREATE TABLE oauth_grant (
  account_id      uuid NOT NULL,
  id              uuid NOT NULL,
  user_id         uuid NOT NULL,
  client_id       uuid NOT NULL REFERENCES oauth_client (id),
  client_name     text NOT NULL,
  redirect_host   text NOT NULL,
  tier            text NOT NULL CHECK (tier IN ('pim:read', 'pim:write', 'pim:publish')),
  -- The URL (OAuth resource) for which its tokens are valid.
  resource        text NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT app_now(),
  last_used_at    timestamptz,
  ended_at        timestamptz,
  end_reason      text CHECK (end_reason IN ('disconnected', 'revoked', 'token_replayed', 'code_replayed', 'user_disabled')),
  -- Expiry of its newest refresh token. After that, the connection is shown as ended.
  lapses_at       timestamptz NOT NULL DEFAULT app_now(),
  -- The stores that the connection may use. Null: all stores of the account, including stores that are linked later. Ids of unlinked
  -- stores stay in it.
  store_ids       uuid[] CHECK (cardinality(store_ids) > 0),
  -- Whether a person confirms each of its publishes.
  confirm_publish boolean NOT NULL DEFAULT false,
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id),
  CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);

CREATE INDEX oauth_grant_client ON oauth_grant (client_id);

-- An authorization code. Its first use consumes it, even if that use fails. grant_id is the connection that a
-- successful use created.
CREATE TABLE oauth_code (
  account_id      uuid NOT NULL,
  hash            bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  user_id         uuid NOT NULL,
  client_id       uuid NOT NULL REFERENCES oauth_client (id),
  redirect_uri    text NOT NULL,
  tier            text NOT NULL CHECK (tier IN ('pim:read', 'pim:write', 'pim:publish')),
  code_challenge  text NOT NULL,
  resource        text NOT NULL,
  expires_at      timestamptz NOT NULL,
  used_at         timestamptz,
  grant_id        uuid,
  -- As in oauth_grant.
  store_ids       uuid[] CHECK (cardinality(store_ids) > 0),
  confirm_publish boolean NOT NULL DEFAULT false,
  PRIMARY KEY (account_id, hash),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id),
  FOREIGN KEY (account_id, grant_id) REFERENCES oauth_grant (account_id, id)
);

CREATE INDEX oauth_code_client ON oauth_code (client_id);
CREATE INDEX oauth_code_grant ON oauth_code (account_id, grant_id);
CREATE INDEX oauth_code_expiry ON oauth_code (expires_at);

-- Access and refresh tokens of a connection. A used refresh token stays until it expires, so that a second use is
-- detected. parent_hash is the refresh token that was exchanged for this token.
CREATE TABLE oauth_token (
  account_id  uuid NOT NULL,
  hash        bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  grant_id    uuid NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('access', 'refresh')),
  -- An access token may have a lower tier than the connection.
  tier        text NOT NULL CHECK (tier IN ('pim:read', 'pim:write', 'pim:publish')),
  parent_hash bytea CHECK (length(parent_hash) = 32),
  expires_at  timestamptz NOT NULL,
  used_at     timestamptz,
  PRIMARY KEY (account_id, hash),
  FOREIGN KEY (account_id, grant_id) REFERENCES oauth_grant (account_id, id)
);

CREATE INDEX oauth_token_grant ON oauth_token (account_id, grant_id);
CREATE INDEX oauth_token_parent ON oauth_token (account_id, parent_hash) WHERE kind = 'refresh';
CREATE INDEX oauth_token_expiry ON oauth_token (expires_at);

-- Number of tool calls of a connection on one UTC day. Each process adds its counts every few seconds. Writes and
-- publishes of connections are counted from entity_history. No foreign key to oauth_grant, so that adding takes no lock
-- there; rows are deleted after 90 days.
CREATE TABLE connection_activity (
  account_id    uuid NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  connection_id uuid NOT NULL,
  day           date NOT NULL,
  calls         bigint NOT NULL CHECK (calls > 0),
  PRIMARY KEY (account_id, connection_id, day)
);

CREATE INDEX connection_activity_day ON connection_activity (day);
