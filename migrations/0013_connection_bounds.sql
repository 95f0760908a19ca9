-- The stores that a connection is limited to, and whether a person confirms each of its publishes. store_ids is null for a
-- connection to all stores of the account, also to those that are linked later. It keeps the ids of unlinked stores.
ALTER TABLE oauth_code
  ADD COLUMN store_ids       uuid[] CHECK (cardinality(store_ids) > 0),
  ADD COLUMN confirm_publish boolean NOT NULL DEFAULT false;

ALTER TABLE oauth_grant
  ADD COLUMN store_ids       uuid[] CHECK (cardinality(store_ids) > 0),
  ADD COLUMN confirm_publish boolean NOT NULL DEFAULT false;

-- A client that is known by the address of a document about it, instead of by a registration. Its row is what the document
-- said when it was last read.
ALTER TABLE oauth_client ADD COLUMN metadata_url text UNIQUE;
