import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Users } from "../../src/access/Users.ts"
import { Connections } from "../../src/connections/Connections.ts"
import { shortName, Tier, tierOfRole } from "../../src/connections/Tier.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { Role } from "../../src/model/Role.ts"
import {
  aBrowser,
  aClient,
  aCode,
  aConnection,
  ask,
  aUser,
  consentForm,
  decide,
  newVerifier,
  PagesServer,
  redeem,
  refresh,
  sentBack,
  tokensOf
} from "./PagesServer.ts"

const credentialOf = (token: string) =>
  Effect.gen(function* () {
    const found = yield* (yield* Connections).authenticate(token, `${yield* BaseUrl}/mcp`)
    return Option.getOrUndefined(found)
  })

const setRole = (accountId: Parameters<typeof aBrowser>[0], email: string, role: Role) =>
  Effect.flatMap(Users, (users) => Effect.orDie(users.setRole(accountId, email, role)))

/** A new user of an account with an administrator. */
const aColleague = (role: Role) =>
  Effect.gen(function* () {
    const { accountId } = yield* aUser()
    const email = `${role}-${accountId}@example.com`
    return { accountId, email, ...(yield* aBrowser(accountId, email, role)) }
  })

layer(PagesServer, { excludeTestServices: true })("roles and connections", (it) => {
  it.effect("the consent page offers the tiers that the role includes, and grants no higher one", () =>
    Effect.gen(function* () {
      const expected = {
        view: ["pim:read"],
        edit: ["pim:read", "pim:write"],
        publish: ["pim:read", "pim:write", "pim:publish"],
        admin: ["pim:read", "pim:write", "pim:publish"]
      }
      for (const role of Role.literals) {
        const { cookie } = yield* aColleague(role)
        const request = { clientId: yield* aClient(), verifier: newVerifier(), with: { scope: "pim:publish" } }
        const { hidden, page, tiers } = yield* consentForm(cookie, request)
        assert.deepStrictEqual(
          tiers,
          expected[role].map((tier, index) => [tier, index === expected[role].length - 1])
        )
        assert.strictEqual(page.text.includes("so you cannot allow more"), role === "view" || role === "edit")
        const sent = sentBack(yield* decide(cookie, { ...hidden, tier: "pim:publish", decision: "allow" }))
        const tokens = tokensOf(yield* redeem(request, String(sent.parameters.code)))
        assert.strictEqual(tokens.scope, expected[role].join(" "))
        assert.strictEqual((yield* credentialOf(tokens.access))?.tier, tierOfRole(role))
      }
    })
  )

  it.effect(
    "a lower role limits connections at their next call, also codes and refreshes; a higher role lifts the limit",
    () =>
      Effect.gen(function* () {
        const { accountId, cookie, email } = yield* aColleague("publish")
        const { access, clientId, ...tokens } = yield* aConnection(cookie, "pim:publish")
        const request = { clientId: yield* aClient(), verifier: newVerifier() }
        const code = yield* aCode(cookie, request, "pim:publish")
        const tierNow = Effect.map(credentialOf(access), (credential) => credential?.tier)
        const listed = Effect.map(
          Effect.flatMap(Connections, ({ list }) => list(accountId)),
          (all) => all.map(({ tier }) => tier)
        )
        assert.strictEqual(yield* tierNow, "pim:publish")
        yield* setRole(accountId, email, "view")
        assert.strictEqual(yield* tierNow, "pim:read")
        assert.deepStrictEqual(yield* listed, ["pim:read"])
        assert.strictEqual(tokensOf(yield* redeem(request, code)).scope, "pim:read")
        const refreshed = tokensOf(
          yield* refresh(clientId, tokens.refresh, { scope: "pim:read pim:write pim:publish" })
        )
        assert.strictEqual(refreshed.scope, "pim:read")
        yield* setRole(accountId, email, "edit")
        assert.strictEqual(yield* tierNow, "pim:write")
        yield* setRole(accountId, email, "admin")
        assert.strictEqual(yield* tierNow, "pim:publish")
        // The second connection began with the lower tier and keeps it.
        assert.sameMembers([...(yield* listed)], ["pim:publish", "pim:read"])
        const again = tokensOf(yield* refresh(clientId, refreshed.refresh))
        assert.strictEqual(again.scope, "pim:read pim:write pim:publish")
      })
  )

  it.effect("the consent page of a role that was lowered meanwhile grants the lower tier", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email } = yield* aColleague("publish")
      const request = { clientId: yield* aClient(), verifier: newVerifier() }
      const { hidden } = yield* consentForm(cookie, request)
      yield* setRole(accountId, email, "edit")
      const sent = sentBack(yield* decide(cookie, { ...hidden, tier: "pim:publish", decision: "allow" }))
      assert.strictEqual(tokensOf(yield* redeem(request, String(sent.parameters.code))).scope, "pim:read pim:write")
    })
  )

  it.effect("a tool above the role reports this in its result, because a new consent would not help", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email } = yield* aColleague("publish")
      const { access } = yield* aConnection(cookie, "pim:publish")
      yield* setRole(accountId, email, "view")
      const answer = yield* ask("/mcp", {
        json: {
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "run_data_health_scan_v1", arguments: { dimension: "completeness" } }
        },
        headers: { authorization: `Bearer ${access}`, accept: "application/json, text/event-stream" }
      })
      assert.strictEqual(answer.status, 200, answer.text)
      const { result } = JSON.parse(/^data: (.*)$/m.exec(answer.text)?.[1] ?? answer.text) as {
        result: { isError: boolean; content: ReadonlyArray<{ text: string }> }
      }
      assert.isTrue(result.isError)
      assert.include(
        String(result.content[0]?.text),
        'and the user who connected this agent has the role "View", which limits it to "Read". Nothing was done. An administrator of the account can change the role on the page Team.'
      )
    })
  )

  it.effect("every role has a tier", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(
        Role.literals.map((role) => shortName(tierOfRole(role))),
        ["read", "write", "publish", "publish"]
      )
      assert.lengthOf(Tier.literals, 3)
    })
  )
})
