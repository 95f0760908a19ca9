import * as Reactivity from "@effect/experimental/Reactivity"
import { SqlClient } from "@effect/sql"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect } from "effect"
import pg from "pg"
import { metrics } from "../telemetry/Metrics.ts"
import { replicaConnectionMillis } from "./Deadlines.ts"
import { DirectQuery } from "./DirectQuery.ts"
import { FallbackCircuit, outcomeOf, type ReadOutcome } from "./FallbackCircuit.ts"

/** The account that a request reads, and the version that its next statement needs at least. */
interface NeededVersion {
  readonly accountId: string
  /** Rises to the version that the replica answered with, so that no statement sees less than an earlier one. */
  version: number
  /** The primary has answered a statement, which may have seen more than the replica has. */
  isOnPrimary: boolean
}

/**
 * The version that the reads of a fiber need. Undefined: only the primary answers, as for everything that may depend on more than
 * the account's version.
 */
class ReadVersion extends Context.Reference<ReadVersion>()("catalog/ReadVersion", {
  defaultValue: (): NeededVersion | undefined => undefined
}) {}

/**
 * Whether the database has a read replica.
 *
 * @effect-leakable-service
 */
export class HasReplica extends Context.Reference<HasReplica>()("catalog/HasReplica", { defaultValue: () => false }) {}

/**
 * Lets the replica answer the reads of an effect if it has this version of the account. The version must have been read from the
 * primary after the request arrived, and the effect must read nothing that can change while the version does not.
 */
export const readingAt = (accountId: string, version: number) =>
  Effect.provideService(ReadVersion, { accountId, version, isOnPrimary: false })

/** The part of a connection that reads need. */
interface ReplicaClient {
  readonly begin: string
  deadlineMillis: number | undefined
  query(text: string, done: (error: Error | undefined, results: ReadonlyArray<Result>) => void): void
  query(text: string, values: Array<unknown>, done: (error: Error | undefined, result: Result) => void): void
}

interface Result {
  readonly rows: ReadonlyArray<unknown>
}

/** A pool of connections to the replica. */
export interface ReplicaPool {
  readonly connect: (callback: (error: Error | undefined, client?: ReplicaClient, release?: () => void) => void) => void
}

/** The replica's answer: whether the server is a standby, and the account's version on it. */
interface ReplicaState {
  readonly follows: boolean
  readonly version: number | null
}

/** Why the primary answers a read. `behind`: the replica lacks changes of the account. */
type Fallback = Exclude<ReadOutcome, "answered" | "resting"> | "behind" | "not_standby"

/** Receives the result of a read: its rows, or undefined if the primary has to answer. */
type Ended = (rows: ReadonlyArray<unknown> | undefined) => void

/**
 * Reads from a streaming replica. Each statement runs in a transaction with one snapshot (REPEATABLE READ), which also reads the
 * account's version: so the version is exactly that of the rows, also behind a balancer of several replicas.
 */
export class Replica {
  private readonly circuit: FallbackCircuit<"behind" | "not_standby">
  private readonly pool: ReplicaPool

  constructor(options: {
    readonly pool: ReplicaPool
    readonly now: () => number
    readonly onChange: (reason: string | undefined) => void
  }) {
    const { now, onChange, pool } = options
    this.circuit = new FallbackCircuit({ count: (outcome) => metrics.replicaReads.of(outcome), now, onChange })
    this.pool = pool
  }

  /** Runs a statement on the replica if the fiber permits that and the replica has its version, else runs `primary`. */
  orPrimary(
    text: string,
    values: ReadonlyArray<unknown>,
    primary: Effect.Effect<ReadonlyArray<unknown>, SqlError>
  ): Effect.Effect<ReadonlyArray<unknown>, SqlError> {
    return Effect.withFiberRuntime((fiber) => {
      const neededVersion = fiber.currentContext.unsafeMap.get(ReadVersion.key) as NeededVersion | undefined
      if (neededVersion === undefined || neededVersion.isOnPrimary) return primary
      return Effect.flatMap(
        Effect.async<ReadonlyArray<unknown> | undefined>((resume) =>
          this.read(neededVersion, text, values, (rows) => resume(Effect.succeed(rows)))
        ),
        (rows) => (rows === undefined ? primary : Effect.succeed(rows))
      )
    })
  }

  private read(neededVersion: NeededVersion, text: string, values: ReadonlyArray<unknown>, ended: Ended): void {
    if (!this.circuit.admits()) {
      neededVersion.isOnPrimary = true
      ended(undefined)
      return
    }
    this.pool.connect((failure, client, release) => {
      if (client === undefined || release === undefined) {
        const outcome = failure === undefined ? "unanswered" : outcomeOf(failure)
        this.fallBack(neededVersion, ended, outcome === "busy" ? "busy" : "unreachable", failure?.message)
        return
      }
      const readMillis = client.deadlineMillis
      client.deadlineMillis = replicaConnectionMillis
      const leave = () => {
        client.deadlineMillis = replicaConnectionMillis
        // The answer does not wait for it. A connection that is lost meanwhile is found by the next read.
        client.query("COMMIT", () => release())
      }
      const giveUp = (reason: Fallback, message?: string) => {
        this.fallBack(neededVersion, ended, reason, message)
        leave()
      }
      const fail = (error: Error) => giveUp(outcomeOf(error), error.message)
      client.query(snapshotOf(client.begin, neededVersion.accountId), (error, results) => {
        if (error) return fail(error)
        const state = results.at(-1)?.rows[0] as ReplicaState
        if (!state.follows) return giveUp("not_standby", "the server is not a standby")
        if (!isRecent(state, neededVersion)) return giveUp("behind")
        client.deadlineMillis = readMillis
        client.query(text, [...values], (error, result) => {
          if (error) return fail(error)
          this.circuit.note("answered")
          neededVersion.version = Math.max(neededVersion.version, state.version)
          ended(result.rows)
          leave()
        })
      })
    })
  }

  private fallBack(neededVersion: NeededVersion, ended: Ended, reason: Fallback, message?: string): void {
    neededVersion.isOnPrimary = true
    this.circuit.note(reason, message)
    ended(undefined)
  }
}

const isRecent = (
  state: ReplicaState,
  { version }: NeededVersion
): state is ReplicaState & { readonly version: number } => state.version !== null && state.version >= version

/** Begins a transaction with one snapshot, and reads the account's version in it: one message. */
const snapshotOf = (begin: string, accountId: string) =>
  `${begin}; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT pg_is_in_recovery() AS follows, (SELECT version FROM account_state WHERE account_id = ${pg.escapeLiteral(accountId)}) AS version`

/** The client of the primary, whose statements outside transactions may be answered by the replica. */
const makeClient = (primary: PgClient.PgClient, replica: Replica) => {
  // The spans are those of the new client.
  const onPrimary = (text: string, values: ReadonlyArray<unknown>) =>
    Effect.withTracerEnabled(primary.unsafe(text, values), false)
  const connection: Connection = {
    execute: (text, values, transform) =>
      Effect.map(replica.orPrimary(text, values, onPrimary(text, values)), (rows) =>
        transform === undefined ? rows : transform(rows as ReadonlyArray<object>)
      ),
    executeRaw: (text, values) => primary.unsafe(text, values).raw,
    executeStream: (text, values) => primary.unsafe(text, values).stream,
    executeValues: (text, values) => primary.unsafe(text, values).values,
    executeUnprepared: (text, values) => primary.unsafe(text, values).unprepared
  }
  const stayOnPrimary = Effect.map(ReadVersion, (neededVersion) => {
    if (neededVersion !== undefined) neededVersion.isOnPrimary = true
  })
  return SqlClient.make({
    acquirer: Effect.succeed(connection),
    transactionAcquirer: Effect.zipRight(stayOnPrimary, primary.reserve),
    compiler: PgClient.makeCompiler(),
    spanAttributes: []
  }).pipe(Effect.provide(Reactivity.layer))
}

/** Replaces the services of the primary by those that also read from the replica. */
export const withReplica = (
  database: Context.Context<PgClient.PgClient | DirectQuery>,
  replica: Replica
): Effect.Effect<Context.Context<SqlClient.SqlClient | DirectQuery | HasReplica>> => {
  const direct = Context.get(database, DirectQuery)
  return Effect.map(makeClient(Context.get(database, PgClient.PgClient), replica), (client) =>
    Context.empty().pipe(
      Context.add(SqlClient.SqlClient, client),
      Context.add(DirectQuery, (statement, accountId) => {
        const [text, values] = statement.compile()
        return replica.orPrimary(text, values, direct(statement, accountId))
      }),
      Context.add(HasReplica, true)
    )
  )
}
