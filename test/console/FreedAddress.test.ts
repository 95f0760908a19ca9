import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SecondFactorsRepo } from "../../src/access/SecondFactorsRepo.ts"
import { hashOf } from "../../src/access/Secrets.ts"
import { Users } from "../../src/access/Users.ts"
import { UsersRepo } from "../../src/access/UsersRepo.ts"
import { Connections } from "../../src/connections/Connections.ts"
import { NotFound } from "../../src/model/Errors.ts"
import type { Role } from "../../src/model/Role.ts"
import { aConnection, ask, assertErrorPage, aUser, PagesServer } from "../oauth/PagesServer.ts"
import { csrfOf, textOf } from "./Merchant.ts"

const password = "tern over tarn 1"

let addresses = 0
const newEmail = () => `owner-${++addresses}@example.com`

/** Accepts an invitation or a link. */
const accept = ({ token }: { readonly token: Redacted.Redacted }) =>
  Effect.map(ask("/set-password", { form: { token: Redacted.value(token), password } }), (answer) => ({
    status: answer.status,
    cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? ""
  }))

/** A user who has accepted an invitation with an address, although the mailbox is not theirs. */
const aHolder = (role: Role = "publish") =>
  Effect.gen(function* () {
    const users = yield* Users
    const administrator = yield* aUser()
    const email = newEmail()
    const accepted = yield* accept(yield* users.inviteNew(administrator.accountId, email, role))
    assert.strictEqual(accepted.status, 303)
    return { ...administrator, administrator, email, cookie: accepted.cookie, holder: yield* users.findHolder(email) }
  }).pipe(Effect.orDie)

const signIn = (email: string) => Effect.map(ask("/sign-in", { form: { email, password } }), ({ status }) => status)

layer(PagesServer, { excludeTestServices: true })("an e-mail address that the operator frees", (it) => {
  it.effect("can be used by another account, and its former user has no access any more", () =>
    Effect.gen(function* () {
      const users = yield* Users
      const sql = yield* SqlClient.SqlClient
      const { accountId, administrator, cookie, email, holder } = yield* aHolder()
      const { accountId: ownAccount } = yield* aUser()
      const own = yield* users.inviteNew(ownAccount, email, "edit")
      assert.strictEqual((yield* accept(own)).status, 400)
      yield* aConnection(cookie, "pim:read", "Theirs")
      const factors = yield* SecondFactorsRepo
      assert.isTrue(yield* factors.begin(holder, Uint8Array.of(1)))
      assert.isTrue(yield* factors.confirm(holder, Uint8Array.of(1), 1, [hashOf("recovery")]))

      yield* users.freeAddress(holder)
      assert.strictEqual((yield* ask("/", { cookie })).headers.get("location"), "/sign-in?return_to=%2F")
      assert.strictEqual(yield* signIn(email), 403)
      const [connection] = yield* (yield* Connections).list(accountId)
      assert.strictEqual(connection?.endReason, "user_disabled")
      for (const table of ["second_factor", "recovery_code", "sign_in_device", "session"])
        assert.isEmpty(yield* sql`SELECT FROM ${sql(table)} WHERE user_id = ${holder.id}`, table)
      const page = textOf(yield* ask("/settings/team", { cookie: administrator.cookie }))
      assert.include(page, `Freed the e-mail address of ${email} and disabled them Command line`)

      // The operator enables the user: a new invitation of the account is one among others.
      yield* users.enable(accountId, email)
      assert.strictEqual(yield* signIn(email), 403)
      const accepted = yield* accept(own)
      assert.strictEqual(accepted.status, 303)
      assert.include((yield* ask("/", { cookie: accepted.cookie })).text, email)
      assert.strictEqual((yield* accept(yield* users.renewLink(accountId, email, 1))).status, 400)
      assert.strictEqual((yield* users.findHolder(email)).accountId, ownAccount)
    }).pipe(Effect.orDie)
  )

  it.effect("is not taken back by the administrators of the account, but the operator can enable the user", () =>
    Effect.gen(function* () {
      const users = yield* Users
      const { accountId, administrator, email, holder } = yield* aHolder()
      yield* users.freeAddress(holder)
      const path = "/settings/team"
      const csrf = csrfOf(yield* ask(path, { cookie: administrator.cookie }))
      const send = (to: string, form: Readonly<Record<string, string>>) =>
        ask(to, { cookie: administrator.cookie, form: { csrf, ...form } })
      const { id } = holder
      const refused = yield* send(`${path}/enable`, { id })
      assertErrorPage(refused, 409, /<h1>Team<\/h1>/)
      assert.include(
        textOf(refused),
        `${email} has no password: only the operator of this service can enable this user.`
      )
      assert.strictEqual((yield* send(`${path}/link`, { id })).status, 409)
      assert.strictEqual((yield* send(`${path}/cancel`, { id })).status, 409)
      assert.strictEqual((yield* send(path, { email, role: "edit" })).status, 400)
      assert.isNotNull((yield* users.list(accountId)).find((user) => user.id === id)?.disabledAt ?? null)

      yield* users.enable(accountId, email)
      assert.strictEqual((yield* accept(yield* users.renewLink(accountId, email, 1))).status, 303)
      // The user has a password again, so an administrator can enable them too.
      yield* users.disable(accountId, email)
      assert.strictEqual((yield* send(`${path}/enable`, { id })).status, 303)
    }).pipe(Effect.orDie)
  )

  it.effect("belongs to a user who is disabled already", () =>
    Effect.gen(function* () {
      const users = yield* Users
      const { accountId, email, holder } = yield* aHolder()
      yield* users.disable(accountId, email)
      yield* users.freeAddress(holder)
      assert.isNotNull((yield* users.list(accountId)).find(({ id }) => id === holder.id)?.disabledAt)
      assert.instanceOf(yield* Effect.flip(users.findHolder(email)), NotFound)
    }).pipe(Effect.orDie)
  )

  it.effect("is not found if nobody signs in with it, and the second of two commands changes nothing", () =>
    Effect.gen(function* () {
      const users = yield* Users
      const { accountId, email, holder } = yield* aHolder()
      for (const unknown of ["not an address", newEmail()])
        assert.instanceOf(yield* Effect.flip(users.findHolder(unknown)), NotFound)
      const invited = newEmail()
      yield* users.inviteNew(accountId, invited, "view")
      assert.instanceOf(yield* Effect.flip(users.findHolder(invited)), NotFound)
      yield* users.freeAddress(yield* users.findHolder(` ${email.toUpperCase()} `))
      const before = yield* users.log(accountId, 50)
      assert.instanceOf(yield* Effect.flip(users.freeAddress(holder)), NotFound)
      assert.deepStrictEqual(yield* users.log(accountId, 50), before)
    }).pipe(Effect.orDie)
  )

  it.effect("is not freed if its user is the last administrator", () =>
    Effect.gen(function* () {
      const users = yield* Users
      const { accountId, administrator, cookie, email, holder } = yield* aHolder("admin")
      // The other administrator has no password yet.
      assert.isFalse((yield* users.list(accountId)).find(({ id }) => id === administrator.userId)?.hasPassword)
      const refused = yield* Effect.flip(users.freeAddress(holder))
      assert.strictEqual(
        refused.message,
        "email: is the last administrator of the account; make somebody else administrator first"
      )
      assert.strictEqual((yield* ask("/", { cookie })).status, 200)
      assert.isTrue((yield* (yield* UsersRepo).findByEmail(email))._tag === "Some")
    }).pipe(Effect.orDie)
  )
})
