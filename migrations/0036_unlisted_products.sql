-- A product may be unlisted: on sale for those who have its address, and in no list. Else this is attribute_fits as it was.
CREATE OR REPLACE FUNCTION attribute_fits(kind text, key text, attribute jsonb) RETURNS boolean
  LANGUAGE sql IMMUTABLE
  RETURN CASE
    WHEN attribute ->> 'value' = '' THEN true
    WHEN kind = 'product' AND key = 'status' THEN
      attribute ->> 'value' IN ('active', 'draft', 'archived', 'unlisted')
    -- JavaScript counts a character beyond the basic plane as two. It never counts more than there are bytes.
    WHEN key IN ('handle', 'sku') AND octet_length(attribute ->> 'value') > 255
      AND length(attribute ->> 'value') + regexp_count(attribute ->> 'value', '[\U00010000-\U0010ffff]') > 255 THEN false
    WHEN attribute ->> 'type' = 'single_line_text_field' THEN
      strpos(attribute ->> 'value', E'\n') = 0 AND strpos(attribute ->> 'value', E'\r') = 0
    WHEN attribute ->> 'type' IN ('html', 'multi_line_text_field') THEN true
    ELSE value_fits(attribute ->> 'type', attribute ->> 'value')
  END;
