import { type Context, Effect } from "effect"
import type pg from "pg"
import { metrics } from "../telemetry/Metrics.ts"
import { accountAtNode } from "./ClusterNodes.ts"
import { replicaConnectionMillis } from "./Deadlines.ts"
import { DirectQuery } from "./DirectQuery.ts"
import { FallbackCircuit, outcomeOf } from "./FallbackCircuit.ts"
import type { Connected, ServerPools } from "./ServerPools.ts"
import { watchedOf } from "./WatchedClient.ts"

/** The part of a node's pools that is used. */
type NodePool = Pick<ServerPools, "connect" | "end" | "query">

/** The part of the coordinator's pools that is used. */
type CoordinatorPools = Pick<ServerPools, "connect" | "demand" | "ending" | "nodes" | "options" | "query">

interface Node {
  readonly pool: NodePool
  readonly circuit: FallbackCircuit
}

/** The url of the same database at another address (host and port). */
export const urlAt = (url: string, address: string): string => {
  const target = new URL(url)
  for (const name of ["host", "port"]) target.searchParams.delete(name)
  const colon = address.lastIndexOf(":")
  const host = address.slice(0, colon)
  target.hostname = host.includes(":") ? `[${host}]` : host
  target.port = address.slice(colon + 1)
  return target.href
}

/**
 * Checks a new connection: `localhost`, or an address that was given to another machine, may lead to a server that does not have the
 * rows, where the tables can be empty. An option of pg-pool.
 */
export const verifyNode =
  (address: string): NonNullable<pg.PoolConfig["verify"]> =>
  (poolClient, done) => {
    const client = watchedOf(poolClient)
    client.deadlineMillis = replicaConnectionMillis
    client.query(
      `SELECT FROM pg_dist_local_group JOIN pg_dist_node n USING (groupid)
       WHERE n.nodename || ':' || n.nodeport = $1 AND NOT pg_is_in_recovery()`,
      [address],
      (error: Error | undefined, result: pg.QueryResult) =>
        done(error ?? (result.rowCount === 1 ? undefined : new Error(`the server at ${address} is not that node`)))
    )
  }

/**
 * The pools of the coordinator, and of the nodes that have rows. The node of an account runs its reads, and transactions that are
 * marked by `atNode`, if it is known and answers: the coordinator plans each statement again and sends it on, which costs more than
 * the statement itself (docs/benchmarks.md). If a read fails at the node, or a transaction cannot begin there, the coordinator runs it.
 */
export class NodePools {
  private readonly servers = new Map<string, Node>()
  private readonly coordinator: CoordinatorPools
  private readonly open: ((address: string) => NodePool) | undefined
  private readonly now: () => number
  private readonly onChange: (address: string, reason: string | undefined) => void

  constructor(options: {
    readonly coordinator: CoordinatorPools
    /** Opens pools of connections to a node. Undefined: the coordinator runs everything. */
    readonly open: ((address: string) => NodePool) | undefined
    readonly now: () => number
    /** Called when a node ceases to answer its own connections, with the reason, and when it answers again (undefined). */
    readonly onChange: (address: string, reason: string | undefined) => void
  }) {
    this.coordinator = options.coordinator
    this.open = options.open
    this.now = options.now
    this.onChange = options.onChange
  }

  get options(): pg.PoolConfig {
    return this.coordinator.options
  }

  get ending(): boolean {
    return this.coordinator.ending
  }

  /** As `connect` of `ServerPools`. @effect/sql-pg calls it for each transaction. */
  connect(callback: Connected): void {
    const accountId = accountAtNode()
    const node = accountId === undefined ? undefined : this.nodeOf(accountId)
    if (node === undefined) {
      this.coordinator.connect(callback)
      return
    }
    const demand = this.coordinator.demand()
    node.pool.connect((error, client, release) => {
      if (client === undefined) {
        node.circuit.note(error === undefined ? "unanswered" : outcomeOf(error), error?.message)
        this.coordinator.connect(callback, demand)
      } else {
        node.circuit.note("answered")
        callback(undefined, client, release)
      }
    })
  }

  /** Always at the coordinator. */
  query(...statement: Parameters<ServerPools["query"]>): void {
    this.coordinator.query(...statement)
  }

  /** Runs statements outside transactions, those of an account at its node if possible. */
  direct(): Context.Tag.Service<DirectQuery> {
    const { coordinator } = this
    const { nodes } = coordinator
    const throughCoordinator = DirectQuery.onPool(coordinator)
    return (statement, accountId) => {
      if (accountId === undefined || nodes.isEmpty) return throughCoordinator(statement)
      const fallback = Effect.tap(throughCoordinator(statement), () =>
        Effect.sync(() => nodes.noteAnswer(nodes.nodeOf(accountId)))
      )
      return Effect.suspend(() => {
        const node = this.nodeOf(accountId)
        if (node === undefined) return fallback
        const [text, values] = statement.compile()
        return Effect.orElse(read(node, text, values), () => fallback)
      })
    }
  }

  /** Closes the pools of the nodes. */
  async end(): Promise<void> {
    await Promise.all([...this.servers.values()].map(({ pool }) => pool.end()))
  }

  /** The node of an account if it may be asked now. The caller must then note one outcome with its circuit. */
  private nodeOf(accountId: string): Node | undefined {
    const address = this.coordinator.nodes.workerOf(accountId)
    if (this.open === undefined || address === undefined) return undefined
    const node = this.servers.get(address) ?? this.openNode(this.open, address)
    return node.circuit.admits() ? node : undefined
  }

  private openNode(open: (address: string) => NodePool, address: string): Node {
    const node = {
      pool: open(address),
      circuit: new FallbackCircuit({
        count: (outcome) => metrics.nodeCalls.of(outcome),
        now: this.now,
        onChange: (reason) => this.onChange(address, reason)
      })
    }
    this.servers.set(address, node)
    return node
  }
}

const read = ({ circuit, pool }: Node, text: string, values: ReadonlyArray<unknown>) =>
  Effect.async<ReadonlyArray<unknown>, Error>((resume) => {
    pool.query(text, [...values], (error: Error | undefined, result: pg.QueryResult) => {
      if (error) {
        circuit.note(outcomeOf(error), error.message)
        resume(Effect.fail(error))
      } else {
        circuit.note("answered")
        resume(Effect.succeed(result.rows))
      }
    })
  })
