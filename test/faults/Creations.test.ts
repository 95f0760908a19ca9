import { assert, describe, layer } from "@effect/vitest"
import { Effect, Either, Layer } from "effect"
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
    it.effect.runIf(runsPlanted)(
      "create more variants if they trust what they read before the locks (planted fault)",
      () =>
        Effect.gen(function* () {
          assert.isAbove((yield* raceVariants("Variants, planted", withFormerVariants)).created, rounds)
        })
    )
  })
})
