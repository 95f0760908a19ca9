-- One row per account. Every draft write first locks the row FOR SHARE. An import locks it FOR UPDATE to start or end
-- its review. run_id is the import that keeps the account locked. It is a separate table, so that these locks do not
-- affect the account row.
CREATE TABLE import_lock (
  account_id uuid PRIMARY KEY REFERENCES account (id),
  run_id     uuid
);

-- An import of a CSV file, or a refresh, which reads the store through its platform and has no file.
CREATE TABLE import_run (
  account_id    uuid NOT NULL REFERENCES account (id),
  id            uuid NOT NULL,
  store_id      uuid NOT NULL,
  source        text NOT NULL CHECK (source IN ('csv', 'refresh')),
  file_name     text,
  phase         text NOT NULL CHECK (phase IN ('fetching', 'reviewing', 'applying', 'applied', 'discarded', 'failed')),
  -- End of the lease of the process that works on the import. Null while the import waits for a person.
  lease_until   timestamptz,
  takeovers     integer NOT NULL DEFAULT 0,
  summary       jsonb NOT NULL DEFAULT '{}',
  error         text,
  created_at    timestamptz NOT NULL DEFAULT app_now(),
  updated_at    timestamptz NOT NULL DEFAULT app_now(),
  -- Progress: the ordinal of the last applied import_item, and the number of applied items. Items are applied in order.
  -- Marking each item instead would rewrite its row, and finding the next one would read all marked items.
  done_through  integer NOT NULL DEFAULT -1,
  applied       integer NOT NULL DEFAULT 0,
  -- The process that holds the lease. Other processes on its host can see that it has ended before the lease expires.
  leased_by     text,
  -- The person who started the import; after acceptance, the person who accepted it, with the name at that time.
  -- Everything that the import writes is attributed to this person.
  actor_kind    text NOT NULL DEFAULT 'cli' CHECK (actor_kind IN ('user', 'key', 'connection', 'cli')),
  actor_id      uuid,
  actor_name    text,
  -- The progress of the step that reads the import: bytes of a file, or records of a store. step_total null: unknown.
  step          text CHECK (step IN ('checking', 'fetching', 'comparing')),
  step_done     bigint NOT NULL DEFAULT 0,
  step_total    bigint,
  step_began_at timestamptz,
  -- The number of takeovers that were no interruptions, because somebody paused or resumed the import. An import that is applied
  -- and has no lease is paused.
  handovers     integer NOT NULL DEFAULT 0,
  -- The number of times that decisions on its conflicts were written. Processes that hear no announcements see by it that the decisions
  -- have changed. updated_at would not do: a review is discarded seven days after it.
  decision_writes integer NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  CONSTRAINT import_run_file_check CHECK ((source = 'csv') = (file_name IS NOT NULL))
);

CREATE INDEX import_run_open ON import_run (phase, lease_until) WHERE phase IN ('fetching', 'reviewing', 'applying');

-- The planned changes of one product, in the order of the source. Unchanged products have no row.
CREATE TABLE import_item (
  account_id  uuid NOT NULL,
  run_id      uuid NOT NULL,
  ordinal     integer NOT NULL,
  entities    integer NOT NULL,
  changes     jsonb NOT NULL,
  -- The list of the review that shows the item. Null: the item records what the store has, and no list shows it.
  list        text CHECK (list IN ('new', 'changed', 'leaving')),
  -- The words by which a search finds the item: the new values, and those that its entities had in the catalog.
  search_text text NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, run_id, ordinal),
  FOREIGN KEY (account_id, run_id) REFERENCES import_run (account_id, id)
);

CREATE INDEX import_item_list ON import_item (account_id, run_id, list, ordinal);

-- A record that a refresh read from the store, and the entity that it matches. Deleted when the review begins. root is
-- the ordinal of the record or, for a variant, of its product, so that a product and its variants are adjacent.
CREATE TABLE import_record (
  account_id  uuid NOT NULL,
  run_id      uuid NOT NULL,
  root        integer NOT NULL,
  ordinal     integer NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('product', 'variant', 'collection', 'media')),
  platform_id text NOT NULL,
  -- The entity that the store's own record refers to.
  said_id     uuid,
  sku         text,
  handle      text,
  address     text,
  attributes  jsonb NOT NULL CHECK (jsonb_typeof(attributes) = 'object'),
  related     text[] NOT NULL,
  entity_id   uuid,
  PRIMARY KEY (account_id, run_id, root, ordinal),
  FOREIGN KEY (account_id, run_id) REFERENCES import_run (account_id, id)
);

CREATE UNIQUE INDEX import_record_platform ON import_record (account_id, run_id, platform_id);
CREATE UNIQUE INDEX import_record_entity ON import_record (account_id, run_id, entity_id) WHERE entity_id IS NOT NULL;
CREATE INDEX import_record_sku ON import_record (account_id, run_id, sku) WHERE sku IS NOT NULL;

-- A field that was edited both here and in the store since the last publish, and the decision which value to keep.
CREATE TABLE import_conflict (
  account_id   uuid NOT NULL,
  run_id       uuid NOT NULL,
  ordinal      integer NOT NULL,
  entity_id    uuid NOT NULL,
  store_id     uuid NOT NULL,
  field        text NOT NULL,
  accepted     text,
  draft_value  text NOT NULL,
  store_value  text NOT NULL,
  decision     text CHECK (decision IN ('keep_draft', 'take_store')),
  decided_kind text CHECK (decided_kind IN ('user', 'key', 'connection', 'cli')),
  decided_id   uuid,
  decided_name text,
  decided_at   timestamptz,
  PRIMARY KEY (account_id, run_id, ordinal),
  FOREIGN KEY (account_id, run_id) REFERENCES import_run (account_id, id),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  CHECK ((decision IS NULL) = (decided_kind IS NULL) AND (decision IS NULL) = (decided_at IS NULL))
);
