-- The stores that a connection may use, and whether a person confirms each of its publishes. store_ids null: all stores
-- of the account, including stores that are linked later. Ids of unlinked stores stay in it.
ALTER TABLE oauth_code
  ADD COLUMN store_ids       uuid[] CHECK (cardinality(store_ids) > 0),
  ADD COLUMN confirm_publish boolean NOT NULL DEFAULT false;

ALTER TABLE oauth_grant
  ADD COLUMN store_ids       uuid[] CHECK (cardinality(store_ids) > 0),
  ADD COLUMN confirm_publish boolean NOT NULL DEFAULT false;

-- A client that is identified by the URL of its metadata document, instead of by a registration. The row is a copy of
-- the document as it was last read.
ALTER TABLE oauth_client ADD COLUMN metadata_url text UNIQUE;
