-- Attempts that ended with their process: they say nothing about the store, and are not counted as attempts to push.
ALTER TABLE publication ADD COLUMN lost integer NOT NULL DEFAULT 0;

UPDATE publication p SET lost = l.count
FROM (
  SELECT account_id, publication_id, count(*) AS count FROM publish_attempt WHERE outcome = 'lost' GROUP BY 1, 2
) l
WHERE p.account_id = l.account_id AND p.id = l.publication_id AND p.state = 'pending';

-- The process that holds a lease, so that another of its host can tell that it is gone before the lease runs out.
ALTER TABLE publication ADD COLUMN claimed_by text;
ALTER TABLE import_run ADD COLUMN leased_by text;

-- Entities whose last publish on a store failed are listed with that publish.
CREATE INDEX store_version_failed ON store_version (account_id, store_id, entity_id) WHERE last_publish_status = 'failed';
CREATE INDEX publication_failed ON publication USING gin (account_id, store_id, brings) WHERE state = 'failed';
