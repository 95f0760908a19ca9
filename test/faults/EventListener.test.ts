import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option, Redacted, Schedule } from "effect"
import pg from "pg"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import * as Database from "../../src/database/Database.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { AccountEvents, defaultEventTimes, type EventTimes } from "../../src/events/AccountEvents.ts"
import { AccountEventsRepo } from "../../src/events/AccountEventsRepo.ts"
import { defaultEventBounds } from "../../src/events/EventBounds.ts"
import type { WorkChanges } from "../../src/events/WorkEvent.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount } from "../../src/testing/index.ts"
import { orHangs } from "../support/HangLimit.ts"
import { query } from "../support/RunDatabases.ts"
import { isServerCluster, layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

/** The polling interval is so long that changes are seen only by listening, or by the check after reconnecting. */
const onlyHeard: EventTimes = { ...defaultEventTimes, collect: "20 millis", pollInterval: "1 day", retry: "20 millis" }

/** A process of the service, with its own pools and services on the database. `mayListen`: what it waits for before it listens. */
const aProcess = (
  times: EventTimes,
  catchesUp = true,
  pooler: "none" | "transaction" = "none",
  mayListen: Effect.Effect<void> = Effect.void
) =>
  Effect.flatMap(TestDatabaseUrl, (url) =>
    Layer.build(
      AccountEvents.layer(defaultEventBounds, times, catchesUp).pipe(
        Layer.provide(
          Layer.effect(
            AccountEventsRepo,
            Effect.map(AccountEventsRepo, ({ listen, ...repo }) => ({
              ...repo,
              listen: listen && ((...how) => Effect.zipRight(mayListen, listen(...how)))
            }))
          )
        ),
        Layer.provideMerge(Services),
        Layer.provideMerge(RateBudget.layerProcess({ perKey: 120, perAccount: 240 })),
        Layer.provideMerge(RepositoriesOnDatabase),
        Layer.provideMerge(Database.layerServer({ url, pooler, maxConnections: 3 })),
        Layer.orDie
      )
    )
  )

const beginJob = (accountId: AccountId) =>
  Effect.flatMap(Jobs, (jobs) =>
    jobs.begin({ kind: "publish_waiting", title: "Work", subject: null, input: {}, total: 10 })
  ).pipe(actingAs({ _tag: "Cli", accountId }), Effect.orDie)

const onDatabase = (text: string) =>
  Effect.flatMap(TestDatabaseUrl, (url) => Effect.promise(() => query(Redacted.value(url), text)))

const listeners = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'catalog events'"

/** Waits until this many connections listen. */
const untilListening = (count: number) =>
  onDatabase(`SELECT pid ${listeners} AND query = 'SELECT 1' AND state = 'idle'`).pipe(
    Effect.repeat({ until: (rows) => rows.length === count, schedule: Schedule.spaced("20 millis") }),
    orHangs(() => `${count} connections never listened.`)
  )

/** An event stream for a page that was just rendered. It records all messages. */
const follow = (accountId: AccountId) =>
  Effect.gen(function* () {
    const events = yield* AccountEvents
    const stream = yield* Effect.orDie(events.open(accountId, "one", yield* events.stateOf(accountId)))
    const messages: Array<WorkChanges> = []
    yield* Effect.forkScoped(
      stream.next.pipe(
        Effect.tap((message) => Effect.sync(() => messages.push(Option.getOrThrow(message)))),
        Effect.forever
      )
    )
    return messages
  })

const untilHeard = (what: string, isTrue: () => boolean) =>
  Effect.sync(isTrue).pipe(
    Effect.repeat({ until: (heard) => heard, schedule: Schedule.spaced("10 millis") }),
    orHangs(() => `This was never heard: ${what}.`)
  )

const tellsOf = (id: string) => (message: WorkChanges) => message.job === null || message.job?.includes(id) === true

/** Ends the listening connection, and makes a change before a new one listens. Returns the messages about it. */
const changeWhileDeaf = (catchesUp: boolean) =>
  Effect.gen(function* () {
    const mayListenAgain = yield* Deferred.make<void>()
    let listens = 0
    const mayListen = Effect.suspend(() => (++listens === 1 ? Effect.void : Deferred.await(mayListenAgain)))
    const process = yield* aProcess(onlyHeard, catchesUp, "none", mayListen)
    return yield* Effect.gen(function* () {
      const { accountId } = yield* anAccount({ name: "Deaf" })
      const messages = yield* follow(accountId)
      yield* untilListening(1)
      const ended = yield* onDatabase(`SELECT pg_terminate_backend(pid) ${listeners}`)
      assert.lengthOf(ended, 1)
      yield* onDatabase(`SELECT pid ${listeners}`).pipe(Effect.repeat({ until: (rows) => rows.length === 0 }))
      const { id } = yield* beginJob(accountId)
      assert.lengthOf(yield* onDatabase(`SELECT pid ${listeners}`), 0, "the change came while nobody listened")
      yield* Deferred.succeed(mayListenAgain, undefined)
      yield* untilListening(1)
      // A later change that is received by listening. When it has arrived, changes from the gap would have arrived
      // too.
      const { id: later } = yield* beginJob(accountId)
      yield* untilHeard("the later change", () =>
        messages.some(({ job }) => job?.includes(later) === true || job === null)
      )
      return { id, messages }
    }).pipe(Effect.provide(process))
  })

describe.skipIf(!serverAnswers || isServerCluster)("the connection that listens for changes", () => {
  it.scopedLive("receives changes of another process", () =>
    Effect.gen(function* () {
      const one = yield* aProcess(onlyHeard)
      const other = yield* aProcess(onlyHeard)
      const { accountId } = yield* anAccount({ name: "Two processes" }).pipe(Effect.provide(one))
      const heardByOne = yield* follow(accountId).pipe(Effect.provide(one))
      const heardByOther = yield* follow(accountId).pipe(Effect.provide(other))
      // One connection for each process, however many streams.
      yield* follow(accountId).pipe(Effect.provide(other))
      yield* untilListening(2)
      const { id } = yield* beginJob(accountId).pipe(Effect.provide(one))
      yield* untilHeard("by the other", () => heardByOther.some(tellsOf(id)))
      const { id: back } = yield* beginJob(accountId).pipe(Effect.provide(other))
      yield* untilHeard("by the first", () => heardByOne.some(tellsOf(back)))
      assert.lengthOf(yield* onDatabase(`SELECT pid ${listeners}`), 2)
    }).pipe(Effect.provide(layerServerUrl))
  )

  it.scopedLive("is opened again after it was lost, and changes from meanwhile are reported", () =>
    Effect.gen(function* () {
      const { messages } = yield* changeWhileDeaf(true)
      assert.deepEqual(messages[0], { job: null })
    }).pipe(Effect.provide(layerServerUrl))
  )

  it.scopedLive("misses such a change if it does not check after reconnecting (planted fault)", () =>
    Effect.gen(function* () {
      const { id, messages } = yield* changeWhileDeaf(false)
      assert.isNotEmpty(messages)
      assert.isFalse(messages.some(tellsOf(id)))
    }).pipe(Effect.provide(layerServerUrl))
  )

  it.scopedLive("is not needed: behind a pooler, and while it is lost, the process polls", () =>
    Effect.gen(function* () {
      const url = Redacted.value(yield* TestDatabaseUrl)
      const name = new URL(url).pathname.slice(1)
      for (const setting of ["statement_timeout = '30s'", "timezone = 'UTC'"])
        yield* onDatabase(`ALTER DATABASE "${name}" SET ${setting}`)
      const process = yield* aProcess({ ...onlyHeard, pollInterval: "50 millis" }, true, "transaction")
      yield* Effect.gen(function* () {
        const { accountId } = yield* anAccount({ name: "Pooled" })
        const { accountId: other } = yield* anAccount({ name: "Other" })
        const messages = yield* follow(accountId)
        const others = yield* follow(other)
        yield* beginJob(accountId)
        yield* untilHeard("a job", () => messages.length > 0)
        assert.deepEqual(messages[0], { job: null })
        assert.lengthOf(yield* onDatabase(`SELECT pid ${listeners}`), 0)
        yield* beginJob(other)
        yield* untilHeard("their job", () => others.length > 0)
        assert.lengthOf(messages, 1)
      }).pipe(Effect.provide(process))
    }).pipe(Effect.provide(layerServerUrl))
  )
})

/** All notifications of the database, whichever process they are for. */
const announcements = Effect.gen(function* () {
  const url = Redacted.value(yield* TestDatabaseUrl)
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => new pg.Client({ connectionString: url })),
    (client) => Effect.promise(() => client.end())
  )
  const heard: Array<string> = []
  client.on("notification", ({ payload = "" }) => heard.push(payload))
  // The client must be closed before the database is dropped.
  client.on("error", () => {})
  yield* Effect.promise(() => client.connect())
  yield* Effect.promise(() => client.query("LISTEN catalog_events"))
  let ends = 0
  /** Returns and clears the notifications so far. They arrive in the order of their commits. */
  const announced = Effect.gen(function* () {
    const end = `end ${ends++}`
    yield* onDatabase(`NOTIFY catalog_events, '${end}'`)
    yield* untilHeard(end, () => heard.at(-1) === end)
    return heard.splice(0).slice(0, -1)
  })
  return { announced }
})

const rowsOfWatched = (accountId: AccountId) =>
  onDatabase(
    `SELECT xmin::text, watched_until > app_now() + interval '1 minute' AS lasts
     FROM watched_account WHERE account_id = '${accountId}'`
  )

/** Rows are not renewed, so only the check at the opening of a page can find a change. */
const onlyOpened: EventTimes = { ...defaultEventTimes, collect: "20 millis", pollInterval: "50 millis", renew: "1 day" }

/**
 * Opens a page during a transaction that has already changed the account's work, when no page of the account was open.
 */
const openDuringChange = (catchesUp: boolean) =>
  Effect.gen(function* () {
    const { accountId: other } = yield* anAccount({ name: "Watched before" })
    yield* follow(other)
    yield* untilListening(1)
    const { accountId } = yield* anAccount({ name: "Opened during a change" })
    const { announced } = yield* announcements
    const changed = yield* Deferred.make<string>()
    const mayEnd = yield* Deferred.make<void>()
    const changing = yield* Effect.fork(
      (yield* Transaction).run(
        beginJob(accountId).pipe(
          Effect.tap(({ id }) => Deferred.succeed(changed, id)),
          Effect.zipRight(Deferred.await(mayEnd))
        )
      )
    )
    const id = yield* Deferred.await(changed)
    const messages = yield* follow(accountId)
    yield* Effect.repeat(rowsOfWatched(accountId), { until: (rows) => rows.length === 1 })
    yield* Deferred.succeed(mayEnd, undefined)
    yield* Fiber.join(changing)
    assert.deepEqual(yield* announced, [], "the trigger did not see the page")
    if (catchesUp) yield* untilHeard("the change", () => messages.some(tellsOf(id)))
    const { id: later } = yield* beginJob(accountId)
    yield* untilHeard("the later change", () => messages.some(tellsOf(later)))
    return { id, messages }
  }).pipe((program) => Effect.flatMap(aProcess(onlyOpened, catchesUp), (process) => Effect.provide(program, process)))

describe.skipIf(!serverAnswers || isServerCluster)("announcements", () => {
  it.scopedLive("are made for accounts with open pages only", () =>
    Effect.gen(function* () {
      const process = yield* aProcess(onlyHeard)
      yield* Effect.gen(function* () {
        const { accountId } = yield* anAccount({ name: "Open" })
        const { accountId: other } = yield* anAccount({ name: "Closed" })
        const { announced } = yield* announcements
        yield* beginJob(accountId)
        assert.deepEqual(yield* announced, [])
        yield* follow(accountId)
        yield* untilListening(1)
        const { id } = yield* beginJob(accountId)
        yield* beginJob(other)
        assert.deepEqual(yield* announced, [`${accountId} job ${id}`])
        // The row of a process that has ended expires.
        yield* onDatabase("UPDATE watched_account SET watched_until = app_now()")
        yield* beginJob(accountId)
        assert.deepEqual(yield* announced, [])
      }).pipe(Effect.provide(process))
    }).pipe(Effect.provide(layerServerUrl))
  )

  it.scopedLive("cost one write a minute for an account, and expired rows are deleted", () =>
    Effect.gen(function* () {
      const process = yield* aProcess(onlyHeard)
      yield* Effect.gen(function* () {
        const { watch } = yield* AccountEventsRepo
        const { accountId } = yield* anAccount({ name: "Open" })
        const { accountId: gone } = yield* anAccount({ name: "Gone" })
        yield* watch([accountId, gone])
        const written = yield* rowsOfWatched(accountId)
        assert.isTrue(written[0]?.lasts)
        yield* Effect.all(
          Array.from({ length: 10 }, () => watch([gone, accountId])),
          { concurrency: "unbounded" }
        )
        assert.deepEqual(yield* rowsOfWatched(accountId), written)
        yield* onDatabase(
          `UPDATE watched_account
           SET watched_until = app_now() + CASE account_id WHEN '${gone}' THEN interval '-1 s' ELSE interval '59 s' END`
        )
        yield* Effect.all(
          Array.from({ length: 10 }, () => watch([accountId])),
          { concurrency: "unbounded" }
        )
        assert.isTrue((yield* rowsOfWatched(accountId))[0]?.lasts)
        assert.lengthOf(yield* rowsOfWatched(gone), 0)
      }).pipe(Effect.provide(process))
    }).pipe(Effect.provide(layerServerUrl))
  )

  it.scopedLive(
    "announcements that a transaction did not send, because the page was opened later, are replaced by a check",
    () =>
      Effect.gen(function* () {
        const { messages } = yield* openDuringChange(true)
        assert.deepEqual(messages[0], { job: null })
      }).pipe(Effect.provide(layerServerUrl))
  )

  it.scopedLive("changes that a transaction did not announce are missed without the check (planted fault)", () =>
    Effect.gen(function* () {
      const { id, messages } = yield* openDuringChange(false)
      assert.isFalse(messages.some(tellsOf(id)))
    }).pipe(Effect.provide(layerServerUrl))
  )

  it.scopedLive(
    "announcements for an expired row are not sent: when the row is renewed, a check finds the changes",
    () =>
      Effect.gen(function* () {
        const process = yield* aProcess({ ...onlyOpened, renew: "500 millis" })
        yield* Effect.gen(function* () {
          const { accountId } = yield* anAccount({ name: "Stalled" })
          const messages = yield* follow(accountId)
          yield* untilListening(1)
          const { announced } = yield* announcements
          const sql = `BEGIN; DELETE FROM watched_account; UPDATE job SET done = done + 1; COMMIT`
          const { id } = yield* beginJob(accountId)
          yield* untilHeard("the job", () => messages.some(tellsOf(id)))
          messages.length = 0
          yield* announced
          yield* onDatabase(sql)
          assert.deepEqual(yield* announced, [])
          yield* untilHeard("the change", () => messages.some(tellsOf(id)))
          yield* Effect.repeat(rowsOfWatched(accountId), { until: (rows) => rows.length === 1 })
        }).pipe(Effect.provide(process))
      }).pipe(Effect.provide(layerServerUrl))
  )
})
