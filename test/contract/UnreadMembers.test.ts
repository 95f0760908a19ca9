import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DraftsRepo, type ReadExtent } from "../../src/drafts/DraftsRepo.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { wronglyDerived } from "../faults/Derivations.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => Effect.orDie(service.apply(changes)))

/** A collection of two products on two stores. Only the second store differs: it has accepted the products in the other order. */
const aCollection = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [a, b] = stores
  return yield* Effect.gen(function* () {
    const tent = yield* anEntity("product", { title: "Tent" }, { on: stores })
    const stove = yield* anEntity("product", { title: "Stove" }, { on: stores })
    const collection = yield* anEntity("collection", { title: "Camping" }, { on: stores })
    const members = (...productIds: ReadonlyArray<typeof tent>) =>
      CatalogChange.SetMembers({ collectionId: collection, productIds })
    const accept = ({ id }: typeof a) => CatalogChange.AcceptPublish({ entityId: collection, storeId: id })
    yield* apply(members(stove, tent), accept(b), members(tent, stove), accept(a))

    const read = (extent: ReadExtent) =>
      Effect.gen(function* () {
        const { aggregates, unreadMembers } = yield* (yield* DraftsRepo).read(accountId, [collection], [], extent)
        return { aggregate: aggregates.get(collection), unread: unreadMembers.get(collection) }
      })
    /** Members here and on the stores, and where a publish is pending. */
    const state = Effect.gen(function* () {
      const { aggregate } = yield* read("complete")
      assert.deepStrictEqual(wronglyDerived(aggregate === undefined ? [] : [aggregate]), [])
      return {
        members: aggregate?.members,
        accepted: aggregate?.versions.map(({ accepted }) => accepted?.members),
        pending: aggregate?.versions.map(({ pendingPublish }) => pendingPublish)
      }
    })
    return { accountId, actor, a, b, accept, collection, members, read, state, stove, tent }
  }).pipe(actingAs(actor))
})

type Collection = Effect.Effect.Success<typeof aCollection>

const withCollection = <E, R>(body: (collection: Collection) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aCollection, (collection) => actingAs(collection.actor)(body(collection)))

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`the members of a changed collection on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect.skipIf(engine.name === "memory")("are not read for changes that do not need them", () =>
        withCollection(({ b, read }) =>
          Effect.gen(function* () {
            const { aggregate, unread } = yield* read("summarized")
            assert.deepStrictEqual(aggregate?.members, [])
            assert.deepStrictEqual(
              aggregate?.versions.map(({ accepted }) => Object.keys(accepted ?? {})),
              [["attributes"], ["attributes"]]
            )
            assert.deepStrictEqual([...(unread ?? [])], [b.id])
            assert.isUndefined((yield* read("complete")).unread)
          })
        )
      )

      it.effect("stay as they are after changes of values, and decide whether a publish is pending", () =>
        withCollection(({ a, b, collection, state, stove, tent }) =>
          Effect.gen(function* () {
            const title = (value: string) =>
              CatalogChange.SetAttributes({ entityId: collection, values: { title: value } })
            const override = (storeId: typeof a.id, value: string | null) =>
              CatalogChange.SetOverrides({ entityId: collection, storeId, values: { title: value } })
            const lists = {
              members: [tent, stove],
              accepted: [
                [tent, stove],
                [stove, tent]
              ]
            }
            const before = { ...lists, pending: [false, true] }
            assert.deepStrictEqual<unknown>(yield* state, before)
            yield* apply(title("Outdoors"))
            assert.deepStrictEqual<unknown>(yield* state, { ...lists, pending: [true, true] })
            yield* apply(title("Camping"))
            assert.deepStrictEqual<unknown>(yield* state, before)
            for (const { id } of [a, b]) yield* apply(override(id, "Outdoors"), override(id, null))
            assert.deepStrictEqual<unknown>(yield* state, before)
            yield* apply(override(a.id, "Outdoors"))
            assert.deepStrictEqual<unknown>(yield* state, { ...lists, pending: [true, true] })
          })
        )
      )

      it.effect("are read for a change that writes them, or that a store accepts", () =>
        withCollection(({ accept, b, collection, members, state, stove, tent }) =>
          Effect.gen(function* () {
            yield* apply(accept(b))
            const same = [tent, stove]
            assert.deepStrictEqual<unknown>(yield* state, {
              members: same,
              accepted: [same, same],
              pending: [false, false]
            })
            yield* apply(
              CatalogChange.SetAttributes({ entityId: collection, values: { title: "Outdoors" } }),
              members(stove),
              accept(b)
            )
            assert.deepStrictEqual<unknown>(yield* state, {
              members: [stove],
              accepted: [same, [stove]],
              pending: [true, false]
            })
            yield* apply(CatalogChange.Retype({ entityId: collection, types: { title: "multi_line_text_field" } }))
            assert.deepStrictEqual<unknown>((yield* state).accepted, [same, [stove]])
          })
        )
      )
    })
  })
}
