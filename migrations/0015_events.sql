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
