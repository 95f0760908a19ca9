-- Since when the publication of outage_met_by has failed alone, though the platform answered other calls. Null if the platform did not
-- answer at all. Its value says nothing while outage_met_by is null.
ALTER TABLE store ADD COLUMN outage_alone_since timestamptz;
