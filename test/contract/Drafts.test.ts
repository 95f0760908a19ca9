import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import { Draft, DraftState } from "../../src/drafts/DraftWrite.ts"
import { HistoryEntry, type HistoryFilter } from "../../src/drafts/History.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { maxGallery } from "../../src/drafts/VariantPictures.ts"
import type { Actor, CurrentActor } from "../../src/model/Actor.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { type DomainError, PimLocked, RevisionConflict } from "../../src/model/Errors.ts"
import { EntityId, ImportId, nilUuid, StoreId } from "../../src/model/Ids.ts"
import {
  ApiKeys,
  actingAs,
  anAccount,
  anEntity,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Drafts,
  definedAs,
  Stores
} from "../../src/testing/index.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"
import { decimal, fitting, metafieldTypes, misfits, titleOfMedia, unknownKey } from "./DraftValues.ts"

const nobody = EntityId.make(nilUuid)
const nowhere = StoreId.make(nilUuid)

const edits = (values: Readonly<Record<string, string | null>>) =>
  Object.entries(values).map(([key, value]) => ({ key, value }))

const set = (id: EntityId, draft_revision: number, values: Readonly<Record<string, string | null>>) =>
  Effect.flatMap(Drafts, (drafts) => drafts.updateAttributes(id, { draft_revision, attributes: edits(values) }))

const setOn = (
  store: { readonly id: StoreId },
  id: EntityId,
  draft_revision: number,
  values: Readonly<Record<string, string | null>>
) =>
  Effect.flatMap(Drafts, (drafts) =>
    drafts.updateVersionAttributes(id, store.id, { draft_revision, attributes: edits(values) })
  )

const revisionOf = (id: EntityId) =>
  Effect.flatMap(Drafts, (drafts) => Effect.map(drafts.get(id, null), ({ draft_revision }) => draft_revision))

const valuesOf = (id: EntityId, storeId: StoreId | null = null) =>
  Effect.flatMap(Drafts, (drafts) =>
    Effect.map(drafts.get(id, storeId), ({ attributes }) =>
      Object.fromEntries(attributes.map(({ key, value }) => [key, value]))
    )
  )

const histories = (id: EntityId) => Effect.flatMap(Drafts, (drafts) => drafts.history(id, 250))

/** The complete message of a refusal. */
const refusal = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

/** An account with one entity of each kind on its first of two stores, at revision 1. */
const aCatalog = Effect.gen(function* () {
  const { accountId, actor, stores, token } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [here, there] = stores
  const on = [here]
  return yield* Effect.gen(function* () {
    yield* definedAs("product", metafieldTypes)
    const product = yield* anEntity("product", { title: "Tent" }, { on })
    yield* (yield* CatalogChanges)
      .apply([
        CatalogChange.SetAttributes({
          entityId: product,
          values: Object.fromEntries(
            Object.keys(metafieldTypes).map((key) => [key, { "spec.flag": "true", "spec.sizes": "[]" }[key] ?? "1"])
          ),
          types: metafieldTypes
        })
      ])
      .pipe(Effect.orDie)
    const ids: Readonly<Record<EntityKind, EntityId>> = {
      product,
      variant: yield* anEntity("variant", { sku: "T-1" }, { on, of: product }),
      collection: yield* anEntity("collection", { title: "Tents" }, { on }),
      media: yield* anEntity("media", { url: "https://cdn.example/a.png" }, { on })
    }
    return { accountId, actor, ids, here, there, token }
  }).pipe(actingAs(actor))
})

/** Keys that take any line of text. */
const fineKeys: Readonly<Record<EntityKind, ReadonlyArray<string>>> = {
  product: ["vendor", "title"],
  variant: ["barcode", "title"],
  collection: ["seo_title", "title"],
  media: ["alt"]
}

type World = Effect.Effect.Success<typeof aCatalog>

/** Runs a test as the actor of a new catalog. */
const inCatalog = <E, R>(body: (world: World) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aCatalog, (world) => actingAs(world.actor)(body(world)))

const versionOf = (actor: Actor) =>
  // The account's version, which every write raises, and the fields of all entities.
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const pages = yield* Effect.forEach(["product", "variant", "collection", "media"] as const, (kind) =>
      catalog.list(kind, { limit: 250 })
    )
    return JSON.stringify(pages.map(({ text }) => text))
  }).pipe(actingAs(actor))

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`drafts on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("canonical values are set, cleared and counted; the other values do not change", () =>
        inCatalog(({ here, ids }) =>
          Effect.gen(function* () {
            const before = yield* valuesOf(ids.product)
            const revision = yield* revisionOf(ids.product)
            const state = yield* set(ids.product, revision, { title: "Tent 2", vendor: "Tern", "spec.made": null })
            assert.deepStrictEqual(yield* Schema.decodeUnknown(DraftState)(state), state)
            assert.deepStrictEqual(state, {
              entity_id: ids.product,
              entity_type: "product",
              draft_revision: revision + 1,
              pending_publish: true,
              stores: [{ store_id: here.id, pending_publish: true }]
            })
            const { "spec.made": _, ...kept } = before
            assert.deepStrictEqual(yield* valuesOf(ids.product), { ...kept, title: "Tent 2", vendor: "Tern" })
            assert.deepStrictEqual(yield* valuesOf(ids.product, here.id), { ...kept, title: "Tent 2", vendor: "Tern" })
            const emptied = yield* set(ids.product, revision + 1, { vendor: null, title: "" })
            assert.strictEqual(emptied.draft_revision, revision + 2)
            assert.deepStrictEqual(yield* valuesOf(ids.product), { ...kept, title: "", vendor: "" })
          })
        )
      )

      it.effect("a store's override stays until it is removed; an empty override is deliberate", () =>
        inCatalog(({ here, ids }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const revision = yield* revisionOf(ids.product)
            const before = yield* valuesOf(ids.product)
            yield* setOn(here, ids.product, revision, { title: "Zelt", vendor: "" })
            assert.deepStrictEqual(yield* valuesOf(ids.product), before)
            const version = yield* drafts.get(ids.product, here.id)
            assert.deepStrictEqual(yield* Schema.decodeUnknown(Draft)(version), version)
            assert.deepStrictEqual(
              [version.draft_revision, version.overridden, version.title],
              [revision + 1, ["title", "vendor"], "Tent"]
            )
            yield* set(ids.product, revision + 1, { title: "Tent 2", vendor: "Tern" })
            assert.include(yield* valuesOf(ids.product, here.id), { title: "Zelt", vendor: "" })
            const removed = yield* setOn(here, ids.product, revision + 2, { title: null, vendor: null })
            assert.strictEqual(removed.draft_revision, revision + 3)
            assert.include(yield* valuesOf(ids.product, here.id), { title: "Tent 2", vendor: "Tern" })
            assert.deepStrictEqual((yield* drafts.get(ids.product, here.id)).overridden, [])
          })
        )
      )

      it.effect("a store edit keeps the entity's position in the walk, a canonical edit gives it a new one", () =>
        inCatalog(({ actor, here, ids }) =>
          Effect.gen(function* () {
            const other = yield* anEntity("product", { title: "Later" })
            const order = Effect.map(versionOf(actor), (text) => text.indexOf(ids.product) < text.indexOf(other))
            yield* setOn(here, ids.product, yield* revisionOf(ids.product), { title: "x" })
            assert.isTrue(yield* order)
            yield* set(ids.product, yield* revisionOf(ids.product), { title: "x" })
            assert.isFalse(yield* order)
          })
        )
      )

      it.effect("a write that changes nothing raises no counter and is not recorded", () =>
        inCatalog(({ actor, here, ids }) =>
          Effect.gen(function* () {
            yield* setOn(here, ids.product, yield* revisionOf(ids.product), { title: "Zelt" })
            const revision = yield* revisionOf(ids.product)
            const before = [yield* versionOf(actor), yield* histories(ids.product)]
            for (const same of [
              set(ids.product, revision, { title: "Tent", vendor: null, handle: "" }),
              set(ids.product, revision, {}),
              setOn(here, ids.product, revision, { title: "Zelt", vendor: null })
            ])
              assert.strictEqual((yield* same).draft_revision, revision)
            assert.deepStrictEqual([yield* versionOf(actor), yield* histories(ids.product)], before)
          })
        )
      )

      it.effect("undoing a draft clears its pending state", () =>
        inCatalog(({ here, ids }) =>
          Effect.gen(function* () {
            const accept = CatalogChange.AcceptPublish({ entityId: ids.product, storeId: here.id })
            yield* (yield* CatalogChanges).apply([accept])
            const revision = yield* revisionOf(ids.product)
            assert.isTrue((yield* set(ids.product, revision, { title: "Tent 2" })).pending_publish)
            assert.isFalse((yield* set(ids.product, revision + 1, { title: "Tent" })).pending_publish)
          })
        )
      )

      it.effect("invalid values are refused, each with its key, its rule and the allowed values", () =>
        inCatalog(({ actor, here, ids }) =>
          Effect.gen(function* () {
            const before = yield* versionOf(actor)
            for (const [kind, key, values, rule] of misfits)
              for (const value of values) {
                const revision = yield* revisionOf(ids[kind])
                const fine = fineKeys[kind].find((each) => each !== key)
                const attributes = [...(fine === undefined ? [] : [{ key: fine, value: "x" }]), { key, value }]
                const drafts = yield* Drafts
                const said = `attributes.${key}: ${rule}`
                const canonical = drafts.updateAttributes(ids[kind], { draft_revision: revision, attributes })
                assert.strictEqual(yield* refusal(canonical), said, value.slice(0, 40))
                const onStore = drafts.updateVersionAttributes(ids[kind], here.id, {
                  draft_revision: revision,
                  attributes
                })
                assert.strictEqual(yield* refusal(onStore), said, value.slice(0, 40))
              }
            assert.strictEqual(yield* versionOf(actor), before)
          })
        )
      )

      it.effect("valid values are stored unchanged", () =>
        inCatalog(({ here, ids }) =>
          Effect.gen(function* () {
            for (const [kind, values] of fitting) {
              yield* set(ids[kind], yield* revisionOf(ids[kind]), values)
              assert.include(yield* valuesOf(ids[kind]), values)
              yield* setOn(here, ids[kind], yield* revisionOf(ids[kind]), values)
              assert.include(yield* valuesOf(ids[kind], here.id), values)
              const types = (yield* (yield* Drafts).get(ids[kind], here.id)).attributes
              for (const { key, type } of types)
                if (key in metafieldTypes) assert.strictEqual(type, Reflect.get(metafieldTypes, key))
            }
          })
        )
      )

      it.effect("members that a store has not accepted are pending there; a read returns no list of members", () =>
        inCatalog(({ accountId, here, ids, there }) =>
          Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const drafts = yield* Drafts
            const second = yield* anEntity("product", { title: "Stove" })
            const productIds = [second, ids.product]
            yield* drafts.addStoreVersion(ids.collection, there.id)
            const accept = (storeId: StoreId, members: ReadonlyArray<EntityId>) =>
              CatalogChange.AcceptImported({
                ...{ entityId: ids.collection, storeId, values: { title: "Tents" }, media: [], variants: [] },
                ...{ members, isComplete: true }
              })
            const pending = Effect.gen(function* () {
              const { stores } = yield* drafts.sheet(ids.collection)
              const sheet = stores.map(({ projection }) => projection.pending_keys)
              const projections = yield* drafts.projections(ids.collection)
              assert.deepStrictEqual(
                projections.map(({ pending_keys }) => pending_keys),
                sheet
              )
              return sheet
            })
            assert.deepStrictEqual(yield* pending, [["title"], ["title"]])
            yield* apply([
              CatalogChange.SetMembers({ collectionId: ids.collection, productIds }),
              accept(here.id, productIds)
            ])
            assert.deepStrictEqual(yield* pending, [[], ["title", "members"]])
            yield* apply([accept(here.id, [ids.product, second]), accept(there.id, productIds)])
            assert.deepStrictEqual(yield* pending, [["members"], []])
            yield* apply([CatalogChange.SetMembers({ collectionId: ids.collection, productIds: [] })])
            assert.deepStrictEqual(yield* pending, [["members"], ["members"]])
            yield* apply([CatalogChange.SetMembers({ collectionId: ids.collection, productIds })])
            const catalog = yield* CatalogRepo
            for (const read of [
              yield* catalog.projections(accountId, "collection", ids.collection),
              yield* catalog.projectionsOfAll(accountId, "collection", [ids.collection])
            ])
              for (const member of productIds) assert.notInclude(JSON.stringify(read), member)
          })
        )
      )

      it.effect("text that cannot be stored, and duplicate keys, are refused before anything is read", () =>
        inCatalog(({ ids }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            for (const id of [ids.product, nobody]) {
              const attributes = [
                { key: "title", value: "a\u0000b" },
                { key: "vendor", value: "\ud83d" },
                { key: "title", value: null },
                { key: "no key\u001b[2J", value: "\u0000" }
              ]
              assert.strictEqual(
                yield* refusal(drafts.updateAttributes(id, { draft_revision: 0, attributes })),
                "attributes.title: must not contain U+0000; attributes.vendor: must not contain lone surrogates; " +
                  "attributes.title: is given more than once; attributes[3]: must not contain U+0000"
              )
            }
            assert.strictEqual(
              yield* refusal(set(ids.media, 0, { "no key\u001b[2J": "x", title: "x" })),
              `attributes[0]: ${unknownKey("media")}; attributes.title: ${titleOfMedia}`
            )
          })
        )
      )

      it.effect("a write with an old revision gets the current one, after all other checks", () =>
        inCatalog(({ actor, here, ids }) =>
          Effect.gen(function* () {
            const current = yield* revisionOf(ids.product)
            const before = yield* versionOf(actor)
            for (const stale of [current - 1, current + 1, 0, -1])
              for (const write of [
                set(ids.product, stale, { title: "x" }),
                set(ids.product, stale, { title: "Tent" }),
                setOn(here, ids.product, stale, { title: "x" })
              ]) {
                const refused = yield* Effect.flip(write)
                assert.instanceOf(refused, RevisionConflict)
                assert.include(refused, { entityId: ids.product, currentRevision: current })
                assert.strictEqual(
                  refused.message,
                  `The record was changed: its draft_revision is now ${current}. Read it again and repeat the write.`
                )
              }
            assert.strictEqual(
              yield* refusal(set(ids.product, current - 1, { status: "x" })),
              "attributes.status: must be one of active, draft, archived, unlisted"
            )
            assert.strictEqual(yield* versionOf(actor), before)
          })
        )
      )

      it.effect("missing entities and those of another account get the same answer", () =>
        inCatalog(({ actor, here, ids, there }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const theirs = yield* aCatalog
            const before = [yield* versionOf(actor), yield* versionOf(theirs.actor)]
            for (const id of [nobody, ...Object.values(theirs.ids)]) {
              const attempts: ReadonlyArray<Effect.Effect<unknown, DomainError, Drafts | CurrentActor>> = [
                set(id, 1, { title: "x", nonsense: "x" }),
                setOn(here, id, 1, { title: "x" }),
                setOn(theirs.here, id, 1, { title: "x" }),
                drafts.addStoreVersion(id, there.id),
                drafts.addStoreVersion(id, theirs.there.id),
                drafts.get(id, null),
                drafts.get(id, theirs.here.id),
                drafts.history(id, 50)
              ]
              for (const attempt of attempts) assert.strictEqual(yield* refusal(attempt), "No such record.")
            }
            for (const store of [there, theirs.here, { id: nowhere }]) {
              assert.strictEqual(yield* refusal(setOn(store, ids.product, 1, { title: "x" })), "No such record.")
              assert.strictEqual(yield* refusal(drafts.get(ids.product, store.id)), "No such record.")
            }
            for (const storeId of [theirs.there.id, nowhere])
              assert.strictEqual(yield* refusal(drafts.addStoreVersion(ids.product, storeId)), "No such record.")
            assert.deepStrictEqual([yield* versionOf(actor), yield* versionOf(theirs.actor)], before)
          })
        )
      )

      it.effect("every write is refused while an import is under review, but its own errors are reported first", () =>
        inCatalog(({ accountId, actor, here, ids, there }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const importLock = yield* ImportLockRepo
            const before = yield* versionOf(actor)
            yield* importLock.keep(accountId, ImportId.make(crypto.randomUUID()))
            const writes = [
              set(ids.product, 99, { title: "x" }),
              set(ids.product, yield* revisionOf(ids.product), { title: "Tent" }),
              setOn(here, ids.product, 99, { title: "x" }),
              drafts.addStoreVersion(ids.product, there.id)
            ]
            for (const write of writes) {
              const refused = yield* Effect.flip(write)
              assert.instanceOf(refused, PimLocked)
              assert.strictEqual(
                refused.message,
                "An import or refresh has locked the catalog; retry after it has ended."
              )
            }
            assert.strictEqual(yield* refusal(set(ids.variant, 1, { price: "x" })), `attributes.price: ${decimal}`)
            assert.strictEqual(yield* refusal(set(nobody, 1, {})), "No such record.")
            assert.strictEqual(yield* versionOf(actor), before)
            yield* importLock.keep(accountId, null)
            for (const write of [writes[1], writes[3]])
              assert.isTrue(Exit.isSuccess(yield* Effect.exit(write ?? Effect.void)))
          })
        )
      )

      it.effect(
        "adding a product to a store adds its variants; a variant needs its product there; other kinds are added alone",
        () =>
          inCatalog(({ actor, here, ids, there }) =>
            Effect.gen(function* () {
              const drafts = yield* Drafts
              const onTwo = [here, there].map(({ id }) => ({ store_id: id, pending_publish: true }))
              assert.strictEqual(
                yield* refusal(drafts.addStoreVersion(ids.variant, there.id)),
                `store_id: the variant's product ${ids.product} is not on this store: add the product first`
              )
              const revision = yield* revisionOf(ids.product)
              const variantRevision = yield* revisionOf(ids.variant)
              const added = yield* drafts.addStoreVersion(ids.product, there.id)
              assert.deepStrictEqual(added, {
                entity_id: ids.product,
                entity_type: "product",
                draft_revision: revision + 1,
                pending_publish: true,
                stores: onTwo
              })
              assert.strictEqual(yield* revisionOf(ids.variant), variantRevision + 1)
              assert.include(yield* valuesOf(ids.variant, there.id), { sku: "T-1" })
              assert.include(yield* valuesOf(ids.product, there.id), { title: "Tent" })

              const before = yield* versionOf(actor)
              for (const kind of ["product", "variant"] as const)
                assert.strictEqual(
                  yield* refusal(drafts.addStoreVersion(ids[kind], there.id)),
                  `store_id: the ${kind} is on this store already`
                )
              assert.strictEqual(yield* versionOf(actor), before)

              const later = yield* anEntity("variant", { sku: "T-2" }, { of: ids.product })
              assert.deepStrictEqual((yield* drafts.addStoreVersion(later, there.id)).stores, onTwo.slice(1))
              for (const kind of ["collection", "media"] as const)
                assert.deepStrictEqual((yield* drafts.addStoreVersion(ids[kind], there.id)).stores, onTwo)
            })
          )
      )

      it.effect("adding a product to a store shows there the pictures that another of its stores shows", () =>
        inCatalog(({ here, ids, there }) =>
          Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const drafts = yield* Drafts
            const [shown, hidden] = [ids.media, yield* anEntity("media", { url: "https://cdn.example/b.png" })]
            const show = (entityId: EntityId, storeIds: ReadonlyArray<StoreId>) =>
              apply([
                CatalogChange.SetGallery({
                  entityId,
                  entries: [
                    { mediaId: hidden, storeIds: [] },
                    { mediaId: shown, storeIds }
                  ]
                })
              ])
            const galleryOf = (id: EntityId) =>
              Effect.map(drafts.sheet(id), ({ gallery }) => gallery.map((entry) => [entry.mediaId, entry.storeIds]))
            const storesOf = (id: EntityId) =>
              Effect.map(drafts.projections(id), (all) => all.map(({ store_id }) => store_id))

            // No other kind publishes its pictures.
            yield* show(ids.collection, [here.id])
            yield* drafts.addStoreVersion(ids.collection, there.id)
            assert.deepStrictEqual((yield* galleryOf(ids.collection))[1], [shown, [here.id]])
            assert.deepStrictEqual(yield* storesOf(shown), [here.id])

            yield* show(ids.product, [here.id])
            const revision = yield* revisionOf(ids.product)
            const { draft_revision } = yield* drafts.addStoreVersion(ids.product, there.id)
            assert.strictEqual(draft_revision, revision + 1)
            const onBoth = [
              [hidden, []],
              [shown, [here.id, there.id]]
            ]
            assert.deepStrictEqual(yield* galleryOf(ids.product), onBoth)
            assert.deepStrictEqual(yield* storesOf(shown), [here.id, there.id])
            assert.deepStrictEqual(yield* storesOf(hidden), [])

            // A refresh takes records that the store lost off the store, and leaves the gallery.
            yield* apply([
              CatalogChange.SetGallery({
                entityId: ids.product,
                entries: [
                  { mediaId: hidden, storeIds: [there.id] },
                  { mediaId: shown, storeIds: [here.id] }
                ]
              }),
              ...[ids.product, shown].map((entityId) => CatalogChange.RemoveFromStore({ entityId, storeId: there.id }))
            ])
            yield* drafts.addStoreVersion(ids.product, there.id)
            assert.deepStrictEqual(yield* galleryOf(ids.product), [
              [hidden, [there.id]],
              [shown, [here.id]]
            ])
            assert.deepStrictEqual(yield* storesOf(shown), [here.id])
            assert.deepStrictEqual(yield* storesOf(hidden), [there.id])

            // A product that is on no store shows its whole gallery on the first one, also if its values are written with it.
            const stove = yield* anEntity("product", { title: "Stove" })
            yield* show(stove, [])
            yield* drafts.updateVersionAttributes(
              stove,
              there.id,
              { draft_revision: yield* revisionOf(stove), attributes: [{ key: "title", value: "Burner" }] },
              true
            )
            assert.deepStrictEqual(yield* galleryOf(stove), [
              [hidden, [there.id]],
              [shown, [there.id]]
            ])
          })
        )
      )

      it.effect("pictures that an unlinked store shows are shown on the next store, and stay on the first", () =>
        inCatalog(({ here, ids, there }) =>
          Effect.gen(function* () {
            const stores = yield* Stores
            const drafts = yield* Drafts
            const hidden = yield* anEntity("media", { url: "https://cdn.example/b.png" })
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetGallery({
                entityId: ids.product,
                entries: [
                  { mediaId: ids.media, storeIds: [here.id] },
                  { mediaId: hidden, storeIds: [] }
                ]
              })
            ])
            const gallery = Effect.map(drafts.sheet(ids.product), (sheet) =>
              sheet.gallery.map(({ storeIds }) => storeIds)
            )
            yield* stores.unlink(here.domain)
            yield* drafts.addStoreVersion(ids.product, there.id)
            assert.deepStrictEqual(yield* gallery, [[there.id], []])
            // The product keeps its version on the unlinked store, which no write reaches.
            const update = { draft_revision: 99, attributes: [{ key: "title", value: "Zelt" }] }
            for (const write of [
              drafts.addStoreVersion(ids.product, here.id),
              drafts.updateVersionAttributes(ids.product, here.id, update, true)
            ])
              assert.strictEqual(yield* refusal(write), "No such record.")
            yield* stores.link({ domain: here.domain })
            assert.deepStrictEqual(yield* gallery, [[here.id, there.id], []])
          })
        )
      )

      it.effect("a product is added with the pictures that its gallery has when it is locked", () =>
        inCatalog(({ actor, here, ids, there }) =>
          Effect.gen(function* () {
            const catalog = yield* CatalogRepo
            const { apply } = yield* CatalogChanges
            const second = yield* anEntity("media", { url: "https://cdn.example/b.png" }, { on: [here] })
            const show = (mediaIds: ReadonlyArray<EntityId>) =>
              CatalogChange.SetGallery({
                entityId: ids.product,
                entries: mediaIds.map((mediaId) => ({ mediaId, storeIds: [here.id] }))
              })
            yield* apply([show([ids.media])])
            let reads = 0
            // Somebody adds a picture after the first read of the gallery.
            const meanwhile = {
              ...catalog,
              partsOnStore: (...request: Parameters<typeof catalog.partsOnStore>) =>
                Effect.tap(catalog.partsOnStore(...request), () =>
                  reads++ === 0 ? Effect.orDie(apply([show([ids.media, second])]).pipe(actingAs(actor))) : Effect.void
                )
            }
            yield* Effect.flatMap(Drafts, (drafts) => drafts.addStoreVersion(ids.product, there.id)).pipe(
              Effect.provide(Layer.fresh(Drafts.layer)),
              Effect.provideService(CatalogRepo, meanwhile)
            )
            assert.strictEqual(reads, 2)
            const { gallery } = yield* (yield* Drafts).sheet(ids.product)
            assert.deepStrictEqual(
              gallery.map(({ mediaId, storeIds }) => [mediaId, storeIds]),
              [ids.media, second].map((mediaId) => [mediaId, [here.id, there.id]])
            )
          })
        )
      )

      it.effect(
        "values of a store that does not have the entity are refused, unless the write also adds the entity",
        () =>
          inCatalog(({ actor, ids, there }) =>
            Effect.gen(function* () {
              const drafts = yield* Drafts
              const write = (kind: EntityKind, revision: number, values: Record<string, string | null>, adds = true) =>
                drafts.updateVersionAttributes(
                  ids[kind],
                  there.id,
                  {
                    draft_revision: revision,
                    attributes: Object.entries(values).map(([key, value]) => ({ key, value }))
                  },
                  adds
                )
              const revision = yield* revisionOf(ids.product)
              const before = yield* versionOf(actor)
              assert.strictEqual(yield* refusal(write("product", revision, { title: "x" }, false)), "No such record.")
              assert.strictEqual(
                yield* refusal(write("variant", yield* revisionOf(ids.variant), { title: "x" })),
                `store_id: the variant's product ${ids.product} is not on this store: add the product first`
              )
              assert.strictEqual(
                yield* refusal(write("product", revision, { status: "sold" })),
                "attributes.status: must be one of active, draft, archived, unlisted"
              )
              assert.instanceOf(yield* Effect.flip(write("product", revision - 1, { title: "x" })), RevisionConflict)
              assert.strictEqual(yield* versionOf(actor), before)

              const added = yield* write("product", revision, { title: "Zelt" })
              assert.strictEqual(added.draft_revision, revision + 1)
              assert.deepInclude(added.stores, { store_id: there.id, pending_publish: true })
              assert.include(yield* valuesOf(ids.product, there.id), { title: "Zelt" })
              assert.include(yield* valuesOf(ids.variant, there.id), { sku: "T-1" })
              const entries = yield* histories(ids.product)
              assert.deepStrictEqual(
                entries.slice(0, 2).map(({ action, changes, draft_revision, store_id }) => ({
                  action,
                  changes,
                  draft_revision,
                  store_id
                })),
                [
                  {
                    action: "attributes",
                    changes: [{ key: "title", old: null, new: "Zelt" }],
                    draft_revision: revision + 1,
                    store_id: there.id
                  },
                  { action: "added_to_store", changes: [], draft_revision: revision + 1, store_id: there.id }
                ]
              )
              // If the entity is on the store already, this is a normal write. Without values it only adds the entity.
              assert.strictEqual((yield* write("product", revision + 1, { title: "Z" })).draft_revision, revision + 2)
              const collection = yield* revisionOf(ids.collection)
              assert.strictEqual((yield* write("collection", collection, {})).draft_revision, collection + 1)
            })
          )
      )

      it.effect("the sheets of several entities equal the sheets of each one, in the requested order", () =>
        inCatalog(({ here, ids }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const second = yield* anEntity("variant", { sku: "T-2", price: "2.00" }, { on: [here], of: ids.product })
            yield* setOn(here, ids.variant, yield* revisionOf(ids.variant), { price: "9.00" })
            const asked = [second, nobody, ids.product, ids.variant]
            const sheets = yield* drafts.sheets("variant", asked)
            assert.deepStrictEqual(
              sheets.map(({ draftRevision, id }) => [id, draftRevision]),
              [
                [second, yield* revisionOf(second)],
                [ids.variant, yield* revisionOf(ids.variant)]
              ]
            )
            for (const found of sheets) {
              const { attributes, gallery, kind, stores } = yield* drafts.sheet(found.id)
              assert.deepStrictEqual([found.attributes, found.gallery, found.kind], [attributes, gallery, kind])
              assert.deepStrictEqual(found.stores, stores)
              assert.strictEqual(found.title, (yield* drafts.get(found.id, null)).title)
            }
            assert.strictEqual(sheets[1]?.stores[0]?.overrides.price?.value, "9.00")
            assert.deepStrictEqual(yield* drafts.sheets("variant", []), [])
            const stranger = yield* anAccount()
            const theirs = drafts
              .sheets("variant", asked)
              .pipe(actingAs({ _tag: "Cli", accountId: stranger.accountId }))
            assert.deepStrictEqual(yield* theirs, [])
          })
        )
      )

      it.effect("a gallery is ordered as a whole, and stores without the entity keep their entries", () =>
        inCatalog(({ here, ids, there }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const second = yield* anEntity("media", { url: "https://shop.example/b.jpg" })
            const entry = (mediaId: EntityId, ...storeIds: ReadonlyArray<StoreId>) => ({ mediaId, storeIds })
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetGallery({
                entityId: ids.product,
                entries: [entry(ids.media, here.id, there.id), entry(second, there.id)]
              })
            ])
            const revision = yield* revisionOf(ids.product)
            const gallery = Effect.map(drafts.sheet(ids.product), (sheet) => sheet.gallery)
            // The product is not on the other store.
            assert.deepStrictEqual(yield* gallery, [entry(ids.media, here.id), entry(second)])
            const shownOnce = [entry(second, here.id), entry(ids.media)]
            const unnamed = drafts.updateGallery(ids.product, revision, shownOnce)
            assert.strictEqual((yield* Effect.flip(unnamed))._tag, "NotFound")
            const state = yield* drafts.updateGallery(ids.product, revision, shownOnce, [second])
            // The store that newly shows the picture has it.
            assert.deepStrictEqual(
              (yield* drafts.sheet(second)).stores.map(({ projection }) => projection.store_id),
              [here.id]
            )
            assert.strictEqual(state.draft_revision, revision + 1)
            assert.deepStrictEqual(yield* gallery, [entry(second, here.id), entry(ids.media)])
            const [newest] = yield* histories(ids.product)
            assert.deepInclude(newest, { action: "gallery", draft_revision: revision + 1, store_id: null, changes: [] })
            // The same again is no write.
            const same = [entry(second, here.id), entry(ids.media)]
            assert.deepStrictEqual(yield* drafts.updateGallery(ids.product, revision + 1, same), state)
            yield* drafts.addStoreVersion(ids.product, there.id)
            assert.deepStrictEqual(yield* gallery, [entry(second, here.id, there.id), entry(ids.media, there.id)])
            for (const entries of [[...same, ...same], [same[0], same[0]].flatMap((each) => each ?? [])])
              assert.strictEqual(
                yield* refusal(drafts.updateGallery(ids.product, revision + 2, entries)),
                "entries: must name each media file once"
              )
            const many = Array.from({ length: maxGallery + 1 }, (_, index) =>
              entry(EntityId.make(`00000000-0000-4000-8000-${String(index).padStart(12, "0")}`))
            )
            assert.strictEqual(
              yield* refusal(drafts.updateGallery(ids.product, revision + 2, many)),
              "entries: must have at most 250 media files"
            )
            const third = yield* anEntity("media", { url: "https://shop.example/c.jpg" })
            for (const broken of [
              // A product, an entry that is not named as added, and an unknown one.
              drafts.updateGallery(ids.product, revision + 2, [...same, entry(ids.variant)], [ids.variant]),
              drafts.updateGallery(ids.product, revision + 2, [...same, entry(third, here.id)]),
              drafts.updateGallery(ids.product, revision + 2, [...same, entry(nobody)], [nobody]),
              drafts.updateGallery(ids.product, revision + 2, [entry(second, nowhere), entry(ids.media)]),
              drafts.updateGallery(nobody, revision + 2, same)
            ])
              assert.strictEqual((yield* Effect.flip(broken))._tag, "NotFound")
            assert.strictEqual(
              yield* refusal(drafts.updateGallery(ids.product, revision + 1, [...same].reverse())),
              new RevisionConflict({ entityId: ids.product, currentRevision: revision + 2 }).message
            )
            assert.deepStrictEqual(yield* gallery, [entry(second, here.id, there.id), entry(ids.media, there.id)])
            // An entry is taken out, and another one is added, also to the stores that show it.
            const changed = [entry(third, there.id), entry(ids.media, there.id)]
            yield* drafts.updateGallery(ids.product, revision + 2, changed, [third])
            assert.deepStrictEqual(yield* gallery, changed)
            assert.deepStrictEqual(
              (yield* drafts.sheet(third)).stores.map(({ projection }) => projection.store_id),
              [there.id]
            )
            yield* drafts.updateGallery(ids.product, revision + 3, [])
            assert.deepStrictEqual(yield* gallery, [])
          })
        )
      )

      it.effect("the history has every revision with its author, changes and time, newest first", () =>
        inCatalog(({ accountId, actor, here, ids, there }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const [key] = yield* (yield* ApiKeys).list(accountId)
            assert.isDefined(key)
            const before = (yield* histories(ids.product)).length
            const revision = yield* revisionOf(ids.product)
            yield* set(ids.product, revision, { vendor: "Tern", title: "Tent 2", "spec.made": null }).pipe(
              actingAs({ _tag: "Key", accountId, keyId: key.id })
            )
            yield* setOn(here, ids.product, revision + 1, { title: "" })
            yield* setOn(here, ids.product, revision + 2, { title: null })
            yield* drafts.addStoreVersion(ids.product, there.id)
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetGallery({
                entityId: ids.product,
                entries: [{ mediaId: ids.media, storeIds: [here.id] }]
              }),
              CatalogChange.RemoveFromStore({ entityId: ids.product, storeId: there.id }),
              CatalogChange.SetMembers({ collectionId: ids.collection, productIds: [ids.product] })
            ])
            yield* anEntity("variant", { sku: "T-2" }, { of: ids.product })

            const all = yield* histories(ids.product)
            assert.deepStrictEqual(yield* Schema.decodeUnknown(Schema.Array(HistoryEntry))(all), all)
            const cli = { kind: "cli", id: null, name: null } as const
            const canonical = {
              import_id: null,
              drop: null,
              undo_of: null,
              store_id: null,
              store_domain: null,
              changes: [],
              error: null
            }
            const onHere = { ...canonical, store_id: here.id, store_domain: "a.example" }
            const onThere = { ...canonical, store_id: there.id, store_domain: "b.example" }
            const tail = all.slice(0, all.length - before)
            const expected: ReadonlyArray<Omit<HistoryEntry, "at">> = [
              { draft_revision: revision + 6, actor: cli, action: "variants", ...canonical },
              { draft_revision: revision + 5, actor: cli, action: "removed_from_store", ...onThere },
              { draft_revision: revision + 5, actor: cli, action: "gallery", ...canonical },
              { draft_revision: revision + 4, actor: cli, action: "added_to_store", ...onThere },
              {
                draft_revision: revision + 3,
                actor: cli,
                action: "attributes",
                ...onHere,
                changes: [{ key: "title", old: "", new: null }]
              },
              {
                draft_revision: revision + 2,
                actor: cli,
                action: "attributes",
                ...onHere,
                changes: [{ key: "title", old: null, new: "" }]
              },
              {
                draft_revision: revision + 1,
                actor: { kind: "key", id: key.id, name: "Test" },
                action: "attributes",
                ...canonical,
                changes: [
                  { key: "spec.made", old: "1", new: null },
                  { key: "title", old: "Tent", new: "Tent 2" },
                  { key: "vendor", old: null, new: "Tern" }
                ]
              }
            ]
            assert.deepStrictEqual(
              tail.map(({ at: _, ...entry }) => entry),
              expected
            )

            assert.deepStrictEqual(
              [...all]
                .map(({ at }) => at)
                .sort()
                .reverse(),
              all.map(({ at }) => at)
            )
            assert.deepStrictEqual(all.at(-1)?.action, "created")
            assert.deepStrictEqual(
              [...new Set(all.map(({ draft_revision }) => draft_revision))],
              Array.from({ length: revision + 6 }, (_, index) => revision + 6 - index)
            )
            assert.deepStrictEqual(yield* drafts.history(ids.product, 2), all.slice(0, 2))
            assert.deepStrictEqual(yield* drafts.history(ids.product, -1), all.slice(0, 1))
            const found = (filter: HistoryFilter, limit = 250) => drafts.history(ids.product, limit, filter)
            const of = (revisions: ReadonlyArray<number>) =>
              all.filter(({ draft_revision }) => revisions.includes(draft_revision - revision))
            assert.deepStrictEqual(yield* found({ revision: revision + 1 }), of([1]))
            assert.deepStrictEqual(yield* found({ revision: revision + 5 }), of([5]))
            assert.deepStrictEqual(yield* found({ key: "title", storeId: here.id }), of([2, 3]))
            assert.deepStrictEqual(yield* found({ key: "title", storeId: here.id }, 1), of([3]))
            assert.deepStrictEqual(yield* found({ key: "title", storeId: there.id }), [])
            const titles = yield* found({ key: "title" })
            assert.deepStrictEqual(
              titles.slice(0, 3),
              of([1, 2, 3]).map((entry) => ({
                ...entry,
                changes: entry.changes.filter(({ key }) => key === "title")
              }))
            )
            assert.deepStrictEqual(yield* found({ key: "title", storeId: null }), titles.slice(2))
            assert.deepStrictEqual(
              (yield* histories(ids.collection)).map(({ action, draft_revision }) => [draft_revision, action]),
              [
                [2, "members"],
                [1, "created"]
              ]
            )
            const theirs = yield* aCatalog
            assert.deepStrictEqual(
              (yield* histories(theirs.ids.media).pipe(actingAs(theirs.actor))).map(({ action }) => action),
              ["created"]
            )
            assert.strictEqual((yield* versionOf(actor)).includes(theirs.ids.media), false)
          })
        )
      )
    })
  })
}
