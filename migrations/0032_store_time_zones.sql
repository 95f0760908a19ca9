-- The time zone in which merchants enter times of the store: an IANA name. Null: not chosen yet.
ALTER TABLE store ADD COLUMN time_zone text;
-- Two statements: on a cluster, a column cannot be added together with a constraint.
ALTER TABLE store ADD CONSTRAINT store_time_zone_check CHECK (time_zone <> '');
