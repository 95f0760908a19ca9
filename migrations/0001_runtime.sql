-- The only source of the current time in the schema. STABLE, so that index conditions can use it. Tests replace it to
-- move time.
CREATE FUNCTION app_now() RETURNS timestamptz
  LANGUAGE sql STABLE
  AS $$ SELECT clock_timestamp() $$;

-- Formats a timestamp as responses do: UTC, always six fractional digits.
CREATE FUNCTION rfc3339(instant timestamptz) RETURNS text
  LANGUAGE sql STABLE
  AS $$ SELECT to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;

-- Like rfc3339(), for RETURNING. IMMUTABLE, because the fixed time zone and pattern make it independent of settings.
CREATE FUNCTION stamp_text(instant timestamptz) RETURNS text
  LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'); END $$;

-- timestamptz + interval is only STABLE, because months and days depend on the time zone; microseconds do not. In an
-- UPDATE, a cluster refuses functions that are not IMMUTABLE. Written in plpgsql, so that PostgreSQL does not inline
-- it.
CREATE FUNCTION plus_micros(instant timestamptz, micros bigint) RETURNS timestamptz
  LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN instant + micros * interval '1 microsecond'; END $$;

-- One row for the whole database. cursor_key signs cursors. It is part of a dump, so cursors survive a restore.
CREATE TABLE installation (
  only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  cursor_key bytea NOT NULL CHECK (length(cursor_key) = 32),
  -- The public address of the service when it last started, for links that commands print. Null before the first start.
  base_url   text
);

-- gen_random_uuid() is the server's cryptographic source. Three of them have 366 random bits.
INSERT INTO installation (cursor_key)
VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
