-- Lists in the order of titles. The key is the folded title, which is the first line of the search text, cut to a length that an
-- index entry can hold. An entity without a title comes first. The order of bytes is the same on every server.
-- src/catalog/MerchantListsRepo.ts has the same expression.
CREATE INDEX entity_by_title ON entity (
  account_id, kind,
  (CASE WHEN title = '' THEN '' ELSE left(split_part(search_text, E'\n', 1), 100) END COLLATE "C"),
  id
);
