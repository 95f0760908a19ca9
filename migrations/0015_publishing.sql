-- What somebody asked to be brought to a store: the record of it, and the queue that workers take from. Everything is pinned
-- when it is asked for. A claim belongs to one attempt of one process, until its lease runs out.
CREATE TABLE publication (
  account_id      uuid NOT NULL,
  -- The key of the ask: the same for all attempts.
  id              uuid NOT NULL,
  -- Drawn under the locks of all that it brings: of an entity in the order in which it was asked for.
  sequence        bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  entity_id       uuid NOT NULL,
  store_id        uuid NOT NULL,
  draft_revision  integer NOT NULL CHECK (draft_revision > 0),
  -- The entity, and those that take its outcome. Publications that share one are carried out one after the other.
  brings          uuid[] NOT NULL CHECK (entity_id = ANY (brings)),
  content         jsonb NOT NULL,
  actor           jsonb NOT NULL,
  state           text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'published', 'failed')),
  -- Begun, and of those the ones that were given back because their process was told to stop.
  attempts        integer NOT NULL DEFAULT 0,
  given_back      integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT app_now(),
  claim           uuid,
  lease_until     timestamptz,
  asked_at        timestamptz NOT NULL DEFAULT app_now(),
  finished_at     timestamptz,
  error           jsonb,
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
CREATE INDEX publication_finished ON publication (finished_at) WHERE state <> 'pending';

-- One row an attempt to carry a publication out; without an end it is under way, or its process is gone.
CREATE TABLE publish_attempt (
  account_id     uuid NOT NULL,
  publication_id uuid NOT NULL,
  ordinal        integer NOT NULL CHECK (ordinal > 0),
  started_at     timestamptz NOT NULL DEFAULT app_now(),
  ended_at       timestamptz,
  outcome        text CHECK (outcome IN ('published', 'refused', 'unavailable', 'unknown', 'interrupted', 'lost')),
  -- What class of failure it was, or the platform's own code.
  reason         text,
  PRIMARY KEY (account_id, publication_id, ordinal),
  FOREIGN KEY (account_id, publication_id) REFERENCES publication (account_id, id) ON DELETE CASCADE,
  CHECK ((ended_at IS NULL) = (outcome IS NULL))
);

-- Versions that wait for an outcome: few, and looked up when a server starts.
CREATE INDEX store_version_pending ON store_version (account_id, store_id, entity_id) WHERE last_publish_status = 'pending';

-- Asks and their outcomes are told beside the changes of drafts.
ALTER TABLE entity_history
  DROP CONSTRAINT entity_history_action_check,
  ADD CONSTRAINT entity_history_action_check CHECK (action IN (
    'created', 'attributes', 'added_to_store', 'removed_from_store', 'gallery', 'members', 'variants',
    'publish_asked', 'published', 'publish_failed'
  )),
  ADD COLUMN error jsonb,
  ADD CONSTRAINT entity_history_error_check CHECK ((action = 'publish_failed') = (error IS NOT NULL));
