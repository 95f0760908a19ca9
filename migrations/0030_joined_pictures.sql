-- What came to the gallery of a product with pictures of its variants: on these stores, and whether the entry itself did.
ALTER TABLE entity_media ADD COLUMN joined_store_ids uuid[] NOT NULL DEFAULT '{}';
ALTER TABLE entity_media ADD COLUMN is_joined boolean NOT NULL DEFAULT false;
