-- The failed publications of an account, and those of one job. No statement reads the failed publications of one entity, or all
-- publications of a job.
DROP INDEX publication_failed;
DROP INDEX publication_of_job;

CREATE INDEX publication_failed ON publication (account_id, job_id) WHERE state = 'failed';
