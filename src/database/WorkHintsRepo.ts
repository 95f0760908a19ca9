import { SqlClient } from "@effect/sql"
import { Cause, Effect, Option } from "effect"
import { Unavailable } from "../model/Errors.ts"
import { AccountId } from "../model/Ids.ts"
import { ClusterNodes, ofAccount } from "./ClusterNodes.ts"
import { afterCommit } from "./CommitHooks.ts"
import { isDistributedAtStart } from "./Distribution.ts"
import { allAccounts } from "./PlannerHints.ts"
import { classify, isSqlError, orDie } from "./SqlErrors.ts"

/**
 * For each kind of work: its table (with the alias `w`), the condition of an open row, and the earliest time at which the row can
 * be due.
 */
const openWork = {
  publication: {
    table: "publication w",
    isOpen: "w.state = 'pending'",
    due: "greatest(w.next_attempt_at, w.lease_until)"
  },
  drop: {
    table: "drop w",
    isOpen: "w.next_step IS NOT NULL",
    due: "CASE w.next_step WHEN 'start' THEN w.starts_at WHEN 'end' THEN w.ends_at ELSE '-infinity' END"
  },
  job: { table: "job w", isOpen: "w.state IN ('queued', 'running')", due: "w.due_at" },
  // Changes of the catalog add no hints, so an account with an active webhook is asked again after two seconds.
  webhook: {
    table: "webhook w",
    isOpen: "w.state = 'active'",
    due: "greatest(w.due_at, app_now() + interval '2 seconds')"
  },
  import: { table: "import_run w", isOpen: "w.phase IN ('fetching', 'applying')", due: "w.lease_until" }
} as const

type WorkKind = keyof typeof openWork

/** Maximum number of accounts that one call of `collectDue` asks. The accounts that have waited longest come first. */
const maxAccounts = 64
/** Maximum number of accounts that are queried at the same time. */
const atOnce = 4
/**
 * Number of open rows among which the earliest time is searched. Other rows are found when these are done, or by `repairHints`.
 */
const maxRows = 200
/** Pause before an account is asked again after its node did not answer. */
const pauseAfterFailure = "5 seconds"

/** Whether a node did not answer, which the log reports once for all its accounts. */
const isUnavailable = (cause: Cause.Cause<unknown>): boolean =>
  Option.isSome(
    Cause.find(cause, (part) => {
      const error = part._tag === "Fail" ? part.error : part._tag === "Die" ? part.defect : undefined
      const isUnanswered = error instanceof Unavailable || (isSqlError(error) && classify(error) === "unavailable")
      return isUnanswered ? Option.some(error) : Option.none()
    })
  )

/** Which accounts of a cluster have work of one kind. */
export interface WorkHints {
  /** Tells the workers of all processes, after the open transaction commits, that an account has work that is due after a delay. */
  readonly add: (accountId: AccountId, delaySeconds?: number) => Effect.Effect<void>
  /** Whether any account has open work, of any kind. */
  readonly haveAny: Effect.Effect<boolean>
  /** Runs work of one account. If its node does not answer, the account is asked again after a pause, and the result is `skipped`. */
  readonly orSkip: <A, E, R>(
    accountId: AccountId,
    work: Effect.Effect<A, E, R>,
    skipped: A
  ) => Effect.Effect<A, never, R>
  /** Collects the due work of each account that may have some. An account whose node does not answer is left out. */
  readonly collectDue: <A, E, R>(
    find: (accountId: AccountId) => Effect.Effect<ReadonlyArray<A>, E, R>
  ) => Effect.Effect<ReadonlyArray<A>, never, R>
}

/** The hints of one kind. Undefined: the tables are not distributed, so one statement asks all accounts. */
export const makeWorkHints = (kind: WorkKind): Effect.Effect<WorkHints | undefined, never, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    if (!(yield* isDistributedAtStart)) return undefined
    const sql = yield* SqlClient.SqlClient
    const { due, isOpen, table } = openWork[kind]

    // A hint that is due already gets a new time, so that a worker that searched before this commit does not delete it.
    const add = (accountId: AccountId, delaySeconds: number) => sql`
      INSERT INTO work_hint AS h (account_id, kind, due_at)
      VALUES (${accountId}, ${kind}, app_now() + ${delaySeconds}::float8 * interval '1 second')
      ON CONFLICT (account_id, kind) DO UPDATE
      SET due_at = CASE WHEN h.due_at <= app_now() THEN app_now() ELSE least(h.due_at, excluded.due_at) END`

    const dueHints = sql<{ readonly accountId: string; readonly dueAt: string }>`
      SELECT h.account_id AS "accountId", h.due_at::text AS "dueAt" FROM work_hint h
      WHERE h.kind = ${kind} AND h.due_at <= app_now()
      ORDER BY h.due_at LIMIT ${sql.literal(String(maxAccounts))}`

    const nextDue = (accountId: AccountId) => sql<{ readonly next: string | null }>`
      SELECT min(o.due)::text AS next FROM (
        SELECT ${sql.literal(due)} AS due FROM ${sql.literal(table)}
        WHERE w.account_id = ${accountId} AND ${sql.literal(isOpen)} LIMIT ${sql.literal(String(maxRows))}
      ) o`

    /** Sets a hint's time, or deletes the hint, unless it was changed since it was read. */
    const move = (accountId: AccountId, dueAt: string, next: string | null) =>
      next === null
        ? sql`DELETE FROM work_hint WHERE account_id = ${accountId} AND kind = ${kind} AND due_at = ${dueAt}::timestamptz`
        : sql`
            UPDATE work_hint SET due_at = greatest(${next}::timestamptz, app_now())
            WHERE account_id = ${accountId} AND kind = ${kind} AND due_at = ${dueAt}::timestamptz`

    const postpone = (accountId: AccountId) => sql`
      UPDATE work_hint SET due_at = app_now() + ${pauseAfterFailure}::interval
      WHERE account_id = ${accountId} AND kind = ${kind}`

    const orSkip: WorkHints["orSkip"] = (accountId, work, skipped) =>
      work.pipe(
        ofAccount(accountId),
        Effect.catchAllCause((cause) =>
          (isUnavailable(cause) ? Effect.logDebug : Effect.logWarning)(
            `Cannot read or claim the open work (${kind}) of account ${accountId}`,
            cause
          ).pipe(Effect.zipRight(orDie(postpone(accountId))), Effect.as(skipped))
        )
      )

    const collectDue: WorkHints["collectDue"] = (find) =>
      Effect.gen(function* () {
        const found = yield* Effect.forEach(
          yield* orDie(dueHints),
          (hint) => {
            const accountId = AccountId.make(hint.accountId)
            return Effect.gen(function* () {
              const items = yield* find(accountId)
              const next = items.length > 0 ? hint.dueAt : (yield* nextDue(accountId))[0]?.next
              yield* move(accountId, hint.dueAt, next ?? null)
              return items
            }).pipe((work) => orSkip(accountId, work, []))
          },
          { concurrency: atOnce }
        )
        return found.flat()
      })

    return {
      add: (accountId: AccountId, delaySeconds = 0) =>
        afterCommit(
          Effect.catchAllCause(add(accountId, delaySeconds), (cause) =>
            Effect.logWarning(`Cannot save the hint of open work (${kind}); the next scan adds it`, cause)
          )
        ),
      orSkip,
      haveAny: orDie(Effect.map(sql`SELECT EXISTS (SELECT FROM work_hint h) AS any`, ([row]) => row?.any === true)),
      collectDue
    }
  })

/**
 * A condition for statements about all accounts: true, or while a node does not answer, an account on the other nodes. So the statement
 * asks only the other nodes.
 */
export const makeAnswering = Effect.map(
  Effect.all([SqlClient.SqlClient, ClusterNodes]),
  ([sql, nodes]) =>
    (accountId: string) =>
      nodes.hasDown
        ? sql`${sql.literal(accountId)} = ANY(${nodes.accountsThatAnswer()}::uuid[])`
        : sql.literal(`true ${allAccounts}`)
)

/** Adds the hints that are missing, by asking every node that answers for open work. */
const repairHints = (
  sql: SqlClient.SqlClient,
  answering: Effect.Effect.Success<typeof makeAnswering>
): Effect.Effect<void> => {
  const repair = ([kind, { due, isOpen, table }]: [string, (typeof openWork)[WorkKind]]) =>
    Effect.gen(function* () {
      const open = yield* sql<{ readonly accountId: string; readonly due: string }>`
        SELECT w.account_id AS "accountId", min(${sql.literal(due)})::text AS due FROM ${sql.literal(table)}
        WHERE ${answering("w.account_id")} AND ${sql.literal(isOpen)} GROUP BY w.account_id`
      if (open.length === 0) return
      yield* sql`
        INSERT INTO work_hint AS h (account_id, kind, due_at)
        SELECT n.account_id, ${kind}, n.due
        FROM unnest(${open.map(({ accountId }) => accountId)}::uuid[], ${open.map(({ due }) => due)}::timestamptz[])
          AS n (account_id, due)
        ORDER BY n.account_id
        ON CONFLICT (account_id, kind) DO UPDATE SET due_at = least(h.due_at, excluded.due_at)
        WHERE h.due_at > excluded.due_at`
    })
  return orDie(
    Effect.forEach(Object.entries(openWork) as Array<[string, (typeof openWork)[WorkKind]]>, repair, { discard: true })
  )
}

/** Repairs the hints. Does nothing if the tables are not distributed. */
export const makeRepairHints: Effect.Effect<Effect.Effect<void>, never, SqlClient.SqlClient> = Effect.map(
  Effect.all([isDistributedAtStart, SqlClient.SqlClient, makeAnswering]),
  ([distributed, sql, answering]) => (distributed ? Effect.suspend(() => repairHints(sql, answering)) : Effect.void)
)
