import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { fromRandomBytes } from "../../src/access/ApiKeyToken.ts"
import { RestApi } from "../../src/api/RestApi.ts"
import { routesOf } from "../../src/http/RouteTable.ts"
import { ask, assertHeaders, assertRefusal, MemoryServer, type Refusal, refusals } from "./Exchange.ts"
import { aCatalog, aKey, anExpiredKey, aRevokedKey, bodyOf, jsonType, queryOf, targetOf } from "./Fixtures.ts"

const routes = routesOf(RestApi)
const neverMinted = fromRandomBytes((count) => new Uint8Array(count).fill(9))

const lacking = { "pim:read": refusals.noRead, "pim:write": refusals.noWrite, "pim:delete": refusals.noDelete } as const

layer(MemoryServer)("every endpoint with every credential", (it) => {
  assert.isAtLeast(routes.length, 26)
  for (const { authenticated, method, path, scope } of routes)
    it.effect(`${method} ${path}`, () =>
      Effect.gen(function* () {
        const { accountId, ids, stores, token } = yield* aCatalog()
        const target = `${targetOf(path, ids, stores[0]?.id ?? "")}${queryOf[path] ?? ""}`
        const body = bodyOf[path]
        const sent = body === undefined ? {} : { headers: jsonType, body: JSON.stringify(body) }
        const send = (key: string | undefined) => ask(target, { method, token: key, ...sent })
        assert.isTrue(authenticated)

        const { paths } = JSON.parse((yield* ask("/api/v1/openapi.json")).text)
        const documented: Readonly<Record<string, unknown>> =
          paths[path.replace(/:(\w+)/g, "{$1}")][method.toLowerCase()].responses

        const expired = yield* anExpiredKey(accountId)
        for (const key of [
          undefined,
          "",
          "malformed",
          `${token}x`,
          neverMinted,
          expired,
          yield* aRevokedKey(accountId)
        ])
          assertRefusal(yield* send(key), refusals.unauthorized)
        assert.property(documented, "401")

        for (const held of ["pim:read", "pim:write"] as const) {
          const answer = yield* send((yield* aKey(accountId, [held])).token)
          const refusal: Refusal | undefined = scope === undefined || scope === held ? undefined : lacking[scope]
          if (refusal === undefined) assert.strictEqual(answer.status, 200, answer.text)
          else assertRefusal(answer, refusal)
          assert.property(documented, String(answer.status))
        }

        const answer = yield* send(token)
        assert.property(documented, String(answer.status))
        if (scope === "pim:delete") assertRefusal(answer, refusals.noDelete)
        else {
          assert.strictEqual(answer.status, 200)
          assertHeaders(answer, ["content-type", "etag"])
        }
      })
    )

  it.effect("a revoked key is refused from the next request on", () =>
    Effect.gen(function* () {
      const { accountId } = yield* aCatalog()
      const token = yield* aRevokedKey(accountId)
      const alive = yield* aKey(accountId, ["pim:read"])
      assert.strictEqual((yield* ask("/api/v1/products", { token: alive.token })).status, 200)
      assertRefusal(yield* ask("/api/v1/products", { token }), refusals.unauthorized)
    })
  )
})
