import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import type { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import type { CurrentActor } from "../../src/model/Actor.ts"
import type { EntityId, StoreId } from "../../src/model/Ids.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { runsPlanted } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { deadlocks, layerChanges, layerDatabase, layerWriters, noticeDeadlocksSoon } from "./ServerServices.ts"

const products = 20
const pictures = 8
const atOnce = 8
const rounds = 60

/** A planted fault: rows are locked one after the other, by each second writer in the reverse order. */
const inAnyOrder = CatalogChanges.layer.pipe(
  Layer.provide(
    Layer.effect(
      DraftsRepo,
      Effect.gen(function* () {
        const drafts = yield* DraftsRepo
        let writes = 0
        return {
          ...drafts,
          lock: (accountId, owners, references, extent) =>
            Effect.zipRight(
              Effect.forEach(writes++ % 2 === 0 ? owners : owners.toReversed(), (id) =>
                drafts.lock(accountId, [id], [], "summarized")
              ),
              drafts.lock(accountId, owners, references, extent)
            )
        }
      })
    )
  ),
  Layer.provide(RepositoriesOnDatabase)
)

const anAccountOfTwo = anAccount({ domains: ["a.example", "b.example"] })
type World = Effect.Effect.Success<typeof anAccountOfTwo>
type Writers = ReturnType<typeof layerWriters>

/** Runs writers on a new account with two stores; their result, with the number of deadlocks. */
const race = <A, E>(
  name: string,
  writers: Writers,
  body: (stores: World["stores"]) => Effect.Effect<A, E, Layer.Layer.Success<Writers> | CurrentActor>
) =>
  Effect.gen(function* () {
    yield* noticeDeadlocksSoon
    const result = yield* Effect.flatMap(anAccountOfTwo, ({ actor, stores }) =>
      body(stores).pipe(actingAs(actor))
    ).pipe(Effect.provide(writers))
    const record = { ...result, deadlocks: yield* deadlocks }
    report(name, record)
    return record
  })

/** Products that share all pictures: half of them are added to a second store, and the others, which are there, newly show them. */
const showAll = (name: string, changes: typeof layerChanges) =>
  race(name, layerWriters(changes, atOnce + 2), (stores) => {
    const [here, there] = stores
    return Effect.gen(function* () {
      const drafts = yield* Drafts
      const media = yield* Effect.forEach(Array.from({ length: pictures }), (_, at) =>
        anEntity("media", { url: `https://cdn.example/${at}.png` }, { on: [here] })
      )
      const entriesOn = (storeIds: ReadonlyArray<StoreId>) => media.map((mediaId) => ({ mediaId, storeIds }))
      const made = (on: ReadonlyArray<(typeof stores)[number]>) =>
        Effect.replicateEffect(anEntity("product", { title: "Tent" }, { on }), products)
      const added = yield* made([here])
      const present = yield* made(stores)
      const ids = [...added, ...present]
      const entries = entriesOn([here.id])
      yield* (yield* CatalogChanges).apply(ids.map((entityId) => CatalogChange.SetGallery({ entityId, entries })))
      const show = (id: EntityId) =>
        Effect.flatMap(drafts.get(id, null), ({ draft_revision }) =>
          drafts.updateGallery(id, draft_revision, entriesOn([here.id, there.id]), media)
        )
      const exits = yield* Effect.forEach(
        added.flatMap((id, at) => [
          drafts.addStoreVersion(id, there.id),
          show(present[at] ?? assert.fail("one for each"))
        ]),
        Effect.exit,
        { concurrency: atOnce }
      )
      const galleries = yield* Effect.forEach(ids, (id) => Effect.map(drafts.sheet(id), ({ gallery }) => gallery))
      const isWhole = (gallery: (typeof galleries)[number]) =>
        gallery.length === pictures && gallery.every(({ storeIds }) => storeIds.length === 2)
      const shown = yield* Effect.forEach(media, (id) => drafts.projections(id))
      return {
        done: exits.filter(Exit.isSuccess).length,
        whole: galleries.filter(isWhole).length,
        pictures: shown.filter((all) => all.length === 2).length
      }
    })
  })

/** A planted fault: whether other galleries show a picture is read before the locks. */
const readBeforeLocks = (catalog: CatalogRepo["Type"]): CatalogRepo["Type"] => {
  const early = new Map<EntityId, ReadonlyArray<EntityId>>()
  return {
    ...catalog,
    partsOnStore: (accountId, storeId, ids, isThere) =>
      Effect.tap(catalog.partsOnStore(accountId, storeId, ids, isThere), (parts) =>
        Effect.map(catalog.mediaShownByOthers(accountId, storeId, parts, [...ids, ...parts]), (shown) => {
          for (const id of ids) early.set(id, shown)
        })
      ),
    mediaShownByOthers: (...[, , , except]) => Effect.succeed(except.flatMap((id) => early.get(id) ?? []))
  }
}

/** Products that have a picture each leave a store, while the next product newly shows the same picture there. */
const leaveAll = (name: string, catalog?: typeof readBeforeLocks) =>
  race(name, layerWriters(layerChanges, atOnce + 2, catalog), (stores) => {
    const [here, there] = stores
    return Effect.gen(function* () {
      const drafts = yield* Drafts
      const made = Effect.replicateEffect(anEntity("product", { title: "Tent" }, { on: stores }), rounds)
      const [leaving, staying] = [yield* made, yield* made]
      const media = yield* Effect.replicateEffect(
        anEntity("media", { url: "https://cdn.example/a.png" }, { on: stores }),
        rounds
      )
      const entriesOn = (at: number, storeIds: ReadonlyArray<StoreId>) => [
        { mediaId: media[at] ?? assert.fail("one for each"), storeIds }
      ]
      yield* (yield* CatalogChanges).apply([
        ...leaving.map((entityId, at) => CatalogChange.SetGallery({ entityId, entries: entriesOn(at, [there.id]) })),
        ...staying.map((entityId, at) => CatalogChange.SetGallery({ entityId, entries: entriesOn(at, [here.id]) }))
      ])
      const revision = 2
      const exits = yield* Effect.forEach(
        leaving.flatMap((id, at) => [
          drafts.removeStoreVersion(id, there.id),
          drafts.updateGallery(staying[at] ?? assert.fail("one for each"), revision, entriesOn(at, [there.id]), [
            media[at] ?? assert.fail("one for each")
          ])
        ]),
        Effect.exit,
        { concurrency: atOnce }
      )
      const storesOf = (id: EntityId) => Effect.map(drafts.projections(id), (all) => all.length)
      return {
        done: exits.filter(Exit.isSuccess).length,
        left: (yield* Effect.forEach(leaving, storesOf)).filter((count) => count === 1).length,
        shown: (yield* Effect.forEach(media, storesOf)).filter((count) => count === 2).length
      }
    })
  })

const TestLayer = Layer.provideMerge(RepositoriesOnDatabase, layerDatabase(1))

describe.skipIf(!serverAnswers)("products that share pictures", () => {
  layer(TestLayer, { excludeTestServices: true })("and come to a store at once", (it) => {
    it.effect("show all of them there, without deadlocks", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* showAll("Pictures", layerChanges), {
          done: 2 * products,
          whole: 2 * products,
          pictures,
          deadlocks: 0
        })
      })
    )
  })

  layer(TestLayer, { excludeTestServices: true })("and leave a store while others newly show them", (it) => {
    it.effect("keep the pictures that others show there", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* leaveAll("Leaving"), {
          done: 2 * rounds,
          left: rounds,
          shown: rounds,
          deadlocks: 0
        })
      })
    )
  })

  layer(TestLayer, { excludeTestServices: true })(
    "and read the other galleries before they lock (planted fault)",
    (it) => {
      it.effect.runIf(runsPlanted)("take pictures off the store that others show there", () =>
        Effect.gen(function* () {
          assert.isBelow((yield* leaveAll("Leaving, planted", readBeforeLocks)).shown, rounds)
        })
      )
    }
  )

  layer(TestLayer, { excludeTestServices: true })("and are locked in any order (planted fault)", (it) => {
    it.effect.runIf(runsPlanted)("wait for each other", () =>
      Effect.gen(function* () {
        assert.isAbove((yield* showAll("Pictures, planted", inAnyOrder)).deadlocks, 0)
      })
    )
  })
})
