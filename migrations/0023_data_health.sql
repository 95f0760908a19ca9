-- What scans of the catalog's quality found, and by which rules they went.

-- The fields that an account wants filled, when they are not the usual ones (domain/Health.ts: CompletenessRules).
CREATE TABLE completeness_rule (
  account_id uuid PRIMARY KEY REFERENCES account (id),
  rules      jsonb NOT NULL CHECK (jsonb_typeof(rules) = 'object')
);

-- Numbers scans and those who wait for one, outside of any transaction: a scan of a higher number began after whoever drew a
-- lower one.
CREATE SEQUENCE health_run;

-- The last scan of a dimension, of the account (store_id null) or of one store. result is what answers show, in its order.
CREATE TABLE health_snapshot (
  account_id    uuid NOT NULL REFERENCES account (id),
  dimension     text NOT NULL
    CHECK (dimension IN ('sync', 'completeness', 'media', 'structure', 'divergence', 'translations')),
  store_id      uuid,
  -- What was scanned, as a key can hold it: the store, or nothing but zeros for the account.
  scope         uuid NOT NULL GENERATED ALWAYS AS (coalesce(store_id, '00000000-0000-0000-0000-000000000000')) STORED,
  run           bigint NOT NULL,
  as_of_version bigint NOT NULL,
  scanned_at    timestamptz NOT NULL,
  result        json NOT NULL,
  PRIMARY KEY (account_id, dimension, scope),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);

-- The rows of a scan. Each has its place in every list that it is read in, so that the thousandth page costs what the first
-- does: in its section, in that of its store, and where it has a locale, in that of the locale, and of both.
-- Rows belong to the snapshots of their run and go with the last of them. No foreign keys: a scan writes hundreds of
-- thousands of rows, and to look up three owners of each would cost more than to find it.
CREATE TABLE health_issue (
  account_id           uuid NOT NULL,
  run                  bigint NOT NULL,
  section              text NOT NULL,
  ordinal              integer NOT NULL,
  store_ordinal        integer NOT NULL,
  locale_ordinal       integer,
  store_locale_ordinal integer,
  entity_id            uuid NOT NULL,
  entity_type          text NOT NULL,
  title                text NOT NULL,
  store_id             uuid NOT NULL,
  locale               text,
  fields               text[] NOT NULL,
  shown                jsonb,
  PRIMARY KEY (account_id, run, section, ordinal)
);

CREATE INDEX health_issue_by_store ON health_issue (account_id, run, section, store_id, store_ordinal);
CREATE INDEX health_issue_by_locale ON health_issue (account_id, run, section, locale, locale_ordinal)
  WHERE locale IS NOT NULL;
CREATE INDEX health_issue_by_store_locale ON health_issue (account_id, run, section, store_id, locale, store_locale_ordinal)
  WHERE locale IS NOT NULL;

-- Few versions have values of their own: what looks at those finds them without reading all.
CREATE INDEX store_version_overridden ON store_version (account_id, entity_id, store_id) WHERE overrides <> '{}';

-- What a store says: its own value, else the canonical one; '' where there is none. Inlined where it is called.
CREATE FUNCTION effective_value(attributes jsonb, overrides jsonb, key text) RETURNS text
  LANGUAGE sql IMMUTABLE
  RETURN coalesce(overrides -> key ->> 'value', attributes -> key ->> 'value', '');

-- The two below say what domain/Emptiness.ts says: the same list of white space, and no more of HTML than that.
CREATE FUNCTION is_empty_text(value text) RETURNS boolean
  LANGUAGE sql IMMUTABLE
  RETURN value !~ '[^\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]';

-- Text right behind a tag, or without one, is what most descriptions begin with: seen at once.
CREATE FUNCTION is_empty_html(value text) RETURNS boolean
  LANGUAGE sql IMMUTABLE
  RETURN CASE
    WHEN value = '' THEN true
    WHEN value ~ '(^|>)[ \t\r\n]*[A-Za-z0-9]' THEN false
    WHEN value ~* '<img[\t\n\f\r />]' THEN false
    ELSE is_empty_text(regexp_replace(regexp_replace(value, '<[^<>]*>', '', 'g'), '&(nbsp|#160|#xa0);', ' ', 'gi'))
  END;

-- Whether JSON text is nested no deeper than that. Counted by bracket only where there are that many.
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

-- Whether a value that is not empty fits a type that is no list: domain/AttributeRules.ts, of addresses only their form.
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
      -- Before it is parsed: the embedded engine does not survive what exhausts its stack.
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

-- The same of any type. Lists of plain strings are seen to be some without being parsed.
CREATE FUNCTION value_fits(type text, value text) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF left(type, 5) <> 'list.' THEN
    RETURN item_fits(type, value);
  END IF;
  IF type = 'list.single_line_text_field' AND value ~ '^\[("[^"\\\u0001-\u001f]*"(,"[^"\\\u0001-\u001f]*")*)?\]$' THEN
    RETURN true;
  END IF;
  IF NOT is_shallow_json(value, 32) THEN
    RETURN false;
  END IF;
  BEGIN
    IF json_typeof(value::json) <> 'array'
      OR EXISTS (SELECT FROM json_array_elements(value::json) i WHERE json_typeof(i) <> 'string') THEN
      RETURN false;
    END IF;
    RETURN NOT EXISTS (
      SELECT FROM json_array_elements_text(value::json) i WHERE NOT item_fits(substr(type, 6), i)
    );
  EXCEPTION
    WHEN data_exception THEN
      RETURN false;
  END;
END $$;

-- The same of an attribute: {value, type}. Inlined where it is called, for a scan asks it of every value there is; nearly all
-- are decided without a call and without a regular expression.
CREATE FUNCTION attribute_fits(kind text, key text, attribute jsonb) RETURNS boolean
  LANGUAGE sql IMMUTABLE
  RETURN CASE
    WHEN attribute ->> 'value' = '' THEN true
    WHEN kind = 'product' AND key = 'status' THEN attribute ->> 'value' IN ('active', 'draft', 'archived')
    -- JavaScript counts a character beyond the basic plane as two. It never counts more than there are bytes.
    WHEN key IN ('handle', 'sku') AND octet_length(attribute ->> 'value') > 255
      AND length(attribute ->> 'value') + regexp_count(attribute ->> 'value', '[\U00010000-\U0010ffff]') > 255 THEN false
    WHEN attribute ->> 'type' = 'single_line_text_field' THEN
      strpos(attribute ->> 'value', E'\n') = 0 AND strpos(attribute ->> 'value', E'\r') = 0
    WHEN attribute ->> 'type' IN ('html', 'multi_line_text_field') THEN true
    ELSE value_fits(attribute ->> 'type', attribute ->> 'value')
  END;
