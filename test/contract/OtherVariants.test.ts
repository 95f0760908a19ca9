import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { LockedCatalog } from "../../src/drafts/CatalogChange.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import type { AccountId, EntityId } from "../../src/model/Ids.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Remediation
} from "../../src/testing/index.ts"
import { wronglyDerived } from "../faults/Derivations.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

/** A product with three variants on two stores; the last variant is only on the first store, where its SKU is overridden. */
const aProduct = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [a, b] = stores
  return yield* Effect.gen(function* () {
    const product = yield* anEntity("product", { title: "Tent" }, { on: stores })
    const small = yield* anEntity("variant", { sku: "T-S" }, { on: stores, of: product })
    const large = yield* anEntity("variant", { sku: "T-L" }, { on: stores, of: product })
    const huge = yield* anEntity("variant", { sku: "T-H" }, { on: [a], of: product })
    yield* apply(
      CatalogChange.SetOverrides({ entityId: huge, storeId: a.id, values: { sku: "A-H" } }),
      ...stores.map(({ id }) => CatalogChange.AcceptPublish({ entityId: product, storeId: id }))
    )
    return { accountId, actor, a, b, product, small, large, huge }
  }).pipe(actingAs(actor))
})

type Product = Effect.Effect.Success<typeof aProduct>

const withProduct = <E, R>(body: (product: Product) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aProduct, (product) => actingAs(product.actor)(body(product)))

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => Effect.orDie(service.apply(changes)))

/** The complete entities, and those whose derived fields differ from the result of the pure function on their sources. */
const derivations = (accountId: AccountId, product: EntityId) =>
  Effect.gen(function* () {
    const { aggregates } = yield* (yield* DraftsRepo).read(accountId, [product], [])
    return { aggregates, wrong: wronglyDerived([...aggregates.values()]) }
  })

const namesIn = ({ aggregates, summaries }: LockedCatalog) => ({
  complete: [...aggregates.keys()].sort(),
  summarized: [...summaries.keys()].sort()
})

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`other variants of a changed product on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect(
        "a change of a product reads only a summary of its variants, and one of a variant only of its siblings",
        () =>
          withProduct(({ a, accountId, b, huge, large, product, small }) =>
            Effect.gen(function* () {
              const { read } = yield* DraftsRepo
              const ofProduct = yield* read(accountId, [product], [], "summarized")
              assert.deepStrictEqual(namesIn(ofProduct), {
                complete: [product],
                summarized: [small, large, huge].sort()
              })
              const parentId = product
              assert.deepStrictEqual(ofProduct.summaries.get(large), {
                ...{ id: large, parentId, position: 1, storeIds: [a.id, b.id] },
                skus: ["T-L", "", ""]
              })
              assert.deepStrictEqual(ofProduct.summaries.get(huge), {
                ...{ id: huge, parentId, position: 2, storeIds: [a.id] },
                skus: ["T-H", "A-H"]
              })
              assert.deepStrictEqual(namesIn(yield* read(accountId, [large], [], "summarized")), {
                complete: [product, large].sort(),
                summarized: [small, huge].sort()
              })
              assert.deepStrictEqual(namesIn(yield* read(accountId, [product], [])), {
                complete: [product, small, large, huge].sort(),
                summarized: []
              })
            })
          )
      )

      it.effect("derived fields of a product and all its variants are right after every kind of change", () =>
        withProduct(({ a, accountId, b, huge, large, product, small }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const remediation = yield* Remediation
            const revision = Effect.map(drafts.get(product, null), ({ draft_revision }) => draft_revision)
            const edit = (key: string, value: string) =>
              Effect.flatMap(revision, (draft_revision) =>
                drafts.updateAttributes(product, { draft_revision, attributes: [{ key, value }] })
              )
            const searchTexts = (id: EntityId, part: string) =>
              Effect.map(derivations(accountId, product), ({ aggregates, wrong }) => {
                assert.deepStrictEqual(wrong, [])
                return aggregates.get(id)?.searchText.includes(part)
              })
            yield* edit("vendor", "North")
            assert.isTrue(yield* searchTexts(product, "a - h"))
            yield* apply(CatalogChange.SetAttributes({ entityId: small, values: { sku: "Short" } }))
            assert.isTrue(yield* searchTexts(product, "short"))
            yield* edit("title", "")
            assert.isFalse(yield* searchTexts(large, "tent"))
            yield* remediation.fill("product", [{ entity_id: product, field: "title", value: "Yurt" }])
            for (const id of [product, small, large, huge]) assert.isTrue(yield* searchTexts(id, "yurt"))
            yield* apply(CatalogChange.OrderVariants({ productId: product, variantIds: [huge, small, large] }))
            yield* apply(
              CatalogChange.RemoveFromStore({ entityId: large, storeId: b.id }),
              CatalogChange.RemoveFromStore({ entityId: small, storeId: b.id })
            )
            yield* apply(CatalogChange.RemoveFromStore({ entityId: product, storeId: b.id }))
            yield* drafts.addStoreVersion(product, b.id)
            const { aggregates, wrong } = yield* derivations(accountId, product)
            assert.deepStrictEqual(wrong, [])
            assert.deepStrictEqual(
              [...aggregates.values()].map(({ storeIds }) => storeIds),
              Array.from(aggregates, () => [a.id, b.id])
            )
            const created = yield* anEntity("variant", { sku: "T-N" }, { of: product })
            assert.strictEqual((yield* derivations(accountId, product)).aggregates.get(created)?.position, 3)
          })
        )
      )

      it.effect("a variant that a change does not write cannot be taken for another kind or created again", () =>
        withProduct(({ product, small }) =>
          Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const refused = yield* Effect.flip(
              apply([
                CatalogChange.SetAttributes({ entityId: product, values: { vendor: "North" } }),
                CatalogChange.CreateEntity({ id: small, kind: "variant", parentId: product, values: {} })
              ])
            )
            assert.strictEqual(refused._tag, "ValidationFailed")
          })
        )
      )
    })
  })
}
