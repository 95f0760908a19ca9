import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Either, Layer, Option, Redacted } from "effect"
import { Secret, TOTP } from "otpauth"
import { CodeRefused, makeRotateSecondFactors, SecondFactors } from "../../src/access/SecondFactors.ts"
import { SecondFactorsRepo } from "../../src/access/SecondFactorsRepo.ts"
import { Users } from "../../src/access/Users.ts"
import { UsersRepo } from "../../src/access/UsersRepo.ts"
import { SecretBox, SecretKeySource } from "../../src/stores/SecretBox.ts"
import { anAccount } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import {
  type Answer,
  aBrowser,
  aClient,
  ask,
  assertErrorPage,
  aUser,
  authorizePath,
  later,
  newVerifier,
  PagesServer,
  pagesServer
} from "../oauth/PagesServer.ts"
import { assertForeignForm, csrfOf, textOf } from "./Merchant.ts"

const path = "/settings/profile"
const factorPath = "/settings/second-factor"
const password = "tern over tarn 1"

const key = Redacted.make("ab".repeat(32))
const keyed = (secret: Redacted.Redacted, previous?: Redacted.Redacted) =>
  Layer.succeed(SecretKeySource, {
    _tag: "Setting" as const,
    key: secret,
    ...(previous !== undefined && { previous })
  })
const Served = pagesServer().pipe(Layer.provide(keyed(key)))

const cookieOf = (answer: Answer) => answer.headers.get("set-cookie")?.split(";")[0] ?? ""

let people = 0

/** A user with a password, and a signed-in browser. */
const aPerson = Effect.gen(function* () {
  const { accountId } = yield* anAccount()
  const email = `person-${++people}@example.com`
  const { token } = yield* Effect.orDie((yield* Users).invite(accountId, email))
  const set = yield* ask("/set-password", { form: { token: Redacted.value(token), password } })
  const cookie = cookieOf(set)
  const csrf = csrfOf(yield* ask(path, { cookie }))
  const send = (to: string, form: Readonly<Record<string, string>> = {}) => ask(to, { cookie, form: { csrf, ...form } })
  const user = yield* Effect.flatMap((yield* UsersRepo).findByEmail(email), Effect.orDie)
  const [device = ""] = /catalog_device=[^;]+/.exec(set.headers.get("set-cookie") ?? "") ?? []
  return { accountId, userId: user.id, user, email, cookie, device, send }
})

const signIn = (email: string, given = password) => ask("/sign-in", { form: { email, password: given } })

const to = (answer: Answer) => [answer.status, answer.headers.get("location")]

/** The current code of the authenticator app. It is accepted for at least 30 seconds. */
const codeOf = (secret: string, timestamp = Date.now()) =>
  new TOTP({ algorithm: "SHA1", digits: 6, period: 30, secret: Secret.fromBase32(secret) }).generate({ timestamp })

/** Moves the last accepted code into the past, so that the current code can be used again. */
const withFreshCodes = (userId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.orDie(sql`UPDATE second_factor SET last_step = last_step - 100, used_steps = '{}' WHERE user_id = ${userId}`)
  )

/** The recovery codes that a page shows. */
const codesIn = ({ text }: Answer) =>
  [...text.matchAll(/<code>([a-z2-9]{5}-[a-z2-9]{5})<\/code>/g)].map(([, code]) => String(code))

/** A user with a second factor. `first`: the code that confirmed it. */
const anEnrolled = Effect.gen(function* () {
  const person = yield* aPerson
  assert.deepStrictEqual(to(yield* person.send(factorPath, { current: password })), [303, factorPath])
  const page = yield* ask(factorPath, { cookie: person.cookie })
  const secret = /id="secret" value="([A-Z2-7]{32})"/.exec(page.text)?.[1] ?? assert.fail(page.text)
  const first = codeOf(secret)
  const confirmed = yield* person.send(`${factorPath}/confirm`, { code: first })
  assert.strictEqual(confirmed.status, 200, confirmed.text)
  return { ...person, page, secret, first, codes: codesIn(confirmed), confirmed }
})

/** The first step of a sign-in. Returns the hidden fields of the second form. */
const firstStep = (email: string) =>
  Effect.map(signIn(email), (answer) => {
    assert.strictEqual(answer.status, 200, answer.text)
    assert.isNull(answer.headers.get("set-cookie"))
    return sectionsOf(answer.text, "/sign-in/code").hidden
  })

const enter = (hidden: Readonly<Record<string, string>>, code: string, cookie?: string) =>
  ask("/sign-in/code", { form: { ...hidden, code }, ...(cookie !== undefined && { cookie }) })

const refusedCode = "This code is wrong or was used already. Enter the newest code of your app."

layer(Served, { excludeTestServices: true })("the profile", (it) => {
  it.effect("saves language and time zone, and pages show times in that zone", () =>
    Effect.gen(function* () {
      const { cookie, send } = yield* aPerson
      assert.match(
        (yield* ask(path, { cookie })).text,
        /<time dateTime="[^"]*">\d{1,2} \w{3,4} \d{4}, \d\d:\d\d UTC<\/time>/i
      )
      const form = { language: "de", time_zone: "Asia/Tokyo" }
      assert.deepStrictEqual(to(yield* send(path, form)), [303, `${path}?note=saved`])
      const page = yield* ask(path, { cookie })
      assert.match(page.text, /<option value="de" lang="de" selected>Deutsch<\/option>/)
      assert.match(page.text, /<option value="Asia\/Tokyo" selected>/)
      const [, at = "", shown = ""] = /<time dateTime="([^"]*)">([^<]*) Asia\/Tokyo<\/time>/i.exec(page.text) ?? []
      assert.match(page.text, /<html lang="de" dir="ltr"/)
      const written = new Intl.DateTimeFormat("de", {
        ...({ year: "numeric", month: "short", day: "numeric", timeZone: "Asia/Tokyo" } as const),
        ...({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const)
      })
      assert.strictEqual(shown, written.format(Date.parse(at)))
      for (const [wrong, message] of [
        [{ language: "xx", time_zone: "" }, "Die Sprache: muss eine der Sprachen in der Liste sein."],
        [{ language: "", time_zone: "Mars/Olympus" }, "Die Zeitzone: muss eine der Zeitzonen in der Liste sein."]
      ] as const)
        assert.include(textOf(yield* send(path, wrong)), message)
      yield* send(path, { language: "", time_zone: "" })
      assert.match((yield* ask(path, { cookie })).text, / UTC<\/time>/)
    })
  )

  it.effect("changes the password with the current one, and ends the other sessions", () =>
    Effect.gen(function* () {
      const { cookie, email, send } = yield* aPerson
      const elsewhere = cookieOf(yield* signIn(email))
      const change = (current: string, next: string) => send(`${path}/password`, { current, password: next })
      const wrong = yield* change("not the password", "another password")
      assertErrorPage(
        wrong,
        403,
        /<p class="wrong" id="current-misfit" role="alert">The current password is wrong\.<\/p>/
      )
      const short = yield* change(password, "short")
      assertErrorPage(
        short,
        400,
        /id="password-misfit" role="alert">The new password must have 10 to 200 characters\.</
      )
      assertErrorPage(
        yield* change(password, `${email}1`),
        400,
        /role="alert">The new password is little more than a word that attackers expect, such as your e-mail address or the name of this account; use a few unrelated words\.</
      )
      assert.deepStrictEqual(to(yield* change(password, "another password")), [303, `${path}?note=password`])
      assert.strictEqual((yield* ask(path, { cookie })).status, 200)
      assert.strictEqual((yield* ask(path, { cookie: elsewhere })).status, 303)
      assert.strictEqual((yield* signIn(email)).status, 403)
      assert.strictEqual((yield* signIn(email, "another password")).status, 303)
      for (let time = 0; time < 5; time++) assert.strictEqual((yield* change("guess", "yet another one")).status, 403)
      const limited = yield* change("another password", "yet another one")
      assertErrorPage(limited, 429, /Too many wrong passwords\. Try again in 1[45] minutes/)
      // The time is in the zone of the profile.
      yield* send(path, { language: "", time_zone: "Asia/Tokyo" })
      const inTokyo = yield* change("another password", "yet another one")
      assert.match(textOf(inTokyo), /\(after \d{1,2} \w{3,4} \d{4}, \d\d:\d\d Asia\/Tokyo\)\./)
      // Wrong passwords on the profile do not lock the user out of the sign-in.
      assert.strictEqual((yield* signIn(email, "another password")).status, 303)
    })
  )

  it.effect("names the browser and the system of each session, and says which one is this one", () =>
    Effect.gen(function* () {
      const { email } = yield* aPerson
      const firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0"
      const enterWith = (userAgent: string) =>
        ask("/sign-in", { form: { email, password }, headers: { "user-agent": userAgent } })
      const cookie = cookieOf(yield* enterWith(firefox))
      for (const userAgent of [`${"<b>x".repeat(2_000)} Firefox/1`, "<script>", "Opera/9.80 Linux", "\u00ff"])
        assert.strictEqual((yield* enterWith(userAgent)).status, 303)
      const page = yield* ask(path, { cookie })
      const names = [...page.text.matchAll(/<h3>(.*?)<\/h3>/g)].map(([, name]) => name)
      assert.sameMembers(names, [
        'Firefox on Windows<span class="quiet"> (this session)</span>',
        ...Array(4).fill("Unknown browser"),
        "Linux"
      ])
    })
  )

  it.effect("lists sessions, ends one, and ends all others, but none of other users", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { cookie, email, send, userId } = yield* aPerson
      const others = [cookieOf(yield* signIn(email)), cookieOf(yield* signIn(email)), cookieOf(yield* signIn(email))]
      const open = (each: string) => Effect.map(ask(path, { cookie: each }), ({ status }) => status === 200)
      const page = yield* ask(path, { cookie })
      assert.strictEqual([...page.text.matchAll(/\(this session\)/g)].length, 1)
      const [first] = [...page.text.matchAll(/name="session" value="([0-9a-f]{64})"/g)].map(([, hash]) => String(hash))
      assert.deepStrictEqual(to(yield* send(`${path}/end-session`, { session: String(first) })), [
        303,
        `${path}?note=ended`
      ])
      assert.lengthOf((yield* Effect.forEach(others, open)).filter(Boolean), 2)
      const stranger = yield* aUser()
      const [foreign] = yield* sql`SELECT encode(hash, 'hex') AS hash FROM session WHERE user_id = ${stranger.userId}`
      yield* send(`${path}/end-session`, { session: String(foreign?.hash) })
      assert.isTrue(yield* open(stranger.cookie))
      assert.deepStrictEqual(to(yield* send(`${path}/end-other-sessions`)), [303, `${path}?note=others`])
      assert.lengthOf((yield* Effect.forEach(others, open)).filter(Boolean), 0)
      assert.isTrue(yield* open(cookie))
      assert.isTrue(yield* open(stranger.cookie))
      assert.lengthOf(yield* sql`SELECT FROM session WHERE user_id = ${userId}`, 1)
    })
  )
})

layer(Served, { excludeTestServices: true })("the second factor", (it) => {
  it.effect("is set up with a picture and a text, and is on after a code", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { cookie, codes, confirmed, email, page, secret, send, userId } = yield* anEnrolled
      assert.match(page.text, /<svg class="qr" role="img" aria-label="QR code[^"]*" viewBox="0 0 \d+ \d+"/)
      assert.include(
        page.text,
        `otpauth://totp/Catalog:${encodeURIComponent(email)}?issuer=Catalog&amp;secret=${secret}`
      )
      assert.lengthOf(new Set(codes), 10)
      assert.include(textOf(confirmed), "They are shown only once.")
      assert.include(textOf(yield* ask(path, { cookie })), "10 of your recovery codes are left")
      // A secret can be shown again until it is confirmed.
      assert.deepStrictEqual(to(yield* ask(factorPath, { cookie })), [303, path])
      assertErrorPage(yield* send(factorPath, { current: password }), 409, /The second factor is on already\./)
      assert.deepStrictEqual(to(yield* send(`${factorPath}/confirm`, { code: String(codes[0]) })), [303, path])
      const [stored] = yield* sql`
        SELECT (SELECT secret FROM second_factor WHERE user_id = ${userId}) AS secret,
               (SELECT string_agg(encode(hash, 'hex'), ' ') FROM recovery_code WHERE user_id = ${userId}) AS hashes`
      const sealed = Buffer.from(stored?.secret as Uint8Array).toString("latin1")
      for (const code of [secret, ...codes]) assert.notInclude(`${sealed} ${stored?.hashes}`, code)
    })
  )

  it.effect("ends the user's other sessions when it is set up, and says so", () =>
    Effect.gen(function* () {
      const person = yield* aPerson
      const elsewhere = cookieOf(yield* signIn(person.email))
      yield* person.send(factorPath, { current: password })
      const page = yield* ask(factorPath, { cookie: person.cookie })
      assert.include(textOf(page), "The second factor is on after this code, and your other sessions end.")
      assert.strictEqual((yield* ask(path, { cookie: elsewhere })).status, 200)
      const secret = String(/id="secret"[^>]*value="([A-Z2-7]+)"/.exec(page.text)?.[1])
      assert.strictEqual((yield* person.send(`${factorPath}/confirm`, { code: "000000" })).status, 400)
      assert.strictEqual((yield* ask(path, { cookie: elsewhere })).status, 200)
      const on = yield* person.send(`${factorPath}/confirm`, { code: codeOf(secret) })
      assert.include(textOf(on), "Your other sessions are ended.")
      assert.strictEqual((yield* ask(path, { cookie: elsewhere })).status, 303)
      assert.strictEqual((yield* ask(path, { cookie: person.cookie })).status, 200)
    })
  )

  it.effect("is set up only with the current password: an open session is not enough", () =>
    Effect.gen(function* () {
      const { cookie, send } = yield* aPerson
      for (const form of [{}, { current: "tern over tarn 2" }]) {
        const wrong = yield* send(factorPath, form)
        assertErrorPage(wrong, 403, /id="factor-misfit" role="alert">The current password is wrong\.</)
        assert.deepStrictEqual(to(yield* ask(factorPath, { cookie })), [303, path])
      }
      assert.deepStrictEqual(to(yield* send(factorPath, { current: password })), [303, factorPath])
    })
  )

  it.effect("is not confirmed by the code of a secret that another tab has replaced", () =>
    Effect.gen(function* () {
      const { accountId, userId } = yield* aPerson
      const user = { accountId, id: userId }
      const repo = yield* SecondFactorsRepo
      const [replaced, current] = [Uint8Array.of(1), Uint8Array.of(2)]
      for (const secret of [replaced, current]) assert.isTrue(yield* repo.begin(user, secret))
      assert.isFalse(yield* repo.confirm(user, replaced, 1, []))
      assert.isTrue(yield* repo.confirm(user, current, 1, []))
    })
  )

  it.effect("is not shown again and not confirmed more than an hour after it was begun", () =>
    Effect.gen(function* () {
      const { cookie, send } = yield* aPerson
      const begun = Effect.gen(function* () {
        yield* send(factorPath, { current: password })
        const page = yield* ask(factorPath, { cookie })
        return /id="secret" value="([A-Z2-7]{32})"/.exec(page.text)?.[1] ?? assert.fail(page.text)
      })
      const abandoned = yield* begun
      const shown = yield* later(3_590, ask(factorPath, { cookie }))
      assert.include(shown.text, abandoned)
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(to(yield* ask(factorPath, { cookie })), [303, path])
        assert.deepStrictEqual(to(yield* send(`${factorPath}/confirm`, { code: codeOf(abandoned) })), [303, path])
        assert.include(textOf(yield* ask(path, { cookie })), "Set up an authenticator app")
        const secret = yield* begun
        assert.notStrictEqual(secret, abandoned)
        assert.strictEqual((yield* send(`${factorPath}/confirm`, { code: codeOf(secret) })).status, 200)
      }).pipe((effect) => later(3_601, effect))
      // A confirmed second factor has no such limit.
      assert.include(textOf(yield* later(7_300, ask(path, { cookie }))), "10 of your recovery codes are left")
    })
  )

  it.effect("is required at sign-in; a code works once, even for another sign-in", () =>
    Effect.gen(function* () {
      const { codes, email, first, secret, userId } = yield* anEnrolled
      const used = yield* firstStep(email)
      assertErrorPage(yield* enter(used, "000000"), 403, new RegExp(refusedCode))
      // The code that confirmed the second factor cannot be used again.
      assertErrorPage(yield* enter(used, first), 403, new RegExp(refusedCode))
      yield* withFreshCodes(userId)
      const code = codeOf(secret)
      const signedIn = yield* enter(used, ` ${code.slice(0, 3)} ${code.slice(3)} `)
      assert.deepStrictEqual(to(signedIn), [303, "/"])
      assert.strictEqual((yield* ask(path, { cookie: cookieOf(signedIn) })).status, 200)
      assertErrorPage(yield* enter(yield* firstStep(email), code), 403, new RegExp(refusedCode))
      yield* withFreshCodes(userId)
      assertErrorPage(yield* enter(used, String(codes[0])), 403, /This sign-in has expired/)
      const next = yield* enter({ ...(yield* firstStep(email)), return_to: "/drops" }, codeOf(secret))
      assert.deepStrictEqual(to(next), [303, "/drops"])
      assert.deepStrictEqual(to(yield* ask("/sign-in/code")), [303, "/sign-in"])
    })
  )

  it.effect("accepts the digits of Arabic keyboards and the wide ones of Chinese input", () =>
    Effect.gen(function* () {
      const { codes, email, secret, userId } = yield* anEnrolled
      for (const zero of [0x660, 0x6f0, 0xff10]) {
        yield* withFreshCodes(userId)
        const typed = codeOf(secret).replaceAll(/\d/g, (digit) => String.fromCharCode(zero + Number(digit)))
        assert.strictEqual((yield* enter(yield* firstStep(email), typed)).status, 303, typed)
      }
      const wide = String(codes[0]).replaceAll(/[!-~]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0))
      assert.strictEqual((yield* enter(yield* firstStep(email), wide)).status, 303, wide)
    })
  )

  it.effect("one of several concurrent sign-ins with the same code succeeds", () =>
    Effect.gen(function* () {
      const { email, secret, userId } = yield* anEnrolled
      const steps = yield* Effect.forEach([1, 2, 3, 4], () => firstStep(email))
      yield* withFreshCodes(userId)
      const code = codeOf(secret)
      const answers = yield* Effect.forEach(steps, (step) => enter(step, code), { concurrency: "unbounded" })
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [303, 403, 403, 403])
      // The success has reset the count of wrong codes, unless the wrong ones came later.
      yield* withFreshCodes(userId)
      assert.strictEqual((yield* enter(yield* firstStep(email), codeOf(secret))).status, 303)
    })
  )

  it.effect(
    "codes that were accepted while the clock was ahead do not block later ones, and are not accepted again",
    () =>
      Effect.gen(function* () {
        const { secret, user } = yield* anEnrolled
        const factors = yield* SecondFactors
        const now = Date.now()
        const [ahead, soon] = [now + 3_600_000, now + 120_000]
        /** Enters a code while the clock of the process shows a time. */
        const enterAt = (millis: number, code: string) =>
          Effect.flatMap(factors.await(user), (token) => factors.finish(Redacted.value(token), code)).pipe(
            Effect.withClock(Object.assign(Clock.make(), { currentTimeMillis: Effect.succeed(millis) })),
            Effect.match({ onFailure: ({ _tag }) => _tag, onSuccess: () => "accepted" })
          )
        assert.strictEqual(yield* enterAt(ahead - 60_000, codeOf(secret, ahead - 60_000)), "accepted")
        assert.strictEqual(yield* enterAt(ahead, codeOf(secret, ahead)), "accepted")
        // The clock is right again.
        assert.strictEqual(yield* enterAt(soon, codeOf(secret, soon)), "accepted")
        assert.strictEqual(yield* enterAt(soon, codeOf(secret, soon)), "CodeRefused")
        // A code of an earlier step, which was never used, is refused too.
        assert.strictEqual(yield* enterAt(soon, codeOf(secret, soon - 30_000)), "CodeRefused")
        for (const millis of [ahead - 60_000, ahead])
          assert.strictEqual(yield* enterAt(millis, codeOf(secret, millis)), "CodeRefused")
        assert.strictEqual(yield* enterAt(ahead + 60_000, codeOf(secret, ahead + 60_000)), "accepted")
      }).pipe(Effect.provide(SecondFactors.layer))
  )

  it.effect(
    "recovery codes are renewed with a current code; the old ones stop, and the record of the team has it",
    () =>
      Effect.gen(function* () {
        const { accountId, codes, cookie, email, first, secret, send, userId } = yield* anEnrolled
        const renew = (code: string) => send(`${factorPath}/recovery-codes`, { code })
        for (const wrong of ["", "000000", first, "x".repeat(100_000)])
          assertErrorPage(yield* renew(wrong), 400, new RegExp(`id="code-misfit" role="alert">${refusedCode}`))
        assert.include(textOf(yield* ask(path, { cookie })), "10 of your recovery codes are left")
        yield* withFreshCodes(userId)
        const renewed = yield* renew(codeOf(secret))
        assert.strictEqual(renewed.status, 200, renewed.text)
        assert.include(renewed.text, "<h1>New recovery codes</h1>")
        const next = codesIn(renewed)
        assert.lengthOf(new Set([...codes, ...next]), 20)
        assertErrorPage(yield* enter(yield* firstStep(email), String(codes[0])), 403, new RegExp(refusedCode))
        assert.strictEqual((yield* enter(yield* firstStep(email), String(next[0]))).status, 303)
        // A recovery code is a current code too, and is used up.
        const again = codesIn(yield* renew(String(next[1])))
        assert.lengthOf(again, 10)
        assertErrorPage(yield* renew(String(next[2])), 400, new RegExp(refusedCode))
        const [entry] = yield* (yield* Users).log(accountId, 1)
        assert.deepInclude(entry, { action: "recovery_codes_renewed", email })
        for (let time = 0; time < 4; time++) yield* renew("000000")
        assertErrorPage(yield* renew(String(again[0])), 429, /Too many wrong codes\. Try again in 1[45] minutes/)
      })
  )

  it.effect("recovery codes are not renewed without a second factor, nor from another site", () =>
    Effect.gen(function* () {
      const { cookie, send } = yield* aPerson
      assertErrorPage(yield* send(`${factorPath}/recovery-codes`, { code: "000000" }), 400, /<h1>Profile<\/h1>/)
      assertForeignForm(yield* ask(`${factorPath}/recovery-codes`, { cookie, form: { code: "000000" } }))
    })
  )

  it.effect(
    "at most one set of codes remains after simultaneous renewals, and after a renewal while the second factor is turned off",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const stored = (userId: string) =>
          Effect.map(
            Effect.orDie(sql`SELECT count(*)::int AS count FROM recovery_code WHERE user_id = ${userId}`),
            ([row]) => row?.count
          )
        for (let round = 0; round < 3; round++) {
          const { codes, send, userId } = yield* anEnrolled
          const answers = yield* Effect.forEach(
            codes.slice(0, 4),
            (code) => send(`${factorPath}/recovery-codes`, { code }),
            { concurrency: "unbounded" }
          )
          // The first renewal deletes the codes of the others.
          assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400])
          assert.strictEqual(yield* stored(userId), 10)
          const other = yield* anEnrolled
          yield* Effect.all(
            [
              other.send(`${factorPath}/recovery-codes`, { code: String(other.codes[0]) }),
              other.send(`${factorPath}/disable`, { current: password })
            ],
            { concurrency: "unbounded" }
          )
          assert.strictEqual(yield* stored(other.userId), 0)
        }
      })
  )

  it.effect("recovery codes work once each", () =>
    Effect.gen(function* () {
      const { codes, cookie, email } = yield* anEnrolled
      const [code = ""] = codes
      assert.strictEqual((yield* enter(yield* firstStep(email), code.toUpperCase().replace("-", " "))).status, 303)
      assertErrorPage(yield* enter(yield* firstStep(email), code), 403, new RegExp(refusedCode))
      assert.include(textOf(yield* ask(path, { cookie })), "9 of your recovery codes are left")
    })
  )

  it.effect(
    "five wrong codes in 15 minutes are allowed for all sign-ins together; a step expires after ten minutes",
    () =>
      Effect.gen(function* () {
        const { codes, email } = yield* anEnrolled
        const step = yield* firstStep(email)
        const answers = yield* Effect.forEach(
          Array.from({ length: 9 }, (_, index) => `00000${index}`),
          (code) => enter(step, code),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [
          ...Array(5).fill(403),
          ...Array(4).fill(429)
        ])
        const limited = yield* enter(yield* firstStep(email), String(codes[0]))
        assertErrorPage(limited, 429, /Too many wrong codes\. Try again in 1[45] minutes/)
        assert.isAtMost(Number(limited.headers.get("retry-after")), 900)
        const late = yield* later(901, enter(step, String(codes[0])))
        assertErrorPage(late, 403, /This sign-in has expired/)
        assert.include(late.text, "<h1>Sign in</h1>")
        const anew = yield* firstStep(email)
        assert.strictEqual((yield* later(599 + 310, enter(anew, String(codes[0])))).status, 403)
        assert.strictEqual(
          (yield* later(
            901,
            Effect.flatMap(firstStep(email), (next) => enter(next, String(codes[0])))
          )).status,
          303
        )
      })
  )

  it.effect("wrong codes of a browser that the user does not know do not count for the user's own browser", () =>
    Effect.gen(function* () {
      const { codes, device, email, send } = yield* anEnrolled
      const stranger = yield* anEnrolled
      const step = yield* firstStep(email)
      const statusOf = (code: string, cookie?: string) => Effect.map(enter(step, code, cookie), ({ status }) => status)
      for (let time = 0; time < 5; time++) assert.strictEqual(yield* statusOf("000000"), 403)
      for (const cookie of [undefined, stranger.device, "catalog_device=x"])
        assert.strictEqual(yield* statusOf(String(codes[0]), cookie), 429)
      assert.strictEqual(yield* statusOf("000000", device), 403)
      assert.strictEqual(yield* statusOf(String(codes[0]), device), 303)
      // Nor do they delay new recovery codes of the signed-in user, whose success does not allow strangers more guesses.
      assert.lengthOf(codesIn(yield* send(`${factorPath}/recovery-codes`, { code: String(codes[1]) })), 10)
      assert.strictEqual((yield* enter(yield* firstStep(email), "000000")).status, 429)
      const other = yield* firstStep(stranger.email)
      for (const status of [403, 403, 403, 403, 403, 429])
        assert.strictEqual((yield* enter(other, "000000", stranger.device)).status, status)
      assert.strictEqual((yield* enter(other, String(stranger.codes[0]))).status, 303)
    })
  )

  it.effect("a secret that is not confirmed is deleted by a new password, a link, and disabling", () =>
    Effect.gen(function* () {
      const users = yield* Users
      const factors = yield* SecondFactors
      const { accountId, email, send, user } = yield* aPerson
      const pendingAfter = <E, R>(change: Effect.Effect<unknown, E, R>) =>
        Effect.gen(function* () {
          yield* factors.begin(user)
          assert.strictEqual((yield* factors.state(user)).state, "pending")
          yield* change
          return (yield* factors.state(user)).state
        })
      const change = send(`${path}/password`, { current: password, password: "another password" })
      assert.strictEqual(yield* pendingAfter(change), "off")
      const { token } = yield* users.invite(accountId, email)
      const set = ask("/set-password", { form: { token: Redacted.value(token), password } })
      assert.strictEqual(yield* pendingAfter(set), "off")
      const repo = yield* UsersRepo
      const disabled = Effect.zipRight(
        repo.disable(accountId, email),
        repo.enable(accountId, email, { isOperator: true })
      )
      assert.strictEqual(yield* pendingAfter(disabled), "off")
    }).pipe(Effect.provide(SecondFactors.layer))
  )

  it.effect("is required after setting a password by a link", () =>
    Effect.gen(function* () {
      const { accountId, codes, email } = yield* anEnrolled
      const { token } = yield* Effect.orDie((yield* Users).invite(accountId, email))
      const set = yield* ask("/set-password", { form: { token: Redacted.value(token), password } })
      assert.strictEqual(set.status, 200)
      assert.isNull(set.headers.get("set-cookie"))
      const { hidden } = sectionsOf(set.text, "/sign-in/code")
      assert.strictEqual((yield* enter(hidden, String(codes[0]))).status, 303)
    })
  )

  it.effect("is switched off with the password or by an administrator, which ends waiting sign-ins", () =>
    Effect.gen(function* () {
      const { accountId, codes, cookie, email, send, userId } = yield* anEnrolled
      const wrong = yield* send(`${factorPath}/disable`, { current: "not the password" })
      assertErrorPage(wrong, 403, /id="factor-misfit" role="alert">The current password is wrong\.</)
      const waiting = yield* firstStep(email)
      assert.deepStrictEqual(to(yield* send(`${factorPath}/disable`, { current: password })), [303, `${path}?note=off`])
      assertErrorPage(yield* enter(waiting, String(codes[0])), 403, /This sign-in has expired/)
      assert.strictEqual((yield* signIn(email)).status, 303)
      assert.include(textOf(yield* ask(path, { cookie })), "It is off.")

      const enrolled = yield* anEnrolled
      const admin = yield* aBrowser(enrolled.accountId, `admin-of-${enrolled.email}`, "admin")
      const team = yield* ask("/settings/team", { cookie: admin.cookie })
      assert.include(team.text, `aria-label="Reset second factor: ${enrolled.email}"`)
      // An open session alone does not allow administrators to switch off their own second factor.
      const own = yield* ask("/settings/team", { cookie: enrolled.cookie })
      assert.notInclude(own.text, `aria-label="Reset second factor: ${enrolled.email}"`)
      const csrf = csrfOf(own)
      const refused = yield* ask("/settings/team/reset-second-factor", {
        cookie: enrolled.cookie,
        form: { csrf, id: enrolled.userId }
      })
      assertErrorPage(refused, 409, /<h1>Team<\/h1>/)
      assert.include(
        textOf(refused),
        `${enrolled.email} is your own address: switch your second factor off on your profile, with your password.`
      )
      const question = yield* ask(`/settings/team/reset-second-factor?id=${enrolled.userId}`, { cookie: admin.cookie })
      assert.include(textOf(question), `Reset the second factor of ${enrolled.email}?`)
      const { hidden } = sectionsOf(question.text, "/settings/team/reset-second-factor")
      yield* ask("/settings/team/reset-second-factor", { cookie: admin.cookie, form: hidden })
      assert.strictEqual((yield* signIn(enrolled.email)).status, 303)
      const record = (account: typeof accountId) =>
        Effect.map(
          Effect.flatMap(Users, ({ log }) => log(account, 50)),
          (changes) => changes.map(({ action, actor, email: user }) => [action, user, actor.name])
        )
      assert.deepStrictEqual((yield* record(accountId)).slice(0, 2), [
        ["second_factor_off", email, email],
        ["second_factor_on", email, email]
      ])
      assert.deepStrictEqual((yield* record(enrolled.accountId))[0], [
        "second_factor_reset",
        enrolled.email,
        `admin-of-${enrolled.email}`
      ])
      assert.notStrictEqual(accountId, enrolled.accountId)
      assert.notStrictEqual(userId, enrolled.userId)
    })
  )

  it.effect(
    "is required of all users by an administrator who has one; others set it up first, and can do nothing else",
    () =>
      Effect.gen(function* () {
        const users = yield* Users
        const team = "/settings/team"
        const requirePath = `${team}/require-second-factor`
        const admin = yield* anEnrolled
        const other = yield* anEnrolled
        const { accountId } = admin
        const colleague = `colleague-of-${admin.email}`
        const { token } = yield* Effect.orDie(users.invite(accountId, colleague, { role: "admin" }))
        const joined = yield* ask("/set-password", { form: { token: Redacted.value(token), password } })
        const theirs = cookieOf(joined)
        const csrf = csrfOf(yield* ask(path, { cookie: theirs }))
        const refused = yield* ask(requirePath, { cookie: theirs, form: { csrf } })
        assertErrorPage(refused, 409, /<h1>Team<\/h1>/)
        assert.include(
          textOf(refused),
          "The second factor cannot be required before you have one yourself: set it up on your profile."
        )
        const question = yield* ask(requirePath, { cookie: admin.cookie })
        assert.include(textOf(question), "Require a second factor of all users?")
        assertForeignForm(yield* ask(requirePath, { cookie: admin.cookie, form: {} }))
        assert.isFalse(yield* users.requiresSecondFactor(accountId))
        const answers = yield* Effect.forEach([1, 2, 3], () => admin.send(requirePath), { concurrency: "unbounded" })
        for (const answer of answers) assert.deepStrictEqual(to(answer), [303, `${team}?note=required`])
        const recordOf = Effect.map(users.log(accountId, 50), (changes) =>
          changes
            .filter(({ action }) => /required|optional/.test(action))
            .map(({ action, actor }) => [action, actor.name])
        )
        assert.deepStrictEqual(yield* recordOf, [["second_factor_required", admin.email]])
        // Sessions of users without a second factor end; those of others, and of other accounts, stay.
        assert.deepStrictEqual(to(yield* ask("/drops", { cookie: theirs })), [303, "/sign-in?return_to=%2Fdrops"])
        assert.strictEqual((yield* ask(team, { cookie: admin.cookie })).status, 200)
        assert.strictEqual((yield* ask(team, { cookie: other.cookie })).status, 200)
        const entered = yield* signIn(colleague)
        assert.strictEqual(entered.status, 303)
        const cookie = cookieOf(entered)
        for (const page of ["/", "/products", path, team, requirePath, `${factorPath}/none`])
          assert.notStrictEqual((yield* ask(page, { cookie })).status, 200, page)
        const asked = "/products?vendor=Fjell&order=title"
        const enrolment = `${factorPath}?${new URLSearchParams({ return_to: asked })}`
        assert.deepStrictEqual(to(yield* ask(asked, { cookie })), [303, enrolment])
        // The request of an agent goes on afterwards.
        const ofAgent = authorizePath({ clientId: yield* aClient(), verifier: newVerifier() })
        const forAgent = `${factorPath}?${new URLSearchParams({ return_to: ofAgent })}`
        assert.deepStrictEqual(to(yield* ask(ofAgent, { cookie })), [303, forAgent])
        assert.strictEqual(sectionsOf((yield* ask(forAgent, { cookie })).text, factorPath).hidden.return_to, ofAgent)
        assert.strictEqual((yield* ask("/events", { cookie })).status, 401)
        const foreign = yield* ask(`${factorPath}?return_to=//example.com/`, { cookie })
        assert.notProperty(sectionsOf(foreign.text, factorPath).hidden, "return_to")
        const first = yield* ask(enrolment, { cookie })
        assert.include(first.text, "<h1>Set up a second factor first</h1>")
        const { hidden } = sectionsOf(first.text, factorPath)
        for (const form of [path, `${team}/release-second-factor`, `${factorPath}/disable`])
          assertErrorPage(
            yield* ask(form, { cookie, form: { ...hidden, language: "de", time_zone: "" } }),
            403,
            /<h1>Set up a second factor first<\/h1>/
          )
        assert.isTrue(yield* users.requiresSecondFactor(accountId))
        assert.deepStrictEqual(to(yield* ask(factorPath, { cookie, form: hidden })), [303, enrolment])
        const shown = yield* ask(enrolment, { cookie })
        const secret = /id="secret" value="([A-Z2-7]{32})"/.exec(shown.text)?.[1] ?? ""
        const confirmPath = `${factorPath}/confirm`
        const confirm = ({ text }: { readonly text: string }, code: string) =>
          ask(confirmPath, { cookie, form: { ...sectionsOf(text, confirmPath).hidden, code } })
        const mistyped = yield* confirm(shown, "000000")
        assert.strictEqual(mistyped.status, 400)
        assert.strictEqual((yield* ask("/products", { cookie })).status, 303)
        const confirmed = yield* confirm(mistyped, codeOf(secret))
        assert.lengthOf(codesIn(confirmed), 10)
        assert.include(confirmed.text, `<a href="${asked.replace("&", "&amp;")}" class="button">Continue</a>`)
        assert.strictEqual((yield* ask("/products", { cookie })).status, 200)
        assert.include((yield* ask(ofAgent, { cookie })).text, 'action="/oauth/authorize/decision"')
        // Who switches it off, or whose is reset, must set it up again.
        const switchedOff = yield* ask(`${factorPath}/disable`, { cookie, form: { ...hidden, current: password } })
        assert.deepStrictEqual(to(switchedOff), [303, `${path}?note=off`])
        assert.deepStrictEqual(to(yield* ask(path, { cookie })), [
          303,
          `${factorPath}?${new URLSearchParams({ return_to: path })}`
        ])
        assert.deepStrictEqual(to(yield* admin.send(`${team}/release-second-factor`)), [303, `${team}?note=released`])
        assert.deepStrictEqual(yield* recordOf, [
          ["second_factor_optional", admin.email],
          ["second_factor_required", admin.email]
        ])
        assert.strictEqual((yield* ask(path, { cookie })).status, 200)
      })
  )

  it.effect("a rotation encrypts its secret again; with the wrong key only recovery codes work", () =>
    Effect.gen(function* () {
      const { accountId, codes, email, secret, userId } = yield* anEnrolled
      const next = Redacted.make("cd".repeat(32))
      const boxOf = (...keys: Parameters<typeof keyed>) =>
        Layer.fresh(SecretBox.layer).pipe(Layer.provide(keyed(...keys)))
      const rotate = (...keys: Parameters<typeof keyed>) =>
        Effect.flatMap(makeRotateSecondFactors, (run) => run(accountId)).pipe(Effect.provide(boxOf(...keys)))
      const read = (...keys: Parameters<typeof keyed>) =>
        Effect.gen(function* () {
          const stored = yield* (yield* SecondFactorsRepo).find({ accountId, id: userId })
          const { secret: sealed } = Option.getOrThrow(stored)
          return Redacted.value(yield* (yield* SecretBox).open(sealed, { accountId, userId }))
        }).pipe(Effect.provide(boxOf(...keys)), Effect.option, Effect.map(Option.getOrUndefined))
      assert.deepStrictEqual(yield* rotate(next), { rotated: 0, current: 0, unreadable: [email] })
      assert.deepStrictEqual(yield* rotate(next, key), { rotated: 1, current: 0, unreadable: [] })
      assert.deepStrictEqual(yield* rotate(next, key), { rotated: 0, current: 1, unreadable: [] })
      assert.strictEqual(yield* read(next), secret)
      assert.isUndefined(yield* read(key))
      // This process still has only the old key.
      yield* withFreshCodes(userId)
      assert.strictEqual((yield* enter(yield* firstStep(email), codeOf(secret))).status, 403)
      assert.strictEqual((yield* enter(yield* firstStep(email), String(codes[0]))).status, 303)
    })
  )
})

layer(Served, { excludeTestServices: true })("a form that is sent twice", (it) => {
  const twice = <A, E, R>(sent: Effect.Effect<A, E, R>) => Effect.all([sent, sent], { concurrency: 2 })

  it.effect("shows the recovery codes again that its first answer showed, for some minutes", () =>
    Effect.gen(function* () {
      const { accountId, codes, email, first, secret, send, user, userId } = yield* anEnrolled
      const confirmed = yield* send(`${factorPath}/confirm`, { code: first })
      assert.deepStrictEqual(codesIn(confirmed), codes)
      yield* withFreshCodes(userId)
      const code = codeOf(secret)
      const renew = send(`${factorPath}/recovery-codes`, { code })
      const [one, other] = yield* twice(renew)
      const renewed = codesIn(one)
      assert.lengthOf(new Set([...codes, ...renewed]), 20)
      assert.deepStrictEqual(codesIn(other), renewed)
      assert.deepStrictEqual(codesIn(yield* renew), renewed)
      const log = yield* (yield* Users).log(accountId, 10)
      assert.lengthOf(
        log.filter(({ action }) => action === "recovery_codes_renewed"),
        1
      )
      // Another session has not seen them, and after some minutes nobody sees them again.
      const cookie = cookieOf(yield* enter(yield* firstStep(email), String(renewed[0])))
      const csrf = csrfOf(yield* ask(path, { cookie }))
      const refused = new RegExp(`id="code-misfit" role="alert">${refusedCode}`)
      assertErrorPage(yield* ask(`${factorPath}/recovery-codes`, { cookie, form: { csrf, code } }), 400, refused)
      const factors = yield* SecondFactors
      const begun = Date.now()
      const renewIn = (seconds: number) =>
        factors
          .renewCodes(user, String(renewed[1]), "session")
          .pipe(
            Effect.withClock(
              Object.assign(Clock.make(), { currentTimeMillis: Effect.succeed(begun + seconds * 1_000) })
            ),
            Effect.either
          )
      const last = yield* renewIn(0)
      assert.lengthOf(Either.getOrThrow(last), 10)
      assert.deepStrictEqual(yield* renewIn(300), last)
      assert.instanceOf(Option.getOrUndefined(Either.getLeft(yield* renewIn(600))), CodeRefused)
    }).pipe(Effect.provide(SecondFactors.layer))
  )

  it.effect("signs in with the code of the second factor, for a minute", () =>
    Effect.gen(function* () {
      const { codes, email, secret, userId } = yield* anEnrolled
      yield* withFreshCodes(userId)
      const step = { ...(yield* firstStep(email)), return_to: "/drops" }
      const code = codeOf(secret)
      for (const answer of [...(yield* twice(enter(step, code))), yield* enter(step, code)]) {
        assert.deepStrictEqual(to(answer), [303, "/drops"])
        assert.strictEqual((yield* ask(path, { cookie: cookieOf(answer) })).status, 200)
      }
      assertErrorPage(yield* enter(step, String(codes[0])), 403, /This sign-in has expired/)
      assertErrorPage(yield* later(61, enter(step, code)), 403, /This sign-in has expired/)
    })
  )

  it.effect("changes the own password once, and says so each time", () =>
    Effect.gen(function* () {
      const { accountId, email, send } = yield* aPerson
      const change = send(`${path}/password`, { current: password, password: "another password" })
      for (const answer of [...(yield* twice(change)), yield* change])
        assert.deepStrictEqual(to(answer), [303, `${path}?note=password`])
      assert.strictEqual((yield* signIn(email, "another password")).status, 303)
      const changes = Effect.map(
        (yield* Users).log(accountId, 10),
        (log) => log.filter(({ action }) => action === "password_set").length
      )
      assert.strictEqual(yield* changes, 1)
      // The same password is a change if the current one was entered: it ends the other sessions.
      yield* send(`${path}/password`, { current: "another password", password: "another password" })
      assert.strictEqual(yield* changes, 2)
    })
  )

  it.effect("sets a password by a link and signs in, each time", () =>
    Effect.gen(function* () {
      const { accountId } = yield* anAccount()
      const email = `twice-${accountId}@example.com`
      const { token } = yield* (yield* Users).invite(accountId, email)
      const sent = (given: string) =>
        ask("/set-password", { form: { token: Redacted.value(token), email, password: given } })
      for (const answer of [...(yield* twice(sent(password))), yield* sent(password)]) {
        assert.deepStrictEqual(to(answer), [303, "/"])
        assert.strictEqual((yield* ask(path, { cookie: cookieOf(answer) })).status, 200)
      }
      assertErrorPage(yield* sent("another password"), 400, /<h1>This link is used up<\/h1>/)
    })
  )
})

layer(PagesServer, { excludeTestServices: true })("the second factor without a key", (it) => {
  it.effect("cannot be set up, and the page names the setting that the operator must set", () =>
    Effect.gen(function* () {
      const { send } = yield* aPerson
      assertErrorPage(yield* send(factorPath, { current: password }), 409, /ask its operator to set SECRET_KEY/)
    })
  )
})
