import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"

// These statements select ids in the order of the lists in accepted values. A statement can compare the two lists.

/** The variants of a product that are on the store of a row `v` of `store_version`. */
export const variantIdsOf = (sql: SqlClient, accountId: string, productId: Fragment): Fragment => sql`
  SELECT c.id FROM entity c
  WHERE c.account_id = ${accountId} AND c.parent_id = ${productId} AND v.store_id = ANY(c.store_ids)
  ORDER BY c.position, c.id`

/** The media of an entity that are on the store of a row `v` of `store_version`. */
export const mediaIdsOf = (sql: SqlClient, accountId: string, entityId: Fragment): Fragment => sql`
  SELECT g.media_id FROM entity_media g
  WHERE g.account_id = ${accountId} AND g.entity_id = ${entityId} AND v.store_id = ANY(g.store_ids)
  ORDER BY g.position, g.media_id`

/** The members of a collection. */
export const memberIdsOf = (sql: SqlClient, accountId: string, collectionId: Fragment): Fragment => sql`
  SELECT m.product_id FROM collection_member m
  WHERE m.account_id = ${accountId} AND m.collection_id = ${collectionId}
  ORDER BY m.position, m.product_id`
