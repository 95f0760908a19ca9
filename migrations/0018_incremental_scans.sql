-- Scans of data health bring the result of the last scan up to date: they read what changed since, and keep the rest.

-- What a transaction changed, by the version that it made. entities: changed entities. skus: SKUs that variants had before.
-- moved: entities that were created or whose stores changed, as a list of {kind, from, to, ids} (src/drafts/ChangeNote.ts).
-- A transaction inserts one row, whatever it changes. Notes are kept only for accounts that were scanned lately.
CREATE TABLE change_note (
  account_id uuid NOT NULL REFERENCES account (id),
  version    bigint NOT NULL,
  entities   uuid[] NOT NULL,
  skus       text[] NOT NULL,
  moved      jsonb NOT NULL,
  PRIMARY KEY (account_id, version)
);

-- Whether writers insert notes. It is in the row that every writer raises, so a scan that sets it waits for the writers that did
-- not see it.
ALTER TABLE account_state ADD COLUMN keeps_notes boolean NOT NULL DEFAULT false;

-- The rows of a scan and the numbers that they are counted with. A scan from nothing makes a new base, range by range of entity
-- ids; a scan after it changes the base in place. Snapshots show a base when it is complete.
CREATE TABLE health_base (
  account_id  uuid NOT NULL,
  base        bigint NOT NULL,
  dimension   text NOT NULL
    CHECK (dimension IN ('sync', 'completeness', 'media', 'structure', 'divergence', 'translations')),
  -- The scan of one store; zeros: of the account.
  scope       uuid NOT NULL,
  -- The account's version that the base is of.
  version     bigint NOT NULL,
  -- Entities with smaller ids were scanned. Null: all, the base is complete.
  reached     uuid,
  -- The statement of the scan and the rules in it, as a hash. A base of other rules cannot be brought up to date.
  fingerprint text NOT NULL,
  -- The linked stores, as the scan reads them: [{id, domain, platform, language, currency, locales}].
  stores      json NOT NULL,
  -- Entities by kind and stores: [{kind, storeIds, entities}].
  population  json NOT NULL,
  -- Numbers of rows and entities: [{storeId, what, name, rows, entities}].
  counts      json NOT NULL,
  -- Blocks of rows begin at these entity ids.
  starts      uuid[] NOT NULL,
  -- Progress of a scan from nothing: entities that were scanned, of all at its beginning.
  scanned     integer NOT NULL,
  entities    integer NOT NULL,
  begun_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, base)
);

-- The lists of a base: all rows of a section (zeros and ''), those of one store, of one language, or of both. firsts has the
-- number of rows before each block. So the block of a page is found by bisection, and page 10,000 costs what page 1 costs.
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

-- Arrays of ids and numbers do not get smaller. A table that refers to another on a cluster cannot change its storage any more.
ALTER TABLE health_list ALTER COLUMN firsts SET STORAGE EXTERNAL;
ALTER TABLE health_base ALTER COLUMN starts SET STORAGE EXTERNAL;

ALTER TABLE health_base ADD FOREIGN KEY (account_id) REFERENCES account (id);
ALTER TABLE health_list ADD FOREIGN KEY (account_id, base) REFERENCES health_base (account_id, base) ON DELETE CASCADE;

-- The scans so far become bases of one block. Their next scan is from nothing, because no statement has an empty fingerprint.
INSERT INTO health_base (account_id, base, dimension, scope, version, fingerprint, stores, population, counts, starts, scanned,
                         entities, begun_at)
SELECT DISTINCT ON (s.account_id, s.run) s.account_id, s.run, s.dimension, s.scope, s.as_of_version, '', '[]'::json, '[]'::json,
       '[]'::json, '{00000000-0000-0000-0000-000000000000}'::uuid[], 0, 0, s.scanned_at
FROM health_snapshot s
ORDER BY s.account_id, s.run, s.scope;

-- MATERIALIZED: a cluster refuses the lateral list on the rows of its nodes.
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

-- Rows lose their numbers: a row that is added would change those of all later rows.
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
