-- The failures of versions before the publication was requested, by the ids of their entities; null for one that had not failed. Versions
-- that had another open publication are left out. Null if an earlier version requested the publication.
ALTER TABLE publication ADD COLUMN failures_before jsonb;
