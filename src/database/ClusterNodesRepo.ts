import { SqlClient } from "@effect/sql"
import { Effect, Layer, Schedule } from "effect"
import { isDistributed } from "./Distribution.ts"
import { orDie } from "./SqlErrors.ts"

/** A node of a cluster that holds rows of accounts. */
export interface ClusterNode {
  /** Host and port. */
  readonly address: string
  readonly answers: boolean
  /** The accounts whose rows are on the node. */
  readonly accounts: ReadonlyArray<{ readonly id: string; readonly name: string }>
}

/** The nodes that hold rows, and whether they answer the coordinator. Empty if the tables are not distributed. */
export const readNodes: Effect.Effect<ReadonlyArray<ClusterNode>, never, SqlClient.SqlClient> = Effect.gen(
  function* () {
    if (!(yield* isDistributed)) return []
    const sql = yield* SqlClient.SqlClient
    const nodes = yield* sql<Pick<ClusterNode, "address" | "answers">>`
      SELECT n.nodename || ':' || n.nodeport AS address,
             n.groupid = 0 OR coalesce(citus_check_connection_to_node(n.nodename, n.nodeport), false) AS answers
      FROM pg_dist_node n
      WHERE n.shouldhaveshards AND n.noderole = 'primary'
      ORDER BY n.groupid`
    // The coordinator has a copy of this table, and knows the node of each shard. So this works while a node is down.
    const accounts = yield* sql<ClusterNode["accounts"][number]>`SELECT id, name FROM account ORDER BY name, id`
    const places = yield* sql<{ readonly id: string; readonly address: string }>`
      SELECT k.id, p.nodename || ':' || p.nodeport AS address
      FROM unnest(${accounts.map(({ id }) => id)}::uuid[]) AS k (id)
      JOIN pg_dist_shard_placement p ON p.shardid = get_shard_id_for_distribution_column('account_state', k.id)`
    const addressOf = new Map(places.map(({ address, id }) => [id, address]))
    return nodes.map((node) => ({ ...node, accounts: accounts.filter(({ id }) => addressOf.get(id) === node.address) }))
  }
).pipe(orDie)

/** Maximum number of accounts in one log line. `catalog status` lists all. */
const maxNamed = 20

/** The log line about a node that does not answer, with the accounts that wait for it. */
export const waitingLine = ({ accounts, address }: ClusterNode): string => {
  const named = accounts.slice(0, maxNamed).map(({ id, name }) => `${name} (${id})`)
  const more = accounts.length - named.length
  return (
    `Node ${address} does not answer: ${accounts.length} ${accounts.length === 1 ? "account waits" : "accounts wait"}` +
    `${named.length === 0 ? "" : `: ${named.join(", ")}`}${more > 0 ? ` and ${more} more (catalog status)` : ""}`
  )
}

/** Logs each change: a node that does not answer, with the accounts that wait for it, and a node that answers again. */
export const watchNodes = Effect.gen(function* () {
  if (!(yield* isDistributed)) return
  let down: ReadonlySet<string> = new Set()
  const checkNodes = Effect.gen(function* () {
    const nodes = yield* readNodes
    for (const node of nodes) {
      if (!node.answers && !down.has(node.address)) yield* Effect.logWarning(waitingLine(node))
      if (node.answers && down.has(node.address)) yield* Effect.logInfo(`Node ${node.address} answers again`)
    }
    down = new Set(nodes.filter(({ answers }) => !answers).map(({ address }) => address))
  })
  yield* checkNodes.pipe(
    Effect.catchAllCause((cause) => Effect.logWarning("Cannot check the nodes of the cluster", cause)),
    Effect.repeat(Schedule.spaced("5 seconds"))
  )
})

/** The watch of every server. It ends at once if the tables are not distributed. */
export const layerWatch: Layer.Layer<never, never, SqlClient.SqlClient> = Layer.scopedDiscard(
  Effect.forkScoped(watchNodes)
)
