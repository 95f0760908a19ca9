-- Whether a non-empty value satisfies a rule. Items of lists of numbers, measurements and other JSON are themselves, not texts: stores send
-- [10] and [{"value":25.0,"unit":"CENTIMETERS"}]. A short list of plain strings is not parsed if the rule limits only lengths.
CREATE OR REPLACE FUNCTION value_keeps(rule jsonb, value text) RETURNS boolean
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
