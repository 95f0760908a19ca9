import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import { ListeningLost } from "../../src/database/Notifications.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { AccountEvents, defaultEventTimes, type EventTimes } from "../../src/events/AccountEvents.ts"
import { AccountEventsRepo } from "../../src/events/AccountEventsRepo.ts"
import type { EventStream } from "../../src/events/EventStream.ts"
import type { WorkChanges } from "../../src/events/WorkEvent.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { AccountId } from "../../src/model/Ids.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, Stores } from "../../src/testing/index.ts"
import { warningLog } from "../support/ErrorLog.ts"
import { engines } from "../support/TestDatabase.ts"

const times: EventTimes = { ...defaultEventTimes, pollInterval: "50 millis", collect: "20 millis" }

const servicesOn = (database: (typeof engines)[number]["layer"]) =>
  AccountEvents.layer({ perAccount: 3, perSession: 2 }, times).pipe(
    Layer.provideMerge(Services),
    Layer.provideMerge(RateBudget.layerProcess({ perKey: 120, perAccount: 240 })),
    Layer.provideMerge(RepositoriesOnDatabase),
    Layer.provideMerge(database),
    Layer.orDie
  )

const beginJobs = (accountId: AccountId, count: number) =>
  Effect.flatMap(Jobs, (jobs) =>
    Effect.forEach(Array.from({ length: count }), () =>
      jobs.begin({ kind: "publish_waiting", title: "Work", subject: null, input: {}, total: 10 })
    )
  ).pipe(actingAs({ _tag: "Cli", accountId }), Effect.orDie)

const nextOf = (stream: EventStream) => Effect.map(stream.next, Option.getOrThrow)

/** Reads messages until one has this kind. */
const until = (stream: EventStream, kind: keyof WorkChanges) =>
  Effect.gen(function* () {
    const messages: Array<WorkChanges> = []
    for (;;) {
      const message = yield* nextOf(stream)
      messages.push(message)
      if (message[kind] !== undefined) return messages
    }
  })

/** An event stream for a page that was just rendered. */
const aStream = (accountId: AccountId, session = "one") =>
  Effect.gen(function* () {
    const events = yield* AccountEvents
    return yield* Effect.orDie(events.open(accountId, session, yield* events.stateOf(accountId)))
  })

for (const { absent, layer, name } of engines)
  describe.skipIf(absent)(`events of an account, ${name}`, () => {
    it.scopedLive("report what changed in the account, once for many changes, and nothing about other accounts", () =>
      Effect.gen(function* () {
        const { accountId } = yield* anAccount({ name: "Mine" })
        const { accountId: other } = yield* anAccount({ name: "Theirs" })
        const mine = yield* aStream(accountId)
        const theirs = yield* aStream(other)
        const jobs = yield* beginJobs(accountId, 200)
        assert.lengthOf(jobs, 200)
        const seen = yield* until(mine, "job")
        // Changes that come together are one message.
        const [row] = yield* (yield* SqlClient.SqlClient)`
          SELECT count(*)::int AS count FROM job j WHERE j.account_id = ${accountId}`
        assert.strictEqual(row?.count, 200)
        assert.isAtMost(seen.length, 100)
        // The first message of the other account is its own change.
        const [own] = yield* beginJobs(other, 1)
        const heard = yield* until(theirs, "job")
        for (const message of heard) assert.deepEqual(Object.keys(message), ["job"])
        if (heard[0]?.job !== null) assert.deepEqual(heard, [{ job: [String(own?.id)] }])
        mine.close()
        assert.isTrue(Option.isNone(yield* mine.next))
      }).pipe(Effect.provide(servicesOn(layer)))
    )

    it.scopedLive("are not sent before the commit, and not at all after a rollback", () =>
      Effect.gen(function* () {
        const { accountId } = yield* anAccount({ name: "Mine" })
        const stream = yield* aStream(accountId)
        const transaction = yield* Transaction
        yield* Effect.ignore(transaction.run(Effect.zipRight(beginJobs(accountId, 1), Effect.fail("no"))))
        const [kept] = yield* transaction.run(beginJobs(accountId, 1))
        const message = yield* nextOf(stream)
        assert.oneOf(JSON.stringify(message), [JSON.stringify({ job: [kept?.id] }), '{"job":null}'])
      }).pipe(Effect.provide(servicesOn(layer)))
    )

    it.scopedLive("report that a publish waits for the platform of its store", () =>
      Effect.gen(function* () {
        const { accountId, actor } = yield* anAccount({ name: "Mine" })
        const repo = yield* PublicationsRepo
        const asked = yield* Effect.gen(function* () {
          const { store } = yield* (yield* Stores).link({ domain: "tern.demo.example", platform: "demo" })
          const product = yield* anEntity("product", { title: "Tent" }, { on: [store] })
          return yield* (yield* Publishing).request(product, store.id)
        }).pipe(actingAs(actor), Effect.orDie)
        assert(asked.outcome === "requested")
        const [claimed] = yield* repo.claim({ limit: 1, maxPerStore: 1, leaseSeconds: 60, only: [asked.publicationId] })
        assert(claimed !== undefined)
        const stream = yield* aStream(accountId)
        // Changes of an account are announced from then on.
        const sql = yield* SqlClient.SqlClient
        yield* Effect.repeat(
          Effect.delay(sql`SELECT FROM watched_account WHERE account_id = ${accountId}`, "5 millis"),
          {
            until: (rows) => rows.length > 0
          }
        )
        const error = { code: "PUBLISH_DELAYED", message: "It did not answer." }
        assert.isTrue(yield* repo.meetOutage(claimed, { outcome: "unavailable", reason: "server" }, error, 60))
        yield* beginJobs(accountId, 1)
        const heard = yield* until(stream, "job")
        assert.includeMembers(
          heard.flatMap((message) => Object.keys(message)),
          ["publish"]
        )
      }).pipe(Effect.provide(servicesOn(layer)))
    )

    it.scopedLive("update a page that was rendered before a change, and refuse too many streams", () =>
      Effect.gen(function* () {
        const events = yield* AccountEvents
        const { accountId } = yield* anAccount({ name: "Mine" })
        const state = yield* events.stateOf(accountId)
        yield* beginJobs(accountId, 1)
        const late = yield* events.open(accountId, "one", state)
        assert.deepEqual(yield* nextOf(late), { publish: null, import: null, job: null, drop: null, scan: null })

        const second = yield* aStream(accountId)
        const ofSession = yield* Effect.flip(events.open(accountId, "one", undefined))
        assert.deepInclude(ofSession, { _tag: "TooManyStreams", of: "session", max: 2 })
        yield* aStream(accountId, "two")
        const ofAccount = yield* Effect.flip(events.open(accountId, "two", undefined))
        assert.deepInclude(ofAccount, { _tag: "TooManyStreams", of: "account", max: 3 })
        second.close()
        second.close()
        yield* aStream(accountId, "two")
        yield* Effect.flip(events.open(accountId, "three", undefined))
      }).pipe(Effect.provide(servicesOn(layer)))
    )
  })

describe("if one account cannot be read", () => {
  it.scopedLive("events of other accounts are still sent", () =>
    Effect.gen(function* () {
      const [down, up] = ["0d0e0a0d-0000-4000-8000-000000000001", "0d0e0a0d-0000-4000-8000-000000000002"].map((id) =>
        AccountId.make(id)
      ) as [AccountId, AccountId]
      let jobs = 0
      let isDown = false
      const repo: AccountEventsRepo["Type"] = {
        listen: undefined,
        read: (accountId) =>
          Effect.suspend(() =>
            isDown && accountId === down
              ? Effect.dieMessage("its node is down")
              : Effect.succeed({ publish: "", import: "", job: String(jobs), drop: "", scan: "" })
          ),
        watch: () => Effect.void,
        transactions: Effect.succeed({ oldest: 0n, next: 0n })
      }
      yield* Effect.gen(function* () {
        yield* aStream(down)
        const stream = yield* aStream(up)
        isDown = true
        jobs++
        assert.deepEqual(yield* nextOf(stream), { job: null })
      }).pipe(
        Effect.provide(
          AccountEvents.layer(undefined, times).pipe(Layer.provide(Layer.succeed(AccountEventsRepo, repo)))
        )
      )
    })
  )
})

describe("if the database cannot be listened to", () => {
  it.scopedLive("the log has the reason once, and again after the process has listened", () =>
    Effect.gen(function* () {
      // The connection is refused twice, then opened and lost, and refused again.
      const ends = ["refused", "refused", "lost", "refused"]
      const log = warningLog()
      let attempts = 0
      const repo: AccountEventsRepo["Type"] = {
        listen: (_channel, _onNotification, onListening) =>
          Effect.suspend(() => {
            const reason = ends[attempts++]
            if (reason === undefined) return Effect.never
            const lost = new ListeningLost({ reason })
            return reason === "lost" ? Effect.zipRight(onListening, lost) : lost
          }),
        read: () => Effect.succeed({ publish: "", import: "", job: "", drop: "", scan: "" }),
        watch: () => Effect.void,
        transactions: Effect.succeed({ oldest: 0n, next: 0n })
      }
      yield* Effect.gen(function* () {
        yield* aStream(AccountId.make("0d0e0a0d-0000-4000-8000-000000000001"))
        while (attempts <= ends.length) yield* Effect.sleep("5 millis")
      }).pipe(
        Effect.provide(
          AccountEvents.layer(undefined, { ...times, retry: "1 millis" }).pipe(
            Layer.provide([Layer.succeed(AccountEventsRepo, repo), log.layer])
          )
        )
      )
      assert.deepEqual(log.warnings, [
        "The connection that listens for changes cannot be opened, so the process polls for changes: refused",
        "The connection that listens for changes is lost, so the process polls for changes: lost"
      ])
    })
  )
})
