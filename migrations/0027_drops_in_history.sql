-- What a drop changed and published is told as the drop's. No foreign key: to check one costs each row of an import, too.
ALTER TABLE entity_history ADD COLUMN drop_id uuid;
ALTER TABLE publication ADD COLUMN drop_id uuid;
