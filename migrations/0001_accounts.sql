-- The only source of the current time in the schema. STABLE, so that index conditions can use it. Tests replace it to
-- move time.
CREATE FUNCTION app_now() RETURNS timestamptz
  LANGUAGE sql STABLE
  AS $$ SELECT clock_timestamp() $$;

-- Formats a timestamp as responses do: UTC, always six fractional digits.
CREATE FUNCTION rfc3339(instant timestamptz) RETURNS text
  LANGUAGE sql STABLE
  AS $$ SELECT to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;

-- Like rfc3339(), for RETURNING. IMMUTABLE, because the fixed time zone and pattern make it independent of settings.
CREATE FUNCTION stamp_text(instant timestamptz) RETURNS text
  LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'); END $$;

-- timestamptz + interval is only STABLE, because months and days depend on the time zone; microseconds do not. In an
-- UPDATE, a cluster refuses functions that are not IMMUTABLE. Written in plpgsql, so that PostgreSQL does not inline
-- it.
CREATE FUNCTION plus_micros(instant timestamptz, micros bigint) RETURNS timestamptz
  LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN instant + micros * interval '1 microsecond'; END $$;

-- One row for the whole database. cursor_key signs cursors. It is part of a dump, so cursors survive a restore.
CREATE TABLE installation (
  only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  cursor_key bytea NOT NULL CHECK (length(cursor_key) = 32),
  -- The public address of the service when it last started, for links that commands print. Null before the first start.
  base_url   text
);

-- gen_random_uuid() is the server's cryptographic source. Three of them have 366 random bits.
INSERT INTO installation (cursor_key)
VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

-- A merchant. On a cluster, this table is on every node.
CREATE TABLE account (
  id                     uuid PRIMARY KEY,
  name                   text NOT NULL CHECK (name <> ''),
  created_at             timestamptz NOT NULL DEFAULT app_now(),
  -- Set while a job deletes the account.
  deleting_since         timestamptz,
  -- Whether all users of the account need a second factor.
  requires_second_factor boolean NOT NULL DEFAULT false
);

-- The counters of an account. Every writing transaction raises them, while the columns of `account` rarely change, so they have their
-- own table. On a cluster, it is on the node with the account's rows.
CREATE TABLE account_state (
  account_id      uuid PRIMARY KEY REFERENCES account (id),
  -- Rises with every visible change of the account.
  version         bigint NOT NULL DEFAULT 0,
  -- Orders changes of canonical values, for stable lists.
  change_seq      bigint NOT NULL DEFAULT 0,
  last_changed_at timestamptz NOT NULL DEFAULT app_now(),
  -- The number of the last change in the feed. A transaction draws its numbers when it raises the version, under the lock of this row,
  -- so changes become visible in the order of their numbers, without gaps.
  feed_seq        bigint NOT NULL DEFAULT 0,
  -- Changes up to this number were deleted.
  feed_floor      bigint NOT NULL DEFAULT 0
);

-- The record that stays after an account was deleted. deleted_by: kind and name of the actor.
CREATE TABLE deleted_account (
  id           uuid PRIMARY KEY,
  name         text NOT NULL,
  deleted_by   jsonb NOT NULL,
  requested_at timestamptz NOT NULL,
  deleted_at   timestamptz NOT NULL DEFAULT app_now()
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

-- People who sign in to the console. An e-mail address may be invited to several accounts, so that an invitation does not show whether
-- another account has a user with it. It belongs to the account whose invitation is accepted first, which sets the password.
CREATE TABLE app_user (
  account_id   uuid NOT NULL REFERENCES account (id),
  id           uuid NOT NULL,
  -- Stored in lower case.
  email        text NOT NULL CHECK (email <> ''),
  -- scrypt hash with its cost and salt. Null until the user sets a password.
  password     text,
  created_at   timestamptz NOT NULL DEFAULT app_now(),
  disabled_at  timestamptz,
  -- What the user may do. Each role includes the ones before it.
  role         text NOT NULL CHECK (role IN ('view', 'edit', 'publish', 'admin')),
  last_seen_at timestamptz,
  -- Null: not chosen. language is a BCP 47 tag, time_zone a name of the IANA database.
  language     text CHECK (language <> ''),
  time_zone    text CHECK (time_zone <> ''),
  PRIMARY KEY (account_id, id)
);

CREATE UNIQUE INDEX app_user_email ON app_user (email) WHERE password IS NOT NULL;
CREATE UNIQUE INDEX app_user_of_account ON app_user (account_id, email);

-- A link with which a user sets a password. Each user has at most one: a new link replaces the old one.
CREATE TABLE password_link (
  account_id       uuid NOT NULL,
  user_id          uuid NOT NULL,
  hash             bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  expires_at       timestamptz NOT NULL,
  -- Why the mail with the link was not delivered, and until when it is sent again. Null: it was delivered, or not sent by mail.
  mail_problem     text,
  mail_retry_until timestamptz,
  PRIMARY KEY (account_id, user_id),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);

CREATE INDEX password_link_expiry ON password_link (expires_at);

-- A signed-in browser. hash is the hash of its cookie.
CREATE TABLE session (
  account_id       uuid NOT NULL,
  hash             bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  user_id          uuid NOT NULL,
  created_at       timestamptz NOT NULL DEFAULT app_now(),
  last_seen_at     timestamptz NOT NULL DEFAULT app_now(),
  -- By the User-Agent of the sign-in. Null: not recognised.
  browser          text CHECK (browser <> ''),
  operating_system text CHECK (operating_system <> ''),
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
  -- The time steps of the last accepted codes, newest first. A code that was accepted while the clock was ahead is refused when its time
  -- comes, although last_step is smaller by then.
  used_steps   bigint[] NOT NULL DEFAULT '{}',
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

-- Counts attempts to sign in (by e-mail, by network address, by known browser), to register an OAuth client (by network address), codes of
-- the second factor and checks of the own password (by user), and requests of a new password (by e-mail and by network address). subject is
-- the SHA-256 of the e-mail, address, cookie or id. Each row counts one window of time.
CREATE TABLE attempt (
  kind     text NOT NULL CHECK (kind IN (
    'sign-in', 'sign-in-address', 'sign-in-device', 'registration', 'second-factor', 'own-password', 'new-password',
    'new-password-address'
  )),
  subject  bytea NOT NULL CHECK (length(subject) = 32),
  since    timestamptz NOT NULL DEFAULT app_now(),
  attempts integer NOT NULL DEFAULT 1,
  PRIMARY KEY (kind, subject)
);

CREATE INDEX attempt_since ON attempt (since);

-- Changes of the team: who did what to which user, and when. The names are those of that time, and stay when a user is removed.
-- Without a reference to `account`: on a cluster the table is on the coordinator only, and `account` is on every node.
CREATE TABLE team_event (
  account_id uuid NOT NULL,
  id         bigint GENERATED ALWAYS AS IDENTITY,
  at         timestamptz NOT NULL DEFAULT app_now(),
  actor_kind text NOT NULL,
  actor_id   uuid,
  actor_name text,
  action     text NOT NULL CHECK (action <> ''),
  -- The user that the change is about. Null: the change is about the whole account.
  email      text,
  -- The role that the change gave.
  role       text,
  PRIMARY KEY (account_id, id)
);

-- Filters of a console list that a user saved under a name.
CREATE TABLE saved_view (
  account_id uuid NOT NULL,
  user_id    uuid NOT NULL,
  list       text NOT NULL CHECK (list IN ('product', 'variant', 'collection', 'media')),
  name       text NOT NULL CHECK (name <> ''),
  -- The query of the list's address, without a position: search, filters and order.
  query      text NOT NULL,
  PRIMARY KEY (account_id, user_id, list, name),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);
