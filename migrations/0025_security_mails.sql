-- Mails that tell users how their sign-in has changed, or that somebody guesses their codes. A row is written in the transaction of the
-- change and deleted when the mail was sent, so no mail is lost if a process ends between the two. No row has a secret.
-- Without references, as team_event: earlier versions delete users without knowing this table. A mail without its user is not sent.
CREATE TABLE security_mail (
  account_id uuid NOT NULL,
  id         uuid NOT NULL DEFAULT gen_random_uuid(),
  user_id    uuid NOT NULL,
  -- The action of team_event, or codes_guessed.
  kind       text NOT NULL CHECK (kind <> ''),
  at         timestamptz NOT NULL DEFAULT app_now(),
  -- The author of the change, by the name at that time. Null for codes_guessed.
  actor_kind text,
  actor_name text,
  -- Attempts that began.
  attempts   integer NOT NULL DEFAULT 0,
  -- When the mail is sent, or sent again if its process has died meanwhile. A new mail is due whatever the clock says.
  due_at     timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (account_id, id)
);

CREATE INDEX security_mail_due ON security_mail (due_at);
CREATE INDEX security_mail_age ON security_mail (at);
