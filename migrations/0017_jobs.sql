-- Work that is done in steps: each step is one transaction that also saves the cursor of the next.
CREATE TABLE job (
  account_id  uuid NOT NULL REFERENCES account (id),
  id          uuid NOT NULL,
  kind        text NOT NULL CHECK (kind <> ''),
  -- A line for people, such as "Unlink shop.example".
  title       text NOT NULL CHECK (title <> ''),
  -- What the job works on, for example a store. Two open jobs never have the same subject.
  subject     text,
  state       text NOT NULL DEFAULT 'queued'
    CHECK (state IN ('queued', 'running', 'paused', 'cancelled', 'failed', 'done')),
  input       jsonb NOT NULL,
  -- Where the next step begins. Null: at the start.
  cursor      jsonb,
  -- Progress in items. total null: unknown.
  done        bigint NOT NULL DEFAULT 0,
  total       bigint,
  -- Named counts that the steps add up.
  result      jsonb NOT NULL DEFAULT '{}',
  -- The first refused items, and the number of all.
  errors      jsonb NOT NULL DEFAULT '[]',
  error_count bigint NOT NULL DEFAULT 0,
  -- Why the job failed and what to do next: {why, next}.
  problem     jsonb,
  -- What a queued job waits for, for example the end of an import.
  waiting_for text,
  -- On whose behalf the steps run, and that actor's name when the job began.
  actor       jsonb NOT NULL,
  author      jsonb NOT NULL,
  -- When a process may take the job: while it is running, the end of the lease.
  due_at      timestamptz NOT NULL DEFAULT app_now(),
  claim       uuid,
  claimed_by  text,
  -- How often a process took the job since the last finished step.
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

-- unlinked_at_seq is null from now on unless derived columns of the store's versions can be out of date: until the job that
-- links a store again has reached its end.
UPDATE store SET unlinked_at_seq = NULL WHERE status = 'linked';

-- Set while the account is deleted.
ALTER TABLE account ADD COLUMN deleting_since timestamptz;

-- What is left of a deleted account. deleted_by: the actor's kind and name.
CREATE TABLE deleted_account (
  id         uuid PRIMARY KEY,
  name       text NOT NULL,
  deleted_by jsonb NOT NULL,
  requested_at timestamptz NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT app_now()
);

-- As in 0005, except that rows of an account that is being deleted need no stamp: nobody reads its lists any more.
CREATE OR REPLACE FUNCTION refuse_unstamped(account uuid, owner uuid, why text) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM account a WHERE a.id = refuse_unstamped.account AND a.deleting_since IS NOT NULL) THEN
    RETURN;
  END IF;
  RAISE EXCEPTION 'entity % of account % was not stamped: % (raise the counter in the last statement)', owner, account, why
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
