import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { serveCatalog } from "../support/CommandLine.ts"
import { readNodes } from "../support/ReadNodes.ts"
import { amount } from "../support/Volume.ts"
import {
  aLoadedAccount,
  lostWrites,
  pause,
  productTitles,
  reading,
  refusals,
  untilMore,
  writing
} from "./AccountLoad.ts"
import { report } from "./Dice.ts"
import { canStart, commandOfPage, ownCluster, servicesOn, settingsOf } from "./OwnCluster.ts"

const accounts = 12
const enough = amount(20, 200)

/** Adds a node and moves shards to it while the service writes, by the commands of docs/scale.md. */
const growTo = (address: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [host = "", port = ""] = address.split(":")
    yield* sql.unsafe(commandOfPage("SELECT citus_add_node").replace("HOST", host).replace("5432", port))
    yield* sql.unsafe(commandOfPage("SELECT citus_rebalance_start"))
    const status = sql.unsafe<{ readonly state: string }>(commandOfPage("SELECT * FROM citus_rebalance_status"))
    yield* Effect.repeat(status, {
      until: ([row]) => row === undefined || row.state === "finished",
      schedule: Schedule.spaced("500 millis")
    })
  })

/** Number of accounts on each node. */
const accountsByNode = Effect.map(readNodes, (nodes) =>
  Object.fromEntries(nodes.map(({ accounts: on, address }) => [address, on.length]))
)

describe.skipIf(!canStart)("a cluster that grows under load", () => {
  it.live("gets a third worker, and refuses no write or read while shards move to it", () =>
    Effect.gen(function* () {
      const cluster = yield* ownCluster()
      yield* Effect.gen(function* () {
        const tallies = yield* Effect.forEach(Array.from({ length: accounts }), (_, place) =>
          aLoadedAccount(`Merchant ${place}`)
        )
        // A process of its own, so that the pages are read at the nodes by another process than the one that writes.
        const server = yield* Effect.acquireRelease(
          Effect.promise(() => serveCatalog(settingsOf(cluster))),
          ({ stop }) => Effect.promise(() => stop("SIGKILL"))
        )
        for (const tally of tallies) {
          yield* Effect.forkScoped(writing(tally))
          yield* Effect.forkScoped(reading(server.baseUrl, tally))
        }
        yield* untilMore(tallies, enough)

        yield* cluster.addServer(3)
        yield* growTo(cluster.addressOf(3))
        const moved = yield* accountsByNode
        yield* untilMore(tallies, enough)

        yield* pause(tallies)
        report("A cluster that grew", {
          moved,
          writes: tallies.reduce((sum, { writes }) => sum + writes, 0),
          reads: tallies.reduce((sum, { reads }) => sum + reads, 0)
        })
        assert.isAtLeast(moved[cluster.addressOf(3)] ?? 0, 1)
        assert.deepStrictEqual(refusals(tallies), { wrong: [], refusedWrites: 0, refusedReads: 0 })
        assert.deepStrictEqual(lostWrites(tallies, yield* productTitles), [])
        assert.isTrue(tallies.every(({ reads, writes }) => writes >= 2 * enough && reads >= 2 * enough))
      }).pipe(Effect.provide(servicesOn(cluster)))
    }).pipe(Effect.scoped)
  )
})
