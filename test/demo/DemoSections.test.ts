import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Catalog } from "../../src/catalog/Catalog.ts"
import { Demo } from "../../src/demo/Demo.ts"
import { demoStores } from "../../src/demo/DemoCatalog.ts"
import { demoSections } from "../../src/demo/DemoSections.ts"
import type { MetaobjectEntry } from "../../src/model/Definition.ts"
import { AccountId, ImportId } from "../../src/model/Ids.ts"
import { demoPlatformId } from "../../src/platform/demo/DemoRecords.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { Mirror } from "../../src/storedata/Mirror.ts"
import { StoreData } from "../../src/storedata/StoreData.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { Stores } from "../../src/stores/Stores.ts"
import { actingAs } from "../../src/testing/index.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

describe("the sections of the demo's shops", () => {
  it("are the same for the same account", () => {
    const stores = demoStores(AccountId.make("3f2a9c1b-7d4e-4b6a-9c2d-0a1b2c3d4e5f"))
    assert.deepStrictEqual(demoSections(stores, demoPlatformId), demoSections(stores, demoPlatformId))
  })
})

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`markets, definitions and translations of the demo on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("every read returns data, and a refresh without edits changes nothing", () =>
        Effect.gen(function* () {
          const { account } = yield* (yield* Demo).create
          yield* Effect.gen(function* () {
            const storeData = yield* StoreData
            const [china, europe, gulf] = demoStores(account.id)

            const markets = yield* storeData.markets
            assert.isAtLeast(markets.length, 5)
            const shared = markets.find(({ handle }) => handle === "international") ?? assert.fail("no market")
            assert.deepStrictEqual(
              shared.stores.map(({ status, store_id }) => [store_id, status]),
              [
                [europe.id, "active"],
                [gulf.id, "draft"]
              ]
            )
            assert.strictEqual(shared.status, "active")
            assert.lengthOf(shared.catalogs, 2)
            assert.deepStrictEqual(yield* storeData.market(shared.id), shared)
            assert.sameMembers([...new Set(markets.map(({ status }) => status))], ["active", "draft"])
            for (const store of [china, europe, gulf])
              assert.isTrue(markets.some(({ stores }) => stores.some(({ store_id }) => store_id === store.id)))

            const owners = ["product", "variant", "collection", "media", "market", "shop"] as const
            for (const owner of owners) assert.isNotEmpty(yield* storeData.metafieldDefinitions(owner), owner)
            // Every metafield of the demo's products has a definition of its type.
            const defined = new Map(
              (yield* storeData.metafieldDefinitions("product")).map(({ key, namespace, type }) => [
                `${namespace}.${key}`,
                type
              ])
            )
            const catalog = yield* Catalog
            const { text } = yield* catalog.list("product", { limit: 250 })
            const ids: ReadonlyArray<{ readonly id: never }> = JSON.parse(text).data
            let metafields = 0
            for (const { id } of ids)
              for (const [key, { type }] of Object.entries((yield* catalog.get("product", id)).attributes))
                if (key.includes(".")) {
                  metafields++
                  assert.strictEqual(defined.get(key), type, key)
                }
            assert.isAtLeast(metafields, 50)

            const definitions = yield* storeData.metaobjectDefinitions
            assert.deepStrictEqual(
              definitions.map(({ stores, type }) => [type, stores.length]),
              [
                ["size_guide", 2],
                ["workshop", 3]
              ]
            )
            for (const { entries_count, fields, id } of definitions) {
              const entries: ReadonlyArray<MetaobjectEntry> = JSON.parse((yield* storeData.metaobjectEntries(id)).text)
              assert.isAtLeast(entries.length, 3)
              assert.strictEqual(entries.length, entries_count)
              for (const entry of entries)
                assert.deepStrictEqual(
                  entry.fields.map(({ key }) => key),
                  fields.map(({ key }) => key)
                )
            }

            // Translated, translated from an older source, and not translated: in the second language of every store.
            for (const store of [china, europe, gulf]) {
              const counts = { fresh: 0, outdated: 0, missing: 0 }
              for (const { id } of ids) {
                const { data, translatable_fields } = yield* storeData.translations("product", id)
                const own = translatable_fields.filter(({ store_ids }) => store_ids.includes(store.id))
                const said = data.flatMap(({ locale, stores }) =>
                  stores.filter(({ store_id }) => store_id === store.id).map((each) => ({ locale, ...each }))
                )
                for (const { locale, translations } of said) {
                  assert.strictEqual(locale, store.locales[1])
                  for (const { outdated } of translations) counts[outdated ? "outdated" : "fresh"]++
                }
                for (const { source_locale } of own) assert.strictEqual(source_locale, store.primary_locale)
                if (own.length > 0 && said.length === 0) counts.missing++
              }
              assert.isAtLeast(counts.fresh, 10, store.domain)
              assert.isAtLeast(counts.outdated, 1, store.domain)
              assert.isAtLeast(counts.missing, 5, store.domain)
            }
            const collections: ReadonlyArray<{ readonly id: never }> = JSON.parse(
              (yield* catalog.list("collection", { limit: 250 })).text
            ).data
            const translated = yield* Effect.forEach(collections, ({ id }) => storeData.translations("collection", id))
            assert.isAtLeast(translated.filter(({ data }) => data.length > 0).length, 4)

            for (const { id } of yield* (yield* Stores).list) {
              const importId = yield* mintId(ImportId)
              const store = yield* (yield* StoreAccess).open(account.id, id)
              const mirror = yield* Mirror
              const { translations } = yield* mirror.stage(account.id, importId, store)
              assert.isAtLeast(translations, 10)
              assert.isFalse((yield* mirror.apply(account.id, importId, id)).isChanged)
            }
          }).pipe(actingAs({ _tag: "Cli", accountId: account.id }))
        })
      )
    })
  })
}
