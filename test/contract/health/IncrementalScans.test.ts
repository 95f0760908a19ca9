import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Data, Effect, Layer, Option } from "effect"
import * as fc from "fast-check"
import { BulkJobs } from "../../../src/bulk/BulkJobs.ts"
import type { Plan } from "../../../src/drafts/CatalogChange.ts"
import { type ChangeNote, emptyNote, noteOf } from "../../../src/drafts/ChangeNote.ts"
import { DefinitionsRepo } from "../../../src/drafts/DefinitionsRepo.ts"
import { DraftsRepo } from "../../../src/drafts/DraftsRepo.ts"
import { HealthDimension, HealthSection, isPerStore } from "../../../src/health/Health.ts"
import { HealthRepo } from "../../../src/health/HealthRepo.ts"
import { CurrentActor } from "../../../src/model/Actor.ts"
import { type AccountId, ImportId, RecordId, type StoreId } from "../../../src/model/Ids.ts"
import { JobWorker } from "../../../src/programs/JobWorker.ts"
import { UuidSource } from "../../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import { nameOf } from "../../../src/storedata/MirrorRecords.ts"
import { MirrorRepo } from "../../../src/storedata/MirrorRepo.ts"
import { StoresRepo } from "../../../src/stores/StoresRepo.ts"
import { Accounts, CatalogChange, CatalogChanges, DataHealth, Stores } from "../../../src/testing/index.ts"
import { Dice, report, seed } from "../../faults/Dice.ts"
import { featureEngines } from "../../support/TestDatabase.ts"
import { amount, runsPlanted } from "../../support/Volume.ts"
import { uuidsOf } from "../sidebyside/Sides.ts"
import { definitionOf, type History, history, locales, type Step, World } from "./Catalogs.ts"

const catalogs = amount(2, 20)
const rounds = 6
/** Maximum number of catalogs in which a planted fault must be found. */
const maxPlanted = 25

/** Everything that data health shows of an account, without times and versions. */
const shown = (accountId: AccountId, storeIds: ReadonlyArray<StoreId>) =>
  Effect.gen(function* () {
    const repo = yield* HealthRepo
    const scopes = [null, ...storeIds]
    const snapshots = yield* Effect.forEach(scopes, (storeId) =>
      Effect.map(repo.snapshots(accountId, storeId), (all) =>
        HealthDimension.literals.map((dimension) => JSON.parse(all.get(dimension) ?? "{}").result)
      )
    )
    const lists = yield* Effect.forEach(scopes, (storeId) =>
      Effect.forEach(HealthSection.literals, (section) =>
        Effect.forEach(section.startsWith("translations") ? [null, "de"] : [null], (locale) =>
          Effect.gen(function* () {
            const filter = { section, storeId, locale }
            const rows = yield* repo.countIssues(accountId, filter)
            const pages: Array<unknown> = []
            for (let page = 1; ; page++) {
              const found = yield* Effect.flatten(repo.issues(accountId, { ...filter, page, pageSize: 11 })).pipe(
                Effect.orElseSucceed(() => ({ rows: [], hasNext: false }))
              )
              pages.push(found.rows)
              if (!found.hasNext) return [section, storeId, locale, rows, pages]
            }
          })
        )
      )
    )
    return JSON.stringify({ snapshots, lists })
  })

const counted: Record<string, number> = {}
const count = (what: string) => {
  counted[what] = (counted[what] ?? 0) + 1
}

/** Scans as the service's jobs do: dimensions without changes are left out. */
const scanAll = (accountId: AccountId, storeId: StoreId | null) =>
  Effect.gen(function* () {
    const repo = yield* HealthRepo
    for (const dimension of HealthDimension.literals)
      if (storeId === null && Option.isSome(yield* repo.current(accountId, dimension))) count("dimensions left out")
      else if (storeId === null || isPerStore(dimension))
        yield* Effect.repeat(repo.scan(accountId, dimension, storeId), { until: ({ run }) => run !== null })
  })

class Undone extends Data.TaggedError("Undone")<{ readonly shown: string }> {}

/** The results of the same scans as full scans. They are rolled back afterwards. */
const fromNothing = (accountId: AccountId, storeIds: ReadonlyArray<StoreId>, storeId: StoreId | null) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* Effect.gen(function* () {
      yield* sql`UPDATE health_base SET fingerprint = '' WHERE account_id = ${accountId}`
      yield* scanAll(accountId, storeId)
      return yield* new Undone({ shown: yield* shown(accountId, storeIds) })
    }).pipe(
      sql.withTransaction,
      Effect.catchTag("Undone", ({ shown }) => Effect.succeed(shown))
    )
  })

/** The changes of a catalog between two scans, by kind. */
const makeChanges = (accountId: AccountId, world: World, dice: Dice, sample: () => History) => {
  const apply = (changes: ReadonlyArray<CatalogChange>) =>
    Effect.flatMap(CatalogChanges, (service) => service.apply(changes)).pipe(
      // A change is refused if its entity has no version on the store.
      Effect.catchTags({
        NotFound: () => Effect.void,
        ValidationFailed: () => Effect.void,
        PimLocked: () => Effect.void
      })
    )
  const some = (kind: string) => {
    const all = world.entities.filter((entity) => entity.kind === kind)
    return all.length === 0 ? undefined : dice.pick(all).id
  }
  const store = () => dice.pick(world.storeIds)
  const steps = (all: ReadonlyArray<Step>) =>
    Effect.forEach(all, (step) => apply(world.changesOf(step)), { discard: true })
  const relink = Effect.gen(function* () {
    const stores = yield* Stores
    yield* stores.unlink("b.example")
    if (dice.below(2) === 0) yield* scanAll(accountId, null)
    yield* steps(sample().afterwards.slice(0, 4))
    yield* stores.link({ domain: "b.example" })
  })
  return {
    "any steps": Effect.suspend(() => steps(sample().afterwards)),
    "a SKU": Effect.suspend(() => {
      const entityId = some("variant")
      return entityId === undefined
        ? Effect.void
        : apply([
            CatalogChange.SetAttributes({ entityId, values: { sku: dice.pick(["A-1", "B-2", "C-3", " ", null]) } })
          ])
    }),
    "a title and a status": Effect.suspend(() => {
      const entityId = some("product")
      return entityId === undefined
        ? Effect.void
        : apply([
            CatalogChange.SetAttributes({
              entityId,
              values: { title: `Title ${dice.below(100)}`, status: dice.pick(["active", "draft"]) }
            })
          ])
    }),
    "a gallery": Effect.suspend(() => {
      const entityId = some("product")
      const media = world.entities.filter(({ kind }) => kind === "media").map(({ id }) => id)
      return entityId === undefined
        ? Effect.void
        : apply([
            CatalogChange.SetGallery({
              entityId,
              entries: dice
                .shuffle(media)
                .slice(0, dice.below(3))
                .map((mediaId) => ({ mediaId, storeIds: [store()] }))
            })
          ])
    }),
    "publish states": Effect.suspend(() => {
      const { id: entityId } = dice.pick(world.entities)
      const of = { entityId, storeId: store() }
      return apply([
        dice.pick([
          CatalogChange.AcceptPublish(of),
          CatalogChange.RequestPublish(of),
          CatalogChange.RefusePublish({ ...of, error: { code: "busy", message: `Busy ${dice.below(9)}` } })
        ])
      ])
    }),
    "stores of an entity": Effect.suspend(() => {
      const of = { entityId: dice.pick(world.entities).id, storeId: store() }
      return apply([dice.pick([CatalogChange.AddToStore(of), CatalogChange.RemoveFromStore(of)])])
    }),
    "deleted entities": Effect.gen(function* () {
      const entities = dice.some(world.entities, 2)
      for (const { id, kind } of entities) {
        const job = yield* Effect.option((yield* BulkJobs).begin({ kind, ids: [id] }, { _tag: "Delete" }))
        // Unknown: it was deleted before.
        if (Option.isNone(job)) continue
        const ended = yield* Effect.orDie(Effect.flatten((yield* JobWorker).settle(job.value.id, () => Effect.void)))
        if (ended.result.changed === 1) count("deleted")
      }
    }),
    "the order of variants": Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const productId = some("product")
      if (productId === undefined) return
      const variants = yield* Effect.orDie(
        sql<{ id: string }>`SELECT id FROM entity WHERE account_id = ${accountId} AND parent_id = ${productId}`
      )
      yield* apply([
        CatalogChange.OrderVariants({ productId, variantIds: dice.shuffle(variants.map(({ id }) => id as never)) })
      ])
    }),
    translations: Effect.gen(function* () {
      const repo = yield* MirrorRepo
      const sql = yield* SqlClient.SqlClient
      const importId = ImportId.make(world.mint())
      for (const said of sample().tongues.flatMap((tongue) => world.mirrored(tongue) ?? [])) {
        yield* apply([CatalogChange.Identify(said)])
        yield* repo.stage(
          accountId,
          importId,
          said.items.map((item) => ({ id: RecordId.make(world.mint()), name: nameOf(item), item }))
        )
      }
      yield* Effect.orDie(
        sql.withTransaction(
          Effect.gen(function* () {
            const { translated: entities } = yield* repo.apply(accountId, importId, store())
            yield* (yield* DraftsRepo).raise(accountId, undefined, { ...emptyNote, entities })
          })
        )
      )
    }),
    definitions: Effect.gen(function* () {
      const drafts = yield* DraftsRepo
      const repo = yield* DefinitionsRepo
      for (const definition of sample().definitions.slice(0, 1)) {
        const { metafields_count: _, platform_id: __, ...own } = definitionOf(definition)
        yield* repo.define(accountId, RecordId.make(world.mint()), own)
        yield* drafts.raise(accountId)
      }
    }),
    rules: Effect.gen(function* () {
      const { rules } = sample()
      if (rules !== null) yield* (yield* DataHealth).setRules(rules)
    }),
    "a platform, a language or a currency": Effect.gen(function* () {
      const stores = yield* StoresRepo
      const known = dice.pick(yield* stores.list(accountId))
      yield* stores.link(accountId, { ...known, ...dice.pick(sample().shops), locales: dice.some(locales, 3) })
      yield* (yield* DraftsRepo).raise(accountId)
    }),
    "a new store": Effect.gen(function* () {
      const { store } = yield* (yield* Stores).link({ domain: `new-${dice.below(1_000)}.example` })
      yield* apply(
        dice.some(world.entities, 5).map(({ id }) => CatalogChange.AddToStore({ entityId: id, storeId: store.id }))
      )
    }),
    "a store that is unlinked and linked again": relink
  }
}

/** Rare kinds with large effects: the next scan is a full one, which would hide other kinds. */
const wide = new Set([
  "definitions",
  "rules",
  "a platform, a language or a currency",
  "a new store",
  "a store that is unlinked and linked again"
])

/** Kinds without notes. Every third round has only one of them. */
const unnoted = ["definitions", "rules", "a platform, a language or a currency"]

/** Random catalogs and changes. Returns the first difference between an incremental scan and a full one. */
const firstDifference = (name: string, number: number) =>
  Effect.gen(function* () {
    for (let catalog = 0; catalog < number; catalog++) {
      const dice = new Dice(`${name}, ${catalog}`)
      let samples = 0
      const sample = () => {
        const [one] = fc.sample(history, { seed: (seed + catalog * 10_000 + samples++) | 0, numRuns: 1 })
        return one ?? assert.fail("no sample")
      }
      const uuids = uuidsOf(`${seed} ${name} ${catalog}`)
      const difference = yield* Effect.gen(function* () {
        const { id: accountId }: { readonly id: AccountId } = yield* (yield* Accounts).create("Health")
        return yield* Effect.gen(function* () {
          const stores = yield* Effect.forEach(["b.example", "a.example", "c.example"], (domain, index) =>
            Effect.gen(function* () {
              const { store } = yield* (yield* Stores).link({ domain })
              yield* (yield* StoresRepo).link(accountId, { ...store, locales, ...sample().shops[index] })
              return store.id
            })
          )
          const world = new World(stores, uuidsOf(`${seed} ${name} ${catalog}, entities`))
          const { apply } = yield* CatalogChanges
          for (const step of [sample(), sample(), sample()].flatMap(({ first }) => first))
            yield* Effect.ignore(apply(world.changesOf(step)))
          yield* scanAll(accountId, null)
          const changes = Object.entries(makeChanges(accountId, world, dice, sample))
          const sql = yield* SqlClient.SqlClient
          const bases = Effect.map(
            Effect.orDie(sql`SELECT max(base) AS base FROM health_base WHERE account_id = ${accountId}`),
            ([row]) => Number(row?.base)
          )
          for (let round = 0; round < rounds; round++) {
            const kinds =
              round % 3 === 2
                ? dice.shuffle(changes.filter(([kind]) => unnoted.includes(kind))).slice(0, 1)
                : dice.shuffle(changes).filter(([kind]) => !wide.has(kind) || dice.below(12) === 0)
            for (const [kind, change] of kinds.slice(0, 1 + dice.below(kinds.length))) {
              yield* change
              count(kind)
            }
            const linked = (yield* (yield* StoresRepo).list(accountId)).map(({ id }) => id)
            for (const storeId of dice.below(3) === 0 ? [dice.pick(linked), null] : [null]) {
              const last = yield* bases
              const expected = yield* fromNothing(accountId, linked, storeId)
              yield* scanAll(accountId, storeId)
              count((yield* bases) === last ? "incremental scans" : "scans with at least one full scan")
              yield* (yield* HealthRepo).tidy(accountId)
              const found = yield* shown(accountId, linked)
              if (found !== expected) return { round, kinds: kinds.map(([kind]) => kind), ...contrast(found, expected) }
            }
          }
          return undefined
        }).pipe(Effect.provideService(CurrentActor, { _tag: "Cli", accountId }))
      }).pipe(Effect.provideService(UuidSource, uuids))
      count("catalogs")
      if (difference !== undefined) return { catalog, ...difference }
    }
    return undefined
  })

/** The parts of two texts from their first difference on. */
const contrast = (found: string, expected: string) => {
  let at = 0
  while (found[at] === expected[at]) at++
  return {
    found: found.slice(Math.max(0, at - 300), at + 200),
    expected: expected.slice(Math.max(0, at - 300), at + 200)
  }
}

const forgetting = (what: (note: ChangeNote, of: ReadonlySet<string>, plan: Plan | undefined) => ChangeNote) =>
  Layer.effect(
    DraftsRepo,
    Effect.map(DraftsRepo, (drafts) => ({
      ...drafts,
      raise: (accountId, plan, note) => {
        const whole = note ?? (plan === undefined ? emptyNote : noteOf(plan))
        const written = new Set<string>(plan === undefined ? [] : [...plan.stamped, ...plan.drafted])
        return drafts.raise(accountId, plan, what(whole, written, plan))
      }
    }))
  )

/** Faults in the notes: each leaves out one kind of change. */
const planted = {
  "changes of publish states": forgetting((note, written) => ({
    ...note,
    entities: note.entities.filter((id) => written.size === 0 || written.has(id))
  })),
  "media that left a gallery": forgetting((note, _, plan) =>
    plan === undefined
      ? note
      : noteOf({
          ...plan,
          updated: plan.updated.map(({ after, before }) => ({ after, before: { ...before, gallery: after.gallery } }))
        })
  ),
  "the former SKU of a variant": forgetting((note) => ({ ...note, skus: [] })),
  "entities that were created or changed their stores": forgetting((note) => ({ ...note, moved: [] })),
  "deleted entities": forgetting((note, _, plan) => {
    const gone = new Set<string>(plan?.deleted.map(({ id }) => id))
    return {
      ...note,
      entities: note.entities.filter((id) => !gone.has(id)),
      moved: note.moved.filter(({ to }) => to !== null)
    }
  }),
  "translated entities": forgetting((note, written) => (written.size > 0 ? note : { ...note, entities: [] })),
  "canonical changes": forgetting((note, written) => ({
    ...note,
    entities: note.entities.filter((id) => !written.has(id))
  }))
}

type Planted = (typeof planted)[keyof typeof planted]

const servicesOn = (database: (typeof featureEngines)[number]["layer"], plant?: Planted) => {
  // Few entities per step and rows per block, so that small catalogs have several of both.
  const health = HealthRepo.layerOf({ entitiesPerStep: 23, rowsPerBlock: 3 }).pipe(
    Layer.provideMerge(RepositoriesOnDatabase)
  )
  return Services.pipe(
    Layer.provideMerge(plant === undefined ? health : plant.pipe(Layer.provideMerge(health))),
    Layer.provideMerge(database),
    Layer.orDie
  )
}

describe("incremental scans", () => {
  for (const { absent, layer, name } of featureEngines)
    it.scopedLive.skipIf(absent)(`find the same issues as full scans (${name})`, () =>
      Effect.gen(function* () {
        const difference = yield* firstDifference(`Incremental ${name}`, catalogs)
        report(`Scans after a scan, ${name}`, counted)
        assert.isUndefined(difference, `seed ${seed}: ${JSON.stringify(difference, null, 1)}`)
        assert.isAtLeast(counted["incremental scans"] ?? 0, catalogs)
        assert.isAtLeast(counted["dimensions left out"] ?? 0, catalogs)
      }).pipe(Effect.provide(servicesOn(layer)))
    )

  const [engine] = featureEngines.filter(({ absent }) => !absent).reverse()
  for (const [what, plant] of Object.entries(planted))
    it.scopedLive.runIf(engine !== undefined && runsPlanted)(
      `are wrong if notes leave out ${what} (planted fault)`,
      () =>
        Effect.gen(function* () {
          const difference = yield* firstDifference(`Forgotten: ${what}`, maxPlanted)
          assert.isDefined(difference, `seed ${seed}`)
        }).pipe(Effect.provide(servicesOn(engine?.layer ?? assert.fail("no engine"), plant)))
    )
})
