import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Schema, Struct } from "effect"
import { insertAll } from "../database/Inserts.ts"
import { orDie } from "../database/SqlErrors.ts"
import { HistoryActor } from "../drafts/History.ts"
import { AccountId, ImportId, type StoreId } from "../model/Ids.ts"
import { ConflictDecision, DecisionTally, ImportConflict, maxNamedConflicts } from "./Import.ts"
import type { StagedConflict } from "./StagedImport.ts"

const ConflictScope = Schema.Literal("all", "undecided", "others")
type ConflictScope = typeof ConflictScope.Type

/** The conflicts of imports and their decisions. */
export interface ImportConflictStatements {
  /** Stages conflicts. They are undecided and belong to one store. */
  readonly stageConflicts: (
    accountId: AccountId,
    id: ImportId,
    storeId: StoreId,
    conflicts: ReadonlyArray<StagedConflict>
  ) => Effect.Effect<void>
  /** Conflicts in the order of their numbers, starting after number `after` (0: from the start). */
  readonly conflicts: (
    accountId: AccountId,
    id: ImportId,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<ImportConflict>>
  /**
   * Decides these conflicts, all, all undecided ones, or all without this decision ("others"). A new decision replaces
   * an earlier one. Returns the numbers of the conflicts that were written.
   */
  readonly decide: (
    accountId: AccountId,
    actor: HistoryActor,
    id: ImportId,
    which: ReadonlyArray<number> | ConflictScope,
    decision: ConflictDecision
  ) => Effect.Effect<ReadonlyArray<number>>
  /** The decisions on these conflicts; null: undecided. */
  readonly decisions: (
    accountId: AccountId,
    id: ImportId,
    conflicts: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyMap<number, ConflictDecision | null>>
  /** The number of conflicts by decision, and the numbers of the first ten undecided ones. */
  readonly tally: (accountId: AccountId, id: ImportId) => Effect.Effect<DecisionTally>
}

/** The decisions on conflicts. */
const makeDecisions = (sql: SqlClient.SqlClient): Pick<ImportConflictStatements, "decide" | "decisions" | "tally"> => {
  const decide = SqlSchema.findAll({
    Request: Schema.Struct({
      accountId: AccountId,
      id: ImportId,
      ordinals: Schema.NullOr(Schema.Array(Schema.Int)),
      scope: ConflictScope,
      decision: ConflictDecision,
      kind: HistoryActor.fields.kind,
      actorId: Schema.NullOr(Schema.String),
      actorName: Schema.NullOr(Schema.String)
    }),
    Result: Schema.Struct({ ordinal: Schema.Int }),
    execute: ({ accountId, actorId, actorName, decision, id, kind, ordinals, scope }) => sql`
      UPDATE import_conflict c
      SET decision = ${decision}, decided_kind = ${kind}, decided_id = ${actorId}::uuid, decided_at = app_now(),
          decided_name = ${actorName}::text
      WHERE c.account_id = ${accountId} AND c.run_id = ${id}
        AND (${ordinals}::integer[] IS NULL OR c.ordinal = ANY(${ordinals}))
        AND (${scope} = 'all' OR c.decision IS NULL OR (${scope} = 'others' AND c.decision <> ${decision}))
      RETURNING c.ordinal`
  })
  const tally = SqlSchema.single({
    Request: Schema.Struct({ accountId: AccountId, id: ImportId }),
    Result: DecisionTally,
    execute: ({ accountId, id }) => sql`
      SELECT count(*) FILTER (WHERE c.decision IS NULL)::integer AS undecided,
             coalesce((array_agg(c.ordinal ORDER BY c.ordinal) FILTER (WHERE c.decision IS NULL))[1:${sql.literal(String(maxNamedConflicts))}], '{}') AS first,
             count(*) FILTER (WHERE c.decision = 'keep_draft')::integer AS keep_draft,
             count(*) FILTER (WHERE c.decision = 'take_store')::integer AS take_store,
             md5(coalesce(string_agg(c.ordinal || c.decision, ' ' ORDER BY c.ordinal), '')) AS digest
      FROM import_conflict c
      WHERE c.account_id = ${accountId} AND c.run_id = ${id}`
  })
  const decisions = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: AccountId, id: ImportId, ordinals: Schema.Array(Schema.Int) }),
    Result: Schema.Struct({ ordinal: Schema.Int, decision: Schema.NullOr(ConflictDecision) }),
    execute: ({ accountId, id, ordinals }) => sql`
      SELECT c.ordinal, c.decision FROM import_conflict c
      WHERE c.account_id = ${accountId} AND c.run_id = ${id} AND c.ordinal = ANY(${ordinals}::integer[])`
  })
  return {
    decide: (accountId, actor, id, which, decision) =>
      Effect.map(
        orDie(
          decide({
            accountId,
            id,
            ordinals: typeof which === "string" ? null : which,
            scope: typeof which === "string" ? which : "all",
            decision,
            kind: actor.kind,
            actorId: actor.id,
            actorName: actor.name
          })
        ),
        (rows) => rows.map(({ ordinal }) => ordinal)
      ),
    decisions: (accountId, id, ordinals) =>
      ordinals.length === 0
        ? Effect.succeed(new Map())
        : Effect.map(
            orDie(decisions({ accountId, id, ordinals })),
            (rows) => new Map(rows.map(({ decision, ordinal }) => [ordinal, decision]))
          ),
    tally: (accountId, id) => Effect.orDie(tally({ accountId, id }))
  }
}

export const makeImportConflictStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const conflicts = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: AccountId, id: ImportId, after: Schema.Int, limit: Schema.Int }),
    Result: Schema.Struct({
      ...Struct.omit(ImportConflict.fields, "decided_by"),
      kind: Schema.NullOr(HistoryActor.fields.kind),
      actorId: Schema.NullOr(Schema.String),
      actorName: Schema.NullOr(Schema.String)
    }),
    execute: ({ accountId, after, id, limit }) => sql`
      SELECT c.ordinal AS conflict, c.entity_id, e.kind AS entity_type, e.title, c.store_id, s.domain AS store_domain,
             c.field, c.accepted, c.draft_value, c.store_value, c.decision, c.decided_kind AS kind,
             c.decided_id AS "actorId", c.decided_name AS "actorName", rfc3339(c.decided_at) AS decided_at
      FROM import_conflict c
      JOIN entity e ON e.account_id = ${accountId} AND e.id = c.entity_id
      JOIN store s ON s.account_id = ${accountId} AND s.id = c.store_id
      WHERE c.account_id = ${accountId} AND c.run_id = ${id} AND c.ordinal > ${after}
      ORDER BY c.ordinal LIMIT ${limit}`
  })

  return {
    stageConflicts: (accountId, id, storeId, conflicts) =>
      orDie(
        insertAll(
          sql`
            INSERT INTO import_conflict (account_id, run_id, ordinal, entity_id, store_id, field, accepted, draft_value,
                                         store_value)
            SELECT own.account_id, ${id}::uuid, r.ordinal, r."entityId", ${storeId}::uuid, r.field, r.accepted, r.draft, r.store
            FROM account_state own
            CROSS JOIN jsonb_to_recordset(${JSON.stringify(conflicts)}::jsonb) AS r (
              ordinal integer, "entityId" uuid, field text, accepted text, draft text, store text
            )
            WHERE own.account_id = ${accountId}`,
          conflicts.length
        )
      ),
    conflicts: (accountId, id, after, limit) =>
      Effect.map(orDie(conflicts({ accountId, id, after, limit })), (rows) =>
        rows.map(({ actorId, actorName, decided_at, kind, ...conflict }) => ({
          ...conflict,
          decided_by: kind === null ? null : { kind, id: actorId, name: actorName },
          decided_at
        }))
      ),
    ...makeDecisions(sql)
  } satisfies ImportConflictStatements
})
