-- Until when publishes to the store wait, because its platform did not answer, and the error of the publish that met the outage last. Both
-- stay after that time.
ALTER TABLE store ADD COLUMN outage_until timestamptz, ADD COLUMN outage_error jsonb;
