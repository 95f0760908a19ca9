-- The feed of changes, kept 30 days, which scans of data health read too. A row has up to 250 changes of one transaction, so that a page of
-- the feed reads little more than it shows.
CREATE TABLE change_note (
  account_id uuid NOT NULL REFERENCES account (id),
  -- The account version that the transaction created.
  version    bigint NOT NULL,
  -- Ids of changed entities.
  entities   uuid[] NOT NULL,
  -- Former SKUs of changed variants.
  skus       text[] NOT NULL,
  -- Entities that were created or whose stores changed, as a list of {kind, from, to, ids} (src/drafts/ChangeNote.ts).
  moved      jsonb NOT NULL,
  -- The number of the last change. A note without changes, which only scans read, has the number of the change before.
  last_seq   bigint NOT NULL,
  -- The number of changes.
  rows       integer NOT NULL DEFAULT 0,
  at         timestamptz NOT NULL,
  -- Changes that differ only in their entity, as a list of {type, kind, store, what, count} (src/drafts/FeedChanges.ts).
  groups     jsonb NOT NULL DEFAULT '[]',
  -- The entities of the groups, group after group.
  ids        uuid[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (account_id, last_seq, version)
);

CREATE INDEX change_note_by_version ON change_note (account_id, version);

-- An address that receives the changes of the account's feed. position: the number of the last change that was delivered, set aside
-- or left out because of its type. due_at: when a process may claim the webhook; while it is claimed, the end of the lease.
CREATE TABLE webhook (
  account_id      uuid NOT NULL REFERENCES account (id),
  id              uuid NOT NULL,
  url             text NOT NULL,
  -- Types of changes. Empty: all.
  topics          text[] NOT NULL,
  -- Encrypted. Until previous_until, deliveries are signed with both secrets.
  secret          bytea NOT NULL,
  previous_secret bytea,
  previous_until  timestamptz,
  -- stopped: no delivery was accepted for three days. gone: the receiver answered 410.
  state           text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'stopped', 'gone')),
  position        bigint NOT NULL,
  -- Failed deliveries since the last accepted one, since when, and why the last one failed.
  failures        integer NOT NULL DEFAULT 0,
  failing_since   timestamptz,
  problem         text,
  delivered_at    timestamptz,
  due_at          timestamptz NOT NULL DEFAULT app_now(),
  claim           uuid,
  claimed_by      text,
  created_at      timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, id)
);

-- Changes that were set aside, because their delivery failed (waiting), because an earlier change of their entity waits (waiting,
-- without due_at), or because it failed for three days (parked).
CREATE TABLE webhook_delivery (
  account_id uuid NOT NULL REFERENCES account (id),
  webhook_id uuid NOT NULL,
  seq        bigint NOT NULL,
  entity_id  uuid NOT NULL,
  change     jsonb NOT NULL,
  state      text NOT NULL CHECK (state IN ('waiting', 'parked')),
  attempts   integer NOT NULL,
  since      timestamptz NOT NULL DEFAULT app_now(),
  due_at     timestamptz,
  problem    text,
  PRIMARY KEY (account_id, webhook_id, seq),
  FOREIGN KEY (account_id, webhook_id) REFERENCES webhook (account_id, id) ON DELETE CASCADE
);

CREATE INDEX webhook_delivery_due ON webhook_delivery (account_id, webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_of_entity ON webhook_delivery (account_id, webhook_id, entity_id, seq) WHERE state = 'waiting';
CREATE INDEX webhook_delivery_parked ON webhook_delivery (account_id, since) WHERE state = 'parked';

-- What an export of a store's products contained, until it is counted as published: a product, its variants on the store and the
-- files of its gallery, with their revisions. Rows appear when the export was read completely.
CREATE TABLE export_item (
  account_id uuid NOT NULL REFERENCES account (id),
  export_id  uuid NOT NULL,
  place      integer NOT NULL,
  content    jsonb NOT NULL,
  staged_at  timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, export_id, place)
);

CREATE INDEX export_item_age ON export_item (account_id, staged_at);

-- Accounts with open pages. Processes renew the rows of their accounts. Rows of processes that have ended expire. A crash of the
-- server may empty the table: processes write the rows again.
CREATE UNLOGGED TABLE watched_account (
  account_id    uuid PRIMARY KEY,
  watched_until timestamptz NOT NULL
);

-- Tells listening processes that work of a watched account has changed, when the transaction commits: NOTIFY catalog_events with
-- '<account> <kind> <id>'. PostgreSQL folds equal messages of a transaction into one. Other accounts are not announced, because
-- transactions that notify commit one after the other on the whole server. A cluster has no triggers; processes look for changes
-- there (src/events).
CREATE FUNCTION announce_work() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  id uuid;
BEGIN
  IF NOT EXISTS (
    SELECT FROM watched_account w WHERE w.account_id = NEW.account_id AND w.watched_until > app_now()
  ) THEN
    RETURN NULL;
  END IF;
  CASE TG_TABLE_NAME
    WHEN 'publication' THEN id := NEW.entity_id;
    WHEN 'import_conflict' THEN id := NEW.run_id;
    WHEN 'job', 'import_run', 'drop' THEN id := NEW.id;
    ELSE id := NULL;
  END CASE;
  PERFORM pg_notify('catalog_events', concat_ws(' ', NEW.account_id, TG_ARGV[0], id));
  RETURN NULL;
END $$;

-- Renewed leases are not announced: nobody sees them.
CREATE TRIGGER publication_requested AFTER INSERT ON publication
  FOR EACH ROW EXECUTE FUNCTION announce_work('publish');
CREATE TRIGGER publication_ended AFTER UPDATE OF state ON publication
  FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION announce_work('publish');

CREATE TRIGGER job_begun AFTER INSERT ON job
  FOR EACH ROW EXECUTE FUNCTION announce_work('job');
CREATE TRIGGER job_moved AFTER UPDATE ON job
  FOR EACH ROW WHEN (
    (OLD.state, OLD.done, OLD.total, OLD.waiting_for) IS DISTINCT FROM (NEW.state, NEW.done, NEW.total, NEW.waiting_for)
  ) EXECUTE FUNCTION announce_work('job');

CREATE TRIGGER import_begun AFTER INSERT ON import_run
  FOR EACH ROW EXECUTE FUNCTION announce_work('import');
CREATE TRIGGER import_moved AFTER UPDATE ON import_run
  FOR EACH ROW WHEN (
    (OLD.phase, OLD.applied, OLD.step, OLD.step_done, OLD.error)
      IS DISTINCT FROM (NEW.phase, NEW.applied, NEW.step, NEW.step_done, NEW.error)
  ) EXECUTE FUNCTION announce_work('import');
CREATE TRIGGER conflict_decided AFTER UPDATE OF decision ON import_conflict
  FOR EACH ROW EXECUTE FUNCTION announce_work('import');

CREATE TRIGGER drop_planned AFTER INSERT ON drop
  FOR EACH ROW EXECUTE FUNCTION announce_work('drop');
CREATE TRIGGER drop_moved AFTER UPDATE ON drop
  FOR EACH ROW WHEN ((OLD.status, OLD.next_step) IS DISTINCT FROM (NEW.status, NEW.next_step))
  EXECUTE FUNCTION announce_work('drop');

CREATE TRIGGER scan_ended AFTER INSERT OR UPDATE OF run, as_of_version ON health_snapshot
  FOR EACH ROW EXECUTE FUNCTION announce_work('scan');
CREATE TRIGGER scan_moved AFTER UPDATE OF scanned ON health_base
  FOR EACH ROW WHEN (OLD.scanned <> NEW.scanned) EXECUTE FUNCTION announce_work('scan');
