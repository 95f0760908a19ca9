-- The person who began an import, and from its acceptance on the person who accepted it, by the name they had then: what an
-- import writes is theirs, whichever process writes it.
ALTER TABLE import_run
  ADD COLUMN actor_kind text NOT NULL DEFAULT 'cli' CHECK (actor_kind IN ('user', 'key', 'connection', 'cli')),
  ADD COLUMN actor_id   uuid,
  ADD COLUMN actor_name text;

-- An entity is created before it is changed or published. Imports stamped created_at last; the earliest known time of such an
-- entity is the time of the transaction that made it. Answers show created_at, so the versions of these accounts move.
WITH known AS (
  SELECT e.account_id, e.id, least(e.canonical_changed_at, min(v.published_at)) AS earliest
  FROM entity e LEFT JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id
  GROUP BY e.account_id, e.id
), corrected AS (
  UPDATE entity e SET created_at = k.earliest
  FROM known k
  WHERE e.account_id = k.account_id AND e.id = k.id AND e.created_at > k.earliest
  RETURNING e.account_id
)
UPDATE account SET version = version + 1 WHERE id IN (SELECT account_id FROM corrected);
