import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Catalog } from "../../src/catalog/Catalog.ts"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { ChangeFeed } from "../../src/feed/ChangeFeed.ts"
import type { AttributeEdit } from "../../src/model/AttributeRules.ts"
import type { ValidationFailed } from "../../src/model/Errors.ts"
import { EntityId, nilUuid, StoreId } from "../../src/model/Ids.ts"
import type { FirstOption } from "../../src/model/ProductOptions.ts"
import type { Store } from "../../src/model/Store.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const nobody = EntityId.make(nilUuid)

const edits = (values: Readonly<Record<string, string>>): ReadonlyArray<AttributeEdit> =>
  Object.entries(values).map(([key, value]) => ({ key, value }))

const newId = mintId(EntityId)

const create = (entity: NewEntity) => Effect.flatMap(Drafts, (drafts) => drafts.create(entity))

/** Everything that a refusal says: its issues, or the name of the error. */
const refusal = <R>(write: Effect.Effect<unknown, { readonly _tag: string } | ValidationFailed, R>) =>
  Effect.map(Effect.flip(write), (error) => ("issues" in error ? error.issues : [error._tag]))

const refused = (entity: NewEntity) => refusal(create(entity))

const membersOf = (collectionId: EntityId) =>
  Effect.map(
    Effect.flatMap(Catalog, (catalog) => catalog.related(collectionId, { limit: 10 })),
    ({ text }) => (JSON.parse(text) as { products: ReadonlyArray<{ id: string }> }).products.map(({ id }) => id)
  )

/** Runs a write that must not change the entity, nor add to its history and to the feed of changes. */
const staysAs = <A, E, R>(id: EntityId, write: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const feed = yield* ChangeFeed
    const state = Effect.all([
      drafts.get(id, null),
      drafts.history(id, 250),
      Effect.map(feed.page({ limit: 1, cursor: "latest" }), ({ text }) => text)
    ])
    const before = yield* state
    const result = yield* write
    assert.deepStrictEqual(yield* state, before)
    return result
  })

const aProduct = (values: Readonly<Record<string, string>>, storeIds: ReadonlyArray<StoreId> = []) =>
  Effect.map(Effect.all([newId, newId]), ([id, variantId]) =>
    NewEntity.Product({
      id,
      variantId,
      attributes: edits(values),
      variant: edits({ sku: "T-1", price: "10" }),
      storeIds
    })
  )

const aVariant = (
  productId: EntityId,
  optionValues: ReadonlyArray<string>,
  firstOption: FirstOption | null = null,
  values: Readonly<Record<string, string>> = {}
) =>
  Effect.map(newId, (id) => NewEntity.Variant({ id, productId, optionValues, firstOption, attributes: edits(values) }))

const valuesOf = (id: EntityId) =>
  Effect.map(
    Effect.flatMap(Drafts, (drafts) => drafts.get(id, null)),
    ({ attributes }) => Object.fromEntries(attributes.flatMap(({ key, value }) => (value === "" ? [] : [[key, value]])))
  )

const inAccount = <E, R>(body: (stores: readonly [Store, Store]) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
    yield* actingAs(actor)(body([stores[0], stores[1]]))
  })

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`entities are created, on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("a product has its first variant, and both are drafts on the chosen stores", () =>
        inAccount(([a]) =>
          Effect.gen(function* () {
            const entity = yield* aProduct({ title: "Tent", vendor: "Hill" }, [a.id])
            const state = yield* create(entity)
            assert.deepStrictEqual(state, {
              entity_id: entity.id,
              entity_type: "product",
              draft_revision: 1,
              pending_publish: true,
              stores: [{ store_id: a.id, pending_publish: true }]
            })
            const { variantIds } = yield* (yield* Catalog).get("product", entity.id)
            assert.strictEqual(variantIds.length, 1)
            assert.deepStrictEqual(yield* valuesOf(entity.id), {
              title: "Tent",
              vendor: "Hill",
              handle: "tent",
              options: '[{"name":"Title","values":["Default Title"]}]'
            })
            const [variantId = nobody] = variantIds
            assert.deepStrictEqual(yield* valuesOf(variantId), {
              title: "Default Title",
              option1: "Default Title",
              sku: "T-1",
              price: "10"
            })
            const onStores = yield* (yield* Drafts).projections(variantId)
            assert.deepStrictEqual(
              onStores.map(({ store_id }) => store_id),
              [a.id]
            )
          })
        )
      )
      it.effect("history begins with the creation", () =>
        inAccount(() =>
          Effect.gen(function* () {
            const id = yield* newId
            yield* create(NewEntity.Collection({ id, attributes: edits({ title: "Summer" }), storeIds: [] }))
            const history = yield* (yield* Drafts).history(id, 10)
            assert.deepStrictEqual(
              history.map(({ action, draft_revision }) => [action, draft_revision]),
              [["created", 1]]
            )
          })
        )
      )
      it.effect("the second variant of a product gives it its first option", () =>
        inAccount(([a, b]) =>
          Effect.gen(function* () {
            const product = yield* aProduct({ title: "Tent" }, [a.id, b.id])
            yield* create(product)
            const large = yield* aVariant(product.id, ["L"], { name: "Size", former: "S" }, { sku: "T-2" })
            const state = yield* create(large)
            assert.deepStrictEqual(
              state.stores.map(({ store_id }) => store_id),
              [a.id, b.id]
            )
            const { variantIds } = yield* (yield* Catalog).get("product", product.id)
            assert.deepStrictEqual(variantIds.slice(1), [large.id])
            assert.deepStrictEqual((yield* valuesOf(product.id)).options, '[{"name":"Size","values":["S","L"]}]')
            const [first = nobody] = variantIds
            assert.deepInclude(yield* valuesOf(first), { title: "S", option1: "S", sku: "T-1" })
            assert.deepStrictEqual(yield* valuesOf(large.id), { title: "L", option1: "L", sku: "T-2" })
            const third = yield* aVariant(product.id, ["M"])
            yield* create(third)
            assert.deepStrictEqual((yield* valuesOf(product.id)).options, '[{"name":"Size","values":["S","L","M"]}]')
          })
        )
      )
      it.effect("a variant has a value for each option, which no other variant has", () =>
        inAccount(([a]) =>
          Effect.gen(function* () {
            const product = yield* anEntity(
              "product",
              { title: "Tent", options: '[{"name":"Size","values":["S"]},{"name":"Color","values":["Red"]}]' },
              { on: [a] }
            )
            const overridden = yield* anEntity("variant", { option1: "S", option2: "Red" }, { on: [a], of: product })
            yield* (yield* Drafts).updateVersionAttributes(overridden, a.id, {
              draft_revision: 1,
              attributes: edits({ option2: "Blue" })
            })
            const at = (values: ReadonlyArray<string>) => Effect.flatMap(aVariant(product, values), refused)
            const taken = [
              { path: "option_values.0", message: "another variant of the product has these option values" }
            ]
            assert.deepStrictEqual(yield* at(["S", "Red"]), taken)
            assert.deepStrictEqual(yield* at(["S", "Blue"]), taken)
            assert.deepStrictEqual(yield* at(["S"]), [
              { path: "option_values", message: "must have a value for each option: Size, Color" }
            ])
            assert.deepStrictEqual(yield* at(["", "a / b"]), [
              { path: "option_values.0", message: "must not be empty" },
              { path: "option_values.1", message: 'must not contain " / "' }
            ])
            const green = yield* aVariant(product, ["S", "Green"])
            yield* create(green)
            assert.deepStrictEqual(
              (yield* valuesOf(product)).options,
              '[{"name":"Size","values":["S"]},{"name":"Color","values":["Red","Green"]}]'
            )
            assert.strictEqual((yield* valuesOf(green.id)).title, "S / Green")
          })
        )
      )
      it.effect("values that people read as the same are the same, and stores must have the same options", () =>
        inAccount(([a, b]) =>
          Effect.gen(function* () {
            const options = '[{"name":"Size","values":["XL"]}]'
            const product = yield* anEntity("product", { title: "Tent", options }, { on: [a, b] })
            const large = yield* anEntity("variant", { option1: "XL" }, { on: [a, b], of: product })
            const at = (id: EntityId, values: ReadonlyArray<string>, first: FirstOption | null = null) =>
              Effect.flatMap(aVariant(id, values, first), refused)
            const taken = [
              { path: "option_values.0", message: "another variant of the product has these option values" }
            ]
            for (const value of ["xl", " XL ", "X\u200bL", "XL\u3164", "ＸＬ"])
              assert.deepStrictEqual(yield* at(product, [value]), taken)
            const translated = { draft_revision: 1, attributes: edits({ option1: "特大" }) }
            yield* (yield* Drafts).updateVersionAttributes(large, b.id, translated)
            yield* create(yield* aVariant(product, ["S"]))
            const differs = [
              {
                path: "",
                message: "The product has other options on one of its stores: give it the same options there first."
              }
            ]
            yield* (yield* Drafts).updateVersionAttributes(large, b.id, {
              draft_revision: 2,
              attributes: edits({ option2: "Red" })
            })
            assert.deepStrictEqual(yield* at(product, ["M"]), differs)
            const plain = yield* aProduct({ title: "Map" }, [a.id, b.id])
            yield* create(plain)
            const [only = nobody] = (yield* (yield* Catalog).get("product", plain.id)).variantIds
            yield* (yield* Drafts).updateVersionAttributes(only, b.id, {
              draft_revision: 1,
              attributes: edits({ option1: "L" })
            })
            assert.deepStrictEqual(yield* at(plain.id, ["L"], { name: "Size", former: "S" }), differs)
            const gap = yield* anEntity("product", { title: "Rope", options }, {})
            yield* anEntity("variant", { option2: "XL" }, { of: gap })
            assert.deepStrictEqual(yield* at(gap, ["M"]), [
              { path: "", message: "The variants of the product have no option values: give them values first." }
            ])
          })
        )
      )
      it.effect("a product gets its first option also if it is live, but not while its first publish is open", () =>
        inAccount(([a]) =>
          Effect.gen(function* () {
            const product = yield* aProduct({ title: "Tent" }, [a.id])
            yield* create(product)
            const large = yield* aVariant(product.id, ["L"], { name: "Size", former: "S" })
            const apply = (change: CatalogChange) =>
              Effect.flatMap(CatalogChanges, (service) => Effect.orDie(service.apply([change])))
            const on = { entityId: product.id, storeId: a.id }
            yield* apply(CatalogChange.RequestPublish(on))
            assert.deepStrictEqual(yield* refused(large), [
              {
                path: "",
                message: "The first publish of the product has not ended yet: add the variant after it."
              }
            ])
            yield* apply(CatalogChange.AcceptPublish({ ...on, platformId: "gid://shopify/Product/1" }))
            yield* create(large)
            assert.strictEqual((yield* valuesOf(product.id)).options, '[{"name":"Size","values":["S","L"]}]')
            // A later publish that is open sends the option that its request has fixed.
            const other = yield* aProduct({ title: "Stove" }, [a.id])
            yield* create(other)
            const there = { entityId: other.id, storeId: a.id }
            yield* apply(CatalogChange.AcceptPublish({ ...there, platformId: "gid://shopify/Product/2" }))
            yield* apply(CatalogChange.RequestPublish(there))
            yield* create(yield* aVariant(other.id, ["L"], { name: "Size", former: "S" }))
            const failed = yield* aProduct({ title: "Map" }, [a.id])
            yield* create(failed)
            const error = { code: "INVALID_INPUT", message: "Title can't be blank" }
            yield* apply(CatalogChange.RequestPublish({ ...there, entityId: failed.id }))
            yield* apply(CatalogChange.RefusePublish({ ...there, entityId: failed.id, error }))
            yield* create(yield* aVariant(failed.id, ["L"], { name: "Size", former: "S" }))
          })
        )
      )
      it.effect("a title makes a handle that no other product or collection has", () =>
        inAccount(() =>
          Effect.gen(function* () {
            const handleOf = (title: string, values: Readonly<Record<string, string>> = {}) =>
              Effect.gen(function* () {
                const entity = yield* aProduct({ title, ...values })
                yield* create(entity)
                return (yield* valuesOf(entity.id)).handle
              })
            assert.strictEqual(yield* handleOf("  Zelt & Über-Zelt! "), "zelt-über-zelt")
            assert.strictEqual(yield* handleOf("Zelt, über Zelt"), "zelt-über-zelt-2")
            assert.strictEqual(yield* handleOf("دلة قهوة"), "دلة-قهوة")
            assert.strictEqual(yield* handleOf("ที่นอน ①"), "ที่นอน-1")
            assert.isUndefined(yield* handleOf("!!!"))
            assert.strictEqual(yield* handleOf(`a${"\u{20000}".repeat(120)}`), `a${"\u{20000}".repeat(99)}`)
            assert.strictEqual(yield* handleOf("Tent", { handle: "own" }), "own")
            const many = yield* Effect.replicateEffect(handleOf("x".repeat(250)), 23)
            assert.deepStrictEqual(
              many.slice(0, 20),
              many.slice(0, 20).map((_, index) => `${"x".repeat(200)}${index === 0 ? "" : `-${index + 1}`}`)
            )
            for (const handle of many.slice(20)) assert.match(handle ?? "", /^x{200}-[0-9a-f-]{36}$/)
            assert.lengthOf([...new Set(many)], 23)
          })
        )
      )
      it.effect("a product without variants gets one without options, or with its first option", () =>
        inAccount(() =>
          Effect.gen(function* () {
            const [plain, sized] = [
              yield* anEntity("product", { title: "Map" }),
              yield* anEntity("product", { title: "Rope" })
            ]
            const only = yield* aVariant(plain, [])
            yield* create(only)
            assert.strictEqual((yield* valuesOf(only.id)).title, "Default Title")
            yield* create(yield* aVariant(sized, ["20 m"], { name: "Length", former: "" }))
            assert.strictEqual((yield* valuesOf(sized)).options, '[{"name":"Length","values":["20 m"]}]')
          })
        )
      )
      it.effect("an option that a product has not named gets a name", () =>
        inAccount(() =>
          Effect.gen(function* () {
            const product = yield* anEntity("product", { title: "Map" })
            yield* anEntity("variant", { option1: "Paper" }, { of: product })
            yield* create(yield* aVariant(product, ["Cloth"]))
            assert.strictEqual((yield* valuesOf(product)).options, '[{"name":"Option 1","values":["Paper","Cloth"]}]')
          })
        )
      )
      it.effect("a picture is the last of a gallery, on all stores of its entity", () =>
        inAccount(([a, b]) =>
          Effect.gen(function* () {
            const product = yield* aProduct({ title: "Tent" }, [a.id, b.id])
            yield* create(product)
            const addPicture = (url: string) =>
              Effect.tap(newId, (id) =>
                create(NewEntity.Media({ id, url, attributes: edits({ alt: "A tent" }), shownBy: product.id }))
              )
            const first = yield* addPicture("https://cdn.example/a%20tent.png?v=1")
            const second = yield* addPicture("https://cdn.example/%E0%A4%A.png")
            for (const [name, shown] of [
              ["a%0Ab%2Fc.png", "a%0Ab%2Fc.png"],
              ["a%00.png", "a%00.png"],
              ["x".repeat(300), "x".repeat(255)]
            ]) {
              const id = yield* newId
              yield* create(NewEntity.Media({ id, url: `https://cdn.example/${name}`, attributes: [], shownBy: null }))
              assert.strictEqual((yield* valuesOf(id)).file_name, shown)
            }
            assert.deepStrictEqual(yield* valuesOf(first), {
              url: "https://cdn.example/a%20tent.png?v=1",
              file_name: "a tent.png",
              alt: "A tent"
            })
            assert.strictEqual((yield* valuesOf(second)).file_name, "%E0%A4%A.png")
            const { gallery } = yield* (yield* Drafts).sheet(product.id)
            assert.deepStrictEqual(gallery, [
              { mediaId: first, storeIds: [a.id, b.id] },
              { mediaId: second, storeIds: [a.id, b.id] }
            ])
            const loose = yield* newId
            yield* create(
              NewEntity.Media({ id: loose, url: "https://cdn.example/x.png", attributes: [], shownBy: null })
            )
            assert.deepStrictEqual((yield* (yield* Catalog).get("media", loose)).stores, [])
          })
        )
      )
      it.effect("products come to the end of a collection, and others leave it", () =>
        inAccount(([a]) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const [tent, stove, map] = yield* Effect.forEach(["Tent", "Stove", "Map"], (title) =>
              anEntity("product", { title })
            )
            assert(tent !== undefined && stove !== undefined && map !== undefined)
            const id = yield* newId
            yield* create(NewEntity.Collection({ id, attributes: edits({ title: "Summer" }), storeIds: [a.id] }))
            yield* drafts.changeMembers(id, [tent, stove, tent], [])
            const { draft_revision } = yield* drafts.changeMembers(id, [map, tent], [stove])
            assert.deepStrictEqual(yield* membersOf(id), [tent, map])
            // Nothing changes, so the revision stays.
            assert.deepInclude(yield* drafts.changeMembers(id, [map], [stove]), { draft_revision })
            assert.deepStrictEqual((yield* drafts.history(id, 10)).map(({ action }) => action).slice(0, 2), [
              "members",
              "members"
            ])
            const others = yield* anAccount({ domains: ["d.example"] })
            const theirs = yield* actingAs(others.actor)(anEntity("product", { title: "Theirs" }))
            for (const [collectionId, product] of [
              [id, theirs],
              [id, id],
              [nobody, tent],
              [tent, map]
            ] as const) {
              const error = yield* Effect.flip(drafts.changeMembers(collectionId, [product], []))
              assert.strictEqual(error._tag, "NotFound")
            }
            assert.deepStrictEqual(yield* membersOf(id), [tent, map])
          })
        )
      )
      it.effect("a product is moved within a collection, and the others keep their order", () =>
        inAccount(([a]) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const [tent, stove, map, rope] = yield* Effect.forEach(["Tent", "Stove", "Map", "Rope"], (title) =>
              anEntity("product", { title })
            )
            assert(tent !== undefined && stove !== undefined && map !== undefined && rope !== undefined)
            const id = yield* anEntity("collection", { title: "Summer" }, { on: [a] })
            yield* drafts.changeMembers(id, [tent, stove, map], [])
            yield* (yield* CatalogChanges).apply([CatalogChange.AcceptPublish({ entityId: id, storeId: a.id })])
            for (const [product, to, from, place, order] of [
              [map, "up", 3, 2, [tent, map, stove]],
              [tent, "down", 1, 2, [map, tent, stove]],
              [stove, 1, 3, 1, [stove, map, tent]],
              [map, 3, 2, 3, [stove, tent, map]]
            ] as const) {
              const before = yield* drafts.get(id, null)
              assert.deepStrictEqual(yield* drafts.moveMember(id, product, to), { before: from, place, count: 3 })
              assert.deepStrictEqual(yield* membersOf(id), [...order])
              const after = yield* drafts.get(id, null)
              assert.deepStrictEqual(
                [after.draft_revision - before.draft_revision, after.pending_publish],
                [1, true],
                String(to)
              )
            }
            assert.deepStrictEqual(
              (yield* drafts.history(id, 4)).map(({ action, draft_revision }) => `${draft_revision} ${action}`),
              [6, 5, 4, 3].map((revision) => `${revision} members`)
            )
            yield* staysAs(
              id,
              Effect.forEach(
                [
                  [stove, "up", 1],
                  [tent, 2, 2],
                  [map, "down", 3]
                ] as const,
                ([product, to, place]) =>
                  Effect.map(drafts.moveMember(id, product, to), (at) =>
                    assert.deepStrictEqual(at, { before: place, place, count: 3 })
                  )
              )
            )
            for (const to of [0, -1, 1.5, 4, Number.NaN])
              assert.deepStrictEqual(
                yield* staysAs(id, refusal(drafts.moveMember(id, map, to))),
                [{ path: "to", message: "must be a whole number from 1 to 3" }],
                String(to)
              )
            for (const [collection, product] of [
              [id, rope],
              [nobody, tent],
              [tent, stove],
              [id, id]
            ] as const)
              assert.deepStrictEqual(yield* refusal(drafts.moveMember(collection, product, 1)), ["NotFound"])
            const others = yield* anAccount({ domains: ["d.example"] })
            assert.deepStrictEqual(yield* actingAs(others.actor)(refusal(drafts.moveMember(id, map, 1))), ["NotFound"])
            assert.deepStrictEqual(yield* membersOf(id), [stove, tent, map])
          })
        )
      )
      it.effect("the products of a collection are listed with their positions, after its pictures", () =>
        inAccount(() =>
          Effect.gen(function* () {
            const { members } = yield* Catalog
            const products = yield* Effect.forEach(["Tent", "Stove", "Map"], (title) => anEntity("product", { title }))
            const picture = yield* anEntity("media", { url: "https://cdn.example/a.png" })
            const id = yield* anEntity("collection", { title: "Summer" })
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetGallery({ entityId: id, entries: [{ mediaId: picture, storeIds: [] }] }),
              CatalogChange.SetMembers({ collectionId: id, productIds: products })
            ])
            const all = products.map((product, index) => ({ id: product, position: index + 1 }))
            const first = yield* members(id, { limit: 2 })
            assert.deepStrictEqual(first.members, all.slice(0, 2))
            assert(first.next !== undefined)
            const rest = { members: all.slice(2), next: undefined }
            assert.deepStrictEqual(yield* members(id, { limit: 2, cursor: first.next }), rest)
            assert.deepStrictEqual(yield* members(id, { limit: 2, cursor: "x" }), first)
            assert.deepStrictEqual(yield* members(nobody, { limit: 2 }), { members: [], next: undefined })
          })
        )
      )
      it.effect("products keep their order and their numbers when others leave, join or move", () =>
        inAccount(() =>
          Effect.gen(function* () {
            const { members } = yield* Catalog
            const drafts = yield* Drafts
            const titles = ["Tent", "Stove", "Map", "Rope", "Lamp", "Mat", "Cup"]
            const products = yield* Effect.forEach(titles, (title) => anEntity("product", { title }))
            const id = yield* anEntity("collection", { title: "Summer" })
            const [tent, stove, map, rope, lamp, mat, cup] = products
            assert(tent !== undefined && stove !== undefined && map !== undefined && rope !== undefined)
            assert(lamp !== undefined && mat !== undefined && cup !== undefined)
            const allPages = Effect.gen(function* () {
              const first = yield* members(id, { limit: 2 })
              const pages = [first]
              for (let { next } = first; next !== undefined; next = pages.at(-1)?.next)
                pages.push(yield* members(id, { limit: 2, cursor: next }))
              return pages.flatMap((page) => page.members)
            })
            for (const [write, order] of [
              [drafts.changeMembers(id, [tent, stove, map, rope, lamp], []), [tent, stove, map, rope, lamp]],
              [drafts.changeMembers(id, [], [stove]), [tent, map, rope, lamp]],
              [drafts.changeMembers(id, [mat], [tent]), [map, rope, lamp, mat]],
              [drafts.moveMember(id, mat, 2), [map, mat, rope, lamp]],
              [drafts.moveMember(id, map, "down"), [mat, map, rope, lamp]],
              [drafts.changeMembers(id, [stove, cup], [map]), [mat, rope, lamp, stove, cup]],
              [drafts.changeMembers(id, [], [mat, rope, lamp, stove]), [cup]],
              [drafts.changeMembers(id, [tent], []), [cup, tent]],
              [drafts.changeMembers(id, [], [cup, tent]), []],
              [drafts.changeMembers(id, [rope], []), [rope]]
            ] as const) {
              yield* write
              assert.deepStrictEqual(
                yield* allPages,
                order.map((product, place) => ({ id: product, position: place + 1 }))
              )
            }
          })
        )
      )
      it.effect("a variant is moved among those of its product", () =>
        inAccount(([a, b]) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const product = yield* anEntity("product", { title: "Tent" }, { on: [a, b] })
            const [small, medium, large] = yield* Effect.forEach(["S", "M", "L"], (option1) =>
              anEntity("variant", { option1, sku: option1 }, { of: product, on: option1 === "M" ? [a] : [a, b] })
            )
            assert(small !== undefined && medium !== undefined && large !== undefined)
            const variantsOf = Effect.map(
              Effect.flatMap(Catalog, (catalog) => catalog.get("product", product)),
              ({ variantIds }) => variantIds
            )
            yield* (yield* CatalogChanges).apply(
              [a, b].map(({ id }) => CatalogChange.AcceptPublish({ entityId: product, storeId: id }))
            )
            const pendingOn = Effect.map(drafts.projections(product), (all) =>
              all.map(({ pending_publish }) => pending_publish)
            )
            // The second store does not have the medium one, so its order did not change there.
            assert.deepStrictEqual(yield* drafts.moveVariant(product, medium, "up"), { before: 2, place: 1, count: 3 })
            assert.deepStrictEqual(yield* variantsOf, [medium, small, large])
            assert.deepStrictEqual(yield* pendingOn, [true, false])
            assert.deepStrictEqual(yield* drafts.moveVariant(product, small, "down"), { before: 2, place: 3, count: 3 })
            assert.deepStrictEqual(yield* variantsOf, [medium, large, small])
            assert.deepStrictEqual(yield* pendingOn, [true, true])
            assert.deepStrictEqual(yield* drafts.moveVariant(product, small, 1), { before: 3, place: 1, count: 3 })
            assert.deepStrictEqual(yield* variantsOf, [small, medium, large])
            assert.deepStrictEqual(yield* pendingOn, [false, false])
            assert.deepStrictEqual(
              (yield* drafts.history(product, 3)).map(({ action, draft_revision }) => `${draft_revision} ${action}`),
              [7, 6, 5].map((revision) => `${revision} variants`)
            )
            yield* staysAs(product, drafts.moveVariant(product, small, "up"))
            yield* staysAs(product, drafts.moveVariant(product, medium, 2))
            assert.deepStrictEqual(yield* staysAs(product, refusal(drafts.moveVariant(product, small, 4))), [
              { path: "to", message: "must be a whole number from 1 to 3" }
            ])
            const other = yield* anEntity("product", { title: "Stove" })
            const gas = yield* anEntity("variant", { option1: "Gas" }, { of: other })
            for (const [of, variant] of [
              [product, gas],
              [other, small],
              [nobody, small],
              [small, small],
              [product, product]
            ] as const)
              assert.deepStrictEqual(yield* refusal(drafts.moveVariant(of, variant, 1)), ["NotFound"])
            assert.deepStrictEqual(yield* variantsOf, [small, medium, large])
          })
        )
      )
      it.effect("wrong values are refused, and nothing is written", () =>
        inAccount(() =>
          Effect.gen(function* () {
            const product = yield* aProduct({ title: " ", handle: "x".repeat(256), nothing: "1" })
            const issues = yield* refused({ ...product, variant: edits({ price: "ten" }) } as NewEntity)
            assert.deepStrictEqual(
              issues.map((issue) => (typeof issue === "string" ? issue : issue.path)),
              ["attributes.title", "attributes.handle", "attributes.nothing", "variant.attributes.price"]
            )
            const id = yield* newId
            for (const title of ["", "\u200b", "\u2060\ufeff", " \u00ad ", "\u3164\ufe0f"]) {
              const nothing = [{ path: "attributes.title", message: "must not be empty" }]
              const attributes = edits({ title })
              assert.deepStrictEqual(yield* refused(NewEntity.Collection({ id, attributes, storeIds: [] })), nothing)
              assert.deepStrictEqual(
                yield* refused(NewEntity.Product({ ...(yield* aProduct({})), attributes })),
                nothing
              )
            }
            assert.deepStrictEqual(
              yield* refused({ ...product, attributes: edits({ title: "a\u0000" }) } as NewEntity),
              [{ path: "attributes.title", message: "must not contain U+0000" }]
            )
            assert.deepStrictEqual(
              yield* Effect.flip((yield* Drafts).get(product.id, null)).pipe(Effect.map(({ _tag }) => _tag)),
              "NotFound"
            )
            const picture = (url: string) =>
              Effect.flatMap(newId, (id) => refused(NewEntity.Media({ id, url, attributes: [], shownBy: null })))
            const notPublic = [
              { path: "url", message: "must be an address that begins with https://, without a user name or password" }
            ]
            for (const url of [
              "",
              "x.png",
              "http://cdn.example/x.png",
              "https://",
              "https://me@cdn.example/x.png",
              "https://:pw@cdn.example/x.png"
            ])
              assert.deepStrictEqual(yield* picture(url), notPublic)
            assert.deepStrictEqual(yield* picture(`https://cdn.example/${"x".repeat(2_048)}`), [
              { path: "url", message: "must have at most 2048 characters" }
            ])
          })
        )
      )
      it.effect("an id is taken once; owners and stores must exist", () =>
        inAccount(() =>
          Effect.gen(function* () {
            const product = yield* aProduct({ title: "Tent" })
            yield* create(product)
            assert.deepStrictEqual(yield* refused(product), [
              { path: "id", message: "an entity with this id exists already" }
            ])
            assert.deepStrictEqual(yield* refused(yield* aVariant(nobody, ["L"])), ["NotFound"])
            // A store that was unlinked after the form was checked.
            const message = "A store that you chose is not linked any more. Check the stores, then send the form again."
            const gone = StoreId.make(nilUuid)
            for (const entity of [
              yield* aProduct({ title: "Tent" }, [gone]),
              NewEntity.Collection({ id: yield* newId, attributes: edits({ title: "Summer" }), storeIds: [gone] })
            ])
              assert.deepStrictEqual(yield* refused(entity), [{ path: "", message }])
            const shownBy = nobody
            const id = yield* newId
            assert.deepStrictEqual(
              yield* refused(NewEntity.Media({ id, url: "https://cdn.example/x.png", attributes: [], shownBy })),
              ["NotFound"]
            )
            const others = yield* anAccount({ domains: ["c.example"] })
            const theirs = yield* actingAs(others.actor)(anEntity("product", { title: "Theirs" }))
            assert.deepStrictEqual(yield* refused(yield* aVariant(theirs, ["L"])), ["NotFound"])
          })
        )
      )
      it.effect("an option must be named, and its values must differ", () =>
        inAccount(() =>
          Effect.gen(function* () {
            const product = yield* aProduct({ title: "Tent" })
            yield* create(product)
            const at = (values: ReadonlyArray<string>, first: FirstOption | null) =>
              Effect.flatMap(aVariant(product.id, values, first), refused)
            assert.deepStrictEqual(yield* at(["L"], null), [
              {
                path: "first_option",
                message: "must name the option by which the variants differ, because the product has none"
              }
            ])
            assert.deepStrictEqual(yield* at([""], { name: "", former: "" }), [
              { path: "first_option.name", message: "must not be empty" },
              { path: "first_option.former", message: "must not be empty" },
              { path: "option_values.0", message: "must not be empty" }
            ])
            assert.deepStrictEqual(yield* at(["\u3164"], { name: " ", former: "\u200b" }), [
              { path: "first_option.name", message: "must not be empty" },
              { path: "first_option.former", message: "must not be empty" },
              { path: "option_values.0", message: "must not be empty" }
            ])
            const isNone = 'must not be "Default Title", which says that a variant has no options'
            assert.deepStrictEqual(yield* at(["Default Title"], { name: "Size", former: "default  title" }), [
              { path: "first_option.former", message: isNone },
              { path: "option_values.0", message: isNone }
            ])
            assert.deepStrictEqual(yield* at(["L", "M"], { name: "Size", former: "S" }), [
              { path: "option_values", message: "must have one value" }
            ])
            assert.deepStrictEqual(yield* at(["S"], { name: "Size", former: "S" }), [
              { path: "option_values.0", message: "another variant of the product has these option values" }
            ])
            const sized = yield* anEntity("product", { title: "Rope" })
            yield* anEntity("variant", { option1: "20 m" }, { of: sized })
            // Somebody else gave the product its first option after the form was opened.
            assert.deepStrictEqual(yield* refused(yield* aVariant(sized, ["L"], { name: "Size", former: "S" })), [
              { path: "", message: "The product has got its first option meanwhile: send the form again to see it." }
            ])
            yield* anEntity("variant", { sku: "T-2" }, { of: product.id })
            assert.deepStrictEqual(yield* at(["L"], { name: "Size", former: "S" }), [
              { path: "", message: "The variants of the product have no option values: give them values first." }
            ])
          })
        )
      )
    })
  })
}
