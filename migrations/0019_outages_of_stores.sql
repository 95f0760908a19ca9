-- The last outage of the store's platform. outage_until: publishes wait until then, or waited. outage_error: the error of the publication
-- outage_met_by, which met the outage last. It is null after the platform has answered another publish.
ALTER TABLE store ADD COLUMN outage_until timestamptz, ADD COLUMN outage_error jsonb, ADD COLUMN outage_met_by uuid;
