import { SqlClient } from "@effect/sql"
import { Effect, Schema, Struct } from "effect"
import { likePattern, type Needle } from "../catalog/SearchText.ts"
import { insertAll } from "../database/Inserts.ts"
import { discardRows, findAll, findSingle } from "../database/Rows.ts"
import { HistoryActor } from "../drafts/History.ts"
import type { AccountId, ImportId, StoreId } from "../model/Ids.ts"
import { ConflictDecision, DecisionTally, ImportConflict, maxNamedConflicts } from "./Import.ts"
import type { StagedConflict } from "./StagedImport.ts"

/** Limits a list of conflicts. */
export interface ConflictFilter {
  /** The entity contains all of these. */
  readonly needles?: ReadonlyArray<Needle> | undefined
  readonly isUndecided?: boolean | undefined
  /** Only these numbers. */
  readonly numbers?: ReadonlyArray<number> | undefined
}

type ConflictScope = "all" | "undecided" | "others"

/** Statements that store the decisions on conflicts. */
const makeDecisions = (sql: SqlClient.SqlClient) => {
  const decide = findAll(Schema.Struct({ ordinal: Schema.Int }))(
    (
      accountId: AccountId,
      actor: HistoryActor,
      id: ImportId,
      ordinals: ReadonlyArray<number> | null,
      scope: ConflictScope,
      decision: ConflictDecision
    ) => sql`
      WITH decided AS (
        UPDATE import_conflict c
        SET decision = ${decision}, decided_kind = ${actor.kind}, decided_id = ${actor.id}::uuid, decided_at = app_now(),
            decided_name = ${actor.name}::text
        WHERE c.account_id = ${accountId} AND c.run_id = ${id}
          AND (${ordinals}::integer[] IS NULL OR c.ordinal = ANY(${ordinals}))
          AND (${scope} = 'all' OR c.decision IS NULL OR (${scope} = 'others' AND c.decision <> ${decision}))
        RETURNING c.ordinal
      ), counted AS (
        UPDATE import_run r SET decision_writes = r.decision_writes + 1
        WHERE r.account_id = ${accountId} AND r.id = ${id} AND EXISTS (SELECT FROM decided)
      )
      SELECT d.ordinal FROM decided d`
  )
  const tally = findSingle(DecisionTally)(
    (accountId: AccountId, id: ImportId) => sql`
      SELECT count(*) FILTER (WHERE c.decision IS NULL)::integer AS undecided,
             coalesce((array_agg(c.ordinal ORDER BY c.ordinal) FILTER (WHERE c.decision IS NULL))[1:${sql.literal(String(maxNamedConflicts))}], '{}') AS first,
             count(*) FILTER (WHERE c.decision = 'keep_draft')::integer AS keep_draft,
             count(*) FILTER (WHERE c.decision = 'take_store')::integer AS take_store,
             md5(coalesce(string_agg(c.ordinal || c.decision, ' ' ORDER BY c.ordinal), '')) AS digest
      FROM import_conflict c
      WHERE c.account_id = ${accountId} AND c.run_id = ${id}`
  )
  const decisions = findAll(Schema.Struct({ ordinal: Schema.Int, decision: Schema.NullOr(ConflictDecision) }))(
    (accountId: AccountId, id: ImportId, ordinals: ReadonlyArray<number>) => sql`
      SELECT c.ordinal, c.decision FROM import_conflict c
      WHERE c.account_id = ${accountId} AND c.run_id = ${id} AND c.ordinal = ANY(${ordinals}::integer[])`
  )
  return {
    /**
     * Decides these conflicts, all, all undecided ones, or all without this decision ("others"). A new decision replaces
     * an earlier one. Returns the numbers of the conflicts that were written.
     */
    decide: (
      accountId: AccountId,
      actor: HistoryActor,
      id: ImportId,
      which: ReadonlyArray<number> | ConflictScope,
      decision: ConflictDecision
    ) =>
      Effect.map(
        typeof which === "string"
          ? decide(accountId, actor, id, null, which, decision)
          : decide(accountId, actor, id, which, "all", decision),
        (rows) => rows.map(({ ordinal }) => ordinal)
      ),
    /** The decisions on these conflicts; null: undecided. */
    decisions: (accountId: AccountId, id: ImportId, ordinals: ReadonlyArray<number>) =>
      ordinals.length === 0
        ? Effect.succeed(new Map<number, ConflictDecision | null>())
        : Effect.map(
            decisions(accountId, id, ordinals),
            (rows) => new Map(rows.map(({ decision, ordinal }) => [ordinal, decision]))
          ),
    /** The number of conflicts by decision, and the numbers of the first ten undecided ones. */
    tally
  }
}

/** The conflicts of imports and their decisions. */
export const makeImportConflictStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const conflicts = findAll(
    Schema.Struct({
      ...Struct.omit(ImportConflict.fields, "decided_by"),
      kind: Schema.NullOr(HistoryActor.fields.kind),
      actorId: Schema.NullOr(Schema.String),
      actorName: Schema.NullOr(Schema.String)
    })
  )(
    (
      accountId: AccountId,
      id: ImportId,
      after: number,
      limit: number,
      { isUndecided = false, needles = [], numbers }: ConflictFilter
    ) => sql`
      SELECT c.ordinal AS conflict, c.entity_id, e.kind AS entity_type, e.title, c.store_id, s.domain AS store_domain,
             c.field, c.accepted, c.draft_value, c.store_value, c.decision, c.decided_kind AS kind,
             c.decided_id AS "actorId", c.decided_name AS "actorName", rfc3339(c.decided_at) AS decided_at
      FROM import_conflict c
      JOIN entity e ON e.account_id = ${accountId} AND e.id = c.entity_id
      JOIN store s ON s.account_id = ${accountId} AND s.id = c.store_id
      WHERE c.account_id = ${accountId} AND c.run_id = ${id} AND c.ordinal > ${after}
        ${isUndecided ? sql`AND c.decision IS NULL` : sql``}
        ${numbers === undefined ? sql`` : sql`AND c.ordinal = ANY (${[...numbers]}::integer[])`}
        ${needles.length === 0 ? sql`` : sql`AND e.search_text LIKE ALL (${needles.map(likePattern)}::text[])`}
      ORDER BY c.ordinal LIMIT ${limit}`
  )

  return {
    /** Stages conflicts. They are undecided and belong to one store. */
    stageConflicts: (accountId: AccountId, id: ImportId, storeId: StoreId, conflicts: ReadonlyArray<StagedConflict>) =>
      discardRows(
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
    /** Conflicts in the order of their numbers, starting after number `after` (0: from the start). */
    conflicts: (
      accountId: AccountId,
      id: ImportId,
      after: number,
      limit: number,
      filter: ConflictFilter = {}
    ): Effect.Effect<ReadonlyArray<ImportConflict>> =>
      Effect.map(conflicts(accountId, id, after, limit, filter), (rows) =>
        rows.map(({ actorId, actorName, decided_at, kind, ...conflict }) => ({
          ...conflict,
          decided_by: kind === null ? null : { kind, id: actorId, name: actorName },
          decided_at
        }))
      ),
    ...makeDecisions(sql)
  }
})
