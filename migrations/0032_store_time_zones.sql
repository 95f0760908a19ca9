-- The time zone in which merchants enter times of the store: an IANA name. Null: not chosen yet.
ALTER TABLE store ADD COLUMN time_zone text CHECK (time_zone <> '');
