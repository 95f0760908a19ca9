import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import { hashOf, mintSecret } from "../../src/access/Secrets.ts"
import { Sessions } from "../../src/access/Sessions.ts"
import type { User } from "../../src/access/User.ts"
import { Users } from "../../src/access/Users.ts"
import { UsersRepo } from "../../src/access/UsersRepo.ts"
import { timeIn } from "../../src/console/Times.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import type { UserId } from "../../src/model/Ids.ts"
import { sectionsOf } from "../oauth/Html.ts"
import {
  type Answer,
  aBrowser,
  ask,
  assertErrorPage,
  aUser,
  later,
  PagesServer,
  pagesServer
} from "../oauth/PagesServer.ts"
import { mailServer, textOfMail } from "../support/MailServer.ts"
import { csrfOf, textOf } from "./Merchant.ts"

const path = "/settings/team"
const password = "tern over tarn 1"

const cookieOf = (answer: Answer) => answer.headers.get("set-cookie")?.split(";")[0] ?? ""
const linkIn = ({ text }: Answer) => /\/set-password\?token=pim_pl_[A-Za-z0-9_-]{43}/.exec(text)?.[0]
/** The id of the form that invites. Those of forms that make links are numbers. */
const hiddenFormOf = ({ text }: Answer) => String(/name="form" value="([0-9a-f-]{36})"/.exec(text)?.[1])
const tokenIn = (link: string | undefined) => String(link).split("token=")[1] ?? ""

let invited = 0
const newEmail = () => `colleague-${++invited}@example.com`

/** Gives a user a password, who keeps the open sessions. */
const setPassword = (id: UserId) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE app_user SET password = 'digest' WHERE id = ${id}`)

/** Gives a user a second factor, whose secret is not readable. */
const giveSecondFactor = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      INSERT INTO second_factor (account_id, user_id, secret, confirmed_at)
      SELECT u.account_id, u.id, '\\x00'::bytea, app_now() FROM app_user u WHERE u.id = ${id}`
  )

/** An administrator with the Team page open. */
const anAdministrator = Effect.gen(function* () {
  const user = yield* aUser()
  const csrf = csrfOf(yield* ask(path, { cookie: user.cookie }))
  const send = (to: string, form: Readonly<Record<string, string>>) =>
    ask(to, { cookie: user.cookie, form: { csrf, ...form } })
  const find = (email: string) =>
    Effect.flatMap(Users, ({ list }) =>
      Effect.map(list(user.accountId), (all) => all.find((each) => each.email === email))
    )
  return { ...user, csrf, send, find, invite: (email: string, role: string) => send(path, { email, role }) }
})

layer(PagesServer, { excludeTestServices: true })("the team", (it) => {
  it.effect("invites by a link that is shown once and works once, for seven days or until a newer one", () =>
    Effect.gen(function* () {
      const { cookie, find, invite, send } = yield* anAdministrator
      const email = newEmail()
      const answer = yield* invite(` ${email.toUpperCase()} `, "edit")
      assert.strictEqual(answer.status, 200, answer.text)
      assert.include(
        textOf(answer),
        `Link for ${email} to set a password. It is valid once, for 7 days. Pass it on to them.`
      )
      const first = linkIn(answer)
      assert.match(
        answer.text,
        new RegExp(`<input type="text" id="new-link" value="http[^"]*${first?.replace("?", "\\?")}`)
      )
      const user = yield* find(email)
      assert.deepInclude(user, { role: "edit", hasPassword: false, disabledAt: null })
      const shown = yield* ask(path, { cookie })
      assert.isUndefined(linkIn(shown))
      assert.include(textOf(shown), "State Invited")

      const again = yield* send(`${path}/link`, { id: String(user?.id) })
      const second = linkIn(again)
      assert.isDefined(second)
      assert.notStrictEqual(second, first)
      assert.strictEqual((yield* ask(String(first))).status, 400)
      assert.strictEqual((yield* later(7 * 86_400 - 60, ask(String(second)))).status, 200)
      const late = yield* later(7 * 86_400 + 60, ask(String(second)))
      assertErrorPage(late, 400, /it was used, has expired, or was replaced by a newer one/)

      const set = yield* ask("/set-password", { form: { token: tokenIn(second), password } })
      assert.strictEqual(set.status, 303)
      assert.strictEqual((yield* ask(String(second))).status, 400)
      assert.include((yield* ask(path, { cookie })).text, "Active")
      // The new user has the role of the invitation.
      assertErrorPage(
        yield* ask(path, { cookie: cookieOf(set) }),
        403,
        /This needs the role Administrator. Yours is Edit./
      )
      // For a user with a password, the same button creates a link that is valid for one day.
      const reset = yield* send(`${path}/link`, { id: String(user?.id) })
      assert.include(textOf(reset), "It is valid once, for one day.")
    })
  )

  it.effect("refuses an address at its field and keeps typed values", () =>
    Effect.gen(function* () {
      const { cookie, email: own, invite } = yield* anAdministrator
      for (const [email, message] of [
        ["ada", "The e-mail address must be an e-mail address, such as ada@example.com."],
        ["ada@example.com,", "The e-mail address must be an e-mail address, such as ada@example.com."],
        [own, "The e-mail address is in the team already."]
      ] as const) {
        const answer = yield* invite(email, "publish")
        assertErrorPage(answer, 400, /<h1>Team<\/h1>/)
        assert.include(answer.text, `<p class="wrong" id="email-misfit" role="alert">${message}</p>`)
        const field = /<input type="email" name="email"[^>]*>/.exec(answer.text)?.[0] ?? ""
        assert.include(field, `value="${email}"`)
        for (const attribute of ['aria-invalid="true"', 'aria-describedby="email-misfit"', "autofocus"])
          assert.include(field, attribute)
        assert.deepInclude(sectionsOf(answer.text, path).choices, ["publish", true])
        assert.isUndefined(linkIn(answer))
      }
      assert.include((yield* ask(path, { cookie })).text, '<span class="total number">1</span>')
    })
  )

  it.effect("answers an invitation that is sent twice with the same link, and only its own form", () =>
    Effect.gen(function* () {
      const { accountId, cookie, find, send, userId } = yield* anAdministrator
      const email = newEmail()
      const form = { form: hiddenFormOf(yield* ask(path, { cookie })), email, role: "edit" }
      const answers = yield* Effect.all([send(path, form), send(path, form), send(path, form)], { concurrency: 3 })
      const link = linkIn(answers[0])
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 200]
      )
      assert.deepStrictEqual(answers.map(linkIn), [link, link, link])
      assert.strictEqual((yield* ask(String(link))).status, 200)
      const recorded = (yield* (yield* Users).log(accountId, 50)).filter((each) => each.email === email)
      assert.deepStrictEqual(
        recorded.map(({ action }) => action),
        ["invited"]
      )

      const inTeam = "The e-mail address is in the team already."
      const second = yield* aBrowser(accountId, newEmail(), "admin")
      const theirs = { ...form, csrf: csrfOf(yield* ask(path, { cookie: second.cookie })) }
      for (const other of [
        yield* send(path, { ...form, role: "publish" }),
        yield* send(path, { ...form, form: "00000000-0000-4000-8000-000000000000" }),
        yield* send(path, { email, role: "edit" }),
        yield* ask(path, { cookie: second.cookie, form: theirs })
      ]) {
        assertErrorPage(other, 400, new RegExp(inTeam))
        assert.isUndefined(linkIn(other))
      }

      // A new user by the same form and address has another link: that of the cancelled invitation stays invalid.
      const id = String((yield* find(email))?.id)
      assert.strictEqual((yield* send(`${path}/cancel`, { id })).status, 303)
      const again = yield* send(path, form)
      assert.notStrictEqual(linkIn(again), link)
      assert.strictEqual((yield* ask(String(link))).status, 400)
      // After the link was used, the form does not make it valid again.
      const accepted = { token: tokenIn(linkIn(again)), password }
      assert.strictEqual((yield* ask("/set-password", { form: accepted })).status, 303)
      assertErrorPage(yield* send(path, form), 400, new RegExp(inTeam))
      assert.isAbove(String(userId).length, 0)
    })
  )

  it.effect(
    "answers a new link that is sent twice, or from two tabs, with the same link, and makes no old one valid again",
    () =>
      Effect.gen(function* () {
        const { accountId, cookie, find, invite, send } = yield* anAdministrator
        const email = newEmail()
        const invitation = linkIn(yield* invite(email, "edit"))
        const id = String((yield* find(email))?.id)
        const formOf = Effect.map(ask(path, { cookie }), ({ text }) => {
          const form = text
            .split("<form")
            .find((part) => part.includes(`${path}/link"`) && part.includes(`value="${id}"`))
          return { id, form: /name="form" value="(\d+)"/.exec(form ?? "")?.[1] ?? assert.fail(text) }
        })
        const [form, tab] = [yield* formOf, yield* formOf]
        const answers = yield* Effect.forEach([form, form, tab], (each) => send(`${path}/link`, each), {
          concurrency: 3
        })
        const link = linkIn(answers[0] ?? assert.fail())
        assert.isDefined(link)
        assert.notStrictEqual(link, invitation)
        assert.deepStrictEqual(answers.map(linkIn), [link, link, link])
        assert.strictEqual((yield* ask(String(link))).status, 200)
        const recorded = Effect.map(
          Effect.flatMap(Users, ({ log }) => log(accountId, 50)),
          (all) => all.filter((each) => each.email === email).map(({ action }) => action)
        )
        assert.deepStrictEqual(yield* recorded, ["link_made", "invited"])

        // The page that is shown now makes another link, which ends the first one. The old form does not make that valid again.
        const newer = linkIn(yield* send(`${path}/link`, yield* formOf))
        assert.isDefined(newer)
        assert.notStrictEqual(newer, link)
        const changed = `${email} has changed since this page was opened. Check the user below, and try again.`
        const refused = yield* send(`${path}/link`, form)
        assertErrorPage(refused, 409, /<h1>Team<\/h1>/)
        assert.include(textOf(refused), changed)
        assert.isUndefined(linkIn(refused))
        assert.strictEqual((yield* ask(String(link))).status, 400)
        assert.strictEqual((yield* ask(String(newer))).status, 200)

        // Nor after the link was used.
        const last = yield* formOf
        const used = linkIn(yield* send(`${path}/link`, last))
        assert.strictEqual((yield* ask("/set-password", { form: { token: tokenIn(used), password } })).status, 303)
        assert.include(textOf(yield* send(`${path}/link`, last)), changed)
        assert.strictEqual((yield* ask(String(used))).status, 400)

        // Another administrator's form makes another link: that of the first session is derived from its cookie.
        const second = yield* aBrowser(accountId, newEmail(), "admin")
        const theirs = { csrf: csrfOf(yield* ask(path, { cookie: second.cookie })), ...(yield* formOf) }
        const own = linkIn(yield* send(`${path}/link`, yield* formOf))
        assertErrorPage(yield* ask(`${path}/link`, { cookie: second.cookie, form: theirs }), 409, new RegExp(changed))
        assert.strictEqual((yield* ask(String(own))).status, 200)
        assert.lengthOf(yield* recorded, 6)
      })
  )

  it.effect("makes no link for the own password, which the profile changes with the current one", () =>
    Effect.gen(function* () {
      const { cookie, email, send, userId } = yield* anAdministrator
      const own = yield* ask(path, { cookie })
      assert.notMatch(own.text, new RegExp(`aria-label="New [^"]*: ${email}"`))
      const refused = yield* send(`${path}/link`, { id: userId })
      assertErrorPage(refused, 409, /<h1>Team<\/h1>/)
      assert.include(
        textOf(refused),
        `${email} is your own address: change your password on your profile, with the current one.`
      )
      assert.isUndefined(linkIn(refused))
    })
  )

  it.effect("an invitation does not reveal a user of another account: only the page of its link does", () =>
    Effect.gen(function* () {
      const [administrator, other] = [yield* anAdministrator, yield* anAdministrator]
      const user = newEmail()
      yield* ask("/set-password", { form: { token: tokenIn(linkIn(yield* other.invite(user, "view"))), password } })
      const inviting = (email: string) =>
        Effect.map(administrator.invite(email, "edit"), ({ status, text }) => ({
          status,
          link: linkIn({ text } as Answer),
          text: text
            .replaceAll(email, "EMAIL")
            .replaceAll(
              /pim_pl_[\w-]{43}|value="[\w-]{43}"|name="form" value="\d+"|[0-9a-f-]{36}|<time .*?<\/time>/g,
              "…"
            )
            // The record of earlier changes.
            .replaceAll(/<tr><th scope="row">(?:(?!EMAIL|<\/tr>).)*<\/tr>/g, "")
        }))
      // Otherwise the second answer would list the first user too.
      const known = yield* inviting(user)
      const id = (yield* administrator.find(user))?.id
      yield* administrator.send(`${path}/cancel`, { id: String(id) })
      const unknown = yield* inviting(newEmail())
      assert.deepStrictEqual([known.status, known.text], [200, unknown.text])
      assert.isDefined(known.link)

      const again = linkIn(yield* administrator.invite(user, "edit"))
      const token = tokenIn(again)
      const message =
        /This e-mail address belongs to a user of another account. Sign in there, or, if you are disabled there, ask to be invited with another address./
      assertErrorPage(yield* ask(String(again)), 400, message)
      assertErrorPage(yield* ask("/set-password", { form: { token, password } }), 400, message)
      assert.deepInclude(yield* administrator.find(user), { hasPassword: false, role: "edit" })
      // Nor does a new link of the invitation.
      const invited = String((yield* administrator.find(user))?.id)
      const renewed = yield* administrator.send(`${path}/link`, { id: invited })
      assert.strictEqual(renewed.status, 200, renewed.text)
      assertErrorPage(yield* ask(String(linkIn(renewed))), 400, message)
      // The operator, who sees all accounts, is told.
      const refused = yield* Effect.flip((yield* Users).invite(administrator.accountId, user))
      assert.strictEqual(refused.message, "email: belongs to a user of another account; choose another e-mail address")
    })
  )

  it.effect("withdraws a link that was made while its user was being disabled", () =>
    Effect.gen(function* () {
      const { accountId, find, send } = yield* anAdministrator
      const email = newEmail()
      const { userId: id } = yield* aBrowser(accountId, email, "view")
      yield* setPassword(id)
      yield* send(`${path}/disable`, { id })
      // The link's transaction read the user before, and writes the link after the user was disabled.
      const token = yield* mintSecret("passwordLink")
      yield* Effect.flatMap(UsersRepo, (users) => users.setLink(accountId, id, hashOf(token), 3_600))
      const link = `/set-password?token=${token}`
      assert.strictEqual((yield* ask(link)).status, 400)
      yield* send(`${path}/enable`, { id })
      assert.isNull((yield* find(email))?.disabledAt ?? null)
      assertErrorPage(yield* ask(link), 400, /This link is no longer valid/)
      // A user who is not disabled keeps the link.
      const again = linkIn(yield* send(`${path}/link`, { id }))
      yield* send(`${path}/enable`, { id })
      assert.strictEqual((yield* ask(String(again))).status, 200)
    })
  )

  it.effect("changes roles, disables and enables, and cancels invitations", () =>
    Effect.gen(function* () {
      const { accountId, cookie, find, invite, send } = yield* anAdministrator
      const email = newEmail()
      const { cookie: theirs, userId: id } = yield* aBrowser(accountId, email, "view")
      yield* setPassword(id)
      const to = (answer: Answer) => [answer.status, answer.headers.get("location")]
      assert.deepStrictEqual(to(yield* send(`${path}/role`, { id, role: "publish" })), [303, `${path}?note=role`])
      assert.strictEqual((yield* find(email))?.role, "publish")
      assert.strictEqual((yield* ask("/drops/new", { cookie: theirs })).status, 200)

      for (const form of [{ id }, { id, role: "owner" }]) {
        const refused = yield* send(`${path}/role`, form)
        assertErrorPage(refused, 409, /<h1>Team<\/h1>/)
        assert.include(textOf(refused), `${email} keeps the role: choose one of View, Edit, Publish, Administrator.`)
      }
      assert.strictEqual((yield* find(email))?.role, "publish")

      const question = yield* ask(`${path}/disable?id=${id}`, { cookie })
      assert.include(textOf(question), `Disable ${email}?`)
      assert.deepStrictEqual(to(yield* send(`${path}/disable`, { id })), [303, `${path}?note=disabled`])
      assert.strictEqual((yield* ask("/", { cookie: theirs })).status, 303)
      const refused = yield* send(`${path}/link`, { id })
      assertErrorPage(refused, 409, /belongs to a disabled user/)
      assert.deepStrictEqual(to(yield* send(`${path}/enable`, { id })), [303, `${path}?note=enabled`])
      assert.isNull((yield* find(email))?.disabledAt ?? null)

      const other = newEmail()
      const link = linkIn(yield* invite(other, "view"))
      const user = yield* find(other)
      assert.include(
        textOf(yield* ask(`${path}/cancel?id=${user?.id}`, { cookie })),
        `Cancel the invitation of ${other}?`
      )
      assert.deepStrictEqual(to(yield* send(`${path}/cancel`, { id: String(user?.id) })), [
        303,
        `${path}?note=cancelled`
      ])
      assert.isUndefined(yield* find(other))
      assert.strictEqual((yield* ask(String(link))).status, 400)
      assertErrorPage(yield* send(`${path}/cancel`, { id: String(user?.id) }), 404, /<h1>/)
      // The e-mail can be invited again. The user accepts while an administrator confirms that the invitation is cancelled.
      const accepted = linkIn(yield* invite(other, "view"))
      const member = String((yield* find(other))?.id)
      yield* ask("/set-password", { form: { token: tokenIn(accepted), password } })
      const late = yield* send(`${path}/cancel`, { id: member })
      assertErrorPage(late, 409, /<h1>Team<\/h1>/)
      assert.include(
        late.text,
        `<div class="alert" role="alert"><p>${other} has accepted the invitation already; disable the user instead.</p></div>`
      )
      assert.isTrue((yield* find(other))?.hasPassword)
    })
  )

  it.effect("records who changed what, in pages of 50, and nothing of what was refused", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email: own, find, invite, send, userId } = yield* anAdministrator
      const email = newEmail()
      const link = linkIn(yield* invite(email, "edit"))
      const theirs = cookieOf(yield* ask("/set-password", { form: { token: tokenIn(link), password } }))
      const id = String((yield* find(email))?.id)
      yield* send(`${path}/role`, { id, role: "publish" })
      // The same role again changes nothing.
      yield* send(`${path}/role`, { id, role: "publish" })
      yield* send(`${path}/role`, { id: userId, role: "view" })
      const elsewhere = cookieOf(yield* ask("/sign-in", { form: { email, password } }))
      const csrf = csrfOf(yield* ask("/settings/profile", { cookie: elsewhere }))
      yield* ask("/settings/profile/end-other-sessions", { cookie: elsewhere, form: { csrf } })
      assert.strictEqual((yield* ask("/", { cookie: theirs })).status, 303)
      yield* send(`${path}/disable`, { id })
      yield* send(`${path}/disable`, { id })
      yield* send(`${path}/enable`, { id })
      yield* send(`${path}/link`, { id })
      const other = newEmail()
      yield* invite(other, "view")
      yield* send(`${path}/cancel`, { id: String((yield* find(other))?.id) })
      const changesOf = ({ text }: Answer) =>
        [...text.matchAll(/<tr><th scope="row"><time .*?<\/time><\/th>(.*?)<\/tr>/g)].map(([, cells = ""]) =>
          textOf({ text: `<main>${cells}</main>` } as Answer)
        )
      const all = changesOf(yield* ask(path, { cookie }))
      assert.deepStrictEqual(all, [
        `Cancelled the invitation of ${other} ${own}`,
        `Invited ${other} with the role View ${own}`,
        `Made a link for ${email} to set a password ${own}`,
        `Enabled ${email} ${own}`,
        `Disabled ${email} and signed them out ${own}`,
        `${email} ended other sessions of their own ${email}`,
        `Gave ${email} the role Publish ${own}`,
        `${email} joined the team ${email}`,
        `Invited ${email} with the role Edit ${own}`,
        `Invited ${own} with the role Administrator Command line`
      ])
      const users = yield* Users
      const author = { _tag: "User", accountId, userId } as const
      for (let count = 0; count < 45; count++)
        yield* users
          .setRole(accountId, email, count % 2 === 0 ? "view" : "edit")
          .pipe(Effect.provideService(CurrentActor, author))
      const first = yield* ask(path, { cookie })
      assert.lengthOf(changesOf(first), 50)
      const older = /href="(\/settings\/team\?before=\d+)#changes"/.exec(first.text)?.[1] ?? assert.fail(first.text)
      const second = yield* ask(older, { cookie })
      assert.deepStrictEqual(changesOf(second), all.slice(-5))
      assert.notInclude(second.text, "?before=")
      assert.include(second.text, `<a href="${path}#changes">Newest changes</a>`)
    })
  )

  it.effect("keeps the last administrator, and says so on the page", () =>
    Effect.gen(function* () {
      const { accountId, find, email, send, userId: id } = yield* anAdministrator
      for (const [to, form] of [
        [`${path}/role`, { id, role: "view" }],
        [`${path}/disable`, { id }]
      ] as const) {
        const answer = yield* send(to, form)
        assertErrorPage(answer, 409, /<h1>Team<\/h1>/)
        assert.include(
          textOf(answer),
          `${email} is the last administrator of the account; make somebody else administrator first.`
        )
      }
      assert.deepInclude(yield* find(email), { role: "admin", disabledAt: null })
      yield* aBrowser(accountId, newEmail(), "admin")
      const demoted = yield* send(`${path}/role`, { id, role: "view" })
      assert.deepStrictEqual([demoted.status, demoted.headers.get("location")], [303, "/"])
    })
  )

  it.effect("users of other accounts are not found", () =>
    Effect.gen(function* () {
      const { cookie, send } = yield* anAdministrator
      const stranger = yield* aUser()
      const form = { id: stranger.userId, role: "view" }
      for (const to of ["role", "link", "cancel", "disable", "enable", "reset-second-factor"])
        assert.strictEqual((yield* send(`${path}/${to}`, form)).status, 404, to)
      for (const to of ["cancel", "disable", "reset-second-factor"])
        assert.strictEqual((yield* ask(`${path}/${to}?id=${stranger.userId}`, { cookie })).status, 404, to)
      assert.strictEqual((yield* ask(path, { cookie: stranger.cookie })).status, 200)
    })
  )

  it.effect("without a mail server, the page for a forgotten password says who can create a link", () =>
    Effect.gen(function* () {
      const signIn = yield* ask("/sign-in")
      assert.include(signIn.text, 'href="/forgot-password"')
      const { email } = yield* aUser()
      for (const answer of [yield* ask("/forgot-password"), yield* ask("/forgot-password", { form: { email } })]) {
        assert.strictEqual(answer.status, 200)
        assert.include(
          textOf(answer),
          "This service sends no mail. Ask an administrator of your account to make a link for you"
        )
        assert.notInclude(answer.text, "<form")
      }
    })
  )
})

/** The pauses before a mail is sent again. Long enough that a test sees the state in between. */
const pauses = [100, 200, 400].map((millis) => Duration.millis(millis))

class TestMail extends Context.Tag("test/TestMail")<TestMail, Effect.Effect.Success<typeof mailServer>>() {}

const withMail = (pauses: ReadonlyArray<Duration.Duration>) =>
  Layer.unwrapScoped(
    Effect.map(mailServer, (server) =>
      Layer.merge(
        pagesServer({
          mail: { url: Redacted.make(`smtp://127.0.0.1:${server.port}`), from: "Catalog <catalog@example.com>", pauses }
        }),
        Layer.succeed(TestMail, server)
      )
    )
  )

/** Waits until the server has received this number of mails to the address. */
const mailsTo = (email: string, count: number) =>
  Effect.flatMap(TestMail, ({ mails }) =>
    Effect.sync(() => mails.filter(({ to }) => to === email)).pipe(
      Effect.delay("10 millis"),
      Effect.repeat({ until: (found) => found.length >= count })
    )
  )

/** The mail server refuses mails while the effect runs. */
const refusing = <A, E, R>(refusal: string, effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(TestMail, (server) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        server.refusal = refusal
      }),
      () => effect,
      () =>
        Effect.sync(() => {
          server.refusal = undefined
        })
    )
  )

/** Waits until the user is so. */
const untilUser = <E, R>(find: Effect.Effect<User | undefined, E, R>, isSo: (user: User) => boolean) =>
  Effect.flatMap(find, (user) => (user === undefined ? Effect.die("no such user") : Effect.succeed(user))).pipe(
    Effect.delay("20 millis"),
    Effect.repeat({ until: isSo })
  )

layer(withMail([Duration.hours(1)]), { excludeTestServices: true })("a mail whose process was lost", (it) => {
  it.effect("is shown as not delivered 75 s later, although its next attempt would be in an hour", () =>
    Effect.gen(function* () {
      const { cookie, invite } = yield* anAdministrator
      yield* refusing("450 4.7.1 try again later", invite(newEmail(), "view"))
      const reason = "( 450 4.7.1 try again later )"
      assert.include(
        textOf(yield* ask(path, { cookie })),
        `The mail with the link is not delivered yet ${reason}. It is sent again automatically.`
      )
      // The clock of the process stays, so it does not store its promise again.
      assert.include(
        textOf(yield* later(76, ask(path, { cookie }))),
        `The mail with the link was not delivered ${reason}. Make a new link and pass it on yourself.`
      )
    })
  )
})

layer(withMail(pauses), { excludeTestServices: true })("mail", (it) => {
  it.effect("an invitation is sent", () =>
    Effect.gen(function* () {
      const { cookie, email: own, invite } = yield* anAdministrator
      const email = newEmail()
      const answer = yield* invite(email, "view")
      assert.include(textOf(answer), "It was sent by mail.")
      const [mail] = yield* mailsTo(email, 1)
      const text = textOfMail(mail ?? assert.fail())
      assert.match(text, /^From: Catalog <catalog@example\.com>$/m)
      assert.match(text, /^Subject: Invitation to the catalog of Tarn & Tern$/m)
      assert.include(text, `${own} invites you to the catalog of Tarn & Tern.`)
      assert.include(text, String(linkIn(answer)))
      assert.notInclude(textOf(yield* ask(path, { cookie })), "The mail with the link")
    })
  )

  it.effect("a mail that is refused for good is not sent again, and the page says why until there is a new link", () =>
    Effect.gen(function* () {
      const { cookie, find, invite, send } = yield* anAdministrator
      const email = newEmail()
      const refused = yield* refusing("550 5.1.1 no such mailbox", invite(email, "view"))
      assert.include(
        textOf(refused),
        `Link for ${email} to set a password. It is valid once, for 7 days. The mail was not delivered (550 5.1.1 no such mailbox). Pass the link on yourself.`
      )
      assert.isDefined(linkIn(refused))
      const problem =
        "The mail with the link was not delivered ( 550 5.1.1 no such mailbox ). Make a new link and pass it on yourself."
      assert.include(textOf(yield* ask(path, { cookie })), problem)
      const id = String((yield* find(email))?.id)
      assert.include(textOf(yield* send(`${path}/link`, { id })), "It was sent by mail.")
      yield* mailsTo(email, 1)
      assert.notInclude(textOf(yield* ask(path, { cookie })), "The mail with the link")
    })
  )

  it.effect("a mail that is refused for now is sent again, until the server accepts it or the attempts end", () =>
    Effect.gen(function* () {
      const { cookie, find, invite, send } = yield* anAdministrator
      const email = newEmail()
      const waiting = yield* refusing("450 4.7.1 try again later", invite(email, "view"))
      assert.include(
        textOf(waiting),
        "The mail server did not accept the mail yet (450 4.7.1 try again later). It is sent again automatically. You can also pass the link on yourself."
      )
      const [mail] = yield* mailsTo(email, 1)
      assert.include(textOfMail(mail ?? assert.fail()), String(linkIn(waiting)))
      yield* untilUser(find(email), ({ mailProblem }) => mailProblem === null)
      assert.lengthOf(yield* mailsTo(email, 1), 1)

      const other = newEmail()
      yield* refusing(
        "421 4.3.2 shutting down",
        Effect.gen(function* () {
          assert.include(textOf(yield* invite(other, "view")), "The mail server did not accept the mail yet")
          const user = yield* untilUser(find(other), ({ isMailWaiting }) => !isMailWaiting)
          assert.strictEqual(user.mailProblem, "421 4.3.2 shutting down")
        })
      )
      assert.include(
        textOf(yield* ask(path, { cookie })),
        "The mail with the link was not delivered ( 421 4.3.2 shutting down ). Make a new link and pass it on yourself."
      )
      yield* send(`${path}/cancel`, { id: String((yield* find(other))?.id) })
    })
  )

  it.effect("a mail is in the language and zone of its reader; a new user's is in those of the sender", () =>
    Effect.gen(function* () {
      const { cookie, find, send } = yield* anAdministrator
      const csrf = csrfOf(yield* ask("/settings/profile", { cookie }))
      yield* ask("/settings/profile", { cookie, form: { csrf, language: "ar", time_zone: "Asia/Dubai" } })
      const invited = newEmail()
      const link = linkIn(yield* send(path, { email: invited, role: "view" }))
      const [invitation] = yield* mailsTo(invited, 1)
      const text = textOfMail(invitation ?? assert.fail())
      assert.match(text, /^Content-Language: ar$/m)
      assert.match(text, /^Subject: دعوة إلى كتالوج \u2068Tarn & Tern\u2069$/m)
      const until = timeIn(String((yield* find(invited))?.linkExpiresAt), {
        pageLanguage: "ar",
        timeZone: "Asia/Dubai"
      })
      assert.include(text, `اضبط كلمة مرورك هنا (صالح مرة واحدة، حتى \u2068${until}\u2069):\n`)

      const theirs = cookieOf(yield* ask("/set-password", { form: { token: tokenIn(link), password } }))
      const own = csrfOf(yield* ask("/settings/profile", { cookie: theirs }))
      const chosen = { csrf: own, language: "de", time_zone: "Europe/Berlin" }
      yield* ask("/settings/profile", { cookie: theirs, form: chosen })
      yield* ask("/forgot-password", { form: { email: invited }, headers: { "accept-language": "zh" } })
      const [, forgotten] = yield* mailsTo(invited, 2)
      const expires = (yield* find(invited))?.linkExpiresAt
      const german = textOfMail(forgotten ?? assert.fail())
      assert.match(german, /^Subject: Ihr neues Passwort für den Katalog$/m)
      const berlin = timeIn(String(expires), { pageLanguage: "de", timeZone: "Europe/Berlin" })
      assert.include(german, `Setzen Sie hier Ihr Passwort (einmal gültig, bis ${berlin}):\n`)
    })
  )

  it.effect("a forgotten password: the same answer for every e-mail, and a mail for users with a password", () =>
    Effect.gen(function* () {
      const { find, invite } = yield* anAdministrator
      const email = newEmail()
      const link = linkIn(yield* invite(email, "view"))
      const forget = (address: string) => ask("/forgot-password", { form: { email: address } })
      const { mails } = yield* TestMail
      // An open invitation is not replaced.
      const texts = [yield* forget(email), yield* forget("nobody@example.com")].map(({ text }) => text)
      assert.strictEqual((yield* ask(String(link))).status, 200)
      assert.strictEqual((yield* ask("/set-password", { form: { token: tokenIn(link), password } })).status, 303)
      texts.push((yield* forget(email)).text)
      assert.lengthOf([...new Set(texts)], 1)
      assert.include(String(texts[0]), "If a user with this e-mail address has a password")
      const [, reset] = yield* mailsTo(email, 2)
      const text = textOfMail(reset ?? assert.fail())
      assert.match(text, /^Subject: Your new password for the catalog$/m)
      const token = /token=(pim_pl_[A-Za-z0-9_-]{43})/.exec(text)?.[1] ?? ""
      assert.strictEqual((yield* ask("/set-password", { form: { token, password: "another password" } })).status, 303)
      assert.strictEqual((yield* find(email))?.hasPassword, true)
      assert.lengthOf(
        mails.filter(({ to }) => to === "nobody@example.com"),
        0
      )
    })
  )

  it.effect("an invitation or a new link that is sent twice is mailed once", () =>
    Effect.gen(function* () {
      const { accountId, cookie, find, send } = yield* anAdministrator
      const email = newEmail()
      const page = yield* ask(path, { cookie })
      const form = { form: hiddenFormOf(page), email, role: "view" }
      const first = yield* send(path, form)
      const second = yield* send(path, form)
      assert.strictEqual(linkIn(second), linkIn(first))
      assert.include(
        textOf(second),
        "The form was sent twice; its mail is sent once. You can also pass the link on yourself."
      )
      yield* mailsTo(email, 1)
      const id = String((yield* find(email))?.id)
      const change = (yield* (yield* Users).lastEvents(accountId)).get(email)
      const renewal = { id, form: String(change) }
      const [renewed, again] = [yield* send(`${path}/link`, renewal), yield* send(`${path}/link`, renewal)]
      assert.include(textOf(renewed), "It was sent by mail.")
      assert.strictEqual(linkIn(again), linkIn(renewed))
      assert.include(textOf(again), "The form was sent twice; its mail is sent once.")
      yield* mailsTo(email, 2)
      // A later mail, so that another one would have arrived before it.
      const later = newEmail()
      yield* send(path, { email: later, role: "view" })
      yield* mailsTo(later, 1)
      assert.lengthOf(yield* mailsTo(email, 2), 2)
    })
  )

  it.effect("an account sends at most 50 mails with links in an hour; the link is shown all the same", () =>
    Effect.gen(function* () {
      const { accountId, cookie, find, invite, send } = yield* anAdministrator
      const users = yield* Users
      yield* Effect.repeatN(users.countLinkMail(accountId), 48)
      const last = newEmail()
      assert.include(textOf(yield* invite(last, "view")), "It was sent by mail.")
      const email = newEmail()
      const refused = yield* invite(email, "view")
      const reason = "( this account has sent 50 mails with links within an hour )"
      assert.include(
        textOf(refused).replace("(this account has sent 50 mails with links within an hour)", reason),
        `The mail was not delivered ${reason}. Pass the link on yourself.`
      )
      assert.strictEqual((yield* ask(String(linkIn(refused)))).status, 200)
      assert.include(textOf(yield* ask(path, { cookie })), `The mail with the link was not delivered ${reason}.`)
      assert.strictEqual((yield* find(email))?.mailProblem, "this account has sent 50 mails with links within an hour")
      const id = String((yield* find(last))?.id)
      assert.include(
        textOf(yield* send(`${path}/link`, { id })),
        "this account has sent 50 mails with links within an hour"
      )
      assert.lengthOf(
        (yield* TestMail).mails.filter(({ to }) => to === email),
        0
      )
      // Another account, and the same one after an hour, send again.
      const other = yield* anAdministrator
      assert.include(textOf(yield* other.invite(newEmail(), "view")), "It was sent by mail.")
      assert.include(textOf(yield* later(3_601, invite(newEmail(), "view"))), "It was sent by mail.")
    })
  )

  it.effect("a user is told once a day that somebody with the password enters wrong codes", () =>
    Effect.gen(function* () {
      const { find, invite } = yield* anAdministrator
      const email = newEmail()
      const link = linkIn(yield* invite(email, "view"))
      yield* ask("/set-password", { form: { token: tokenIn(link), password } })
      yield* giveSecondFactor(String((yield* find(email))?.id))
      const guesses = (count: number) =>
        Effect.gen(function* () {
          const step = yield* ask("/sign-in", { form: { email, password } })
          const token = String(/name="token" value="([^"]+)"/.exec(step.text)?.[1])
          for (let time = 0; time < count; time++)
            assert.strictEqual(
              (yield* ask("/sign-in/code", { form: { token, code: `${100_000 + time}` } })).status,
              403
            )
        })
      yield* guesses(4)
      const isWarned = Effect.map(TestMail, ({ mails }) =>
        mails
          .filter(({ to }) => to === email)
          .map(textOfMail)
          .filter((text) => text.includes("wrong codes"))
      )
      yield* later(1_000, guesses(1))
      const [, warning] = yield* mailsTo(email, 2)
      const text = textOfMail(warning ?? assert.fail())
      assert.match(text, /^Subject: Wrong codes at your sign-in to the catalog$/m)
      assert.match(
        text.replaceAll("\n", " "),
        / UTC: somebody who knows your password for the catalog of Tarn & Tern has entered several wrong codes of your second factor, and was not let in\. {2}If it was not you, set a new password now, and tell an administrator of the account: https?:\/\/\S+\/forgot-password/
      )
      // Hours later there is no second mail, even after old attempts were deleted. A day later there is.
      yield* later(
        40_000,
        Effect.zipRight(
          Effect.flatMap(Sessions, ({ forget }) => forget),
          guesses(5)
        )
      )
      assert.lengthOf(yield* isWarned, 1)
      yield* later(90_000, guesses(5))
      yield* mailsTo(email, 3)
      assert.lengthOf(yield* isWarned, 2)
    })
  )

  it.effect("users are told by mail that their password or second factor has changed, and by whom", () =>
    Effect.gen(function* () {
      const { email: administrator, find, invite, send } = yield* anAdministrator
      const email = newEmail()
      const link = linkIn(yield* invite(email, "view"))
      const cookie = cookieOf(yield* ask("/set-password", { form: { token: tokenIn(link), password } }))
      const csrf = csrfOf(yield* ask("/settings/profile", { cookie }))
      yield* ask("/settings/profile", { cookie, form: { csrf, language: "de", time_zone: "Europe/Berlin" } })
      const changed = { csrf, current: password, password: "another password" }
      assert.strictEqual((yield* ask("/settings/profile/password", { cookie, form: changed })).status, 303)
      // The invitation was the first mail. Accepting it is not told.
      const [, own] = yield* mailsTo(email, 2)
      const german = textOfMail(own ?? assert.fail())
      assert.match(german, /^Subject: Ihre Anmeldung am Katalog hat sich geändert$/m)
      assert.include(german, "Ihre Anmeldung am Katalog von Tarn & Tern hat sich geändert:\n")
      assert.match(german, new RegExp(`Europe/Berlin: ${email} hat ein neues Passwort gesetzt\nVon: ${email}\n`))
      assert.match(german, /\nhttps?:\/\/[^\n]+\/forgot-password\n?$/)

      const id = String((yield* find(email))?.id)
      yield* giveSecondFactor(id)
      assert.strictEqual((yield* send(`${path}/reset-second-factor`, { id })).status, 303)
      const [, , reset] = yield* mailsTo(email, 3)
      const text = textOfMail(reset ?? assert.fail())
      assert.match(text, new RegExp(`Zweiten Faktor von ${email} zurückgesetzt\nVon: ${administrator}\n`))
      // A change of somebody else's is not told to this user.
      const { mails } = yield* TestMail
      assert.lengthOf(
        mails.filter(({ to }) => to === administrator),
        0
      )
    })
  )

  it.effect("a text that is no address is refused, stays in the form, and counts as no request", () =>
    Effect.gen(function* () {
      for (let time = 0; time < 4; time++) {
        const refused = yield* ask("/forgot-password", { form: { email: "ada <b>" } })
        assertErrorPage(refused, 400, /<h1>Forgotten password<\/h1>/)
        assert.include(textOf(refused), "The e-mail address must be an e-mail address, such as ada@example.com.")
        assert.include(refused.text, 'value="ada &lt;b>"')
      }
    })
  )

  it.effect("requests are limited by e-mail, known or not", () =>
    Effect.gen(function* () {
      const { email: known } = yield* aUser()
      for (const email of [known, "unknown-at-all@example.com"]) {
        const forget = ask("/forgot-password", { form: { email } })
        for (let time = 0; time < 3; time++) assert.strictEqual((yield* forget).status, 200)
        const limited = yield* forget
        assertErrorPage(limited, 429, /Too many requests for this e-mail\. Try again in 1[45] minutes/)
        assert.isAtMost(Number(limited.headers.get("retry-after")), 900)
        assert.include(limited.text, `value="${email}"`)
        assert.strictEqual((yield* later(901, forget)).status, 200)
      }
    })
  )
})
