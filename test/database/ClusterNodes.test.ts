import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Schedule } from "effect"
import { ClusterNodes, ofAccount } from "../../src/database/ClusterNodes.ts"
import { allAccounts } from "../../src/database/PlannerHints.ts"
import { describe as describeError } from "../../src/database/SqlErrors.ts"
import { layerServer, serverAnswers } from "../support/TestDatabase.ts"

const [hanging, other] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"]

/** The result of a check of two nodes. The second one answers. */
const checked = (answers: boolean) => [
  { address: "one:5432", answers, isCoordinator: false, accounts: [{ id: hanging, name: "One" }] },
  { address: "two:5432", answers: true, isCoordinator: false, accounts: [{ id: other, name: "Two" }] }
]

describe.skipIf(!serverAnswers)("the statements of a node of a cluster", () => {
  layer(layerServer, { excludeTestServices: true })((it) => {
    it.effect("hold a share of the connections, and are ended and refused while the node does not answer", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const nodes = yield* ClusterNodes
        assert.deepStrictEqual(nodes.endCheck(checked(true)), [])
        const waits = yield* Effect.forEach([1, 2, 3, 4], () =>
          Effect.fork(Effect.either(ofAccount(hanging)(sql`SELECT pg_sleep(600)`)))
        )
        const running = sql<{ readonly count: number }>`
          SELECT count(*)::integer AS count FROM pg_stat_activity
          WHERE datname = current_database() AND state = 'active' AND query LIKE 'SELECT pg_sleep%'`.pipe(
          ofAccount(other),
          Effect.map(([row]) => row?.count)
        )
        // The pool of background work has four connections. A node gets 65 % of them, which is rounded to three.
        yield* Effect.repeat(running, { until: (count) => count === 3, schedule: Schedule.spaced("20 millis") })

        nodes.beginCheck()
        nodes.noteAnswer("one:5432")
        assert.deepStrictEqual(nodes.endCheck(checked(false)), [], "a node that answered meanwhile")
        nodes.beginCheck()
        assert.deepStrictEqual(
          nodes.endCheck(checked(false)).map(({ address }) => address),
          ["one:5432"]
        )
        const refused = "node one:5432 does not answer (ETIMEDOUT)"
        for (const wait of waits) {
          const ended = yield* Fiber.join(wait)
          assert(ended._tag === "Left")
          assert.strictEqual(describeError(ended.left), refused)
        }
        const ofHanging = ofAccount(hanging)(sql`SELECT 1 AS one`)
        assert.strictEqual(describeError(yield* Effect.flip(ofHanging)), refused)
        assert.strictEqual(
          describeError(yield* Effect.flip(sql`SELECT 1 AS one ${sql.literal(allAccounts)}`)),
          "a node of the cluster does not answer (ETIMEDOUT)"
        )
        assert.isTrue(Exit.isSuccess(yield* Effect.exit(running)))
        assert.deepStrictEqual(nodes.accountsThatAnswer(), [other])

        assert.deepStrictEqual(
          nodes.endCheck(checked(true)).map(({ address }) => address),
          ["one:5432"]
        )
        assert.deepStrictEqual(yield* ofHanging, [{ one: 1 }])
      })
    )
  })
})
