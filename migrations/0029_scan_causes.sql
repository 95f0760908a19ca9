-- Why the scan of a snapshot was run (src/health/Health.ts: ScanCause). Null: by a version before this one.
ALTER TABLE health_snapshot ADD COLUMN cause text;
ALTER TABLE health_snapshot ADD CONSTRAINT health_snapshot_cause
  CHECK (cause IN ('nightly', 'import', 'link', 'unlink', 'request'));
