import { readFileSync } from "node:fs"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Logger, LogLevel, Redacted, TestClock } from "effect"
import { makeThrottle } from "../../src/http/RefusalLog.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { csrfOf } from "../console/Merchant.ts"
import { addressOf, ask, aUser, nodeOf } from "../oauth/PagesServer.ts"
import { anyDatabase } from "../support/TestDatabase.ts"

// Before the tests with a layer: `layer` binds `it.effect` to its own clock for the rest of the file.
describe("the lines of a flood", () => {
  const aThrottle = () => {
    const written: Array<string> = []
    const note = makeThrottle()
    return {
      written,
      refuse: (network: string) =>
        note(network, (suppressed) => Effect.sync(() => written.push(`${network} +${suppressed}`)))
    }
  }

  it.effect("are one a second for an address, with the number of the others", () =>
    Effect.gen(function* () {
      const { refuse, written } = aThrottle()
      yield* Effect.repeatN(refuse("a"), 9)
      yield* refuse("b")
      assert.deepStrictEqual(written, ["a +0", "b +0"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(written.splice(0), ["a +0", "b +0", "a +8"])
      yield* refuse("a")
      assert.deepStrictEqual(written, [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(written.splice(0), ["a +0"])
      yield* TestClock.adjust("1 second")
      yield* refuse("a")
      assert.deepStrictEqual(written, ["a +0"])
    })
  )

  it.effect("are at most 21 a second for any number of addresses", () =>
    Effect.gen(function* () {
      const { refuse, written } = aThrottle()
      const flood = Effect.forEach(Array.from({ length: 1_000 }), (_, at) => refuse(`address ${at}`))
      yield* flood
      assert.lengthOf(written.splice(0), 20)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(written.splice(0), ["address 999 +979"])
      // Those of the first second are forgotten, so others have their turn.
      yield* refuse("new")
      assert.deepStrictEqual(written.splice(0), ["new +0"])
      yield* flood
      yield* flood
      yield* TestClock.adjust("1 second")
      assert.isAtMost(written.length, 40)
      const counted = written.reduce((sum, line) => sum + 1 + Number(line.split("+")[1]), 0)
      assert.strictEqual(counted, 2_000)
    })
  )
})

const lines: Array<{ readonly json: string; readonly logfmt: string }> = []

/** Records what `LOG_FORMAT` json and logfmt write. */
const recorder = Logger.make((options) => {
  if (LogLevel.greaterThanEqual(options.logLevel, LogLevel.Warning))
    lines.push({ json: Logger.jsonLogger.log(options), logfmt: Logger.logfmtLogger.log(options) })
})

/** The lines below WARN, which are no refusals. */
const requests: Array<string> = []

const recorderOfRequests = Logger.make((options) => {
  if (options.logLevel === LogLevel.Info) requests.push(Logger.jsonLogger.log(options))
})

// Nothing listens on port 9, and the mails do not matter here.
const settings = { trustedProxies: 1, mail: { url: Redacted.make("smtp://127.0.0.1:9"), from: "c@example.com" } }

const Server = addressOf(settings).pipe(
  Layer.provideMerge(nodeOf(settings)),
  Layer.provide(Logger.add(recorderOfRequests)),
  Layer.provide(Logger.replace(Logger.defaultLogger, recorder)),
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(anyDatabase),
  Layer.orDie
)

interface Line {
  readonly message: string
  readonly annotations: Readonly<Record<string, string | number>>
}

const linesOf = (address: string) =>
  lines.map(({ json }) => JSON.parse(json) as Line).filter(({ annotations }) => annotations.address === address)

const signIn = (address: string, form: Readonly<Record<string, string>>) =>
  ask("/sign-in", { form, headers: { "x-forwarded-for": address } })

const password = "a password that nobody has"

layer(Server, { excludeTestServices: true })("the log", (it) => {
  it.effect("has a line for a refused sign-in, with the client's address, the e-mail, the reason and the request", () =>
    Effect.gen(function* () {
      const refused = yield* signIn("203.0.113.1", { email: "Eve@example.com", password })
      assert.strictEqual(refused.status, 403)
      assert.deepStrictEqual(
        linesOf("203.0.113.1").map(({ annotations, message }) => ({ annotations, message })),
        [
          {
            message: "A sign-in was refused",
            annotations: {
              address: "203.0.113.1",
              email: "Eve@example.com",
              reason: "wrong",
              requestId: String(refused.headers.get("x-request-id"))
            }
          }
        ]
      )
    })
  )

  it.effect("has no password, and nothing that was typed instead of an e-mail address", () =>
    Effect.gen(function* () {
      yield* signIn("203.0.113.2", { email: password, password })
      assert.deepStrictEqual(
        linesOf("203.0.113.2").map(({ annotations: { email } }) => email),
        ["-"]
      )
      assert.notInclude(JSON.stringify(lines), password)
      assert.notInclude(JSON.stringify(lines), "nobody has")
    })
  )

  it.effect("shows an odd e-mail as one word of at most 100 characters, and any text in place of an address too", () =>
    Effect.gen(function* () {
      const email = 'a@b" address=1.2.3.4\n\u202e\ud800\u{1F426}'
      yield* signIn("203.0.113.3", { email, password })
      yield* signIn("203.0.113.4", { email: `@${"x".repeat(30_000)}`, password })
      yield* signIn('1.2.3.4" reason=x', { email: "a@b.c", password })
      const emailOf = (address: string) => linesOf(address).map((line) => line.annotations.email)
      assert.deepStrictEqual(emailOf("203.0.113.3"), [
        "a@b\\u{22}\\u{20}address\\u{3d}1.2.3.4\\u{a}\\u{202e}\ufffd\u{1F426}"
      ])
      assert.deepStrictEqual(emailOf("203.0.113.4"), [`@${"x".repeat(99)}`])
      assert.deepStrictEqual(emailOf("1.2.3.4\\u{22}\\u{20}reason\\u{3d}x"), ["a@b.c"])
    })
  )

  it.effect("has the whole IPv6 address, and only what the trusted proxy says", () =>
    Effect.gen(function* () {
      yield* signIn("198.51.100.7, 2001:db8::a:1", { email: "a@b.c", password })
      assert.lengthOf(linesOf("2001:db8::a:1"), 1)
      assert.lengthOf(linesOf("198.51.100.7"), 0)
    })
  )

  it.effect("has a line for an invalid API key and an invalid token", () =>
    Effect.gen(function* () {
      const key = { authorization: `Bearer pk_live_${"q".repeat(40)}`, "x-forwarded-for": "203.0.113.5" }
      assert.strictEqual((yield* ask("/api/v1/products", { headers: key })).status, 401)
      const token = { authorization: `Bearer pim_at_${"q".repeat(43)}`, "x-forwarded-for": "203.0.113.6" }
      assert.strictEqual((yield* ask("/mcp", { json: {}, headers: token })).status, 401)
      assert.deepStrictEqual(
        ["203.0.113.5", "203.0.113.6"].flatMap(linesOf).map(({ annotations: { kind }, message }) => [message, kind]),
        [
          ["A key or token was refused", "key"],
          ["A key or token was refused", "token"]
        ]
      )
      // A request without a credential is no attempt.
      yield* ask("/api/v1/products", { headers: { "x-forwarded-for": "203.0.113.7" } })
      assert.lengthOf(linesOf("203.0.113.7"), 0)
      assert.notInclude(JSON.stringify(lines), "q".repeat(40))
    })
  )

  it.effect("has a line for a wrong current password on the profile, but none for a new one that does not fit", () =>
    Effect.gen(function* () {
      const { cookie, email } = yield* aUser()
      const csrf = csrfOf(yield* ask("/settings/profile", { cookie }))
      const send = (to: string, address: string, form: Readonly<Record<string, string>>) =>
        ask(`/settings/${to}`, { cookie, form: { csrf, ...form }, headers: { "x-forwarded-for": address } })
      const forms = ["profile/password", "second-factor", "second-factor/disable"] as const
      for (const [at, to] of forms.entries()) {
        const address = `203.0.113.${20 + at}`
        const refused = yield* send(to, address, { current: password, password: "tern over tarn 1" })
        assert.strictEqual(refused.status, 403, to)
        assert.deepStrictEqual(
          linesOf(address).map(({ annotations, message }) => ({ annotations, message })),
          [
            {
              message: "A current password was refused",
              annotations: {
                address,
                email,
                reason: "wrong",
                requestId: String(refused.headers.get("x-request-id"))
              }
            }
          ]
        )
      }
      assert.strictEqual(
        (yield* send("profile/password", "203.0.113.23", { current: password, password: "short" })).status,
        400
      )
      assert.lengthOf(linesOf("203.0.113.23"), 0)
      yield* send("profile/password", "203.0.113.24", { current: password, password: "tern over tarn 1" })
      yield* send("profile/password", "203.0.113.24", { current: password, password: "tern over tarn 1" })
      const limited = yield* send("profile/password", "203.0.113.25", {
        current: password,
        password: "tern over tarn 1"
      })
      assert.strictEqual(limited.status, 429)
      assert.deepStrictEqual(
        linesOf("203.0.113.25").map(({ annotations: { reason } }) => reason),
        ["delayed"]
      )
      assert.notInclude(JSON.stringify(lines), password)
    })
  )

  it.effect("has a line for each request for a new password, and for a refused one", () =>
    Effect.gen(function* () {
      const forget = (address: string) =>
        ask("/forgot-password", { form: { email: "Nobody@example.com" }, headers: { "x-forwarded-for": address } })
      const asked = yield* forget("203.0.113.30")
      const about = {
        address: "203.0.113.30",
        email: "Nobody@example.com",
        requestId: String(asked.headers.get("x-request-id"))
      }
      assert.deepStrictEqual(
        requests.map((json) => JSON.parse(json) as Line).map(({ annotations, message }) => [message, annotations]),
        [["A new password was requested", about]]
      )
      assert.lengthOf(linesOf("203.0.113.30"), 0)
      yield* forget("203.0.113.31")
      yield* forget("203.0.113.32")
      const refused = yield* forget("203.0.113.33")
      assert.strictEqual(refused.status, 429)
      assert.deepStrictEqual(
        linesOf("203.0.113.33").map(({ annotations, message }) => [message, annotations]),
        [
          [
            "A request for a new password was refused",
            {
              address: "203.0.113.33",
              email: "Nobody@example.com",
              reason: "delayed",
              requestId: String(refused.headers.get("x-request-id"))
            }
          ]
        ]
      )
    })
  )

  it.effect("counts every refusal of a flood, in fewer lines", () =>
    Effect.gen(function* () {
      const attempts = 40
      yield* Effect.all(
        Array.from({ length: attempts }, (_, at) => signIn("203.0.113.8", { email: `user-${at}@b.c`, password })),
        { concurrency: 20 }
      )
      const counted = () =>
        linesOf("203.0.113.8").reduce((sum, line) => sum + 1 + Number(line.annotations.suppressed ?? 0), 0)
      while (counted() < attempts) yield* Effect.sleep("50 millis")
      assert.strictEqual(counted(), attempts)
      assert.isBelow(linesOf("203.0.113.8").length, attempts)
    })
  )

  it.effect("is understood by the filter of fail2ban, in both formats", () =>
    Effect.gen(function* () {
      yield* signIn("203.0.113.9", { email: 'x@y address=1.2.3.4 "address":"1.2.3.4"', password })
      const patterns = readFileSync("ops/fail2ban/catalog.conf", "utf8")
        .split("\n")
        .filter((line) => line.includes("<ADDR>"))
        .map((line) => line.replace("failregex =", "").trim().replace("<ADDR>", "([0-9a-fA-F.:]+)"))
      assert.lengthOf(patterns, 2)
      const found = lines
        .filter(({ json }) => json.includes("203.0.113.9") || json.includes("A key or token"))
        .map(({ json, logfmt }) =>
          [json, logfmt].map((line) => patterns.flatMap((pattern) => new RegExp(pattern).exec(line)?.[1] ?? []))
        )
      assert.deepStrictEqual(found.at(-1), [["203.0.113.9"], ["203.0.113.9"]])
      for (const address of ["203.0.113.20", "203.0.113.25", "203.0.113.33"])
        assert.deepStrictEqual(
          lines
            .filter(({ json }) => json.includes(address))
            .map((line) =>
              [line.json, line.logfmt].map((text) => patterns.flatMap((each) => new RegExp(each).exec(text)?.[1] ?? []))
            ),
          [[[address], [address]]]
        )
      // Refused keys are left to the operator.
      assert.isTrue(found.slice(0, -1).every((each) => each.flat().length === 0))
    })
  )
})
