CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- Computes entity.title.
CREATE FUNCTION entity_title(kind text, attributes jsonb) RETURNS text
  LANGUAGE sql IMMUTABLE
  RETURN CASE WHEN kind = 'media'
    THEN coalesce(nullif(attributes #>> '{file_name,value}', ''), nullif(attributes #>> '{alt,value}', ''), attributes #>> '{url,value}', '')
    ELSE coalesce(attributes #>> '{title,value}', '')
  END;

-- Computes entity.list_row. Declared IMMUTABLE although to_json and to_char are STABLE: with these types and this
-- pattern they do not depend on settings. Written in plpgsql, because PostgreSQL cannot inline it as an SQL function,
-- and then a call takes 10 us instead of 4. It calls no function of this schema, because a dump is restored with an
-- empty search path. It therefore repeats the format of rfc3339().
CREATE FUNCTION entity_list_row(
  kind text, id uuid, parent_id uuid, title text, attributes jsonb, draft_revision integer, pending_publish boolean,
  last_publish_status text, store_ids uuid[], canonical_changed_at timestamptz
) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN '{"id":"' || id || '","type":"' || kind || '","title":' || to_json(title)
    || ',"draft_revision":' || draft_revision || ',"pending_publish":' || pending_publish
    || ',"last_publish_status":"' || last_publish_status || '","store_ids":' || array_to_json(store_ids)
    || ',"updated_at":"' || to_char(canonical_changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '"'
    || CASE kind
         WHEN 'variant' THEN ',"product_id":"' || parent_id || '","sku":' || to_json(coalesce(attributes #>> '{sku,value}', ''))
         WHEN 'collection' THEN ',"handle":' || to_json(coalesce(attributes #>> '{handle,value}', ''))
         WHEN 'media' THEN ',"url":' || to_json(coalesce(attributes #>> '{url,value}', ''))
           || ',"media_type":"' || CASE
             WHEN attributes #>> '{mime_type,value}' LIKE 'video/%' THEN 'video'
             WHEN attributes #>> '{mime_type,value}' LIKE 'model/%' THEN 'model_3d'
             WHEN attributes #>> '{mime_type,value}' = 'text/html' THEN 'external_video'
             ELSE 'image'
           END || '","alt":' || to_json(coalesce(attributes #>> '{alt,value}', ''))
         ELSE ''
       END || '}';
END $$;

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

-- Products, variants, collections and media. They share a table, so that lists, drafts and scans are written once for
-- all kinds. A request for the wrong kind is refused by one condition.
CREATE TABLE entity (
  account_id           uuid NOT NULL REFERENCES account (id),
  id                   uuid NOT NULL,
  kind                 text NOT NULL CHECK (kind IN ('product', 'variant', 'collection', 'media')),
  -- The product that a variant belongs to.
  parent_id            uuid,
  position             integer,
  -- The canonical values: key -> {value, type}.
  attributes           jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(attributes) = 'object'),
  draft_revision       integer NOT NULL DEFAULT 0,
  -- The stamp: the position in the account's change order, and the time. Null only inside the transaction that inserts
  -- the row. stamped_by is the transaction of the last stamp (read by the guards in 0005_drafts.sql).
  change_seq           bigint,
  canonical_changed_at timestamptz,
  stamped_by           xid8,
  created_at           timestamptz NOT NULL DEFAULT app_now(),
  -- Derived values that filters find by index. Every write that changes their sources updates them.
  pending_publish      boolean NOT NULL DEFAULT false,
  last_publish_status  text NOT NULL DEFAULT 'never_published'
    CHECK (last_publish_status IN ('never_published', 'pending', 'published', 'failed')),
  store_ids            uuid[] NOT NULL DEFAULT '{}',
  search_text          text NOT NULL DEFAULT '',
  title                text NOT NULL GENERATED ALWAYS AS (entity_title(kind, attributes)) STORED,
  -- The row of a list, as the JSON text that is sent. Building it on every read took two thirds of PostgreSQL's time
  -- for a page. Null until the row is stamped.
  list_row             text GENERATED ALWAYS AS (
    entity_list_row(
      kind, id, parent_id, entity_title(kind, attributes), attributes, draft_revision, pending_publish,
      last_publish_status, store_ids, canonical_changed_at
    )
  ) STORED,
  -- A product without a picture in its gallery.
  lacks_pictures       boolean NOT NULL DEFAULT false,
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, parent_id) REFERENCES entity (account_id, id),
  CHECK ((kind = 'variant') = (parent_id IS NOT NULL)),
  CHECK ((kind = 'variant') = (position IS NOT NULL))
);

-- Partial, so that no foreign key can reference change_seq. A stamp then does not conflict with the key-share locks
-- that foreign keys take on media and collection members, and writers do not wait for writers that only reference their
-- rows.
CREATE UNIQUE INDEX entity_change_seq ON entity (account_id, change_seq) WHERE change_seq IS NOT NULL;
CREATE INDEX entity_walk ON entity (account_id, kind, change_seq);
CREATE INDEX entity_walk_by_status ON entity (account_id, kind, last_publish_status, change_seq);
-- Usually few drafts are unpublished. Without this index a list of them reads the whole account.
CREATE INDEX entity_walk_by_pending ON entity (account_id, kind, pending_publish, change_seq);
-- Entities that were changed after they were published, without the many that were never published.
CREATE INDEX entity_changed ON entity (account_id, kind, change_seq) WHERE pending_publish AND last_publish_status = 'published';
CREATE INDEX entity_changed_at ON entity (account_id, canonical_changed_at);
CREATE INDEX entity_variants ON entity (account_id, parent_id, position) WHERE parent_id IS NOT NULL;
CREATE INDEX entity_search ON entity USING gin (account_id, search_text gin_trgm_ops);

-- Lists in the order of titles. The key is the folded title, which is the first line of the search text, cut to a length that an
-- index entry can hold. An entity without a title comes first. The order of bytes is the same on every server.
-- src/catalog/MerchantListsRepo.ts has the same expression.
CREATE INDEX entity_by_title ON entity (
  account_id, kind,
  (CASE WHEN title = '' THEN '' ELSE left(split_part(search_text, E'\n', 1), 100) END COLLATE "C"),
  id
);

-- Finds products by the filters of the console's lists. A rare match on a large account is found without reading other products, also by
-- several filters together.
CREATE INDEX entity_by_facets ON entity USING gin (account_id, entity_facets(kind, attributes, lacks_pictures)) WHERE kind = 'product';

-- The planner has no statistics of a partial index, and would expect that each facet is rare. Citus refuses statistics of expressions.
DO $$ BEGIN
  CREATE STATISTICS entity_facets_found ON entity_facets(kind, attributes, lacks_pictures) FROM entity;
EXCEPTION WHEN feature_not_supported THEN
  NULL;
END $$;

-- Imports match records by these columns. The url of a file is hashed because it may be longer than an index entry.
CREATE INDEX entity_sku ON entity (account_id, (attributes #>> '{sku,value}')) WHERE kind = 'variant';
CREATE INDEX entity_handle ON entity (account_id, (attributes #>> '{handle,value}')) WHERE kind = 'product';
CREATE INDEX entity_address ON entity (account_id, md5(split_part(attributes #>> '{url,value}', '?', 1))) WHERE kind = 'media';
CREATE INDEX entity_collection_handle ON entity (account_id, (attributes #>> '{handle,value}')) WHERE kind = 'collection';

-- Lists of variants with a barcode, and of their products. The barcode is hashed because an import may have written one that is
-- longer than an index entry.
CREATE INDEX entity_barcode ON entity (account_id, md5(attributes #>> '{barcode,value}'))
  WHERE kind = 'variant' AND attributes #>> '{barcode,value}' IS NOT NULL;

-- An entity on a store: its overrides (key -> {value, type}) and the values that the store last accepted (null: never
-- published).
CREATE TABLE store_version (
  account_id          uuid NOT NULL,
  entity_id           uuid NOT NULL,
  store_id            uuid NOT NULL,
  overrides           jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(overrides) = 'object'),
  accepted            jsonb,
  pending_publish     boolean NOT NULL DEFAULT true,
  last_publish_status text NOT NULL DEFAULT 'never_published'
    CHECK (last_publish_status IN ('never_published', 'pending', 'published', 'failed')),
  published_at        timestamptz,
  last_publish_error  jsonb,
  platform_id         text,
  PRIMARY KEY (account_id, entity_id, store_id),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);

CREATE INDEX store_version_by_store ON store_version (account_id, store_id, entity_id);
-- Versions with a pending publish. A server looks for them when it starts.
CREATE INDEX store_version_pending ON store_version (account_id, store_id, entity_id) WHERE last_publish_status = 'pending';
-- Finds the entity of a platform's record.
CREATE INDEX store_version_platform ON store_version (account_id, store_id, platform_id) WHERE platform_id IS NOT NULL;
-- Few versions have overrides. Scans that read only overrides skip the other versions.
CREATE INDEX store_version_overridden ON store_version (account_id, entity_id, store_id) WHERE overrides <> '{}';
-- The list of entities with an unpublished draft on a store.
CREATE INDEX store_version_unpublished ON store_version (account_id, store_id, entity_id) INCLUDE (last_publish_status)
  WHERE pending_publish;
-- The list of entities whose last publish on a store failed.
CREATE INDEX store_version_failed ON store_version (account_id, store_id, entity_id) WHERE last_publish_status = 'failed';

-- A gallery entry: a media item, its position, and the stores that show it.
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
