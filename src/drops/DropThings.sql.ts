import type { SqlClient } from "@effect/sql/SqlClient"
import type { Context } from "effect"
import { findAll } from "../database/Rows.ts"
import type { AccountId } from "../model/Ids.ts"
import { DropThing, type ThingsQuery } from "./Composition.ts"
import type { DropsRepo } from "./DropsRepo.ts"

/** The statement that reads things to choose for a drop. */
export const makeReadThings = (sql: SqlClient): Pick<Context.Tag.Service<DropsRepo>, "things"> => {
  const things = findAll(DropThing)((accountId: AccountId, { fields, ids, limit, withVariants }: ThingsQuery) => {
    const only = (attributes: string) => sql`
        coalesce((
          SELECT jsonb_object_agg(f.key, ${sql.literal(attributes)} -> f.key) FROM unnest(${fields}::text[]) AS f (key)
          WHERE ${sql.literal(attributes)} ? f.key
        ), '{}')`
    const variants = sql`
          UNION ALL
          SELECT k.place, c.position, c.id FROM unnest(${ids}::uuid[]) WITH ORDINALITY AS k (id, place)
          JOIN entity c ON c.account_id = ${accountId} AND c.parent_id = k.id
          WHERE c.id <> ALL(${ids}::uuid[])`
    return sql`
        SELECT e.id, e.kind, e.title, e.parent_id AS "parentId", p.title AS "parentTitle",
               ${only("e.attributes")} AS attributes, (
                 SELECT coalesce(jsonb_agg(jsonb_build_object(
                          'storeId', v.store_id, 'overrides', ${only("v.overrides")},
                          'accepted', CASE WHEN v.accepted IS NOT NULL THEN ${only("(v.accepted -> 'attributes')")} END
                        ) ORDER BY s.domain COLLATE "C", s.id), '[]')
                 FROM store_version v
                 JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
                 WHERE v.account_id = ${accountId} AND v.entity_id = e.id
               ) AS versions
        FROM (
          SELECT k.place, NULL::integer AS position, k.id FROM unnest(${ids}::uuid[]) WITH ORDINALITY AS k (id, place)
          ${withVariants ? variants : sql``}
        ) chosen
        JOIN entity e ON e.account_id = ${accountId} AND e.id = chosen.id
        LEFT JOIN entity p ON p.account_id = ${accountId} AND p.id = e.parent_id
        ORDER BY chosen.place, chosen.position NULLS FIRST, e.id
        LIMIT ${limit}`
  })
  return { things }
}
