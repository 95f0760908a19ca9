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

-- Why the mail with the link was not delivered, and until when it is sent again. Null: it was delivered, or not sent by mail.
ALTER TABLE password_link
  ADD COLUMN mail_problem     text,
  ADD COLUMN mail_retry_until timestamptz;
