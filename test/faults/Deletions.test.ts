import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { EntityUsesRepo } from "../../src/drafts/EntityUsesRepo.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, ImportId, type JobId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Stores
} from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { Dice, report } from "./Dice.ts"
import { layerDatabase } from "./ServerServices.ts"

const rounds = amount(12, 60)
/** Writers of a round, beside two deletions. */
const writersAtOnce = 6

/** A planted fault: a deletion does not look for what refers to an entity. */
const withoutUses = Layer.effect(
  EntityUsesRepo,
  Effect.map(EntityUsesRepo, (uses) => ({ ...uses, usesOf: () => Effect.succeed([]) }))
)

const servicesWith = (planted: typeof withoutUses | undefined) =>
  Services.pipe(
    Layer.provideMerge(
      planted === undefined ? RepositoriesOnDatabase : planted.pipe(Layer.provideMerge(RepositoriesOnDatabase))
    ),
    Layer.provideMerge(layerDatabase(writersAtOnce + 6))
  )

const begin = (kind: EntityKind, id: EntityId) =>
  Effect.flatMap(BulkJobs, (bulk) => bulk.begin({ kind, ids: [id] }, { _tag: "Delete" }))

const settle = (id: JobId) =>
  Effect.flatMap(JobWorker, (worker) => Effect.flatten(worker.settle(id, () => Effect.void)))

const atOnce = { concurrency: "unbounded" } as const
const runDue = Effect.flatMap(JobWorker, (worker) => worker.runDue)
const getJob = (id: JobId) => Effect.flatMap(Jobs, (jobs) => jobs.get(id))

/** Returns a job when it has ended. The jobs of the planted fault never end. */
const endOf = (planted: typeof withoutUses | undefined) => (id: JobId) =>
  Effect.orDie(Effect.zipRight(planted === undefined ? settle(id) : Effect.void, getJob(id)))

const aPicture = anEntity("media", { url: "https://cdn.example/1.png" })

/** A product and a picture are deleted while others begin to use them. */
const raceOnce = (end: ReturnType<typeof endOf>, dice: Dice, shop: Store, collectionId: EntityId, other: EntityId) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const publishing = yield* Publishing
    const { apply } = yield* CatalogChanges
    const product = yield* anEntity("product", { title: "Tent" }, { on: [shop] })
    yield* anEntity("variant", { option1: "S" }, { of: product, on: [shop] })
    const picture = yield* aPicture
    const variantId = yield* mintId(EntityId)
    const writers: ReadonlyArray<Effect.Effect<unknown, unknown>> = yield* Effect.map(
      Effect.context<Effect.Effect.Context<ReturnType<typeof drafts.create>>>(),
      (context) =>
        [
          drafts.changeMembers(collectionId, [product], []),
          drafts.create(
            NewEntity.Variant({
              id: variantId,
              productId: product,
              attributes: [],
              optionValues: ["L"],
              firstOption: null
            })
          ),
          drafts.updateAttributes(product, { draft_revision: 2, attributes: [{ key: "vendor", value: "Fell" }] }),
          publishing.request(product, shop.id),
          apply([CatalogChange.SetGallery({ entityId: other, entries: [{ mediaId: picture, storeIds: [] }] })]),
          apply([CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: picture, storeIds: [] }] })])
        ].map((write) => Effect.delay(Effect.provide(write, context), dice.below(150)))
    )
    const jobs = [yield* begin("product", product), yield* begin("media", picture)]
    const [written] = yield* Effect.all(
      [Effect.forEach(writers, Effect.exit, atOnce), Effect.all([runDue, runDue], atOnce)],
      atOnce
    )
    const deletions = yield* Effect.forEach(jobs, ({ id }) => Effect.exit(end(id)))
    const isDefect = Exit.match<unknown, unknown, boolean, boolean>({
      onFailure: (cause) => !Cause.isFailure(cause),
      onSuccess: () => false
    })
    const catalog = yield* Catalog
    const isThere = yield* Effect.forEach([product, picture], (id) => Effect.isSuccess(catalog.kindOf(id)))
    const untrue = deletions.filter((exit, index) => {
      if (Exit.isFailure(exit)) return true
      const { result, state } = exit.value
      const expected = isThere[index] ? { changed: 0, refused: 1 } : { changed: 1, refused: 0 }
      return state !== "done" || result.changed !== expected.changed || result.refused !== expected.refused
    })
    const [, , , published, shown] = written.map(Exit.isSuccess)
    return {
      writes: written.length + deletions.length,
      defects: [...written, ...deletions].filter(isDefect).length,
      untrue: untrue.length,
      lost: (published && !isThere[0] ? 1 : 0) + (shown && !isThere[1] ? 1 : 0),
      deleted: isThere.filter((each) => !each).length
    }
  })

const race = (name: string, planted?: typeof withoutUses) =>
  Effect.gen(function* () {
    const { actor } = yield* anAccount()
    const dice = new Dice(name)
    const results = yield* Effect.gen(function* () {
      const { store: shop } = yield* (yield* Stores).link({ domain: "demo.example", platform: "demo" })
      const collectionId = yield* anEntity("collection", { title: "Summer" })
      const other = yield* anEntity("product", { title: "Stove" })
      return yield* Effect.replicateEffect(raceOnce(endOf(planted), dice, shop, collectionId, other), rounds)
    }).pipe(actingAs(actor))
    const sum = (key: keyof (typeof results)[number]) => results.reduce((total, each) => total + each[key], 0)
    const record = {
      writes: sum("writes"),
      defects: sum("defects"),
      untrue: sum("untrue"),
      lost: sum("lost"),
      deleted: sum("deleted")
    }
    report(name, record)
    return record
  }).pipe(Effect.provide(servicesWith(planted)))

describe.skipIf(!serverAnswers)("deletions beside writers that begin to use what is deleted", () => {
  it.live("each write succeeds, or learns why not", () =>
    Effect.gen(function* () {
      const { deleted: _, ...found } = yield* race("Deletions")
      assert.deepStrictEqual(found, { writes: rounds * (writersAtOnce + 2), defects: 0, untrue: 0, lost: 0 })
    })
  )
  it.live.runIf(runsPlanted)("jobs do not end if a deletion ignores what refers to an entity (planted fault)", () =>
    Effect.gen(function* () {
      const { untrue } = yield* race("Deletions, planted", withoutUses)
      assert.isAbove(untrue, 0)
    })
  )
  it.live("a deletion waits for the end of an import that has not locked the catalog yet", () =>
    Effect.gen(function* () {
      const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
      const sql = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent" })
        const importId = yield* mintId(ImportId)
        yield* sql`
          INSERT INTO import_run (account_id, id, store_id, source, phase)
          VALUES (${accountId}, ${importId}, ${stores[0].id}, 'refresh', 'fetching')`
        const { id } = yield* begin("product", tent)
        yield* (yield* JobWorker).runDue
        const jobs = yield* Jobs
        assert.deepInclude(yield* jobs.get(id), {
          state: "queued",
          done: 0,
          waiting_for: "the end of an import or of its review"
        })
        yield* sql`UPDATE import_run SET phase = 'discarded' WHERE account_id = ${accountId} AND id = ${importId}`
        yield* jobs.command("pause", id)
        yield* jobs.command("resume", id)
        const ended = yield* settle(id)
        assert.deepInclude(ended, { state: "done", result: { changed: 1, unchanged: 0, refused: 0 } })
      }).pipe(actingAs(actor))
    }).pipe(Effect.provide(servicesWith(undefined)))
  )
})
