import { Context, Effect } from "effect"

/**
 * All deadlines of the database, in milliseconds. AppConfig reads each of them from a setting; docs/operations.md explains
 * them.
 */
export interface Deadlines {
  /** A look-up of a credential. */
  readonly lookUp: number
  /** A statement of a request outside a transaction. */
  readonly read: number
  /** A statement in a transaction of a request, including COMMIT. */
  readonly write: number
  /** A statement on the read replica or directly at a node of a cluster. Then the primary answers, within `read`. */
  readonly replica: number
  /** A statement of background work: imports, publishing, drops, the sweeper, commands. */
  readonly background: number
  /** A statement of a scan, which reads a whole account. */
  readonly scan: number
  /**
   * The wait for a connection: for the account's semaphore, for a free connection, and for opening a new one, in total.
   */
  readonly connection: number
  /** The wait for a lock in a request. In background work it is two thirds of `background`. */
  readonly lock: number
  /** An open transaction of a request in which the process sends nothing. */
  readonly idleInTransaction: number
  /** The same for background work, which computes more between statements. */
  readonly idleInBackground: number
  /** The answer of a node of a cluster to a check of the coordinator. */
  readonly node: number
  /**
   * How long sent bytes may stay unacknowledged, and how long a connection may be silent before keepalive probes are
   * sent.
   */
  readonly network: number
}

/** Maximum connections for each kind of work. */
export interface PoolSizes {
  readonly requests: number
  readonly writes: number
  readonly background: number
  readonly replica: number
}

export type PoolName = keyof PoolSizes

/** The pools of the primary, and of each node of a cluster. The read replica has one pool. */
export type MainPool = Exclude<PoolName, "replica">

export const defaultDeadlines: Deadlines = {
  lookUp: 2_000,
  read: 5_000,
  write: 8_000,
  replica: 2_000,
  background: 30_000,
  scan: 600_000,
  connection: 4_000,
  lock: 6_000,
  idleInTransaction: 10_000,
  idleInBackground: 30_000,
  node: 3_000,
  network: 10_000
}

export const defaultPoolSizes: PoolSizes = { requests: 10, writes: 5, background: 4, replica: 10 }

/**
 * The kind of work of a fiber. It decides the pool and the deadline of its statements. Surfaces set `request`; a transaction of a
 * request is a `write`. The default is background work. An `export` holds a connection until it has read everything, so it takes no place
 * of its account in the semaphores. `migration` has no deadline.
 */
export type WorkloadName = "lookUp" | "request" | "write" | "background" | "export" | "scan" | "migration"

/** @effect-leakable-service */
export class Workload extends Context.Reference<Workload>()("catalog/Workload", {
  defaultValue: (): WorkloadName => "background"
}) {}

/** Runs a slow part of a request as background work, with its longer deadline. */
export const asBackground = Effect.provideService(Workload, "background")

export const poolOf: Readonly<Record<WorkloadName, MainPool>> = {
  lookUp: "requests",
  request: "requests",
  write: "writes",
  background: "background",
  export: "background",
  scan: "background",
  migration: "background"
}

/**
 * The server cancels a statement at its deadline, and the connection stays usable. The client waits this much longer before it
 * closes the connection as dead. A look-up has no deadline at the server.
 */
const graceMillis = 1_000

/** How long the client waits for the answer to a statement. Undefined: no limit. */
export const clientDeadlines = (deadlines: Deadlines): Readonly<Record<WorkloadName, number | undefined>> => ({
  lookUp: deadlines.lookUp,
  request: deadlines.read + graceMillis,
  write: deadlines.write + graceMillis,
  background: deadlines.background + graceMillis,
  export: deadlines.background + graceMillis,
  scan: deadlines.scan + graceMillis,
  migration: undefined
})

/**
 * Wait for a connection to the read replica or a node, and then for its first answer, in milliseconds. Short, because the request has
 * not begun on the primary yet.
 */
export const replicaConnectionMillis = 500

/** The deadlines of the pools of the read replica and of the nodes. */
export const replicaDeadlines = (deadlines: Deadlines): Deadlines => ({
  ...deadlines,
  read: deadlines.replica,
  connection: Math.min(replicaConnectionMillis, deadlines.connection)
})

/** Pause after a read replica or a node did not answer, in milliseconds: it gets no reads. Then one read tries it. */
export const replicaPauseMillis = 5_000

/**
 * The pooler between this process and the server. `transaction`: it may use another connection for each transaction.
 */
export const poolers = ["none", "transaction"] as const
export type Pooler = (typeof poolers)[number]

/** The server to which the reads and draft writes of an account on a cluster are sent: the node with its rows, or the coordinator. */
export const nodeAccesses = ["direct", "coordinator"] as const
export type NodeAccess = (typeof nodeAccesses)[number]

/** How soon a broken network is noticed on a silent connection. */
export const keepAliveOf = ({ network }: Deadlines) => ({ keepAlive: true, keepAliveInitialDelayMillis: network })

const timeoutsOf = (deadlines: Deadlines, pool: PoolName) => {
  const statement = {
    requests: deadlines.read,
    writes: deadlines.write,
    background: deadlines.background,
    replica: deadlines.replica
  }[pool]
  const isBackground = pool === "background"
  return {
    statement_timeout: statement,
    // Shorter than the statement's, so that a wait for a lock is not reported as a statement that has too much to do.
    lock_timeout: isBackground ? Math.floor((statement * 2) / 3) : Math.min(deadlines.lock, statement),
    idle_in_transaction_session_timeout: isBackground ? deadlines.idleInBackground : deadlines.idleInTransaction
  }
}

/**
 * The message that begins a transaction. Behind a pooler in transaction mode sessions cannot keep settings, so it sets the timeouts; a
 * statement outside transactions has the timeout of the server's role. On a cluster the coordinator's sessions at the nodes do not have
 * the settings of its own session, so Citus sends them the lock timeout, and each later SET LOCAL of the transaction. The timeout is set
 * in a block, because Citus would send the text of the whole message.
 */
export const beginOf = (deadlines: Deadlines, pool: PoolName, pooler: Pooler, isCluster: boolean): string => {
  const timeouts = timeoutsOf(deadlines, pool)
  const ofPooled = Object.entries(timeouts).map(([name, millis]) => `SET LOCAL ${name} = ${millis}`)
  const ofCluster = [
    "SET LOCAL citus.propagate_set_commands = 'local'",
    `DO 'BEGIN SET LOCAL lock_timeout = ${timeouts.lock_timeout}; END'`
  ]
  return ["BEGIN", ...(pooler === "transaction" ? ofPooled : []), ...(isCluster ? ofCluster : [])].join("; ")
}

/** The settings of a pool's sessions. They are part of the start-up packet, so they need no round trip. */
export const sessionOf = (deadlines: Deadlines, pool: PoolName) => {
  return {
    ...timeoutsOf(deadlines, pool),
    ...keepAliveOf(deadlines),
    options: [
      "-c timezone=UTC",
      // JIT compilation is off: the statements are short, and compiling one took 180 ms when the planner overestimated
      // its cost.
      "-c jit=off",
      `-c tcp_user_timeout=${deadlines.network}`,
      `-c tcp_keepalives_idle=${Math.ceil(deadlines.network / 1_000)}`,
      "-c tcp_keepalives_interval=2",
      "-c tcp_keepalives_count=5",
      // The server ends the statement of a client that has gone, which releases its locks.
      "-c client_connection_check_interval=1000"
    ].join(" ")
  }
}

/** A deadline of one operation, counted in ticks of the shared timer. */
export interface Watch {
  ticks: number
  missed: () => void
}

const nothing = () => {}

/**
 * One timer for all watches, which is cheaper than one for each statement. A stall of the process counts as one tick, so answers
 * that arrived during it are read before they count as missed.
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

/** Calls `missed` after `millis` to `millis` + 100 ms, unless `unwatch` is called first. */
export const watch = (millis: number, missed: () => void): Watch => {
  const each: Watch = { ticks: Math.ceil(millis / tickMillis), missed }
  watches.add(each)
  timer ??= setInterval(tick, tickMillis).unref()
  return each
}

/** Restarts a watch with a new duration. */
export const rewatch = (each: Watch, millis: number): void => {
  each.ticks = Math.ceil(millis / tickMillis)
}

/**
 * V8 rebuilds the set every few dozen changes, and the old copy keeps its entries alive until the next full collection.
 * So an ended watch drops its reference to the request; otherwise every third request would stay in memory that long.
 */
export const unwatch = (each: Watch): void => {
  watches.delete(each)
  each.missed = nothing
}
