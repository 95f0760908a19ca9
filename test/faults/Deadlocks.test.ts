import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { type AccountId, EntityId, type StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { SecretBox } from "../../src/stores/SecretBox.ts"
import { Accounts, ApiKeys, actingAs, anAccount, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { layerStores } from "../support/LayerStores.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { wrongDerivations } from "./Derivations.ts"
import { Dice, report, seed } from "./Dice.ts"
import { countingLocks, LockCalls } from "./LockCalls.ts"
import { deadlocks, dwell, layerDatabase, layerPool, noticeDeadlocksSoon } from "./ServerServices.ts"

const writers = 16
const listsEach = amount(30, 150)
/** Few lists with the planted fault, because every deadlock waits for its timeout. */
const plantedListsEach = 3

/** The planted fault: rows are locked in the order in which the changes name them. */
const unsorted = Layer.effect(
  DraftsRepo,
  Effect.gen(function* () {
    const drafts = yield* DraftsRepo
    const sql = yield* SqlClient.SqlClient
    return {
      ...drafts,
      lock: (accountId, owners, references, others) =>
        Effect.forEach(owners, (id) =>
          // As in a repository inside a transaction: after a deadlock, the transaction is repeated.
          Effect.orDie(sql`SELECT id FROM entity WHERE account_id = ${accountId} AND id = ${id} FOR UPDATE`)
        ).pipe(Effect.zipRight(drafts.lock(accountId, owners, references, others)))
    }
  })
)

const Writing = CatalogChanges.layer.pipe(Layer.provide(countingLocks), Layer.provide(RepositoriesOnDatabase))
const WritingUnsorted = CatalogChanges.layer.pipe(
  Layer.provide(countingLocks),
  Layer.provide(unsorted),
  Layer.provide(RepositoriesOnDatabase)
)

interface Shop {
  readonly accountId: AccountId
  readonly storeIds: ReadonlyArray<StoreId>
  readonly products: ReadonlyArray<{ readonly id: EntityId; readonly variantIds: ReadonlyArray<EntityId> }>
  readonly collections: ReadonlyArray<EntityId>
  readonly media: ReadonlyArray<EntityId>
}

/** So few entities that any two lists overlap. */
const aShop = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const ids = (count: number) => Effect.replicateEffect(mintId(EntityId), count)
  const products = yield* Effect.forEach(yield* ids(6), (id) =>
    Effect.map(ids(4), (variantIds) => ({ id, variantIds }))
  )
  const [collections, media] = [yield* ids(3), yield* ids(5)]
  const created = [
    ...products.map(({ id }) => ({ id, kind: "product" as const, parentId: null })),
    ...products.flatMap(({ id, variantIds }) =>
      variantIds.map((variantId) => ({ id: variantId, kind: "variant" as const, parentId: id }))
    ),
    ...collections.map((id) => ({ id, kind: "collection" as const, parentId: null })),
    ...media.map((id) => ({ id, kind: "media" as const, parentId: null }))
  ]
  yield* (yield* CatalogChanges)
    .apply([
      ...created.map((entity) => CatalogChange.CreateEntity({ ...entity, values: {} })),
      ...created.flatMap(({ id }) =>
        stores.map((store) => CatalogChange.AddToStore({ entityId: id, storeId: store.id }))
      )
    ])
    .pipe(actingAs(actor))
  const shop: Shop = { accountId, storeIds: stores.map(({ id }) => id), products, collections, media }
  return { actor, shop }
})

/**
 * Random changes of the whole shop: titles, variants and their order, galleries, members, stores and publish states.
 */
const aList = (dice: Dice, shop: Shop, nonce: string): ReadonlyArray<CatalogChange> => {
  const variantIds = shop.products.flatMap((product) => product.variantIds)
  const [product, owner] = [dice.pick(shop.products), dice.pick([...shop.products.map(({ id }) => id), ...variantIds])]
  const [storeId, other] = [dice.pick(shop.storeIds), dice.pick(variantIds)]
  const all = [
    CatalogChange.SetAttributes({ entityId: dice.pick(shop.products).id, values: { title: `Product ${nonce}` } }),
    CatalogChange.SetAttributes({ entityId: dice.pick(shop.products).id, values: { tags: `["${nonce}"]` } }),
    CatalogChange.SetAttributes({ entityId: dice.pick(variantIds), values: { sku: `SKU-${nonce}`, title: nonce } }),
    CatalogChange.SetAttributes({ entityId: dice.pick(shop.collections), values: { title: `Collection ${nonce}` } }),
    CatalogChange.SetAttributes({ entityId: dice.pick(shop.media), values: { alt: `Media ${nonce}` } }),
    CatalogChange.OrderVariants({ productId: product.id, variantIds: dice.shuffle(product.variantIds) }),
    CatalogChange.SetGallery({
      entityId: owner,
      entries: dice.some(shop.media, 4).map((mediaId) => ({ mediaId, storeIds: dice.some(shop.storeIds, 2) }))
    }),
    CatalogChange.SetMembers({
      collectionId: dice.pick(shop.collections),
      productIds: dice.some(shop.products, 5).map(({ id }) => id)
    }),
    // Adds it again at once, so that every entity stays on every store and no list depends on earlier ones.
    [
      CatalogChange.RemoveFromStore({ entityId: other, storeId }),
      CatalogChange.AddToStore({ entityId: other, storeId })
    ],
    CatalogChange.SetOverrides({
      entityId: other,
      storeId,
      values: { sku: dice.pick([`STORE-${nonce}`, null]) }
    }),
    CatalogChange.RequestPublish({ entityId: dice.pick(variantIds), storeId }),
    CatalogChange.RefusePublish({ entityId: dice.pick(shop.products).id, storeId, error: { code: "x", message: "x" } }),
    CatalogChange.AcceptPublish({ entityId: dice.pick([owner, ...shop.collections]), storeId })
  ]
  return dice.some(all, 6).flat()
}

const race = (name: string, writing: typeof Writing, listsEach: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* noticeDeadlocksSoon
    yield* dwell({ writeMillis: 3, commitMillis: 1 })
    const calls = yield* Ref.make(0)
    const result = yield* Effect.gen(function* () {
      const { actor, shop } = yield* aShop
      const changes = yield* CatalogChanges
      yield* Ref.set(calls, 0)
      const outcomes = yield* Effect.forEach(
        Array.from({ length: writers }, (_, writer) => writer),
        (writer) => {
          const dice = new Dice(`${name}, writer ${writer}`)
          return Effect.forEach(
            Array.from({ length: listsEach }, (_, list) => list),
            (list) => Effect.exit(changes.apply(aList(dice, shop, `${writer}x${list}`)))
          )
        },
        { concurrency: "unbounded" }
      ).pipe(actingAs(actor))
      const [anyProduct] = shop.products
      assert.isDefined(anyProduct)
      return {
        accountId: shop.accountId,
        anyId: anyProduct.id,
        failures: outcomes.flat().filter((exit) => exit._tag === "Failure")
      }
    }).pipe(
      Effect.provide(
        Layer.mergeAll(writing, Accounts.layer, ApiKeys.layer).pipe(
          Layer.provideMerge(RepositoriesOnDatabase),
          Layer.provide(Layer.succeed(LockCalls, calls)),
          Layer.provide(layerPool(writers))
        )
      )
    )
    const [{ version } = { version: 0 }] = yield* sql`SELECT version FROM account_state`
    const { entities, wrong } = yield* wrongDerivations(result.accountId)
    const record = {
      lists: writers * listsEach,
      committed: Number(version) - 1,
      lockCalls: yield* Ref.get(calls),
      failures: result.failures.length,
      deadlocks: yield* deadlocks,
      entities,
      wrong: wrong.length
    }
    report(name, record)
    return {
      ...record,
      accountId: result.accountId,
      anyId: result.anyId,
      firstFailure: result.failures[0],
      firstWrong: wrong[0]
    }
  })

describe.skipIf(!serverAnswers)("overlapping lists of changes in any order", () => {
  const TestLayer = layerStores.pipe(
    Layer.provide(SecretBox.layer),
    Layer.provideMerge(RepositoriesOnDatabase),
    Layer.provideMerge(layerDatabase(1))
  )

  layer(TestLayer, { excludeTestServices: true })((it) => {
    it.effect("never deadlock, and every derived field matches its sources", () =>
      Effect.gen(function* () {
        const record = yield* race("Deadlocks", Writing, listsEach)
        assert.isUndefined(record.firstFailure, `seed ${seed}`)
        assert.isUndefined(record.firstWrong, `seed ${seed}`)
        // Some lists may change nothing.
        assert.isAtLeast(record.committed, 0.9 * writers * listsEach)
        assert.strictEqual(record.entities, 38)
        assert.strictEqual(record.lockCalls, writers * listsEach, `seed ${seed}: a transaction lost and was repeated`)
        assert.strictEqual(record.deadlocks, 0, `seed ${seed}`)

        const sql = yield* SqlClient.SqlClient
        yield* sql`UPDATE entity SET search_text = ' planted', store_ids = '{}' WHERE id = ${record.anyId}`
        const { wrong } = yield* wrongDerivations(record.accountId)
        assert.deepStrictEqual(
          wrong.map(({ id }) => id),
          [record.anyId]
        )
      })
    )
  })

  layer(TestLayer, { excludeTestServices: true })((it) => {
    it.effect.runIf(runsPlanted)("deadlock if rows are locked in the order of the list (planted fault)", () =>
      Effect.gen(function* () {
        const record = yield* race("Deadlocks, planted", WritingUnsorted, plantedListsEach)
        assert.isAbove(record.deadlocks, 0, `seed ${seed}`)
      })
    )
  })
})
