import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Predicate } from "effect"
import { findAll } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { AccountId, EntityId, JobId } from "../model/Ids.ts"
import { BulkItem } from "./BulkChange.ts"

/** The entities that bulk changes have still to process. */
export class BulkItemsRepo extends Context.Tag("catalog/BulkItemsRepo")<
  BulkItemsRepo,
  {
    /**
     * Adds these entities to a job, in this order after its first `after` entities, with the current revisions of their drafts. Ids
     * of unknown entities and of other kinds are left out. Returns the number of added entities.
     */
    readonly stage: (
      accountId: AccountId,
      jobId: JobId,
      entities: { readonly kind: EntityKind; readonly ids: ReadonlyArray<EntityId>; readonly after: number }
    ) => Effect.Effect<number>
    /** Returns the next entities of a job, and removes them. */
    readonly take: (accountId: AccountId, jobId: JobId, limit: number) => Effect.Effect<ReadonlyArray<BulkItem>>
  }
>() {
  static readonly layer = Layer.effect(
    BulkItemsRepo,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const take = findAll(BulkItem)(
        (accountId: AccountId, jobId: JobId, limit: number) => sql`
          WITH taken AS (
            DELETE FROM bulk_item d
            WHERE d.account_id = ${accountId} AND d.job_id = ${jobId} AND d.place <= (
              SELECT max(n.place) FROM (
                SELECT i.place FROM bulk_item i
                WHERE i.account_id = ${accountId} AND i.job_id = ${jobId}
                ORDER BY i.place LIMIT ${limit}
              ) n
            )
            RETURNING d.place, d.entity_id AS id, d.draft_revision AS revision
          )
          SELECT t.id, t.revision FROM taken t ORDER BY t.place`
      )
      return {
        stage: (accountId, jobId, { after, ids, kind }) =>
          Effect.map(
            orDie(
              sql`
                INSERT INTO bulk_item (account_id, job_id, place, entity_id, draft_revision)
                SELECT e.account_id, ${jobId}::uuid, ${after}::integer + r.place::integer, e.id, e.draft_revision
                FROM unnest(${[...ids]}::uuid[]) WITH ORDINALITY AS r (id, place)
                JOIN entity e ON e.account_id = ${accountId} AND e.id = r.id AND e.kind = ${kind}`.raw
            ),
            (result) => (Predicate.hasProperty(result, "rowCount") ? Number(result.rowCount) : 0)
          ),
        take
      }
    })
  )
}
