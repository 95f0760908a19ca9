-- What an export of a store's products contained, until it is counted as published: a product, its variants on the store and the
-- files of its gallery, with their revisions. Rows appear when the export was read completely.
CREATE TABLE export_item (
  account_id uuid NOT NULL REFERENCES account (id),
  export_id  uuid NOT NULL,
  place      integer NOT NULL,
  content    jsonb NOT NULL,
  staged_at  timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, export_id, place)
);

CREATE INDEX export_item_age ON export_item (account_id, staged_at);
