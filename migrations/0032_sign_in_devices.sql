-- A browser in which a user has signed in before, known by a cookie that outlives the session. Failures in it are counted
-- apart, so strangers who guess at the user's e-mail do not lock it out. Looked up by the hash of its cookie before the
-- account is known.
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

-- Attempts to sign in are counted by e-mail, by address, and by such a browser.
ALTER TABLE attempt DROP CONSTRAINT attempt_kind_check;
ALTER TABLE attempt ADD CONSTRAINT attempt_kind_check
  CHECK (kind IN ('sign-in', 'sign-in-address', 'sign-in-device', 'registration'));
