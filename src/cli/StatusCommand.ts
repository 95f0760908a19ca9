import { Command } from "@effect/cli"
import { Effect } from "effect"
import { withDatabase } from "./CommandRuntime.ts"
import { answer, json } from "./Output.ts"

/** If another process holds the database, it is the embedded one, which has no nodes. */
const nodes = Effect.flatMap(
  Effect.promise(() => import("../database/ClusterNodesRepo.ts")),
  ({ readNodes }) => withDatabase(() => readNodes)
).pipe(Effect.catchTag("DatabaseInUse", () => Effect.succeed([])))

export const statusCommand = Command.make("status", { json }, ({ json }) =>
  Effect.gen(function* () {
    const found = yield* nodes
    yield* answer(
      json,
      {
        nodes: found.map(({ accounts, ...node }) => ({
          ...node,
          accounts: accounts.length,
          waiting: node.answers ? [] : accounts
        }))
      },
      found.length === 0
        ? ["The tables are not distributed over a cluster."]
        : found.flatMap(({ accounts, address, answers }) => [
            `Node ${address} ${answers ? "answers" : "does not answer"}: ${accounts.length} ${accounts.length === 1 ? "account" : "accounts"}`,
            ...(answers ? [] : accounts.map(({ id, name }) => `  waits: ${name} (${id})`))
          ])
    )
  })
).pipe(Command.withDescription("Show the nodes of a Citus cluster, and the accounts that wait for one."))
