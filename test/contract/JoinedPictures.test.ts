import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { NewEntity } from "../../src/drafts/Creation.ts"
import type { JoinedEntry } from "../../src/drafts/VariantPictures.ts"
import { RevisionConflict, ValidationFailed } from "../../src/model/Errors.ts"
import { EntityId, type StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

/** A product with two variants and three pictures on the first of two stores. */
const aTent = Effect.gen(function* () {
  const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [here, there] = stores
  return yield* Effect.gen(function* () {
    const on = [here]
    const product = yield* anEntity("product", { title: "Tent" }, { on })
    const green = yield* anEntity("variant", { sku: "T-G" }, { on, of: product })
    const red = yield* anEntity("variant", { sku: "T-R" }, { on, of: product })
    const picture = (name: string) => anEntity("media", { url: `https://cdn.example/${name}.png` }, { on })
    const [a, b, c] = [yield* picture("a"), yield* picture("b"), yield* picture("c")]
    return { actor, here: here.id, there: there.id, product, green, red, a, b, c }
  }).pipe(actingAs(actor))
})
type Tent = Effect.Effect.Success<typeof aTent>

const inTent = <E, R>(body: (tent: Tent) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aTent, (tent) => actingAs(tent.actor)(body(tent)))

const entry = (mediaId: EntityId, ...storeIds: ReadonlyArray<StoreId>) => ({ mediaId, storeIds })
type Entry = ReturnType<typeof entry>

const set = (entityId: EntityId, entries: ReadonlyArray<Entry>) =>
  Effect.flatMap(CatalogChanges, ({ apply }) => apply([CatalogChange.SetGallery({ entityId, entries })]))

const galleryOf = (id: EntityId) =>
  Effect.flatMap(Drafts, (drafts) => Effect.map(drafts.sheet(id), ({ gallery }) => gallery))

const storesOf = (id: EntityId) =>
  Effect.flatMap(Drafts, (drafts) =>
    Effect.map(drafts.sheet(id), ({ stores }) => stores.map(({ projection }) => projection.store_id))
  )

const revisionOf = (id: EntityId) =>
  Effect.flatMap(Drafts, (drafts) => Effect.map(drafts.get(id, null), ({ draft_revision }) => draft_revision))

const newestOf = (id: EntityId) =>
  Effect.flatMap(Drafts, (drafts) =>
    Effect.map(drafts.history(id, 1), (entries) =>
      entries.map(({ action, actor, draft_revision }) => ({ action, kind: actor.kind, draft_revision }))
    )
  )

/** Writes the gallery of a variant as its page does. */
const write = (id: EntityId, entries: ReadonlyArray<Entry>, leaving: ReadonlyArray<JoinedEntry> = []) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const shown = entries.map(({ mediaId }) => mediaId)
    return (yield* drafts.updateGallery(id, yield* revisionOf(id), entries, shown, leaving)).joined
  })

for (const engine of featureServiceEngines)
  describe.skipIf(engine.absent)(`a picture that is added to a variant on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("joins the gallery of its product behind the others, and leaves it again by an undo", () =>
        inTent(({ a, b, green, here, product }) =>
          Effect.gen(function* () {
            yield* set(product, [entry(a, here)])
            const [ofProduct, ofVariant] = [yield* revisionOf(product), yield* revisionOf(green)]
            const joined = yield* write(green, [entry(b, here)])
            assert.deepStrictEqual(joined, [{ mediaId: b, storeIds: [here], isNew: true }])
            assert.deepStrictEqual(yield* galleryOf(green), [entry(b, here)])
            assert.deepStrictEqual(yield* galleryOf(product), [entry(a, here), entry(b, here)])
            for (const [id, revision] of [
              [product, ofProduct],
              [green, ofVariant]
            ] as const)
              assert.deepStrictEqual(yield* newestOf(id), [
                { action: "gallery", kind: "cli", draft_revision: revision + 1 }
              ])
            // A new order joins nothing, and the same again is no write.
            const both = [entry(a, here), entry(b, here)]
            assert.deepStrictEqual(yield* write(green, both), [])
            assert.deepStrictEqual(yield* write(green, [...both].reverse()), [])
            assert.strictEqual(yield* revisionOf(product), ofProduct + 1)
            assert.deepStrictEqual(yield* write(green, [entry(a, here)], joined), [])
            assert.deepStrictEqual(yield* galleryOf(product), [entry(a, here)])
          })
        )
      )

      it.effect("is shown on the stores of the product that newly show it; an undo leaves what the product had", () =>
        inTent(({ a, b, c, green, here, product, there }) =>
          Effect.gen(function* () {
            yield* (yield* CatalogChanges).apply(
              [product, green, a].map((entityId) => CatalogChange.AddToStore({ entityId, storeId: there }))
            )
            yield* set(product, [entry(a, there), entry(b), entry(c, here, there)])
            const shown = [entry(a, here, there), entry(b, there), entry(c, here)]
            const joined = yield* write(green, shown)
            assert.deepStrictEqual(joined, [
              { mediaId: a, storeIds: [here], isNew: false },
              { mediaId: b, storeIds: [there], isNew: false }
            ])
            assert.deepStrictEqual(yield* galleryOf(product), [
              entry(a, here, there),
              entry(b, there),
              entry(c, here, there)
            ])
            yield* write(green, [], joined)
            assert.deepStrictEqual(yield* galleryOf(product), [entry(a, there), entry(b), entry(c, here, there)])
          })
        )
      )

      it.effect("stays in the gallery of the product after an undo if another variant shows it", () =>
        inTent(({ a, green, here, product, red }) =>
          Effect.gen(function* () {
            const joined = yield* write(green, [entry(a, here)])
            assert.deepStrictEqual(yield* write(red, [entry(a, here)]), joined)
            yield* write(green, [], joined)
            assert.deepStrictEqual(yield* galleryOf(product), [entry(a, here)])
          })
        )
      )

      for (const [order, name] of [
        [[0, 1], "the first one first"],
        [[1, 0], "the last one first"]
      ] as const)
        it.effect(`leaves the gallery of the product when the changes of two variants are undone, ${name}`, () =>
          inTent(({ a, b, green, here, product, red }) =>
            Effect.gen(function* () {
              yield* set(product, [entry(b, here)])
              const joined: Array<readonly [EntityId, ReadonlyArray<JoinedEntry>]> = []
              for (const id of [green, red]) joined.push([id, yield* write(id, [entry(a, here)])])
              for (const [undone, index] of order.entries()) {
                const [id, leaving] = joined[index] ?? assert.fail("no such change")
                yield* write(id, [], leaving)
                const left = undone === 0 ? [entry(b, here), entry(a, here)] : [entry(b, here)]
                assert.deepStrictEqual(yield* galleryOf(product), left)
              }
            })
          )
        )

      it.effect("stays after an undo if the product had it before, or another variant has lost it since", () =>
        inTent(({ a, b, green, here, product, red }) =>
          Effect.gen(function* () {
            yield* set(product, [entry(b, here)])
            assert.deepStrictEqual(yield* write(green, [entry(b, here)]), [])
            yield* write(green, [entry(a, here)])
            const revision = yield* revisionOf(product)
            yield* write(green, [])
            assert.strictEqual(yield* revisionOf(product), revision)
            const joined = yield* write(red, [entry(a, here)])
            assert.deepStrictEqual(joined, [])
            yield* write(red, [], joined)
            assert.deepStrictEqual(yield* galleryOf(product), [entry(b, here), entry(a, here)])
          })
        )
      )

      it.effect("leaves the product on a store with the last variant that shows it there", () =>
        inTent(({ a, b, c, green, here, product, red, there }) =>
          Effect.gen(function* () {
            const { addStoreVersion, removeStoreVersion } = yield* Drafts
            const add = CatalogChange.AddToStore({ entityId: product, storeId: there })
            yield* (yield* CatalogChanges).apply([add])
            yield* set(product, [entry(a, here)])
            yield* set(green, [entry(b, here), entry(a, here)])
            yield* set(red, [entry(b, here), entry(c, here)])
            // Another product shows one of the pictures.
            const bag = yield* anEntity("product", { title: "Bag" })
            yield* (yield* CatalogChanges).apply([CatalogChange.AddToStore({ entityId: bag, storeId: there })])
            const large = yield* anEntity("variant", { sku: "T-L" }, { of: product })
            for (const id of [green, red, large]) yield* addStoreVersion(id, there)
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetGallery({ entityId: bag, entries: [entry(c, there)] })
            ])
            const both = [entry(a, here, there), entry(b, there), entry(c, there)]
            assert.deepStrictEqual(yield* galleryOf(product), both)
            yield* removeStoreVersion(green, there)
            assert.deepStrictEqual(yield* galleryOf(product), [entry(a, here), entry(b, there), entry(c, there)])
            assert.deepStrictEqual(yield* galleryOf(green), [entry(b, here), entry(a, here)])
            yield* removeStoreVersion(red, there)
            assert.deepStrictEqual(yield* galleryOf(product), [entry(a, here)])
            assert.deepStrictEqual(yield* Effect.forEach([a, b, c], storesOf), [[here], [here], [here, there]])
          })
        )
      )

      it.effect("joins the gallery beside that of another variant, added at the same moment", () =>
        inTent(({ a, b, c, green, here, product, red }) =>
          Effect.gen(function* () {
            yield* set(product, [entry(c, here)])
            for (const [ofGreen, ofRed] of [
              [[a], [b]],
              [[], []],
              [[b], [a]]
            ] as const) {
              const writes = [
                [green, ofGreen],
                [red, ofRed]
              ] as const
              yield* Effect.forEach(
                writes,
                ([id, media]) =>
                  write(
                    id,
                    media.map((each) => entry(each, here))
                  ),
                { concurrency: "unbounded" }
              )
            }
            const [first, ...others] = yield* galleryOf(product)
            assert.deepStrictEqual(first, entry(c, here))
            assert.sameDeepMembers([...others], [entry(a, here), entry(b, here)])
          })
        )
      )

      it.effect("joins the gallery also if it is created with the variant as its owner, and if no store has them", () =>
        inTent(({ a, green, here, product }) =>
          Effect.gen(function* () {
            yield* set(product, [entry(a, here)])
            const id = yield* mintId(EntityId)
            const url = "https://cdn.example/new.png"
            yield* (yield* Drafts).create(NewEntity.Media({ id, url, attributes: [], shownBy: green }))
            assert.deepStrictEqual(yield* galleryOf(green), [entry(id, here)])
            assert.deepStrictEqual(yield* galleryOf(product), [entry(a, here), entry(id, here)])
            const bag = yield* anEntity("product", { title: "Bag" })
            const large = yield* anEntity("variant", { sku: "B-L" }, { of: bag })
            const joined = yield* write(large, [entry(a)])
            assert.deepStrictEqual(joined, [{ mediaId: a, storeIds: [], isNew: true }])
            assert.deepStrictEqual(yield* galleryOf(bag), [entry(a)])
            yield* write(large, [], joined)
            assert.deepStrictEqual(yield* galleryOf(bag), [])
          })
        )
      )

      it.effect("is refused if the gallery of its product is full, or the variant was changed meanwhile", () =>
        inTent(({ a, b, green, here, product }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const many = yield* Effect.forEach(
              Array.from({ length: 249 }, (_, index) => index),
              (index) => anEntity("media", { url: `https://cdn.example/many-${index}.png` })
            )
            yield* set(product, [entry(a), ...many.map((mediaId) => entry(mediaId))])
            const full = [
              "ValidationFailed",
              [{ path: "", message: "The gallery of its product has 250 pictures, the most that stores accept." }]
            ]
            const refusalOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<unknown, A, R> =>
              Effect.map(Effect.flip(effect), (error) =>
                error instanceof ValidationFailed
                  ? [error._tag, error.issues]
                  : error instanceof RevisionConflict
                    ? [error._tag, error.entityId, error.currentRevision]
                    : error
              )
            const before = yield* revisionOf(green)
            assert.deepStrictEqual(yield* refusalOf(write(green, [entry(b, here)])), full)
            const id = yield* mintId(EntityId)
            const url = "https://cdn.example/new.png"
            const created = drafts.create(NewEntity.Media({ id, url, attributes: [], shownBy: green }))
            assert.deepStrictEqual(yield* refusalOf(created), full)
            assert.strictEqual(yield* revisionOf(green), before)
            assert.deepStrictEqual(yield* galleryOf(green), [])
            // One that the product has needs no place.
            assert.deepStrictEqual(yield* write(green, [entry(a, here)]), [
              { mediaId: a, storeIds: [here], isNew: false }
            ])
            assert.deepStrictEqual(yield* refusalOf(drafts.updateGallery(green, before, [entry(b, here)], [b])), full)
            assert.deepStrictEqual(yield* refusalOf(drafts.updateGallery(green, before, [entry(a)], [])), [
              "RevisionConflict",
              green,
              before + 1
            ])
          })
        )
      )

      it.effect("comes to another store with the product, and the product shows it there", () =>
        inTent(({ a, b, c, green, here, product, red, there }) =>
          Effect.gen(function* () {
            yield* set(product, [entry(a, here), entry(c)])
            // The product does not show the picture of a variant on the first store. A picture that no store shows stays hidden.
            yield* set(green, [entry(b, here), entry(a, here)])
            yield* set(red, [entry(c)])
            const revisions = yield* Effect.forEach([product, green, red], revisionOf)
            yield* (yield* Drafts).addStoreVersion(product, there)
            assert.deepStrictEqual(yield* galleryOf(product), [entry(a, here, there), entry(c), entry(b, there)])
            assert.deepStrictEqual(yield* galleryOf(green), [entry(b, here, there), entry(a, here, there)])
            assert.deepStrictEqual(yield* galleryOf(red), [entry(c)])
            assert.deepStrictEqual(yield* Effect.forEach([a, b, c], storesOf), [[here, there], [here, there], [here]])
            assert.deepStrictEqual(
              yield* Effect.forEach([product, green, red], revisionOf),
              revisions.map((revision) => revision + 1)
            )
            yield* (yield* Drafts).removeStoreVersion(product, there)
            assert.deepStrictEqual(yield* galleryOf(green), [entry(b, here), entry(a, here)])
            assert.deepStrictEqual(yield* Effect.forEach([a, b, c], storesOf), [[here], [here], [here]])
          })
        )
      )

      it.effect("comes to another store with the variant alone, in the same write as its values there", () =>
        inTent(({ a, b, green, here, product, red, there }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            yield* (yield* CatalogChanges).apply([
              CatalogChange.AddToStore({ entityId: product, storeId: there }),
              CatalogChange.SetGallery({ entityId: product, entries: [entry(a, here)] }),
              CatalogChange.SetGallery({ entityId: green, entries: [entry(b, here)] }),
              CatalogChange.SetGallery({ entityId: red, entries: [entry(a, here)] })
            ])
            const revision = yield* revisionOf(product)
            yield* drafts.addStoreVersion(green, there)
            assert.deepStrictEqual(yield* galleryOf(green), [entry(b, here, there)])
            assert.deepStrictEqual(yield* galleryOf(product), [entry(a, here), entry(b, there)])
            assert.deepStrictEqual(yield* newestOf(product), [
              { action: "gallery", kind: "cli", draft_revision: revision + 1 }
            ])
            const update = { draft_revision: yield* revisionOf(red), attributes: [{ key: "price", value: "9.00" }] }
            yield* drafts.updateVersionAttributes(red, there, update, true)
            assert.deepStrictEqual(yield* galleryOf(red), [entry(a, here, there)])
            assert.deepStrictEqual(yield* galleryOf(product), [entry(a, here, there), entry(b, there)])
            assert.deepStrictEqual(yield* Effect.forEach([a, b], storesOf), [
              [here, there],
              [here, there]
            ])
          })
        )
      )

      it.effect("comes to another store only as far as the gallery of its product has room", () =>
        inTent(({ a, b, c, green, here, product, red, there }) =>
          Effect.gen(function* () {
            const many = yield* Effect.forEach(
              Array.from({ length: 248 }, (_, index) => index),
              (index) => anEntity("media", { url: `https://cdn.example/many-${index}.png` })
            )
            yield* set(product, [entry(a, here), ...many.map((mediaId) => entry(mediaId))])
            yield* set(green, [entry(b, here)])
            yield* set(red, [entry(c, here), entry(a, here)])
            yield* (yield* Drafts).addStoreVersion(product, there)
            const gallery = yield* galleryOf(product)
            assert.lengthOf(gallery, 250)
            assert.deepStrictEqual([gallery[0], gallery[249]], [entry(a, here, there), entry(b, there)])
            assert.deepStrictEqual(yield* galleryOf(red), [entry(c, here, there), entry(a, here, there)])
          })
        )
      )

      it.effect("of several variants in one write joins it only as far as it has room", () =>
        inTent(({ a, b, c, here, product }) =>
          Effect.gen(function* () {
            const many = yield* Effect.forEach(
              Array.from({ length: 248 }, (_, index) => index),
              (index) => anEntity("media", { url: `https://cdn.example/several-${index}.png` })
            )
            yield* set(product, [entry(a, here), ...many.map((mediaId) => entry(mediaId))])
            yield* (yield* CatalogChanges).apply(
              [b, c].map((mediaId) =>
                CatalogChange.ChangeGallery({ entityId: product, add: [entry(mediaId, here)], remove: [] })
              )
            )
            const gallery = yield* galleryOf(product)
            assert.deepStrictEqual([gallery.length, gallery[249]], [250, entry(b, here)])
          })
        )
      )
    })
  })
