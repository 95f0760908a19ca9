import { randomUUID } from "node:crypto"
import { assert, describe, it, layer } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Fiber, Layer, Option, Ref } from "effect"
import { AccountDeletionRepo } from "../../../src/access/AccountDeletionRepo.ts"
import { poolOf, Workload } from "../../../src/database/Deadlines.ts"
import { Transaction } from "../../../src/database/Transaction.ts"
import {
  type AutomaticScanSettings,
  AutomaticScans,
  nextNight,
  nightlySubject
} from "../../../src/health/AutomaticScans.ts"
import { DataHealth } from "../../../src/health/DataHealth.ts"
import { HealthDimension } from "../../../src/health/Health.ts"
import { HealthRepo } from "../../../src/health/HealthRepo.ts"
import { layerScanAfterStoreJob } from "../../../src/health/ScanAfterStoreJob.ts"
import { Jobs } from "../../../src/jobs/Jobs.ts"
import { JobsRepo } from "../../../src/jobs/JobsRepo.ts"
import type { Actor } from "../../../src/model/Actor.ts"
import { AccountId } from "../../../src/model/Ids.ts"
import { JobWorker } from "../../../src/programs/JobWorker.ts"
import { FaultInjector } from "../../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import { Stores } from "../../../src/stores/Stores.ts"
import { actingAs, anAccount, anEntity, TestServices } from "../../../src/testing/index.ts"
import { advance, ahead, layerMovableClock, layerStarted } from "../../support/MovableClock.ts"
import { engines } from "../../support/TestDatabase.ts"
import { amount } from "../../support/Volume.ts"

const dayMillis = 86_400_000
const inNight = HealthDimension.literals.length
const processes = 3

const TestLayerOn = Services.pipe(Layer.provideMerge(RepositoriesOnDatabase))

type Needed = Extract<Layer.Layer.Success<typeof TestServices>, Layer.Layer.Success<typeof TestLayerOn>>

const all: ReadonlyArray<{ readonly name: string; readonly absent: boolean; readonly layer: Layer.Layer<Needed> }> = [
  { name: "memory", absent: false, layer: TestServices },
  ...engines.map(({ absent, layer, name }) => ({
    name,
    absent,
    layer: TestLayerOn.pipe(Layer.provideMerge(layer), Layer.orDie)
  }))
]

/** The scans finished by jobs, and the number of nightly jobs, for each account. */
const scans = new Map<AccountId, Array<HealthDimension>>()
const nightlyJobs = new Map<AccountId, number>()

/** `isLocking` false: the planted fault that a job scans although another scan has the lock. */
const counting = (isLocking: boolean) =>
  Layer.effect(
    HealthRepo,
    Effect.map(HealthRepo, (repo) => ({
      ...repo,
      tryLock: (...place: Parameters<typeof repo.tryLock>) =>
        Effect.map(repo.tryLock(...place), (isLocked) => isLocked || !isLocking),
      scan: (...[accountId, dimension, ...rest]: Parameters<typeof repo.scan>) =>
        Effect.gen(function* () {
          // Scans must not use the connections of requests.
          assert.strictEqual(poolOf[yield* Workload], "background")
          const step = yield* repo.scan(accountId, dimension, ...rest)
          if (step.run !== null) scans.set(accountId, [...(scans.get(accountId) ?? []), dimension])
          return step
        })
    }))
  )

const scansOf = ({ accountId }: Actor) => scans.get(accountId) ?? []

/** `hasSubjects` false: the planted fault that every process begins a nightly job of its own. */
const beginning = (hasSubjects: boolean) =>
  Jobs.layer.pipe(
    Layer.provideMerge(
      Layer.effect(
        JobsRepo,
        Effect.map(JobsRepo, (repo) => ({
          ...repo,
          insert: (...[accountId, job]: Parameters<typeof repo.insert>) =>
            Effect.tap(repo.insert(accountId, hasSubjects ? job : { ...job, subject: null }), (isBegun) =>
              Effect.sync(
                () =>
                  isBegun &&
                  job.subject === nightlySubject &&
                  nightlyJobs.set(accountId, (nightlyJobs.get(accountId) ?? 0) + 1)
              )
            )
        }))
      )
    )
  )

/** A process with workers of its own. */
const aProcess = (settings: Partial<AutomaticScanSettings>, { isLocking = true, hasSubjects = true } = {}) =>
  Effect.gen(function* () {
    // The nightly hour is 12 hours from now, so nightly scans begin only if the test moves the clock.
    const hour = (new Date(yield* Clock.currentTimeMillis).getUTCHours() + 12) % 24
    return yield* Layer.build(
      JobWorker.layer.pipe(
        Layer.provide(Layer.mergeAll(layerScanAfterStoreJob, FaultInjector.layer)),
        Layer.provide(Layer.mergeAll(counting(isLocking), beginning(hasSubjects))),
        Layer.provide(Layer.succeed(AutomaticScans, { nightly: false, afterImports: false, hour, ...settings }))
      )
    )
  }).pipe(Effect.map((context) => Context.get(context, JobWorker)))

const afterImport = {
  kind: "health_scan",
  title: "Scan",
  subject: null,
  input: { cause: "import" },
  total: null
} as const

const anActor = Effect.gen(function* () {
  const { actor, stores } = yield* anAccount({ domains: ["a.example"] })
  yield* anEntity("product", { title: "Tent" }, { on: stores }).pipe(actingAs(actor))
  return actor
})

const nightlyJob = (actor: Actor) => Effect.flatMap(Jobs, (jobs) => jobs.openOn(nightlySubject)).pipe(actingAs(actor))

for (const engine of all) {
  const TestLayer = layerStarted.pipe(
    Layer.provideMerge(engine.layer),
    Layer.provide(Layer.succeed(AutomaticScans, { nightly: true, afterImports: true, hour: 3 })),
    Layer.provideMerge(layerMovableClock)
  )
  // In-memory repositories allow only one process.
  const concurrency = engine.name === "memory" ? 1 : "unbounded"
  // The embedded engine has one connection, so nothing runs concurrently.
  const accounts = engine.name === "embedded" ? 2 : amount(6, 40)

  describe.skipIf(engine.absent)(`scans that the service begins on ${engine.name}`, () => {
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.scoped("once a night for each account, however many processes there are", () =>
        Effect.gen(function* () {
          const actors = yield* Effect.replicateEffect(anActor, accounts)
          const workers = yield* Effect.replicateEffect(aProcess({ nightly: true }), processes)
          const onEach = (work: (worker: Context.Tag.Service<JobWorker>) => Effect.Effect<number>) =>
            Effect.map(Effect.forEach(workers, work, { concurrency }), (counts) =>
              counts.reduce((sum, count) => sum + count, 0)
            )
          assert.isAtLeast(yield* onEach(({ beginNightly }) => beginNightly), accounts)
          assert.strictEqual(yield* onEach(({ beginNightly }) => beginNightly), 0)
          assert.isAtLeast(yield* onEach(({ runDue }) => runDue), accounts)
          for (const actor of actors) {
            assert.deepStrictEqual(scansOf(actor), [], "the night has not come")
            const job = Option.getOrThrow(yield* nightlyJob(actor))
            assert.match(String(job.waiting_for), /^the next night \(\d{4}-\d\d-\d\d \d\d:\d\d UTC\)$/)
            // It waits, so lists leave it out.
            assert.deepStrictEqual(yield* Effect.flatMap(Jobs, ({ list }) => list).pipe(actingAs(actor)), [])
          }
          for (const [night, isChanged] of [true, false, true].entries()) {
            if (isChanged && night > 0)
              for (const actor of actors) yield* anEntity("product", { title: "Stove" }).pipe(actingAs(actor))
            const before = actors.map((actor) => scansOf(actor).length)
            yield* advance(dayMillis)
            for (let time = 0; time < 2; time++) yield* onEach(({ runDue }) => runDue)
            for (const [index, actor] of actors.entries()) {
              assert.deepStrictEqual(
                scansOf(actor).slice(before[index]),
                isChanged ? [...HealthDimension.literals] : [],
                "without a change nothing is scanned"
              )
              const job = Option.getOrThrow(yield* nightlyJob(actor))
              // Each night counts anew: every entity once in each dimension.
              const checks = (night === 2 ? 2 : 1) * inNight
              assert.deepInclude(job, { state: "queued", done: checks, total: checks })
              assert.deepStrictEqual(job.result, night === 0 ? {} : { unchanged: inNight })
            }
          }
          assert.strictEqual(yield* onEach(({ beginNightly }) => beginNightly), 0)
          for (const { accountId } of actors) assert.strictEqual(nightlyJobs.get(accountId), 1)
        })
      )

      it.scoped("a job for each process instead of each account is detected (planted fault)", () =>
        Effect.gen(function* () {
          const actor = yield* anActor
          const workers = yield* Effect.replicateEffect(aProcess({ nightly: true }, { hasSubjects: false }), processes)
          yield* Effect.forEach(workers, ({ beginNightly }) => beginNightly, { concurrency })
          for (const { runDue } of workers) yield* runDue
          assert.strictEqual(nightlyJobs.get(actor.accountId), processes)
          const off = yield* aProcess({})
          yield* advance(dayMillis)
          yield* off.runDue
        })
      )

      if (engine.name === "server")
        it.scoped(
          "a job does not scan a dimension that somebody scans by hand: it waits, and then has nothing to do",
          () =>
            Effect.gen(function* () {
              const transaction = yield* Transaction
              const repo = yield* HealthRepo
              const jobs = yield* Jobs
              const health = yield* DataHealth
              /** Runs a job while another scan holds the lock of `sync`. */
              const beside = (worker: Context.Tag.Service<JobWorker>, actor: Actor) =>
                Effect.gen(function* () {
                  const [isLocked, isOver] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
                  const other = yield* Effect.fork(
                    transaction.run(
                      Effect.gen(function* () {
                        assert.isTrue(yield* repo.tryLock(actor.accountId, "sync"))
                        yield* Deferred.succeed(isLocked, undefined)
                        yield* Deferred.await(isOver)
                      })
                    )
                  )
                  yield* Effect.raceFirst(Deferred.await(isLocked), Fiber.join(other))
                  const { id } = yield* jobs.begin(afterImport).pipe(actingAs(actor))
                  yield* worker.runDue
                  yield* Deferred.succeed(isOver, undefined)
                  yield* Fiber.join(other)
                  return id
                })

              const [actor, caught] = [yield* anActor, yield* anActor]
              const worker = yield* aProcess({ afterImports: true })
              const id = yield* beside(worker, actor)
              assert.deepStrictEqual(scansOf(actor), [])
              assert.deepInclude(yield* jobs.get(id).pipe(actingAs(actor)), {
                state: "queued",
                waiting_for: "the end of another scan of sync"
              })
              yield* health.scan("sync").pipe(actingAs(actor))
              assert.strictEqual(Option.getOrThrow(yield* health.lastScan.pipe(actingAs(actor))).cause, "request")
              yield* advance(10_000)
              yield* worker.runDue
              const { result, state } = yield* jobs.get(id).pipe(actingAs(actor))
              assert.deepStrictEqual({ result, state }, { result: { unchanged: 1 }, state: "done" })
              assert.deepStrictEqual(scansOf(actor), HealthDimension.literals.slice(1))
              assert.strictEqual(Option.getOrThrow(yield* health.lastScan.pipe(actingAs(actor))).cause, "import")

              yield* beside(yield* aProcess({ afterImports: true }, { isLocking: false }), caught)
              assert.include(scansOf(caught), "sync", "without the lock both scan")
            })
        )

      it.scoped("scans of the service run after the jobs of people", () =>
        Effect.gen(function* () {
          const [actor, repo] = [yield* anActor, yield* JobsRepo]
          const jobs = yield* Jobs
          yield* jobs.begin(afterImport).pipe(actingAs(actor))
          const publish = { kind: "publish_waiting", title: "Publish", subject: null, input: {}, total: 1 } as const
          yield* advance(1_000)
          const { id } = yield* jobs.begin(publish).pipe(actingAs(actor))
          const [first, second] = [yield* repo.claim(null, 30), yield* repo.claim(null, 30)].map(Option.getOrThrow)
          assert.strictEqual(first?.id, id)
          assert.strictEqual(second?.kind, "health_scan")
          for (const job of [first, second])
            if (job !== undefined) yield* repo.fail(job, { why: "Why.", next: "Next." })
        })
      )

      it.scoped(
        "a store that is linked again is scanned, and the page knows when, why, and when the next scan comes",
        () =>
          Effect.gen(function* () {
            const actor = yield* anActor
            const worker = yield* aProcess({ nightly: true, afterImports: true })
            yield* Effect.gen(function* () {
              const health = yield* DataHealth
              const stores = yield* Stores
              assert.isTrue(Option.isNone(yield* health.lastScan))
              yield* stores.unlink("a.example")
              yield* worker.runDue
              yield* health.scan("sync")
              yield* stores.link({ domain: "a.example", platform: "none" })
              yield* worker.runDue
              assert.deepStrictEqual(scansOf(actor), [...HealthDimension.literals])
              assert.strictEqual(Option.getOrThrow(yield* health.lastScan).cause, "link")
              assert.match(Option.getOrThrow((yield* health.schedule).next), /T03:\d\d:/)
            }).pipe(actingAs(actor))
          })
      )

      it.scoped("after a store is unlinked, a job scans what had been scanned before, with each setting", () =>
        Effect.gen(function* () {
          const actor = yield* anActor
          const off = yield* aProcess({})
          yield* Effect.gen(function* () {
            const health = yield* DataHealth
            for (const dimension of ["media", "sync"] as const) yield* health.scan(dimension)
            yield* Effect.flatMap(Stores, (stores) => stores.unlink("a.example"))
            assert.isTrue(Option.isNone(yield* health.lastScan), "the process that unlinks does not scan")
            yield* off.runDue
            assert.deepStrictEqual(scansOf(actor), ["sync", "media"])
            assert.strictEqual(Option.getOrThrow(yield* health.lastScan).cause, "unlink")
          }).pipe(actingAs(actor))
        })
      )

      it.scoped("two stores that are unlinked before the job runs are scanned once, a later one again", () =>
        Effect.gen(function* () {
          const actor = yield* anActor
          const worker = yield* aProcess({})
          yield* Effect.gen(function* () {
            const { link, unlink } = yield* Stores
            for (const domain of ["b.example", "c.example"]) yield* link({ domain, platform: "none" })
            yield* (yield* DataHealth).scan("media")
            for (const domain of ["a.example", "b.example"]) yield* unlink(domain)
            yield* worker.runDue
            assert.deepStrictEqual(scansOf(actor), ["media"])
            yield* unlink("c.example")
            yield* worker.runDue
            assert.deepStrictEqual(scansOf(actor), ["media", "media"])
          }).pipe(actingAs(actor))
        })
      )

      it.scoped("with HEALTH_SCANS off nothing is scanned, also by jobs that were begun before", () =>
        Effect.gen(function* () {
          const actor = yield* anActor
          const off = yield* aProcess({})
          assert.strictEqual(yield* off.beginNightly, 0)
          assert.isTrue(Option.isNone(yield* nightlyJob(actor)))
          const on = yield* aProcess({ nightly: true })
          yield* on.beginNightly
          yield* on.runDue
          const { id } = Option.getOrThrow(yield* nightlyJob(actor))
          const jobs = yield* Jobs
          const after = yield* jobs.begin(afterImport).pipe(actingAs(actor))
          yield* advance(dayMillis)
          yield* off.runDue
          for (const each of [id, after.id])
            assert.deepInclude(yield* jobs.get(each).pipe(actingAs(actor)), { state: "done", done: 0 })
          assert.deepStrictEqual(scansOf(actor), [])
          yield* on.beginNightly
          assert.isTrue(Option.isSome(yield* nightlyJob(actor)))
        })
      )

      it.scoped("after a nightly scan is cancelled, one night is skipped; a paused scan does not start again", () =>
        Effect.gen(function* () {
          const [cancelled, paused] = [yield* anActor, yield* anActor]
          const worker = yield* aProcess({ nightly: true })
          yield* worker.beginNightly
          yield* worker.runDue
          const { command, list } = yield* Jobs
          for (const [actor, order] of [
            [cancelled, "cancel"],
            [paused, "pause"]
          ] as const) {
            const { id } = Option.getOrThrow(yield* nightlyJob(actor))
            yield* command(order, id).pipe(actingAs(actor))
            assert.deepStrictEqual(
              (yield* list.pipe(actingAs(actor))).map((job) => job.id),
              [id]
            )
          }
          yield* advance(dayMillis)
          assert.isAtLeast(yield* worker.beginNightly, 1)
          yield* worker.runDue
          assert.deepStrictEqual([scansOf(cancelled), scansOf(paused)], [[], []])
          yield* advance(dayMillis)
          yield* worker.runDue
          assert.deepStrictEqual([scansOf(cancelled).length, scansOf(paused).length], [inNight, 0])
        })
      )

      // In memory, the clock of the process is also that of the repository.
      it.scoped.skipIf(engine.name === "memory")(
        "every night, also after a process whose clock was a year ahead has set the time",
        () =>
          Effect.gen(function* () {
            const actor = yield* anActor
            const worker = yield* aProcess({ nightly: true })
            const right = yield* Ref.get(ahead)
            yield* Ref.set(ahead, right + 365 * dayMillis)
            yield* Effect.zipRight(worker.beginNightly, worker.runDue).pipe(Effect.ensuring(Ref.set(ahead, right)))
            for (const done of [0, inNight]) {
              yield* advance(dayMillis)
              yield* worker.runDue
              assert.lengthOf(scansOf(actor), done)
            }
          })
      )

      it.scoped("the deletion of an account ends its nightly job, and no other one begins", () =>
        Effect.gen(function* () {
          const actor = yield* anActor
          const worker = yield* aProcess({ nightly: true })
          yield* worker.beginNightly
          yield* worker.runDue
          assert.isTrue(Option.isSome(yield* nightlyJob(actor)))
          assert.isTrue(yield* (yield* AccountDeletionRepo).begin(actor.accountId))
          assert.isTrue(Option.isNone(yield* nightlyJob(actor)))
          yield* worker.beginNightly
          yield* advance(dayMillis)
          yield* worker.runDue
          assert.isTrue(Option.isNone(yield* nightlyJob(actor)))
          assert.deepStrictEqual(scansOf(actor), [])
        })
      )
    })
  })
}

describe("the time of the next night", () => {
  it("is within the hour, after the given time, and the same each day", () => {
    const id = (end: string) => AccountId.make(`00000000-0000-4000-8000-000000${end}`)
    const at = (time: string) => Date.parse(`2026-11-22T${time}Z`)
    for (const end of ["000000", "ffffff", "36ee80", "123456"]) {
      const first = nextNight(id(end), at("02:59:59.999"), 3)
      assert.isAtLeast(first, at("03:00:00.000"))
      assert.isBelow(first, at("04:00:00.000"))
      assert.strictEqual(nextNight(id(end), first - 1, 3), first)
      assert.strictEqual(nextNight(id(end), first, 3), first + dayMillis)
      assert.strictEqual(nextNight(id(end), at("04:00:00.000"), 3), first + dayMillis)
    }
    assert.strictEqual(nextNight(id("000000"), at("12:00:00.000"), 0), at("00:00:00.000") + dayMillis)
  })

  it("spreads accounts over the hour", () => {
    const minutes = Array.from({ length: 60 }, () => 0)
    for (let account = 0; account < 6_000; account++) {
      const minute = Math.floor((nextNight(AccountId.make(randomUUID()), 0, 0) % 3_600_000) / 60_000)
      minutes[minute] = (minutes[minute] ?? 0) + 1
    }
    assert.isBelow(Math.max(...minutes), 200, "100 on average")
  })
})
