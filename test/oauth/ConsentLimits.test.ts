import { randomUUID } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Connections } from "../../src/connections/Connections.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { anAccount } from "../../src/testing/index.ts"
import {
  aBrowser,
  aClient,
  ask,
  assertErrorPage,
  consentForm,
  decide,
  newVerifier,
  PagesServer,
  redeem,
  refresh,
  sentBack,
  tokensOf
} from "./PagesServer.ts"

let browsers = 0

/** An account with two stores, and the browser of one of its users. */
const aMerchant = Effect.gen(function* () {
  const { accountId, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const { cookie } = yield* aBrowser(accountId, `limits-${++browsers}@example.com`)
  return { accountId, cookie, stores }
})

/** Consents with these form fields. Returns the tokens. */
const connectWith = (cookie: string, fields: Readonly<Record<string, string>>, scope?: string) =>
  Effect.gen(function* () {
    const request = { clientId: yield* aClient(), verifier: newVerifier(), with: { scope } }
    const { hidden } = yield* consentForm(cookie, request)
    const answer = yield* decide(cookie, { ...hidden, tier: "pim:publish", decision: "allow", ...fields })
    const { parameters } = sentBack(answer)
    return { clientId: request.clientId, ...tokensOf(yield* redeem(request, parameters.code ?? "")) }
  })

const boundsOf = (token: string) =>
  Effect.gen(function* () {
    const found = yield* (yield* Connections).authenticate(token, `${yield* BaseUrl}/mcp`)
    const { confirmPublish, stores } = Option.getOrThrow(found)
    return { confirmPublish, stores }
  })

layer(PagesServer, { excludeTestServices: true })("limits that the merchant sets at consent", (it) => {
  it.effect(
    "the page offers each store and the confirmation of publishes; without a choice: all stores, no confirmation",
    () =>
      Effect.gen(function* () {
        const { accountId, cookie, stores } = yield* aMerchant
        const clientId = yield* aClient()
        const { page } = yield* consentForm(cookie, { clientId, verifier: newVerifier() })
        const boxes = [...page.text.matchAll(/<input type="checkbox" name="([^"]*)" value="on"\/?>/g)].map(
          ([, name]) => name
        )
        assert.deepStrictEqual(boxes, [...stores.map(({ id }) => `store_${id}`), "confirm_publish"])
        for (const text of ["a.example", "b.example", "Ask me before each publish"]) assert.include(page.text, text)
        const reading = yield* consentForm(cookie, { clientId, verifier: newVerifier(), with: { scope: "pim:write" } })
        assert.notInclude(reading.page.text, "Ask me before each publish")
        const { access } = yield* connectWith(cookie, {})
        assert.deepStrictEqual(yield* boundsOf(access), { confirmPublish: false, stores: null })
        const [connection] = yield* (yield* Connections).list(accountId)
        assert.deepInclude(connection, { confirmPublish: false, storeDomains: null })
        const shown = yield* ask("/settings/connections", { cookie })
        assert.include(shown.text, "<dt>Stores</dt><dd>all</dd>")
        assert.notInclude(shown.text, "before each publish")
      })
  )

  it.effect("the chosen limits apply to the connection and its refreshed tokens, and are listed", () =>
    Effect.gen(function* () {
      const { accountId, cookie, stores } = yield* aMerchant
      const [, second] = stores
      const fields = { [`store_${second.id}`]: "on", confirm_publish: "on" }
      const { access, clientId, ...tokens } = yield* connectWith(cookie, fields)
      const bounds = { confirmPublish: true, stores: [second.id] }
      assert.deepStrictEqual(yield* boundsOf(access), bounds)
      assert.deepStrictEqual(yield* boundsOf(tokensOf(yield* refresh(clientId, tokens.refresh)).access), bounds)
      const [connection] = yield* (yield* Connections).list(accountId)
      assert.deepInclude(connection, { confirmPublish: true, storeDomains: ["b.example"] })
      const shown = yield* ask("/settings/connections", { cookie })
      assert.include(shown.text, "<dt>Stores</dt><dd>b.example</dd>")
      assert.include(shown.text, "<dt>Publishing</dt><dd>asks you before each publish</dd>")
    })
  )

  it.effect("a store that is not the account's: a page, no code, and the consent can still be decided", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, cookie, stores } = yield* aMerchant
      const stranger = yield* aMerchant
      const request = { clientId: yield* aClient(), verifier: newVerifier() }
      const { hidden } = yield* consentForm(cookie, request)
      for (const id of [stranger.stores[0].id, randomUUID(), "", "x", stores[0].id.toUpperCase()])
        assertErrorPage(
          yield* decide(cookie, {
            ...hidden,
            tier: "pim:read",
            decision: "allow",
            [`store_${stores[0].id}`]: "on",
            [`store_${id}`]: "on"
          }),
          400,
          /A store that you chose is no longer linked/
        )
      const codes = sql`SELECT FROM oauth_code WHERE account_id = ${accountId}`
      assert.lengthOf(yield* codes, 0)
      sentBack(
        yield* decide(cookie, { ...hidden, tier: "pim:read", decision: "allow", [`store_${stores[0].id}`]: "on" })
      )
      assert.lengthOf(yield* codes, 1)
    })
  )
})
