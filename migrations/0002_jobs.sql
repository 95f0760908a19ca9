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

-- The entities that a bulk change has still to process, with the draft revisions that they had when the job was begun. A step
-- deletes the rows that it processes. The rest goes with the job.
CREATE TABLE bulk_item (
  account_id     uuid NOT NULL,
  job_id         uuid NOT NULL,
  place          integer NOT NULL,
  entity_id      uuid NOT NULL,
  draft_revision integer NOT NULL,
  PRIMARY KEY (account_id, job_id, place),
  FOREIGN KEY (account_id, job_id) REFERENCES job (account_id, id) ON DELETE CASCADE
);

-- Accounts that may have work of a kind, and when it may be due at the earliest. Workers on a cluster ask these accounts only, instead
-- of every node. Rows are hints: the account's own rows decide. A missing row is found by a scan, a needless row is deleted.
-- Without a cluster the table is empty.
CREATE TABLE work_hint (
  account_id uuid NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('publication', 'drop', 'job', 'import', 'webhook')),
  due_at     timestamptz NOT NULL,
  PRIMARY KEY (account_id, kind)
);

CREATE INDEX work_hint_due ON work_hint (kind, due_at);
