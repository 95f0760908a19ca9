-- key_fits decides more values without a call of another function: a call takes several times as long as these checks.
-- value_keeps decides the values that do not pass them.
CREATE OR REPLACE FUNCTION key_fits(rule jsonb, type text, value text) RETURNS boolean
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
