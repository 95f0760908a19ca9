-- An entity can be deleted when the drops that change it have ended. Their changes then have its {id, kind, name} in place of the reference.
ALTER TABLE drop_change ALTER COLUMN entity_id DROP NOT NULL;
ALTER TABLE drop_change ADD COLUMN deleted jsonb;
ALTER TABLE drop_change ADD CONSTRAINT drop_change_of_entity CHECK ((entity_id IS NULL) = (deleted IS NOT NULL));
