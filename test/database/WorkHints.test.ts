import { randomUUID } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { LeasesRepo } from "../../src/database/LeasesRepo.ts"
import { makeWorkHints } from "../../src/database/WorkHintsRepo.ts"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import { AccountId, DropId, WebhookId } from "../../src/model/Ids.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { Stores } from "../../src/stores/Stores.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { WebhooksRepo } from "../../src/webhooks/WebhooksRepo.ts"
import * as TestDatabase from "../support/TestDatabase.ts"
import { engines } from "../support/TestDatabase.ts"

const services = Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.orDie)

/** An account with a publication that waits. */
const waiting = Effect.gen(function* () {
  const { actor } = yield* anAccount({ domains: [] })
  yield* Effect.gen(function* () {
    const { store } = yield* (yield* Stores).link({ domain: `${randomUUID()}.demo.example`, platform: "demo" })
    const entityId = yield* anEntity("product", { title: "Boots" }, { on: [store] })
    yield* (yield* Publishing).request(entityId, store.id)
  }).pipe(actingAs(actor))
  return actor.accountId
})

/** An account with a due drop, and a webhook with a change to deliver. */
const anAccountWithWork = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: [`${randomUUID()}.example`] })
  const entityId = yield* anEntity("product", { title: "Boots" }, { on: stores }).pipe(actingAs(actor))
  const drops = yield* DropsRepo
  yield* (yield* WebhooksRepo).insert(
    accountId,
    {
      id: yield* mintId(WebhookId),
      url: "https://hooks.example/",
      topics: ["entity.updated"],
      secret: new Uint8Array(1)
    },
    1
  )
  yield* anEntity("product", { title: "Hat" }, { on: stores }).pipe(actingAs(actor))
  yield* drops.insert(
    accountId,
    yield* mintId(DropId),
    {
      name: "Sale",
      starts_at: yield* drops.now,
      ends_at: null,
      timezone: "UTC",
      changes: [{ entity_id: entityId, entity_type: "product", store_id: null, field: "title", value: "Sale" }]
    },
    actor
  )
  return accountId
})

const claimed = Effect.flatMap(PublicationsRepo, (repo) =>
  repo.claim({ limit: 100, maxPerStore: 4, leaseSeconds: 60, only: null })
).pipe(Effect.map((all) => all.map(({ accountId }) => accountId)))

const hints = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ id: string; kind: string }>`SELECT account_id AS id, kind FROM work_hint ORDER BY account_id, kind`
)

for (const { absent, layer: database, name } of engines)
  describe.skipIf(absent || name === "citus")(`hints of work on ${name}`, () => {
    layer(Layer.provideMerge(services, database), { excludeTestServices: true })((it) => {
      it.effect("are not written, and work is found without them", () =>
        Effect.gen(function* () {
          const accountId = yield* waiting
          assert.isUndefined(yield* makeWorkHints("publication"))
          yield* (yield* LeasesRepo).repairHints
          assert.deepStrictEqual(yield* hints, [])
          assert.deepStrictEqual(yield* claimed, [accountId])
        })
      )
    })
  })

describe.skipIf(!TestDatabase.isClusterThere)("hints of work on a cluster", () => {
  const cluster = engines.find(({ name }) => name === "citus")?.layer ?? TestDatabase.layerEmbedded
  layer(Layer.provideMerge(services, cluster), { excludeTestServices: true })((it) => {
    it.effect("list the accounts with work, and only these are queried", () =>
      Effect.gen(function* () {
        const accounts = yield* Effect.replicateEffect(waiting, 6)
        assert.sameDeepMembers(
          [...(yield* hints)],
          accounts.map((id) => ({ id, kind: "publication" }))
        )
        assert.sameMembers([...(yield* claimed)], accounts)
        assert.deepStrictEqual(yield* claimed, [])
      })
    )

    it.effect(
      "begin the publishes of an account before all accounts were asked, because a node may answer slowly",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const accounts = yield* Effect.replicateEffect(waiting, 6)
          const claimedBy = Effect.map(
            sql`SELECT FROM publication WHERE account_id = ANY(${accounts}::uuid[]) AND claim IS NOT NULL`,
            (rows) => rows.length
          )
          const begun: Array<readonly [AccountId | undefined, number]> = []
          yield* (yield* PublicationsRepo).claim(
            { limit: 100, maxPerStore: 4, leaseSeconds: 60, only: null },
            (publications) =>
              Effect.map(Effect.orDie(claimedBy), (count) => void begun.push([publications[0]?.accountId, count]))
          )
          assert.sameMembers(
            begun.map(([accountId]) => accountId),
            accounts
          )
          // Four accounts are asked at a time.
          assert.isAtMost(begun[0]?.[1] ?? 6, 4)
        })
    )

    it.effect("begin the drops and the webhooks of an account before all accounts were asked", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const accounts = yield* Effect.replicateEffect(anAccountWithWork, 6)
        const [drops, webhooks] = [yield* DropsRepo, yield* WebhooksRepo]
        const begun: Array<{ readonly accountId: AccountId; readonly claimed: number }> = []
        const countClaimed = sql<{ count: number }>`
          SELECT count(*)::integer AS count FROM webhook WHERE account_id = ANY(${accounts}::uuid[]) AND claim IS NOT NULL`
        yield* webhooks.claim(100, 60, ({ accountId }) =>
          Effect.map(Effect.orDie(countClaimed), ([row]) => void begun.push({ accountId, claimed: row?.count ?? 0 }))
        )
        assert.sameMembers(
          begun.map(({ accountId }) => accountId),
          accounts
        )
        // Four accounts are asked at a time.
        assert.isAtMost(begun[0]?.claimed ?? 6, 4)
        const steps: Array<AccountId> = []
        const [busy, ...others] = accounts
        assert(busy !== undefined)
        const left = yield* drops.due(10, [], [busy], (due) =>
          Effect.sync(() => steps.push(...due.map(({ accountId }) => accountId)))
        )
        assert.sameMembers(steps, others)
        assert.sameMembers(
          left.map(({ accountId }) => accountId),
          others
        )
        // The hint of an account that was left out is still there.
        assert.deepInclude([...(yield* hints)], { id: busy, kind: "drop" })
        yield* sql`UPDATE drop SET next_step = NULL WHERE account_id = ANY(${accounts}::uuid[])`
      })
    )

    it.effect("if lost, are added by the scan; without the scan the work is not found", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* claimed
        const accountId = yield* waiting
        yield* sql`DELETE FROM work_hint WHERE account_id = ${accountId}`
        assert.deepStrictEqual(yield* claimed, [])
        yield* (yield* LeasesRepo).repairHints
        assert.deepStrictEqual(yield* claimed, [accountId])
      })
    )

    it.effect("without work are deleted, also those of accounts that do not exist", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { actor } = yield* anAccount({ domains: [] })
        const stale = [actor.accountId, AccountId.make(randomUUID())]
        for (const id of stale)
          for (const kind of ["publication", "drop", "job", "import"])
            yield* sql`INSERT INTO work_hint VALUES (${id}, ${kind}, app_now())`
        assert.deepStrictEqual(yield* claimed, [])
        assert.deepStrictEqual(yield* (yield* DropsRepo).due(10, []), [])
        assert.isTrue((yield* (yield* JobsRepo).claim(null, 30))._tag === "None")
        const left = (yield* hints).filter(({ id }) => stale.some((each) => each === id))
        assert.sameDeepMembers(
          left,
          stale.map((id) => ({ id, kind: "import" }))
        )
      })
    )

    it.effect("of work that was committed while a worker searched are kept", () =>
      Effect.gen(function* () {
        const accountId = AccountId.make(randomUUID())
        const jobs = yield* makeWorkHints("job")
        if (jobs === undefined) return assert.fail("the tables are not distributed")
        yield* jobs.add(accountId)
        // The worker finds no work; new work is committed before the worker deletes the hint.
        yield* jobs.collectDue(() => Effect.as(jobs.add(accountId), []))
        assert.deepInclude([...(yield* hints)], { id: accountId, kind: "job" })
        yield* jobs.collectDue(() => Effect.succeed([]))
        assert.notDeepInclude([...(yield* hints)], { id: accountId, kind: "job" })
      })
    )

    it.effect("of an account whose node does not answer are kept, and other accounts are queried", () =>
      Effect.gen(function* () {
        const [bad, good] = [AccountId.make(randomUUID()), AccountId.make(randomUUID())]
        const jobs = yield* makeWorkHints("job")
        if (jobs === undefined) return assert.fail("the tables are not distributed")
        for (const id of [bad, good]) yield* jobs.add(id)
        const find = (id: AccountId) => (id === bad ? Effect.die(new Error("down")) : Effect.succeed([id]))
        assert.deepStrictEqual(yield* jobs.collectDue(find), [good])
        assert.deepInclude([...(yield* hints)], { id: bad, kind: "job" })
        assert.deepStrictEqual(
          yield* jobs.collectDue((id) => Effect.succeed([id])),
          [good],
          "the other one is not due yet"
        )
      })
    )

    it.effect("reduce the load of the nodes: no search queries more than one of them", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Effect.replicateEffect(waiting, 4)
        const refusing = <A, E, R>(work: Effect.Effect<A, E, R>) =>
          sql.withTransaction(Effect.zipRight(sql.unsafe("SET LOCAL citus.multi_task_query_log_level = 'error'"), work))
        const refused = yield* Effect.exit(refusing(sql`SELECT count(*) FROM job /* all accounts */`))
        assert.isTrue(refused._tag === "Failure", "the setting refuses a statement on several shards")
        assert.lengthOf(yield* refusing(claimed), 4)
        assert.deepStrictEqual(yield* refusing((yield* DropsRepo).due(10, [])), [])
        yield* refusing((yield* JobsRepo).claim(null, 30))
      })
    )
  })
})
