import { SqlClient } from "@effect/sql"
import { Array as Arr, Effect, Layer } from "effect"
import { sparingly } from "../runtime/Sparingly.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { type ClusterNode, ClusterNodes } from "./ClusterNodes.ts"
import { isDistributed } from "./Distribution.ts"
import { codeOf, orDie } from "./SqlErrors.ts"

/** The codes of a check that was not answered in time, by the server and by the client. */
const unanswered: ReadonlySet<string | undefined> = new Set(["57014", "ETIMEDOUT"])

/** The longest time limit that Citus accepts. */
const maxNodeMillis = 3_600_000

/** Share of the time in which the accounts are read: with 100,000 of them a read takes 0.4 s, and nodes are checked every 5 s. */
const readingShare = 0.05

/**
 * The accounts on each node. The coordinator has a copy of `account` and knows the node of each shard, so this works while a node is
 * down. MATERIALIZED: the shard of an account is computed once, not for each shard.
 */
const accountsByNode = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<ClusterNode["accounts"][number] & { readonly address: string }>`
    WITH a AS MATERIALIZED (
      SELECT k.id, k.name, get_shard_id_for_distribution_column('account_state', k.id) AS shardid FROM account k
    )
    SELECT a.id, a.name, p.nodename || ':' || p.nodeport AS address
    FROM a JOIN pg_dist_shard_placement p ON p.shardid = a.shardid
    ORDER BY a.name, a.id`
).pipe(Effect.map(Arr.groupBy(({ address }) => address)))

/**
 * Returns an effect that reads the nodes that hold rows, and checks whether each node answers the coordinator within `nodeMillis`. The
 * result is empty if the tables are not distributed. The session must be new: the coordinator has no time limit for a node to which it
 * has an open connection. The accounts of the nodes are cached for 20 times as long as reading them took.
 */
export const readNodesWithin = (
  nodeMillis: number
): Effect.Effect<ReadonlyArray<ClusterNode>, never, SqlClient.SqlClient> => {
  const accountsOf = sparingly(readingShare, accountsByNode)
  return Effect.gen(function* () {
    if (!(yield* isDistributed)) return []
    const sql = yield* SqlClient.SqlClient
    const nodes = yield* sql<{ readonly host: string; readonly port: number; readonly isCoordinator: boolean }>`
      SELECT n.nodename AS host, n.nodeport AS port, n.groupid = 0 AS "isCoordinator" FROM pg_dist_node n
      WHERE n.shouldhaveshards AND n.noderole = 'primary'
      ORDER BY n.groupid`
    const accounts = yield* accountsOf
    const check = (host: string, port: number) =>
      sql<{ readonly answers: boolean | null }>`
        SELECT set_config('citus.node_connection_timeout', ${String(Math.min(nodeMillis, maxNodeMillis))}, true),
               citus_check_connection_to_node(${host}, ${port}::integer) AS answers`.pipe(
        Effect.map(([row]) => row?.answers === true),
        Effect.catchIf(
          (error) => unanswered.has(codeOf(error)),
          () => Effect.succeed(false)
        )
      )
    return yield* Effect.forEach(nodes, ({ host, isCoordinator, port }) => {
      const address = `${host}:${port}`
      return Effect.map(isCoordinator ? Effect.succeed(true) : check(host, port), (answers) => ({
        address,
        answers,
        isCoordinator,
        accounts: accounts[address] ?? []
      }))
    })
  }).pipe(orDie)
}

/** Maximum number of accounts in one log line. `catalog status` lists all. */
const maxNamed = 20

/** The log line about a node that does not answer, with the accounts that wait for it. */
const waitingLine = ({ accounts, address }: ClusterNode): string => {
  const names = accounts.slice(0, maxNamed).map(({ id, name }) => `${name} (${id})`)
  const more = accounts.length - names.length
  return (
    `Node ${address} does not answer: ${accounts.length} ${accounts.length === 1 ? "account waits" : "accounts wait"}` +
    `${names.length === 0 ? "" : `: ${names.join(", ")}`}${more > 0 ? ` and ${more} more (catalog status)` : ""}`
  )
}

/** Pause between checks of the nodes: usually, and while one does not answer. */
const pause = "5 seconds"
const pauseWhileDown = "1 second"

/**
 * Checks the nodes for the pools of this process, and sets the gauges of nodes. Logs each change: a node that does not answer, with the
 * accounts that wait for it, and a node that answers again. `readFresh` reads the nodes by a new connection, which no waiting statement can occupy.
 */
const watchNodes = <E>(readFresh: Effect.Effect<ReadonlyArray<ClusterNode>, E>) =>
  Effect.gen(function* () {
    if (!(yield* isDistributed)) return
    const states = yield* ClusterNodes
    const checkNodes = Effect.gen(function* () {
      states.beginCheck()
      const nodes = yield* readFresh
      for (const node of states.endCheck(nodes))
        yield* node.answers
          ? Effect.logInfo(`Node ${node.address} answers again`)
          : Effect.logWarning(waitingLine(node))
      const [answering, down] = Arr.partition(nodes, ({ address }) => states.isDown(address))
      metrics.nodes.of("answering").add(answering.length)
      metrics.nodes.of("down").add(down.length)
      metrics.nodeAccounts.of().add(down.reduce((sum, { accounts }) => sum + accounts.length, 0))
      return nodes.every(({ answers }) => answers)
    })
    return yield* checkNodes.pipe(
      Effect.catchAllCause((cause) =>
        Effect.as(Effect.logWarning("Cannot check the nodes of the cluster", cause), false)
      ),
      Effect.flatMap((allAnswer) => Effect.sleep(allAnswer ? pause : pauseWhileDown)),
      Effect.forever
    )
  })

/** The watch of every server. It ends at once if the tables are not distributed. */
export const layerWatch = <E>(
  readFresh: Effect.Effect<ReadonlyArray<ClusterNode>, E>
): Layer.Layer<never, never, SqlClient.SqlClient> => Layer.scopedDiscard(Effect.forkScoped(watchNodes(readFresh)))
