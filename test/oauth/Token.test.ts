import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Connections } from "../../src/connections/Connections.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { engines } from "../support/TestDatabase.ts"
import {
  aClient,
  aCode,
  aConnection,
  ask,
  assertRefused,
  aUser,
  bodyOf,
  later,
  newVerifier,
  pagesServer,
  redeem,
  redirectUri,
  tokensOf
} from "./PagesServer.ts"

/** Whether an access token is valid. */
const opens = (token: string) =>
  Effect.gen(function* () {
    const resource = `${yield* BaseUrl}/mcp`
    return Option.isSome(yield* (yield* Connections).authenticate(token, resource))
  })

/** A client, and a code that was issued to it. */
const issued = Effect.gen(function* () {
  const user = yield* aUser()
  const clientId = yield* aClient()
  const verifier = newVerifier()
  return { ...user, clientId, verifier, code: yield* aCode(user.cookie, { clientId, verifier }) }
})

for (const { absent, empty, name } of engines)
  describe.skipIf(absent)(`the token endpoint (${name})`, () => {
    layer(pagesServer({}, empty), { excludeTestServices: true })((it) => {
      it.effect(
        "exchanges a code for a bearer token valid for an hour, a refresh token and the scope; the answer is not cached",
        () =>
          Effect.gen(function* () {
            const { code, ...client } = yield* issued
            const answer = yield* redeem(client, code, { resource: `${yield* BaseUrl}/mcp` })
            assert.strictEqual(answer.status, 200, answer.text)
            const { access_token, refresh_token, ...rest } = bodyOf(answer)
            assert.deepStrictEqual(rest, {
              token_type: "Bearer",
              expires_in: 3_600,
              scope: "pim:read pim:write pim:publish"
            })
            assert.match(String(access_token), /^pim_at_[A-Za-z0-9_-]{43}$/)
            assert.match(String(refresh_token), /^pim_rt_[A-Za-z0-9_-]{43}$/)
            assert.strictEqual(answer.headers.get("content-type"), "application/json")
            assert.strictEqual(answer.headers.get("cache-control"), "no-store")
            assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
            assert.isTrue(yield* opens(String(access_token)))
            assert.isTrue(yield* later(3_590, opens(String(access_token))))
            assert.isFalse(yield* later(3_601, opens(String(access_token))))
          })
      )

      it.effect("a wrong verifier is refused and uses up the code", () =>
        Effect.gen(function* () {
          for (const wrong of [newVerifier(), "short", "x".repeat(129)]) {
            const { code, ...client } = yield* issued
            assertRefused(yield* redeem({ ...client, verifier: wrong }, code), 400, "invalid_grant")
            assertRefused(yield* redeem(client, code), 400, "invalid_grant")
          }
        })
      )

      it.effect("a code that is used again is refused and ends the connection of its first use", () =>
        Effect.gen(function* () {
          const { accountId, code, ...client } = yield* issued
          const tokens = tokensOf(yield* redeem(client, code))
          assert.isTrue(yield* opens(tokens.access))
          assertRefused(yield* redeem(client, code), 400, "invalid_grant")
          assert.isFalse(yield* opens(tokens.access))
          const [connection] = yield* (yield* Connections).list(accountId)
          assert.strictEqual(connection?.endReason, "code_replayed")
          // The same minutes later.
          const late = yield* issued
          const lateTokens = tokensOf(yield* redeem(late, late.code))
          assertRefused(yield* later(600, redeem(late, late.code)), 400, "invalid_grant")
          assert.isFalse(yield* opens(lateTokens.access))
        })
      )

      it.effect("refuses an expired code", () =>
        Effect.gen(function* () {
          const { code, ...client } = yield* issued
          assertRefused(yield* later(61, redeem(client, code)), 400, "invalid_grant")
          assert.strictEqual((yield* later(30, redeem(client, code))).status, 200)
        })
      )

      it.effect("refuses another client's code", () =>
        Effect.gen(function* () {
          const { code, ...client } = yield* issued
          const other = yield* aClient()
          assertRefused(yield* redeem({ ...client, clientId: other }, code), 400, "invalid_grant")
          assert.strictEqual((yield* redeem(client, code)).status, 200)
        })
      )

      it.effect("refuses another redirect; the redirect can be left out, as in OAuth 2.1", () =>
        Effect.gen(function* () {
          const { code, ...client } = yield* issued
          assertRefused(yield* redeem(client, code, { redirect_uri: `${redirectUri}x` }), 400, "invalid_grant")
          assert.strictEqual((yield* redeem(client, code, { redirect_uri: "" })).status, 200)
        })
      )

      it.effect("refuses another resource", () =>
        Effect.gen(function* () {
          const { code, ...client } = yield* issued
          assertRefused(yield* redeem(client, code, { resource: "https://other.example/mcp" }), 400, "invalid_target")
          assert.strictEqual((yield* redeem(client, code, { resource: `${yield* BaseUrl}/` })).status, 200)
        })
      )

      for (const grant_type of [
        "password",
        "client_credentials",
        "implicit",
        "urn:ietf:params:oauth:grant-type:jwt-bearer"
      ])
        it.effect(`refuses the grant type ${grant_type}`, () =>
          Effect.gen(function* () {
            const client_id = yield* aClient()
            assertRefused(
              yield* ask("/oauth/token", { form: { grant_type, client_id } }),
              400,
              "unsupported_grant_type"
            )
          })
        )

      it.effect("refuses JSON, a repeated or missing parameter, and a body that is not a form", () =>
        Effect.gen(function* () {
          const { clientId, code, verifier } = yield* issued
          const whole = {
            grant_type: "authorization_code",
            client_id: clientId,
            code,
            code_verifier: verifier,
            redirect_uri: redirectUri
          }
          assertRefused(yield* ask("/oauth/token", { json: whole }), 400, "invalid_request")
          assertRefused(yield* ask("/oauth/token", { method: "POST" }), 400, "invalid_request")
          const twice = `${new URLSearchParams(whole)}&code=${code}`
          assertRefused(yield* ask("/oauth/token", { form: twice }), 400, "invalid_request")
          for (const name of ["grant_type", "client_id", "code", "code_verifier"]) {
            const rest = Object.fromEntries(Object.entries(whole).filter(([each]) => each !== name))
            assertRefused(yield* ask("/oauth/token", { form: rest }), 400, "invalid_request")
            assertRefused(yield* ask("/oauth/token", { form: { ...rest, [name]: "" } }), 400, "invalid_request")
          }
          const refreshing = { grant_type: "refresh_token", client_id: clientId }
          assertRefused(yield* ask("/oauth/token", { form: refreshing }), 400, "invalid_request")
          assertRefused(yield* ask("/oauth/token", { form: "grant_type=%FF" }), 400, "invalid_request")
          assertRefused(yield* ask("/oauth/token", { form: "grant_type=%" }), 400, "invalid_request")
          assertRefused(yield* ask("/oauth/token", { form: { ...whole, code: `${code}\u0000` } }), 400, "invalid_grant")
          assertRefused(yield* ask("/oauth/token", { form: { x: "y".repeat(20_000) } }), 413, "invalid_request")
          assert.strictEqual((yield* ask("/oauth/token", { form: whole })).status, 200)
        })
      )

      it.effect("refuses an unknown client", () =>
        Effect.gen(function* () {
          const { code, verifier } = yield* issued
          for (const clientId of ["5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "agent", "\u0000"])
            assertRefused(yield* redeem({ clientId, verifier }, code), 401, "invalid_client")
        })
      )

      it.effect("a client with only an Authorization header is refused; with client_id the header is ignored", () =>
        Effect.gen(function* () {
          const { clientId, code, verifier } = yield* issued
          const headers = { authorization: `Basic ${btoa(`${clientId}:secret`)}` }
          const form = { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: redirectUri }
          const nameless = yield* ask("/oauth/token", { form, headers })
          assertRefused(nameless, 401, "invalid_client")
          const unknown = { ...form, client_id: "agent" }
          assertRefused(yield* ask("/oauth/token", { form: unknown, headers }), 401, "invalid_client")
          assert.strictEqual(nameless.headers.get("www-authenticate"), 'Basic realm="Catalog"')
          // With this header, browsers would ask for a password.
          const plain = yield* ask("/oauth/token", { form: unknown })
          assert.isNull(plain.headers.get("www-authenticate"))
          const named = yield* ask("/oauth/token", { form: { ...form, client_id: clientId }, headers })
          assert.strictEqual(named.status, 200, named.text)
        })
      )

      it.effect("refuses GET", () =>
        Effect.gen(function* () {
          const answer = yield* ask("/oauth/token?grant_type=authorization_code")
          assert.strictEqual(answer.status, 405)
          assert.strictEqual(answer.headers.get("allow"), "OPTIONS, POST")
          assert.strictEqual(bodyOf(answer).error, "invalid_request")
        })
      )

      it.effect("refuses refresh tokens, codes, random and malformed tokens, and tokens for another resource", () =>
        Effect.gen(function* () {
          const { cookie } = yield* aUser()
          const { access, code, refresh } = yield* aConnection(cookie)
          assert.isTrue(yield* opens(access))
          for (const token of [
            refresh,
            code,
            `pim_at_${"x".repeat(43)}`,
            refresh.replace("pim_rt_", "pim_at_"),
            `${access}x`,
            access.slice(0, -1),
            "",
            "\u0000"
          ])
            assert.isFalse(yield* opens(token), token)
          const { authenticate } = yield* Connections
          assert.isTrue(Option.isNone(yield* authenticate(access, "https://other.example/mcp")))
        })
      )

      it.effect("the REST API refuses tokens of connections", () =>
        Effect.gen(function* () {
          const { apiKey, cookie } = yield* aUser()
          const { access } = yield* aConnection(cookie)
          const ping = (token: string) =>
            Effect.map(ask("/api/v1/ping", { headers: { authorization: `Bearer ${token}` } }), ({ status }) => status)
          assert.strictEqual(yield* ping(access), 401)
          assert.strictEqual(yield* ping(apiKey), 200)
          // The connector refuses API keys as access tokens.
          assert.isFalse(yield* opens(apiKey))
        })
      )
    })
  })
