import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { ClusterNodes, NodeStates } from "../../src/database/ClusterNodes.ts"
import { readNodes } from "../../src/database/ClusterNodesRepo.ts"
import { defaultDeadlines, replicaPauseMillis } from "../../src/database/Deadlines.ts"
import { DirectQuery } from "../../src/database/DirectQuery.ts"
import { NodeReads, urlAt } from "../../src/database/NodeReads.ts"
import { defaultShares } from "../../src/database/RateLimitSemaphores.ts"
import { NoConnectionFree, ServerPools } from "../../src/database/ServerPools.ts"
import { sessionOf } from "../../src/database/Sessions.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, Catalog, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

const [first, second] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"]
const coded = (code: string) => Object.assign(new Error(code), { code })

/** A worker with the first account, and the coordinator with the second one. */
const checked = (answers = true) => [
  { address: "worker:5432", answers, isCoordinator: false, accounts: [{ id: first, name: "First" }] },
  { address: "coordinator:5432", answers: true, isCoordinator: true, accounts: [{ id: second, name: "Second" }] }
]

/** Nodes whose answers are scripted: rows, or an error. */
const scripted = (...answers: ReadonlyArray<string | Error>) => {
  const script = [...answers]
  const asked: Array<string> = []
  const changes: Array<string> = []
  const nodes = new NodeStates()
  nodes.endCheck(checked())
  let now = 0
  const reads = new NodeReads({
    nodes,
    open: (address) => ({
      end: () => Promise.resolve(),
      query: (text: string, ...rest: ReadonlyArray<unknown>) => {
        const [values, done] = rest as [ReadonlyArray<unknown>, (error: Error | undefined, result?: object) => void]
        asked.push(`${address} ${text} ${values}`)
        const answer = script.shift() ?? assert.fail("the node was asked once more")
        if (answer instanceof Error) done(answer)
        else done(undefined, { rows: [answer] })
      }
    }),
    now: () => now,
    onChange: (address, reason) => changes.push(`${address} ${reason}`)
  })
  const direct = reads.over(() => Effect.succeed(["coordinator"]))
  const statement = { compile: () => ["SELECT $1", [7]] } as unknown as Parameters<typeof direct>[0]
  return {
    asked,
    changes,
    nodes,
    left: () => script.length,
    pass: (millis: number) => {
      now += millis
    },
    read: (accountId?: string) => direct(statement, accountId)
  }
}

describe("reads at the node of an account", () => {
  it.effect("are answered by it if it is known, answers, and is not the coordinator", () =>
    Effect.gen(function* () {
      const { asked, nodes, read } = scripted("node", "node")
      assert.deepStrictEqual(yield* read(first), ["node"])
      assert.deepStrictEqual(asked, ["worker:5432 SELECT $1 7"])
      for (const other of [undefined, second, "00000000-0000-4000-8000-000000000003"])
        assert.deepStrictEqual(yield* read(other), ["coordinator"])
      nodes.beginCheck()
      nodes.endCheck(checked(false))
      assert.deepStrictEqual(yield* read(first), ["coordinator"])
      nodes.endCheck(checked())
      assert.deepStrictEqual(yield* read(first), ["node"])
      assert.lengthOf(asked, 2)
    })
  )

  it.effect("go to the coordinator after any failure; a node that does not answer is left alone, then tried once", () =>
    Effect.gen(function* () {
      const failures: ReadonlyArray<readonly [Error, rests: boolean]> = [
        [coded("ECONNREFUSED"), true],
        [coded("ETIMEDOUT"), true],
        [coded("57P01"), true],
        [new Error("the server at worker:5432 is not that node"), true],
        [new NoConnectionFree("busy"), false],
        [coded("42P01"), false]
      ]
      for (const [failure, rests] of failures) {
        const { changes, left, pass, read } = scripted(failure, failure, "node")
        assert.deepStrictEqual(yield* read(first), ["coordinator"], failure.message)
        assert.deepStrictEqual(changes, rests ? [`worker:5432 ${failure.message}`] : [])
        if (rests) {
          pass(replicaPauseMillis - 1)
          assert.deepStrictEqual(yield* read(first), ["coordinator"])
          assert.strictEqual(left(), 2)
          pass(1)
        }
        assert.deepStrictEqual(yield* read(first), ["coordinator"])
        assert.strictEqual(left(), 1)
        pass(replicaPauseMillis)
        assert.deepStrictEqual(yield* read(first), ["node"])
        assert.lengthOf(changes, rests ? 2 : 0)
      }
    })
  )

  it.effect("say that a node answers the coordinator only if the coordinator has asked it", () =>
    Effect.gen(function* () {
      const { nodes, read } = scripted("node", coded("42P01"))
      yield* read(first)
      nodes.beginCheck()
      yield* read(first)
      assert.deepStrictEqual(nodes.endCheck(checked(false)), [], "the coordinator answered meanwhile")
      const direct = scripted("node")
      direct.nodes.beginCheck()
      yield* direct.read(first)
      assert.lengthOf(direct.nodes.endCheck(checked(false)), 1)
    })
  )

  it("use the url of the database with another host and port", () => {
    const at = (url: string) => urlAt(url, "node.example:5433")
    assert.strictEqual(
      at("postgres://catalog:p%40ss@db.example/pim?sslmode=require"),
      "postgres://catalog:p%40ss@node.example:5433/pim?sslmode=require"
    )
    assert.strictEqual(at("postgres:///pim?host=/run/postgresql&port=6432"), "postgres://node.example:5433/pim")
    assert.strictEqual(urlAt("postgres://db/pim", "::1:5433"), "postgres://[::1]:5433/pim")
  })
})

const accounts = 6

/** Planted fault: reads at nodes whose connections are not checked. */
const withoutCheck = (url: Redacted.Redacted, nodes: NodeStates) =>
  Effect.gen(function* () {
    const open = (address: string) =>
      new ServerPools({
        session: sessionOf({ url: Redacted.make(urlAt(Redacted.value(url), address)) }),
        deadlines: defaultDeadlines,
        pooler: "none",
        sizes: 1,
        name: "nodes",
        shares: defaultShares,
        onLost: () => {}
      })
    const reads = yield* Effect.acquireRelease(
      Effect.sync(() => new NodeReads({ nodes, open, now: () => 0, onChange: () => {} })),
      (reads) => Effect.promise(() => reads.end())
    )
    return reads.over(() => Effect.dieMessage("The node did not answer."))
  })

describe.skipIf(!TestDatabase.isClusterThere)("reads at a node on citus", () => {
  const services = Services.pipe(
    Layer.provideMerge(RepositoriesOnDatabase),
    Layer.provideMerge(TestDatabase.layerCluster)
  )
  layer(Layer.orDie(services), { excludeTestServices: true })((it) => {
    it.effect("see every committed write, and never another server", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const direct = yield* DirectQuery
        const made = yield* Effect.forEach(Array.from({ length: accounts }), () => anAccount())
        /** Who sent the statement to the node: this service, or Citus on the coordinator. */
        const senderOf = (accountId: string) =>
          direct(
            sql`SELECT current_setting('application_name') AS sender FROM account_state WHERE account_id = ${accountId}`,
            accountId
          ).pipe(Effect.map((rows) => (rows as ReadonlyArray<{ readonly sender: string }>).map((row) => row.sender)))
        for (const { actor } of made)
          assert.match(String(yield* senderOf(actor.accountId)), /^citus_internal/, "before the nodes are known")
        const url = yield* TestDatabase.TestDatabaseUrl
        const states = yield* ClusterNodes
        const found = yield* readNodes
        states.endCheck(found)
        for (const { actor } of made) assert.deepStrictEqual(yield* senderOf(actor.accountId), ["catalog"])

        for (const { actor } of made)
          yield* Effect.gen(function* () {
            const entityId = yield* anEntity("product", { title: "Boot 0" })
            for (let turn = 1; turn <= 10; turn++) {
              const title = `Boot ${turn}`
              yield* (yield* CatalogChanges).apply([CatalogChange.SetAttributes({ entityId, values: { title } })])
              const { text } = yield* (yield* Catalog).list("product", { limit: 5 })
              assert.include(text, `"title":"${title}"`)
            }
          }).pipe(actingAs(actor))

        // An address that leads to a server which is not the node of that name.
        const elsewhere = found.map((node) => ({ ...node, address: node.address.replace("127.0.0.1", "localhost") }))
        states.endCheck(elsewhere)
        const accountId = made[0]?.actor.accountId ?? ""
        assert.match(String(yield* senderOf(accountId)), /^citus_internal/)
        const sender = sql`SELECT current_setting('application_name') AS sender`
        const planted = yield* Effect.scoped(
          Effect.flatMap(withoutCheck(url, states), (direct) => direct(sender, accountId))
        )
        assert.deepStrictEqual(planted, [{ sender: "catalog" }], "planted fault: without the check that server answers")
      })
    )
  })
})
