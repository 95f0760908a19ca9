import { SqlClient } from "@effect/sql"
import { SqlError } from "@effect/sql/SqlError"
import { Effect, Option, ParseResult, Predicate } from "effect"
import { Unavailable } from "../model/Errors.ts"
import { metrics } from "../telemetry/Metrics.ts"

/**
 * The meaning of a failure of the database. `unavailable`: try again later. `retry`: the same transaction may succeed now.
 * `invalid-text`: a character that cannot be stored. `defect`: an error of this service.
 */
type SqlErrorClass = "unavailable" | "retry" | "invalid-text" | "defect"

/** Every class (first two characters) of PostgreSQL's appendix A, "Error Codes". */
export const classBySqlStateClass: Readonly<Record<string, SqlErrorClass>> = {
  "00": "defect", // successful completion
  "01": "defect", // warning
  "02": "defect", // no data
  "03": "defect", // statement not yet complete
  "08": "unavailable", // connection exception
  "09": "defect", // triggered action exception
  "0A": "defect", // feature not supported
  "0B": "defect", // invalid transaction initiation
  "0F": "defect", // locator exception
  "0L": "defect", // invalid grantor
  "0P": "defect", // invalid role specification
  "0Z": "defect", // diagnostics exception
  "10": "defect", // XQuery error
  "20": "defect", // case not found
  "21": "defect", // cardinality violation
  "22": "defect", // data exception
  "23": "defect", // integrity constraint violation
  "24": "defect", // invalid cursor state
  "25": "defect", // invalid transaction state
  "26": "defect", // invalid statement name
  "27": "defect", // triggered data change violation
  "28": "unavailable", // invalid authorization: of a new connection (a changed password, a role that is gone)
  "2B": "defect", // dependent privilege descriptors still exist
  "2D": "defect", // invalid transaction termination
  "2F": "defect", // SQL routine exception
  "34": "defect", // invalid cursor name
  "38": "defect", // external routine exception
  "39": "defect", // external routine invocation exception
  "3B": "defect", // savepoint exception
  "3D": "unavailable", // invalid catalog name: of a new connection (a database that is gone)
  "3F": "defect", // invalid schema name
  "40": "defect", // transaction rollback
  "42": "defect", // syntax error or access rule violation
  "44": "defect", // WITH CHECK OPTION violation
  "53": "unavailable", // insufficient resources: disk, memory, connections
  "54": "defect", // program limit exceeded
  "55": "defect", // object not in prerequisite state
  "57": "defect", // operator intervention
  "58": "unavailable", // system error: the server's disk or operating system failed, and the statement was not at fault
  "72": "defect", // snapshot failure
  F0: "defect", // configuration file error
  HV: "defect", // foreign data wrapper error
  P0: "defect", // PL/pgSQL error
  XX: "defect" // internal error
}

/** Codes whose class here differs from that of the other codes with the same first two characters. */
export const classBySqlState: Readonly<Record<string, SqlErrorClass>> = {
  "22021": "invalid-text", // character not in repertoire (U+0000, invalid UTF-8)
  "22P05": "invalid-text", // untranslatable character (\u0000 in jsonb)
  "25006": "unavailable", // read-only transaction: a standby, or a server that was set to read-only
  "25P03": "unavailable", // idle in transaction session timeout: this process was stalled
  "25P04": "unavailable", // transaction timeout
  "40001": "retry", // serialization failure
  "40P01": "retry", // deadlock detected
  "42501": "unavailable", // insufficient privilege: the operator has to repair it, for example after REVOKE CONNECT
  "55000": "unavailable", // not in prerequisite state: a database that accepts no connections
  "55P03": "unavailable", // lock not available: the wait for a lock took too long
  "57014": "unavailable", // query canceled: the statement's time ran out
  "57P01": "unavailable", // admin shutdown
  "57P02": "unavailable", // crash shutdown
  "57P03": "unavailable", // cannot connect now
  "57P04": "unavailable", // database dropped
  "57P05": "unavailable", // idle session timeout
  "58P01": "defect", // undefined file: an extension that is not installed
  "58P02": "defect" // duplicate file
}

/** Socket errors, by Node's code. */
const networkCodes: ReadonlySet<string> = new Set([
  "EADDRNOTAVAIL",
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "ENOENT", // a missing Unix socket
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT"
])

/** Messages of connection errors that pg and its pool raise without a code. */
const connectionMessages: ReadonlyArray<string> = [
  "Connection terminated",
  "timeout exceeded when trying to connect",
  "timeout expired",
  "Client has encountered a connection error and is not queryable",
  "Client was closed and is not queryable",
  "Cannot use a pool after calling end on the pool"
]

/** Messages of a Citus cluster that have the SQLSTATE of an internal error. */
const clusterMessages: ReadonlyArray<readonly [prefix: string, meaning: SqlErrorClass]> = [
  // A node is down. After the first of these the outcome of the transaction is unknown, as after a lost COMMIT.
  ["could not commit transaction for shard", "unavailable"],
  ["failure on connection marked as essential", "unavailable"],
  ["no active placements were found for shard", "unavailable"],
  // The shard was split or moved after the statement was planned.
  ["could not find valid entry for shard", "retry"]
]

/** The SQLSTATE, or Node's code. */
export const codeOf = (error: SqlError): string | undefined =>
  Predicate.hasProperty(error.cause, "code") && typeof error.cause.code === "string" ? error.cause.code : undefined

const causeMessageOf = (error: SqlError): string =>
  Predicate.hasProperty(error.cause, "message") && typeof error.cause.message === "string" ? error.cause.message : ""

/**
 * Whether the server ended the session or refused to begin it, whatever the code. On a full disk it can refuse new connections
 * with an internal error ("could not write init file"). Servers with messages in another language may translate the word.
 */
const endedSession = ({ cause }: SqlError): boolean =>
  Predicate.hasProperty(cause, "severity") && (cause.severity === "FATAL" || cause.severity === "PANIC")

/** Unknown codes and messages are defects, unless the server ended the session. */
export const classify = (error: SqlError): SqlErrorClass => {
  const found = classOf(error)
  return found === "defect" && endedSession(error) ? "unavailable" : found
}

const classOf = (error: SqlError): SqlErrorClass => {
  const code = codeOf(error)
  const message = causeMessageOf(error)
  const ofCluster = code === "XX000" ? clusterMessages.find(([prefix]) => message.startsWith(prefix)) : undefined
  if (ofCluster !== undefined) return ofCluster[1]
  if (code === undefined) {
    return connectionMessages.some((prefix) => message.startsWith(prefix)) ? "unavailable" : "defect"
  }
  // Node's codes are tested first, because EPIPE looks like a SQLSTATE.
  return networkCodes.has(code)
    ? "unavailable"
    : (classBySqlState[code] ?? classBySqlStateClass[code.slice(0, 2)] ?? "defect")
}

/** One line for logs: the message of the database, and the SQLSTATE or Node's code. */
export const describe = (error: SqlError): string => {
  const code = codeOf(error)
  const message = causeMessageOf(error) || error.message
  return code === undefined ? message : `${message} (${code})`
}

export const isSqlError = (error: unknown): error is SqlError => Predicate.isTagged(error, "SqlError")

/** Turns this error into a conflict of two transactions (40001). `Transaction` then runs the program again. */
const asConflict =
  (code: string) =>
  <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.mapError(effect, (error) => {
      if (!isSqlError(error) || codeOf(error) !== code) return error
      const message = causeMessageOf(error)
      return new SqlError({ message, cause: { code: "40001", message } })
    })

/** For the violation of a unique index: the program that runs again finds the other row. */
export const uniqueAsConflict = asConflict("23505")

const foreignKeyViolation = "23503"

/**
 * For a deleted row that another transaction refers to at the same moment: the program that runs again sees the other's change. It finds
 * no deleted row, or also deletes the row that was added.
 */
export const referenceAsConflict = asConflict(foreignKeyViolation)

export const isForeignKeyViolation = (error: unknown): boolean =>
  isSqlError(error) && codeOf(error) === foreignKeyViolation

const failureByCode: Readonly<Record<string, string>> = {
  "53100": "disk_full",
  "55P03": "lock",
  "57014": "statement_timeout"
}

/** The reason of a failure, as a label of the metric. */
const failureOf = (error: SqlError): string => {
  const message = causeMessageOf(error)
  if (message.startsWith("no connection was free")) return "no_connection"
  if (message.startsWith("too many statements")) return "queue_full"
  if (message.startsWith("a statement was not answered")) return "deadline"
  const code = codeOf(error)
  if (code === undefined || networkCodes.has(code) || /^(?:08|57P|53300)/.test(code)) return "connection"
  return failureByCode[code] ?? "other"
}

/** The time of a statement ended. It may have waited for a lock, or have too much to do: then it will fail again. */
export class StatementTimedOut extends Unavailable {}

/** Dies with `Unavailable` and logs the cause, which the response does not contain. */
export const dieUnavailable = (error: SqlError): Effect.Effect<never> => {
  const failure = failureOf(error)
  const what =
    failure === "statement_timeout"
      ? "A statement was cancelled when its time ended; it may have waited for a lock"
      : "The database is unavailable"
  const unavailable = failure === "statement_timeout" ? new StatementTimedOut() : new Unavailable()
  return Effect.logWarning(`${what}: ${describe(error)}`).pipe(
    Effect.zipRight(Effect.sync(() => metrics.databaseFailures.of(failure).add(1))),
    Effect.zipRight(Effect.die(unavailable))
  )
}

/**
 * Turns failures of a query into defects, so that the signatures of repositories have only domain errors.
 *
 * Dies with `Unavailable` when the database is unavailable, otherwise with the `SqlError` or `ParseError`. A failure of class
 * `retry` dies with the `SqlError` inside a transaction, which `Transaction` repeats, and with `Unavailable` outside.
 */
export const orDie = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError | ParseResult.ParseError, R>
): Effect.Effect<A, Exclude<E, SqlError | ParseResult.ParseError>, R> =>
  Effect.catchAll(effect, (error): Effect.Effect<never, Exclude<E, SqlError | ParseResult.ParseError>> => {
    if (isSqlError(error)) {
      switch (classify(error)) {
        case "unavailable":
          return dieUnavailable(error)
        case "retry":
          return Effect.flatMap(Effect.serviceOption(SqlClient.TransactionConnection), (transaction) =>
            Option.isSome(transaction) ? Effect.die(error) : dieUnavailable(error)
          )
        default:
          return Effect.die(error)
      }
    }
    return ParseResult.isParseError(error)
      ? Effect.die(error)
      : Effect.fail(error as Exclude<E, SqlError | ParseResult.ParseError>)
  })
