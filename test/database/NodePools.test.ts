import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { atNode, ClusterNodes, NodeStates } from "../../src/database/ClusterNodes.ts"
import * as Database from "../../src/database/Database.ts"
import { defaultDeadlines, replicaPauseMillis, Workload } from "../../src/database/Deadlines.ts"
import { DirectQuery } from "../../src/database/DirectQuery.ts"
import { NodePools, urlAt } from "../../src/database/NodePools.ts"
import { defaultShares } from "../../src/database/RateLimitSemaphores.ts"
import { NoConnectionFree, ServerPools } from "../../src/database/ServerPools.ts"
import { sessionOf } from "../../src/database/Sessions.ts"
import { AccountId } from "../../src/model/Ids.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, Catalog, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { readNodes } from "../support/ReadNodes.ts"
import * as TestDatabase from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"

const [first, second] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"]
const coded = (code: string) => Object.assign(new Error(code), { code })

/** A worker with the first account, and the coordinator with the second one. */
const checked = (answers = true) => [
  { address: "worker:5432", answers, isCoordinator: false, accounts: [{ id: first, name: "First" }] },
  { address: "coordinator:5432", answers: true, isCoordinator: true, accounts: [{ id: second, name: "Second" }] }
]

type Answer = (error: Error | undefined, result?: object) => void

/** A coordinator that answers everything, and a worker whose answers are scripted: rows, or an error. */
const scripted = (...answers: ReadonlyArray<string | Error>) => {
  const script = [...answers]
  const asked: Array<string> = []
  const changes: Array<string> = []
  const nodes = new NodeStates()
  nodes.endCheck(checked())
  let now = 0
  /** Statements and connections of a server, whose next answer is `next()`. */
  const serverOf = (address: string, next: () => string | Error) => {
    const answerTo = (what: string, give: (error: Error | undefined, answer: string) => void) => {
      asked.push(`${address} ${what}`)
      const answer = next()
      if (answer instanceof Error) give(answer, "")
      else give(undefined, answer)
    }
    return {
      connect: (done: (error: Error | undefined, client?: never) => void) =>
        answerTo("connect", (error, answer) => (error ? done(error) : done(undefined, answer as never))),
      query: (text: string, ...rest: ReadonlyArray<unknown>) =>
        answerTo(`${text} ${rest[0]}`, (error, answer) =>
          (rest.at(-1) as Answer)(error, error === undefined ? { rows: [answer] } : undefined)
        ),
      end: () => Promise.resolve()
    }
  }
  const pools = new NodePools({
    coordinator: {
      ...serverOf("coordinator:5432", () => "coordinator"),
      nodes,
      options: {},
      ending: false,
      demand: () => ({ workload: "write", holder: undefined, node: undefined })
    },
    open: (address) => serverOf(address, () => script.shift() ?? assert.fail("the node was asked once more")),
    now: () => now,
    onChange: (address, reason) => changes.push(`${address} ${reason}`)
  })
  const direct = pools.direct()
  const statement = { compile: () => ["SELECT $1", [7]] } as unknown as Parameters<typeof direct>[0]
  return {
    asked,
    changes,
    nodes,
    left: () => script.length,
    pass: (millis: number) => {
      now += millis
    },
    read: (accountId?: string) => direct(statement, accountId),
    /** The server that gets a transaction of this account. */
    begin: (accountId: string) =>
      Effect.async<unknown>((resume) => {
        pools.connect((_, client) => resume(Effect.succeed(client)))
      }).pipe(actingAs({ _tag: "Cli", accountId: AccountId.make(accountId) }))
  }
}

describe("reads at the node of an account", () => {
  it.effect("are answered by it if it is known, answers, and is not the coordinator", () =>
    Effect.gen(function* () {
      const { asked, nodes, read } = scripted("node", "node")
      assert.deepStrictEqual(yield* read(first), ["node"])
      for (const other of [undefined, second, "00000000-0000-4000-8000-000000000003"])
        assert.deepStrictEqual(yield* read(other), ["coordinator"])
      nodes.beginCheck()
      nodes.endCheck(checked(false))
      assert.deepStrictEqual(yield* read(first), ["coordinator"])
      nodes.endCheck(checked())
      assert.deepStrictEqual(yield* read(first), ["node"])
      const nodeOnly = asked.filter((what) => what.startsWith("worker"))
      assert.deepStrictEqual(nodeOnly, ["worker:5432 SELECT $1 7", "worker:5432 SELECT $1 7"])
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

  it.effect("include transactions of `atNode`; one that cannot begin at the node begins at the coordinator", () =>
    Effect.gen(function* () {
      const { asked, begin, changes, nodes, pass } = scripted("node", coded("ECONNREFUSED"), "node")
      assert.strictEqual(yield* begin(first), "coordinator", "not marked")
      assert.strictEqual(yield* atNode(begin(second)), "coordinator")
      assert.strictEqual(yield* atNode(begin(first)), "node")
      assert.strictEqual(yield* atNode(begin(first)), "coordinator", "refused")
      assert.strictEqual(yield* atNode(begin(first)), "coordinator", "left alone")
      pass(replicaPauseMillis)
      assert.strictEqual(yield* atNode(begin(first)), "node")
      assert.deepStrictEqual(changes, ["worker:5432 ECONNREFUSED", "worker:5432 undefined"])
      nodes.endCheck(checked(false))
      assert.strictEqual(yield* atNode(begin(first)), "coordinator")
      assert.lengthOf(
        asked.filter((what) => what === "worker:5432 connect"),
        3
      )
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
const writesBesides = amount(80, 800)

/** Planted fault: reads at nodes whose connections are not checked. */
const withoutCheck = (url: Redacted.Redacted, nodes: NodeStates) =>
  Effect.gen(function* () {
    const poolsAt = (url: string) =>
      new ServerPools({
        session: sessionOf({ url: Redacted.make(url) }),
        deadlines: defaultDeadlines,
        pooler: "none",
        sizes: 1,
        shares: defaultShares,
        nodes,
        warn: () => {}
      })
    const coordinator = poolsAt(Redacted.value(url))
    const pools = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new NodePools({
            coordinator,
            open: (address) => poolsAt(urlAt(Redacted.value(url), address)),
            now: () => 0,
            onChange: () => {}
          })
      ),
      (pools) => Effect.promise(() => Promise.all([pools.end(), coordinator.end()]))
    )
    return pools.direct()
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
          }).pipe(Effect.provideService(Workload, "request"), actingAs(actor))

        // Draft writes run there too.
        const committed = yield* sql`
          SELECT run_command_on_workers($$
            SELECT count(*) FROM pg_stat_activity
            WHERE application_name = 'catalog' AND datname = current_database() AND query = 'COMMIT'$$)::text AS result`
        assert.lengthOf(committed, 2)
        assert.isTrue(
          committed.some(({ result }) => /,t,[1-9]/.test(String(result))),
          JSON.stringify(committed)
        )

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

    it.effect("and writes at the coordinator beside them lose nothing", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const url = yield* TestDatabase.TestDatabaseUrl
        const { actor } = yield* anAccount()
        const entityIds = yield* Effect.forEach([1, 2], (place) =>
          anEntity("product", { title: `Boot ${place}` })
        ).pipe(actingAs(actor))
        const states = yield* ClusterNodes
        states.endCheck(yield* readNodes)
        const atCoordinator = yield* Layer.build(
          Services.pipe(
            Layer.provideMerge(RepositoriesOnDatabase),
            Layer.provideMerge(Database.layerServer({ url, nodeAccess: "coordinator" }))
          )
        )
        const countersOf = sql<{ readonly version: number; readonly changes: number; readonly entries: number }>`
          SELECT a.version, a.feed_seq AS changes,
                 (SELECT count(*) FROM entity_history h WHERE h.account_id = ${actor.accountId}) AS entries
          FROM account_state a WHERE a.account_id = ${actor.accountId}`
        const [before] = yield* countersOf
        const writes = Array.from({ length: writesBesides }, (_, place) =>
          Effect.flatMap(CatalogChanges, ({ apply }) =>
            apply(
              // Both products, in both orders.
              (place % 4 < 2 ? entityIds : entityIds.toReversed()).map((entityId) =>
                CatalogChange.SetAttributes({ entityId, values: { title: `Boot, write ${place}` } })
              )
            )
          ).pipe(actingAs(actor), (write) => (place % 2 === 0 ? write : Effect.provide(write, atCoordinator)))
        )
        yield* Effect.all(writes, { concurrency: 8, discard: true })
        const [after] = yield* countersOf
        assert.deepStrictEqual(after, {
          version: (before?.version ?? 0) + writesBesides,
          changes: (before?.changes ?? 0) + 2 * writesBesides,
          entries: (before?.entries ?? 0) + 2 * writesBesides
        })
        const rows = yield* sql<{ readonly sequence: number }>`
          SELECT sequence FROM entity_history WHERE account_id = ${actor.accountId} AND entity_id = ${entityIds[0]} ORDER BY sequence`
        assert.strictEqual(new Set(rows.map(({ sequence }) => sequence)).size, rows.length)
        assert.isAtLeast(rows.length, writesBesides)
      }).pipe(Effect.scoped, Effect.orDie)
    )
  })
})
