-- version rises with every visible change of the account. change_seq orders changes of canonical values, for stable lists.
-- The last statement of a writing transaction raises both.
CREATE TABLE account (
  id              uuid PRIMARY KEY,
  name            text NOT NULL CHECK (name <> ''),
  version         bigint NOT NULL DEFAULT 0,
  change_seq      bigint NOT NULL DEFAULT 0,
  last_changed_at timestamptz NOT NULL DEFAULT app_now(),
  created_at      timestamptz NOT NULL DEFAULT app_now()
);

-- Hashes of keys, sessions, links and tokens are unique over all accounts: they are looked up before the account is known.
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

-- People who sign in to the console. An e-mail address belongs to one account.
CREATE TABLE app_user (
  account_id  uuid NOT NULL REFERENCES account (id),
  id          uuid NOT NULL,
  -- Stored in lower case.
  email       text NOT NULL UNIQUE CHECK (email <> ''),
  -- scrypt hash with its cost and salt. Null until the user sets a password.
  password    text,
  created_at  timestamptz NOT NULL DEFAULT app_now(),
  disabled_at timestamptz,
  PRIMARY KEY (account_id, id)
);

-- A link with which a user sets a password. Each user has at most one: a new link replaces the old one.
CREATE TABLE password_link (
  account_id uuid NOT NULL,
  user_id    uuid NOT NULL,
  hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, user_id),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);

CREATE INDEX password_link_expiry ON password_link (expires_at);

-- A signed-in browser. hash is the hash of its cookie.
CREATE TABLE session (
  account_id   uuid NOT NULL,
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  user_id      uuid NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT app_now(),
  last_seen_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, hash),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);

CREATE INDEX session_of_user ON session (account_id, user_id);
CREATE INDEX session_idle ON session (last_seen_at);
CREATE INDEX session_begun ON session (created_at);

-- A browser in which a user has signed in before. Its cookie outlives the session; hash is the hash of that cookie.
-- Failed attempts from it are counted separately, so that strangers who guess passwords cannot lock the user out there.
CREATE TABLE sign_in_device (
  account_id   uuid NOT NULL,
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  user_id      uuid NOT NULL,
  signed_in_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, hash),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);

CREATE INDEX sign_in_device_of_user ON sign_in_device (account_id, user_id, signed_in_at);
CREATE INDEX sign_in_device_age ON sign_in_device (signed_in_at);

-- Counts attempts to sign in (by e-mail, by network address, by known browser) and to register an OAuth client (by
-- network address). subject is the SHA-256 of the e-mail, address or cookie. Each row counts one window of time.
CREATE TABLE attempt (
  kind     text NOT NULL CHECK (kind IN ('sign-in', 'sign-in-address', 'sign-in-device', 'registration')),
  subject  bytea NOT NULL CHECK (length(subject) = 32),
  since    timestamptz NOT NULL DEFAULT app_now(),
  attempts integer NOT NULL DEFAULT 1,
  PRIMARY KEY (kind, subject)
);

CREATE INDEX attempt_since ON attempt (since);
