import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Schedule } from "effect"
import { RepositoriesOnDatabase, Services } from "../../src/App.ts"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import * as Database from "../../src/database/Database.ts"
import { AccountEvents, defaultEventTimes, type EventTimes } from "../../src/events/AccountEvents.ts"
import { defaultEventBounds } from "../../src/events/EventBounds.ts"
import type { WorkChanges } from "../../src/events/WorkEvent.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { actingAs, anAccount } from "../../src/testing/index.ts"
import { isClusterThere, layerServerUrl, query, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

/** Changes are only heard, or found after the connection is back: the looks in between come too late. */
const onlyHeard: EventTimes = { ...defaultEventTimes, collect: "20 millis", look: "1 day", retry: "3 seconds" }

/** A process of the service: pools and services of its own on the database. */
const aProcess = (times: EventTimes, catchesUp = true, pooler: "none" | "transaction" = "none") =>
  Effect.flatMap(TestDatabaseUrl, (url) =>
    Layer.build(
      AccountEvents.layer(defaultEventBounds, times, catchesUp).pipe(
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
    Effect.timeoutFail({ duration: "60 seconds", onTimeout: () => new Error(`${count} connections never listened`) }),
    Effect.orDie
  )

/** A stream of a page that was rendered just now, which keeps all messages. */
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
    Effect.timeoutFail({ duration: "60 seconds", onTimeout: () => new Error(`never heard: ${what}`) }),
    Effect.orDie
  )

const tellsOf = (id: string) => (message: WorkChanges) => message.job === null || message.job?.includes(id) === true

/** Ends the listening connection, and makes a change before another one listens. Returns what was heard of it. */
const changeWhileDeaf = (catchesUp: boolean) =>
  Effect.gen(function* () {
    const process = yield* aProcess(onlyHeard, catchesUp)
    return yield* Effect.gen(function* () {
      const { accountId } = yield* anAccount({ name: "Deaf" })
      const messages = yield* follow(accountId)
      yield* untilListening(1)
      const ended = yield* onDatabase(`SELECT pg_terminate_backend(pid) ${listeners}`)
      assert.lengthOf(ended, 1)
      yield* onDatabase(`SELECT pid ${listeners}`).pipe(Effect.repeat({ until: (rows) => rows.length === 0 }))
      const { id } = yield* beginJob(accountId)
      assert.lengthOf(yield* onDatabase(`SELECT pid ${listeners}`), 0, "the change came while nobody listened")
      yield* untilListening(1)
      // What comes now is heard: when it has come, so has what was found after the connection was back.
      const { id: later } = yield* beginJob(accountId)
      yield* untilHeard("the later change", () =>
        messages.some(({ job }) => job?.includes(later) === true || job === null)
      )
      return { id, messages }
    }).pipe(Effect.provide(process))
  })

describe.skipIf(!serverAnswers || isClusterThere)("the connection that hears changes", () => {
  it.scopedLive("hears the changes of another process", () =>
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

  it.scopedLive("is opened again after it was lost, and what changed meanwhile is told", () =>
    Effect.gen(function* () {
      const { messages } = yield* changeWhileDeaf(true)
      assert.deepEqual(messages[0], { job: null })
    }).pipe(Effect.provide(layerServerUrl))
  )

  it.scopedLive("misses that change without the look for it (planted)", () =>
    Effect.gen(function* () {
      const { id, messages } = yield* changeWhileDeaf(false)
      assert.isNotEmpty(messages)
      assert.isFalse(messages.some(tellsOf(id)))
    }).pipe(Effect.provide(layerServerUrl))
  )

  it.scopedLive("is not needed: behind a pooler, and while it is lost, changes are looked for", () =>
    Effect.gen(function* () {
      const url = Redacted.value(yield* TestDatabaseUrl)
      const name = new URL(url).pathname.slice(1)
      for (const setting of ["statement_timeout = '30s'", "timezone = 'UTC'"])
        yield* onDatabase(`ALTER DATABASE "${name}" SET ${setting}`)
      const process = yield* aProcess({ ...onlyHeard, look: "50 millis" }, true, "transaction")
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
