import { Command } from "@effect/cli"
import { Effect, Option } from "effect"
import { readAppConfig } from "../AppConfig.ts"
import { withDatabase } from "./CommandRuntime.ts"
import { answer, json } from "./Output.ts"

/** Undefined without DATABASE_URL: an embedded database, which need not exist, has no nodes. */
const nodes = Effect.gen(function* () {
  if (Option.isNone((yield* readAppConfig).databaseUrl)) return undefined
  const { readNodesWithin } = yield* Effect.promise(() => import("../database/ClusterNodesRepo.ts"))
  return yield* withDatabase(({ deadlines }) => readNodesWithin(deadlines.node))
})

export const statusCommand = Command.make("status", { json }, ({ json }) =>
  Effect.gen(function* () {
    const found = yield* nodes
    yield* answer(
      json,
      {
        nodes: (found ?? []).map(({ accounts, ...node }) => ({
          ...node,
          accounts: accounts.length,
          waiting: node.answers ? [] : accounts
        }))
      },
      found === undefined
        ? ["The embedded database has no nodes: DATABASE_URL is not set."]
        : found.length === 0
          ? ["The tables are not distributed over a cluster."]
          : found.flatMap(({ accounts, address, answers }) => [
              `Node ${address} ${answers ? "answers" : "does not answer"}: ${accounts.length} ${accounts.length === 1 ? "account" : "accounts"}`,
              ...(answers ? [] : accounts.map(({ id, name }) => `  waits: ${name} (${id})`))
            ])
    )
  })
).pipe(Command.withDescription("Show the nodes of a Citus cluster, and the accounts that wait for one."))
