-- Work in steps. Each step is one transaction that also saves where the next one begins (cursor).
CREATE TABLE job (
  account_id  uuid NOT NULL REFERENCES account (id),
  id          uuid NOT NULL,
  kind        text NOT NULL CHECK (kind <> ''),
  -- A title for people, such as "Unlink shop.example".
  title       text NOT NULL CHECK (title <> ''),
  -- The object that the job works on, for example a store. Two open jobs never have the same subject.
  subject     text,
  state       text NOT NULL DEFAULT 'queued'
    CHECK (state IN ('queued', 'running', 'paused', 'cancelled', 'failed', 'done')),
  input       jsonb NOT NULL,
  -- Where the next step begins. Null: at the start.
  cursor      jsonb,
  -- Number of processed items, and of all items. total null: unknown.
  done        bigint NOT NULL DEFAULT 0,
  total       bigint,
  -- Named counts, summed over all steps.
  result      jsonb NOT NULL DEFAULT '{}',
  -- The first refused items, and the number of all refused items.
  errors      jsonb NOT NULL DEFAULT '[]',
  error_count bigint NOT NULL DEFAULT 0,
  -- Why the job failed and what to do next: {why, next}.
  problem     jsonb,
  -- The reason why a queued job waits, for example the end of an import.
  waiting_for text,
  -- The actor on whose behalf the steps run, with the name when the job was created.
  actor       jsonb NOT NULL,
  author      jsonb NOT NULL,
  -- The time from which a process may take the job. While it is running: the end of the lease.
  due_at      timestamptz NOT NULL DEFAULT app_now(),
  claim       uuid,
  claimed_by  text,
  -- Number of times that a process took the job since the last finished step.
  attempts    integer NOT NULL DEFAULT 0,
  created_at  timestamptz NOT NULL DEFAULT app_now(),
  started_at  timestamptz,
  ended_at    timestamptz,
  PRIMARY KEY (account_id, id),
  CHECK ((state = 'running') = (claim IS NOT NULL)),
  CHECK ((state = 'failed') = (problem IS NOT NULL)),
  CHECK ((state IN ('cancelled', 'failed', 'done')) = (ended_at IS NOT NULL))
);

CREATE UNIQUE INDEX job_subject ON job (account_id, subject) WHERE state IN ('queued', 'running', 'paused');
CREATE INDEX job_due ON job (due_at) WHERE state IN ('queued', 'running');
CREATE INDEX job_age ON job (account_id, created_at);
CREATE INDEX job_ended ON job (ended_at) WHERE state IN ('cancelled', 'done', 'failed');

-- From now on, unlinked_at_seq is not null only while derived columns of the store's versions can be outdated: from
-- unlinking until the job that links the store again has finished.
UPDATE store SET unlinked_at_seq = NULL WHERE status = 'linked';

-- Set while a job deletes the account.
ALTER TABLE account ADD COLUMN deleting_since timestamptz;

-- The record that stays after an account was deleted. deleted_by: kind and name of the actor.
CREATE TABLE deleted_account (
  id         uuid PRIMARY KEY,
  name       text NOT NULL,
  deleted_by jsonb NOT NULL,
  requested_at timestamptz NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT app_now()
);

-- As in 0005, except that rows of an account that is being deleted need no stamp, because its lists are no longer read.
CREATE OR REPLACE FUNCTION refuse_unstamped(account uuid, owner uuid, why text) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM account a WHERE a.id = refuse_unstamped.account AND a.deleting_since IS NOT NULL) THEN
    RETURN;
  END IF;
  RAISE EXCEPTION 'entity % of account % was not stamped: % (raise the counter in the last statement)', owner, account, why
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
