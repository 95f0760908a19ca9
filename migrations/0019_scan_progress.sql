-- The time of the last step of a full scan, and the time that its steps took so far. A longer gap between two steps counts as a minute.
ALTER TABLE health_base
  ADD COLUMN stepped_at     timestamptz,
  ADD COLUMN worked_seconds double precision NOT NULL DEFAULT 0;
