-- Scans of data quality: their rules, their results, and the SQL functions that check values.

-- The fields that an account requires, if it has changed the defaults (src/health/Health.ts: CompletenessRules).
CREATE TABLE completeness_rule (
  account_id uuid PRIMARY KEY REFERENCES account (id),
  rules      jsonb NOT NULL CHECK (jsonb_typeof(rules) = 'object')
);

-- Numbers scans, and callers that wait for a scan. Numbers are drawn outside of transactions, so a scan serves every
-- waiting caller with a lower number: it began after the caller arrived.
CREATE SEQUENCE health_run;

-- The last scan of a dimension, for the account (store_id null) or for one store. result is the response; the order of
-- its keys is kept.
CREATE TABLE health_snapshot (
  account_id    uuid NOT NULL REFERENCES account (id),
  dimension     text NOT NULL
    CHECK (dimension IN ('sync', 'completeness', 'media', 'structure', 'divergence', 'translations')),
  store_id      uuid,
  -- store_id without null, for the primary key: zeros stand for the account.
  scope         uuid NOT NULL GENERATED ALWAYS AS (coalesce(store_id, '00000000-0000-0000-0000-000000000000')) STORED,
  run           bigint NOT NULL,
  as_of_version bigint NOT NULL,
  scanned_at    timestamptz NOT NULL,
  result        json NOT NULL,
  -- The base (health_base) whose rows are the issues of the scan.
  base          bigint NOT NULL,
  -- Why the scan was run (src/health/Health.ts: ScanCause). Null: by a version that did not record it.
  cause         text CONSTRAINT health_snapshot_cause CHECK (cause IN ('nightly', 'import', 'link', 'unlink', 'request')),
  PRIMARY KEY (account_id, dimension, scope),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);

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
  -- The time of the last step of a full scan, and the time that its steps took so far. A longer gap between two steps counts as a minute.
  stepped_at  timestamptz,
  worked_seconds double precision NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, base),
  FOREIGN KEY (account_id) REFERENCES account (id)
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
  PRIMARY KEY (account_id, base, section, store_id, locale),
  FOREIGN KEY (account_id, base) REFERENCES health_base (account_id, base) ON DELETE CASCADE
);

-- Arrays of ids and numbers do not compress.
ALTER TABLE health_list ALTER COLUMN firsts SET STORAGE EXTERNAL;
ALTER TABLE health_base ALTER COLUMN starts SET STORAGE EXTERNAL;

-- The issues that scans found: the rows of a base. They are deleted with it. No foreign keys: a scan inserts hundreds of thousands of rows,
-- and three look-ups for each would take longer than the scan.
CREATE TABLE health_issue (
  account_id  uuid NOT NULL,
  base        bigint NOT NULL,
  section     text NOT NULL,
  entity_id   uuid NOT NULL,
  entity_type text NOT NULL,
  title       text NOT NULL,
  -- Zeros: the issue is of the whole account.
  store_id    uuid NOT NULL,
  -- Empty: the issue is of no language.
  locale      text NOT NULL COLLATE "C",
  fields      text[] NOT NULL,
  shown       jsonb,
  PRIMARY KEY (account_id, base, section, entity_id, store_id, locale)
);

-- The rows of an entity are looked up without a store. Without statistics of a new base the planner took this index for it, and read
-- the whole section for each entity. A partial index serves only the statements that name a store.
CREATE INDEX health_issue_by_store ON health_issue (account_id, base, section, store_id, entity_id)
  WHERE store_id <> '00000000-0000-0000-0000-000000000000';
CREATE INDEX health_issue_by_locale ON health_issue (account_id, base, section, locale, entity_id) WHERE locale <> '';
CREATE INDEX health_issue_by_store_locale ON health_issue (account_id, base, section, store_id, locale, entity_id)
  WHERE locale <> '';

-- The numbers of the last scan of each day (UTC) and dimension, of the whole account. The trend of data health is drawn from
-- them. Kept for 400 days.
CREATE TABLE health_day (
  account_id uuid NOT NULL REFERENCES account (id),
  dimension  text NOT NULL
    CHECK (dimension IN ('sync', 'completeness', 'media', 'structure', 'divergence', 'translations')),
  day        date NOT NULL,
  checked    integer NOT NULL,
  affected   integer NOT NULL,
  PRIMARY KEY (account_id, dimension, day)
);

-- The value on a store: its override, else the canonical value, else ''. PostgreSQL inlines this function.
CREATE FUNCTION effective_value(attributes jsonb, overrides jsonb, key text) RETURNS text
  LANGUAGE sql IMMUTABLE
  RETURN coalesce(overrides -> key ->> 'value', attributes -> key ->> 'value', '');

-- is_empty_text and is_empty_html agree with src/model/Emptiness.ts; a test checks it.
CREATE FUNCTION is_empty_text(value text) RETURNS boolean
  LANGUAGE sql IMMUTABLE
  RETURN value !~ '[^\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]';

-- The second WHEN decides most descriptions at once: they begin with text, or with text right after a tag.
CREATE FUNCTION is_empty_html(value text) RETURNS boolean
  LANGUAGE sql IMMUTABLE
  RETURN CASE
    WHEN value = '' THEN true
    WHEN value ~ '(^|>)[ \t\r\n]*[A-Za-z0-9]' THEN false
    WHEN value ~* '<img[\t\n\f\r />]' THEN false
    ELSE is_empty_text(regexp_replace(regexp_replace(value, '<[^<>]*>', '', 'g'), '&(nbsp|#160|#xa0);', ' ', 'gi'))
  END;

-- The functions below agree with src/model/KeyRule.ts, except that they do not check hosts and patterns; a test checks it.

-- Whether JSON text is nested at most this deep. Depth is counted only if the text has more brackets than that.
CREATE FUNCTION is_shallow_json(value text, deepest integer) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  brackets text;
  depth integer := 0;
  bracket text;
BEGIN
  IF length(value) - length(translate(value, '[{', '')) <= deepest THEN
    RETURN true;
  END IF;
  brackets := regexp_replace(regexp_replace(value, '"(\\.|[^"\\])*"', '', 'g'), '[^][{}]', '', 'g');
  FOREACH bracket IN ARRAY string_to_array(brackets, NULL) LOOP
    depth := depth + CASE WHEN bracket IN ('[', '{') THEN 1 ELSE -1 END;
    IF depth > deepest THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END $$;

-- Whether a non-empty value fits a type that is not a list. For URLs, only the syntax is checked.
CREATE FUNCTION item_fits(type text, value text) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  CASE type
    WHEN 'single_line_text_field' THEN
      RETURN value !~ '[\n\r]';
    WHEN 'number_decimal' THEN
      RETURN value ~ '^-?[0-9]{1,13}(\.[0-9]{1,9})?$';
    WHEN 'number_integer' THEN
      RETURN value ~ '^-?[0-9]{1,16}$' AND abs(value::numeric) <= 9007199254740991;
    WHEN 'boolean' THEN
      RETURN value IN ('true', 'false');
    WHEN 'url' THEN
      RETURN value ~* '^(https?:[/\\]*[^\t\n\v\f\r /\\?#][^\t\n\v\f\r ]*|(mailto|sms|tel):[^\t\n\v\f\r ]+)$';
    WHEN 'json' THEN
      -- The embedded engine crashes if the parser exhausts its stack, so the nesting is checked first.
      IF NOT is_shallow_json(value, 32) THEN
        RETURN false;
      END IF;
      BEGIN
        PERFORM value::json;
        RETURN true;
      EXCEPTION
        WHEN data_exception THEN
          RETURN false;
      END;
    ELSE
      RETURN true;
  END CASE;
END $$;

CREATE FUNCTION is_date(value text) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  year integer;
  month integer;
BEGIN
  IF value !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' THEN
    RETURN false;
  END IF;
  year := left(value, 4)::integer;
  month := substr(value, 6, 2)::integer;
  RETURN year > 0 AND month BETWEEN 1 AND 12 AND right(value, 2)::integer BETWEEN 1 AND CASE
    WHEN month = 2 THEN CASE WHEN year % 4 = 0 AND (year % 100 <> 0 OR year % 400 = 0) THEN 29 ELSE 28 END
    WHEN month IN (4, 6, 9, 11) THEN 30
    ELSE 31
  END;
END $$;

-- Whether a non-empty value satisfies a rule for single values, or an item of a list satisfies the rule of its list.
-- type is the type of the value or item.
CREATE FUNCTION item_keeps(rule jsonb, type text, value text) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF type = 'date' THEN
    IF NOT is_date(value) THEN
      RETURN false;
    END IF;
    RETURN NOT coalesce(value < (rule ->> 'min') COLLATE "C", false)
      AND NOT coalesce(value > (rule ->> 'max') COLLATE "C", false)
      AND NOT coalesce(length(value) > (rule ->> 'maxLength')::integer, false)
      AND NOT coalesce(length(value) < (rule ->> 'minLength')::integer, false)
      AND NOT coalesce(NOT (rule -> 'choices') ? value, false);
  END IF;
  IF NOT item_fits(type, value)
    -- No text has more characters than bytes.
    OR coalesce(octet_length(value) > (rule ->> 'maxLength')::integer AND length(value) > (rule ->> 'maxLength')::integer, false)
    OR coalesce(length(value) < (rule ->> 'minLength')::integer, false)
    OR coalesce(NOT (rule -> 'choices') ? value, false) THEN
    RETURN false;
  END IF;
  IF type NOT IN ('number_integer', 'number_decimal') THEN
    RETURN true;
  END IF;
  RETURN NOT coalesce(value::numeric < (rule ->> 'min')::numeric, false)
    AND NOT coalesce(value::numeric > (rule ->> 'max')::numeric, false)
    AND NOT coalesce(length(split_part(value, '.', 2)) > (rule ->> 'precision')::integer, false);
END $$;

-- Whether a non-empty value satisfies a rule. Items of lists of numbers, measurements and other JSON are themselves, not texts: stores send
-- [10] and [{"value":25.0,"unit":"CENTIMETERS"}]. A short list of plain strings is not parsed if the rule limits only lengths.
CREATE FUNCTION value_keeps(rule jsonb, value text) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  type CONSTANT text := rule ->> 'type';
  item_type CONSTANT text := substr(type, 6);
  item text;
  items integer := 0;
BEGIN
  IF left(type, 5) <> 'list.' THEN
    RETURN item_keeps(rule, type, value);
  END IF;
  IF type = 'list.single_line_text_field' AND NOT rule ?| '{choices,minItems,minLength}'
    AND coalesce(octet_length(value) <= (rule ->> 'maxLength')::integer, true)
    -- Each item takes three bytes at least.
    AND coalesce(octet_length(value) <= 3 * (rule ->> 'maxItems')::integer, true)
    AND value ~ '^\[("[^"\\\u0001-\u001f]*"(,"[^"\\\u0001-\u001f]*")*)?\]$' THEN
    RETURN true;
  END IF;
  IF NOT is_shallow_json(value, 32) THEN
    RETURN false;
  END IF;
  BEGIN
    IF json_typeof(value::json) <> 'array' THEN
      RETURN false;
    END IF;
    IF (item_type IN ('single_line_text_field', 'multi_line_text_field', 'url', 'date', 'date_time', 'color', 'id', 'language')
        OR right(item_type, 10) = '_reference')
      AND EXISTS (SELECT FROM json_array_elements(value::json) i WHERE json_typeof(i) <> 'string') THEN
      RETURN false;
    END IF;
    FOR item IN
      SELECT CASE json_typeof(i)
        WHEN 'string' THEN i #>> '{}'
        WHEN 'number' THEN trim_scale((i #>> '{}')::numeric)::text
        ELSE i::text
      END
      FROM json_array_elements(value::json) i
    LOOP
      items := items + 1;
      IF NOT item_keeps(rule, item_type, item) THEN
        RETURN false;
      END IF;
    END LOOP;
  EXCEPTION
    WHEN data_exception THEN
      RETURN false;
  END;
  RETURN NOT coalesce(items > (rule ->> 'maxItems')::integer, false)
    AND NOT coalesce(items < (rule ->> 'minItems')::integer, false);
END $$;

-- Not inlined into key_fits, because jsonb_build_object is not immutable.
-- Whether a value without a rule fits the type with which it was stored.
CREATE FUNCTION type_keeps(type text, value text) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN value_keeps(jsonb_build_object('type', type), value);
END $$;

-- Whether a stored value satisfies the rule of its key or, without a rule, the type with which it was stored. A scan calls it for every value.
-- PostgreSQL inlines it, because everything in it is immutable, and it decides nearly all values without a call of another function,
-- which takes several times as long as these checks. value_keeps decides the values that do not pass them.
CREATE FUNCTION key_fits(rule jsonb, type text, value text) RETURNS boolean
  LANGUAGE sql IMMUTABLE
  RETURN CASE
    WHEN value = '' THEN true
    WHEN rule IS NULL THEN type_keeps(type, value)
    -- No text has more characters than bytes.
    WHEN coalesce(octet_length(value) <= (rule ->> 'maxLength')::integer, true)
      AND NOT rule ? 'minLength'
      AND coalesce(rule -> 'choices' ? value, true)
      AND CASE rule ->> 'type'
        WHEN 'single_line_text_field' THEN value !~ '[\n\r]'
        WHEN 'multi_line_text_field' THEN true
        WHEN 'html' THEN true
        WHEN 'number_decimal' THEN
          value ~ '^[0-9]{1,13}([.][0-9]{1,9})?$' AND coalesce(rule ->> 'min' = '0', true) AND NOT rule ?| '{max,precision}'
        WHEN 'number_integer' THEN
          value ~ '^[0-9]{1,15}$' AND coalesce(rule ->> 'min' = '0', true) AND NOT rule ? 'max'
        WHEN 'boolean' THEN value IN ('true', 'false')
        WHEN 'url' THEN value ~ '^https?://[^\t\n\v\f\r /\\?#][^\t\n\v\f\r ]*$'
        -- Each item takes three bytes at least.
        WHEN 'list.single_line_text_field' THEN NOT rule ? 'minItems'
          AND coalesce(octet_length(value) <= 3 * (rule ->> 'maxItems')::integer, true)
          AND value ~ '^\[("[^"\\\u0001-\u001f]*"(,"[^"\\\u0001-\u001f]*")*)?\]$'
      END THEN true
    ELSE value_keeps(rule, value)
  END;
