-- Filters of a console list that a user saved under a name.
CREATE TABLE saved_view (
  account_id uuid NOT NULL,
  user_id    uuid NOT NULL,
  list       text NOT NULL CHECK (list IN ('product', 'variant', 'collection', 'media')),
  name       text NOT NULL CHECK (name <> ''),
  -- The query of the list's address, without a position: search, filters and order.
  query      text NOT NULL,
  PRIMARY KEY (account_id, user_id, list, name),
  FOREIGN KEY (account_id, user_id) REFERENCES app_user (account_id, id)
);
