-- The deletion of an entity finds the rows that refer to it by these indexes, and so do the checks of their foreign keys.
CREATE INDEX import_conflict_by_entity ON import_conflict (account_id, entity_id);
CREATE INDEX translatable_field_by_entity ON translatable_field (account_id, entity_id);
CREATE INDEX translation_by_entity ON translation (account_id, entity_id);
