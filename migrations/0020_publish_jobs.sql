-- The job that requested a publish and counts its failure. No foreign key, as for drop_id.
ALTER TABLE publication
  ADD COLUMN job_id uuid;

CREATE INDEX publication_of_job ON publication (account_id, job_id) WHERE job_id IS NOT NULL;
