-- Whether waiting_for names a platform that does not answer. It says nothing without waiting_for, which earlier versions clear alone.
ALTER TABLE job ADD COLUMN waits_for_platform boolean NOT NULL DEFAULT false;
