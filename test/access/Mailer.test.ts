import { assert, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Layer, Metric, MetricState, Option, Redacted, TestClock } from "effect"
import { type Delivery, Mailer } from "../../src/access/Mailer.ts"
import { freePort } from "../support/FreePort.ts"
import { mailServer } from "../support/MailServer.ts"

const mail = { to: "ada@example.com", subject: "Invitation", text: "A link.", language: "en" }

it.scopedLive("a mail that is not wanted any more after a pause is not sent again", () =>
  Effect.gen(function* () {
    const server = yield* mailServer
    server.refusal = "450 4.7.1 try again later"
    const asked = yield* Deferred.make<void>()
    let calls = 0
    const keep = () =>
      Effect.gen(function* () {
        server.refusal = undefined
        calls++
        if (calls > 1) yield* Deferred.succeed(asked, undefined)
        return calls === 1
      })
    const settings = {
      url: Redacted.make(`smtp://127.0.0.1:${server.port}`),
      from: "catalog@example.com",
      pauses: [Duration.millis(1)]
    }
    const { send } = yield* Effect.map(Layer.build(Mailer.layer(Option.some(settings))), Context.get(Mailer))
    assert.strictEqual((yield* send(mail, keep)).state, "waiting")
    yield* Deferred.await(asked)
    assert.lengthOf(server.mails, 0)
  })
)

it.scoped(
  "the result of a waiting mail is stored again every 30 s, and a failure to store it does not end the wait",
  () =>
    Effect.gen(function* () {
      const server = yield* mailServer
      server.refusal = "450 4.7.1 try again later"
      const isSent = yield* Deferred.make<void>()
      const isStored = yield* Deferred.make<void>()
      const stored: Array<string> = []
      const keep = ({ state }: Delivery) =>
        Effect.gen(function* () {
          stored.push(state)
          if (state === "sent") yield* Deferred.succeed(isSent, undefined)
          // A renewal, the question before the second attempt, and the result of that attempt.
          if ([2, 5, 8].includes(stored.length)) return yield* Effect.die("no database")
          if (state === "sent") yield* Deferred.succeed(isStored, undefined)
          return true
        })
      const settings = {
        url: Redacted.make(`smtp://127.0.0.1:${server.port}`),
        from: "catalog@example.com",
        pauses: [Duration.seconds(100)]
      }
      const { send } = yield* Effect.map(Layer.build(Mailer.layer(Option.some(settings))), Context.get(Mailer))
      yield* send(mail, keep)
      for (const count of [2, 3, 4]) {
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(
          stored,
          Array.from({ length: count }, () => "waiting")
        )
      }
      server.refusal = undefined
      yield* TestClock.adjust("40 seconds")
      yield* Deferred.await(isSent)
      yield* TestClock.adjust("30 seconds")
      yield* Deferred.await(isStored)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(stored.slice(4), ["waiting", "waiting", "waiting", "sent", "sent"])
      assert.lengthOf(server.mails, 1)
    })
)

const counted = Effect.sync(() =>
  Object.fromEntries(
    Metric.unsafeSnapshot().flatMap(({ metricKey, metricState }) =>
      metricKey.name === "catalog_mail_attempts_total" && MetricState.isCounterState(metricState)
        ? metricKey.tags.map(({ value }) => [value, Number(metricState.count)] as const)
        : []
    )
  )
)

it.scopedLive("each attempt is counted by its outcome", () =>
  Effect.gen(function* () {
    const server = yield* mailServer
    const from = "catalog@example.com"
    const sendTo = (url: string) =>
      Effect.flatMap(
        Effect.map(Layer.build(Mailer.layer(Option.some({ url: Redacted.make(url), from }))), Context.get(Mailer)),
        ({ sendOnce }) => sendOnce(mail, crypto.randomUUID())
      )
    const here = `smtp://127.0.0.1:${server.port}`
    const before = yield* counted
    yield* sendTo(here)
    for (const refusal of ["450 4.7.1 try again later", "550 5.1.1 no such user", "550 5.1.1 no such user"]) {
      server.refusal = refusal
      yield* sendTo(here)
    }
    server.refusal = "535 5.7.8 wrong password"
    yield* sendTo(`smtp://ada:secret@127.0.0.1:${server.port}`)
    yield* sendTo(`smtp://127.0.0.1:${yield* Effect.promise(freePort)}`)
    const after = yield* counted
    assert.deepStrictEqual(
      Object.entries(after).map(([outcome, count]) => [outcome, count - (before[outcome] ?? 0)]),
      [
        ["sent", 1],
        ["unavailable", 2],
        ["settings", 1],
        ["refused", 2]
      ]
    )
  })
)
