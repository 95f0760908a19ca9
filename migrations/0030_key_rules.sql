-- What keys take (domain/KeyRule.ts, domain/KeyRules.ts): definitions of metafields that an account makes itself, and the
-- functions by which the scan of data health asks the same rule as every write.

-- What the account itself says of a definition: name, description, type, validations. null: only stores say something.
ALTER TABLE metafield_definition ADD COLUMN own jsonb CHECK (jsonb_typeof(own) = 'object');

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

-- Whether a value that is not empty keeps a rule: domain/KeyRule.ts, without hosts and patterns. `type`: of the value itself,
-- which of a list is one item.
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

-- The same of any value that is not empty. A short list of plain strings is seen to keep a rule of lengths unparsed.
CREATE FUNCTION value_keeps(rule jsonb, value text) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  type CONSTANT text := rule ->> 'type';
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
    IF json_typeof(value::json) <> 'array'
      OR EXISTS (SELECT FROM json_array_elements(value::json) i WHERE json_typeof(i) <> 'string') THEN
      RETURN false;
    END IF;
    FOR item IN SELECT json_array_elements_text(value::json) LOOP
      items := items + 1;
      IF NOT item_keeps(rule, substr(type, 6), item) THEN
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

-- The same of a stored value, judged by its key's rule, or by the type that it was stored with where no definition names the
-- key. Inlined where it is called, for a scan asks it of every value there is; nearly all are decided without a call.
CREATE FUNCTION key_fits(rule jsonb, type text, value text) RETURNS boolean
  LANGUAGE sql IMMUTABLE
  RETURN CASE
    WHEN value = '' THEN true
    WHEN rule IS NULL THEN value_keeps(jsonb_build_object('type', type), value)
    WHEN rule ? 'minLength' OR rule ? 'choices' THEN value_keeps(rule, value)
    WHEN rule ->> 'type' = 'single_line_text_field' AND octet_length(value) <= (rule ->> 'maxLength')::integer THEN
      strpos(value, E'\n') = 0 AND strpos(value, E'\r') = 0
    WHEN rule ->> 'type' IN ('html', 'multi_line_text_field') AND octet_length(value) <= (rule ->> 'maxLength')::integer THEN
      true
    ELSE value_keeps(rule, value)
  END;

DROP FUNCTION attribute_fits(text, text, jsonb);
DROP FUNCTION value_fits(text, text);
