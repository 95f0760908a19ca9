import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import type { Job } from "../../src/jobs/Job.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { layerPool } from "../faults/ServerServices.ts"
import { query } from "../support/RunDatabases.ts"
import { isServerCluster, layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { mostRows, outline, recordPlans, reportPlans } from "./RecordedPlans.ts"

const entities = 200
const domain = "a.example"

const recorded = recordPlans()

/** PostgreSQL collects statistics only where the test does. */
const WithoutAutovacuum = Layer.effectDiscard(
  Effect.flatMap(TestDatabaseUrl, (hidden) =>
    Effect.promise(async () => {
      const url = Redacted.value(hidden)
      for (const table of ["entity", "store_version", "store"])
        await query(url, `ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
      await reportPlans(url)
    })
  )
)

const Live = ServicesOnDatabase.pipe(
  Layer.provideMerge(layerPool(4)),
  Layer.provide(WithoutAutovacuum),
  Layer.provideMerge(layerServerUrl)
)

/** An account with products on a store. */
const aCatalog = Effect.gen(function* () {
  const { apply } = yield* CatalogChanges
  const { actor, stores } = yield* anAccount({ domains: [domain] })
  const [{ id: storeId }] = stores
  const ids = yield* Effect.replicateEffect(mintId(EntityId), entities)
  yield* apply(
    ids.flatMap((id) => [
      CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "Tent" } }),
      CatalogChange.AddToStore({ entityId: id, storeId })
    ])
  ).pipe(actingAs(actor))
  return actor
}).pipe(Effect.orDie)

const finish = ({ job }: { readonly job: Job | null }) =>
  Effect.map(
    Effect.flatMap(JobWorker, ({ settle }) => settle(job?.id ?? assert.fail("no job"), () => Effect.void)),
    Option.getOrThrow
  )

describe.skipIf(!serverAnswers || isServerCluster)("a new account, which the statistics do not include", () => {
  layer(Live, { excludeTestServices: true })((it) => {
    it.effect("has a store unlinked and linked again by statements that look entities up by their keys", () =>
      Effect.gen(function* () {
        const url = Redacted.value(yield* TestDatabaseUrl)
        yield* aCatalog
        yield* Effect.promise(() => query(url, "ANALYZE"))
        const actor = yield* aCatalog
        recorded.length = 0
        yield* Effect.gen(function* () {
          const { beginLink, beginUnlink } = yield* Stores
          for (const begun of [beginUnlink(domain), beginLink({ domain })]) {
            const { done, state } = yield* finish(yield* begun)
            assert.deepStrictEqual([state, done], ["done", entities])
          }
        }).pipe(actingAs(actor))
        const steps = recorded.filter(({ text }) => text.includes("rolled"))
        assert.isAtLeast(steps.length, 2)
        for (const step of recorded) assert.isAtMost(mostRows(step), entities ** 2, `${step.text}\n${outline(step)}`)
      })
    )
  })
})
