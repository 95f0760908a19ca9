-- What a user may do. Each role includes the ones before it. Users who exist already keep all rights.
ALTER TABLE app_user
  ADD COLUMN role         text NOT NULL DEFAULT 'admin' CHECK (role IN ('view', 'edit', 'publish', 'admin')),
  ADD COLUMN last_seen_at timestamptz,
  -- Null: not chosen. language is a BCP 47 tag, time_zone a name of the IANA database.
  ADD COLUMN language     text CHECK (language <> ''),
  ADD COLUMN time_zone    text CHECK (time_zone <> '');

ALTER TABLE app_user ALTER COLUMN role DROP DEFAULT;

-- The authenticator app of a user (TOTP). confirmed_at null: it was shown, but no code of it was entered yet.
CREATE TABLE second_factor (
  account_id   uuid NOT NULL,
  user_id      uuid NOT NULL,
  -- Encrypted.
  secret       bytea NOT NULL,
  confirmed_at timestamptz,
  -- The time step of the last accepted code. Codes of this and earlier steps are refused.
  last_step    bigint,
  created_at   timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, user_id),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);

-- Codes for a user without the authenticator app. Each is valid once: its use deletes the row.
CREATE TABLE recovery_code (
  account_id uuid NOT NULL,
  user_id    uuid NOT NULL,
  hash       bytea NOT NULL CHECK (length(hash) = 32),
  PRIMARY KEY (account_id, user_id, hash),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);

-- A sign-in whose password was right and whose second factor is still missing. hash is the hash of the token in its form.
CREATE TABLE sign_in_step (
  account_id uuid NOT NULL,
  hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  user_id    uuid NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, hash),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);

CREATE INDEX sign_in_step_of_user ON sign_in_step (account_id, user_id);
CREATE INDEX sign_in_step_expiry ON sign_in_step (expires_at);

-- Also counts codes of the second factor and checks of the own password (by user), and requests of a new password (by e-mail and by
-- network address).
ALTER TABLE attempt DROP CONSTRAINT attempt_kind_check;
ALTER TABLE attempt ADD CONSTRAINT attempt_kind_check CHECK (kind IN (
  'sign-in', 'sign-in-address', 'sign-in-device', 'registration', 'second-factor', 'own-password', 'new-password',
  'new-password-address'
));
