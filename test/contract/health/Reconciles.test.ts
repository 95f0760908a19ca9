import { assert, layer } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as fc from "fast-check"
import type { HealthIssue } from "../../../src/health/Health.ts"
import { type EntityKind, EntityKind as Kinds } from "../../../src/model/Attribute.ts"
import type { EntityId, StoreId } from "../../../src/model/Ids.ts"
import { StoresRepo } from "../../../src/stores/StoresRepo.ts"
import {
  actingAs,
  anAccount,
  Catalog,
  CatalogChange,
  CatalogChanges,
  DataHealth,
  Remediation,
  TestServices
} from "../../../src/testing/index.ts"
import { report, seed } from "../../faults/Dice.ts"
import { amount, runsPlanted } from "../../support/Volume.ts"
import { type History, history, World } from "./Catalogs.ts"

const catalogs = amount(40, 200)

/** The languages and currencies of the generated stores, as a person reads them. */
const languages: Readonly<Record<string, string>> = {
  "de-DE": "de",
  "de-AT": "de",
  DE: "de",
  en: "en",
  zh_CN: "zh",
  deutsch: "deutsch"
}
const currencies: Readonly<Record<string, string>> = { EUR: "EUR", eur: "EUR", CNY: "CNY" }

const texts = [
  "title",
  "handle",
  "description_html",
  "product_type",
  "tags",
  "seo_title",
  "alt",
  "option1",
  "care.note"
]
const prices = ["price", "spec.deposit"]

const rowsOf = Effect.gen(function* () {
  const health = yield* DataHealth
  yield* health.scan("divergence")
  const rows: Array<HealthIssue> = []
  for (let page = 1; ; page++) {
    const { data, has_next } = yield* health.issues({ section: "divergence", page, page_size: 100 })
    rows.push(...data)
    if (!has_next) return rows
  }
})

/** The effective values of all stores, by entity, store and key. */
const valuesOf = (entities: ReadonlyArray<{ readonly id: EntityId; readonly kind: EntityKind }>) =>
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const values = new Map<string, string>()
    for (const { id, kind } of entities)
      for (const { attributes, store_id } of yield* catalog.versions(kind, id))
        for (const { key, value } of attributes) values.set(`${id} ${store_id} ${key}`, value)
    return values
  })

/**
 * Reconciles every row of a random catalog with the values of the row's store. Returns the errors. `careless`: ignores
 * languages.
 */
const contradictions = ({ first, shops }: History, careless: boolean) =>
  Effect.gen(function* () {
    const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example", "c.example"] })
    const { link } = yield* StoresRepo
    for (const [index, store] of stores.entries()) yield* link(accountId, { ...store, ...shops[index] })
    return yield* Effect.gen(function* () {
      const minted = yield* Effect.replicateEffect(
        Effect.sync(() => crypto.randomUUID()),
        200
      )
      const world = new World(
        stores.map(({ id }) => id),
        () => minted.pop() ?? ""
      )
      const { apply } = yield* CatalogChanges
      // Overrides without a store version are refused. After all entities were added to all stores, most overrides are
      // applied.
      for (const step of first) yield* Effect.exit(apply(world.changesOf(step)))
      for (const { id: entityId } of world.entities)
        for (const { id: storeId } of stores) yield* apply([CatalogChange.AddToStore({ entityId, storeId })])
      for (const step of first) if (step.do === "override") yield* Effect.exit(apply(world.changesOf(step)))
      const rows = yield* rowsOf
      const before = yield* valuesOf(world.entities)
      if (careless) yield* (yield* DataHealth).changeChecks({ divergence: { texts: "all", prices: "all" } })
      const shopOf = (id: StoreId) => shops[stores.findIndex((store) => store.id === id)]
      const wrong: Array<string> = []
      const failed = new Set<string>()
      for (const kind of Kinds.literals) {
        const operations = rows
          .filter(({ entity_type }) => entity_type === kind)
          .flatMap(({ entity_id, fields, store_id }) =>
            fields.map((field) => ({ entity_id, field, winner_store_id: store_id }))
          )
        const { results } = yield* (yield* Remediation).reconcile(kind, operations)
        for (const [index, { entity_id, ok, patched_store_ids }] of results.entries()) {
          const { field = "", winner_store_id = "" as StoreId } = operations[index] ?? {}
          if (!ok) failed.add(`${entity_id} ${field}`)
          for (const id of patched_store_ids) {
            const [winner, patched] = [shopOf(winner_store_id), shopOf(id)]
            const crosses = (of: Readonly<Record<string, string>>, left = "", right = "") =>
              of[left] === undefined || of[left] !== of[right]
            if (texts.includes(field) && crosses(languages, winner?.primary_locale, patched?.primary_locale))
              wrong.push(`${field} went from ${winner?.primary_locale} to ${patched?.primary_locale}`)
            if (prices.includes(field) && crosses(currencies, winner?.currency, patched?.currency))
              wrong.push(`${field} went from ${winner?.currency} to ${patched?.currency}`)
          }
        }
        const told = new Set(
          results.flatMap(({ entity_id, patched_store_ids }, index) =>
            patched_store_ids.map((id) => `${entity_id} ${id} ${operations[index]?.field}`)
          )
        )
        const after = yield* valuesOf(world.entities.filter((entity) => entity.kind === kind))
        for (const [place, value] of after)
          if (value !== (before.get(place) ?? "") && !told.has(place)) wrong.push(`${place} changed without a word`)
      }
      const left = (yield* rowsOf).flatMap(({ entity_id, fields }) => fields.map((field) => `${entity_id} ${field}`))
      wrong.push(...left.filter((each) => !failed.has(each)).map((each) => `${each} is still listed`))
      return { rows: rows.length, wrong }
    }).pipe(actingAs(actor))
  })

const samples = fc.sample(history, { seed, numRuns: catalogs })

layer(TestServices, { excludeTestServices: true })("reconciles of random catalogs", (it) => {
  it.effect("remove every issue that they name, within one language or currency", () =>
    Effect.gen(function* () {
      const found = yield* Effect.forEach(samples, (sample) => contradictions(sample, false))
      const rows = found.reduce((sum, each) => sum + each.rows, 0)
      report("Reconciles of random catalogs", { catalogs, rows })
      assert.isAtLeast(rows, catalogs)
      assert.deepStrictEqual(
        found.flatMap(({ wrong }) => wrong),
        [],
        `seed ${seed}`
      )
    })
  )

  it.effect.runIf(runsPlanted)("are checked: writes across languages and currencies are detected (planted fault)", () =>
    Effect.gen(function* () {
      const found = yield* Effect.exit(Effect.forEach(samples, (sample) => contradictions(sample, true)))
      assert.isTrue(Exit.isSuccess(found) && found.value.some(({ wrong }) => wrong.length > 0), `seed ${seed}`)
    })
  )
})
