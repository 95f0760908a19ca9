-- Open pages show that a publish waits because the platform of its store does not answer. A cluster has no triggers.
DO $$
BEGIN
  IF EXISTS (
    SELECT FROM pg_trigger t WHERE t.tgrelid = 'publication'::regclass AND t.tgname = 'publication_ended'
  ) THEN
    CREATE TRIGGER publication_delayed AFTER UPDATE OF error ON publication
      FOR EACH ROW WHEN (
        NEW.error ->> 'code' = 'PUBLISH_DELAYED' AND OLD.error ->> 'code' IS DISTINCT FROM 'PUBLISH_DELAYED'
      ) EXECUTE FUNCTION announce_work('publish');
  END IF;
END $$;
