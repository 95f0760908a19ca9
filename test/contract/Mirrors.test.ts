import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { OwnerType } from "../../src/model/Definition.ts"
import { type AccountId, ImportId } from "../../src/model/Ids.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import type { PlatformTranslations } from "../../src/platform/Translation.ts"
import { mintId, UuidSource } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Mirror,
  StoreData,
  Stores,
  TestServices
} from "../../src/testing/index.ts"
import { Dice, report } from "../faults/Dice.ts"
import { aMarket, aMetafield, aMetaobject, anEntry, putSections, refresh, type Sections } from "../support/Mirrors.ts"
import { featureEngines } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { uuidsOf } from "./sidebyside/Sides.ts"

const volume = { runs: amount(3, 12), refreshes: amount(10, 20) }

const some = <A>(dice: Dice, items: ReadonlyArray<A>): ReadonlyArray<A> => items.filter(() => dice.next() < 0.5)
const text = (dice: Dice) => dice.pick(["", "a", "b", "Ä ✂", "a'b\"\\"])
const maybe = <A>(dice: Dice, value: A): A | null => (dice.next() < 0.5 ? value : null)
const instant = (dice: Dice) => fromMillis(Date.UTC(2026, 0, 1) + dice.below(3) * 1_000)
const ownerTypes: ReadonlyArray<OwnerType> = ["product", "variant", "shop"]

/** Platform ids of entities. Both stores use some of the same ids. */
const platformIds = ["p/1", "p/2", "p/3", "c/1"]

const translationsOf = (dice: Dice, platform_id: string): ReadonlyArray<PlatformTranslations> => {
  const fields = some(dice, ["title", "body_html", "meta_title"]).map((key) => {
    const source_value = text(dice)
    return {
      key,
      type: dice.pick(["html", "uri"]),
      source_locale: "en",
      source_value,
      digest: source_value === "" ? null : `digest of ${source_value}`
    }
  })
  return some(dice, ["de", "fr", "ar"]).map((locale) => ({
    kind: platform_id.startsWith("c") ? "collection" : "product",
    platform_id,
    locale,
    fields,
    translations: some(dice, ["title", "body_html", "handle"]).map((key) => ({
      key,
      value: text(dice),
      outdated: dice.next() < 0.5,
      source_digest: dice.pick([null, "digest of a", "digest of b"]),
      updated_at: maybe(dice, instant(dice))
    }))
  }))
}

/** Random sections from a few words, so that successive ones are often equal or similar. */
const sectionsOf = (dice: Dice): Sections => {
  const entries = (type: string) =>
    some(dice, ["x", "y", "z", "x"]).map((handle) =>
      anEntry(handle, {
        platform_id: `${type}/${handle}`,
        display_name: text(dice),
        status: dice.pick(["active", "draft"]),
        fields: [{ key: "name", type: "json", value: maybe(dice, text(dice)) }],
        updated_at: instant(dice)
      })
    )
  return {
    markets: some(dice, ["eu", "us", "asia", "eu"]).map((handle) =>
      aMarket(handle, {
        name: text(dice),
        status: dice.pick(["active", "draft"]),
        type: dice.pick(["region", "none"]),
        currency: maybe(dice, "EUR"),
        regions: some(dice, [{ code: "DE", name: "Germany" }]),
        catalogs: some(dice, ["1", "2", "1"]).map((id) => ({
          id,
          title: text(dice),
          status: "active",
          currency: maybe(dice, "EUR"),
          price_adjustment: maybe(dice, { type: "percentage_decrease" as const, value: dice.pick([1, 2.5]) })
        }))
      })
    ),
    metafields: ownerTypes.flatMap((owner) =>
      some(dice, ["a.b", "a.c"]).map((path) =>
        aMetafield(owner, path, {
          name: text(dice),
          description: maybe(dice, text(dice)),
          type: dice.pick(["json", "url"]),
          metafields_count: dice.below(3),
          validations: some(dice, [{ name: "max", type: "json", value: null }])
        })
      )
    ),
    metaobjects: some(dice, ["one", "two"]).map((type) =>
      aMetaobject(type, {
        description: maybe(dice, text(dice)),
        display_name_key: maybe(dice, "name"),
        entries_count: dice.below(3),
        translatable: dice.next() < 0.5
      })
    ),
    entries: { one: entries("one"), two: entries("two") },
    translations: some(dice, [...platformIds, "p/elsewhere"]).flatMap((id) => translationsOf(dice, id))
  }
}

/** All answers about the data that stores have in addition to their catalogs. */
const answers = (entities: ReadonlyArray<readonly ["product" | "collection", never]>) =>
  Effect.gen(function* () {
    const storeData = yield* StoreData
    const markets = yield* storeData.markets
    const definitions = yield* storeData.metaobjectDefinitions
    return {
      markets,
      single: yield* Effect.forEach(markets, ({ id }) => storeData.market(id)),
      metafields: yield* storeData.metafieldDefinitions(null),
      definitions,
      entries: yield* Effect.forEach(definitions, ({ id }) =>
        Effect.map(storeData.metaobjectEntries(id), ({ text }): unknown => JSON.parse(text))
      ),
      translations: yield* Effect.forEach(entities, ([kind, id]) => storeData.translations(kind, id))
    }
  })

/**
 * Refreshes two stores repeatedly, each time twice. Returns all observed answers. The second refresh must not change
 * `rows`.
 */
const play = <R>(name: string, rowsOf: (accountId: AccountId) => Effect.Effect<unknown, never, R>) =>
  Effect.gen(function* () {
    const dice = new Dice(name)
    const { accountId, actor, stores } = yield* anAccount({ domains: ["b.example", "a.example"] })
    const rows = rowsOf(accountId)
    return yield* Effect.gen(function* () {
      const { apply } = yield* CatalogChanges
      const entities = yield* Effect.forEach(platformIds, (platformId) =>
        Effect.gen(function* () {
          const kind = platformId.startsWith("c") ? "collection" : "product"
          const id = yield* anEntity(kind, { title: platformId }, { on: stores })
          const where = some(dice, stores)
          yield* apply(where.map((store) => CatalogChange.Identify({ entityId: id, storeId: store.id, platformId })))
          return [kind, id as never] as const
        })
      )
      const seen: Array<unknown> = []
      const changes = { yes: 0, no: 0 }
      for (let round = 0; round < volume.refreshes; round++) {
        const store = dice.pick(stores)
        const sections = sectionsOf(dice)
        const first = yield* refresh(accountId, store, sections)
        changes[first.isChanged ? "yes" : "no"]++
        const after = yield* answers(entities)
        const before = yield* rows
        const second = yield* refresh(accountId, store, sections)
        assert.deepStrictEqual(yield* rows, before)
        assert.isFalse(second.isChanged)
        assert.deepStrictEqual(second.summary, first.summary)
        assert.deepStrictEqual(yield* answers(entities), after)
        const isUnlinking = dice.next() < 0.2
        if (isUnlinking) yield* (yield* Stores).unlink("a.example")
        seen.push(first, after, isUnlinking ? yield* answers(entities) : null)
        if (isUnlinking) yield* (yield* Stores).link({ domain: "a.example" })
      }
      return { seen, changes }
    }).pipe(actingAs(actor))
  }).pipe(Effect.provideService(UuidSource, uuidsOf(name)))

const tables = [
  ...["market", "market_store", "market_catalog", "metafield_definition", "metafield_definition_store"],
  ...["metaobject_definition", "metaobject_definition_store", "metaobject_entry", "translatable_field", "translation"]
]

/** The physical position and transaction of each row: they change with every write of the row. */
const rowVersions = (accountId: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* Effect.forEach(
      tables,
      (table) => sql`
        SELECT ctid::text AS place, xmin::text AS writer, xmax::text AS ender FROM ${sql(table)}
        WHERE account_id = ${accountId} ORDER BY ctid`
    )
  }).pipe(Effect.orDie)

for (const engine of featureEngines) {
  describe.skipIf(engine.absent)(`mirrors on ${engine.name}`, () => {
    const Live = Services.pipe(
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(engine.layer),
      Layer.orDie
    )
    layer(Live, { excludeTestServices: true })((it) => {
      it.effect("random refreshes have the same result in memory and in SQL, and repeating one writes no row", () =>
        Effect.gen(function* () {
          let refreshes = 0
          const changes = { yes: 0, no: 0 }
          for (let run = 0; run < volume.runs; run++) {
            const name = `mirrors ${run}`
            const here = yield* play(name, rowVersions)
            const memory = yield* Effect.provide(
              play(name, () => Effect.void),
              Layer.fresh(TestServices)
            )
            for (const [index, each] of here.seen.entries()) {
              assert.deepStrictEqual(each, memory.seen[index], `run ${run}, ${index}`)
              refreshes++
            }
            changes.yes += here.changes.yes
            changes.no += here.changes.no
          }
          report("Mirrors", { engine: engine.name, refreshes: refreshes / 3, changes })
          assert.strictEqual(refreshes / 3, volume.runs * volume.refreshes)
          assert.isAtLeast(changes.yes, (volume.runs * volume.refreshes) / 2)
        })
      )

      it.effect("staged data is deleted after 14 days if its import is not open, and nothing else", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { accountId, stores } = yield* anAccount({ domains: ["a.example"] })
          const { apply, forgetAbandoned, stage } = yield* Mirror
          const store = yield* putSections(accountId, stores[0], { markets: [aMarket("eu"), aMarket("us")] })
          const [old, recent, paused] = [yield* mintId(ImportId), yield* mintId(ImportId), yield* mintId(ImportId)]
          yield* sql`
            INSERT INTO import_run (account_id, id, store_id, source, phase)
            VALUES (${accountId}, ${paused}, ${stores[0].id}, 'refresh', 'applying')`
          for (const id of [old, recent, paused]) yield* stage(accountId, id, store)
          const age = (days: number) =>
            sql`
              UPDATE mirror_item SET staged_at = app_now() - ${days}::integer * interval '1 day' + interval '1 minute'
              WHERE account_id = ${accountId} AND import_id <> ${recent}`
          yield* age(14)
          assert.strictEqual(yield* forgetAbandoned, 0)
          yield* age(15)
          assert.strictEqual(yield* forgetAbandoned, 2)
          assert.isTrue((yield* apply(accountId, recent, stores[0].id)).isChanged)
          assert.isFalse((yield* apply(accountId, paused, stores[0].id)).isChanged)
          assert.isTrue((yield* apply(accountId, old, stores[0].id)).isChanged)
        })
      )

      it.effect("an update that changes nothing is visible in the row versions", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
          const sections = { markets: [aMarket("eu")] }
          yield* refresh(accountId, stores[0], sections).pipe(actingAs(actor))
          const before = yield* rowVersions(accountId)
          yield* sql`UPDATE market_store SET name = name WHERE account_id = ${accountId}`
          assert.notDeepEqual(yield* rowVersions(accountId), before)
        })
      )
    })
  })
}
