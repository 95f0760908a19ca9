import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option } from "effect"
import { defaultRules } from "../../../src/health/Health.ts"
import { HealthRepo } from "../../../src/health/HealthRepo.ts"
import type { AccountId, StoreId } from "../../../src/model/Ids.ts"
import { EntityId } from "../../../src/model/Ids.ts"
import { mintId } from "../../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges, DataHealth, Stores } from "../../../src/testing/index.ts"
import { createTriggers } from "../../faults/ServerServices.ts"
import { featureEngines } from "../../support/TestDatabase.ts"

const products = 60
const perStep = 10

const servicesOn = (database: (typeof featureEngines)[number]["layer"]) =>
  Services.pipe(
    Layer.provideMerge(
      HealthRepo.layerOf({ entitiesPerStep: perStep, rowsPerBlock: 7 }).pipe(Layer.provideMerge(RepositoriesOnDatabase))
    ),
    Layer.provideMerge(database),
    Layer.orDie
  )

/** An account whose products all lack a vendor, on one store. */
const aShop = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
  const ids = yield* Effect.replicateEffect(mintId(EntityId), products)
  yield* (yield* CatalogChanges)
    .apply(
      ids.flatMap((id) => [
        CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "Tent" } }),
        ...stores.map(({ id: storeId }) => CatalogChange.AddToStore({ entityId: id, storeId }))
      ])
    )
    .pipe(actingAs(actor))
  const [{ id: storeId } = assert.fail("no store")] = stores
  return { accountId, actor, ids, storeId }
})

/** Runs one step, as a process would. */
const step = (accountId: AccountId, storeId: StoreId | null = null) =>
  Effect.gen(function* () {
    const repo = yield* HealthRepo
    const sql = yield* SqlClient.SqlClient
    return yield* Effect.orDie(sql.withTransaction(repo.scan(accountId, "completeness", storeId)))
  })

const scanAll = (accountId: AccountId, storeId: StoreId | null) =>
  Effect.repeat(step(accountId, storeId), { until: ({ run }) => run !== null })

const numberOf = (table: string, accountId: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* Effect.orDie(sql`SELECT count(*) AS rows FROM ${sql(table)} WHERE account_id = ${accountId}`)
    return Number(row?.rows)
  })

for (const { absent, layer, name } of featureEngines)
  describe.skipIf(absent)(`a scan in steps (${name})`, () => {
    it.scopedLive("keeps the results of finished steps, and shows nothing until it is finished", () =>
      Effect.gen(function* () {
        const health = yield* DataHealth
        const repo = yield* HealthRepo
        const sql = yield* SqlClient.SqlClient
        const { accountId, actor } = yield* aShop
        assert.deepStrictEqual(yield* step(accountId), { run: null, scanned: 0, entities: products })
        for (let steps = 1; steps <= 3; steps++)
          assert.deepStrictEqual(yield* step(accountId), {
            run: null,
            scanned: steps * perStep,
            entities: products
          })
        // A process that dies during a step leaves the state from before it.
        yield* sql.withTransaction(Effect.zipRight(step(accountId), Effect.fail("killed"))).pipe(Effect.ignore)
        const [progress] = yield* repo.unfinished(accountId)
        assert.deepInclude(progress, {
          dimension: "completeness",
          storeId: null,
          scanned: 3 * perStep,
          entities: products
        })
        assert.isAbove(progress?.seconds ?? 0, 0)
        const seen = yield* actingAs(actor)(health.progress("completeness"))
        assert.deepInclude(Option.getOrThrow(seen), { scanned: 3 * perStep, entities: products })
        assert.deepStrictEqual(yield* actingAs(actor)(health.progress("sync")), Option.none())
        const [store = assert.fail("no store")] = yield* actingAs(actor)(
          Effect.flatMap(Stores, (stores) => stores.list)
        )
        assert.deepStrictEqual(yield* actingAs(actor)(health.progress("completeness", store.id)), Option.none())
        assert.strictEqual((yield* repo.snapshots(accountId, null)).size, 0)
        // The rows of an unfinished scan are not deleted.
        yield* repo.tidy(accountId)
        assert.isAbove(yield* numberOf("health_issue", accountId), 0)
        // Another process continues with the three remaining steps.
        let steps = 0
        for (let run: number | null = null; run === null; steps++) run = (yield* step(accountId)).run
        assert.strictEqual(steps, 3)
        assert.isEmpty(yield* repo.unfinished(accountId))
        assert.strictEqual(
          yield* repo.countIssues(accountId, { section: "completeness-required", storeId: null, locale: null }),
          products
        )
      }).pipe(Effect.provide(servicesOn(layer)))
    )

    it.scopedLive(
      "a long gap between two steps counts as a minute of work, and is told apart from a scan that goes on",
      () =>
        Effect.gen(function* () {
          const repo = yield* HealthRepo
          const sql = yield* SqlClient.SqlClient
          const { accountId } = yield* aShop
          yield* step(accountId)
          yield* step(accountId)
          const before = (yield* repo.unfinished(accountId))[0] ?? assert.fail("no scan")
          assert.isBelow(before.idleSeconds, 3_600)
          yield* sql`UPDATE health_base SET stepped_at = '2020-01-01' WHERE account_id = ${accountId}`
          const idle = (yield* repo.unfinished(accountId))[0] ?? assert.fail("no scan")
          assert.isAtLeast(idle.idleSeconds, 8 * 3_600)
          assert.strictEqual(idle.seconds, before.seconds)
          yield* step(accountId)
          const after = (yield* repo.unfinished(accountId))[0] ?? assert.fail("no scan")
          assert.deepInclude(after, { scanned: 2 * perStep, seconds: before.seconds + 60 })
          assert.isBelow(after.idleSeconds, 3_600)
        }).pipe(Effect.provide(servicesOn(layer)))
    )

    it.scopedLive("starts again when its rules changed, and keeps no earlier results", () =>
      Effect.gen(function* () {
        const health = yield* DataHealth
        const repo = yield* HealthRepo
        const { accountId, actor, ids } = yield* aShop
        yield* Effect.gen(function* () {
          for (let steps = 0; steps < 4; steps++) yield* step(accountId)
          yield* health.setRules({ ...defaultRules, product: { required: ["title"], recommended: ["tags"] } })
          yield* step(accountId)
          assert.deepStrictEqual(
            (yield* repo.unfinished(accountId)).map(({ scanned }) => scanned),
            [0]
          )
          yield* health.scan("completeness")
          assert.strictEqual(yield* health.countIssues({ section: "completeness-required" }), 0)
          assert.strictEqual(yield* health.countIssues({ section: "completeness-recommended" }), products)
          assert.strictEqual(yield* numberOf("health_base", accountId), 1)
          assert.strictEqual(yield* numberOf("health_issue", accountId), products)
          const [entityId = assert.fail("no product")] = ids
          yield* (yield* CatalogChanges).apply([CatalogChange.SetAttributes({ entityId, values: { tags: '["new"]' } })])
          yield* health.scan("completeness")
          assert.strictEqual(yield* health.countIssues({ section: "completeness-recommended" }), products - 1)
          assert.strictEqual(yield* health.forget, 0)
        }).pipe(actingAs(actor))
        assert.isEmpty(yield* repo.unfinished(accountId))
      }).pipe(Effect.provide(servicesOn(layer)))
    )

    it.scopedLive("a scan of a store does not continue its earlier rows, of which a stopped process deleted some", () =>
      Effect.gen(function* () {
        const repo = yield* HealthRepo
        const { accountId, storeId } = yield* aShop
        yield* scanAll(accountId, storeId)
        yield* scanAll(accountId, null)
        yield* createTriggers([
          "CREATE FUNCTION stopped() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stopped'; END $$",
          "CREATE TRIGGER stopped BEFORE DELETE ON health_base FOR EACH ROW EXECUTE FUNCTION stopped()"
        ])
        assert.isTrue(Exit.isFailure(yield* Effect.exit(repo.tidy(accountId))))
        yield* createTriggers(["DROP TRIGGER stopped ON health_base"])
        yield* scanAll(accountId, storeId)
        const query = { section: "completeness-required", storeId, locale: null } as const
        const shown = yield* repo.issues(accountId, { ...query, page: 1, pageSize: 100 })
        assert.lengthOf(Option.getOrThrow(shown).rows, products)
        assert.strictEqual(yield* repo.countIssues(accountId, query), products)
        yield* repo.tidy(accountId)
        assert.strictEqual(yield* numberOf("health_base", accountId), 2)
      }).pipe(Effect.provide(servicesOn(layer)))
    )

    it.scopedLive("shows every row on exactly one page, wherever blocks begin", () =>
      Effect.gen(function* () {
        const health = yield* DataHealth
        const { actor } = yield* aShop
        yield* Effect.gen(function* () {
          yield* health.scan("completeness")
          const section = "completeness-required"
          const all = yield* health.issues({ section, page: 1, page_size: 100 })
          assert.lengthOf(all.data, products)
          for (const page_size of [1, 6, 7, 8, 59, 60]) {
            const pages = yield* Effect.forEach(Array.from({ length: Math.ceil(products / page_size) }), (_, index) =>
              health.issues({ section, page: index + 1, page_size })
            )
            assert.deepStrictEqual(
              pages.flatMap(({ data }) => data),
              all.data
            )
            assert.deepStrictEqual(
              pages.map(({ has_next }) => has_next),
              pages.map((_, index) => index < pages.length - 1)
            )
          }
          for (const page of [2, 1_000, 2_000_000_000, 1e20])
            assert.deepInclude(yield* health.issues({ section, page, page_size: 100 }), { data: [], has_next: false })
        }).pipe(actingAs(actor))
      }).pipe(Effect.provide(servicesOn(layer)))
    )
  })
