import { Fiber, Option } from "effect"
import pg from "pg"
import { type Actor, CurrentActor } from "../model/Actor.ts"
import { measuring, metrics, readBeforeExport, type Series } from "../telemetry/Metrics.ts"
import { everyNode, NodeDown, NodeStates, StatementAccount } from "./ClusterNodes.ts"
import {
  beginOf,
  clientDeadlines,
  type Deadlines,
  keepAliveOf,
  type MainPool,
  type Pooler,
  type PoolName,
  type PoolSizes,
  poolOf,
  sessionOf,
  unwatch,
  type Watch,
  Workload,
  type WorkloadName,
  watch
} from "./Deadlines.ts"
import { allAccounts } from "./PlannerHints.ts"
import {
  type Hold,
  type Holder,
  limitsOf,
  nodeLimitsOf,
  noHolds,
  RateLimitSemaphores,
  release,
  type Shares
} from "./RateLimitSemaphores.ts"
import { DeadlineMissed, type Query, WatchedClient, type WatchedConfig, watchedOf } from "./WatchedClient.ts"

/** All connections that the caller may have were in use until its deadline. It says nothing about the server. */
export class NoConnectionFree extends DeadlineMissed {}

export type Connected = (error: Error | undefined, client?: pg.PoolClient, release?: (error?: Error) => void) => void

/** For how long a pool does not grow after the server refused it a connection. */
const fullServerMillis = 5_000

/** The longest pause between two cancellations of a statement. */
const maxCancelPauseMillis = 1_000

/** Logs that an idle connection broke. */
export const warnLost =
  (warn: ServerPoolOptions["warn"]) =>
  ({ message }: Error): void =>
    warn(`A database connection was lost: ${message}`)

/** A pool and the semaphores that limit its connections. */
interface Lane {
  readonly name: string
  readonly pool: pg.Pool
  /** The number of connections that the pool may have, unless the server is full. */
  readonly max: number
  /** The message that begins a transaction. */
  readonly begin: string
  readonly beginOnCluster: string
  /** Connections that are open. The pool counts those that it is opening too. */
  readonly opened: Set<pg.PoolClient>
  readonly semaphores: RateLimitSemaphores
  /** Limits the connections for each node of a cluster. */
  readonly nodes: RateLimitSemaphores
  readonly waitSeconds: Series
}

interface ServerPoolOptions {
  /** Options of all sessions; `Client` must be a `WatchedClient`. */
  readonly session: WatchedConfig
  readonly deadlines: Deadlines
  readonly pooler: Pooler
  /** Number of connections for each kind of work, or of one pool for all work. */
  readonly sizes: PoolSizes | number
  /** The kind of the one pool, if `sizes` is a number. Default: background. */
  readonly kind?: PoolName
  /** The prefix of the pools' names in metrics; with one pool, its whole name. Default: each pool has the name of its kind. */
  readonly name?: string | undefined
  readonly shares: Shares
  /** The nodes of the cluster. Default: none. */
  readonly nodes?: NodeStates
  /** Logs a warning. */
  readonly warn: (message: string) => void
}

/** The open lanes of the process by name. Those of the pools of all nodes have the same names. */
const openLanes = new Map<string, Set<Lane>>()

/** A gauge of a name is the sum over its lanes, because a gauge keeps only the last value that it is given. */
readBeforeExport(() => {
  for (const [name, lanes] of openLanes) {
    const sum = (valueOf: (lane: Lane) => number) => [...lanes].reduce((total, lane) => total + valueOf(lane), 0)
    metrics.poolMax.of(name).add(sum(({ pool }) => pool.options.max ?? 0))
    metrics.poolOpen.of(name).add(sum(({ pool }) => pool.totalCount))
    metrics.poolIdle.of(name).add(sum(({ pool }) => pool.idleCount))
    metrics.poolInUse.of(name).add(sum(({ pool }) => pool.totalCount - pool.idleCount))
    metrics.poolWaiting.of(name).add(sum(({ pool }) => pool.waitingCount))
    metrics.semaphoreWaiting.of(name).add(sum(({ semaphores }) => semaphores.waiting))
    metrics.semaphoreAccounts.of(name).add(sum(({ semaphores }) => semaphores.size))
  }
})

const holderOf = (actor: Actor | undefined): Holder | undefined => {
  if (actor === undefined) return undefined
  const { accountId } = actor
  switch (actor._tag) {
    case "Key":
      return { accountId, credentialId: actor.keyId }
    case "Connection":
      return { accountId, credentialId: actor.connectionId }
    case "User":
      return { accountId, credentialId: actor.userId }
    case "Cli":
      return { accountId, credentialId: undefined }
  }
}

/** A request for a connection: its workload, whom it counts against, and the database node. */
interface Demand {
  readonly workload: WorkloadName
  readonly holder: Holder | undefined
  readonly node: string | undefined
}

const cancellation: Demand = { workload: "lookUp", holder: undefined, node: undefined }

const demandOf = (nodes: NodeStates): Demand => {
  const fiber = Option.getOrUndefined(Fiber.getCurrentFiber())
  const services = fiber?.currentContext.unsafeMap
  const actor: Actor | undefined = services?.get(CurrentActor.key)
  const workload: WorkloadName = services?.get(Workload.key) ?? "background"
  return {
    workload,
    holder: workload === "export" ? undefined : holderOf(actor),
    node: nodes.isEmpty ? undefined : nodes.nodeOf(services?.get(StatementAccount.key) ?? actor?.accountId)
  }
}

/**
 * The connections to a server. @effect/sql-pg sees one pool, but requests, writes and background work have separate
 * pools, so none can use up another's connections. The calling fiber's `Workload` selects the pool, and its
 * `CurrentActor` the semaphores.
 */
export class ServerPools {
  readonly options: pg.PoolConfig
  readonly nodes: NodeStates
  /** Whether the server is the coordinator of a cluster. Known after the first statement. */
  isCoordinator = false
  /** Connections in use by statements that need a node. */
  private readonly onNodes = new Set<WatchedClient>()
  private readonly lanes: Readonly<Record<MainPool, Lane>>
  private readonly deadlineOf: Readonly<Record<WorkloadName, number | undefined>>
  private readonly connectionMillis: number
  private readonly warn: (message: string) => void

  constructor({
    deadlines,
    kind = "background",
    name,
    nodes = new NodeStates(),
    pooler,
    session,
    shares,
    sizes,
    warn
  }: ServerPoolOptions) {
    this.warn = warn
    this.deadlineOf = clientDeadlines(deadlines)
    this.nodes = nodes
    nodes.onDown((node) => this.abandonNode(node))
    this.connectionMillis = deadlines.connection
    const open = (kind: PoolName, max: number, label: string): Lane => {
      const config: WatchedConfig = {
        ...session,
        ...(pooler === "transaction" ? keepAliveOf(deadlines) : sessionOf(deadlines, kind)),
        newConnectionMillis: deadlines.connection,
        max
      }
      const pool = new pg.Pool(config)
      // The pool removes an idle connection that breaks. Without this listener its error would end the process.
      pool.on("error", warnLost(warn))
      const lane: Lane = {
        name: label,
        pool,
        max,
        begin: beginOf(deadlines, kind, pooler, false),
        beginOnCluster: beginOf(deadlines, kind, pooler, true),
        opened: new Set(),
        semaphores: new RateLimitSemaphores(limitsOf(shares, max)),
        nodes: new RateLimitSemaphores(nodeLimitsOf(shares, max)),
        waitSeconds: metrics.connectionWaitSeconds.of(label)
      }
      pool.on("remove", (client) => lane.opened.delete(client))
      pool.on("connect", (client) => {
        lane.opened.add(client)
        // A connection that breaks while in use makes its statement fail, so its user learns of it there. Without a
        // listener the error would end the process.
        client.on("error", () => {})
        if (!(client instanceof WatchedClient)) return
        client.onUnusable = () => this.forgetIdle(lane)
        client.refusalOf = (text) => this.refusalOf(client, text)
        client.cancelRunning = (then) => this.cancelRunning(client, then)
        client.seconds = metrics.statementSeconds.of(label)
      })
      pool.on("release", (_, client) => this.giveBack(client))
      return lane
    }
    if (typeof sizes === "number") {
      const lane = open(kind, sizes, name ?? kind)
      this.lanes = { requests: lane, writes: lane, background: lane }
    } else {
      const openMain = (kind: MainPool) => open(kind, sizes[kind], name === undefined ? kind : `${name}-${kind}`)
      this.lanes = { requests: openMain("requests"), writes: openMain("writes"), background: openMain("background") }
    }
    this.options = this.lanes.background.pool.options
    for (const lane of this.distinctLanes()) {
      const lanes = openLanes.get(lane.name) ?? new Set()
      openLanes.set(lane.name, lanes.add(lane))
    }
  }

  get ending(): boolean {
    return this.lanes.background.pool.ending
  }

  /** The request for a connection of the calling fiber. */
  demand(): Demand {
    return demandOf(this.nodes)
  }

  /** Without `demand`, the fiber that needs the connection must call this synchronously, because its demand is read from it. */
  connect(callback: Connected, demand = this.demand()): void {
    this.connectAs(demand, callback)
  }

  /** Whether work in the background would get a connection at once, an idle one or a new one, and leave one to others. */
  hasSpare(): boolean {
    const { pool } = this.lanes.background
    const inUse = pool.totalCount - pool.idleCount
    return pool.waitingCount === 0 && inUse + 1 < (pool.options.max ?? 0)
  }

  /** Runs one statement on a free connection. Like `query` of `pg.Pool`, but without extra listeners, so it is cheaper. */
  query(text: string, values: Array<unknown>, callback: Query): void {
    this.connect((error, client, release) => {
      if (error !== undefined || client === undefined || release === undefined)
        return callback(error ?? new Error("No client returned"), undefined as never)
      client.query(text, values, (failure: Error | undefined, result: pg.QueryResult) => {
        release()
        callback(failure, result)
      })
    })
  }

  /**
   * Cancels the statement that a client runs, because its fiber was interrupted. Calls `then` when the statement has ended, or when the
   * server cannot be told. Until then the client must get no other statement, which could be cancelled instead. A cancellation that
   * overtakes its statement has no effect at the server, so it is repeated after a pause.
   */
  private cancelRunning(client: WatchedClient, then: () => void, pauseMillis = 100): void {
    const { serverProcess } = client
    if (serverProcess === undefined) {
      then()
      return
    }
    const repeat = (isBusy: boolean) =>
      isBusy ? this.cancelRunning(client, then, Math.min(2 * pauseMillis, maxCancelPauseMillis)) : then()
    // A cancellation takes no place in a semaphore, because the statement to cancel may hold the last one.
    this.connectAs(cancellation, (_, other, release) => {
      if (other === undefined || release === undefined) return then()
      // Citus has a second function of this name, for a bigint.
      other.query("SELECT pg_cancel_backend($1::integer)", [serverProcess], () => {
        release()
        client.whenIdle(pauseMillis, repeat)
      })
    })
  }

  async end(): Promise<void> {
    const lanes = [...this.distinctLanes()]
    for (const lane of lanes) openLanes.get(lane.name)?.delete(lane)
    await Promise.all(lanes.map(({ pool }) => pool.end()))
  }

  private distinctLanes(): ReadonlySet<Lane> {
    return new Set(Object.values(this.lanes))
  }

  private connectAs({ holder, node, workload }: Demand, callback: Connected): void {
    const lane = this.lanes[poolOf[workload]]
    const holds = this.holdsOf(lane, holder, node)
    let withdraw = () => {}
    let waiting: Watch | undefined
    let gaveUp = false
    const refuse = (error: Error) => {
      if (waiting !== undefined) unwatch(waiting)
      callback(error)
    }
    const began = measuring.isOn ? performance.now() : undefined
    const begin = () => {
      withdraw = () => {}
      if (node !== undefined && this.nodes.isDown(node)) {
        release(holds)
        refuse(new NodeDown(node))
        return
      }
      const connected: Connected = (error, client, giveBack = () => {}) => {
        if (error !== undefined && !gaveUp && this.waitsForOwn(lane, error)) {
          lane.pool.connect(connected)
          return
        }
        if (began !== undefined) lane.waitSeconds.add((performance.now() - began) / 1_000)
        if (waiting !== undefined) unwatch(waiting)
        if (client === undefined) {
          release(holds)
          if (!gaveUp) callback(error ?? new Error("No client returned"))
          return
        }
        const watched = watchedOf(client)
        watched.holds = holds
        watched.deadlineMillis = this.deadlineOf[workload]
        // An export sets the isolation level of its transaction, which is refused after a block. It waits for no lock.
        watched.begin = this.isCoordinator && workload !== "export" ? lane.beginOnCluster : lane.begin
        if (node !== undefined) {
          watched.node = node
          this.onNodes.add(watched)
        }
        if (gaveUp) giveBack()
        else callback(undefined, client, giveBack)
      }
      lane.pool.connect(connected)
    }
    const take = (place: number): void => {
      const hold = holds[place]
      if (hold === undefined) {
        begin()
        return
      }
      let isTaken = false
      const cancel = hold.semaphores.take(hold.holder, () => {
        isTaken = true
        take(place + 1)
      })
      if (cancel === undefined) {
        release(holds, place)
        refuse(new NoConnectionFree("too many statements of this account wait for a connection"))
      } else if (!isTaken)
        withdraw = () => {
          cancel()
          release(holds, place)
        }
    }
    if (node !== undefined && this.nodes.isDown(node)) {
      refuse(new NodeDown(node))
      return
    }
    waiting = watch(this.connectionMillis, () => {
      gaveUp = true
      withdraw()
      callback(new NoConnectionFree(`no connection was free within ${this.connectionMillis} ms`))
    })
    take(0)
  }

  /**
   * Whether a caller that gets no new connection, because the server is full (53300), waits for an open one of the pool. The pool then
   * grows no further for some seconds. A caller of an empty pool does not wait.
   */
  private waitsForOwn({ max, name, opened, pool }: Lane, error: Error): boolean {
    if ((error as pg.DatabaseError).code !== "53300" || opened.size === 0) return false
    if (pool.options.max === max)
      this.warn(
        `The database refuses pool ${name} a further connection, so it keeps to ${opened.size}: ${error.message}`
      )
    pool.options.max = opened.size
    // PostgreSQL does not tell when it has room again, so the pool tries after some seconds.
    setTimeout(() => {
      pool.options.max = max
    }, fullServerMillis).unref()
    return true
  }

  /** Refuses a statement about all accounts while a node does not answer. */
  private refusalOf(client: WatchedClient, text: string): Error | undefined {
    if (this.nodes.isEmpty || !text.includes(allAccounts)) return undefined
    if (this.nodes.hasDown) return new NodeDown(everyNode)
    client.node ??= everyNode
    this.onNodes.add(client)
    return undefined
  }

  /** The places that a caller needs, in the order in which it waits for them. */
  private holdsOf(lane: Lane, holder: Holder | undefined, node: string | undefined): ReadonlyArray<Hold> {
    if (holder === undefined && node === undefined) return noHolds
    const holds: Array<Hold> = []
    if (holder !== undefined) holds.push({ semaphores: lane.semaphores, holder })
    if (node !== undefined) holds.push({ semaphores: lane.nodes, holder: { accountId: node, credentialId: undefined } })
    return holds
  }

  private giveBack(poolClient: pg.PoolClient): void {
    const client = watchedOf(poolClient)
    release(client.holds)
    client.holds = noHolds
    if (client.node !== undefined) {
      this.onNodes.delete(client)
      client.node = undefined
    }
    // The fiber of the statement was interrupted.
    if (client.isBusy) this.cancelRunning(client, () => {})
    const status = poolClient.getTransactionStatus()
    // If a rollback was cancelled, the transaction is still open and a statement may still be running. Such a
    // connection must not be used again.
    if (client.isBusy || client.isReadOnly || client.isStuck || status === "T" || status === "E") void client.end()
  }

  /** Ends the statements that wait for a node. */
  private abandonNode(node: string): void {
    for (const client of this.onNodes)
      if (client.node === node || client.node === everyNode) client.abandon(new NodeDown(node))
  }

  /** Closes all idle connections of a pool: after one was unusable, the others are probably too. */
  private forgetIdle({ pool }: Lane): void {
    for (let left = pool.idleCount; left > 0; left--)
      pool.connect((_, client, release) => {
        if (client === undefined) return
        watchedOf(client).abandon(new DeadlineMissed("closed because another connection of the pool was unusable"))
        release(true)
      })
  }
}
