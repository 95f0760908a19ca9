-- A failed publish marks a version only if the store has accepted nothing of it before, and a publish that succeeds takes the mark away: what
-- is marked, and was read by a refresh since, may still be on no sales channel. Earlier marks of accepted versions meant less.
UPDATE store_version SET may_be_live = false WHERE may_be_live AND accepted IS NOT NULL;

-- The publishes of a job that the store accepted, but for a part that their error names.
CREATE INDEX publication_incomplete ON publication (account_id, job_id) WHERE state = 'published' AND error IS NOT NULL;
