import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer } from "effect"
import { isAmongFirst } from "../database/FirstItems.ts"
import { insertAll } from "../database/Inserts.ts"
import { findAll } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { publishActions } from "../drafts/History.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { AccountId, EntityId, JobId } from "../model/Ids.ts"
import { BulkItem, noRevision } from "./BulkChange.ts"

/** The entities that bulk changes have still to process. */
export class BulkItemsRepo extends Context.Tag("catalog/BulkItemsRepo")<
  BulkItemsRepo,
  {
    /**
     * Adds these entities to a job, in this order after the place `after`, with the revisions of their drafts: the current ones, or with
     * `asOfBegin` those that they had when the job was begun. Ids of unknown entities and of other kinds are added with `noRevision`. Returns
     * the number of entities with a revision.
     */
    readonly stage: (
      accountId: AccountId,
      jobId: JobId,
      entities: {
        readonly kind: EntityKind
        readonly ids: ReadonlyArray<EntityId>
        readonly after: number
        readonly asOfBegin: boolean
      }
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
            WHERE ${isAmongFirst(sql, { table: "bulk_item", owner: "job_id" }, { accountId, id: jobId, limit })}
            RETURNING d.place, d.entity_id AS id, d.draft_revision AS revision
          )
          SELECT t.id, t.revision FROM taken t ORDER BY t.place`
      )
      /** The history has the revision of each change. Publishes do not change drafts, and may have an older revision. */
      const revisionAtBegin = (accountId: AccountId, jobId: JobId) => sql`
        (SELECT h.draft_revision FROM entity_history h
         WHERE h.account_id = ${accountId} AND h.entity_id = e.id AND h.action <> ALL(${[...publishActions]}::text[])
           AND h.at <= (SELECT j.created_at FROM job j WHERE j.account_id = ${accountId} AND j.id = ${jobId})
         ORDER BY h.sequence DESC LIMIT 1)`
      return {
        stage: (accountId, jobId, { after, asOfBegin, ids, kind }) =>
          insertAll(
            sql`
              INSERT INTO bulk_item (account_id, job_id, place, entity_id, draft_revision)
              SELECT own.account_id, ${jobId}::uuid, ${after}::integer + r.place::integer, r.id,
                     CASE WHEN e.id IS NULL THEN ${noRevision}::integer
                       ELSE ${asOfBegin ? sql`coalesce(${revisionAtBegin(accountId, jobId)}, e.draft_revision)` : sql`e.draft_revision`} END
              FROM account_state own
              CROSS JOIN unnest(${[...ids]}::uuid[]) WITH ORDINALITY AS r (id, place)
              LEFT JOIN entity e ON e.account_id = ${accountId} AND e.id = r.id AND e.kind = ${kind}
              WHERE own.account_id = ${accountId}
              RETURNING draft_revision AS revision`,
            ids.length
          ).pipe(
            Effect.map((rows) => rows.filter(({ revision }) => revision !== noRevision).length),
            orDie
          ),
        take
      }
    })
  )
}
