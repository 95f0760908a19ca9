import { once } from "node:events"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Effect, Fiber, Layer, Option, Redacted, Schedule, Stream } from "effect"
import { AccessRepo } from "../../src/access/AccessRepo.ts"
import { AccountDeletion } from "../../src/access/AccountDeletion.ts"
import { AccountDeletionRepo } from "../../src/access/AccountDeletionRepo.ts"
import { BulkItemsRepo } from "../../src/bulk/BulkItemsRepo.ts"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { MerchantLists } from "../../src/catalog/MerchantLists.ts"
import type { MerchantListsRepo } from "../../src/catalog/MerchantListsRepo.ts"
import { LeasesRepo } from "../../src/database/LeasesRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import type { ExportItemsRepo } from "../../src/exports/ExportItemsRepo.ts"
import { ExportJobs } from "../../src/exports/ExportJobs.ts"
import { Exports } from "../../src/exports/Exports.ts"
import type { ExportsRepo } from "../../src/exports/ExportsRepo.ts"
import { AutomaticScans } from "../../src/health/AutomaticScans.ts"
import { HealthDimension } from "../../src/health/Health.ts"
import { layerScanAfterStoreJob } from "../../src/health/ScanAfterStoreJob.ts"
import type { Job, JobKindName } from "../../src/jobs/Job.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import type { Actor } from "../../src/model/Actor.ts"
import { EntityKind } from "../../src/model/Attribute.ts"
import { type AccountId, ApiKeyId, EntityId, type StoreId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { bundledProgram, startProgram } from "./BundledProgram.ts"
import { wrongDerivations } from "./Derivations.ts"
import { Dice, report, seed } from "./Dice.ts"
import { deadlocks, layerServices, noticeDeadlocksSoon, untilQuiet } from "./ServerServices.ts"
import { lockWaits, openClient } from "./Stalls.ts"

const domain = "b.demo.example"
const files = "files.example"

interface World {
  readonly accountId: AccountId
  readonly actor: Actor
  readonly storeId: StoreId
  readonly entities: number
}

/** Products on two stores. Some have their own title there, so their search texts must be derived again. */
const aWorld = (entities: number) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    const { apply } = yield* CatalogChanges
    const { link } = yield* Stores
    return yield* Effect.gen(function* () {
      const { store: first } = yield* link({ domain: "a.demo.example", platform: "demo" })
      const { store } = yield* link({ domain, platform: "demo" })
      const ids = yield* Effect.replicateEffect(mintId(EntityId), entities)
      for (const some of Arr.chunksOf(ids, 250))
        yield* apply(
          some.flatMap((id, index) => [
            CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "Tent" } }),
            CatalogChange.AddToStore({ entityId: id, storeId: first.id }),
            CatalogChange.AddToStore({ entityId: id, storeId: store.id }),
            ...(index % 10 === 0
              ? [CatalogChange.SetOverrides({ entityId: id, storeId: store.id, values: { title: "Zelt" } })]
              : [])
          ])
        )
      const world: World = { accountId, actor, storeId: store.id, entities }
      return world
    }).pipe(actingAs(actor), Effect.orDie)
  })

const count = (statement: Effect.Effect<ReadonlyArray<object>, unknown>) =>
  Effect.map(Effect.orDie(statement), ([row]) => Number((row as { readonly count?: unknown } | undefined)?.count))

const shown = ({ accountId, storeId }: World) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    count(sql`SELECT count(*) FROM entity e WHERE e.account_id = ${accountId} AND ${storeId}::uuid = ANY(e.store_ids)`)
  )

const requested = ({ accountId, storeId }: World) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    count(sql`SELECT count(*) FROM publication p WHERE p.account_id = ${accountId} AND p.store_id = ${storeId}`)
  )

/** Rows of the account in the tables that its deletion deletes. */
const rowsOf = ({ accountId }: World) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    let rows = 0
    for (const table of yield* (yield* AccountDeletionRepo).tables)
      rows += yield* count(sql`SELECT count(*) FROM ${sql(table)} t WHERE t.account_id = ${accountId}`)
    return rows
  })

/** The work of a kind of jobs, and how to observe it in the database. */
interface Work {
  readonly kind: JobKindName
  readonly prepare: (world: World) => Effect.Effect<unknown, never, Services>
  readonly begin: (world: World) => Effect.Effect<Job, unknown, Services>
  /** The number of finished items in the database. `before`: the same number when the job began. */
  readonly seen: (world: World) => Effect.Effect<number, never, Services>
  /** The number of entities; fewer for kinds with small steps. */
  readonly entities: number
  /** The number of items, if it is not that of the entities. */
  readonly items?: number
}

type Services =
  | AccountDeletion
  | AccountDeletionRepo
  | BulkJobs
  | CatalogChanges
  | ExportItemsRepo
  | ExportJobs
  | ExportsRepo
  | JobWorker
  | Jobs
  | MerchantListsRepo
  | Publishing
  | PublishJobs
  | SqlClient.SqlClient
  | Stores

const nothing = () => Effect.void

const jobOf = ({ job }: { readonly job: Job | null }) => job ?? assert.fail("no job")

/** The products of the account, by id. */
const productsOf = ({ accountId }: World) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`SELECT e.id FROM entity e WHERE e.account_id = ${accountId} ORDER BY e.id`
    return rows.map(({ id }) => EntityId.make(String(id)))
  })

/** Begins a job that sets a field of all products. */
const beginBulk = (world: World) =>
  Effect.gen(function* () {
    const ids = yield* productsOf(world)
    const change = { _tag: "SetField", storeId: null, key: "vendor", value: "Fell" } as const
    return yield* (yield* BulkJobs).begin({ kind: "product", ids }, change)
  }).pipe(actingAs(world.actor))

/** Begins a job that sets a field of all products, which it collects itself. */
const beginFound = ({ actor, entities }: World, vendor = "Fell") =>
  Effect.flatMap(BulkJobs, (jobs) =>
    jobs.begin(
      { kind: "product", filters: { search: "tent" }, count: entities },
      { _tag: "SetField", storeId: null, key: "vendor", value: vendor }
    )
  ).pipe(actingAs(actor))

/** The number of vendors that a bulk change wrote. An entity whose draft a step wrote twice counts twice. */
const vendorsWritten = ({ accountId }: World) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    count(sql`
      SELECT count(*) FROM entity_history h
      WHERE h.account_id = ${accountId} AND h.changes @> '[{"key": "vendor", "new": "Fell"}]'`)
  )

const works: ReadonlyArray<Work> = [
  {
    kind: "store_unlink",
    prepare: nothing,
    begin: ({ actor }) =>
      Effect.map(
        Effect.flatMap(Stores, (each) => each.beginUnlink(domain)),
        jobOf
      ).pipe(actingAs(actor)),
    seen: (world) => Effect.map(shown(world), (left) => world.entities - left),
    entities: amount(600, 2_000)
  },
  {
    kind: "store_link",
    prepare: ({ actor }) => Effect.orDie(Effect.flatMap(Stores, (each) => each.unlink(domain)).pipe(actingAs(actor))),
    begin: ({ actor }) =>
      Effect.map(
        Effect.flatMap(Stores, (each) => each.beginLink({ domain })),
        jobOf
      ).pipe(actingAs(actor)),
    seen: shown,
    entities: amount(600, 2_000)
  },
  {
    kind: "publish_waiting",
    prepare: nothing,
    begin: ({ actor, storeId }) => Effect.flatMap(PublishJobs, (begin) => begin.all(storeId)).pipe(actingAs(actor)),
    seen: requested,
    entities: amount(40, 1_000)
  },
  {
    kind: "publish_selected",
    prepare: nothing,
    begin: (world) =>
      Effect.gen(function* () {
        return yield* (yield* PublishJobs).selected(world.storeId, yield* productsOf(world))
      }).pipe(actingAs(world.actor)),
    seen: requested,
    entities: amount(40, 1_000)
  },
  {
    // The job finds its entities itself.
    kind: "publish_selected",
    prepare: nothing,
    begin: ({ actor, entities, storeId }) =>
      Effect.flatMap(PublishJobs, (begin) =>
        begin.chosen(storeId, EntityKind.literals, { filters: { storeId, state: "unpublished" }, count: entities })
      ).pipe(actingAs(actor)),
    seen: requested,
    entities: amount(40, 1_000)
  },
  {
    kind: "export",
    prepare: (world) =>
      Effect.gen(function* () {
        const { store } = yield* (yield* Stores).link({ domain: files })
        for (const some of Arr.chunksOf(yield* productsOf(world), 250))
          yield* (yield* CatalogChanges).apply(
            some.map((entityId) => CatalogChange.AddToStore({ entityId, storeId: store.id }))
          )
      }).pipe(actingAs(world.actor), Effect.orDie),
    begin: ({ actor }) =>
      Effect.gen(function* () {
        const store = (yield* (yield* Stores).list).find((each) => each.domain === files) ?? assert.fail("no store")
        const last = yield* Stream.runLast((yield* Exports).csv(store.id, true))
        const end = Option.getOrThrow(last).end ?? assert.fail("not complete")
        return yield* (yield* ExportJobs).publish(store.id, end.exportId ?? assert.fail("not kept"))
      }).pipe(Effect.provide(Exports.layer.pipe(Layer.provide(MerchantLists.layer))), actingAs(actor)),
    seen: ({ accountId }) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        count(sql`
          SELECT count(*) FROM store_version v JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id
          WHERE v.account_id = ${accountId} AND s.domain = ${files} AND v.last_publish_status = 'published'
            AND NOT v.pending_publish`)
      ),
    entities: amount(40, 1_000)
  },
  {
    kind: "bulk_change",
    prepare: nothing,
    begin: beginBulk,
    seen: vendorsWritten,
    entities: amount(60, 2_000)
  },
  {
    kind: "health_scan",
    prepare: nothing,
    begin: ({ actor }) =>
      Effect.flatMap(Jobs, (jobs) =>
        jobs.begin({
          kind: "health_scan",
          title: "Scan",
          subject: null,
          input: { cause: "import" },
          total: null
        })
      ).pipe(actingAs(actor)),
    seen: ({ accountId }) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        count(sql`
          SELECT count(DISTINCT h.dimension) * (SELECT count(*) FROM entity e WHERE e.account_id = ${accountId}) AS count
          FROM health_snapshot h WHERE h.account_id = ${accountId}`)
      ),
    entities: 5,
    items: 5 * HealthDimension.literals.length
  }
]

/** All automatic scans are on, as in the processes that die. */
const layerAll = (connections: number) =>
  layerServices(connections).pipe(
    Layer.provide(Layer.succeed(AutomaticScans, { nightly: true, afterImports: true, hour: 3 }))
  )

const program = bundledProgram("test/faults/CrashJobs.ts")

/** The step of a job at which its process dies. */
interface Death {
  readonly step: "jobStepping" | "jobStepped" | "jobCommitted"
  readonly occurrence: number
}

/** Runs jobs in one process, which dies when each has come to the step. Their leases have expired afterwards. */
const crash = (
  jobs: ReadonlyArray<{ readonly world: World; readonly id: Job["id"] }>,
  death: Death,
  more: Readonly<Record<string, string>> = {}
) =>
  Effect.gen(function* () {
    const url = Redacted.value(yield* TestDatabaseUrl)
    const deaths = jobs.map(({ id, world }) => ({ accountId: world.accountId, id, ...death }))
    yield* Effect.scoped(
      Effect.gen(function* () {
        const child = yield* startProgram(program, {
          JOBS_DATABASE_URL: url,
          JOBS_DEATHS: JSON.stringify(deaths),
          ...more
        })
        const [, signal] = yield* Effect.promise(() => once(child, "exit"))
        assert.strictEqual(signal, "SIGKILL")
      })
    )
    yield* untilQuiet
    assert.strictEqual(yield* (yield* LeasesRepo).endOfGone, jobs.length)
  })

const find = ({ actor }: World, id: Job["id"]) => Effect.flatMap(Jobs, ({ get }) => get(id)).pipe(actingAs(actor))

/** Runs a job until it ends, including its publishes. */
const finish = ({ actor }: World, id: Job["id"]) =>
  Effect.gen(function* () {
    const worker = yield* JobWorker
    const publishing = yield* Publishing
    return yield* Effect.raceFirst(worker.settle(id, nothing), publishing.work)
  }).pipe(actingAs(actor))

const kills: ReadonlyArray<Death> = [
  { step: "jobStepping", occurrence: 1 },
  { step: "jobStepping", occurrence: 2 },
  { step: "jobStepped", occurrence: 1 }
]

const planted = { JOBS_PLANTED: "yes" }

describe.skipIf(!serverAnswers)("a process that is killed while it works on a job", () => {
  layer(layerAll(8), { excludeTestServices: true })((it) => {
    it.effect("every step of each kind is done once, and another process continues", () =>
      Effect.gen(function* () {
        const jobs = yield* Effect.forEach(works, (work) =>
          Effect.gen(function* () {
            const world = yield* aWorld(work.entities)
            yield* work.prepare(world)
            const { id } = yield* work.begin(world)
            return { ...work, world, id, found: [] as (readonly [number, number])[] }
          })
        )
        for (const kill of kills) {
          yield* crash(jobs, kill)
          for (const { found, id, seen, world } of jobs) found.push([(yield* find(world, id)).done, yield* seen(world)])
        }
        for (const { entities, found, id, items = entities, kind, seen, world } of jobs) {
          const pairs = `${kind}: ${JSON.stringify(found)}`
          report("Killed", { pairs })
          for (const [done, rows] of found) assert.strictEqual(done, rows, pairs)
          assert.isAbove(found.at(-1)?.[0] ?? 0, 0, pairs)
          assert.isBelow(found.at(-1)?.[0] ?? 0, items, pairs)
          const ended = Option.getOrThrow(yield* finish(world, id))
          assert.deepStrictEqual([ended.state, ended.done, ended.error_count], ["done", items, 0], kind)
          assert.strictEqual(yield* seen(world), items, kind)
          assert.deepStrictEqual((yield* wrongDerivations(world.accountId)).wrong, [], kind)
        }
      })
    )

    it.effect("a bulk change collects each entity once and changes it once, whenever its process is killed", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const world = yield* aWorld(amount(600, 20_000))
        const { accountId, entities } = world
        const { id } = yield* beginFound(world)
        const list = Effect.map(
          sql<{ rows: number; different: number; collected: number | null }>`
            SELECT count(*)::integer AS rows, count(DISTINCT i.entity_id)::integer AS different,
                   (SELECT (j.cursor ->> 'collected')::integer FROM job j WHERE j.account_id = ${accountId} AND j.id = ${id}
                      AND jsonb_typeof(j.cursor) = 'object') AS collected
            FROM bulk_item i WHERE i.account_id = ${accountId} AND i.job_id = ${id}`,
          ([row]) => row ?? assert.fail("no row")
        )
        const found = []
        for (const kill of [...kills, ...kills]) {
          yield* crash([{ world, id }], kill)
          found.push({ ...(yield* list), done: (yield* find(world, id)).done })
        }
        report("Killed while it collects", { found: JSON.stringify(found) })
        for (const { collected, different, done, rows } of found) {
          assert.strictEqual(different, rows)
          if (collected !== null) assert.deepStrictEqual([rows, done], [collected, 0])
        }
        // Several processes died in the middle of the list.
        assert.isAbove(found.filter(({ rows }) => rows > 0 && rows < entities).length, 2)
        const ended = Option.getOrThrow(yield* finish(world, id))
        assert.deepStrictEqual(
          [ended.state, ended.done, ended.total, ended.result],
          ["done", entities, entities, { changed: entities, unchanged: 0, refused: 0 }]
        )
        assert.strictEqual(yield* vendorsWritten(world), entities)
        assert.strictEqual((yield* list).rows, 0)
        assert.deepStrictEqual((yield* wrongDerivations(accountId)).wrong, [])
      })
    )

    for (const isPlanted of [false, true])
      it.effect.runIf(!isPlanted || runsPlanted)(
        isPlanted
          ? "a deletion whose names are saved in another transaction is detected (planted fault)"
          : "a deletion names each entity that it deleted, whenever its process is killed",
        () =>
          Effect.gen(function* () {
            const world = yield* aWorld(60)
            const all = yield* productsOf(world)
            const { id } = yield* Effect.flatMap(BulkJobs, (jobs) =>
              jobs.begin({ kind: "product", ids: all }, { _tag: "Delete" })
            ).pipe(actingAs(world.actor))
            const look = Effect.gen(function* () {
              const left = new Set(yield* productsOf(world))
              const { deleted } = yield* find(world, id)
              return { gone: all.filter((each) => !left.has(each)), named: deleted.map((each) => each.id) }
            })
            if (isPlanted) {
              yield* crash([{ world, id }], { step: "jobCommitted", occurrence: 1 }, planted)
              const { gone, named } = yield* look
              assert.isAbove(gone.length, named.length)
              return
            }
            for (const kill of kills) {
              yield* crash([{ world, id }], kill)
              const { gone, named } = yield* look
              report("Killed while it deletes", { gone: gone.length })
              assert.deepStrictEqual(named, gone)
            }
            const { gone } = yield* look
            assert.isAbove(gone.length, 0)
            assert.isBelow(gone.length, all.length)
            const ended = Option.getOrThrow(yield* finish(world, id))
            assert.deepStrictEqual(
              ended.deleted,
              all.map((each) => ({ id: each, kind: "product" as const, name: "Tent" }))
            )
          })
      )

    for (const { begin, kind, prepare, seen } of works)
      it.effect.runIf(runsPlanted)(
        `${kind}: a cursor that is saved in another transaction is detected (planted fault)`,
        () =>
          Effect.gen(function* () {
            const world = yield* aWorld(amount(30, 300))
            yield* prepare(world)
            const { id } = yield* begin(world)
            // The first step of a full scan does not finish an item.
            const occurrence = kind === "health_scan" ? 2 : 1
            yield* crash([{ world, id }], { step: "jobCommitted", occurrence }, planted)
            assert.isAbove(yield* seen(world), (yield* find(world, id)).done)
            yield* Effect.ignore(
              Effect.flatMap(Jobs, ({ command }) => command("pause", id)).pipe(actingAs(world.actor))
            )
          })
      )

    it.effect("account_deletion: only the record remains, whenever the process is killed", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const world = yield* aWorld(amount(200, 2_000))
        const { accountId, actor } = world
        yield* Effect.flatMap(PublishJobs, (begin) => begin.all(world.storeId)).pipe(actingAs(actor))
        yield* (yield* JobWorker).runDue
        const [{ name } = { name: "" }] = yield* sql<{ name: string }>`SELECT name FROM account WHERE id = ${accountId}`
        const access = yield* AccessRepo
        const hash = "5a".repeat(32)
        yield* access.createKey(accountId, {
          id: yield* mintId(ApiKeyId),
          hash,
          name: "Key",
          lastFour: "abcd",
          scopes: ["pim:read"],
          expiresAt: null,
          createdBy: { kind: "cli", id: null, name: null }
        })
        assert.strictEqual((yield* access.findCredentials([hash])).size, 1)
        const others = yield* aWorld(5)
        const othersBefore = yield* rowsOf(others)
        const { id } = yield* (yield* AccountDeletion).begin(name).pipe(actingAs(actor))
        assert.strictEqual((yield* access.findCredentials([hash])).size, 0, "its keys are refused at once")
        const before = yield* rowsOf(world)
        assert.isAbove(before, 4 * world.entities)
        const found: Array<readonly [number, number]> = []
        for (const kill of kills) {
          yield* crash([{ world, id }], kill)
          found.push([(yield* find(world, id)).done, before - (yield* rowsOf(world))])
        }
        report("Killed: account_deletion", { found: JSON.stringify(found) })
        for (const [done, rows] of found) assert.strictEqual(done, rows, JSON.stringify(found))
        assert.isTrue(Option.isNone(yield* finish(world, id)))
        const tables = yield* sql<{ name: string }>`
          SELECT c.table_name AS name FROM information_schema.columns c
          JOIN information_schema.tables t USING (table_schema, table_name)
          WHERE c.column_name = 'account_id' AND c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'`
        assert.isAbove(tables.length, 40)
        for (const table of tables)
          assert.strictEqual(
            yield* count(sql`SELECT count(*) FROM ${sql(table.name)} t WHERE t.account_id = ${accountId}`),
            0,
            table.name
          )
        assert.lengthOf(yield* sql`SELECT 1 FROM account WHERE id = ${accountId}`, 0)
        const records = yield* sql`
          SELECT name, deleted_by, deleted_at >= requested_at AS "isAfter" FROM deleted_account WHERE id = ${accountId}`
        assert.deepStrictEqual(records, [{ name, deleted_by: { kind: "cli", name: null }, isAfter: true }])
        assert.strictEqual(yield* rowsOf(others), othersBefore)
      })
    )

    it.effect("account_deletion: deletes rows that were added to a table behind its cursor", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const world = yield* aWorld(20)
        const [{ name } = { name: "" }] = yield* sql<{ name: string }>`
          SELECT name FROM account WHERE id = ${world.accountId}`
        const { id } = yield* (yield* AccountDeletion).begin(name).pipe(actingAs(world.actor))
        const tables = yield* (yield* AccountDeletionRepo).tables
        assert.isBelow(tables.indexOf("store_version"), tables.indexOf("entity"))
        yield* sql`UPDATE job j SET cursor = '{"table": "entity"}' WHERE j.account_id = ${world.accountId} AND j.id = ${id}`
        assert.isTrue(Option.isNone(yield* finish(world, id)))
        assert.lengthOf(yield* sql`SELECT 1 FROM account WHERE id = ${world.accountId}`, 0)
      })
    )

    it.effect.runIf(runsPlanted)(
      "account_deletion: a cursor that is saved in another transaction is detected (planted fault)",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const world = yield* aWorld(amount(30, 300))
          const [{ name } = { name: "" }] = yield* sql<{ name: string }>`
          SELECT name FROM account WHERE id = ${world.accountId}`
          const { id } = yield* (yield* AccountDeletion).begin(name).pipe(actingAs(world.actor))
          const before = yield* rowsOf(world)
          yield* crash([{ world, id }], { step: "jobCommitted", occurrence: 1 }, planted)
          assert.isAbove(before - (yield* rowsOf(world)), (yield* find(world, id)).done)
        })
    )
  })
})

/** The planted fault: a worker that compares a draft with its revision at the step, not at the begin of the job. */
const LateRevisions = Layer.fresh(JobWorker.layer).pipe(
  Layer.provide(
    Layer.mergeAll(
      layerScanAfterStoreJob,
      FaultInjector.layer,
      Layer.effect(
        BulkItemsRepo,
        Effect.gen(function* () {
          const repo = yield* BulkItemsRepo
          const sql = yield* SqlClient.SqlClient
          return {
            ...repo,
            take: (...step: Parameters<typeof repo.take>) =>
              Effect.gen(function* () {
                const items = yield* repo.take(...step)
                const rows = yield* sql<{ id: EntityId; revision: number }>`
                  SELECT e.id, e.draft_revision AS revision FROM entity e
                  WHERE e.account_id = ${step[0]} AND e.id = ANY(${items.map(({ id }) => id)}::uuid[])`
                return rows
              }).pipe(Effect.orDie)
          }
        })
      )
    )
  )
)

/** Planted: a job that collects is begun beside writes in flight. */
const sharedLock = Layer.effect(
  ImportLockRepo,
  Effect.map(ImportLockRepo, (lock) => ({ ...lock, take: lock.share }))
)

describe.skipIf(!serverAnswers)("concurrent workers and commands", () => {
  layer(layerServices(10), { excludeTestServices: true })((it) => {
    it.effect("two workers and concurrent writers do every step once, without deadlocks", () =>
      Effect.gen(function* () {
        yield* noticeDeadlocksSoon
        const world = yield* aWorld(amount(80, 2_000))
        const { accountId, actor, entities, storeId } = world
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const worker = yield* JobWorker
          const { apply } = yield* CatalogChanges
          const dice = new Dice("writers beside jobs")
          const ids = (yield* sql`SELECT id FROM entity WHERE account_id = ${accountId}`).map(({ id }) =>
            EntityId.make(String(id))
          )
          let written = 0
          const write = Effect.suspend(() =>
            apply(
              [dice.pick(ids), dice.pick(ids)].map((entityId) =>
                CatalogChange.SetAttributes({ entityId, values: { vendor: `Fell ${written++}` } })
              )
            )
          ).pipe(Effect.forever, Effect.orDie)
          const writers = yield* Effect.fork(Effect.all([write, write, write], { concurrency: "unbounded" }))
          const { all } = yield* PublishJobs
          const job = yield* all(storeId)
          const settled = Effect.map(worker.settle(job.id, nothing), Option.getOrThrow)
          const publishing = yield* Publishing
          const [published] = yield* Effect.raceFirst(
            Effect.all([settled, settled, Effect.repeatN(worker.runDue, 20)], { concurrency: "unbounded" }),
            publishing.work
          )
          const unlink = jobOf(yield* (yield* Stores).beginUnlink(domain))
          yield* Effect.all([worker.settle(unlink.id, nothing), worker.runDue], { concurrency: 2 })
          yield* Fiber.interrupt(writers)
          report("Two workers beside writers", { written, published: published.done })
          assert.isAtLeast(written, 20)
          assert.deepStrictEqual([published.state, published.result], ["done", { requested: entities, refused: 0 }])
          assert.strictEqual(yield* requested(world), entities)
          assert.deepInclude(yield* (yield* Jobs).get(unlink.id), { state: "done", done: entities })
          assert.strictEqual(yield* shown(world), 0)
          assert.deepStrictEqual((yield* wrongDerivations(accountId)).wrong, [])
          assert.strictEqual(yield* deadlocks, 0, `seed ${seed}`)
        }).pipe(actingAs(actor))
      })
    )

    it.effect(
      "two workers collect while writers change drafts: each entity is listed once and no newer draft is overwritten",
      () =>
        Effect.gen(function* () {
          yield* noticeDeadlocksSoon
          const world = yield* aWorld(amount(400, 4_000))
          const { accountId, actor, entities } = world
          yield* Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const { apply } = yield* CatalogChanges
            const dice = new Dice("writers beside a collecting job")
            const ids = (yield* sql`SELECT id FROM entity WHERE account_id = ${accountId} ORDER BY id`).map(({ id }) =>
              EntityId.make(String(id))
            )
            const job = yield* beginFound(world)
            const write = Effect.suspend(() =>
              apply([
                CatalogChange.SetAttributes({ entityId: dice.pick(ids), values: { title: `Tent ${dice.below(1e9)}` } })
              ])
            ).pipe(Effect.orDie)
            // Some drafts are changed before the first step, so that the job surely meets newer ones.
            yield* Effect.replicateEffect(write, amount(20, 100))
            const writers = yield* Effect.fork(
              Effect.all([Effect.forever(write), Effect.forever(write)], { concurrency: "unbounded" })
            )
            const settled = Effect.flatMap(JobWorker, ({ settle }) => settle(job.id, nothing))
            const [ended] = yield* Effect.all([settled, settled], { concurrency: "unbounded" })
            yield* Fiber.interrupt(writers)
            const { done, result, state, total } = Option.getOrThrow(ended)
            assert.deepStrictEqual([state, done, total], ["done", entities, entities])
            // All products have revision 1 when the job begins, so the job writes revision 2 or nothing.
            const written = yield* sql<{ revision: number }>`
            SELECT h.draft_revision AS revision FROM entity_history h
            WHERE h.account_id = ${accountId} AND h.changes @> '[{"key": "vendor", "new": "Fell"}]'`
            report("Two workers collect beside writers", { ...result })
            assert.deepStrictEqual(
              written.filter(({ revision }) => revision !== 2),
              []
            )
            assert.strictEqual(written.length, result.changed)
            assert.strictEqual((result.changed ?? 0) + (result.refused ?? 0), entities)
            assert.isAtLeast(result.refused ?? 0, 10)
            assert.isAtLeast(result.changed ?? 0, 10)
            assert.deepStrictEqual((yield* wrongDerivations(accountId)).wrong, [])
            assert.strictEqual(yield* deadlocks, 0, `seed ${seed}`)
          }).pipe(actingAs(actor))
        })
    )

    for (const isPlanted of [false, true])
      it.effect.runIf(!isPlanted || runsPlanted)(
        isPlanted
          ? "two jobs that take the revisions of their steps overwrite each other, which is detected (planted fault)"
          : "two jobs collect the same entities at once: one of them changes each draft, and the other refuses it",
        () =>
          Effect.gen(function* () {
            const world = yield* aWorld(amount(300, 4_000))
            const { accountId, actor, entities } = world
            yield* Effect.gen(function* () {
              const sql = yield* SqlClient.SqlClient
              const begun = [yield* beginFound(world, "Fell"), yield* beginFound(world, "Tern")]
              const settled = Effect.flatMap(JobWorker, ({ settle }) =>
                // At once, each step of one job waits for the same step of the other, which hides the fault.
                Effect.forEach(begun, ({ id }) => settle(id, nothing), { concurrency: isPlanted ? 1 : "unbounded" })
              )
              const ended = yield* isPlanted ? Effect.provide(settled, LateRevisions) : settled
              const results = ended.map((job) => Option.getOrThrow(job).result ?? {})
              const sum = (name: string) => results.reduce((all, result) => all + (result[name] ?? 0), 0)
              const written = yield* count(sql`
                SELECT count(*) FROM entity_history h WHERE h.account_id = ${accountId} AND h.draft_revision > 1`)
              const most = yield* count(sql`
                SELECT max(e.draft_revision) AS count FROM entity e WHERE e.account_id = ${accountId}`)
              report("Two jobs on the same entities", { results, written, most, isPlanted })
              assert.strictEqual(written, sum("changed"))
              assert.strictEqual(sum("changed") + sum("refused"), 2 * entities)
              if (isPlanted) return assert.isAbove(most, 2)
              assert.strictEqual(most, 2)
              assert.strictEqual(written, entities)
              assert.deepStrictEqual((yield* wrongDerivations(accountId)).wrong, [])
            }).pipe(actingAs(actor))
          })
      )

    for (const isPlanted of [false, true])
      it.effect.runIf(!isPlanted || runsPlanted)(
        isPlanted
          ? "a bulk change that takes the revisions of its step overwrites newer drafts, which is detected (planted fault)"
          : "two workers change each draft of a bulk change once, and never a draft that a writer changed after the begin",
        () =>
          Effect.gen(function* () {
            yield* noticeDeadlocksSoon
            const world = yield* aWorld(amount(300, 2_000))
            const { accountId, actor, entities } = world
            yield* Effect.gen(function* () {
              const sql = yield* SqlClient.SqlClient
              const { apply } = yield* CatalogChanges
              const dice = new Dice("writers beside a bulk change")
              const job = yield* beginBulk(world)
              const ids = (yield* sql`SELECT id FROM entity WHERE account_id = ${accountId} ORDER BY id`).map(
                ({ id }) => EntityId.make(String(id))
              )
              const write = Effect.suspend(() =>
                apply([
                  CatalogChange.SetAttributes({ entityId: dice.pick(ids), values: { title: `T ${dice.below(1e9)}` } })
                ])
              ).pipe(Effect.orDie)
              // Some drafts are changed before the first step, so that the job surely meets newer ones.
              yield* Effect.replicateEffect(write, amount(20, 100))
              const writers = yield* Effect.fork(
                Effect.all([Effect.forever(write), Effect.forever(write)], { concurrency: "unbounded" })
              )
              const settled = Effect.flatMap(JobWorker, ({ settle }) => settle(job.id, nothing))
              const both = Effect.all([settled, settled], { concurrency: "unbounded" })
              const [ended] = yield* isPlanted ? Effect.provide(both, LateRevisions) : both
              yield* Fiber.interrupt(writers)
              const { result, state } = Option.getOrThrow(ended)
              assert.strictEqual(state, "done")
              // The worlds' products have revision 1 when the job begins, so the job writes revision 2 or nothing.
              const written = yield* sql<{ revision: number }>`
                SELECT h.draft_revision AS revision FROM entity_history h
                WHERE h.account_id = ${accountId} AND h.changes @> '[{"key": "vendor", "new": "Fell"}]'`
              const overwritten = written.filter(({ revision }) => revision !== 2).length
              report("Two workers beside writers of a bulk change", { ...result, overwritten, isPlanted })
              assert.strictEqual(written.length, result.changed)
              assert.strictEqual((result.changed ?? 0) + (result.refused ?? 0), entities)
              if (isPlanted) return assert.isAbove(overwritten, 0)
              assert.strictEqual(overwritten, 0)
              assert.isAtLeast(result.refused ?? 0, 10)
              assert.isAtLeast(result.changed ?? 0, 10)
              assert.deepStrictEqual((yield* wrongDerivations(accountId)).wrong, [])
              assert.strictEqual(yield* deadlocks, 0, `seed ${seed}`)
            }).pipe(actingAs(actor))
          })
      )

    for (const isPlanted of [false, true])
      it.scoped(
        isPlanted
          ? "a bulk change that does not wait for a write in flight overwrites it, which is detected (planted fault)"
          : "a bulk change that collects begins after the writes in flight",
        () =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const locker = yield* openClient(Redacted.value(yield* TestDatabaseUrl))
            const world = yield* aWorld(3)
            const { accountId, actor } = world
            yield* Effect.gen(function* () {
              const { apply } = yield* CatalogChanges
              const [row] = yield* sql`SELECT id FROM entity WHERE account_id = ${accountId} ORDER BY id LIMIT 1`
              const entityId = EntityId.make(String(row?.id))
              yield* Effect.promise(() => locker.query("BEGIN"))
              yield* Effect.promise(() =>
                locker.query("SELECT FROM account_state WHERE account_id = $1 FOR UPDATE", [accountId])
              )
              const waits = Effect.promise(() => lockWaits(locker))
              // The write has its entry in the history, and waits to be committed.
              const write = yield* Effect.fork(
                apply([CatalogChange.SetAttributes({ entityId, values: { vendor: "Tern" } })])
              )
              yield* Effect.repeat(waits, { until: (all) => all === 1, schedule: Schedule.spaced("5 millis") })
              const begun = yield* isPlanted
                ? Effect.fork(Effect.provide(beginFound(world), BulkJobs.layer.pipe(Layer.provide(sharedLock))))
                : Effect.fork(beginFound(world))
              const isBegun = Effect.map(Fiber.poll(begun), Option.isSome)
              yield* Effect.repeat(Effect.all([waits, isBegun]), {
                until: ([all, done]) => all === 2 || done,
                schedule: Schedule.spaced("5 millis")
              })
              assert.strictEqual(yield* isBegun, isPlanted)
              yield* Effect.promise(() => locker.query("ROLLBACK"))
              yield* Fiber.join(write)
              const { id } = yield* Fiber.join(begun)
              const ended = Option.getOrThrow(yield* (yield* JobWorker).settle(id, nothing))
              assert.deepInclude(ended, { state: "done", result: { changed: 3, unchanged: 0, refused: 0 } })
              const [times] = yield* sql`
                SELECT j.created_at > h.at AS "isAfter" FROM job j
                JOIN entity_history h ON h.account_id = ${accountId} AND h.changes @> '[{"key": "vendor", "new": "Tern"}]'
                WHERE j.account_id = ${accountId} AND j.id = ${id}`
              assert.strictEqual(times?.isAfter, true)
            }).pipe(actingAs(actor))
          })
      )

    it.effect("a bulk change that collects can be paused, resumed and cancelled; its list goes with the job", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const world = yield* aWorld(amount(400, 4_000))
        const { accountId, actor, entities } = world
        yield* Effect.gen(function* () {
          const { command, forget, get } = yield* Jobs
          const worker = yield* JobWorker
          const { id } = yield* beginFound(world)
          const listed = count(sql`
            SELECT count(*) FROM bulk_item i WHERE i.account_id = ${accountId} AND i.job_id = ${id}`)
          // Between two steps, as soon as the list has entities.
          const running = yield* Effect.fork(worker.settle(id, nothing))
          yield* Effect.repeat(listed, { until: (rows) => rows > 0, schedule: Schedule.spaced("1 millis") })
          yield* command("pause", id)
          assert.strictEqual(Option.getOrThrow(yield* Fiber.join(running)).state, "paused")
          const rows = yield* listed
          yield* worker.runDue
          assert.strictEqual(yield* listed, rows)
          yield* command("resume", id)
          assert.deepInclude(Option.getOrThrow(yield* worker.settle(id, nothing)), {
            state: "done",
            done: entities,
            total: entities,
            result: { changed: entities, unchanged: 0, refused: 0 }
          })
          assert.strictEqual(yield* vendorsWritten(world), entities)

          const other = yield* beginFound(world)
          yield* command("cancel", other.id)
          // A long list that is left over is deleted in parts.
          yield* sql`
            INSERT INTO bulk_item (account_id, job_id, place, entity_id, draft_revision)
            SELECT ${accountId}, ${other.id}, n, gen_random_uuid(), 1 FROM generate_series(1, 2500) n`
          assert.deepInclude(Option.getOrThrow(yield* worker.settle(other.id, nothing)), {
            state: "cancelled",
            done: 0
          })
          assert.strictEqual(yield* forget, 0)
          yield* sql`
            UPDATE job SET ended_at = app_now() - interval '31 days' WHERE account_id = ${accountId} AND id = ${other.id}`
          assert.strictEqual(yield* forget, 1)
          assert.strictEqual(yield* count(sql`SELECT count(*) FROM bulk_item i WHERE i.account_id = ${accountId}`), 0)
          assert.isTrue(Option.isNone(yield* Effect.option(get(other.id))))
        }).pipe(actingAs(actor))
      })
    )

    it.effect("a job of a kind that only newer processes know is left to them", () =>
      Effect.gen(function* () {
        const { accountId, actor } = yield* anAccount()
        const sql = yield* SqlClient.SqlClient
        const { begin } = yield* Jobs
        const job = { title: "New", subject: null, input: {}, total: 1, kind: "publish_waiting" } as const
        const { id } = yield* begin(job).pipe(actingAs(actor))
        yield* sql`UPDATE job SET kind = 'of_the_next_version' WHERE account_id = ${accountId} AND id = ${id}`
        yield* (yield* JobWorker).runDue
        assert.deepStrictEqual(
          yield* sql`SELECT state, attempts FROM job WHERE account_id = ${accountId} AND id = ${id}`,
          [{ state: "queued", attempts: 0 }]
        )
      })
    )

    it.effect("pausing and resuming loses nothing; after a cancel no further step is done", () =>
      Effect.gen(function* () {
        const world = yield* aWorld(amount(600, 2_000))
        const { actor, entities, storeId } = world
        yield* Effect.gen(function* () {
          const { command, get } = yield* Jobs
          const worker = yield* JobWorker
          const unlink = jobOf(yield* (yield* Stores).beginUnlink(domain))
          const dice = new Dice("pauses of a job")
          let pauses = 0
          const disturb = Effect.gen(function* () {
            const paused = yield* Effect.option(command("pause", unlink.id))
            if (Option.isNone(paused)) return
            pauses++
            const { done } = yield* get(unlink.id)
            yield* Effect.sleep(dice.below(30))
            assert.strictEqual((yield* get(unlink.id)).done, done, "a paused job does nothing")
            yield* command("resume", unlink.id)
          })
          yield* Effect.all(
            [Effect.repeatN(disturb, 7), Effect.repeatN(Effect.zipLeft(worker.runDue, Effect.sleep(10)), 30)],
            {
              concurrency: 2
            }
          )
          const ended = Option.getOrThrow(yield* worker.settle(unlink.id, nothing))
          assert.deepStrictEqual([ended.state, ended.done], ["done", entities])
          assert.strictEqual(yield* shown(world), 0)
          assert.isAtLeast(pauses, 2)

          yield* (yield* Stores).link({ domain })
          const publish = yield* (yield* PublishJobs).all(storeId)
          const running = yield* Effect.fork(worker.settle(publish.id, nothing))
          yield* Effect.repeat(get(publish.id), {
            until: ({ done }) => done > 0,
            schedule: Schedule.spaced("2 millis")
          })
          yield* command("cancel", publish.id)
          const cancelled = Option.getOrThrow(yield* Fiber.join(running))
          assert.strictEqual(cancelled.state, "cancelled")
          assert.isBelow(cancelled.done, entities)
          assert.strictEqual(yield* requested(world), cancelled.result.requested)
          yield* worker.runDue
          assert.strictEqual(yield* requested(world), cancelled.result.requested)
        }).pipe(actingAs(actor))
      })
    )
  })
})
