import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Option, Schema } from "effect"
import * as fc from "fast-check"
import { Transaction } from "../../../src/database/Transaction.ts"
import { DefinitionsRepo } from "../../../src/drafts/DefinitionsRepo.ts"
import {
  HealthDimension,
  HealthIssuePage,
  HealthOverview,
  type HealthRules,
  HealthSection,
  HealthSnapshot
} from "../../../src/health/Health.ts"
import { HealthRepo } from "../../../src/health/HealthRepo.ts"
import { CurrentActor } from "../../../src/model/Actor.ts"
import { type AccountId, ImportId, RecordId, type StoreId } from "../../../src/model/Ids.ts"
import { JobWorker } from "../../../src/programs/JobWorker.ts"
import { nameOf } from "../../../src/storedata/MirrorRecords.ts"
import { MirrorRepo } from "../../../src/storedata/MirrorRepo.ts"
import { StoresRepo } from "../../../src/stores/StoresRepo.ts"
import { Accounts, CatalogChange, CatalogChanges, DataHealth, Stores } from "../../../src/testing/index.ts"
import { report, seed } from "../../faults/Dice.ts"
import { amount, isLong, runsPlanted } from "../../support/Volume.ts"
import { everySide, memorySide, type Plant, runOn, type Side, uuidsOf } from "../sidebyside/Sides.ts"
import {
  type Defined,
  definitionOf,
  type History,
  history,
  locales,
  type Step,
  type Tongue,
  World
} from "./Catalogs.ts"

const catalogs = amount(2, 30)
const plantedCatalogs = 400

const exactly = <A, I>(schema: Schema.Schema<A, I>, value: unknown) =>
  Effect.orDie(Schema.decodeUnknown(schema, { onExcessProperty: "error", errors: "all" })(value))

/** All results of data health for an account: snapshots and all pages, of the account and of each store. */
const observed = (storeIds: ReadonlyArray<StoreId>) =>
  Effect.gen(function* () {
    const health = yield* DataHealth
    const scopes = [undefined, ...storeIds]
    const overviews = yield* Effect.forEach(scopes, (storeId) =>
      Effect.flatMap(health.overview(storeId), ({ text }) => exactly(Schema.parseJson(HealthOverview), text))
    )
    const sections = yield* Effect.forEach(scopes, (store_id) =>
      Effect.forEach(HealthSection.literals, (section) =>
        Effect.gen(function* () {
          const pages: Array<HealthIssuePage> = []
          do {
            const page = yield* health.issues({ section, store_id, page: pages.length + 1, page_size: 7 })
            pages.push(yield* exactly(HealthIssuePage, page))
          } while (pages.at(-1)?.has_next)
          return pages
        })
      )
    )
    const inGerman = yield* Effect.forEach(scopes, (store_id) =>
      Effect.forEach(["translations-untranslated", "translations-outdated"] as const, (section) =>
        health.issues({ section, store_id, page: 1, page_size: 3, locale: "de" })
      )
    )
    const ofField = yield* Effect.forEach(scopes, (store_id) =>
      Effect.forEach(fieldsAsked, ([section, field]) =>
        Effect.gen(function* () {
          const pages: Array<HealthIssuePage> = []
          do {
            const page = yield* health.issues({ section, store_id, field, page: pages.length + 1, page_size: 3 })
            pages.push(yield* exactly(HealthIssuePage, page))
          } while (pages.at(-1)?.has_next)
          return pages
        })
      )
    )
    const rows = yield* Effect.forEach(scopes, (store_id) =>
      Effect.forEach(HealthSection.literals, (section) =>
        Effect.all([health.countIssues({ section, store_id }), health.countIssues({ section, store_id, locale: "de" })])
      )
    )
    return { overviews, sections, inGerman, ofField, rows }
  })

/** Contradictions between snapshots and pages. */
const contradictions = (seen: Effect.Effect.Success<ReturnType<typeof observed>>) => [
  ...contradictedCounts(seen),
  ...contradictedFields(seen),
  ...contradictedPages(seen)
]

/** Fields to filter by, and the name of each in the rows. */
const fieldsAsked = [
  ["completeness-required", "vendor", "vendor"],
  ["completeness-recommended", "tags", "tags"],
  ["divergence", "title", "title"],
  ["sync-never-published", "title", "title"],
  ["media-missing", "media_ids", "media_ids"],
  ["translations-untranslated", "title", "title"],
  ["translations-untranslated", "description_html", "body_html"],
  ["translations-outdated", "body_html", "body_html"]
] as const

/** Pages filtered by a field must have the rows of the section with this field, in the same order. */
const contradictedFields = ({ ofField, sections }: Effect.Effect.Success<ReturnType<typeof observed>>) =>
  ofField.flatMap((filtered, scope) =>
    fieldsAsked.flatMap(([section, field, name], index) => {
      const all = sections[scope]?.[HealthSection.literals.indexOf(section)]?.flatMap(({ data }) => data) ?? []
      const found = filtered[index]?.flatMap(({ data }) => data) ?? []
      return JSON.stringify(found) === JSON.stringify(all.filter(({ fields }) => fields.includes(name)))
        ? []
        : [`scope ${scope}: ${section} by ${field} has other rows`]
    })
  )

/** The counts of a section must be equal to the number of rows on its pages. */
const contradictedCounts = ({ rows, sections }: Effect.Effect.Success<ReturnType<typeof observed>>) =>
  rows.flatMap((counts, scope) =>
    counts.flatMap(([all, inGerman], index) => {
      const delivered = sections[scope]?.[index]?.flatMap(({ data }) => data) ?? []
      const german = delivered.filter(({ locale = "de" }) => locale === "de")
      return all === delivered.length && inGerman === german.length
        ? []
        : [`scope ${scope}: ${HealthSection.literals[index]} is counted as ${all} and ${inGerman}`]
    })
  )

const contradictedPages = ({ overviews, sections }: Effect.Effect.Success<ReturnType<typeof observed>>) =>
  overviews.flatMap(({ dimensions }, scope) =>
    dimensions.flatMap((snapshot) => {
      if (!snapshot.scanned) return []
      const { affected, by_section, by_store, checked, score } = snapshot.result
      const wrong = by_section.filter(({ rows, section }) => {
        const delivered = sections[scope]?.[HealthSection.literals.indexOf(section)]?.flatMap(({ data }) => data) ?? []
        // If a dimension has only one snapshot, its counts include the rows of all stores.
        return by_store.length <= 1 || scope === 0 ? delivered.length !== rows : delivered.length > rows
      })
      const expected = checked === 0 ? 100 : Math.floor((100 * (checked - affected)) / checked)
      return [
        ...wrong.map(({ rows, section }) => `scope ${scope}: ${section} has other rows than ${rows}`),
        ...(score === expected ? [] : [`scope ${scope}: ${snapshot.dimension} scores ${score}`]),
        ...(affected <= checked ? [] : [`scope ${scope}: ${snapshot.dimension} affected ${affected} of ${checked}`])
      ]
    })
  )

let started = 0
const counted = { catalogs: 0, entities: 0, rows: {} as Record<string, number> }

/** Refreshes the store data of all stores. */
const mirror = (
  accountId: AccountId,
  world: World,
  tongues: ReadonlyArray<Tongue>,
  definitions: ReadonlyArray<Defined>
) =>
  Effect.gen(function* () {
    const repo = yield* MirrorRepo
    const { apply } = yield* CatalogChanges
    const transaction = yield* Transaction
    const importId = ImportId.make(world.mint())
    const said = tongues.flatMap((tongue) => world.mirrored(tongue) ?? [])
    for (const { entityId, items, platformId, storeId } of said) {
      yield* Effect.catchAll(apply([CatalogChange.Identify({ entityId, storeId, platformId })]), () => Effect.void)
      yield* repo.stage(
        accountId,
        importId,
        items.map((item) => ({ id: RecordId.make(world.mint()), name: nameOf(item), item }))
      )
    }
    for (const definition of definitions) {
      const id = RecordId.make(world.mint())
      const { metafields_count: _, platform_id: __, ...own } = definitionOf(definition)
      const item = { kind: "metafield_definition", content: definitionOf(definition) } as const
      yield* definition.isOwn
        ? Effect.flatMap(DefinitionsRepo, ({ define }) => define(accountId, id, own))
        : repo.stage(accountId, importId, [{ id, name: nameOf(item), item }])
    }
    for (const storeId of world.storeIds) yield* transaction.run(repo.apply(accountId, importId, storeId))
  })

const compare = (sides: ReadonlyArray<Side>, { afterwards, definitions, first, rules, shops, tongues }: History) =>
  Effect.gen(function* () {
    const name = `${seed} health ${started++}`
    const answers = yield* Effect.forEach(sides, (side) => {
      const on = runOn(side, uuidsOf(name))
      return on(
        Effect.gen(function* () {
          const { id: accountId }: { readonly id: AccountId } = yield* (yield* Accounts).create("Health")
          return yield* Effect.gen(function* () {
            const domains = ["b.example", "a.example", "b-c.example"] as const
            const stores = yield* Effect.forEach(domains, (domain, index) =>
              Effect.gen(function* () {
                const { store } = yield* (yield* Stores).link({ domain })
                yield* (yield* StoresRepo).link(accountId, { ...store, locales, ...shops[index] })
                return store.id
              })
            )
            if (rules !== null) yield* (yield* DataHealth).setRules(rules)
            const world = new World(stores, uuidsOf(`${name}, entities`))
            const { apply } = yield* CatalogChanges
            const health = yield* DataHealth
            const carryOut = (steps: ReadonlyArray<Step>) =>
              Effect.forEach(steps, (step) =>
                // A change is refused on every side if its entity has no version on the store.
                Effect.catchTags(apply(world.changesOf(step)), {
                  NotFound: () => Effect.void,
                  ValidationFailed: () => Effect.void
                })
              )
            yield* carryOut(first)
            yield* mirror(accountId, world, tongues, definitions)
            const before = yield* observed(stores)
            const scans = yield* Effect.forEach(HealthDimension.literals, (dimension) =>
              Effect.flatMap(health.scan(dimension), ({ text }) => exactly(Schema.parseJson(HealthSnapshot), text))
            )
            const scanned = yield* observed(stores)
            yield* carryOut(afterwards)
            // Snapshots do not change until the next scan.
            const stale = yield* observed(stores)
            yield* Effect.forEach(HealthDimension.literals, (dimension) => health.scan(dimension, stores[1]))
            const narrowed = yield* observed(stores)
            yield* (yield* Stores).unlink("b.example")
            yield* (yield* JobWorker).runDue
            const unlinked = yield* observed(stores.slice(1))
            return { before, scans, scanned, stale, narrowed, unlinked, entities: world.entities.length }
          }).pipe(Effect.provideService(CurrentActor, { _tag: "Cli", accountId }))
        })
      )
    })
    const [mine, ...others] = answers
    if (mine === undefined) return yield* Effect.dieMessage("there is no side")
    for (const [index, other] of others.entries())
      for (const moment of ["before", "scans", "scanned", "stale", "narrowed", "unlinked"] as const)
        if (!isDeepStrictEqual(mine[moment], other[moment])) {
          assert.deepStrictEqual(other[moment], mine[moment], `seed ${seed}: ${sides[index + 1]?.name}, ${moment}`)
          return yield* Effect.dieMessage(`${moment} differs`)
        }
    const wrong = [mine.scanned, mine.unlinked].flatMap(contradictions)
    if (wrong.length > 0) return yield* Effect.dieMessage(wrong.join("; "))
    counted.catalogs += 1
    counted.entities += mine.entities
    for (const pages of mine.scanned.sections[0] ?? [])
      for (const { data, section } of pages) counted.rows[section] = (counted.rows[section] ?? 0) + data.length
  })

const search = (sides: ReadonlyArray<Side>, numRuns: number, endOnFailure: boolean) =>
  Effect.promise(() =>
    Promise.resolve(
      fc.check(
        fc.asyncProperty(history, (steps) =>
          Effect.runPromise(
            Effect.mapErrorCause(compare(sides, steps), (cause) =>
              Cause.die(new Error(Cause.pretty(cause, { renderErrorCause: true }).slice(0, 4_000)))
            )
          )
        ),
        { seed, numRuns, endOnFailure }
      )
    )
  )

/** The seed and the path of a failure, which repeat it; the complete catalog would fill pages. */
const reasonOf = <Values>({ counterexamplePath, errorInstance }: fc.RunDetails<Values>) =>
  `seed ${seed}, path ${counterexamplePath}: ${errorInstance instanceof Error ? errorInstance.message : errorInstance}`

/** A repository that saves other rules than the given ones. */
const otherRules = (how: (rules: HealthRules) => HealthRules): Plant =>
  Layer.effect(
    HealthRepo,
    Effect.map(HealthRepo, (repo) => ({
      ...repo,
      rules: (accountId) => Effect.map(repo.rules(accountId), how),
      keepRules: (accountId, rules) => repo.keepRules(accountId, how(rules))
    }))
  )

/** In-memory implementations with one fault each. */
const planted: Readonly<Record<string, Plant>> = {
  "a store's scan left its snapshot as it was": Layer.effect(
    HealthRepo,
    Effect.map(HealthRepo, (repo) => ({
      ...repo,
      scan: (accountId, dimension, storeId) =>
        storeId === null
          ? repo.scan(accountId, dimension, storeId)
          : Effect.map(repo.ticket, (run) => ({ run, scanned: 0, entities: 0 }))
    }))
  ),
  "a page began a row too late": Layer.effect(
    HealthRepo,
    Effect.map(HealthRepo, (repo) => ({
      ...repo,
      issues: (accountId, query) =>
        repo.issues(accountId, query.page === 1 ? query : { ...query, page: query.page + 1 })
    }))
  ),
  "texts of all languages were compared": otherRules((rules) => ({
    ...rules,
    divergence: { ...rules.divergence, texts: "all" }
  })),
  "prices of all currencies were compared": otherRules((rules) => ({
    ...rules,
    divergence: { ...rules.divergence, prices: "all" }
  })),
  "prices of zero were allowed": otherRules((rules) => ({ ...rules, structure: { zero_price: "allowed" } })),
  "duplicates of a SKU were not listed": Layer.effect(
    HealthRepo,
    Effect.map(HealthRepo, (repo) => ({
      ...repo,
      issues: (accountId, query) =>
        Effect.map(
          repo.issues(accountId, query),
          Option.map((page) => ({ ...page, rows: page.rows.map(({ duplicates: _, ...row }) => row) }))
        )
    }))
  )
}

describe("data health of random catalogs", () => {
  it.scopedLive("has the same numbers and rows from plain functions and from SQL", () =>
    Effect.gen(function* () {
      const sides = yield* everySide
      assert.isAbove(sides.length, 1)
      const result = yield* search(sides, catalogs, true)
      assert.isFalse(result.failed, reasonOf(result))
      report("Health of random catalogs", { sides: sides.map(({ name }) => name), ...counted })
      assert.strictEqual(counted.catalogs, catalogs)
      if (isLong) for (const section of HealthSection.literals) assert.isAtLeast(counted.rows[section] ?? 0, 1, section)
    })
  )

  for (const [difference, plant] of Object.entries(planted))
    it.scopedLive.runIf(runsPlanted)(`finds a difference if ${difference} (planted fault)`, () =>
      Effect.gen(function* () {
        const sides = yield* Effect.all([memorySide("memory"), memorySide("wrong memory", plant)])
        const result = yield* search(sides, plantedCatalogs, true)
        assert.isTrue(result.failed, `seed ${seed}`)
        assert.include(reasonOf(result), "wrong memory")
      })
    )
})
