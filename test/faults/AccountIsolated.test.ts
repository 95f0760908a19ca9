import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as Database from "../../src/database/Database.ts"
import { insertAll, insertRows } from "../../src/database/Inserts.ts"
import { orDie } from "../../src/database/SqlErrors.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { serveCatalog } from "../support/CommandLine.ts"
import { readNodes } from "../support/ReadNodes.ts"
import { query } from "../support/RunDatabases.ts"
import { amount } from "../support/Volume.ts"
import {
  aLoadedAccount,
  anotherProductOf,
  lostWrites,
  pause,
  productTitles,
  reading,
  refusals,
  repeating,
  type Tally,
  untilMore,
  writing
} from "./AccountLoad.ts"
import { report } from "./Dice.ts"
import { canStart, commandOfPage, type OwnCluster, ownCluster, servicesOn, settingsOf } from "./OwnCluster.ts"

const accounts = 5
const isolated = amount(4, 5)
const inserters = 4
const enough = amount(20, 100)

/**
 * Inserts two rows in each transaction. Its first statement is an INSERT … SELECT, which Citus does not plan again when it has
 * waited for a shard that is gone ("could not find valid entry for shard").
 */
const inserting = (tally: Tally) =>
  repeating(tally, (number) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const section = `${tally.entityId} ${number}`
      const statement = insertRows(sql, tally.accountId, {
        table: "demo_shop_section",
        columns: { section: "text", ordinal: "integer", content: "jsonb" },
        rows: [0, 1].map((ordinal) => ({ section, ordinal, content: {} })),
        shared: { store_id: sql`${tally.storeId}::uuid` }
      })
      yield* (yield* Transaction).run(orDie(insertAll(statement as never, 2)))
    })
  )

/** Inserters whose sections are not those that were acknowledged, or do not have two rows each. */
const lostInserts = (tallies: ReadonlyArray<Tally>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(tallies, ({ accountId, begun, entityId, writes }) =>
      Effect.map(
        sql<{ readonly section: string; readonly rows: number }>`
          SELECT section, count(*)::int AS rows FROM demo_shop_section
          WHERE account_id = ${accountId} AND starts_with(section, ${entityId}) GROUP BY section`,
        (sections) =>
          sections.length >= writes && sections.length <= begun && sections.every(({ rows }) => rows === 2)
            ? []
            : [{ accountId, begun, writes, found: sections.length }]
      )
    )
  ).pipe(Effect.map((found) => found.flat()))

/** The number of accounts that have the account's shard: 1 if it is isolated. */
const accountsBeside = (accountId: string) =>
  Effect.map(
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql<{ readonly count: number }>`
        SELECT count(*)::int AS count FROM account a
        WHERE get_shard_id_for_distribution_column('account_state', a.id)
          = get_shard_id_for_distribution_column('account_state', ${accountId}::uuid)`
    ),
    ([row]) => row?.count
  )

const isolate = ({ url }: OwnCluster, accountId: string) =>
  Effect.promise(() => query(url, commandOfPage("SELECT isolate_tenant_to_new_shard").replace("ACCOUNT-ID", accountId)))

describe.skipIf(!canStart)("an account that gets a shard of its own under load", () => {
  it.live("delays writes of its shard, and no request gets 500 or is lost", () =>
    Effect.gen(function* () {
      const cluster = yield* ownCluster()
      yield* Effect.gen(function* () {
        const atNode = yield* Effect.forEach(Array.from({ length: accounts }), (_, place) =>
          aLoadedAccount(`Merchant ${place}`)
        )
        // By chance, all of them may be on one node.
        const nodesInUse = Effect.map(readNodes, (nodes) => nodes.filter(({ accounts: on }) => on.length > 0).length)
        while ((yield* nodesInUse) < 2) atNode.push(yield* aLoadedAccount(`Merchant ${atNode.length}`))
        const atCoordinator = yield* Effect.forEach(atNode, anotherProductOf)
        const inserts = yield* Effect.forEach(
          atNode.flatMap((tally) => Array.from({ length: inserters }, () => tally)),
          anotherProductOf
        )
        const coordinator = yield* Layer.build(
          Services.pipe(
            Layer.provideMerge(RepositoriesOnDatabase),
            Layer.provideMerge(Database.layerServer({ url: Redacted.make(cluster.url), nodeAccess: "coordinator" }))
          )
        )
        const server = yield* Effect.acquireRelease(
          Effect.promise(() => serveCatalog(settingsOf(cluster))),
          ({ stop }) => Effect.promise(() => stop("SIGKILL"))
        )
        for (const tally of atNode) {
          yield* Effect.forkScoped(writing(tally))
          yield* Effect.forkScoped(reading(server.baseUrl, tally))
        }
        for (const tally of atCoordinator) yield* Effect.forkScoped(Effect.provide(writing(tally), coordinator))
        for (const [place, tally] of inserts.entries())
          yield* Effect.forkScoped(place % 2 === 0 ? inserting(tally) : Effect.provide(inserting(tally), coordinator))
        const tallies = [...atNode, ...atCoordinator, ...inserts]
        yield* untilMore(tallies, enough)
        for (const { accountId } of atNode.slice(0, isolated)) {
          yield* isolate(cluster, accountId)
          yield* untilMore(tallies, enough / 4)
        }
        yield* untilMore(tallies, enough)
        yield* pause(tallies)

        const sum = (count: (tally: Tally) => number) => tallies.map(count).reduce((a, b) => a + b)
        report("Accounts isolated", {
          isolated,
          writes: sum(({ writes }) => writes),
          reads: sum(({ reads }) => reads),
          refusedWrites: sum(({ refusedWrites }) => refusedWrites),
          refusedReads: sum(({ refusedReads }) => refusedReads)
        })
        assert.deepStrictEqual(refusals(tallies).wrong, [])
        // Reads do not wait for an isolation.
        assert.strictEqual(
          sum(({ refusedReads }) => refusedReads),
          0
        )
        assert.deepStrictEqual(lostWrites([...atNode, ...atCoordinator], yield* productTitles), [])
        assert.deepStrictEqual(yield* lostInserts(inserts), [])
        for (const { accountId } of atNode.slice(0, isolated)) assert.strictEqual(yield* accountsBeside(accountId), 1)
        assert.isTrue(tallies.every(({ writes }) => writes >= 2 * enough))
        assert.isTrue(atNode.every(({ reads }) => reads >= 2 * enough))
      }).pipe(Effect.provide(servicesOn(cluster)))
    }).pipe(Effect.scoped)
  )
})
