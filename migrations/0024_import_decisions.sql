-- The number of times that decisions on its conflicts were written. Processes that hear no announcements see by it that the decisions
-- have changed. updated_at would not do: a review is discarded seven days after it.
ALTER TABLE import_run
  ADD COLUMN decision_writes integer NOT NULL DEFAULT 0;
