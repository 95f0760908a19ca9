import { SqlClient, type Statement } from "@effect/sql"
import { Effect } from "effect"
import { EntityId, type StoreId } from "../../src/model/Ids.ts"
import { demoPlatformId } from "../../src/platform/demo/DemoRecords.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { CatalogChange, CatalogChanges } from "../../src/testing/index.ts"

/** Products that a demo store has accepted, with a draft that no drop may publish. */
export const liveProducts = (storeId: StoreId, count: number) =>
  Effect.gen(function* () {
    const ids = yield* Effect.replicateEffect(mintId(EntityId), count)
    yield* (yield* CatalogChanges).apply(
      ids.flatMap((id, index) => [
        CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: `Product ${index}` } }),
        CatalogChange.AddToStore({ entityId: id, storeId }),
        CatalogChange.AcceptPublish({ entityId: id, storeId }),
        CatalogChange.Identify({ entityId: id, storeId, platformId: demoPlatformId("product", id) }),
        CatalogChange.SetAttributes({ entityId: id, values: { vendor: "Draft" } })
      ])
    )
    return ids
  })

/**
 * Judges the publishes of drops by the shops' records and the times at which they were written. `mine`: a condition on `account_id` for the
 * accounts of the drops.
 */
export const judgeDrops = (mine: Statement.Fragment) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql`
      WITH arrived AS (
        SELECT d.account_id, d.id,
               count(*) FILTER (WHERE p.content #>> '{fields,title,value}' = c.value) AS came,
               count(*) FILTER (WHERE p.content #>> '{fields,title,value}' <> c.value) AS went,
               bool_or(CASE WHEN p.content #>> '{fields,title,value}' = c.value
                         THEN f.applied_at < d.starts_at ELSE f.applied_at < d.ends_at END)
                 FILTER (WHERE p.id IS NOT NULL) AS early
        FROM drop d
        JOIN drop_change c ON c.account_id = d.account_id AND c.drop_id = d.id
        LEFT JOIN demo_shop_effect f ON f.account_id = c.account_id AND f.entity_id = c.entity_id
        LEFT JOIN publication p ON p.account_id = f.account_id AND p.id = f.key::uuid AND p.drop_id = d.id
        WHERE d.${mine}
        GROUP BY d.account_id, d.id, c.ordinal
      )
      SELECT (SELECT count(*) FROM arrived) AS changes,
             (SELECT coalesce(sum(came + went), 0) FROM arrived) AS effects,
             (SELECT count(*) FROM arrived WHERE early) AS early,
             (SELECT count(*) FROM arrived WHERE came > 1 OR went > 1) AS double,
             (SELECT count(*) FROM arrived WHERE came < 1 OR went < 1) AS missed,
             (SELECT count(*) FROM drop WHERE ${mine} AND status = 'reverted' AND next_step IS NULL) AS reverted,
             (SELECT count(*) FROM entity e
              JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id
              WHERE e.${mine} AND (v.overrides <> '{}' OR v.accepted #>> '{attributes,title,value}' NOT LIKE 'Product %'
                                   OR v.accepted #> '{attributes,vendor}' IS NOT NULL)) AS changed`
    return Object.fromEntries(Object.entries(row ?? {}).map(([key, value]) => [key, Number(value)]))
  })
