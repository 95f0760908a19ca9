import { type Context, Effect } from "effect"
import type pg from "pg"
import { metrics } from "../telemetry/Metrics.ts"
import type { NodeStates } from "./ClusterNodes.ts"
import { replicaConnectionMillis } from "./Deadlines.ts"
import type { DirectQuery } from "./DirectQuery.ts"
import { FallbackCircuit, outcomeOf } from "./FallbackCircuit.ts"
import type { ServerPools } from "./ServerPools.ts"
import { watchedOf } from "./WatchedClient.ts"

/** The part of a pool that reads need. */
export type NodePool = Pick<ServerPools, "end" | "query">

interface Server {
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
  (given, done) => {
    const client = watchedOf(given)
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
 * Reads an account's rows at the node that has them, if it is known and answers. The coordinator plans each statement again and sends
 * it on, which costs more than the read itself (docs/benchmarks.md). Any failure makes the coordinator answer.
 */
export class NodeReads {
  private readonly servers = new Map<string, Server>()
  private readonly nodes: NodeStates
  private readonly open: ((address: string) => NodePool) | undefined
  private readonly now: () => number
  private readonly onChange: (address: string, reason: string | undefined) => void

  constructor(options: {
    readonly nodes: NodeStates
    /** Opens a pool of connections to a node. Undefined: the coordinator answers all reads. */
    readonly open: ((address: string) => NodePool) | undefined
    readonly now: () => number
    /** Called when a node ceases to answer such reads, with the reason, and when it answers again (undefined). */
    readonly onChange: (address: string, reason: string | undefined) => void
  }) {
    this.nodes = options.nodes
    this.open = options.open
    this.now = options.now
    this.onChange = options.onChange
  }

  /** The same statements, answered by the node of their account where possible. */
  over(coordinator: Context.Tag.Service<DirectQuery>): Context.Tag.Service<DirectQuery> {
    return (statement, accountId) => {
      if (accountId === undefined || this.nodes.isEmpty) return coordinator(statement)
      const atCoordinator = Effect.tap(coordinator(statement), () =>
        Effect.sync(() => this.nodes.noteAnswer(this.nodes.nodeOf(accountId)))
      )
      return Effect.suspend(() => {
        const server = this.serverOf(accountId)
        if (server === undefined || !server.circuit.admits()) return atCoordinator
        const [text, values] = statement.compile()
        return Effect.orElse(read(server, text, values), () => atCoordinator)
      })
    }
  }

  async end(): Promise<void> {
    await Promise.all([...this.servers.values()].map(({ pool }) => pool.end()))
  }

  private serverOf(accountId: string): Server | undefined {
    const address = this.nodes.workerOf(accountId)
    if (this.open === undefined || address === undefined) return undefined
    const known = this.servers.get(address)
    if (known !== undefined) return known
    const server = {
      pool: this.open(address),
      circuit: new FallbackCircuit({
        count: (outcome) => metrics.nodeReads.of(outcome),
        now: this.now,
        onChange: (reason) => this.onChange(address, reason)
      })
    }
    this.servers.set(address, server)
    return server
  }
}

const read = ({ circuit, pool }: Server, text: string, values: ReadonlyArray<unknown>) =>
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
