-- A drop: field changes with a start and an optional end. next_step is the step that the next free process runs: start
-- and end are due at their times, settle_start and settle_end when the stores have answered. Null: no step is left.
CREATE TABLE drop (
  account_id   uuid NOT NULL REFERENCES account (id),
  id           uuid NOT NULL,
  name         text NOT NULL CHECK (name <> ''),
  status       text NOT NULL DEFAULT 'scheduled'
    CHECK (status IN ('scheduled', 'applying', 'applied', 'failed', 'cancelled', 'reverted')),
  next_step    text DEFAULT 'start' CHECK (next_step IN ('start', 'settle_start', 'end', 'settle_end')),
  starts_at    timestamptz NOT NULL,
  ends_at      timestamptz,
  timezone     text NOT NULL,
  actor        jsonb NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT app_now(),
  cancelled_by jsonb,
  cancelled_at timestamptz,
  PRIMARY KEY (account_id, id),
  CHECK (ends_at > starts_at),
  CHECK (next_step IS NULL OR next_step NOT IN ('end', 'settle_end') OR ends_at IS NOT NULL),
  CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL))
);

CREATE INDEX drop_by_time ON drop (account_id, starts_at, id);
CREATE INDEX drop_starts ON drop (starts_at) WHERE next_step = 'start';
CREATE INDEX drop_ends ON drop (ends_at) WHERE next_step = 'end';
CREATE INDEX drop_settles ON drop (account_id, id) WHERE next_step IN ('settle_start', 'settle_end');
-- Lists of drops: those with a step left, from the earliest start, and the others, from the latest.
CREATE INDEX drop_open ON drop (account_id, starts_at, id) WHERE next_step IS NOT NULL;
CREATE INDEX drop_ended ON drop (account_id, starts_at, id) WHERE next_step IS NULL;
-- The drops of a month. A drop without an end counts at its start.
CREATE INDEX drop_by_end ON drop (account_id, coalesce(ends_at, starts_at));

-- store_id null: the change applies to every store that has the entity when the drop starts.
CREATE TABLE drop_change (
  account_id uuid NOT NULL,
  drop_id    uuid NOT NULL,
  ordinal    integer NOT NULL,
  entity_id  uuid NOT NULL,
  store_id   uuid,
  field      text NOT NULL,
  value      text NOT NULL,
  outcome    text CHECK (outcome IN ('applied', 'failed', 'reverted', 'skipped')),
  error      jsonb,
  PRIMARY KEY (account_id, drop_id, ordinal),
  FOREIGN KEY (account_id, drop_id) REFERENCES drop (account_id, id),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);

CREATE INDEX drop_change_by_entity ON drop_change (account_id, entity_id, field);

-- The transaction that runs a start or an end inserts its row here first. The primary key keeps a second process from
-- running it.
CREATE TABLE drop_claim (
  account_id uuid NOT NULL,
  drop_id    uuid NOT NULL,
  step       text NOT NULL CHECK (step IN ('start', 'end')),
  claimed_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, drop_id, step),
  FOREIGN KEY (account_id, drop_id) REFERENCES drop (account_id, id)
);

-- The effect of a change on one store, and the values before it. publication_id is its latest publish request.
CREATE TABLE drop_effect (
  account_id      uuid NOT NULL,
  drop_id         uuid NOT NULL,
  ordinal         integer NOT NULL,
  store_id        uuid NOT NULL,
  override_before jsonb,
  accepted_before text NOT NULL,
  publication_id  uuid,
  outcome         text CHECK (outcome IN ('applied', 'failed', 'reverted', 'skipped')),
  error           jsonb,
  PRIMARY KEY (account_id, drop_id, ordinal, store_id),
  FOREIGN KEY (account_id, drop_id, ordinal) REFERENCES drop_change (account_id, drop_id, ordinal),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);

-- The failed effects of a store, which are opened again when it is linked again.
CREATE INDEX drop_effect_failed ON drop_effect (account_id, store_id) WHERE outcome = 'failed';
