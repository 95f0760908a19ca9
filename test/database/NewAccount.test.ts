import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import type { BulkChange } from "../../src/bulk/BulkChange.ts"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { firstPart, Undo } from "../../src/connections/Undo.ts"
import { distributedTables } from "../../src/database/Distribution.ts"
import type { Job } from "../../src/jobs/Job.ts"
import { ConnectionId, EntityId } from "../../src/model/Ids.ts"
import { plusMicros } from "../../src/model/Timestamp.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges, Publishing, Stores } from "../../src/testing/index.ts"
import { layerPool } from "../faults/ServerServices.ts"
import { query } from "../support/RunDatabases.ts"
import { isServerCluster, layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { mostRows, outline, recordPlans, reportPlans } from "./RecordedPlans.ts"

const entities = 200
const domain = "a.demo.example"

const recorded = recordPlans()

/** PostgreSQL collects statistics only where the test does. */
const WithoutAutovacuum = Layer.effectDiscard(
  Effect.flatMap(TestDatabaseUrl, (hidden) =>
    Effect.promise(async () => {
      const url = Redacted.value(hidden)
      for (const table of distributedTables) await query(url, `ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
      await reportPlans(url)
    })
  )
)

const Live = ServicesOnDatabase.pipe(
  Layer.provideMerge(layerPool(4)),
  Layer.provide(WithoutAutovacuum),
  Layer.provideMerge(layerServerUrl)
)

/** An account with products on the first of two stores. */
const aCatalog = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { link } = yield* Stores
    const { store } = yield* link({ domain, platform: "demo" })
    const { store: other } = yield* link({ domain: "b.example" })
    const ids = yield* Effect.replicateEffect(mintId(EntityId), entities)
    yield* (yield* CatalogChanges).apply(
      ids.flatMap((id) => [
        CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "Tent" } }),
        CatalogChange.AddToStore({ entityId: id, storeId: store.id })
      ])
    )
    return { accountId, actor, ids, storeId: store.id, otherId: other.id }
  }).pipe(actingAs(actor))
}).pipe(Effect.orDie)

type NewCatalog = Effect.Effect.Success<typeof aCatalog>

/** Runs a job to its end. It must process all products. */
const finish = ({ id }: Pick<Job, "id">) =>
  Effect.gen(function* () {
    const ended = yield* (yield* JobWorker).settle(id, () => Effect.void)
    const { done, errors, result, state } = Option.getOrThrow(ended)
    assert.deepStrictEqual([state, done, errors], ["done", entities, []])
    return result
  })

const bulk = (ids: NewCatalog["ids"], change: BulkChange) =>
  Effect.gen(function* () {
    const { begin } = yield* BulkJobs
    const { changed } = yield* finish(yield* begin({ kind: "product", ids }, change))
    assert.strictEqual(changed, entities)
  })

const publish = ({ storeId }: NewCatalog) =>
  Effect.gen(function* () {
    const { all } = yield* PublishJobs
    const { pending, work } = yield* Publishing
    yield* Effect.raceFirst(Effect.flatMap(all(storeId), finish), work)
    assert.deepStrictEqual(yield* pending(storeId), [])
  })

/**
 * Runs work on all products of a new account, after statistics were collected about another one. No statement may have more than `most`
 * rows: one that reads the account for each row that it finds has some ten thousand.
 */
const inNewAccount = <E, R>(work: (catalog: NewCatalog) => Effect.Effect<void, E, R>, most = 10 * entities) =>
  Effect.gen(function* () {
    const url = Redacted.value(yield* TestDatabaseUrl)
    yield* aCatalog
    yield* Effect.promise(() => query(url, "ANALYZE"))
    const catalog = yield* aCatalog
    recorded.length = 0
    yield* work(catalog).pipe(actingAs(catalog.actor))
    assert.isAtLeast(recorded.length, 20)
    for (const step of recorded) assert.isAtMost(mostRows(step), most, `${step.text}\n${outline(step)}`)
  })

describe.skipIf(!serverAnswers || isServerCluster)(
  "statements look entities up by their keys in a new account, which the statistics of PostgreSQL do not include",
  () => {
    layer(Live, { excludeTestServices: true })((it) => {
      it.effect("to unlink a store and link it again", () =>
        inNewAccount(
          () =>
            Effect.gen(function* () {
              const { beginLink, beginUnlink } = yield* Stores
              for (const begun of [beginUnlink(domain), beginLink({ domain, platform: "demo" })])
                yield* finish((yield* begun).job ?? assert.fail("no job"))
              const steps = recorded.filter(({ text }) => text.includes("rolled"))
              assert.isAtLeast(steps.length, 2)
            }),
          // A step compares the entities that it writes with those that it read.
          entities ** 2
        )
      )

      it.effect("to publish and change products", () =>
        inNewAccount((catalog) =>
          Effect.gen(function* () {
            const { ids, storeId } = catalog
            yield* publish(catalog)
            yield* bulk(ids, { _tag: "SetField", storeId: null, key: "vendor", value: "Fell" })
            yield* bulk(ids, { _tag: "SetField", storeId, key: "title", value: "Zelt" })
            yield* publish(catalog)
          })
        )
      )

      it.effect("to take products off a store, add them to another and delete them", () =>
        inNewAccount(({ ids, otherId, storeId }) =>
          Effect.gen(function* () {
            yield* bulk(ids, { _tag: "AddToStore", storeId: otherId })
            for (const each of [storeId, otherId]) yield* bulk(ids, { _tag: "RemoveFromStore", storeId: each })
            yield* bulk(ids, { _tag: "Delete" })
          })
        )
      )

      it.effect("to undo the writes of a connection", () =>
        inNewAccount(({ accountId, ids, otherId, storeId }) =>
          Effect.gen(function* () {
            const connectionId = yield* mintId(ConnectionId)
            yield* (yield* CatalogChanges)
              .apply(
                ids.flatMap((entityId) => [
                  CatalogChange.SetAttributes({ entityId, values: { title: "Zelt" } }),
                  CatalogChange.SetOverrides({ entityId, storeId, values: { vendor: "Fell" } }),
                  CatalogChange.AddToStore({ entityId, storeId: otherId })
                ])
              )
              .pipe(actingAs({ _tag: "Connection", accountId, connectionId }))
            const { review, run, settledNow } = yield* Undo
            const until = yield* settledNow
            const window = { since: plusMicros(until, -3_600_000_000), until }
            assert.lengthOf((yield* review(connectionId, window, firstPart, entities)).fields, 3 * entities)
            const undone = yield* run(connectionId, window, firstPart)
            assert.deepStrictEqual(undone, { entities, fields: 3 * entities, left: [], next: null })
          })
        )
      )
    })
  }
)
