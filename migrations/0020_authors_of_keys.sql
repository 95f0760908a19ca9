-- Who created and who revoked the key, by the name at that time. Null: not revoked, or done by an earlier version.
ALTER TABLE api_key ADD COLUMN created_by jsonb, ADD COLUMN revoked_by jsonb;
