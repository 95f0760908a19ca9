import { Fiber, Option } from "effect"
import pg from "pg"
import { type Actor, CurrentActor } from "../model/Actor.ts"
import { measuring, metrics, readBeforeExport, type Series } from "../telemetry/Metrics.ts"
import {
  clientDeadlines,
  type Deadlines,
  type Pooler,
  type PoolName,
  type PoolSizes,
  pooledSessionOf,
  poolOf,
  sessionOf,
  unwatch,
  type Watch,
  Workload,
  type WorkloadName,
  watch
} from "./Deadlines.ts"
import { type Holder, limitsOf, RateLimitSemaphores, type Shares } from "./RateLimitSemaphores.ts"

/** A connection that was not answered in time. It has the code of a socket that timed out, as it means the same. */
export class DeadlineMissed extends Error {
  readonly code = "ETIMEDOUT"
}

const readOnlyCode = "25006"

/**
 * The server is a standby: it refuses writes, and what it reads may be older than what was acknowledged. It has the code with
 * which such a server refuses a write.
 */
class ServerIsStandby extends Error {
  readonly code = readOnlyCode
}

type Query = (error: Error | undefined, result: pg.QueryResult) => void

/**
 * What a pool of `WatchedClient`s is given. A pool that knows `connectionTimeoutMillis` sets a timer for each use of a
 * connection: here only new connections are bounded by one.
 */
export interface WatchedConfig extends Omit<pg.PoolConfig, "connectionTimeoutMillis"> {
  readonly newConnectionMillis?: number
  /** What begins a transaction, in place of BEGIN. */
  readonly begin?: string
}

/** A client whose statements are answered in time, or whose connection is closed. */
export class WatchedClient extends pg.Client {
  constructor(config: WatchedConfig = {}) {
    const { begin = "BEGIN", newConnectionMillis: connectionTimeoutMillis = 0 } = config
    super({ ...config, connectionTimeoutMillis })
    this.begin = begin
    // Sent when the connection begins, and again when it changes. A balancer may send connections to a server that is about
    // to be promoted.
    this.wire.on("parameterStatus", ({ parameterName, parameterValue }) => {
      if (parameterName === "in_hot_standby" && parameterValue === "on")
        this.abandon(new ServerIsStandby("the server is a standby and accepts no writes"))
    })
  }

  private readonly begin: string

  /** For each statement from now on; undefined: without a bound. */
  deadlineMillis: number | undefined
  /** Called when this connection must not be used any more: others of its pool probably lead to the same server. */
  onUnusable: () => void = () => {}
  /** The server refused a write as read-only. After a change of its settings or of the primary, only a new connection helps. */
  isReadOnly = false
  /** Whose semaphore this connection counts in, while it is out of the pool. */
  holder: Holder | undefined
  /** Measures statements; undefined: they are not measured. */
  seconds: Series | undefined
  private underWay = 0

  get isBusy(): boolean {
    return this.underWay > 0
  }

  private get wire(): pg.Connection {
    return (this as unknown as { readonly connection: pg.Connection }).connection
  }

  /** Closes the connection at once: what is under way fails with this error. */
  abandon(reason: Error): void {
    this.wire.stream.destroy(reason)
  }

  /** The name that a statement is prepared under on this connection; undefined: it is not prepared. */
  protected nameOf(_text: string): string | undefined {
    return undefined
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg declares nine overloads; those that end in a callback are watched.
  override query(...args: ReadonlyArray<any>): any {
    const [text, values, callback] = args
    if (typeof text === "string" && Array.isArray(values) && values.length > 0 && typeof callback === "function")
      return super.query({ name: this.nameOf(text), text } as never, values, this.watched(callback))
    const last = args.at(-1)
    const others = text === "BEGIN" ? [this.begin] : args.slice(0, -1)
    return super.query.apply(
      this,
      // A cursor, which has no callback, is not used here.
      (typeof last === "function" ? [...others, this.watched(last)] : args) as never
    )
  }

  /** Starts the deadline of a statement; the callback that is answered ends it. */
  private watched(callback: Query): Query {
    const { deadlineMillis } = this
    const seconds = measuring.isOn ? this.seconds : undefined
    const began = seconds === undefined ? 0 : performance.now()
    const watching = deadlineMillis === undefined ? undefined : watch(deadlineMillis, () => this.miss(deadlineMillis))
    this.underWay++
    return (error, result) => {
      this.underWay--
      seconds?.add((performance.now() - began) / 1_000)
      if (watching !== undefined) unwatch(watching)
      if (error !== undefined && error !== null) this.noteReadOnly(error)
      callback(error, result)
    }
  }

  private noteReadOnly(error: Error & { readonly code?: string }): void {
    if (error.code !== readOnlyCode || this.isReadOnly) return
    this.isReadOnly = true
    this.onUnusable()
  }

  private miss(deadlineMillis: number): void {
    this.abandon(new DeadlineMissed(`a statement was not answered within ${deadlineMillis} ms`))
    this.onUnusable()
  }
}

type Connected = (error: Error | undefined, client?: pg.PoolClient, release?: (error?: Error) => void) => void

/** One pool, and the semaphores over its connections. */
interface Lane {
  readonly name: PoolName
  readonly pool: pg.Pool
  readonly semaphores: RateLimitSemaphores
  readonly waitSeconds: Series
}

export interface ServerPoolOptions {
  /** What every session has in common; `Client` must be a `WatchedClient`. */
  readonly session: WatchedConfig
  readonly deadlines: Deadlines
  readonly pooler: Pooler
  /** Connections of each kind of work, or of all kinds together in one pool. */
  readonly sizes: PoolSizes | number
  readonly shares: Shares
  readonly onLost: (error: Error) => void
}

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

interface Demand {
  readonly workload: WorkloadName
  readonly holder: Holder | undefined
}

const cancellation: Demand = { workload: "lookUp", holder: undefined }

const demandOf = (): Demand => {
  const fiber = Option.getOrUndefined(Fiber.getCurrentFiber())
  const services = fiber?.currentContext.unsafeMap
  return {
    workload: services?.get(Workload.key) ?? "background",
    holder: holderOf(services?.get(CurrentActor.key))
  }
}

/**
 * The connections to a server, as the one pool that @effect/sql-pg expects: requests, writes and background work have pools
 * of their own, so none can use up another's. Which one is asked follows from what the calling fiber does (`Workload`), and
 * whose semaphores count from who acts (`CurrentActor`).
 */
export class ServerPools {
  readonly options: pg.PoolConfig
  private readonly lanes: Readonly<Record<PoolName, Lane>>
  private readonly deadlineOf: Readonly<Record<WorkloadName, number | undefined>>
  private readonly connectionMillis: number
  private readonly stopReading: () => void

  constructor({ deadlines, onLost, pooler, session, shares, sizes }: ServerPoolOptions) {
    this.deadlineOf = clientDeadlines(deadlines)
    this.connectionMillis = deadlines.connection
    const open = (name: PoolName, max: number): Lane => {
      const config: WatchedConfig = {
        ...session,
        ...(pooler === "transaction" ? pooledSessionOf : sessionOf)(deadlines, name),
        newConnectionMillis: deadlines.connection,
        max
      }
      const pool = new pg.Pool(config)
      // An idle connection that breaks leaves the pool by itself; without a listener it would end the process.
      pool.on("error", onLost)
      const lane: Lane = {
        name,
        pool,
        semaphores: new RateLimitSemaphores(limitsOf(shares, max)),
        waitSeconds: metrics.connectionWaitSeconds.of(name)
      }
      pool.on("connect", (client) => {
        // What breaks while it is in use fails its statement, which is how its user hears of it.
        client.on("error", () => {})
        if (!(client instanceof WatchedClient)) return
        client.onUnusable = () => this.forgetIdle(lane)
        client.seconds = metrics.statementSeconds.of(name)
      })
      pool.on("release", (_, client) => this.giveBack(lane, client))
      return lane
    }
    if (typeof sizes === "number") {
      const lane = open("background", sizes)
      this.lanes = { requests: lane, writes: lane, background: lane }
    } else {
      this.lanes = {
        requests: open("requests", sizes.requests),
        writes: open("writes", sizes.writes),
        background: open("background", sizes.background)
      }
    }
    this.options = this.lanes.background.pool.options
    this.stopReading = readBeforeExport(() => this.readGauges())
  }

  get ending(): boolean {
    return this.lanes.background.pool.ending
  }

  /** Called synchronously by the fiber that needs the connection. */
  connect(callback: Connected): void {
    const { holder, workload } = demandOf()
    this.connectAs(workload, holder, callback)
  }

  /**
   * One statement on a connection of its own, without listeners of its own: as `pg.Pool`'s, but cheaper. Without values it is
   * what @effect/sql-pg cancels a statement with: that waits for no semaphore, as the statement may hold what it waits for.
   */
  query(text: string, ...rest: [Query] | [ReadonlyArray<unknown>, Query]): void {
    const [values, callback] = rest.length === 1 ? [[], rest[0]] : rest
    const { holder, workload } = rest.length === 1 ? cancellation : demandOf()
    this.connectAs(workload, holder, (error, client, release) => {
      if (error !== undefined || client === undefined || release === undefined)
        return callback(error ?? new Error("No client returned"), undefined as never)
      client.query(text, values as Array<unknown>, (failure: Error | undefined, result: pg.QueryResult) => {
        release()
        callback(failure, result)
      })
    })
  }

  async end(): Promise<void> {
    this.stopReading()
    await Promise.all([...this.distinctLanes()].map(({ pool }) => pool.end()))
  }

  private distinctLanes(): ReadonlySet<Lane> {
    return new Set(Object.values(this.lanes))
  }

  private readGauges(): void {
    for (const { name, pool, semaphores } of this.distinctLanes()) {
      metrics.poolMax.of(name).add(pool.options.max ?? 0)
      metrics.poolOpen.of(name).add(pool.totalCount)
      metrics.poolIdle.of(name).add(pool.idleCount)
      metrics.poolInUse.of(name).add(pool.totalCount - pool.idleCount)
      metrics.poolWaiting.of(name).add(pool.waitingCount)
      metrics.semaphoreWaiting.of(name).add(semaphores.waiting)
      metrics.semaphoreAccounts.of(name).add(semaphores.size)
    }
  }

  private connectAs(workload: WorkloadName, holder: Holder | undefined, callback: Connected): void {
    const lane = this.lanes[poolOf[workload]]
    let withdraw: (() => void) | undefined = () => {}
    let waiting: Watch | undefined
    let gaveUp = false
    const began = measuring.isOn ? performance.now() : undefined
    const begin = () =>
      lane.pool.connect((error, client, release) => {
        if (began !== undefined) lane.waitSeconds.add((performance.now() - began) / 1_000)
        if (waiting !== undefined) unwatch(waiting)
        if (client === undefined) {
          if (holder !== undefined) lane.semaphores.release(holder)
          if (!gaveUp) callback(error ?? new Error("No client returned"))
          return
        }
        const watched = client as unknown as WatchedClient
        watched.holder = holder
        watched.deadlineMillis = this.deadlineOf[workload]
        if (gaveUp) release()
        else callback(undefined, client, release)
      })
    waiting = watch(this.connectionMillis, () => {
      gaveUp = true
      withdraw?.()
      callback(new DeadlineMissed(`no connection was free within ${this.connectionMillis} ms`))
    })
    if (holder === undefined) begin()
    else withdraw = lane.semaphores.take(holder, begin)
    if (withdraw === undefined) {
      unwatch(waiting)
      callback(new DeadlineMissed("too many statements of this account wait for a connection"))
    }
  }

  private giveBack({ semaphores }: Lane, given: pg.PoolClient): void {
    const client = given as unknown as WatchedClient
    if (client.holder !== undefined) {
      semaphores.release(client.holder)
      client.holder = undefined
    }
    const status = given.getTransactionStatus()
    // A rollback that was itself cancelled leaves its transaction open, and a statement may still be under way: such a
    // connection must not be used again.
    if (client.isBusy || client.isReadOnly || status === "T" || status === "E") void client.end()
  }

  /** All connections of that age may be dead or lead to the wrong server: those that nobody uses are not tried one by one. */
  private forgetIdle({ pool }: Lane): void {
    for (let left = pool.idleCount; left > 0; left--)
      pool.connect((_, client, release) => {
        if (client === undefined) return
        ;(client as unknown as WatchedClient).abandon(new DeadlineMissed("closed with another that was unusable"))
        release(true)
      })
  }
}
