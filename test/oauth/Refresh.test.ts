import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Sessions } from "../../src/access/Sessions.ts"
import { Users } from "../../src/access/Users.ts"
import { Authorization } from "../../src/connections/Authorization.ts"
import { Connections } from "../../src/connections/Connections.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import {
  aBrowser,
  aClient,
  aConnection,
  ask,
  assertRefused,
  aUser,
  later,
  PagesServer,
  refresh,
  tokensOf
} from "./PagesServer.ts"

const opens = (token: string) =>
  Effect.gen(function* () {
    const resource = `${yield* BaseUrl}/mcp`
    return Option.isSome(yield* (yield* Connections).authenticate(token, resource))
  })

const revoke = (form: Readonly<Record<string, string>>) => ask("/oauth/revoke", { form })

layer(PagesServer, { excludeTestServices: true })("refreshing", (it) => {
  it.effect("exchanges a refresh token for new tokens repeatedly, for at most 180 days", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const { clientId, ...first } = yield* aConnection(cookie, "pim:write")
      const day = 86_400
      let token = first.refresh
      for (const days of [20, 45, 70, 95, 120, 145, 170]) {
        const next = tokensOf(yield* later(days * day, refresh(clientId, token)))
        assert.notStrictEqual(next.refresh, token)
        assert.strictEqual(next.scope, "pim:read pim:write")
        assert.isTrue(yield* later(days * day + 3_500, opens(next.access)))
        assert.isFalse(yield* later(days * day + 3_601, opens(next.access)))
        token = next.refresh
      }
      // The token would be valid for 30 days after its last use, but nothing is valid 180 days after the consent.
      assertRefused(yield* later(180 * day + 1, refresh(clientId, token)), 400, "invalid_grant")
      const last = tokensOf(yield* later(180 * day - 600, refresh(clientId, token)))
      assert.isFalse(yield* later(180 * day + 1, opens(last.access)))
    })
  )

  it.effect("a refresh token is valid for 30 days", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const { clientId, ...tokens } = yield* aConnection(cookie)
      assertRefused(yield* later(30 * 86_400 + 1, refresh(clientId, tokens.refresh)), 400, "invalid_grant")
      assert.strictEqual((yield* later(30 * 86_400 - 60, refresh(clientId, tokens.refresh))).status, 200)
    })
  )

  it.effect("an old refresh token that is used again later ends the connection, and the page shows the reason", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* aUser()
      const { access, clientId, ...first } = yield* aConnection(cookie)
      const second = tokensOf(yield* refresh(clientId, first.refresh))
      assert.isTrue(yield* opens(access))
      assertRefused(yield* later(31, refresh(clientId, first.refresh)), 400, "invalid_grant")
      for (const token of [access, second.access]) assert.isFalse(yield* opens(token))
      assertRefused(yield* refresh(clientId, second.refresh), 400, "invalid_grant")
      const [connection] = yield* (yield* Connections).list(accountId)
      assert.strictEqual(connection?.endReason, "token_replayed")
      const page = yield* ask("/settings/connections", { cookie })
      assert.include(page.text, "A refresh token was used a second time")
    })
  )

  it.effect("an old refresh token ends the connection at once if its successor was already used", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const { clientId, ...first } = yield* aConnection(cookie)
      const second = tokensOf(yield* refresh(clientId, first.refresh))
      const third = tokensOf(yield* refresh(clientId, second.refresh))
      assertRefused(yield* refresh(clientId, first.refresh), 400, "invalid_grant")
      assert.isFalse(yield* opens(third.access))
      assertRefused(yield* refresh(clientId, third.refresh), 400, "invalid_grant")
    })
  )

  it.effect("a refresh token used a moment ago, whose successors are unused, issues tokens three more times", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const { clientId, ...first } = yield* aConnection(cookie)
      const answers = []
      for (let time = 0; time < 4; time++) answers.push(tokensOf(yield* refresh(clientId, first.refresh)))
      // A fifth use is refused, but does not end the connection.
      assertRefused(yield* refresh(clientId, first.refresh), 400, "invalid_grant")
      assert.lengthOf([...new Set(answers.map(({ access }) => access))], 4)
      for (const { access } of answers) assert.isTrue(yield* opens(access))
      // Each of the issued refresh tokens works.
      for (const { refresh: token } of answers) assert.strictEqual((yield* refresh(clientId, token)).status, 200)
    })
  )

  it.effect(
    "a wider scope is refused without using up the token; a narrower one limits only the new access token",
    () =>
      Effect.gen(function* () {
        const { cookie } = yield* aUser()
        const { clientId, ...first } = yield* aConnection(cookie, "pim:write")
        for (const scope of ["pim:publish", "pim:read pim:publish", "admin"])
          assertRefused(yield* refresh(clientId, first.refresh, { scope }), 400, "invalid_scope")
        const narrow = tokensOf(yield* refresh(clientId, first.refresh, { scope: "pim:read" }))
        assert.strictEqual(narrow.scope, "pim:read")
        const resource = `${yield* BaseUrl}/mcp`
        const credential = yield* (yield* Connections).authenticate(narrow.access, resource)
        assert.strictEqual(Option.getOrThrow(credential).tier, "pim:read")
        assert.strictEqual(tokensOf(yield* refresh(clientId, narrow.refresh)).scope, "pim:read pim:write")
      })
  )

  it.effect("refuses another client and another resource", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const { clientId, ...first } = yield* aConnection(cookie)
      assertRefused(yield* refresh(yield* aClient(), first.refresh), 400, "invalid_grant")
      const resource = "https://other.example/mcp"
      assertRefused(yield* refresh(clientId, first.refresh, { resource }), 400, "invalid_target")
      assertRefused(yield* refresh(clientId, first.access), 400, "invalid_grant")
      assertRefused(yield* refresh(clientId, `pim_rt_${"x".repeat(43)}`), 400, "invalid_grant")
      // None of these requests used up the token.
      const second = tokensOf(yield* refresh(clientId, first.refresh))
      tokensOf(yield* refresh(clientId, second.refresh))
    })
  )

  it.effect("revocation always answers 200 and ends only the client's own tokens", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* aUser()
      const { clientId, ...tokens } = yield* aConnection(cookie)
      const other = yield* aClient()
      for (const form of [
        { token: tokens.refresh, client_id: other },
        { token: tokens.access, client_id: other },
        { token: tokens.refresh },
        { token: `pim_rt_${"x".repeat(43)}`, client_id: clientId },
        { token: "\u0000", client_id: "\u0000" },
        { client_id: clientId },
        {}
      ] as ReadonlyArray<Readonly<Record<string, string>>>) {
        const answer = yield* revoke(form)
        assert.deepStrictEqual([answer.status, answer.text], [200, ""])
      }
      assert.isTrue(yield* opens(tokens.access))
      // Revoking an access token ends only this token.
      assert.strictEqual((yield* revoke({ token: tokens.access, client_id: clientId })).status, 200)
      assert.isFalse(yield* opens(tokens.access))
      const next = tokensOf(yield* refresh(clientId, tokens.refresh))
      assert.isTrue(yield* opens(next.access))
      // Revoking a refresh token ends its connection.
      const hint = { token_type_hint: "access_token" }
      assert.strictEqual((yield* revoke({ token: next.refresh, client_id: clientId, ...hint })).status, 200)
      assert.isFalse(yield* opens(next.access))
      assertRefused(yield* refresh(clientId, next.refresh), 400, "invalid_grant")
      const [connection] = yield* (yield* Connections).list(accountId)
      assert.strictEqual(connection?.endReason, "revoked")
    })
  )

  it.effect("tokens and codes of a disabled user are refused", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email } = yield* aUser()
      const { access, clientId, ...tokens } = yield* aConnection(cookie)
      yield* aBrowser(accountId, `colleague-of-${email}`)
      yield* Effect.orDie((yield* Users).disable(accountId, email))
      assert.isFalse(yield* opens(access))
      assertRefused(yield* refresh(clientId, tokens.refresh), 400, "invalid_grant")
      assert.strictEqual((yield* ask("/settings/connections", { cookie })).status, 303)
    })
  )

  it.effect("expired rows are deleted; rows that can still be used stay", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, cookie } = yield* aUser()
      const { clientId, ...first } = yield* aConnection(cookie)
      const idle = yield* aClient()
      tokensOf(yield* refresh(clientId, first.refresh))
      const forget = Effect.gen(function* () {
        return (yield* (yield* Authorization).forget) + (yield* (yield* Sessions).forget)
      })
      const counts = Effect.gen(function* () {
        const [row] = yield* sql`
          SELECT (SELECT count(*)::int FROM oauth_token WHERE account_id = ${accountId} AND kind = 'access') AS access,
                 (SELECT count(*)::int FROM oauth_token WHERE account_id = ${accountId} AND kind = 'refresh') AS refresh,
                 (SELECT count(*)::int FROM oauth_request WHERE account_id = ${accountId}) AS requests,
                 (SELECT count(*)::int FROM oauth_code WHERE account_id = ${accountId}) AS codes,
                 (SELECT count(*)::int FROM session WHERE account_id = ${accountId}) AS sessions,
                 (SELECT count(*)::int FROM password_link WHERE account_id = ${accountId}) AS links,
                 (SELECT count(*)::int FROM attempt) AS attempts,
                 (SELECT count(*)::int FROM oauth_client WHERE id = ${idle}) AS idle,
                 (SELECT count(*)::int FROM oauth_client WHERE id = ${clientId}) AS connected,
                 (SELECT count(*)::int FROM oauth_grant WHERE client_id = ${clientId}) AS connections`
        return row
      })
      const before = yield* counts
      assert.isAtLeast(Number(before?.access), 2)
      assert.strictEqual(yield* forget, 0)
      assert.deepStrictEqual(yield* counts, before)
      yield* later(86_400 - 60, forget)
      assert.deepInclude(yield* counts, { access: 0, requests: 0, sessions: 0, attempts: 0, idle: 1, connected: 1 })
      yield* later(86_400 * 1.1, forget)
      assert.deepInclude(yield* counts, { codes: 0, links: 0, idle: 0, connected: 1 })
      assert.isAtLeast(Number((yield* counts)?.refresh), 2)
      yield* later(86_400 * 31, forget)
      assert.deepInclude(yield* counts, { refresh: 0, connected: 1, connections: 1 })
    })
  )
})
