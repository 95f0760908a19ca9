import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { Users } from "../../src/access/Users.ts"
import { anAccount } from "../../src/testing/index.ts"
import { type Answer, ask, assertErrorPage, pagesServer } from "../oauth/PagesServer.ts"
import { report } from "./Dice.ts"

const password = "tern over tarn 1"
const flooder = "198.51.100.1"
const elsewhere = "203.0.113.7"

const signInFrom = (address: string, email: string, given: string, cookie?: string) =>
  ask("/sign-in", {
    form: { email, password: given },
    headers: { "x-forwarded-for": address },
    ...(cookie !== undefined && { cookie })
  })

/** A user with a password, and the device cookie of their browser. */
const anOwner = (email: string) =>
  Effect.gen(function* () {
    const { accountId } = yield* anAccount()
    const { token } = yield* Effect.orDie((yield* Users).invite(accountId, email))
    const set = yield* ask("/set-password", { form: { token: Redacted.value(token), password } })
    const device = set.headers.getSetCookie().find((cookie) => cookie.startsWith("catalog_device="))
    return { email, device: device?.split(";")[0] ?? assert.fail("no device cookie") }
  })

/** Sends guesses for constantly new e-mails from one address, 24 at a time, until it is stopped. */
const flood = Effect.gen(function* () {
  const answers: Array<Answer> = []
  let sent = 0
  const guesser = Effect.forever(
    Effect.flatMap(
      Effect.suspend(() => signInFrom(flooder, `nobody-${++sent}@example.com`, "not the password")),
      (answer) => Effect.sync(() => void answers.push(answer))
    )
  )
  const fiber = yield* Effect.fork(
    Effect.all(
      Array.from({ length: 24 }, () => guesser),
      { concurrency: "unbounded", discard: true }
    )
  )
  const until = (enough: (answers: ReadonlyArray<Answer>) => boolean) =>
    Effect.async<void>((resume) => {
      const timer = setInterval(() => {
        if (!enough(answers)) return
        clearInterval(timer)
        resume(Effect.void)
      }, 5)
      return Effect.sync(() => clearInterval(timer))
    })
  return { answers, until, end: Fiber.interrupt(fiber) }
})

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const began = performance.now()
    const value = yield* effect
    return { value, millis: Math.round(performance.now() - began) }
  })

const isOfNetwork = ({ text }: Answer) => text.includes("Too many failed attempts from your network")

/**
 * Two owners sign in while the guesses keep the password queue busy, and again when the guessing address is refused.
 */
const drowned = Effect.gen(function* () {
  const { device, email } = yield* anOwner("owner@example.com")
  const { email: stranger } = yield* anOwner("traveller@example.com")
  const { answers, end, until } = yield* flood
  const signIns = Effect.all({
    known: timed(signInFrom(flooder, email, password, device)),
    fresh: timed(signInFrom(elsewhere, stranger, password))
  })
  yield* until(({ length }) => length >= 24)
  const during = yield* signIns
  yield* until((all) => all.length >= 120 && all.some(isOfNetwork))
  const [renewed] = during.known.value.headers.getSetCookie().filter((cookie) => cookie.startsWith("catalog_device="))
  const after = yield* Effect.all({
    known: timed(signInFrom(flooder, email, password, renewed?.split(";")[0] ?? device)),
    fresh: timed(signInFrom(elsewhere, stranger, password))
  })
  yield* end
  return { answers, during, after }
})

const millisOf = ({ fresh, known }: { readonly [Name in "fresh" | "known"]: { readonly millis: number } }) => ({
  known: known.millis,
  fresh: fresh.millis
})

layer(pagesServer({ signInFailuresPerAddress: 30, trustedProxies: 1 }), { excludeTestServices: true })(
  "a flood of guesses from one address",
  (it) => {
    it.effect("blocks neither a known browser at that address nor a new one elsewhere", () =>
      Effect.gen(function* () {
        const { after, answers, during } = yield* drowned
        report("Sign-in flood, owners' milliseconds", { during: millisOf(during), after: millisOf(after) })
        for (const { fresh, known } of [during, after]) {
          assert.strictEqual(known.value.status, 303, known.value.text)
          assert.strictEqual(fresh.value.status, 303, fresh.value.text)
        }
        assert.isAtLeast(answers.length, 120)
        assert.strictEqual(answers.filter(({ status }) => status === 403).length, 30)
        const refused = answers.filter(({ status }) => status !== 403)
        for (const answer of refused) {
          assertErrorPage(
            answer,
            429,
            /Too many (?:sign-ins at the moment|failed attempts from your network)\. Try again in/
          )
          assert.isAtLeast(Number(answer.headers.get("retry-after")), 1)
        }
        const full = refused.filter((answer) => !isOfNetwork(answer))
        assert.isAbove(full.length, 0)
        assert.strictEqual(full[0]?.headers.get("retry-after"), "10")
      })
    )
  }
)

// The planted fault: no proxy is trusted, so all clients have the same address.
layer(pagesServer({ signInFailuresPerAddress: 30, trustedProxies: 0 }), { excludeTestServices: true })(
  "a flood at a service that cannot distinguish addresses",
  (it) => {
    it.effect("blocks a new browser, but not a known one", () =>
      Effect.gen(function* () {
        const { after, answers, during } = yield* drowned
        assert.isAtLeast(answers.length, 120)
        // The failures of the address, or its full queue, refuse all other clients of that address.
        assertErrorPage(
          after.fresh.value,
          429,
          /Too many (?:sign-ins at the moment|failed attempts from your network)\./
        )
        assert.strictEqual(during.known.value.status, 303)
        assert.strictEqual(after.known.value.status, 303)
      })
    )
  }
)
