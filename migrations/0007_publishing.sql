-- A publish request for one entity on one store. It is also the queue from which workers take requests. Its values are
-- fixed when it is made. One attempt of one process holds the claim until its lease ends.
CREATE TABLE publication (
  account_id      uuid NOT NULL,
  -- The idempotency key: sent with every attempt, so that the platform applies the publication once.
  id              uuid NOT NULL,
  -- The next number of the store, drawn while all entities in brings are locked. So publications that share an entity have the order of
  -- their requests; others can have the same number.
  sequence        bigint NOT NULL,
  entity_id       uuid NOT NULL,
  store_id        uuid NOT NULL,
  draft_revision  integer NOT NULL CHECK (draft_revision > 0),
  -- All entities that the publication writes or depends on, including its own. Publications that share one run one
  -- after the other.
  brings          uuid[] NOT NULL CHECK (entity_id = ANY (brings)),
  content         jsonb NOT NULL,
  actor           jsonb NOT NULL,
  state           text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'published', 'failed')),
  -- Number of attempts that began. Of these, given_back ended because their process was stopped, and lost because it
  -- died. Neither is a failure of the store, so neither counts towards the limit.
  attempts        integer NOT NULL DEFAULT 0,
  given_back      integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT app_now(),
  claim           uuid,
  lease_until     timestamptz,
  asked_at        timestamptz NOT NULL DEFAULT app_now(),
  finished_at     timestamptz,
  error           jsonb,
  -- The drop that requested it. No foreign key, as in entity_history.
  drop_id         uuid,
  lost            integer NOT NULL DEFAULT 0,
  -- The process that holds the lease. Other processes on its host can see that it has ended before the lease expires.
  claimed_by      text,
  -- The job that requested the publish and counts its failure. No foreign key, as for drop_id.
  job_id          uuid,
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  CHECK ((state = 'pending') = (finished_at IS NULL)),
  CHECK ((claim IS NULL) = (lease_until IS NULL))
);

CREATE INDEX publication_queue ON publication (account_id, store_id, sequence) WHERE state = 'pending';
CREATE INDEX publication_claimed ON publication (account_id, store_id, lease_until) WHERE claim IS NOT NULL;
CREATE INDEX publication_overlap ON publication USING gin (account_id, store_id, brings) WHERE state = 'pending';
CREATE INDEX publication_by_entity ON publication (account_id, entity_id, store_id, sequence);
CREATE INDEX publication_by_store ON publication (account_id, store_id, sequence);
CREATE INDEX publication_finished ON publication (finished_at) WHERE state <> 'pending';
-- The failed publications of an account, and those of one job. No statement reads the failed publications of one entity, or all
-- publications of a job.
CREATE INDEX publication_failed ON publication (account_id, job_id) WHERE state = 'failed';

-- One attempt to publish. While its end is null, it is running, or its process has died.
CREATE TABLE publish_attempt (
  account_id     uuid NOT NULL,
  publication_id uuid NOT NULL,
  ordinal        integer NOT NULL CHECK (ordinal > 0),
  started_at     timestamptz NOT NULL DEFAULT app_now(),
  ended_at       timestamptz,
  outcome        text CHECK (outcome IN ('published', 'refused', 'unavailable', 'unknown', 'interrupted', 'lost')),
  -- The class of the failure, or the platform's own code.
  reason         text,
  PRIMARY KEY (account_id, publication_id, ordinal),
  FOREIGN KEY (account_id, publication_id) REFERENCES publication (account_id, id) ON DELETE CASCADE,
  CHECK ((ended_at IS NULL) = (outcome IS NULL))
);
