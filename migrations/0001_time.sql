-- The one clock of the schema. STABLE, so that index conditions may use it; tests replace it to move time.
CREATE FUNCTION app_now() RETURNS timestamptz
  LANGUAGE sql STABLE
  AS $$ SELECT clock_timestamp() $$;

-- A timestamp as answers write it: UTC, always six fractional digits.
CREATE FUNCTION rfc3339(instant timestamptz) RETURNS text
  LANGUAGE sql STABLE
  AS $$ SELECT to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;
