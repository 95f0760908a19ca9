-- The numbers of the last scan of each day (UTC) and dimension, of the whole account. The trend of data health is drawn from
-- them. Kept for 400 days.
CREATE TABLE health_day (
  account_id uuid NOT NULL REFERENCES account (id),
  dimension  text NOT NULL
    CHECK (dimension IN ('sync', 'completeness', 'media', 'structure', 'divergence', 'translations')),
  day        date NOT NULL,
  checked    integer NOT NULL,
  affected   integer NOT NULL,
  PRIMARY KEY (account_id, dimension, day)
);
