-- A row of a list as the JSON text that is sent, kept by whatever writes what is in it: putting it together while reading
-- took two thirds of PostgreSQL's time for a page. Exact by construction: the column is generated.

CREATE FUNCTION entity_title(kind text, attributes jsonb) RETURNS text
  LANGUAGE sql IMMUTABLE
  RETURN CASE WHEN kind = 'media'
    THEN coalesce(nullif(attributes #>> '{file_name,value}', ''), nullif(attributes #>> '{alt,value}', ''), attributes #>> '{url,value}', '')
    ELSE coalesce(attributes #>> '{title,value}', '')
  END;

-- What is called in it is declared stable only because other types or patterns than these depend on settings; the time is
-- written as rfc3339() does. In plpgsql: as an SQL function it could not be inlined, and take 10 us in stead of 4. It calls
-- nothing of ours, as a restored dump runs it with an empty search path.
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

ALTER TABLE entity
  DROP COLUMN title,
  ADD COLUMN title text NOT NULL GENERATED ALWAYS AS (entity_title(kind, attributes)) STORED,
  -- Null until the row is stamped, as its change_seq is.
  ADD COLUMN list_row text GENERATED ALWAYS AS (
    entity_list_row(
      kind, id, parent_id, entity_title(kind, attributes), attributes, draft_revision, pending_publish,
      last_publish_status, store_ids, canonical_changed_at
    )
  ) STORED;
