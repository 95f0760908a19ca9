import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Effect, Either, Layer } from "effect"
import type { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { runsPlanted } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { layerChanges, layerDatabase, layerWriters } from "./ServerServices.ts"

const rounds = 20
const atOnce = 6
const newId = mintId(EntityId)

/** A planted fault: a write does not notice variants that were created after it had read those of the product. */
const withFormerVariants = CatalogChanges.layer.pipe(
  Layer.provide(
    Layer.effect(
      DraftsRepo,
      Effect.map(DraftsRepo, (drafts) => ({
        ...drafts,
        lock: (...request: Parameters<typeof drafts.lock>) =>
          Effect.map(drafts.lock(...request), (locked) => ({ ...locked, summaries: new Map() }))
      }))
    )
  ),
  Layer.provide(RepositoriesOnDatabase)
)

/** Several writers at once create each of these entities: how many did, and how many learn by `path` that it exists. */
const race = <E, R>(
  name: string,
  changes: typeof layerChanges,
  path: string,
  entities: Effect.Effect<ReadonlyArray<Effect.Effect<NewEntity>>, E, R>
) =>
  Effect.gen(function* () {
    const { actor } = yield* anAccount()
    const results = yield* Effect.gen(function* () {
      const drafts = yield* Drafts
      return yield* Effect.forEach(
        (yield* entities).flatMap((entity) => Array.from({ length: atOnce }, () => entity)),
        (entity) => Effect.flatMap(entity, (created) => Effect.either(drafts.create(created))),
        { concurrency: atOnce }
      )
    }).pipe(actingAs(actor))
    const exists = results.filter(
      (result) =>
        Either.isLeft(result) && result.left._tag === "ValidationFailed" && result.left.issues[0]?.path === path
    )
    const record = { created: results.filter(Either.isRight).length, exists: exists.length }
    report(name, record)
    return record
  }).pipe(Effect.provide(layerWriters(changes, atOnce + 2)))

const raceVariants = (name: string, changes: typeof layerChanges) =>
  race(
    name,
    changes,
    "option_values.0",
    Effect.gen(function* () {
      const products = yield* Effect.replicateEffect(anEntity("product", { title: "Tent" }), rounds)
      yield* Effect.forEach(products, (of) => anEntity("variant", { option1: "S" }, { of }))
      return products.map((productId) =>
        Effect.map(newId, (id) =>
          NewEntity.Variant({ id, productId, attributes: [], optionValues: ["L"], firstOption: null })
        )
      )
    })
  )

const aCollection = Effect.map(newId, (id) =>
  Effect.succeed(NewEntity.Collection({ id, attributes: [{ key: "title", value: "Summer" }], storeIds: [] }))
)

/** A planted fault: creations do not lock the handles that they look for. */
const withoutHandleLocks = (repo: CatalogRepo["Type"]): CatalogRepo["Type"] => ({
  ...repo,
  lockHandle: () => Effect.void
})

/** In each round, writers at once create products and collections of two titles, of which one ends with a number. Returns all handles. */
const raceHandles = (name: string, catalog?: typeof withoutHandleLocks) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { accountId, actor } = yield* anAccount()
    yield* Effect.forEach(Arr.range(1, rounds), (round) =>
      Effect.forEach(
        Arr.range(1, atOnce),
        (writer) =>
          Effect.gen(function* () {
            const [id, variantId] = [yield* newId, yield* newId]
            const attributes = [{ key: "title", value: `Summer ${round}${writer % 3 === 0 ? " 2" : ""}` }]
            const entity =
              writer % 2 === 0
                ? NewEntity.Product({ id, attributes, variantId, variant: [], storeIds: [] })
                : NewEntity.Collection({ id, attributes, storeIds: [] })
            yield* (yield* Drafts).create(entity)
          }),
        { concurrency: atOnce }
      )
    ).pipe(actingAs(actor))
    const rows = yield* sql<{ readonly handle: string }>`
      SELECT e.attributes #>> '{handle,value}' AS handle FROM entity e
      WHERE e.account_id = ${accountId} AND e.kind IN ('collection', 'product')`
    const record = { created: rows.length, handles: new Set(rows.map(({ handle }) => handle)).size }
    report(name, record)
    return record
  }).pipe(Effect.provide(layerWriters(layerChanges, atOnce + 2, catalog)))

const oneOfEach = { created: rounds, exists: rounds * (atOnce - 1) }

const TestLayer = Layer.provideMerge(RepositoriesOnDatabase, layerDatabase(1))

describe.skipIf(!serverAnswers)("writers that create the same at once", () => {
  layer(TestLayer, { excludeTestServices: true })((it) => {
    it.effect("create one variant with the same option values", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* raceVariants("Variants", layerChanges), oneOfEach)
      })
    )
    it.effect("create one entity with the same id", () =>
      Effect.gen(function* () {
        const collections = Effect.replicateEffect(aCollection, rounds)
        assert.deepStrictEqual(yield* race("Ids", layerChanges, "id", collections), oneOfEach)
      })
    )
    it.effect("give entities with the same title different handles", () =>
      Effect.gen(function* () {
        const created = rounds * atOnce
        assert.deepStrictEqual(yield* raceHandles("Handles"), { created, handles: created })
      })
    )
    it.effect.runIf(runsPlanted)("give entities the same handle if they do not lock it (planted fault)", () =>
      Effect.gen(function* () {
        const { created, handles } = yield* raceHandles("Handles, planted", withoutHandleLocks)
        assert.strictEqual(created, rounds * atOnce)
        assert.isBelow(handles, created)
      })
    )
    it.effect.runIf(runsPlanted)(
      "create more variants if they trust what they read before the locks (planted fault)",
      () =>
        Effect.gen(function* () {
          assert.isAbove((yield* raceVariants("Variants, planted", withFormerVariants)).created, rounds)
        })
    )
  })
})
