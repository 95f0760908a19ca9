-- Who signs in to the pages. An e-mail signs in to one account: it is looked up before the account is known.
CREATE TABLE app_user (
  account_id  uuid NOT NULL REFERENCES account (id),
  id          uuid NOT NULL,
  -- In lower case.
  email       text NOT NULL UNIQUE CHECK (email <> ''),
  -- scrypt with its cost and salt; null: none was set yet.
  password    text,
  created_at  timestamptz NOT NULL DEFAULT app_now(),
  disabled_at timestamptz,
  PRIMARY KEY (account_id, id)
);

-- The one link by which a user may set a password; a newer one takes its place. Looked up by hash before the account is known.
CREATE TABLE password_link (
  account_id uuid NOT NULL,
  user_id    uuid NOT NULL,
  hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, user_id),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);

-- A browser that is signed in. Looked up by the hash of its cookie before the account is known.
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
CREATE INDEX password_link_expiry ON password_link (expires_at);

-- Attempts of somebody who is not known yet: to sign in with an e-mail, to register a client from an address. `subject` is
-- the SHA-256 of that e-mail or address. One row a window, counted in one statement.
CREATE TABLE attempt (
  kind     text NOT NULL CHECK (kind IN ('sign-in', 'registration')),
  subject  bytea NOT NULL CHECK (length(subject) = 32),
  since    timestamptz NOT NULL DEFAULT app_now(),
  attempts integer NOT NULL DEFAULT 1,
  PRIMARY KEY (kind, subject)
);

CREATE INDEX attempt_since ON attempt (since);
