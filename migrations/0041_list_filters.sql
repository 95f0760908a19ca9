-- Finds products by the filters of the console's lists: vendor, type, tags and empty fields. A rare match on a large account is
-- found without reading other products, also by several filters together.

-- Products without a picture in their gallery. The default is the usual case, so the column is added without writing every row.
ALTER TABLE entity ADD COLUMN lacks_pictures boolean NOT NULL DEFAULT false;
UPDATE entity e SET lacks_pictures = true
WHERE e.kind = 'product'
  AND NOT EXISTS (SELECT FROM entity_media g WHERE g.account_id = e.account_id AND g.entity_id = e.id);

-- The values by which a product is found. Other kinds have none: their empty fields would count in the statistics. Values are cut,
-- because an index entry has at most 2,700 bytes. A tag with a comma has several facets. So facets find candidates, and the statement
-- checks the values. src/catalog/ListCandidates.sql.ts has the same words. Written in plpgsql like entity_list_row, so that a
-- statement uses the index by the call of the function.
CREATE FUNCTION entity_facets(kind text, attributes jsonb, lacks_pictures boolean) RETURNS text[]
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  vendor text := coalesce(attributes #>> '{vendor,value}', '');
  product_type text := coalesce(attributes #>> '{product_type,value}', '');
  tags text := coalesce(attributes #>> '{tags,value}', '');
BEGIN
  IF kind <> 'product' THEN RETURN '{}'; END IF;
  RETURN array_remove(ARRAY[
    CASE WHEN vendor IN ('', '[]') THEN 'no vendor' ELSE 'vendor ' || left(vendor, 100) END,
    CASE WHEN product_type IN ('', '[]') THEN 'no type' ELSE 'type ' || left(product_type, 100) END,
    CASE WHEN tags IN ('', '[]') THEN 'no tags' END,
    CASE WHEN coalesce(attributes #>> '{description_html,value}', '') IN ('', '[]') THEN 'no description' END,
    CASE WHEN lacks_pictures THEN 'no picture' END
  ], NULL) || CASE WHEN tags IN ('', '[]') THEN '{}' ELSE ARRAY(
    SELECT 'tag ' || left(btrim(part), 100) FROM unnest(string_to_array(btrim(tags, '[] '), ',')) part
  ) END;
END $$;

CREATE INDEX entity_by_facets ON entity USING gin (account_id, entity_facets(kind, attributes, lacks_pictures)) WHERE kind = 'product';

-- The planner has no statistics of a partial index, and would expect that each facet is rare. Citus refuses statistics of expressions.
DO $$ BEGIN
  CREATE STATISTICS entity_facets_found ON entity_facets(kind, attributes, lacks_pictures) FROM entity;
EXCEPTION WHEN feature_not_supported THEN
  NULL;
END $$;

-- Entities that were changed after they were published, without the many that were never published.
CREATE INDEX entity_changed ON entity (account_id, kind, change_seq) WHERE pending_publish AND last_publish_status = 'published';
DROP INDEX store_version_unpublished;
CREATE INDEX store_version_unpublished ON store_version (account_id, store_id, entity_id) INCLUDE (last_publish_status)
  WHERE pending_publish;

-- The words by which a search finds the row of an import: the new values, and those that its entities had in the catalog. Imports that
-- were compared before have none: a search finds nothing in them.
ALTER TABLE import_item ADD COLUMN search_text text NOT NULL DEFAULT '';
