import { assert, describe, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { CurrentBounds } from "../../src/model/ConnectionBounds.ts"
import { MetafieldDefinition, MetaobjectDefinition, MetaobjectEntry } from "../../src/model/Definition.ts"
import { EntityId, ImportId, nilUuid, RecordId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { Market } from "../../src/platform/Market.ts"
import { KeyedTranslatableField, KeyedTranslations } from "../../src/platform/Translation.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { maxEntries } from "../../src/storedata/MirrorRecords.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Mirror,
  StoreData,
  Stores
} from "../../src/testing/index.ts"
import {
  aMarket,
  aMetafield,
  aMetaobject,
  anEntry,
  aTranslation,
  putSections,
  refresh,
  type Sections
} from "../support/Mirrors.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

const nobody = RecordId.make(nilUuid)

/** Runs a test as the actor of an account with stores, ordered by domain. */
const inAccount = <E, R>(body: (world: World) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
    const [a, b] = stores
    yield* body({
      a,
      b,
      refreshed: (store, sections) => refresh(accountId, store, sections),
      accountId
    }).pipe(actingAs(actor))
  })

interface World {
  readonly accountId: Effect.Effect.Success<ReturnType<typeof anAccount>>["accountId"]
  readonly a: Store
  readonly b: Store
  readonly refreshed: (store: Store, sections: Sections) => ReturnType<typeof refresh>
}

/** Checks that answers fit the endpoint's schema, without other members. */
const promised = <A, I>(schema: Schema.Schema<A, I>, items: unknown) =>
  Effect.asVoid(Schema.decodeUnknown(Schema.Array(schema), { onExcessProperty: "error" })(items))

const missing = <A, E extends { readonly _tag: string; readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ _tag, message }) =>
    assert.deepStrictEqual([_tag, message], ["NotFound", "No such record."])
  )

const entriesOf = (id: RecordId) =>
  Effect.gen(function* () {
    const { text } = yield* (yield* StoreData).metaobjectEntries(id)
    const entries: ReadonlyArray<MetaobjectEntry> = JSON.parse(text)
    yield* promised(MetaobjectEntry, entries)
    return entries
  })

const translationsOf = (kind: "product" | "collection", id: EntityId) =>
  Effect.gen(function* () {
    const found = yield* (yield* StoreData).translations(kind, id)
    yield* promised(KeyedTranslations, found.data)
    yield* promised(KeyedTranslatableField, found.translatable_fields)
    return found
  })

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`data of stores on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect(
        "markets with the same handle are one market with the fields of its first store, and keep their ids",
        () =>
          inAccount(({ a, b, refreshed }) =>
            Effect.gen(function* () {
              const storeData = yield* StoreData
              assert.deepStrictEqual(yield* storeData.markets, [])
              const catalog = (id: string, title: string) => ({
                id,
                title,
                status: "active" as const,
                currency: "GBP",
                price_adjustment: { type: "percentage_increase" as const, value: 7.5 }
              })
              const web_presences = [
                {
                  platform_id: "w",
                  domain: "a.example",
                  subfolder_suffix: null,
                  default_locale: "en",
                  alternate_locales: ["de"]
                }
              ]
              const there = aMarket("eu", {
                name: "Europa",
                type: "company_location",
                currency: "EUR",
                status: "active"
              })
              const here = aMarket("eu", {
                status: "draft",
                web_presences,
                catalogs: [catalog("2", "B"), catalog("1", "B")]
              })
              const onA = { markets: [here, aMarket("Asia")] }
              const onB = { markets: [there] }
              assert.deepStrictEqual(yield* refreshed(b, onB), {
                isChanged: true,
                summary: {
                  markets: 1,
                  metafield_definitions: 0,
                  metaobject_definitions: 0,
                  metaobject_entries: 0,
                  translations: 0,
                  cut_metaobjects: []
                }
              })
              const [eu = assert.fail("no market")] = yield* storeData.markets
              assert.deepStrictEqual([eu.name, eu.type, eu.status], ["Europa", "company_location", "active"])
              assert.isTrue((yield* refreshed(a, onA)).isChanged)
              const both = yield* storeData.markets
              yield* promised(Market, both)
              assert.deepStrictEqual(
                both.map(({ handle }) => handle),
                ["Asia", "eu"]
              )
              const onStore = ({ catalogs: _, handle: __, type: ___, ...rest }: typeof here, store: Store) => ({
                store_id: store.id,
                ...rest
              })
              assert.deepStrictEqual(both[1], {
                id: eu.id,
                handle: "eu",
                name: "The eu",
                status: "active",
                type: "region",
                stores: [onStore(here, a), onStore(there, b)],
                catalogs: [catalog("1", "B"), catalog("2", "B")].map((each) => ({ store_id: a.id, ...each }))
              })
              assert.deepStrictEqual(yield* storeData.market(eu.id), both[1])
              yield* missing(storeData.market(nobody))

              assert.isFalse((yield* refreshed(a, onA)).isChanged)
              assert.deepStrictEqual(yield* storeData.markets, both)
              // The market is removed on one store, then on the other, and returns.
              assert.isTrue((yield* refreshed(a, { markets: [aMarket("Asia")] })).isChanged)
              assert.deepStrictEqual((yield* storeData.market(eu.id)).name, "Europa")
              assert.isTrue((yield* refreshed(b, {})).isChanged)
              yield* missing(storeData.market(eu.id))
              assert.isFalse((yield* refreshed(b, {})).isChanged)
              yield* refreshed(b, onB)
              assert.strictEqual((yield* storeData.market(eu.id)).name, "Europa")
              // A market's catalog changes, and another one is removed.
              const next = { ...here, catalogs: [{ ...catalog("1", "B"), currency: null, price_adjustment: null }] }
              yield* refreshed(a, { markets: [here] })
              assert.isTrue((yield* refreshed(a, { markets: [next] })).isChanged)
              assert.deepStrictEqual((yield* storeData.market(eu.id)).catalogs, [
                { store_id: a.id, ...catalog("1", "B"), currency: null, price_adjustment: null }
              ])
              assert.isFalse((yield* refreshed(a, { markets: [next] })).isChanged)
            })
          )
      )

      it.effect("metafield definitions are merged by owner type, namespace and key, and filtered by owner type", () =>
        inAccount(({ a, b, refreshed }) =>
          Effect.gen(function* () {
            const storeData = yield* StoreData
            const validations = [{ name: "max", type: "number_integer", value: "9" }]
            const hours = aMetafield("product", "specs.hours", {
              type: "number_integer",
              validations,
              metafields_count: 3
            })
            yield* refreshed(a, {
              metafields: [hours, aMetafield("variant", "specs.hours"), aMetafield("product", "care.washing")]
            })
            yield* refreshed(b, {
              metafields: [{ ...hours, type: "number_decimal", name: "Hours", platform_id: "x", metafields_count: 5 }]
            })
            const all = yield* storeData.metafieldDefinitions(null)
            yield* promised(MetafieldDefinition, all)
            assert.deepStrictEqual(
              all.map(({ key, namespace, owner_type }) => [owner_type, namespace, key]),
              [
                ["product", "care", "washing"],
                ["product", "specs", "hours"],
                ["variant", "specs", "hours"]
              ]
            )
            const { metafields_count: _, platform_id, ...said } = hours
            assert.deepStrictEqual(all[1], {
              id: all[1]?.id ?? nobody,
              ...said,
              stores: [
                { store_id: a.id, platform_id, metafields_count: 3 },
                { store_id: b.id, platform_id: "x", metafields_count: 5 }
              ]
            })
            assert.deepStrictEqual(yield* storeData.metafieldDefinitions("product"), all.slice(0, 2))
            assert.deepStrictEqual(yield* storeData.metafieldDefinitions("shop"), [])
            yield* (yield* Stores).unlink("a.example")
            const [left, ...others] = yield* storeData.metafieldDefinitions(null)
            assert.deepStrictEqual(
              [left?.id, left?.type, left?.name, others],
              [all[1]?.id, "number_decimal", "Hours", []]
            )
          })
        )
      )

      it.effect("a new value of a metafield has the type of its definition", () =>
        inAccount(({ a, refreshed }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const product = yield* anEntity("product", { title: "Lamp", "specs.hours": "many" }, { on: [a] })
            const set = (draft_revision: number, key: string, value: string) =>
              drafts.updateAttributes(product, { draft_revision, attributes: [{ key, value }] })
            const typeOf = (key: string) =>
              Effect.map(
                drafts.get(product, null),
                ({ attributes }) => attributes.find((each) => each.key === key)?.type
              )
            yield* refreshed(a, {
              metafields: [
                aMetafield("product", "specs.hours", { type: "number_integer" }),
                aMetafield("variant", "specs.lumen", { type: "number_integer" })
              ]
            })
            const revision = (yield* drafts.get(product, null)).draft_revision
            const refused = yield* Effect.flip(set(revision, "specs.hours", "a few"))
            assert.strictEqual(
              refused.message,
              "attributes.specs.hours: must be a whole number from -9007199254740991 to 9007199254740991"
            )
            yield* set(revision, "specs.hours", "14")
            assert.strictEqual(yield* typeOf("specs.hours"), "number_integer")
            // A definition for another kind of entity does not apply.
            const { message } = yield* Effect.flip(set(revision + 1, "specs.lumen", "bright"))
            assert.match(message, /^attributes\.specs\.lumen: is a key of a variant, not of a product/)
            yield* drafts.updateVersionAttributes(product, a.id, {
              draft_revision: revision + 1,
              attributes: [{ key: "specs.hours", value: "15" }]
            })
            const version = yield* drafts.get(product, a.id)
            assert.deepInclude(version.attributes, { key: "specs.hours", value: "15", type: "number_integer" })
            const unstorable = yield* Effect.flip(set(revision + 3, "specs.\u0000", "x"))
            assert.strictEqual(unstorable._tag, "ValidationFailed")
          })
        )
      )

      it.effect(
        "metaobjects are sorted by type and their entries by handle, counted over all stores, with stable ids",
        () =>
          inAccount(({ a, b, refreshed }) =>
            Effect.gen(function* () {
              const storeData = yield* StoreData
              const onA = {
                metaobjects: [aMetaobject("maker", { entries_count: 2 }), aMetaobject("colour", { entries_count: 0 })],
                entries: { maker: [anEntry("nine"), anEntry("ash", { status: "draft" as const })] }
              }
              const onB = {
                metaobjects: [aMetaobject("maker", { entries_count: 1, translatable: true, description: "There" })],
                entries: { maker: [anEntry("ash", { display_name: "Ash, there" })] }
              }
              assert.deepInclude((yield* refreshed(a, onA)).summary, {
                metaobject_definitions: 2,
                metaobject_entries: 2
              })
              yield* refreshed(b, onB)
              const definitions = yield* storeData.metaobjectDefinitions
              yield* promised(MetaobjectDefinition, definitions)
              assert.deepStrictEqual(
                definitions.map(({ entries_count, stores, translatable, type }) => [
                  type,
                  entries_count,
                  translatable,
                  stores.length
                ]),
                [
                  ["colour", 0, false, 1],
                  ["maker", 3, true, 2]
                ]
              )
              const maker = definitions[1]?.id ?? nobody
              const entries = yield* entriesOf(maker)
              assert.deepStrictEqual(
                entries.map(({ display_name, handle, status, store_id }) => [handle, store_id, display_name, status]),
                [
                  ["ash", a.id, "ASH", "draft"],
                  ["ash", b.id, "Ash, there", "active"],
                  ["nine", a.id, "NINE", "active"]
                ]
              )
              const { platform_id: _, ...nine } = anEntry("nine")
              assert.deepStrictEqual(entries[2], { id: entries[2]?.id ?? nobody, ...nine, store_id: a.id })
              assert.deepStrictEqual(yield* entriesOf(definitions[0]?.id ?? nobody), [])
              // A caller that is limited to the second store sees its definitions and entries alone.
              const seenByB = Effect.provideService(CurrentBounds, { stores: [b.id], confirmPublish: false })
              assert.deepStrictEqual(
                (yield* storeData.metaobjectDefinitions.pipe(seenByB)).map(({ description, entries_count, type }) => [
                  type,
                  entries_count,
                  description
                ]),
                [["maker", 1, "There"]]
              )
              assert.deepStrictEqual(
                (yield* entriesOf(maker).pipe(seenByB)).map(({ store_id }) => store_id),
                [b.id]
              )
              yield* missing(storeData.metaobjectEntries(definitions[0]?.id ?? nobody).pipe(seenByB))
              yield* missing(storeData.metaobjectEntries(nobody))
              yield* missing(storeData.metaobjectEntries(entries[0]?.id ?? nobody))

              assert.isFalse((yield* refreshed(a, onA)).isChanged)
              // One entry changes, one is removed, one is added.
              const moved = {
                ...onA,
                entries: { maker: [anEntry("ash"), anEntry("reed")] }
              }
              assert.isTrue((yield* refreshed(a, moved)).isChanged)
              const next = yield* entriesOf(maker)
              assert.deepStrictEqual(
                next.map(({ handle, status, store_id }) => [handle, store_id, status]),
                [
                  ["ash", a.id, "active"],
                  ["ash", b.id, "active"],
                  ["reed", a.id, "active"]
                ]
              )
              assert.deepStrictEqual([next[0]?.id, next[1]?.id], [entries[0]?.id, entries[1]?.id])
              // The definition is removed together with its entries.
              yield* refreshed(a, { ...moved, metaobjects: [] })
              assert.deepStrictEqual(
                (yield* entriesOf(maker)).map(({ store_id }) => store_id),
                [b.id]
              )
              yield* (yield* Stores).unlink("b.example")
              assert.deepStrictEqual(yield* storeData.metaobjectDefinitions, [])
              yield* missing(storeData.metaobjectEntries(maker))
              yield* (yield* Stores).link({ domain: "b.example" })
              assert.strictEqual((yield* entriesOf(maker)).length, 1)
            })
          )
      )

      it.effect("at most 10,000 entries of a definition are stored, and the summary says so", () =>
        inAccount(({ a, refreshed }) =>
          Effect.gen(function* () {
            const entries = Array.from({ length: maxEntries + 1 }, (_, index) =>
              anEntry(`entry-${String(index).padStart(5, "0")}`)
            )
            const sections = {
              metaobjects: [aMetaobject("many", { entries_count: entries.length }), aMetaobject("few")],
              entries: { many: entries, few: entries.slice(0, 1).map((entry) => ({ ...entry, platform_id: "few" })) }
            }
            const { isChanged, summary } = yield* refreshed(a, sections)
            assert.isTrue(isChanged)
            assert.deepInclude(summary, { metaobject_entries: maxEntries + 1, cut_metaobjects: ["many"] })
            const [, many] = yield* (yield* StoreData).metaobjectDefinitions
            assert.strictEqual(many?.entries_count, maxEntries + 1)
            const kept = yield* entriesOf(many?.id ?? nobody)
            assert.deepStrictEqual([kept.length, kept.at(-1)?.handle], [maxEntries, "entry-09999"])
            assert.isFalse((yield* refreshed(a, sections)).isChanged)
            const exact = { ...sections, entries: { ...sections.entries, many: entries.slice(0, maxEntries) } }
            const again = yield* refreshed(a, exact)
            assert.deepStrictEqual([again.isChanged, again.summary.cut_metaobjects], [false, []])
          })
        )
      )

      it.effect("translations are assigned to entities by the store's ids; outdated ones are marked", () =>
        inAccount(({ a, b, refreshed }) =>
          Effect.gen(function* () {
            const on = [b, a]
            const product = yield* anEntity("product", { title: "Lamp" }, { on })
            const other = yield* anEntity("product", { title: "Stove" }, { on })
            const collection = yield* anEntity("collection", { title: "Light" }, { on })
            const identify = (entityId: EntityId, store: Store, platformId: string) =>
              CatalogChange.Identify({ entityId, storeId: store.id, platformId })
            const { apply } = yield* CatalogChanges
            yield* apply([
              identify(product, a, "p/1"),
              identify(product, b, "p/9"),
              identify(collection, a, "c/1"),
              identify(other, a, "p/2")
            ])
            const nothing = { data: [], translatable_fields: [] }
            assert.deepStrictEqual(yield* translationsOf("product", product), nothing)
            yield* missing((yield* StoreData).translations("collection", product))
            yield* missing((yield* StoreData).translations("product", EntityId.make(nilUuid)))

            const lamp = aTranslation("product", "p/1", "de", "Lamp", ["Lampe", "digest of Lamp", true])
            const onA = {
              translations: [
                lamp,
                aTranslation("product", "p/1", "fr", "Lamp", ["Bougie", "digest of Candle"]),
                aTranslation("product", "p/2", "de", "Stove", null),
                aTranslation("product", "p/unknown", "de", "Nothing", ["Nichts", null]),
                aTranslation("collection", "c/1", "de", "", ["Licht", null, true])
              ]
            }
            const onB = {
              translations: [
                aTranslation("product", "p/9", "de", "Lamp", ["Leuchte", null]),
                aTranslation("product", "p/1", "de", "Not here", ["Nicht hier", null])
              ]
            }
            assert.deepInclude((yield* refreshed(a, onA)).summary, { translations: 4 })
            yield* refreshed(b, onB)
            const said = (value: string, outdated: boolean, source_digest: string | null) => ({
              key: "title",
              attribute_key: "title",
              value,
              outdated,
              source_digest,
              updated_at: lamp.translations[0]?.updated_at ?? null
            })
            const field = {
              key: "title",
              attribute_key: "title",
              type: "single_line_text_field",
              source_locale: "en",
              source_value: "Lamp",
              digest: "digest of Lamp"
            }
            const found = yield* translationsOf("product", product)
            assert.deepStrictEqual(found, {
              data: [
                {
                  locale: "de",
                  stores: [
                    { store_id: a.id, translations: [said("Lampe", false, "digest of Lamp")] },
                    { store_id: b.id, translations: [said("Leuchte", false, null)] }
                  ]
                },
                { locale: "fr", stores: [{ store_id: a.id, translations: [said("Bougie", true, "digest of Candle")] }] }
              ],
              translatable_fields: [{ ...field, store_ids: [a.id, b.id] }]
            })
            assert.deepStrictEqual(yield* translationsOf("product", other), {
              data: [],
              translatable_fields: [{ ...field, source_value: "Stove", digest: "digest of Stove", store_ids: [a.id] }]
            })
            const ofCollection = yield* translationsOf("collection", collection)
            assert.deepStrictEqual(ofCollection.data[0]?.stores[0]?.translations, [said("Licht", true, null)])

            assert.isFalse((yield* refreshed(a, onA)).isChanged)
            // The source text changes on that store: all its translations are outdated.
            const moved = {
              translations: [
                aTranslation("product", "p/1", "de", "Lamp II", ["Lampe", "digest of Lamp"]),
                aTranslation("product", "p/1", "fr", "Lamp II", null)
              ]
            }
            assert.isTrue((yield* refreshed(a, moved)).isChanged)
            const next = yield* translationsOf("product", product)
            assert.deepStrictEqual(
              next.data.map(({ locale, stores }) => [
                locale,
                stores.map(({ translations }) => translations.map(({ outdated }) => outdated))
              ]),
              [["de", [[true], [false]]]]
            )
            assert.deepStrictEqual(
              next.translatable_fields.map(({ source_value, store_ids }) => [source_value, store_ids]),
              [
                ["Lamp II", [a.id]],
                ["Lamp", [b.id]]
              ]
            )
            assert.deepStrictEqual(yield* translationsOf("collection", collection), nothing)

            yield* (yield* Stores).unlink("a.example")
            assert.deepStrictEqual(
              (yield* translationsOf("product", product)).data.map(({ stores }) =>
                stores.map(({ store_id }) => store_id)
              ),
              [[b.id]]
            )
            yield* (yield* Stores).link({ domain: "a.example" })
            assert.deepStrictEqual(yield* translationsOf("product", product), next)
            yield* apply([CatalogChange.RemoveFromStore({ entityId: product, storeId: b.id })])
            assert.deepStrictEqual(
              (yield* translationsOf("product", product)).data[0]?.stores.map(({ store_id }) => store_id),
              [a.id]
            )
          })
        )
      )

      it.effect("staged data is separate until it is applied, and can be deleted and read again", () =>
        inAccount(({ a, accountId }) =>
          Effect.gen(function* () {
            const { apply, forget, stage } = yield* Mirror
            const storeData = yield* StoreData
            const importId = yield* mintId(ImportId)
            const store = yield* putSections(accountId, a, { markets: [aMarket("eu"), aMarket("uk"), aMarket("eu")] })
            yield* stage(accountId, importId, store)
            assert.deepStrictEqual(yield* storeData.markets, [])
            yield* putSections(accountId, a, { markets: [aMarket("us")] })
            yield* stage(accountId, importId, store)
            const applied = Effect.map(apply(accountId, importId, a.id), ({ isChanged }) => isChanged)
            assert.isTrue(yield* applied)
            assert.isFalse(yield* applied)
            const handles = Effect.map(storeData.markets, (markets) => markets.map(({ handle }) => handle))
            assert.deepStrictEqual(yield* handles, ["us"])
            yield* forget(accountId, importId)
            assert.isTrue(yield* applied)
            assert.deepStrictEqual(yield* handles, [])
          })
        )
      )

      it.effect("a platform that fails, or sends data that cannot be stored, changes nothing", () =>
        inAccount(({ a, accountId, refreshed }) =>
          Effect.gen(function* () {
            const { stage } = yield* Mirror
            const shops = yield* DemoShops
            const storeData = yield* StoreData
            yield* refreshed(a, { markets: [aMarket("eu")] })
            const before = yield* storeData.markets
            const importId = yield* mintId(ImportId)
            const entries = { x: [anEntry("e", { platform_id: "y".repeat(256) })] }
            const nonsense: ReadonlyArray<readonly [Sections, string]> = [
              [{ markets: [aMarket("x", { name: "lone \ud800" })] }, 'market that cannot be stored: "x"'],
              [{ markets: [aMarket("")] }, 'market that cannot be stored: ""'],
              [{ markets: [aMarket("x".repeat(256))] }, `market that cannot be stored: "${"x".repeat(80)}"`],
              [
                { metaobjects: [aMetaobject("x")], entries },
                `metaobject entry that cannot be stored: "${"y".repeat(80)}"`
              ],
              [
                { translations: [aTranslation("product", "p", "", "Lamp", ["Lampe", null])] },
                'record with translations that cannot be stored: "p "'
              ]
            ]
            // The demo's shops are tables themselves, which cannot store U+0000 and lone surrogates.
            for (const [sections, record] of engine.name === "memory" ? nonsense : nonsense.slice(1)) {
              const store = yield* putSections(accountId, a, sections)
              const error = yield* Effect.flip(stage(accountId, importId, store))
              assert.deepStrictEqual([error._tag, error.message], ["ValidationFailed", `store: has a ${record}`])
            }
            const store = yield* putSections(accountId, a, {})
            yield* shops.fail(store, { kind: "error", percent: 100, delayMillis: 0 })
            assert.deepInclude(yield* Effect.flip(stage(accountId, importId, store)), { reason: "server" })
            yield* shops.repair(store)
            yield* shops.fail(store, { kind: "refuse", percent: 100, delayMillis: 0 })
            assert.deepInclude(yield* Effect.flip(stage(accountId, importId, store)), { _tag: "PlatformRefused" })
            assert.deepStrictEqual(yield* storeData.markets, before)
          })
        )
      )

      it.effect("accounts do not see each other's data, even with equal names", () =>
        Effect.gen(function* () {
          const sections = {
            markets: [aMarket("eu")],
            metafields: [aMetafield("product", "care.washing", { type: "number_integer" })],
            metaobjects: [aMetaobject("maker")],
            entries: { maker: [anEntry("ash")] },
            translations: [aTranslation("product", "p/1", "de", "Lamp", ["Lampe", null])]
          }
          const ours = yield* anAccount({ domains: ["a.example"] })
          const theirs = yield* anAccount({ domains: ["a.example"] })
          const product = yield* Effect.gen(function* () {
            const id = yield* anEntity("product", { title: "Lamp" }, { on: theirs.stores })
            yield* (yield* CatalogChanges).apply([
              CatalogChange.Identify({ entityId: id, storeId: theirs.stores[0].id, platformId: "p/1" })
            ])
            yield* refresh(theirs.accountId, theirs.stores[0], sections)
            return id
          }).pipe(actingAs(theirs.actor))
          const read = Effect.gen(function* () {
            const storeData = yield* StoreData
            const markets = yield* storeData.markets
            const metafields = yield* storeData.metafieldDefinitions(null)
            const metaobjects = yield* storeData.metaobjectDefinitions
            return [...markets, ...metafields, ...metaobjects].map(({ id }) => id)
          })
          const foreign = yield* read.pipe(actingAs(theirs.actor))
          assert.lengthOf(foreign, 3)
          yield* Effect.gen(function* () {
            const storeData = yield* StoreData
            assert.deepStrictEqual(yield* read, [])
            for (const id of foreign) {
              yield* missing(storeData.market(id))
              yield* missing(storeData.metaobjectEntries(id))
            }
            yield* missing(storeData.translations("product", product))
            const mine = yield* anEntity("product", { title: "Lamp", "care.washing": "By hand" })
            const { draft_revision } = yield* (yield* Drafts).get(mine, null)
            // Another account's definition does not apply here.
            const { message } = yield* Effect.flip(
              (yield* Drafts).updateAttributes(mine, {
                draft_revision,
                attributes: [{ key: "care.washing", value: "30" }]
              })
            )
            assert.match(message, /^attributes\.care\.washing: is an unknown key of a product/)
            yield* refresh(ours.accountId, ours.stores[0], sections)
            assert.isTrue((yield* read).every((id) => !foreign.includes(id)))
          }).pipe(actingAs(ours.actor))
          assert.deepStrictEqual(yield* read.pipe(actingAs(theirs.actor)), foreign)
        })
      )
    })
  })
}
