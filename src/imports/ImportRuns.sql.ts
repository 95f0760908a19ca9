import { SqlClient, SqlSchema } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Array as Arr, Effect, Option, Order, Schema } from "effect"
import { LeaseHolder } from "../database/LeaseHolder.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { discardRows, findAll, findOne, findSingle, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { makeWorkHints, type WorkHints } from "../database/WorkHintsRepo.ts"
import type { HistoryActor } from "../drafts/History.ts"
import { AccountId, ImportId, type StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import {
  type ImportOrigin,
  type ImportPhase,
  ImportRun,
  type ImportSummary,
  nothingPlanned,
  ReadingProgress
} from "./Import.ts"
import { type LeasedRun, TakenRun } from "./StagedImport.ts"

/** Takes over an import of one account, or of any. */
const makeTakeOver = (sql: SqlClient.SqlClient, holder: string, hints: WorkHints | undefined) => {
  const takeOver = SqlSchema.findOne({
    Request: Schema.Struct({ accountId: AccountId, id: Schema.NullOr(ImportId) }),
    Result: TakenRun,
    execute: ({ accountId, id }) => sql`
      UPDATE import_run i
      SET lease_until = app_now() + interval '60 seconds', leased_by = ${holder}, updated_at = app_now(),
          takeovers = i.takeovers + 1,
          -- Nobody has the lease of an import that was paused or released, so no process was lost.
          handovers = i.handovers + CASE WHEN i.leased_by IS NULL THEN 1 ELSE 0 END
      WHERE i.account_id = ${accountId} AND i.id = (
        SELECT e.id FROM import_run e
        WHERE e.account_id = ${accountId} AND e.phase IN ('fetching', 'applying') AND e.lease_until <= app_now()
          AND (${id}::uuid IS NULL OR e.id = ${id})
        ORDER BY e.lease_until LIMIT 1
        FOR UPDATE SKIP LOCKED
      )
      RETURNING i.account_id AS "accountId", i.id, i.phase, i.takeovers, i.takeovers - i.handovers AS interruptions`
  })
  const waiting = findAll(Schema.Struct({ accountId: AccountId, leaseUntil: Timestamp }))(
    (accountId: AccountId | null, id: ImportId | null) => sql`
      SELECT e.account_id AS "accountId", rfc3339(min(e.lease_until)) AS "leaseUntil" FROM import_run e
      WHERE ${accountId === null ? sql.literal("true") : sql`e.account_id = ${accountId}`} AND e.phase IN ('fetching', 'applying') AND e.lease_until <= app_now() AND (${id}::uuid IS NULL OR e.id = ${id})
      GROUP BY e.account_id
      ORDER BY min(e.lease_until) ${sql.literal(accountId === null ? allAccounts : "")}`
  )
  const candidates = (id: ImportId | null) =>
    hints === undefined
      ? waiting(null, id)
      : Effect.map(
          hints.collectDue((accountId) => waiting(accountId, id)),
          Arr.sortWith(({ leaseUntil }) => leaseUntil, Order.string)
        )
  /** Tries the accounts in order, because another process can take over an import meanwhile. */
  const takeOverAny = Effect.fnUntraced(function* (id: ImportId | null) {
    for (const { accountId } of yield* candidates(id)) {
      const attempt = takeOver({ accountId, id })
      const run = yield* hints === undefined ? attempt : hints.orSkip(accountId, attempt, Option.none())
      if (Option.isSome(run)) return run
    }
    return Option.none<TakenRun>()
  })
  return { takeOver, takeOverAny }
}

/** Reads import runs. */
const makeFinders = (sql: SqlClient.SqlClient) => {
  const runColumns = (accountId: AccountId) => sql`
    i.id, i.store_id AS "storeId", s.domain AS "storeDomain", s.name AS "storeName", i.source, i.file_name AS "fileName", i.phase, i.summary,
    i.error, jsonb_build_object('kind', i.actor_kind, 'id', i.actor_id, 'name', i.actor_name) AS actor, i.applied,
    i.phase = 'applying' AND i.lease_until IS NULL AS "isPaused", i.takeovers > 0 AS "wasTakenOver",
    EXISTS (SELECT FROM import_lock k WHERE k.account_id = ${accountId} AND k.run_id = i.id) AS "isLocking",
    rfc3339(i.created_at) AS "createdAt", rfc3339(i.updated_at) AS "updatedAt"`

  const find = findOne(ImportRun)(
    (accountId: AccountId, id: ImportId) => sql`
      SELECT ${runColumns(accountId)}
      FROM import_run i JOIN store s ON s.account_id = ${accountId} AND s.id = i.store_id
      WHERE i.account_id = ${accountId} AND i.id = ${id}`
  )
  const list = findAll(ImportRun)(
    (accountId: AccountId, from: number, limit: number) => sql`
      SELECT ${runColumns(accountId)}
      FROM import_run i JOIN store s ON s.account_id = ${accountId} AND s.id = i.store_id
      WHERE i.account_id = ${accountId}
      ORDER BY i.created_at DESC, i.id OFFSET ${from} LIMIT ${limit}`
  )
  const fetching = findAll(ImportRun)(
    (accountId: AccountId) => sql`
      SELECT ${runColumns(accountId)}
      FROM import_run i JOIN store s ON s.account_id = ${accountId} AND s.id = i.store_id
      WHERE i.account_id = ${accountId} AND i.phase = 'fetching'
      ORDER BY i.created_at DESC, i.id`
  )
  const findHolder = findOne(ImportRun)(
    (accountId: AccountId) => sql`
      SELECT ${runColumns(accountId)}
      FROM import_lock l
      JOIN import_run i ON i.account_id = ${accountId} AND i.id = l.run_id
      JOIN store s ON s.account_id = ${accountId} AND s.id = i.store_id
      WHERE l.account_id = ${accountId}`
  )
  return {
    find,
    /** The import that locks the account. */
    findHolder,
    /** At most `limit` imports, newest first, without the newest `from`. */
    list,
    /** The imports whose source is being read or compared, newest first. */
    fetching
  }
}

/** Statements that pause and resume the application of an import. */
const makePausing = (sql: SqlClient.SqlClient, tell: (accountId: AccountId) => Effect.Effect<void>) => ({
  /**
   * Takes the lease away from the process that applies an import, so that nobody works on it until `resume`. This and the
   * takeover after `resume` count as handovers, not as interruptions.
   */
  pause: (accountId: AccountId, id: ImportId) =>
    sql`
      UPDATE import_run
      SET lease_until = NULL, leased_by = NULL, takeovers = takeovers + 1, handovers = handovers + 1, updated_at = app_now()
      WHERE account_id = ${accountId} AND id = ${id} AND phase = 'applying' AND lease_until IS NOT NULL`.pipe(
      discardRows
    ),
  /** Ends a pause: any process can take over the import. */
  resume: (accountId: AccountId, id: ImportId) =>
    sql`
      UPDATE import_run SET lease_until = app_now(), updated_at = app_now()
      WHERE account_id = ${accountId} AND id = ${id} AND phase = 'applying' AND lease_until IS NULL`.pipe(
      Effect.zipRight(tell(accountId)),
      orDie
    )
})

/** Saves how far the reading is. The time is joined, because Citus refuses app_now() inside CASE. */
const makeSaveProgress =
  (sql: SqlClient.SqlClient, isLeased: (run: LeasedRun) => Fragment) =>
  (run: LeasedRun, { done, step, total }: Omit<ReadingProgress, "seconds">) =>
    sql`
      UPDATE import_run
      SET step = ${step}, step_done = ${done}, step_total = ${total}::bigint,
          step_began_at = CASE WHEN step = ${step} AND step_began_at IS NOT NULL THEN step_began_at ELSE n.at END
      FROM (SELECT app_now() AS at) n
      WHERE ${isLeased(run)}`.pipe(discardRows)

/** Imports, their phases and their leases. */
export const makeImportRunStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { name: holder } = yield* LeaseHolder
  const hints = yield* makeWorkHints("import")

  const { takeOver, takeOverAny } = makeTakeOver(sql, holder, hints)
  const abandonedReviews = findAll(Schema.Struct({ accountId: AccountId, id: ImportId }))(
    () => sql`
      SELECT account_id AS "accountId", id FROM import_run
      WHERE phase = 'reviewing' AND updated_at <= app_now() - interval '7 days'
      ORDER BY updated_at, id ${sql.literal(allAccounts)}`
  )
  const accountVersion = findSingle(Schema.Struct({ version: Schema.Number }))(
    (accountId: AccountId) => sql`SELECT version FROM account_state WHERE account_id = ${accountId}`
  )
  const progress = findOne(ReadingProgress)(
    (accountId: AccountId, id: ImportId) => sql`
      SELECT i.step, i.step_done AS done, i.step_total AS total,
             greatest(extract(epoch FROM app_now() - i.step_began_at), 0)::float8 AS seconds
      FROM import_run i WHERE i.account_id = ${accountId} AND i.id = ${id} AND i.step IS NOT NULL`
  )
  const isLeased = ({ accountId, id, phase, takeovers }: LeasedRun) =>
    sql`account_id = ${accountId} AND id = ${id} AND phase = ${phase} AND takeovers = ${takeovers}`

  const tell = (accountId: AccountId, delaySeconds = 0) => hints?.add(accountId, delaySeconds) ?? Effect.void

  return {
    /** Creates a leased import in `fetching`. */
    create: (
      accountId: AccountId,
      run: {
        readonly id: ImportId
        readonly storeId: StoreId
        readonly source: ImportOrigin
        readonly fileName: string | null
        readonly actor: HistoryActor
      }
    ) =>
      sql`
        INSERT INTO import_run (account_id, id, store_id, source, file_name, phase, lease_until, leased_by, summary,
                                actor_kind, actor_id, actor_name)
        VALUES (${accountId}, ${run.id}, ${run.storeId}, ${run.source}, ${run.fileName}, 'fetching',
                app_now() + interval '60 seconds', ${holder}, ${JSON.stringify(nothingPlanned)}::jsonb,
                ${run.actor.kind}, ${run.actor.id}, ${run.actor.name})`.pipe(
        Effect.zipRight(tell(accountId, 60)),
        orDie
      ),
    ...makeFinders(sql),
    /** Moves an import to a phase. Fields that are left out do not change. If `leased` is false, the lease ends. */
    move: (
      accountId: AccountId,
      id: ImportId,
      {
        actor,
        error,
        leased,
        phase,
        summary
      }: {
        readonly phase: ImportPhase
        readonly leased: boolean
        readonly summary?: ImportSummary | undefined
        readonly error?: string | undefined
        readonly actor?: HistoryActor | undefined
      }
    ) =>
      sql`
        UPDATE import_run
        SET phase = ${phase}, updated_at = app_now(),
            lease_until = ${leased ? sql`app_now() + interval '60 seconds'` : sql`NULL`},
            leased_by = CASE WHEN ${leased} THEN ${holder}::text END,
            summary = coalesce(${summary === undefined ? null : JSON.stringify(summary)}::jsonb, summary),
            error = coalesce(${error ?? null}::text, error),
            actor_kind = coalesce(${actor?.kind ?? null}::text, actor_kind),
            actor_id = CASE WHEN ${actor === undefined} THEN actor_id ELSE ${actor?.id ?? null}::uuid END,
            actor_name = CASE WHEN ${actor === undefined} THEN actor_name ELSE ${actor?.name ?? null}::text END
        WHERE account_id = ${accountId} AND id = ${id}`.pipe(
        Effect.zipRight(leased ? tell(accountId, 60) : Effect.void),
        orDie
      ),
    /** Saves how far the reading of a store or file is. Does nothing if this process has lost the lease. */
    saveProgress: makeSaveProgress(sql, isLeased),
    /** How far the reading is. None: no step has reported yet, or the reading is over. */
    progress,
    /**
     * Extends the lease to 60 s from now. False: another process took the lease, or the import left the phase. While a transaction
     * of this process holds the row, nobody can take it over, so the lease is not extended then: a large batch may take minutes.
     */
    renew: (run: LeasedRun) =>
      sql`
        UPDATE import_run SET lease_until = app_now() + interval '60 seconds'
        WHERE account_id = ${run.accountId} AND id = (
          SELECT id FROM import_run WHERE ${isLeased(run)} FOR NO KEY UPDATE SKIP LOCKED
        )`.pipe(Effect.zipRight(sql`SELECT id FROM import_run WHERE ${isLeased(run)}`), hasRows),
    /** Whether this process still has the lease and the phase is unchanged. Locks the row, so the answer stays true. */
    holds: (run: LeasedRun) => sql`SELECT id FROM import_run WHERE ${isLeased(run)} FOR NO KEY UPDATE`.pipe(hasRows),
    /** Ends this process's lease, so that any process can take over the import at once. That takeover is no interruption. */
    release: (run: LeasedRun) =>
      sql`UPDATE import_run SET lease_until = app_now(), leased_by = NULL WHERE ${isLeased(run)}`.pipe(
        Effect.zipRight(tell(run.accountId)),
        orDie
      ),
    ...makePausing(sql, tell),
    /** Takes over one import whose lease expired. null: any account, any import. Skips rows that another worker has locked. */
    takeOver: ({ accountId, id }: { readonly accountId: AccountId | null; readonly id: ImportId | null }) =>
      orDie(accountId === null ? takeOverAny(id) : takeOver({ accountId, id })),
    /** Imports that have been under review for more than 7 days. */
    abandonedReviews: abandonedReviews(),
    accountVersion: (accountId: AccountId) => Effect.map(accountVersion(accountId), ({ version }) => version),
    /** Whether the catalog changed after this version. Scans, health rules and the plans of drops raise the version without a note. */
    isChangedSince: (accountId: AccountId, version: number) =>
      sql`SELECT version FROM change_note WHERE account_id = ${accountId} AND version > ${version} LIMIT 1`.pipe(
        hasRows
      )
  }
})
