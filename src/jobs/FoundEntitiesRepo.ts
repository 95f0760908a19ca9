import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { makeMerchantConditions } from "../catalog/ListCandidates.sql.ts"
import { withNeedles } from "../catalog/MerchantLists.ts"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { type AccountId, EntityId, type JobId } from "../model/Ids.ts"
import { type FoundEntities, type FoundPage, pageOf, type WalkPlace } from "./FoundEntities.ts"

/** Walks along the entities that a job finds by the filters of a list. */
export class FoundEntitiesRepo extends Context.Tag("catalog/FoundEntitiesRepo")<
  FoundEntitiesRepo,
  {
    /**
     * The next entities that the filters find, by id. Entities that were created after the job are left out. An entity never changes its
     * place in this order, so a walk finds each entity at most once.
     */
    readonly next: (
      accountId: AccountId,
      jobId: JobId,
      found: FoundEntities,
      place: WalkPlace
    ) => Effect.Effect<FoundPage>
  }
>() {
  static readonly layer = Layer.effect(
    FoundEntitiesRepo,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const conditions = makeMerchantConditions(sql)

      /**
       * A statement looks at a bounded number of entities, however few of them match. What failed on a store is usually rare, and its
       * index is in the order of the ids.
       */
      const candidates = (accountId: AccountId, { filters }: FoundEntities, { after, looked }: WalkPlace) =>
        filters.storeId !== undefined && filters.state === "failed"
          ? sql`
            SELECT v.entity_id AS id FROM store_version v
            WHERE v.account_id = ${accountId} AND v.store_id = ${filters.storeId} AND v.last_publish_status = 'failed'
              AND v.entity_id > ${after}
            ORDER BY v.entity_id LIMIT ${sql.literal(String(looked))}`
          : sql`
            SELECT c.id FROM entity c
            WHERE c.account_id = ${accountId} AND c.id > ${after}
            ORDER BY c.id LIMIT ${sql.literal(String(looked))}`

      const checkEntities = findAll(Schema.Struct({ id: EntityId, fits: Schema.Boolean }))(
        (accountId: AccountId, jobId: JobId, found: FoundEntities, place: WalkPlace) => {
          return sql`
            SELECT ${sql.literal(planCustom)} e.id,
                   coalesce(${sql.and([
                     sql`e.kind = ANY(${[...found.kinds]}::text[])`,
                     sql`e.created_at <= (SELECT j.created_at FROM job j WHERE j.account_id = ${accountId} AND j.id = ${jobId})`,
                     ...conditions.ofWindow(accountId, withNeedles(found.filters))
                   ])}, false) AS fits
            FROM (${candidates(accountId, found, place)}) seen
            JOIN entity e ON e.account_id = ${accountId} AND e.id = seen.id
            ORDER BY e.id`
        }
      )
      return {
        next: (accountId, jobId, found, place) =>
          Effect.map(checkEntities(accountId, jobId, found, place), (rows) => pageOf(rows, place))
      }
    })
  )
}
