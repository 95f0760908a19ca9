import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import { Exports } from "../../src/exports/Exports.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { mostRows, outline, recordPlans, reportPlans } from "../database/RecordedPlans.ts"
import { layerPool } from "../faults/ServerServices.ts"
import { query } from "../support/RunDatabases.ts"
import { isServerCluster, layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const products = 400
const variantsOfEach = 3
/** Products with their variants and a picture. */
const entities = products * (1 + variantsOfEach + 1)

const recorded = recordPlans()

/** The tables never get statistics: PostgreSQL would collect them at most a minute after the import. */
const WithoutStatistics = Layer.effectDiscard(
  Effect.flatMap(TestDatabaseUrl, (hidden) =>
    Effect.promise(async () => {
      const url = Redacted.value(hidden)
      for (const table of ["entity", "store_version", "entity_media"])
        await query(url, `ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
      await reportPlans(url)
    })
  )
)

const Live = ServicesOnDatabase.pipe(
  Layer.provideMerge(layerPool(4)),
  Layer.provide(WithoutStatistics),
  Layer.provideMerge(layerServerUrl)
)

const aCatalog = Effect.gen(function* () {
  const { apply } = yield* CatalogChanges
  const { actor, stores } = yield* anAccount({ domains: ["a.example"] })
  const [{ id: storeId }] = stores
  for (let product = 0; product < products; product++) {
    const [productId, mediaId, ...variantIds] = yield* Effect.replicateEffect(mintId(EntityId), 2 + variantsOfEach)
    if (productId === undefined || mediaId === undefined) return yield* Effect.dieMessage("no id")
    const create = (kind: "product" | "variant" | "media", id: EntityId, values: Readonly<Record<string, string>>) =>
      CatalogChange.CreateEntity({ id, kind, parentId: kind === "variant" ? productId : null, values })
    yield* apply([
      create("product", productId, { title: `Hat ${product}`, handle: `hat-${product}` }),
      create("media", mediaId, { url: `https://x.example/${product}.jpg` }),
      ...variantIds.map((id, place) => create("variant", id, { sku: `H-${product}-${place}` })),
      ...[productId, mediaId, ...variantIds].map((entityId) => CatalogChange.AddToStore({ entityId, storeId })),
      CatalogChange.SetGallery({ entityId: productId, entries: [{ mediaId, storeIds: [storeId] }] })
    ]).pipe(actingAs(actor))
  }
  return { actor, storeId }
}).pipe(Effect.orDie)

describe.skipIf(!serverAnswers || isServerCluster)(
  "exports of a catalog that the statistics of PostgreSQL do not include",
  () => {
    layer(Live, { excludeTestServices: true })((it) => {
      it.effect("look entities up by their keys, and compare no entity with all others", () =>
        Effect.gen(function* () {
          const { actor, storeId } = yield* aCatalog
          const { countByStore, csv, isAnyOn, jsonl, selectedJsonl } = yield* Exports
          const selection = { kind: "product", filters: { search: "Hat" } } as const
          recorded.length = 0
          yield* Effect.forEach(
            [jsonl, selectedJsonl(selection), csv(storeId, true), csv(storeId, false, selection)],
            (file) => Stream.runDrain(file)
          ).pipe(actingAs(actor))
          assert.deepStrictEqual([...(yield* countByStore(selection).pipe(actingAs(actor)))], [[storeId, products]])
          assert.isTrue(yield* isAnyOn(storeId, selection).pipe(actingAs(actor)))
          const reads = recorded.filter(({ text }) => text.includes("store_version"))
          assert.isAtLeast(reads.length, 16)
          assert.isAtLeast(Math.max(...reads.map(mostRows)), products * variantsOfEach, "the plans have their rows")
          for (const read of recorded) assert.isAtMost(mostRows(read), 4 * entities, `${read.text}\n${outline(read)}`)
        })
      )
    })
  }
)
