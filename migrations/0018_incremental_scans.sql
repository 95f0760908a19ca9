-- Incremental scans of data health: a scan reads only what changed since the last one, and keeps its other rows.

-- The changes of one transaction, with the account version that it created. entities: ids of changed entities. skus:
-- former SKUs of changed variants. moved: entities that were created or whose stores changed, as a list of {kind, from,
-- to, ids} (src/drafts/ChangeNote.ts). Each transaction inserts one row. Only accounts that were scanned recently have
-- notes.
CREATE TABLE change_note (
  account_id uuid NOT NULL REFERENCES account (id),
  version    bigint NOT NULL,
  entities   uuid[] NOT NULL,
  skus       text[] NOT NULL,
  moved      jsonb NOT NULL,
  PRIMARY KEY (account_id, version)
);

-- Whether writers insert notes. Every writer updates this row, so a scan that sets the flag waits for writers that have
-- not seen it.
ALTER TABLE account_state ADD COLUMN keeps_notes boolean NOT NULL DEFAULT false;

-- The stored state of a scan: the numbers from which its result is computed; its rows are in health_issue. A full scan
-- creates a new base and extends it by ranges of entity ids. An incremental scan updates the base. Snapshots show a
-- base once it is complete.
CREATE TABLE health_base (
  account_id  uuid NOT NULL,
  base        bigint NOT NULL,
  dimension   text NOT NULL
    CHECK (dimension IN ('sync', 'completeness', 'media', 'structure', 'divergence', 'translations')),
  -- The scanned store; zeros: the whole account.
  scope       uuid NOT NULL,
  -- The account version up to which changes are included.
  version     bigint NOT NULL,
  -- Entities with smaller ids are scanned. Null: all are scanned, and the base is complete.
  reached     uuid,
  -- Hash of the scan's statement and rules. A base with another fingerprint cannot be updated; the next scan is a full
  -- one.
  fingerprint text NOT NULL,
  -- The linked stores when the scan read them: [{id, domain, platform, language, currency, locales}].
  stores      json NOT NULL,
  -- Number of entities by kind and set of stores: [{kind, storeIds, entities}].
  population  json NOT NULL,
  -- Numbers of rows and entities: [{storeId, what, name, rows, entities}].
  counts      json NOT NULL,
  -- The first entity id of each block of rows.
  starts      uuid[] NOT NULL,
  -- Progress of a full scan: number of scanned entities, and number of all entities when it began.
  scanned     integer NOT NULL,
  entities    integer NOT NULL,
  begun_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, base)
);

-- The lists of a base: all rows of a section (zeros and ''), those of one store, of one language, or of both. firsts
-- has the number of rows before each block. The block of a page is found by binary search, so page 10,000 costs as much
-- as page 1.
CREATE TABLE health_list (
  account_id uuid NOT NULL,
  base       bigint NOT NULL,
  section    text NOT NULL,
  store_id   uuid NOT NULL,
  locale     text NOT NULL,
  firsts     integer[] NOT NULL,
  total      integer NOT NULL,
  PRIMARY KEY (account_id, base, section, store_id, locale)
);

-- Arrays of ids and numbers do not compress. This is set here, because on a cluster it cannot be changed once the table
-- refers to another.
ALTER TABLE health_list ALTER COLUMN firsts SET STORAGE EXTERNAL;
ALTER TABLE health_base ALTER COLUMN starts SET STORAGE EXTERNAL;

ALTER TABLE health_base ADD FOREIGN KEY (account_id) REFERENCES account (id);
ALTER TABLE health_list ADD FOREIGN KEY (account_id, base) REFERENCES health_base (account_id, base) ON DELETE CASCADE;

-- Existing scans become bases with one block. Their empty fingerprint matches no statement, so the next scan is a full
-- one.
INSERT INTO health_base (account_id, base, dimension, scope, version, fingerprint, stores, population, counts, starts, scanned,
                         entities, begun_at)
SELECT DISTINCT ON (s.account_id, s.run) s.account_id, s.run, s.dimension, s.scope, s.as_of_version, '', '[]'::json, '[]'::json,
       '[]'::json, '{00000000-0000-0000-0000-000000000000}'::uuid[], 0, 0, s.scanned_at
FROM health_snapshot s
ORDER BY s.account_id, s.run, s.scope;

-- MATERIALIZED, because a cluster refuses this lateral join on distributed rows.
INSERT INTO health_list (account_id, base, section, store_id, locale, firsts, total)
WITH i AS MATERIALIZED (SELECT h.account_id, h.run, h.section, h.store_id, h.locale FROM health_issue h)
SELECT i.account_id, i.run, i.section, l.store_id, l.locale, '{0}', count(*)
FROM i
CROSS JOIN LATERAL (
  VALUES ('00000000-0000-0000-0000-000000000000'::uuid, ''), (i.store_id, '')
  UNION SELECT '00000000-0000-0000-0000-000000000000', i.locale WHERE i.locale IS NOT NULL
  UNION SELECT i.store_id, i.locale WHERE i.locale IS NOT NULL
) AS l (store_id, locale)
GROUP BY i.account_id, i.run, i.section, l.store_id, l.locale;

ALTER TABLE health_snapshot ADD COLUMN base bigint;
UPDATE health_snapshot SET base = run;
ALTER TABLE health_snapshot ALTER COLUMN base SET NOT NULL;

-- Drops the numbers of rows: inserting one row would change the numbers of all later ones.
ALTER TABLE health_issue DROP CONSTRAINT health_issue_pkey;
DROP INDEX health_issue_by_store;
DROP INDEX health_issue_by_locale;
DROP INDEX health_issue_by_store_locale;
ALTER TABLE health_issue
  DROP COLUMN ordinal, DROP COLUMN store_ordinal, DROP COLUMN locale_ordinal, DROP COLUMN store_locale_ordinal;
ALTER TABLE health_issue RENAME COLUMN run TO base;
UPDATE health_issue SET locale = '' WHERE locale IS NULL;
ALTER TABLE health_issue ALTER COLUMN locale TYPE text COLLATE "C", ALTER COLUMN locale SET NOT NULL;
ALTER TABLE health_issue ADD PRIMARY KEY (account_id, base, section, entity_id, store_id, locale);

CREATE INDEX health_issue_by_store ON health_issue (account_id, base, section, store_id, entity_id);
CREATE INDEX health_issue_by_locale ON health_issue (account_id, base, section, locale, entity_id) WHERE locale <> '';
CREATE INDEX health_issue_by_store_locale ON health_issue (account_id, base, section, store_id, locale, entity_id)
  WHERE locale <> '';
