-- Values that were stored before every write asked the definition of their key. Keys in use that nothing defines get a
-- definition of the account's own, with the type that most of their values were stored with: they can be edited as before.
-- Values under a definition get its type where they fit it, and stay as they are where they do not: data health lists those.
-- A canonical record that changes takes a new place in the walk, as with every change; its draft's revision stays, for no
-- value changes.

CREATE FUNCTION pg_temp.is_mistyped(attributes jsonb, types jsonb) RETURNS boolean
  LANGUAGE sql IMMUTABLE AS $$
  SELECT EXISTS (
    SELECT FROM jsonb_each_text(types) t
    WHERE attributes -> t.key ->> 'type' <> t.value
      AND key_fits(jsonb_build_object('type', t.value), NULL, attributes -> t.key ->> 'value')
  )
$$;

CREATE FUNCTION pg_temp.retyped(attributes jsonb, types jsonb) RETURNS jsonb
  LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_object_agg(a.key, CASE
    WHEN key_fits(jsonb_build_object('type', types ->> a.key), NULL, a.value ->> 'value') AND types ? a.key
      THEN jsonb_set(a.value, '{type}', types -> a.key)
    ELSE a.value
  END), '{}')
  FROM jsonb_each(attributes) a
$$;

CREATE TEMP TABLE stored_type ON COMMIT DROP AS
SELECT s.account_id, s.kind, s.key, (array_agg(s.type ORDER BY s.uses DESC, s.type COLLATE "C"))[1] AS type
FROM (
  SELECT u.account_id, u.kind, u.key, u.type, count(*) AS uses
  FROM (
    SELECT e.account_id, e.kind, a.key, a.value ->> 'type' AS type
    FROM entity e CROSS JOIN LATERAL jsonb_each(e.attributes) a
    WHERE strpos(a.key, '.') > 0 AND a.value ->> 'value' <> ''
    UNION ALL
    SELECT e.account_id, e.kind, a.key, a.value ->> 'type'
    FROM store_version v
    JOIN entity e ON e.account_id = v.account_id AND e.id = v.entity_id
    CROSS JOIN LATERAL (
      SELECT * FROM jsonb_each(v.overrides)
      UNION ALL
      SELECT * FROM jsonb_each(coalesce(v.accepted -> 'attributes', '{}'))
    ) a
    WHERE strpos(a.key, '.') > 0 AND a.value ->> 'value' <> ''
  ) u
  WHERE u.key ~ '^[A-Za-z0-9_-]{1,255}\.[A-Za-z0-9_-]{1,64}$'
  GROUP BY u.account_id, u.kind, u.key, u.type
) s
GROUP BY s.account_id, s.kind, s.key;

INSERT INTO metafield_definition (account_id, id, owner_type, namespace, key, own)
SELECT u.account_id, gen_random_uuid(), u.kind, split_part(u.key, '.', 1), split_part(u.key, '.', 2),
       jsonb_build_object(
         'name', split_part(u.key, '.', 2), 'description', NULL, 'type', u.type, 'validations', '[]'::jsonb
       )
FROM stored_type u
WHERE NOT EXISTS (
  SELECT FROM metafield_definition d
  JOIN metafield_definition_store h ON h.account_id = d.account_id AND h.definition_id = d.id
  JOIN store s ON s.account_id = h.account_id AND s.id = h.store_id AND s.status = 'linked'
  WHERE d.account_id = u.account_id AND d.owner_type = u.kind AND d.namespace || '.' || d.key = u.key
)
ON CONFLICT (account_id, owner_type, namespace, key) DO UPDATE SET own = excluded.own;

-- The types in force, by kind: as repos/DefinitionsRepo.ts has them.
CREATE TEMP TABLE defined_types ON COMMIT DROP AS
SELECT d.account_id, d.owner_type AS kind, jsonb_object_agg(d.namespace || '.' || d.key, o.type) AS types
FROM metafield_definition d
CROSS JOIN LATERAL (
  SELECT o.type
  FROM (
    SELECT CASE WHEN h.platform_id = '' THEN 2 ELSE 0 END AS rank, s.domain, s.id, h.type
    FROM store s
    JOIN metafield_definition_store h ON h.account_id = s.account_id AND h.store_id = s.id AND h.definition_id = d.id
    WHERE s.account_id = d.account_id AND s.status = 'linked'
    UNION ALL
    SELECT 1, '', NULL, d.own ->> 'type' WHERE d.own IS NOT NULL
  ) o
  ORDER BY o.rank, o.domain COLLATE "C", o.id
  LIMIT 1
) o
GROUP BY d.account_id, d.owner_type;

CREATE TEMP TABLE retyped_entity ON COMMIT DROP AS
SELECT e.account_id, e.id, pg_temp.is_mistyped(e.attributes, t.types) AS is_canonical, t.types
FROM entity e
JOIN defined_types t ON t.account_id = e.account_id AND t.kind = e.kind
WHERE pg_temp.is_mistyped(e.attributes, t.types)
  OR EXISTS (
    SELECT FROM store_version v
    WHERE v.account_id = e.account_id AND v.entity_id = e.id
      AND (pg_temp.is_mistyped(v.overrides, t.types) OR pg_temp.is_mistyped(v.accepted -> 'attributes', t.types))
  );

UPDATE store_version v
SET overrides = pg_temp.retyped(v.overrides, r.types),
    accepted = CASE
      WHEN v.accepted IS NOT NULL
        THEN jsonb_set(v.accepted, '{attributes}', pg_temp.retyped(v.accepted -> 'attributes', r.types))
    END
FROM retyped_entity r
WHERE v.account_id = r.account_id AND v.entity_id = r.id;

WITH changed AS MATERIALIZED (
  SELECT e.account_id, e.id, pg_temp.retyped(e.attributes, r.types) AS attributes,
         row_number() OVER (PARTITION BY e.account_id ORDER BY e.change_seq) AS place
  FROM retyped_entity r
  JOIN entity e ON e.account_id = r.account_id AND e.id = r.id
  WHERE r.is_canonical
), stamped AS (
  UPDATE entity e
  SET attributes = c.attributes, change_seq = a.change_seq + c.place, canonical_changed_at = app_now(),
      stamped_by = pg_current_xact_id()
  FROM changed c
  JOIN account a ON a.id = c.account_id
  WHERE e.account_id = c.account_id AND e.id = c.id
)
UPDATE account a SET change_seq = a.change_seq + c.entities
FROM (SELECT account_id, count(*) AS entities FROM changed GROUP BY account_id) c
WHERE a.id = c.account_id;

-- Where nothing but the type was pending, nothing is any more.
UPDATE store_version v
SET pending_publish = false
FROM retyped_entity r
JOIN entity e ON e.account_id = r.account_id AND e.id = r.id
WHERE v.account_id = r.account_id AND v.entity_id = r.id AND v.pending_publish AND v.accepted IS NOT NULL
  AND NOT EXISTS (
    SELECT FROM jsonb_object_keys(e.attributes || v.overrides || (v.accepted -> 'attributes')) AS k (key)
    WHERE CASE WHEN coalesce(v.overrides -> k.key, e.attributes -> k.key) ->> 'value' <> ''
            THEN coalesce(v.overrides -> k.key, e.attributes -> k.key)
          END IS DISTINCT FROM v.accepted -> 'attributes' -> k.key
  )
  AND (e.kind <> 'product' OR (
    coalesce(v.accepted -> 'variants', '[]') = to_jsonb(ARRAY(
      SELECT c.id FROM entity c
      WHERE c.account_id = v.account_id AND c.parent_id = e.id AND v.store_id = ANY(c.store_ids)
      ORDER BY c.position, c.id
    ))
    AND coalesce(v.accepted -> 'media', '[]') = to_jsonb(ARRAY(
      SELECT g.media_id FROM entity_media g
      WHERE g.account_id = v.account_id AND g.entity_id = e.id AND v.store_id = ANY(g.store_ids)
      ORDER BY g.position, g.media_id
    ))
  ))
  AND (e.kind <> 'collection' OR coalesce(v.accepted -> 'members', '[]') = to_jsonb(ARRAY(
    SELECT m.product_id FROM collection_member m
    WHERE m.account_id = v.account_id AND m.collection_id = e.id
    ORDER BY m.position, m.product_id
  )));

UPDATE entity e
SET pending_publish = false
FROM retyped_entity r
WHERE e.account_id = r.account_id AND e.id = r.id AND e.pending_publish
  AND NOT EXISTS (
    SELECT FROM store_version v
    JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
    WHERE v.account_id = e.account_id AND v.entity_id = e.id AND v.pending_publish
  );

-- Answers that were given before are answered anew.
UPDATE account SET version = version + 1, last_changed_at = app_now();

-- A later migration may change these tables: no check of a row may still wait for the commit.
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
DROP FUNCTION pg_temp.is_mistyped(jsonb, jsonb);
DROP FUNCTION pg_temp.retyped(jsonb, jsonb);
