import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { hashOf } from "../../src/access/Secrets.ts"
import { Users } from "../../src/access/Users.ts"
import { UsersRepo } from "../../src/access/UsersRepo.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { NotFound } from "../../src/model/Errors.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { anAccount } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask, assertErrorPage, aUser, later, PagesServer, pagesServer, withinAMinute } from "../oauth/PagesServer.ts"
import { assertForeignForm, assertRefusal } from "./Merchant.ts"

const password = "tern over tarn 1"

const cookieOf = (answer: { readonly headers: Headers }) => answer.headers.get("set-cookie")?.split(";")[0] ?? ""

const deviceOf = (answer: { readonly headers: Headers }) =>
  answer.headers
    .getSetCookie()
    .find((cookie) => cookie.startsWith("catalog_device="))
    ?.split(";")[0] ?? ""

const invite = (accountId: AccountId, email: string) =>
  Effect.gen(function* () {
    return Redacted.value((yield* Effect.orDie((yield* Users).invite(accountId, email))).token)
  })

/** Disables a user directly in the database, because the service does not disable the last administrator. */
const disable = (accountId: AccountId, email: string) =>
  Effect.flatMap(UsersRepo, (users) => users.disable(accountId, email))

/** A user with a password. */
const aPerson = (email: string) =>
  Effect.gen(function* () {
    const { accountId } = yield* anAccount()
    const token = yield* invite(accountId, email)
    const answer = yield* ask("/set-password", { form: { token, password } })
    assert.strictEqual(answer.status, 303, answer.text)
    return { accountId, cookie: cookieOf(answer), device: deviceOf(answer) }
  })

const signIn = (form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) =>
  ask("/sign-in", { form, headers })

const wrong = "E-mail or password is wrong."

layer(PagesServer, { excludeTestServices: true })("signing in", (it) => {
  it.effect("a one-time link sets a password and signs in; it works once", () =>
    Effect.gen(function* () {
      const { accountId } = yield* anAccount()
      const token = yield* invite(accountId, "Ada@Example.com")
      const page = yield* ask(`/set-password?token=${token}`)
      assert.strictEqual(page.status, 200)
      assert.include(page.text, 'value="ada@example.com"')
      assert.deepStrictEqual(sectionsOf(page.text, "/set-password").hidden, { token })
      for (const [weak, rule] of [
        ["short", "The password must have 10 to 200 characters."],
        ["x".repeat(201), "The password must have 10 to 200 characters."],
        [
          "Qwerty123456",
          "The password is one of the most common ones, which attackers try first; use a few unrelated words."
        ],
        [
          "ada@example.com",
          "The password is little more than a word that attackers expect, such as your e-mail address or the name of this account; use a few unrelated words."
        ]
      ] as const) {
        const refused = yield* ask("/set-password", { form: { token, password: weak } })
        assertErrorPage(refused, 400, new RegExp(rule))
        assert.include(refused.text, 'aria-invalid="true"')
      }
      const set = yield* ask("/set-password", { form: { token, password } })
      assert.deepStrictEqual([set.status, set.headers.get("location")], [303, "/"])
      const [session, device] = set.headers.getSetCookie()
      assert.match(
        String(session),
        /^catalog_session=pim_se_[A-Za-z0-9_-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/
      )
      assert.match(
        String(device),
        /^catalog_device=pim_de_[A-Za-z0-9_-]{43}; Max-Age=15552000; Path=\/; HttpOnly; SameSite=Lax$/
      )
      const home = yield* ask("/", { cookie: cookieOf(set) })
      assert.include(home.text, "<h1>Home</h1>")
      const used = /This link is no longer valid/
      assertErrorPage(yield* ask("/set-password", { form: { token, password } }), 400, used)
      assertErrorPage(yield* ask(`/set-password?token=${token}`), 400, used)
      assertErrorPage(yield* ask("/set-password"), 400, used)
      assertErrorPage(yield* ask(`/set-password?token=pim_pl_${"x".repeat(43)}`), 400, used)
    })
  )

  it.effect("a link is valid for a day or until a newer one, and using it ends the user's other sessions", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* aPerson("grace@example.com")
      const old = yield* invite(accountId, "grace@example.com")
      const token = yield* invite(accountId, "grace@example.com")
      assert.strictEqual((yield* ask(`/set-password?token=${old}`)).status, 400)
      assert.strictEqual((yield* later(86_401, ask(`/set-password?token=${token}`))).status, 400)
      assert.strictEqual((yield* ask("/settings/keys", { cookie })).status, 200)
      const another = "another password"
      assert.strictEqual((yield* ask("/set-password", { form: { token, password: another } })).status, 303)
      assert.strictEqual((yield* ask("/settings/keys", { cookie })).status, 303)
      assert.strictEqual((yield* signIn({ email: "grace@example.com", password })).status, 403)
      assert.strictEqual((yield* signIn({ email: "grace@example.com", password: another })).status, 303)
    })
  )

  it.effect("an e-mail address belongs to one account", () =>
    Effect.gen(function* () {
      const users = yield* Users
      yield* aPerson("mary@example.com")
      const { accountId } = yield* anAccount()
      const refused = (email: string) =>
        Effect.map(Effect.flip(users.invite(accountId, email)), ({ message }) => message)
      assert.strictEqual(
        yield* refused("Mary@example.com"),
        "email: belongs to a user of another account; choose another e-mail address"
      )
      assert.strictEqual(yield* refused("mary"), "email: must be an e-mail address, such as ada@example.com")
      assert.deepStrictEqual(yield* users.list(accountId), [])
    })
  )

  it.effect("works with e-mail and password, and continues only with a page of this service", () =>
    Effect.gen(function* () {
      const email = "joan@example.com"
      yield* aPerson(email)
      const asked = yield* ask("/settings/keys?x=1")
      assert.strictEqual(asked.headers.get("location"), "/sign-in?return_to=%2Fsettings%2Fkeys%3Fx%3D1")
      const page = yield* ask("/sign-in?return_to=%2Fsettings%2Fkeys%3Fx%3D1")
      assert.deepStrictEqual(sectionsOf(page.text, "/sign-in").hidden, { return_to: "/settings/keys?x=1" })
      const to = (return_to: string) =>
        Effect.map(signIn({ email: " JOAN@example.com", password, return_to }), ({ headers, status }) => {
          assert.strictEqual(status, 303)
          return headers.get("location")
        })
      assert.strictEqual(yield* to("/settings/keys?x=1"), "/settings/keys?x=1")
      // Browsers do not escape a backslash in a query, so a client's state may contain one.
      assert.strictEqual(yield* to("/oauth/authorize?state=a\\b?c\\d"), "/oauth/authorize?state=a\\b?c\\d")
      for (const elsewhere of [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "/x\\evil.example?y",
        "/\\evil.example?y\\z",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "javascript:alert(1)",
        "settings",
        "/x\r\nset-cookie: a=b",
        ""
      ]) {
        assert.strictEqual(yield* to(elsewhere), "/", elsewhere)
        const shown = yield* ask(`/sign-in?${new URLSearchParams({ return_to: elsewhere })}`)
        assert.deepStrictEqual(sectionsOf(shown.text, "/sign-in").hidden, {})
      }
    })
  )

  it.effect(
    "gives the same answer for a wrong password, an unknown e-mail, a user without a password and a disabled user",
    () =>
      Effect.gen(function* () {
        const users = yield* Users
        const { accountId } = yield* aPerson("ruth@example.com")
        yield* invite(accountId, "new@example.com")
        yield* aPerson("gone@example.com").pipe(Effect.flatMap((gone) => disable(gone.accountId, "gone@example.com")))
        const texts = []
        for (const email of ["ruth@example.com", "nobody@example.com", "new@example.com", "gone@example.com"]) {
          const answer = yield* signIn({
            email,
            password: email === "gone@example.com" ? password : "not the password"
          })
          assertErrorPage(answer, 403, new RegExp(wrong))
          assert.isNull(answer.headers.get("set-cookie"))
          texts.push(answer.text.replaceAll(email, "E"))
        }
        assert.lengthOf([...new Set(texts)], 1)
        assert.strictEqual((yield* signIn({})).status, 403)
        assert.strictEqual((yield* signIn({ email: "x\u0000@example.com", password })).status, 400)
        assert.instanceOf(yield* Effect.flip(users.disable(accountId, "nobody@example.com")), NotFound)
      })
  )

  it.effect("refuses after five failures in 15 minutes, for known and unknown e-mails, also concurrently", () =>
    Effect.gen(function* () {
      yield* aPerson("hedy@example.com")
      for (const email of ["hedy@example.com", "unknown@example.com"]) {
        const answers = yield* Effect.all(
          Array.from({ length: 12 }, () => signIn({ email, password: "not the password" })),
          { concurrency: "unbounded" }
        )
        const statuses = answers.map(({ status }) => status).sort()
        assert.deepStrictEqual(statuses, [...Array(5).fill(403), ...Array(7).fill(429)])
        const delayed = yield* signIn({ email, password })
        assertErrorPage(
          delayed,
          429,
          /Too many failed attempts with this e-mail\. Try again in 1[45] minutes \(after \d{4}-\d\d-\d\d \d\d:\d\d UTC\)\./
        )
        assert.isAtMost(Number(delayed.headers.get("retry-after")), 900)
        assert.strictEqual((yield* later(300, signIn({ email, password }))).status, 429)
      }
      // If the clock is set back by hours, the wait does not become hours longer.
      assert.strictEqual((yield* later(-7_200, signIn({ email: "unknown@example.com", password }))).status, 403)
      assert.strictEqual((yield* later(901, signIn({ email: "hedy@example.com", password }))).status, 303)
      // Successful sign-ins do not count as failures.
      for (let time = 0; time < 4; time++)
        assert.strictEqual((yield* signIn({ email: "hedy@example.com", password: "no" })).status, 403)
      assert.strictEqual((yield* signIn({ email: "hedy@example.com", password })).status, 303)
      for (let time = 0; time < 5; time++)
        assert.strictEqual((yield* signIn({ email: "hedy@example.com", password: "no" })).status, 403)
      assert.strictEqual((yield* signIn({ email: "hedy@example.com", password })).status, 429)
    })
  )

  it.effect("failures of others do not lock out a known browser, which has five failures of its own", () =>
    Effect.gen(function* () {
      const email = "vera@example.com"
      const { accountId, device } = yield* aPerson(email)
      const other = yield* aPerson("henrietta@example.com")
      const locked = /Too many failed attempts with this e-mail/
      const wrongly = (cookie?: string) =>
        ask("/sign-in", { form: { email, password: "no" }, ...(cookie !== undefined && { cookie }) })
      for (let time = 0; time < 5; time++) assertErrorPage(yield* wrongly(), 403, new RegExp(wrong))
      // Another user's device cookie and an invented one are not accepted as known.
      for (const cookie of [other.device, `catalog_device=pim_de_${"x".repeat(43)}`, "catalog_device=x", ""])
        assertErrorPage(yield* ask("/sign-in", { form: { email, password }, cookie }), 429, locked)
      assertErrorPage(yield* later(180 * 86_400 - 60, wrongly(device)), 403, new RegExp(wrong))
      const again = yield* ask("/sign-in", { form: { email, password }, cookie: device })
      assert.strictEqual(again.status, 303)
      assertErrorPage(yield* signIn({ email, password }), 429, locked)
      // Each sign-in replaces the token.
      assertErrorPage(yield* wrongly(device), 429, locked)
      const renewed = deviceOf(again)
      assert.notStrictEqual(renewed, device)
      for (let time = 0; time < 5; time++) assertErrorPage(yield* wrongly(renewed), 403, new RegExp(wrong))
      const own = yield* ask("/sign-in", { form: { email, password }, cookie: renewed })
      assertErrorPage(own, 429, /Too many failed attempts in this browser\. Try again in 1[45] minutes/)
      assert.isAtMost(Number(own.headers.get("retry-after")), 900)
      assert.strictEqual(
        (yield* later(901, ask("/sign-in", { form: { email, password }, cookie: renewed }))).status,
        303
      )

      const kept = deviceOf(yield* later(901, signIn({ email, password })))
      for (let time = 0; time < 5; time++) yield* wrongly()
      assertErrorPage(yield* later(180 * 86_400 + 60, wrongly(kept)), 403, new RegExp(wrong))
      for (let time = 0; time < 5; time++) yield* wrongly()
      const token = yield* invite(accountId, email)
      const set = yield* ask("/set-password", { form: { token, password }, cookie: kept })
      assert.strictEqual(set.status, 303)
      assertErrorPage(yield* wrongly(kept), 429, locked)
      assertErrorPage(yield* wrongly(deviceOf(set)), 403, new RegExp(wrong))
      yield* disable(accountId, email)
      assertErrorPage(yield* wrongly(deviceOf(set)), 429, locked)
      const sql = yield* SqlClient.SqlClient
      const [left] = yield* sql`SELECT count(*)::int AS devices FROM sign_in_device WHERE account_id = ${accountId}`
      assert.deepStrictEqual(left, { devices: 0 })
    })
  )

  it.effect("the twenty newest browsers of a user are remembered", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const email = "cecilia@example.com"
      const { accountId, device } = yield* aPerson(email)
      const known = Effect.map(
        sql`SELECT encode(hash, 'hex') AS hash FROM sign_in_device WHERE account_id = ${accountId}`,
        (rows) => rows.map(({ hash }) => hash)
      )
      const [first] = yield* known
      assert.strictEqual(first, hashOf(device.split("=")[1] ?? ""))
      for (let browser = 2; browser <= 22; browser++)
        assert.strictEqual((yield* signIn({ email, password })).status, 303)
      assert.lengthOf(yield* known, 20)
      assert.notInclude(yield* known, first)
    })
  )

  it.effect("accepts forms from its own pages only", () =>
    Effect.gen(function* () {
      const form = { email: "nobody@example.com", password }
      assertErrorPage(yield* signIn(form, { origin: "https://evil.example" }), 403, /did not come from/)
      assertErrorPage(yield* signIn(form, { origin: "null" }), 403, /did not come from/)
      assertErrorPage(yield* signIn(form, { "sec-fetch-site": "cross-site" }), 403, /did not come from/)
      const base = yield* BaseUrl
      for (const origin of [base, base.replace("127.0.0.1", "localhost"), base.replace("127.0.0.1", "[::1]")])
        assertErrorPage(yield* signIn(form, { origin, "sec-fetch-site": "same-origin" }), 403, new RegExp(wrong))
      assertErrorPage(yield* ask("/sign-in", { json: form }), 415, /accepts only forms/)
      assertErrorPage(yield* ask("/sign-in", { form: "email=a&email=b" }), 400, /occurs twice/)
      assertErrorPage(yield* ask("/sign-in", { form: { email: "x".repeat(70_000) } }), 413, /The form is too long/)
      assertErrorPage(yield* ask("/sign-in", { method: "PUT", form }), 405, /supports only GET and HEAD and POST/)
      const set = yield* ask("/set-password", { form, headers: { origin: "https://evil.example" } })
      assertErrorPage(set, 403, /did not come from/)
    })
  )

  it.effect("a session ends 12 hours after its last use, after 30 days, and when its user signs out", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { cookie, userId } = yield* aUser()
      const open = Effect.map(ask("/settings/keys", { cookie }), ({ status }) => status === 200)
      const hour = 3_600
      assert.isTrue(yield* open)
      assert.isFalse(yield* later(12 * hour + 60, open))
      // Each use restarts the 12 hours, but not the 30 days.
      for (const hours of [11, 22, 33]) assert.isTrue(yield* later(hours * hour, open), `${hours} h`)
      assert.isFalse(yield* later(46 * hour, open))
      const began = (days: number) =>
        Effect.zipRight(
          sql`UPDATE session SET created_at = app_now() - make_interval(days => ${days}), last_seen_at = app_now()
              WHERE user_id = ${userId}`,
          open
        )
      assert.isTrue(yield* began(29))
      assert.isFalse(yield* began(30))

      const other = yield* aUser()
      const page = yield* ask("/settings/keys", { cookie: other.cookie })
      const { hidden } = sectionsOf(page.text, "/sign-out")
      assertErrorPage(yield* ask("/sign-out", { cookie: other.cookie, form: {} }), 403, /did not come from/)
      const out = yield* ask("/sign-out", { cookie: other.cookie, form: hidden })
      assert.strictEqual(out.status, 303)
      assert.match(String(out.headers.get("set-cookie")), /^catalog_session=; Max-Age=0;/)
      assert.strictEqual((yield* ask("/settings/keys", { cookie: other.cookie })).status, 303)
      // After a second click they are still signed out.
      const again = yield* ask("/sign-out", { cookie: other.cookie, form: hidden })
      assert.deepStrictEqual([again.status, again.headers.get("location")], [303, "/sign-in"])
    })
  )

  it.effect("signing in again ends the earlier session of the browser", () =>
    Effect.gen(function* () {
      const email = "ida@example.com"
      const { cookie } = yield* aPerson(email)
      const opens = Effect.map(ask("/settings/keys", { cookie }), ({ status }) => status === 200)
      yield* ask("/sign-in", { cookie, form: { email, password: "not the password" } })
      assert.isTrue(yield* opens)
      const again = yield* ask("/sign-in", { cookie, form: { email, password } })
      assert.strictEqual((yield* ask("/settings/keys", { cookie: cookieOf(again) })).status, 200)
      assert.isFalse(yield* opens)
    })
  )

  it.effect("a form without a session is not processed, and its page opens after sign-in", () =>
    Effect.gen(function* () {
      const base = yield* BaseUrl
      for (const [referer, to] of [
        [`${base}/drops/new?name=A`, "/drops/new?name=A"],
        ["https://evil.example/drops/new", "/"],
        [`${base}//evil.example/`, "/"],
        ["nowhere", "/"]
      ] as const) {
        const sent = yield* ask("/drops", { form: { name: "A" }, headers: { referer } })
        const asked = `/sign-in?${new URLSearchParams({ return_to: to, unsent: "form" })}`
        assert.deepStrictEqual([sent.status, sent.headers.get("location")], [303, asked])
        const page = yield* ask(asked)
        assert.include(page.text, "so the form was not saved")
        assert.strictEqual(sectionsOf(page.text, "/sign-in").hidden.return_to, to)
      }
      assert.notInclude((yield* ask("/sign-in?unsent=%3Cb%3E")).text, 'role="alert"')
    })
  )

  it.effect("a form of a page from before another sign-in is not saved, and shows what was typed there", () =>
    Effect.gen(function* () {
      const base = yield* BaseUrl
      const { cookie } = yield* aPerson("edith@example.com")
      const { hidden } = sectionsOf((yield* ask("/settings/keys", { cookie })).text, "/settings/keys")
      const again = cookieOf(yield* ask("/sign-in", { cookie, form: { email: "edith@example.com", password } }))
      const sent = (headers: Readonly<Record<string, string>>, form: Readonly<Record<string, string>> = hidden) =>
        ask("/settings/keys", { cookie: again, headers, form: { ...form, name: "A <b> key", password: "typed here" } })
      const referer = `${base}/settings/keys?page=2`
      for (const headers of [
        { origin: base, referer },
        { "sec-fetch-site": "same-origin", referer }
      ])
        assertRefusal(yield* sent(headers), 403, {
          title: "You have signed in again",
          message:
            "This form is of a page that was opened before your last sign-in, so it was not saved. Open the page again and repeat it there.",
          next: ["/settings/keys?page=2", "Back to the page"],
          typed: [["name", "A &lt;b> key"]]
        })
      // Nothing is shown again if another site may have sent the form.
      for (const headers of [{}, { origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }])
        assertForeignForm(yield* sent(headers))
      assertForeignForm(yield* sent({ origin: base }, {}))
    })
  )

  it.effect("disabling a user ends the sessions at once, and their forms are refused", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email } = yield* aUser()
      const opened = yield* ask("/settings/keys", { cookie })
      const { hidden } = sectionsOf(opened.text, "/settings/keys")
      const keys = Effect.flatMap(ApiKeys, ({ list }) => list(accountId))
      const before = yield* keys
      yield* disable(accountId, email)
      for (const [path, form, back] of [
        ["/settings/keys", undefined, "%2Fsettings%2Fkeys"],
        ["/drops?x=1", undefined, "%2Fdrops%3Fx%3D1"],
        ["/settings/keys", { ...hidden, name: "Another", access: "write" }, "%2F&unsent=form"],
        ["/data-health/scan", { ...hidden, dimension: "all" }, "%2F&unsent=form"]
      ] as const) {
        const answer = yield* ask(path, { cookie, ...(form !== undefined && { form }) })
        assert.deepStrictEqual(
          [answer.status, answer.headers.get("location"), answer.text],
          [303, `/sign-in?return_to=${back}`, ""]
        )
      }
      assert.deepStrictEqual(yield* keys, before)
    })
  )

  it.effect("an invalid cookie is ignored, and the last use of a session is written once a minute", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const cookie of [
        "catalog_session=",
        "catalog_session=x",
        `catalog_session=pim_se_${"x".repeat(43)}`,
        "a=b; c"
      ])
        assert.strictEqual((yield* ask("/settings/keys", { cookie })).status, 303)
      const { cookie, userId } = yield* aUser()
      const seen = Effect.map(
        sql`SELECT rfc3339(last_seen_at) AS at FROM session WHERE user_id = ${userId}`,
        ([row]) => row?.at
      )
      const first = yield* seen
      yield* Effect.gen(function* () {
        yield* ask("/settings/keys", { cookie })
        const second = yield* seen
        assert.notStrictEqual(second, first)
        yield* ask("/settings/keys", { cookie })
        assert.strictEqual(yield* seen, second)
      }).pipe(withinAMinute)
    })
  )
})

layer(pagesServer({ signInFailuresPerAddress: 4, trustedProxies: 1 }), { excludeTestServices: true })(
  "failures of an address",
  (it) => {
    it.effect("are counted over all e-mails; successful sign-ins are not counted", () =>
      Effect.gen(function* () {
        yield* aPerson("ada@example.com")
        const from = (address: string, email: string, given = "no") =>
          signIn({ email, password: given }, { "x-forwarded-for": address })
        for (let time = 0; time < 6; time++)
          assert.strictEqual((yield* from("198.51.100.1", "ada@example.com", password)).status, 303)
        for (const name of ["a", "b", "c", "d"])
          assert.strictEqual((yield* from("198.51.100.1", `${name}@example.com`)).status, 403)
        const refused = yield* from("198.51.100.1", "ada@example.com", password)
        assertErrorPage(
          refused,
          429,
          /Too many failed attempts from your network\. Try again in 1[45] minutes \(after [-0-9: ]+ UTC\)\./
        )
        assert.isAtMost(Number(refused.headers.get("retry-after")), 900)
        assert.isAtLeast(Number(refused.headers.get("retry-after")), 1)
        // The client may have written the entries before the address that the proxy added.
        assert.strictEqual((yield* from("203.0.113.9, 198.51.100.1", "e@example.com")).status, 429)
        assert.strictEqual((yield* from("198.51.100.2", "ada@example.com", password)).status, 303)
        assert.strictEqual((yield* later(901, from("198.51.100.1", "ada@example.com", password))).status, 303)
      })
    )
  }
)
