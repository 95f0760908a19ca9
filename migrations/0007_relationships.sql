-- A gallery entry: the media, its position, and the stores that show it.
CREATE TABLE entity_media (
  account_id uuid NOT NULL,
  entity_id  uuid NOT NULL,
  media_id   uuid NOT NULL,
  position   integer NOT NULL CHECK (position >= 0),
  store_ids  uuid[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (account_id, entity_id, media_id),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id),
  FOREIGN KEY (account_id, media_id) REFERENCES entity (account_id, id)
);

CREATE INDEX entity_media_by_media ON entity_media (account_id, media_id, entity_id);

CREATE TABLE collection_member (
  account_id    uuid NOT NULL,
  collection_id uuid NOT NULL,
  product_id    uuid NOT NULL,
  position      integer NOT NULL CHECK (position >= 0),
  PRIMARY KEY (account_id, collection_id, product_id),
  FOREIGN KEY (account_id, collection_id) REFERENCES entity (account_id, id),
  FOREIGN KEY (account_id, product_id) REFERENCES entity (account_id, id)
);

CREATE INDEX collection_member_by_product ON collection_member (account_id, product_id, collection_id);
