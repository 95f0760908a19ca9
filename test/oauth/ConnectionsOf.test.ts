import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { Users } from "../../src/access/Users.ts"
import { Authorization } from "../../src/connections/Authorization.ts"
import { Connections } from "../../src/connections/Connections.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { NotFound } from "../../src/model/Errors.ts"
import { ConnectionId } from "../../src/model/Ids.ts"
import { sectionsOf } from "./Html.ts"
import {
  aBrowser,
  aClient,
  aCode,
  aConnection,
  ask,
  assertErrorPage,
  assertRefused,
  aUser,
  later,
  newVerifier,
  PagesServer,
  redeem,
  refresh,
  withinAMinute,
  withNote
} from "./PagesServer.ts"

const authenticate = (token: string) =>
  Effect.gen(function* () {
    return yield* (yield* Connections).authenticate(token, `${yield* BaseUrl}/mcp`)
  })
const opens = (token: string) => Effect.map(authenticate(token), Option.isSome)

/** The connections page. */
const page = (cookie: string) => ask("/settings/connections", { cookie })

/** The page that asks for confirmation before a connection is ended. */
const questionOf = (cookie: string, id: string) => ask(`/settings/connections/disconnect?id=${id}`, { cookie })

/** The form that ends the first connection of the page. */
const formOf = (cookie: string) =>
  Effect.gen(function* () {
    const { id } = sectionsOf((yield* page(cookie)).text, "/settings/connections/disconnect").hidden
    return sectionsOf((yield* questionOf(cookie, String(id))).text, "/settings/connections/disconnect")
  })

layer(PagesServer, { excludeTestServices: true })("connections", (it) => {
  it.effect("a token identifies its account, connection, user, client, tier and the account's version", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, cookie, userId } = yield* aUser()
      const { access } = yield* aConnection(cookie, "pim:write", "Desk Agent")
      const [connection] = yield* (yield* Connections).list(accountId)
      yield* sql`UPDATE account_state SET version = 42 WHERE account_id = ${accountId}`
      const { resource: _, ...credential } = Option.getOrThrow(yield* authenticate(access))
      assert.deepStrictEqual<unknown>(credential, {
        accountId,
        connectionId: connection?.id,
        userId,
        clientName: "Desk Agent",
        tier: "pim:write",
        role: "admin",
        stores: null,
        confirmPublish: false,
        accountVersion: 42,
        useUnrecorded: true
      })
    })
  )

  it.effect("are listed with client, destination, tier, and times of creation and last use", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email } = yield* aUser()
      const stranger = yield* aUser()
      const { access } = yield* aConnection(cookie, "pim:write", "Desk Agent")
      yield* aConnection(stranger.cookie, "pim:read", "Stranger's")
      const [before, ...others] = yield* (yield* Connections).list(accountId)
      assert.lengthOf(others, 0)
      assert.include(before, {
        clientName: "Desk Agent",
        redirectHost: "agent.example",
        tier: "pim:write",
        userEmail: email,
        lastUsedAt: null,
        endedAt: null,
        endReason: null
      })
      const shown = yield* page(cookie)
      for (const text of [
        "<h3>Desk Agent</h3>",
        "<dd>agent.example</dd>",
        "<dd>Read and edit drafts</dd>",
        "<dt>Last used</dt><dd>never</dd>",
        `<time datetime="${before?.createdAt}"`
      ])
        assert.include(shown.text, text)
      assert.notInclude(shown.text, "Stranger")
      yield* Effect.gen(function* () {
        assert.isTrue(yield* opens(access))
        const used = yield* (yield* Connections)
          .list(accountId)
          .pipe(Effect.repeat({ until: ([connection]) => connection?.lastUsedAt !== null }))
        assert.isString(used[0]?.lastUsedAt)
        // Uses are recorded by the minute: a second use in the same minute is not written.
        assert.isFalse(Option.getOrThrow(yield* authenticate(access)).useUnrecorded)
      }).pipe(withinAMinute)
      assert.isTrue(Option.getOrThrow(yield* later(190, authenticate(access))).useUnrecorded)
    })
  )

  it.effect("disconnecting takes effect on the next call in every process; the record is kept", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* aUser()
      const { access, clientId, ...tokens } = yield* aConnection(cookie)
      const kept = yield* aConnection(cookie, "pim:read", "Another")
      const other = yield* Layer.build(Layer.fresh(Connections.layer))
      const elsewhere = (token: string) => Effect.provide(opens(token), other)
      assert.deepStrictEqual([yield* opens(access), yield* elsewhere(access)], [true, true])
      const shown = yield* page(cookie)
      const forms = shown.text.split("<li").filter((text) => text.includes("<h3>Agent</h3>"))
      const { id } = sectionsOf(forms[0] ?? "", "/settings/connections/disconnect").hidden
      const question = yield* questionOf(cookie, String(id))
      assert.include(question.text, "<h1>Disconnect Agent?</h1>")
      assert.include(question.text, '<a href="/settings/connections">Cancel</a>')
      assert.isTrue(yield* opens(access))
      const { hidden } = sectionsOf(question.text, "/settings/connections/disconnect")
      const answer = yield* ask("/settings/connections/disconnect", { cookie, form: hidden })
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, "/settings/connections?ended=one"])
      assert.deepStrictEqual([yield* opens(access), yield* elsewhere(access)], [false, false])
      assert.strictEqual((yield* refresh(clientId, tokens.refresh)).status, 400)
      assert.isTrue(yield* opens(kept.access))
      const listed = yield* (yield* Connections).list(accountId)
      assert.deepStrictEqual(
        listed.map(({ clientName, endReason }) => [clientName, endReason]),
        [
          ["Another", null],
          ["Agent", "disconnected"]
        ]
      )
      const noted = "/settings/connections?ended=one"
      const after = yield* ask(noted, { cookie: withNote(cookie, noted) })
      assert.include(after.text, "The connection is ended. Its next call is refused.")
      assert.include(after.text, "A user or the operator disconnected it.")
      assert.lengthOf([...after.text.matchAll(/aria-label="Disconnect /g)], 1)
      // A second request succeeds and does not change the time of the end.
      assert.strictEqual((yield* ask("/settings/connections/disconnect", { cookie, form: hidden })).status, 303)
      const ends = (connections: typeof listed) => connections.map(({ endedAt, id }) => [id, endedAt])
      assert.deepStrictEqual(ends(yield* (yield* Connections).list(accountId)), ends(listed))
    }).pipe(Effect.scoped)
  )

  it.effect("disconnecting all ends every connection and nothing else", () =>
    Effect.gen(function* () {
      const { apiKey, cookie } = yield* aUser()
      const stranger = yield* aUser()
      const ours = yield* Effect.all([aConnection(cookie), aConnection(cookie), aConnection(cookie)])
      const theirs = yield* aConnection(stranger.cookie)
      assert.include((yield* page(cookie)).text, '<form method="get" action="/settings/connections/disconnect-all">')
      const question = yield* ask("/settings/connections/disconnect-all", { cookie })
      assert.include(question.text, "<h1>Disconnect every connection?</h1>")
      const { hidden } = sectionsOf(question.text, "/settings/connections/disconnect-all")
      const answer = yield* ask("/settings/connections/disconnect-all", { cookie, form: hidden })
      assert.strictEqual(answer.headers.get("location"), "/settings/connections?ended=all")
      for (const { access } of ours) assert.isFalse(yield* opens(access))
      assert.isTrue(yield* opens(theirs.access))
      assert.strictEqual((yield* page(cookie)).status, 200)
      const headers = { authorization: `Bearer ${apiKey}` }
      assert.strictEqual((yield* ask("/api/v1/ping", { headers })).status, 200)
    })
  )

  it.effect("disconnecting all uses up the open codes of this account only", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* aUser()
      const stranger = yield* aUser()
      const onItsWay = (cookie: string) =>
        Effect.gen(function* () {
          const client = { clientId: yield* aClient(), verifier: newVerifier() }
          return { client, code: yield* aCode(cookie, client) }
        })
      const ours = yield* onItsWay(cookie)
      const theirs = yield* onItsWay(stranger.cookie)
      assert.strictEqual(yield* (yield* Connections).disconnectAll(accountId), 0)
      assertRefused(yield* redeem(ours.client, ours.code), 400, "invalid_grant")
      assert.strictEqual((yield* redeem(theirs.client, theirs.code)).status, 200)
      // A consent that is given afterwards creates a connection.
      assert.strictEqual((yield* aConnection(cookie)).scope, "pim:read pim:write pim:publish")
    })
  )

  it.effect("a connection whose tokens have all expired is shown as ended with the reason", () =>
    Effect.gen(function* () {
      const day = 86_400
      const { accountId, cookie } = yield* aUser()
      const { clientId, ...tokens } = yield* aConnection(cookie, "pim:read", "Idle")
      const used = yield* aConnection(cookie, "pim:read", "Used")
      const connections = yield* Connections
      const ends = Effect.map(connections.list(accountId), (list) =>
        Object.fromEntries(list.map(({ clientName, endReason }) => [clientName, endReason]))
      )
      yield* later(20 * day, refresh(used.clientId, used.refresh))
      // Its access tokens have expired, its refresh token has not.
      assert.deepStrictEqual(yield* later(30 * day - 60, ends), { Idle: null, Used: null })
      assert.deepStrictEqual(yield* later(31 * day, ends), { Idle: "expired", Used: null })
      assert.strictEqual((yield* later(31 * day, refresh(clientId, tokens.refresh))).status, 400)
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* ends, { Idle: "expired", Used: "expired" })
        // A connection that expired keeps the time of its end, even if its tokens are deleted or all connections are ended later.
        const before = yield* connections.list(accountId)
        yield* (yield* Authorization).forget
        yield* connections.disconnectAll(accountId)
        assert.deepStrictEqual(yield* connections.list(accountId), before)
        const shown = yield* page((yield* aBrowser(accountId, "later@example.com")).cookie)
        assert.lengthOf([...shown.text.matchAll(/aria-label="Disconnect /g)], 0)
        assert.include(shown.text, "The agent did not use it for 30 days")
      }).pipe((effect) => later(51 * day, effect))
      const [listed] = yield* later(51 * day, connections.list(accountId))
      assert.strictEqual(Math.round((Date.parse(listed?.endedAt ?? "") - Date.now()) / 1_000 / day), 50)
    })
  )

  it.effect("only the connections of a disabled user are shown as ended", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email } = yield* aUser()
      const colleague = yield* aBrowser(accountId, "colleague@example.com")
      yield* aConnection(cookie, "pim:read", "Theirs")
      yield* aConnection(colleague.cookie, "pim:read", "Ours")
      yield* Effect.orDie((yield* Users).disable(accountId, email))
      const list = yield* (yield* Connections).list(accountId)
      assert.deepStrictEqual(
        list.map(({ clientName, endReason }) => [clientName, endReason]),
        [
          ["Ours", null],
          ["Theirs", "user_disabled"]
        ]
      )
      assert.include((yield* page(colleague.cookie)).text, "The user who allowed it was disabled.")
    })
  )

  it.effect("a code of a user who was disabled and enabled again is refused", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* aUser()
      const colleague = yield* aBrowser(accountId, "enabled@example.com")
      const users = yield* Users
      const client = { clientId: yield* aClient(), verifier: newVerifier() }
      const code = yield* aCode(colleague.cookie, client)
      const other = { clientId: yield* aClient(), verifier: newVerifier() }
      const otherCode = yield* aCode(cookie, other)
      yield* Effect.orDie(users.disable(accountId, "enabled@example.com"))
      yield* Effect.orDie(users.enable(accountId, "enabled@example.com"))
      assertRefused(yield* redeem(client, code), 400, "invalid_grant")
      // Codes of colleagues, and connections of a user who is not disabled, are left alone.
      assert.strictEqual((yield* redeem(other, otherCode)).status, 200)
      const { access } = yield* aConnection(cookie)
      for (const { email } of yield* users.list(accountId)) yield* Effect.orDie(users.enable(accountId, email))
      assert.isTrue(yield* opens(access))
    })
  )

  it.effect("connecting again adds a connection and keeps the earlier ones", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* aUser()
      const first = yield* aConnection(cookie)
      const second = yield* aConnection(cookie)
      assert.isTrue(yield* opens(first.access))
      assert.isTrue(yield* opens(second.access))
      assert.lengthOf(yield* (yield* Connections).list(accountId), 2)
    })
  )

  it.effect("another account's connection cannot be ended, and its id is treated as unknown", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* aUser()
      const stranger = yield* aUser()
      const { access } = yield* aConnection(stranger.cookie)
      const connections = yield* Connections
      const [theirs] = yield* connections.list(stranger.accountId)
      assert(theirs !== undefined)
      const absent = ConnectionId.make("5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10")
      for (const id of [theirs.id, absent])
        assert.instanceOf(yield* Effect.flip(connections.disconnect(accountId, id)), NotFound)
      yield* aConnection(cookie)
      const { hidden } = yield* formOf(cookie)
      for (const id of [theirs.id, absent, "x"])
        assertErrorPage(
          yield* ask("/settings/connections/disconnect", { cookie, form: { ...hidden, id } }),
          404,
          /There is no such record/
        )
      assert.isTrue(yield* opens(access))
    })
  )

  it.effect("a form without the CSRF token ends nothing", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const stranger = yield* aUser()
      const { access } = yield* aConnection(cookie)
      yield* aConnection(stranger.cookie)
      const { hidden } = yield* formOf(cookie)
      const theirs = (yield* formOf(stranger.cookie)).hidden
      for (const path of ["/settings/connections/disconnect", "/settings/connections/disconnect-all"]) {
        const refused = (form: Readonly<Record<string, string>>, headers = {}) =>
          Effect.map(ask(path, { cookie, form, headers }), (answer) =>
            assertErrorPage(answer, 403, /did not come from/)
          )
        yield* refused({ id: String(hidden.id) })
        yield* refused({ id: String(hidden.id), csrf: String(theirs.csrf) })
        yield* refused(hidden, { origin: "https://evil.example" })
        yield* refused(hidden, { "sec-fetch-site": "cross-site" })
        assert.strictEqual(
          (yield* ask(path, { form: hidden })).headers.get("location"),
          "/sign-in?return_to=%2F&unsent=form"
        )
      }
      assert.isTrue(yield* opens(access))
    })
  )
})
