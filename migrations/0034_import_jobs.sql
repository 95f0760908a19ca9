-- The number of takeovers that were no interruptions, because somebody paused or resumed the import. An import that is applied
-- and has no lease is paused.
ALTER TABLE import_run ADD COLUMN handovers integer NOT NULL DEFAULT 0;
