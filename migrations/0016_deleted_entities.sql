-- The first entities that the job deleted: {id, kind, name}.
ALTER TABLE job ADD COLUMN deleted jsonb NOT NULL DEFAULT '[]';
