import { Context, Effect } from "effect"

/**
 * Every bound on how long the database may keep somebody waiting, and how many connections may be used: the one place where
 * they are set. AppConfig reads each of them from a setting; docs/operations.md explains them. Times are in milliseconds.
 */
export interface Deadlines {
  /** A look-up of a credential. */
  readonly lookUp: number
  /** A statement of a request that is no transaction. */
  readonly read: number
  /** A statement in a transaction of a request, its COMMIT included. */
  readonly write: number
  /** A statement of background work: imports, publishing, drops, the sweeper, commands. */
  readonly background: number
  /** A statement of a scan, which reads a whole account. */
  readonly scan: number
  /** The wait for a connection: for the account's turn, for a free one and for a new one together. */
  readonly connection: number
  /** The wait for a lock in a request. Background work waits as long as its statement may take. */
  readonly lock: number
  /** A transaction of a request whose process sends nothing. */
  readonly idleInTransaction: number
  /** The same in background work, which computes more between its statements. */
  readonly idleInBackground: number
  /** Bytes that the peer does not acknowledge, and silence before keepalive probes are sent. */
  readonly network: number
}

/** Connections, at most, of each kind of work. */
export interface PoolSizes {
  readonly requests: number
  readonly writes: number
  readonly background: number
}

export type PoolName = keyof PoolSizes

export const defaultDeadlines: Deadlines = {
  lookUp: 2_000,
  read: 5_000,
  write: 8_000,
  background: 30_000,
  scan: 600_000,
  connection: 4_000,
  lock: 6_000,
  idleInTransaction: 10_000,
  idleInBackground: 30_000,
  network: 10_000
}

export const defaultPoolSizes: PoolSizes = { requests: 10, writes: 5, background: 4 }

/**
 * What a fiber does, which decides the pool and the deadline of its statements. Surfaces set `request`; a transaction of a
 * request is a `write`. Without a surface it is background work. `migration`: no deadline at all.
 */
export type WorkloadName = "lookUp" | "request" | "write" | "background" | "scan" | "migration"

/** @effect-leakable-service */
export class Workload extends Context.Reference<Workload>()("catalog/Workload", {
  defaultValue: (): WorkloadName => "background"
}) {}

/** Lets work that a request began, and that may take longer than requests do, count as background work. */
export const asBackground = Effect.provideService(Workload, "background")

/** Where the statements of a workload run. */
export const poolOf: Readonly<Record<WorkloadName, PoolName>> = {
  lookUp: "requests",
  request: "requests",
  write: "writes",
  background: "background",
  scan: "background",
  migration: "background"
}

/**
 * The server cancels a statement at its own deadline and the connection stays usable. The client waits this much longer, then
 * takes the connection for dead. A look-up has no deadline of its own at the server.
 */
const graceMillis = 1_000

/** How long the client waits for the answer to one statement; undefined: without a bound. */
export const clientDeadlines = (deadlines: Deadlines): Readonly<Record<WorkloadName, number | undefined>> => ({
  lookUp: deadlines.lookUp,
  request: deadlines.read + graceMillis,
  write: deadlines.write + graceMillis,
  background: deadlines.background + graceMillis,
  scan: deadlines.scan + graceMillis,
  migration: undefined
})

/** How a session is set up at the server, by its pool: part of the start-up packet, so no round trip. */
export const sessionOf = (deadlines: Deadlines, pool: PoolName) => {
  const statement = { requests: deadlines.read, writes: deadlines.write, background: deadlines.background }[pool]
  const isBackground = pool === "background"
  return {
    statement_timeout: statement,
    lock_timeout: isBackground ? statement : Math.min(deadlines.lock, statement),
    idle_in_transaction_session_timeout: isBackground ? deadlines.idleInBackground : deadlines.idleInTransaction,
    keepAlive: true,
    keepAliveInitialDelayMillis: deadlines.network,
    options: [
      "-c timezone=UTC",
      // Statements here are short; compiling one took 180 ms where an estimate without statistics was high.
      "-c jit=off",
      `-c tcp_user_timeout=${deadlines.network}`,
      `-c tcp_keepalives_idle=${Math.ceil(deadlines.network / 1_000)}`,
      "-c tcp_keepalives_interval=2",
      "-c tcp_keepalives_count=5",
      // A statement whose client is gone ends, and with it its locks.
      "-c client_connection_check_interval=1000"
    ].join(" ")
  }
}

/** Something that must end before its ticks have run out. */
export interface Watch {
  ticks: number
  missed: () => void
}

const nothing = () => {}

/**
 * One timer for everything that is under way, not one for each statement. A process that was held up counts one tick for
 * it: answers that arrived meanwhile are read before they count as missed.
 */
const tickMillis = 100
const watches = new Set<Watch>()
let timer: NodeJS.Timeout | undefined

const tick = () => {
  for (const each of watches) {
    if (each.ticks-- > 0) continue
    watches.delete(each)
    each.missed()
  }
  if (watches.size === 0) {
    clearInterval(timer)
    timer = undefined
  }
}

/** Calls `missed` once, at least so long from now and at most 100 ms later, unless `unwatch` comes first. */
export const watch = (millis: number, missed: () => void): Watch => {
  const each: Watch = { ticks: Math.ceil(millis / tickMillis), missed }
  watches.add(each)
  timer ??= setInterval(tick, tickMillis).unref()
  return each
}

/** Lets it take so long from now on. */
export const rewatch = (each: Watch, millis: number): void => {
  each.ticks = Math.ceil(millis / tickMillis)
}

/**
 * V8 copies the set into a new table every few dozen changes, and what an old table names is kept until the next full
 * collection. An ended watch lets go of its request, or every third request would live that long.
 */
export const unwatch = (each: Watch): void => {
  watches.delete(each)
  each.missed = nothing
}
