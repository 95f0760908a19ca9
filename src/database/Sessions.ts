import { Redacted } from "effect"
import pg from "pg"
import type { Pooler } from "./Deadlines.ts"
import { planCustom } from "./PlannerHints.ts"
import { type ServerError, WatchedClient } from "./WatchedClient.ts"

const maxStatementNames = 1_000

/**
 * Names the statements to prepare of one database. A prepared statement costs memory on every connection, so texts beyond the
 * limit (lists of many lengths) get no name.
 */
const makeStatementNames = () => {
  const names = new Map<string, string | undefined>()
  return (text: string): string | undefined => {
    if (names.has(text)) {
      return names.get(text)
    }
    if (names.size >= maxStatementNames) {
      return undefined
    }
    const name = text.includes(planCustom) ? undefined : `s${names.size + 1}`
    names.set(text, name)
    return name
  }
}

/** A client that prepares statements, so that each is parsed and planned once per connection instead of once per call. */
const makePreparingClient = (): typeof WatchedClient => {
  const nameOf = makeStatementNames()
  return class extends WatchedClient {
    protected override nameOf(text: string): string | undefined {
      return nameOf(text)
    }
  }
}

const withoutCancellation = (Client: typeof WatchedClient): typeof WatchedClient =>
  class extends Client {
    protected override readonly cancels = false
  }

/** The embedded engine has one connection, so none is left for a cancellation. `onPanic`: the engine has stopped, and answers nothing more. */
export const makeEmbeddedClient = (onPanic: (reason: string) => void): typeof WatchedClient =>
  class extends withoutCancellation(makePreparingClient()) {
    protected override noteError(error: ServerError): void {
      if (error.severity === "PANIC") onPanic(error.message)
      super.noteError(error)
    }
  }

/**
 * A pooler in transaction mode may use another connection for the next transaction, so nothing is prepared. Its process ids may belong
 * to other sessions on the server.
 */
const PooledClient = withoutCancellation(WatchedClient)

/** A cancellation would go to the coordinator, where another process has the id. */
export const makeNodeClient = () => withoutCancellation(makePreparingClient())

const int8 = 20
const int8Array = 1016
/** The text of an array of bigints becomes JSON by three replacements. */
const parseInt8Array = (text: string): unknown =>
  JSON.parse(text.replaceAll("{", "[").replaceAll("}", "]").replaceAll("NULL", "null"))

/** Parses bigint as a number, because counts and versions stay below 2^53. Other types are parsed as pg does. */
export const types: pg.CustomTypesConfig = {
  // biome-ignore lint/suspicious/noExplicitAny: pg's own type of a parser.
  getTypeParser: (oid: number, format?: any): any =>
    oid === int8 ? Number : oid === int8Array ? parseInt8Array : pg.types.getTypeParser(oid, format)
}

/** The options of all sessions on the server. */
export const sessionOf = ({
  pooler,
  url
}: {
  readonly pooler?: Pooler | undefined
  readonly url: Redacted.Redacted
}) => ({
  connectionString: Redacted.value(url),
  Client: pooler === "transaction" ? PooledClient : makePreparingClient(),
  types,
  application_name: "catalog",
  // No idle timeout: setting a timer at every release would cost more than keeping the connections.
  idleTimeoutMillis: 0
})
