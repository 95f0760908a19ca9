import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Effect, Layer } from "effect"
import { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import { firstMember } from "../../src/catalog/CatalogRows.ts"
import type { Target } from "../../src/drafts/CatalogChange.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import type { EntityId } from "../../src/model/Ids.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { Dice, report } from "./Dice.ts"
import { layerChanges, layerDatabase, layerWriters } from "./ServerServices.ts"

/** Products that are moved, that only others pass, that are added and that are taken out. */
const counts = { moved: 6, passed: 12, added: 12, removed: 12 }
const movesOfEach = amount(8, 60)
const writers = counts.moved + 2

/** A planted fault: a write decides the order from the members that it has read before the locks. */
const withFormerMembers = CatalogChanges.layer.pipe(
  Layer.provide(
    Layer.effect(
      DraftsRepo,
      Effect.map(DraftsRepo, (drafts) => ({
        ...drafts,
        lock: (...[accountId, owners, references, extent]: Parameters<typeof drafts.lock>) =>
          Effect.gen(function* () {
            const before = yield* drafts.read(accountId, owners, references)
            const locked = yield* drafts.lock(accountId, owners, references, extent)
            const aggregates = [...locked.aggregates].map(
              ([id, aggregate]) => [id, { ...aggregate, members: before.aggregates.get(id)?.members ?? [] }] as const
            )
            return { ...locked, aggregates: new Map(aggregates), unreadMembers: new Map() }
          })
      }))
    )
  ),
  Layer.provide(RepositoriesOnDatabase)
)

const countRepeated = (ids: ReadonlyArray<EntityId>) => ids.length - new Set(ids).size

/**
 * One writer for each moved product moves it about, and at last to the front; others add and take out products meanwhile. Counts the
 * writes, and what is wrong with the members at the end.
 */
const race = (name: string, changes: typeof layerChanges) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    const dice = new Dice(name)
    const record = yield* Effect.gen(function* () {
      const drafts = yield* Drafts
      const products = (count: number) => Effect.replicateEffect(anEntity("product", { title: "Tent" }), count)
      const [moved, passed, added, removed] = yield* Effect.all([
        products(counts.moved),
        products(counts.passed),
        products(counts.added),
        products(counts.removed)
      ])
      const id = yield* anEntity("collection", { title: "Summer" })
      yield* drafts.changeMembers(id, [...Arr.flatten(Arr.zip(passed, removed)), ...moved], [])
      const { draft_revision: begin } = yield* drafts.get(id, null)
      const targets = (): ReadonlyArray<Target> => [
        ...Arr.makeBy(movesOfEach - 1, () => dice.pick<Target>(["up", "down", 1 + dice.below(counts.passed)])),
        1
      ]
      const sequences = [
        ...moved.map((product) => targets().map((to) => Effect.asVoid(drafts.moveMember(id, product, to)))),
        added.map((product) => Effect.asVoid(drafts.changeMembers(id, [product], []))),
        removed.map((product) => Effect.asVoid(drafts.changeMembers(id, [], [product])))
      ]
      const written = yield* Effect.forEach(sequences, (sequence) => Effect.all(sequence), { concurrency: writers })
      const { places } = yield* (yield* CatalogRepo).related(accountId, id, firstMember, 250)
      const members = places.map((place) => place.id)
      const { draft_revision: end } = yield* drafts.get(id, null)
      return {
        writes: written.flat().length,
        revisions: end - begin,
        notInFront: moved.filter((product) => members.indexOf(product) >= counts.moved).length,
        isOrderKept: members.filter((each) => passed.includes(each)).join() === passed.join(),
        lost: [...moved, ...passed, ...added].filter((product) => !members.includes(product)).length,
        leftBehind: removed.filter((product) => members.includes(product)).length,
        repeated: countRepeated(members),
        samePositions: places.length - new Set(places.map(({ position }) => position)).size
      }
    }).pipe(actingAs(actor))
    report(name, record)
    return record
  }).pipe(Effect.provide(layerWriters(changes, writers + 2)))

const harmless = { notInFront: 0, isOrderKept: true, lost: 0, leftBehind: 0, repeated: 0, samePositions: 0 }

const TestLayer = Layer.provideMerge(RepositoriesOnDatabase, layerDatabase(1))

describe.skipIf(!serverAnswers)("writers that move, add and take out products of one collection at once", () => {
  layer(TestLayer, { excludeTestServices: true })((it) => {
    it.effect("lose nothing", () =>
      Effect.gen(function* () {
        const { revisions, writes, ...found } = yield* race("Moves", layerChanges)
        assert.deepStrictEqual(found, harmless)
        assert.strictEqual(writes, counts.moved * movesOfEach + counts.added + counts.removed)
        // All additions and removals, and at least half of the moves, changed something; each has a revision of its own.
        assert.isAtMost(revisions, writes)
        assert.isAtLeast(revisions, counts.added + counts.removed + (counts.moved * movesOfEach) / 2)
      })
    )
    it.effect.runIf(runsPlanted)("lose writes if they trust what they read before the locks (planted fault)", () =>
      Effect.gen(function* () {
        const { revisions: _, writes: __, ...found } = yield* race("Moves, planted", withFormerMembers)
        assert.notDeepEqual(found, harmless)
      })
    )
  })
})
