-- The entities that a bulk change has still to process, with the draft revisions that they had when the job was begun. A step
-- deletes the rows that it processes. The rest goes with the job.
CREATE TABLE bulk_item (
  account_id     uuid NOT NULL,
  job_id         uuid NOT NULL,
  place          integer NOT NULL,
  entity_id      uuid NOT NULL,
  draft_revision integer NOT NULL,
  PRIMARY KEY (account_id, job_id, place),
  FOREIGN KEY (account_id, job_id) REFERENCES job (account_id, id) ON DELETE CASCADE
);
