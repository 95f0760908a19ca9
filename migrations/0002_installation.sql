-- One row for the whole database: the key that authenticates cursors. It travels with a dump, so cursors survive a restore.
CREATE TABLE installation (
  only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  cursor_key bytea NOT NULL CHECK (length(cursor_key) = 32)
);

-- gen_random_uuid() is the server's cryptographic source: three of them hold 366 random bits.
INSERT INTO installation (cursor_key)
VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
