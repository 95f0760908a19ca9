import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { builtInFields, type EntityKind } from "../model/Attribute.ts"
import type { AccountId } from "../model/Ids.ts"
import { type Include, isIncluded } from "./Entity.ts"

/** A literal of SQL. Only for names in this program. */
const quote = (text: string) => `'${text.replaceAll("'", "''")}'`

const timeOf = (column: string) =>
  `'"' || to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '"'`

const whenPublished = (alias: string) =>
  `',"pending_publish":' || ${alias}.pending_publish || ',"last_publish_status":"' || ${alias}.last_publish_status || '"'`

/** The attributes as `listed` orders them. The document of values is read once, however many keys are built in. */
const attributesOf = (kind: EntityKind): string => {
  const keys = Object.entries(builtInFields[kind])
  const builtIn = keys.map(
    ([key, type]) =>
      `'{"key":"${key}","value":' || to_json(coalesce(a.${key} ->> 'value', ''))::text || ',"type":"${type}"}'`
  )
  return `(
    SELECT '[' || ${builtIn.join(` || ',' || `)} || coalesce((
             SELECT string_agg(
                      ',{"key":' || to_json(m.key)::text || ',"value":' || to_json(m.value ->> 'value')::text
                      || ',"type":' || to_json(m.value ->> 'type')::text || '}',
                      '' ORDER BY m.key COLLATE "C"
                    )
             FROM jsonb_each(e.attributes - ${quote(`{${keys.map(([key]) => key).join(",")}}`)}::text[]) m
             WHERE m.value ->> 'value' <> ''
           ), '') || ']'
    FROM jsonb_to_record(e.attributes) AS a (${keys.map(([key]) => `${key} jsonb`).join(", ")})
  )`
}

/**
 * The JSON texts of details, built by PostgreSQL as list rows are, so that this program neither parses nor serializes them. A
 * contract suite compares them with the details that the single read gives.
 */
export const makeIncludedRows = (sql: SqlClient) => {
  const literal = (text: string) => sql.literal(text)
  const ids = (select: Fragment) => sql`array_to_json(ARRAY(${select}))::text`

  const media = (accountId: AccountId) =>
    ids(sql`
      SELECT g.media_id FROM entity_media g
      WHERE g.account_id = ${accountId} AND g.entity_id = e.id ORDER BY g.position, g.media_id`)

  const users = (accountId: AccountId, kind: EntityKind) =>
    ids(sql`
      SELECT u.id FROM entity_media g
      JOIN entity u ON u.account_id = ${accountId} AND u.id = g.entity_id AND u.kind = ${literal(quote(kind))}
      WHERE g.account_id = ${accountId} AND g.media_id = e.id ORDER BY u.id`)

  const relationships: Readonly<Record<EntityKind, Readonly<Record<string, (accountId: AccountId) => Fragment>>>> = {
    product: {
      variant_ids: (accountId) =>
        ids(sql`
          SELECT v.id FROM entity v
          WHERE v.account_id = ${accountId} AND v.parent_id = e.id ORDER BY v.position, v.id`),
      media_ids: media,
      collection_ids: (accountId) =>
        ids(sql`
          SELECT m.collection_id FROM collection_member m
          WHERE m.account_id = ${accountId} AND m.product_id = e.id ORDER BY m.collection_id`)
    },
    variant: { product_id: () => sql`'"' || e.parent_id || '"'`, media_ids: media },
    collection: {
      media_ids: media,
      products_count: (accountId) => sql`(
        SELECT count(*)::text FROM collection_member m
        WHERE m.account_id = ${accountId} AND m.collection_id = e.id
      )`
    },
    media: {
      product_ids: (accountId) => users(accountId, "product"),
      variant_ids: (accountId) => users(accountId, "variant"),
      collection_ids: (accountId) => users(accountId, "collection")
    }
  }

  const stores = (accountId: AccountId) => sql`
    '[' || coalesce((
      SELECT string_agg(
               '{"store_id":"' || s.id || '","store_domain":' || to_json(s.domain)::text || ${literal(whenPublished("v"))}
               || ',"published_at":' || coalesce(${literal(timeOf("v.published_at"))}, 'null')
               || ',"last_publish_error":' || coalesce(
                 '{"code":' || to_json(v.last_publish_error ->> 'code')::text
                 || ',"message":' || to_json(v.last_publish_error ->> 'message')::text || '}', 'null'
               ) || '}',
               ',' ORDER BY s.domain COLLATE "C", s.id
             )
      FROM store_version v
      JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
      WHERE v.account_id = ${accountId} AND v.entity_id = e.id
    ), '') || ']'`

  /** The row of an entity `e`. */
  return (accountId: AccountId, kind: EntityKind, include: ReadonlyArray<Include>): Fragment => {
    const members: ReadonlyArray<readonly [name: string, json: Fragment]> = [
      ["attributes", literal(attributesOf(kind))],
      ...Object.entries(relationships[kind]).map(([name, json]) => [name, json(accountId)] as const),
      ["stores", stores(accountId)]
    ]
    const membersWhere = (isThese: (name: string) => boolean) =>
      members
        .filter(([name]) => isThese(name) && isIncluded(include, name))
        .reduce((text, [name, json]) => sql`${text} || ${literal(quote(`,"${name}":`))} || ${json}`, sql``)
    return sql`
      '{"id":"' || e.id || ${literal(quote(`","type":"${kind}","title":`))} || to_json(e.title)::text
      ${membersWhere((name) => name === "attributes")}
      || ',"draft_revision":' || e.draft_revision || ${literal(whenPublished("e"))}
      ${membersWhere((name) => name !== "attributes")}
      || ',"created_at":' || ${literal(timeOf("e.created_at"))}
      || ',"updated_at":' || ${literal(timeOf("e.canonical_changed_at"))} || '}'`
  }
}
