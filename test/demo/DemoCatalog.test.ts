import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Ref, Schema } from "effect"
import { AccessRepo } from "../../src/access/AccessRepo.ts"
import { Accounts } from "../../src/access/Accounts.ts"
import { ApiKeys } from "../../src/access/ApiKeys.ts"
import type { Aggregate } from "../../src/catalog/Aggregate.ts"
import { Catalog } from "../../src/catalog/Catalog.ts"
import { EntityRow, mediaTypeOf } from "../../src/catalog/Entity.ts"
import { MemoryStore } from "../../src/database/MemoryStore.memory.ts"
import { Demo } from "../../src/demo/Demo.ts"
import { demoChanges, demoStores } from "../../src/demo/DemoCatalog.ts"
import { ownersOf } from "../../src/drafts/CatalogChange.ts"
import { CatalogChanges } from "../../src/drafts/CatalogChanges.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { type EntityKind, effective, valueOf } from "../../src/model/Attribute.ts"
import { AccountId } from "../../src/model/Ids.ts"
import { PublishStatus } from "../../src/model/PublishState.ts"
import { Stores } from "../../src/stores/Stores.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { actingAs, TestServices } from "../../src/testing/index.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const accountId = AccountId.make("3f2a9c1b-7d4e-4b6a-9c2d-0a1b2c3d4e5f")
const stores = demoStores(accountId)

/** The demo with ids of the test's choice, so that two engines can be compared. */
const applied = Effect.gen(function* () {
  yield* (yield* AccessRepo).createAccount({ id: accountId, name: "Demo" })
  const repo = yield* StoresRepo
  yield* Effect.forEach(stores, (store) => repo.link(accountId, store))
  yield* (yield* DraftsRepo).raise(accountId)
  const changes = yield* CatalogChanges
  yield* Effect.forEach(demoChanges(stores), changes.apply)
}).pipe(actingAs({ _tag: "Cli", accountId }))

/** The demo's changes, applied in memory. */
class Applied extends Context.Tag("test/Applied")<
  Applied,
  { readonly all: ReadonlyArray<Aggregate>; readonly of: (kind: EntityKind) => ReadonlyArray<Aggregate> }
>() {
  static readonly layer = Layer.effect(
    Applied,
    Effect.gen(function* () {
      yield* applied
      const state = yield* Ref.get(yield* MemoryStore)
      const all = [...(state.get(accountId)?.entities.values() ?? [])].map(({ aggregate }) => aggregate)
      return { all, of: (kind: EntityKind) => all.filter((aggregate) => aggregate.kind === kind) }
    })
  ).pipe(Layer.provide(TestServices))
}

const isBlank = (value: string) => value.replaceAll(/<(?!img)[^>]*>/g, "").trim() === ""

/** Entities with an empty value for a key on at least one store. */
const lacking = (entities: ReadonlyArray<Aggregate>, key: string) =>
  entities.filter(({ attributes, versions }) =>
    versions.some(({ overrides }) => isBlank(valueOf(effective(attributes, overrides), key)))
  )

const differing = (entities: ReadonlyArray<Aggregate>, key: string) =>
  entities.filter(
    ({ attributes, versions }) =>
      new Set(versions.map(({ overrides }) => valueOf(effective(attributes, overrides), key))).size > 1
  )

const repeatedIn = (values: ReadonlyArray<string>) =>
  new Set(values.filter((value, at) => values.indexOf(value) !== at))

const atLeast = (count: number, found: ReadonlyArray<unknown>, what: string) =>
  assert.isAtLeast(found.length, count, what)

describe("demo catalog", () => {
  it("is the same for the same account and shares no id with another", () => {
    assert.deepStrictEqual(demoStores(accountId), stores)
    assert.deepStrictEqual(demoChanges(stores), demoChanges(demoStores(accountId)))
    const other = demoStores(AccountId.make("00000000-7d4e-4b6a-9c2d-0a1b2c3d4e5f"))
    const idsOf = (changes: ReturnType<typeof demoChanges>) => changes.flat().flatMap(ownersOf)
    const own = new Set<string>([...stores.map(({ id }) => id), ...idsOf(demoChanges(stores))])
    const others = [...other.map(({ id }) => id), ...idsOf(demoChanges(other))]
    assert.deepStrictEqual(
      others.filter((id) => own.has(id)),
      []
    )
  })

  it("has three stores on the demo platform, with eight characters of the account's id in their domains", () => {
    assert.lengthOf(stores, 3)
    for (const { domain, last_imported_at, platform } of stores) {
      assert.strictEqual(platform, "demo")
      assert.include(domain, "3f2a9c1b")
      assert.isNull(last_imported_at)
    }
    assert.strictEqual(new Set(stores.map(({ primary_locale }) => primary_locale)).size, 3)
    assert.strictEqual(new Set(stores.map(({ currency }) => currency)).size, 3)
  })

  it("is applied in transactions of at most 1,000 entities", () => {
    for (const changes of demoChanges(stores)) assert.isAtMost(new Set(changes.flatMap(ownersOf)).size, 1_000)
  })

  layer(Applied.layer)((it) => {
    it.effect("has enough entities of every kind", () =>
      Effect.map(Applied, ({ of }) => {
        assert.isAtLeast(of("product").length, 60)
        assert.isAtMost(of("product").length, 200)
        atLeast(250, of("variant"), "variants")
        atLeast(5, of("collection"), "collections")
        atLeast(20, of("media"), "media")
        assert.sameMembers(
          [...new Set(of("media").map(({ attributes }) => mediaTypeOf(valueOf(attributes, "mime_type"))))],
          ["image", "video", "model_3d", "external_video"]
        )
      })
    )

    it.effect("has two products in every publish state, drafts and overrides", () =>
      Effect.map(Applied, ({ all, of }) => {
        for (const status of PublishStatus.literals)
          atLeast(
            2,
            of("product").filter(({ lastPublishStatus }) => lastPublishStatus === status),
            status
          )
        const drafts = of("product").filter(
          ({ lastPublishStatus, pendingPublish }) => lastPublishStatus === "published" && pendingPublish
        )
        atLeast(2, drafts, "published products with a draft")
        atLeast(
          2,
          of("product").filter(({ pendingPublish }) => !pendingPublish),
          "products without a draft"
        )
        atLeast(
          20,
          all.filter(({ versions }) => versions.some((version) => Object.keys(version.overrides).length > 0)),
          "overrides"
        )
        for (const { lastPublishError, lastPublishStatus } of all.flatMap(({ versions }) => versions))
          assert.strictEqual(lastPublishError !== null, lastPublishStatus === "failed")
      })
    )

    it.effect("has every product on a store, two of them on only one", () =>
      Effect.map(Applied, ({ all, of }) => {
        assert.deepStrictEqual(
          all.filter(({ storeIds }) => storeIds.length === 0),
          []
        )
        atLeast(
          2,
          of("product").filter(({ storeIds }) => storeIds.length === 1),
          "on one store"
        )
        atLeast(
          2,
          of("product").filter(({ storeIds }) => storeIds.length === 3),
          "on all stores"
        )
      })
    )

    it.effect("publishes no entity whose related entities are not on the store", () =>
      Effect.map(Applied, ({ all }) => {
        const byId = new Map(all.map((aggregate) => [aggregate.id, aggregate]))
        for (const { versions } of all)
          for (const { accepted, storeId } of versions)
            for (const part of [accepted?.media, accepted?.variants, accepted?.members].flatMap((ids) => ids ?? []))
              assert.isNotNull(
                byId.get(part)?.versions.find((version) => version.storeId === storeId)?.accepted ?? null
              )
      })
    )

    it.effect("differs between stores and uses several scripts", () =>
      Effect.map(Applied, ({ all, of }) => {
        atLeast(3, differing(of("product"), "title"), "titles that differ")
        atLeast(3, differing(of("product"), "vendor"), "vendors that differ")
        const values = all.flatMap(({ attributes }) => Object.values(attributes).map(({ value }) => value))
        for (const script of [
          /\p{Script=Latin}/u,
          /\p{Script=Arabic}/u,
          /\p{Script=Han}/u,
          /\p{Extended_Pictographic}/u
        ])
          atLeast(
            3,
            values.filter((value) => script.test(value)),
            script.source
          )
      })
    )

    it.effect("has issues for every dimension of data health", () =>
      Effect.map(Applied, ({ all, of }) => {
        const required = ["title", "description_html", "vendor", "product_type"]
        atLeast(
          3,
          [...new Set(required.flatMap((key) => lacking(of("product"), key)))],
          "products lacking what is required"
        )
        for (const key of ["sku", "price", "barcode"]) atLeast(1, lacking(of("variant"), key), key)
        for (const key of ["tags", "seo_title", "seo_description"]) atLeast(1, lacking(of("product"), key), key)

        const used = new Set(all.flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId)))
        atLeast(
          2,
          of("media").filter(({ id }) => !used.has(id)),
          "unused media"
        )
        atLeast(
          2,
          of("product").filter(({ gallery }) => gallery.length === 0),
          "empty galleries"
        )
        atLeast(
          2,
          lacking(of("media"), "alt").filter(({ id }) => used.has(id)),
          "used media without alt"
        )

        const parents = new Set(of("variant").map(({ parentId }) => parentId))
        atLeast(
          1,
          of("product").filter(({ id }) => !parents.has(id)),
          "products without variants"
        )
        atLeast(
          1,
          of("collection").filter(({ members }) => members.length === 0),
          "empty collections"
        )
        const skus = of("variant")
          .map(({ attributes }) => valueOf(attributes, "sku"))
          .filter((sku) => sku !== "")
        assert.strictEqual(repeatedIn(skus).size, 1)
        const prices = of("variant").map(({ attributes }) => valueOf(attributes, "price"))
        assert.deepStrictEqual(
          prices.filter((price) => !/^(\d+\.\d\d)?$/.test(price)),
          ["free"]
        )
        assert.strictEqual(repeatedIn(of("product").map(({ attributes }) => valueOf(attributes, "handle"))).size, 0)
      })
    )
  })
})

/** Every row of a kind, read page by page, without its times. */
const walk = Effect.fnUntraced(
  function* (kind: EntityKind) {
    const catalog = yield* Catalog
    const found: Array<unknown> = []
    let cursor: string | undefined
    do {
      const { text } = yield* catalog.list(kind, { limit: 50, cursor })
      const Page = Schema.Struct({ data: Schema.Array(Schema.Unknown), next_cursor: Schema.NullOr(Schema.String) })
      const page = yield* Schema.decode(Schema.parseJson(Page))(text)
      for (const row of page.data) {
        const { updated_at: _, ...rest } = yield* Schema.decodeUnknown(EntityRow)(row)
        found.push(rest)
      }
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    return found
  },
  actingAs({ _tag: "Cli", accountId })
)

for (const engine of featureServiceEngines.filter(({ name }) => name !== "memory")) {
  describe.skipIf(engine.absent)(`demo catalog on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("reads the same as in memory", () =>
        Effect.gen(function* () {
          const walks = Effect.forEach(["product", "variant", "collection", "media"] as const, walk)
          yield* applied
          const expected = yield* Effect.provide(Effect.zipRight(applied, walks), TestServices)
          assert.deepStrictEqual(yield* walks, expected)
        })
      )
    })
  })
}

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`Demo on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("writes nothing if it fails midway", () =>
        Effect.gen(function* () {
          const withoutKeys = Demo.layer.pipe(
            Layer.provide(Layer.mock(ApiKeys, { create: () => Effect.dieMessage("killed") }))
          )
          const exit = yield* Effect.flatMap(Demo, ({ create }) => create).pipe(
            Effect.provide(withoutKeys),
            Effect.exit
          )
          assert.isTrue(exit._tag === "Failure")
          assert.deepStrictEqual(yield* (yield* Accounts).list, [])
        })
      )

      it.effect("creates an account with a valid key, and another one when it is called again", () =>
        Effect.gen(function* () {
          const demo = yield* Demo
          const { account, key } = yield* demo.create
          const credential = yield* Effect.flatten((yield* ApiKeys).authenticate(Redacted.value(key.token)))
          assert.strictEqual(credential.accountId, account.id)
          assert.deepStrictEqual(credential.scopes, ["pim:read", "pim:write"])
          const linked = yield* Effect.provide(
            Effect.flatMap(Stores, ({ list }) => list),
            Layer.empty
          ).pipe(actingAs({ _tag: "Cli", accountId: account.id }))
          assert.deepStrictEqual(linked, demoStores(account.id))
          yield* demo.create
          assert.lengthOf(yield* (yield* Accounts).list, 2)
        })
      )
    })
  })
}
