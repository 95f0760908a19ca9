import { HttpServer } from "@effect/platform"
import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Duration, Effect, Exit, Layer, Schedule, Scope } from "effect"
import { defaultEventTimes, type EventTimes } from "../../src/events/AccountEvents.ts"
import { listeningOn } from "../../src/http/BaseUrl.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs } from "../../src/testing/index.ts"
import { aBrowser, addressOf, ask, aUser, later, nodeOf, pagesServer } from "../oauth/PagesServer.ts"
import { orHangs } from "../support/HangLimit.ts"
import { anyDatabase } from "../support/TestDatabase.ts"
import { shortPatience } from "./Exchange.ts"

const eventTimes: EventTimes = { ...defaultEventTimes, collect: "20 millis", heartbeat: "100 millis" }
const settings = { eventTimes, eventBounds: { perAccount: 3, perSession: 2 } }

/** A request that the test can abort. */
const request = (url: URL, cookie: string) => {
  const abort = new AbortController()
  const answered = fetch(url, { headers: { cookie }, signal: abort.signal })
  return { answered, abort: () => abort.abort() }
}

/** An open stream and the text it has received so far. Closed with the scope. */
const open = (path: string, cookie: string) =>
  Effect.gen(function* () {
    const base = listeningOn((yield* HttpServer.HttpServer).address)
    const { abort, answered } = request(new URL(path, base), cookie)
    yield* Effect.addFinalizer(() => Effect.sync(abort))
    const response = yield* Effect.promise(() => answered)
    assert.strictEqual(response.status, 200)
    let received = ""
    let end: "open" | "ended" | "cut" = "open"
    const reading = (async () => {
      for await (const chunk of response.body ?? []) received += Buffer.from(chunk).toString()
    })()
    reading.then(
      () => {
        end = "ended"
      },
      () => {
        end = "cut"
      }
    )
    return {
      headers: response.headers,
      abort,
      end: () => end,
      messages: () =>
        [...received.matchAll(/^event: change\ndata: (.*)\n\n/gm)].map(([, data = ""]) => JSON.parse(data)),
      received: () => received
    }
  })

const until = (what: string, isTrue: () => boolean) =>
  Effect.sync(isTrue).pipe(
    Effect.repeat({ until: (reached) => reached, schedule: Schedule.spaced("10 millis") }),
    orHangs(() => `This never happened: ${what}.`)
  )

const beginJob = (accountId: AccountId) =>
  Effect.flatMap(Jobs, (jobs) =>
    jobs.begin({ kind: "publish_waiting", title: "Work", subject: null, input: {}, total: 10 })
  ).pipe(actingAs({ _tag: "Cli", accountId }), Effect.orDie)

/**
 * Begins jobs until the stream announces one by its id, and returns that id. A job that begins before the server listens is found by a
 * poll, which announces that any job may have changed.
 */
const untilAnnounced = (accountId: AccountId, stream: Effect.Effect.Success<ReturnType<typeof open>>) =>
  Effect.gen(function* () {
    const count = stream.messages().length
    const { id } = yield* beginJob(accountId)
    yield* until("a change", () => stream.messages().length > count)
    return id
  }).pipe(Effect.repeat({ until: (id) => stream.received().includes(id) }))

/** The address of the event stream in a page that is rendered now. */
const addressIn = (cookie: string) =>
  Effect.map(ask("/jobs", { cookie }), ({ text }) => {
    const [, address = ""] = /<main [^>]*data-events="([^"]+)"/.exec(text) ?? assert.fail(text)
    return address
  })

layer(pagesServer(settings), { excludeTestServices: true })("the stream of events", (it) => {
  it.scoped("sends changes of the own account, and of no other", () =>
    Effect.gen(function* () {
      const mine = yield* aUser("Mine")
      const theirs = yield* aUser("Theirs")
      const own = yield* open(yield* addressIn(mine.cookie), mine.cookie)
      const other = yield* open(yield* addressIn(theirs.cookie), theirs.cookie)
      assert.strictEqual(own.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(own.headers.get("cache-control"), "no-store")
      assert.match(own.received(), /^(?:retry: 3000\n\n|$)/)
      const first = yield* untilAnnounced(mine.accountId, own)
      const second = yield* untilAnnounced(mine.accountId, own)
      const third = yield* untilAnnounced(theirs.accountId, other)
      for (const foreign of [first, second]) assert.notInclude(other.received(), foreign)
      assert.notInclude(own.received(), third)
      yield* until("a heartbeat", () => /^: quiet$/m.test(own.received()))
    })
  )

  it.scoped("is refused without a session, and over the limits of a session and an account", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email } = yield* aUser()
      for (const headers of [{}, { cookie: "catalog_session=x" }]) {
        const away = yield* ask("/events", { headers })
        assert.deepEqual([away.status, away.text], [401, "Sign in first.\n"])
        assert.isNull(away.headers.get("location"))
      }
      const first = yield* open("/events", cookie)
      yield* open("/events", cookie)
      const refused = yield* ask("/events", { cookie })
      assert.deepEqual(
        [refused.status, refused.text, refused.headers.get("retry-after"), refused.headers.get("content-type")],
        [429, "The session has 2 open streams already: close a page.\n", "30", "text/plain"]
      )
      assert.match(refused.headers.get("x-request-id") ?? "", /^req_/)
      const second = yield* aBrowser(accountId, email)
      yield* open("/events", second.cookie)
      const full = yield* ask("/events", { cookie: second.cookie })
      assert.deepEqual([full.status, full.text], [429, "The account has 3 open streams already: close a page.\n"])
      // A closed page frees its place.
      first.abort()
      yield* ask("/events", { cookie, method: "POST" }).pipe(
        Effect.tap(({ status }) => Effect.sync(() => assert.strictEqual(status, 405)))
      )
      const again = yield* Effect.scoped(
        Effect.suspend(() => open("/events", second.cookie)).pipe(
          Effect.sandbox,
          Effect.retry(Schedule.spaced("20 millis")),
          Effect.orDie
        )
      )
      assert.strictEqual(again.headers.get("content-type"), "text/event-stream")
    })
  )

  it.scoped("ends with the session, and does not prolong it", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* aUser()
      const sql = yield* SqlClient.SqlClient
      const lastUse = Effect.map(
        sql`SELECT last_seen_at::text AS at FROM session WHERE account_id = ${accountId}`,
        ([row]) => String(row?.at)
      )
      const before = yield* lastUse
      const stream = yield* later(
        120,
        Effect.gen(function* () {
          const stream = yield* open("/events", cookie)
          yield* ask("/jobs", { cookie, headers: { "x-live-update": "1" } })
          yield* until("heartbeat", () => stream.received().includes(": quiet"))
          assert.strictEqual(yield* lastUse, before)
          // A request by a person does prolong it.
          yield* ask("/jobs", { cookie })
          assert.notStrictEqual(yield* lastUse, before)
          return stream
        })
      )
      assert.strictEqual(stream.end(), "open")
      yield* later(
        13 * 3_600,
        until("end", () => stream.end() === "ended")
      )
      assert.match(stream.received(), /event: ended\ndata: \{\}\n\n$/)
    })
  )
})

layer(
  pagesServer({ eventTimes: { ...eventTimes, lifetime: "500 millis" }, eventBounds: { perAccount: 1, perSession: 1 } }),
  { excludeTestServices: true }
)("the stream of events at the end of its lifetime", (it) => {
  it.scoped("ends without a message after a time, so that the browser opens another, and frees its place", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const first = yield* open("/events", cookie)
      yield* until("end", () => first.end() === "ended")
      assert.notInclude(first.received(), "event: ended")
      const second = yield* open("/events", cookie)
      yield* until("end", () => second.end() === "ended")
    })
  )
})

layer(pagesServer({ ...settings, eventTimes: { ...eventTimes, heartbeat: "1 second" } }), {
  excludeTestServices: true
})("the stream of events of a busy account", (it) => {
  it.scoped("ends with the session, even if changes never stop", () =>
    Effect.gen(function* () {
      const { accountId, cookie, userId } = yield* aUser()
      const stream = yield* open("/events", cookie)
      yield* Effect.forkScoped(Effect.repeat(beginJob(accountId), Schedule.spaced("20 millis")))
      yield* until("a change", () => stream.messages().length > 0)
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM session WHERE account_id = ${accountId} AND user_id = ${userId}`
      yield* until("end", () => stream.end() === "ended")
      assert.match(stream.received(), /event: ended\ndata: \{\}\n\n$/)
    })
  )
})

describe("the stream of events of a service that is stopping", () => {
  it.live("ends at once, and a new one is refused", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      // Longer than the test may take, so the service can stop only if streams end by themselves.
      const patience = { ...shortPatience, delay: Duration.seconds(5), drain: Duration.minutes(10) }
      const services = Layer.provideMerge(ServicesOnDatabase, anyDatabase)
      const context = yield* Layer.buildWithScope(
        services,
        yield* Effect.acquireRelease(Scope.make(), (s) => Scope.close(s, Exit.void))
      )
      const server = yield* Layer.buildWithScope(
        Layer.provideMerge(addressOf(), nodeOf({ ...settings, patience })).pipe(
          Layer.provideMerge(Layer.succeedContext(context))
        ),
        scope
      )
      yield* Effect.gen(function* () {
        const { cookie } = yield* aUser()
        const streams = [yield* open("/events", cookie), yield* open("/events", cookie)]
        const stopped = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* until("end", () => streams.every((stream) => stream.end() === "ended"))
        const late = yield* ask("/events", { cookie })
        assert.deepEqual(
          [late.status, late.text, late.headers.get("retry-after")],
          [503, "The service is stopping.\n", "30"]
        )
        yield* stopped.await
      }).pipe(Effect.provide(server))
    }).pipe(Effect.scoped, Effect.orDie)
  )
})
