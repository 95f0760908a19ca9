import pg from "pg"
import { measuring, type Series } from "../telemetry/Metrics.ts"
import { unwatch, watch } from "./Deadlines.ts"
import { type Hold, noHolds } from "./RateLimitSemaphores.ts"

/**
 * A statement was not answered before its deadline. It has the code of a socket timeout, which means the same to
 * callers.
 */
export class DeadlineMissed extends Error {
  readonly code = "ETIMEDOUT"
}

const cancelledCode = "57014"

const readOnlyCode = "25006"

/**
 * The server is a standby: it refuses writes, and its data may be older than acknowledged writes. It has the SQLSTATE
 * with which such a server refuses a write.
 */
class ServerIsStandby extends Error {
  readonly code = readOnlyCode
}

/**
 * A node of a Citus cluster did not confirm a COMMIT, so the outcome is unknown. Citus itself only warns and answers COMMIT as if
 * it had succeeded. It has the SQLSTATE "transaction resolution unknown".
 */
class CommitUnconfirmed extends Error {
  readonly code = "08007"
}

const isUnconfirmedCommit = (warning: string) => warning.startsWith("failed to commit transaction on ")

/** An error, with the members that PostgreSQL's own errors have. */
export type ServerError = Error & Partial<Pick<pg.DatabaseError, "code" | "severity">>

export type Query = (error: Error | undefined, result: pg.QueryResult) => void

/**
 * The configuration of a pool of `WatchedClient`s. It has no `connectionTimeoutMillis`, for which pg would set a timer
 * at every use of a connection; `newConnectionMillis` applies only to opening one.
 */
export interface WatchedConfig extends Omit<pg.PoolConfig, "connectionTimeoutMillis"> {
  readonly newConnectionMillis?: number
  /** Whether the server may be a standby. Default: false. */
  readonly allowsStandby?: boolean
}

/** A client with deadlines: if a statement is not answered in time, the connection is closed. */
export class WatchedClient extends pg.Client {
  constructor(config: WatchedConfig = {}) {
    const { allowsStandby = false, newConnectionMillis: connectionTimeoutMillis = 0 } = config
    super({ ...config, connectionTimeoutMillis })
    // The server reports this setting at connect and when it changes. A balancer may send connections to a standby that
    // is about to be promoted.
    this.wire.on("parameterStatus", ({ parameterName, parameterValue }) => {
      if (!allowsStandby && parameterName === "in_hot_standby" && parameterValue === "on")
        this.abandon(new ServerIsStandby("the server is a standby and accepts no writes"))
    })
    // A warning about a statement arrives before its result.
    this.on("notice", ({ message = "" }) => {
      if (isUnconfirmedCommit(message)) this.unconfirmed = new CommitUnconfirmed(message)
    })
  }

  /** The message that begins a transaction. */
  begin = "BEGIN"

  /** Whether interrupted statements are cancelled. */
  protected readonly cancels: boolean = true
  /** The id of the session's process on the server. Undefined: statements cannot be cancelled. */
  serverProcess: number | undefined

  /**
   * Always undefined. @effect/sql-pg cancels an interrupted statement by this id, even if the statement has just ended and the client
   * runs the statement of another fiber. `cancelRunning` replaces that.
   */
  get processID(): undefined {
    return undefined
  }

  set processID(id: number | null) {
    this.serverProcess = this.cancels ? (id ?? undefined) : undefined
  }

  /** Deadline of each statement from now on; undefined: none. */
  deadlineMillis: number | undefined
  /**
   * Called when this connection has become unusable. Other connections of its pool probably lead to the same server.
   */
  onUnusable: () => void = () => {}
  /**
   * The server refused a write as read-only. Only a new connection helps if its settings or the primary have changed.
   */
  isReadOnly = false
  /** The places in semaphores that the user of this connection holds, while it is out of the pool. */
  holds: ReadonlyArray<Hold> = noHolds
  /** The node of a cluster that the statements need. Undefined: unknown, or only the coordinator. */
  node: string | undefined
  /** A statement was cancelled while it waited for a node. The coordinator may hang while it tells the node. */
  isStuck = false
  /** Why a statement must not be sent. */
  refusalOf: (text: string) => Error | undefined = () => undefined
  /** Cancels the running statement, and calls `then` when the client may get another one. */
  cancelRunning: (then: () => void) => void = (then) => then()
  /** Metric for the durations of statements; undefined: they are not measured. */
  seconds: Series | undefined
  private underWay = 0
  /** Called when no statement runs any more. */
  private onIdle: () => void = () => {}
  private unconfirmed: CommitUnconfirmed | undefined

  get isBusy(): boolean {
    return this.underWay > 0
  }

  /** Waits until no statement runs, but no longer than this. `then` is told whether one still does. */
  whenIdle(maxMillis: number, then: (isBusy: boolean) => void): void {
    if (!this.isBusy) {
      then(false)
      return
    }
    const end = () => {
      unwatch(watching)
      this.onIdle = () => {}
      then(this.isBusy)
    }
    const watching = watch(maxMillis, end)
    this.onIdle = end
  }

  /** The connection of the protocol. `@types/pg` does not declare this member of a client. */
  private get wire(): pg.Connection {
    return (this as unknown as { readonly connection: pg.Connection }).connection
  }

  /** Closes the connection immediately. Running statements fail with this error. */
  abandon(reason: Error): void {
    this.wire.stream.destroy(reason)
  }

  /** The name under which to prepare a statement on this connection; undefined: do not prepare it. */
  protected nameOf(_text: string): string | undefined {
    return undefined
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg declares nine overloads; those that end in a callback are watched.
  override query(...args: ReadonlyArray<any>): any {
    const [text] = args
    const refusal = typeof text === "string" ? this.refusalOf(text) : undefined
    const answer = args.at(-1)
    if (refusal !== undefined && typeof answer === "function") {
      process.nextTick(answer, refusal)
      return
    }
    // A transaction is rolled back while its statement runs: the fiber was interrupted.
    if (this.isBusy && typeof text === "string" && text.startsWith("ROLLBACK")) {
      this.cancelRunning(() => this.send(args))
      return
    }
    return this.send(args)
  }

  // biome-ignore lint/suspicious/noExplicitAny: as `query`.
  private send(args: ReadonlyArray<any>): any {
    const [text, values, callback] = args
    const answer = args.at(-1)
    if (typeof text === "string" && Array.isArray(values) && values.length > 0 && typeof callback === "function")
      return super.query({ name: this.nameOf(text), text } as never, values, this.watched(callback))
    const others = text === "BEGIN" ? [this.begin] : args.slice(0, -1)
    return super.query.apply(
      this,
      // Cursors have no callback; they are not used here.
      (typeof answer === "function" ? [...others, this.watched(answer)] : args) as never
    )
  }

  /** Starts the deadline of a statement. The returned callback ends it. */
  private watched(callback: Query): Query {
    const { deadlineMillis } = this
    const seconds = measuring.isOn ? this.seconds : undefined
    const began = seconds === undefined ? 0 : performance.now()
    const watching = deadlineMillis === undefined ? undefined : watch(deadlineMillis, () => this.miss(deadlineMillis))
    this.underWay++
    return (failure, result) => {
      const error = failure ?? this.unconfirmed
      this.unconfirmed = undefined
      this.underWay--
      if (!this.isBusy) this.onIdle()
      seconds?.add((performance.now() - began) / 1_000)
      if (watching !== undefined) unwatch(watching)
      if (error !== undefined) this.noteError(error)
      callback(error, result)
    }
  }

  protected noteError(error: ServerError): void {
    if (this.node !== undefined && error.code === cancelledCode) {
      this.isStuck = true
      this.abandon(error)
    }
    if (error.code !== readOnlyCode || this.isReadOnly) return
    this.isReadOnly = true
    this.onUnusable()
  }

  private miss(deadlineMillis: number): void {
    this.abandon(new DeadlineMissed(`a statement was not answered within ${deadlineMillis} ms`))
    // If the statement waited for a node of a cluster, the other connections to the coordinator are usable.
    if (this.node === undefined) this.onUnusable()
  }
}

/** The pools make all their clients of this class (`Client` in their settings). The types of pg do not say so. */
export const watchedOf = (client: pg.PoolClient) => client as unknown as WatchedClient
