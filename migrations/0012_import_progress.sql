-- Items are done in their order: how far an import is, is one place in it and one count. Marking each of them would write its
-- changes once more, and finding the first that is not done would walk over all that are.
ALTER TABLE import_run
  ADD COLUMN done_through integer NOT NULL DEFAULT -1,
  ADD COLUMN applied      integer NOT NULL DEFAULT 0;

UPDATE import_run r
SET done_through = coalesce(d.last, -1), applied = coalesce((r.summary ->> 'applied')::integer, d.count), summary = r.summary - 'applied'
FROM (
  SELECT o.account_id, o.id, max(i.ordinal) AS last, count(i.ordinal) AS count
  FROM import_run o LEFT JOIN import_item i ON i.account_id = o.account_id AND i.run_id = o.id AND i.done
  GROUP BY o.account_id, o.id
) d
WHERE d.account_id = r.account_id AND d.id = r.id;

ALTER TABLE import_item DROP COLUMN done;
