import { randomUUID } from "node:crypto"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import { PasswordCost } from "../../src/access/Passwords.ts"
import { Users } from "../../src/access/Users.ts"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import { Session } from "../../src/console/api/ConsoleApi.ts"
import { apiSurface, jsonOf } from "../../src/console/api/ConsoleApiSurface.ts"
import { get } from "../../src/console/assets/client.ts"
import { csrfOf } from "../../src/console/Browser.ts"
import { pageHeaders } from "../../src/console/Html.ts"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { Readiness } from "../../src/http/Health.ts"
import * as Http from "../../src/http/Http.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, CatalogChanges } from "../../src/testing/index.ts"
import { type Answer, aBrowser, addressOf, ask, aUser, bodyOf, PagesServer } from "../oauth/PagesServer.ts"
import { anyDatabase } from "../support/TestDatabase.ts"
import { aMerchant } from "./Merchant.ts"

const searchFor = (search: string, cookie?: string) =>
  ask(`/console-api/search?${new URLSearchParams({ search })}`, cookie === undefined ? {} : { cookie })

/** Checks a refusal: its status, its whole envelope and its headers. */
const assertEnvelope = (
  answer: Answer,
  status: number,
  error: { readonly code: string; readonly message: string; readonly details?: ReadonlyArray<object> }
) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.deepStrictEqual(bodyOf(answer), { error: { ...error, request_id: answer.headers.get("x-request-id") } })
  assert.strictEqual(answer.headers.get("content-type"), "application/json")
  assert.isNull(answer.headers.get("www-authenticate"))
  for (const [name, value] of Object.entries(pageHeaders)) assert.strictEqual(answer.headers.get(name), value, name)
}

const aNew = (kind: "product" | "collection", title: string) =>
  CatalogChange.CreateEntity({ id: EntityId.make(randomUUID()), kind, parentId: null, values: { title } })

const signInFirst = { code: "unauthorized", message: "Sign in first: there is no session, or it has ended." }

layer(PagesServer, { excludeTestServices: true })("the private API of the pages", (it) => {
  it.effect("finds products and collections by name and SKU", () =>
    Effect.gen(function* () {
      const { cookie, stove, tent } = yield* aMerchant
      const answer = yield* searchFor("the tent", cookie)
      assert.strictEqual(answer.status, 200, answer.text)
      const [found] = bodyOf(answer).data as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert.deepStrictEqual(bodyOf(answer), {
        data: [{ id: tent, kind: "product", title: "The tent", sku: found?.sku, path: `/entity?id=${tent}` }]
      })
      for (const [name, value] of Object.entries(pageHeaders)) assert.strictEqual(answer.headers.get(name), value, name)
      assert.isNull(answer.headers.get("x-ratelimit-limit"))
      const [camp] = bodyOf(yield* searchFor("CÁMP", cookie)).data as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert.deepInclude(camp, { kind: "collection", title: "Camp", sku: null })
      const sku = "stove-One"
      const bySku = bodyOf(yield* searchFor(sku, cookie)).data as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert.deepStrictEqual(
        bySku.map(({ id, sku }) => [id, String(sku).toLowerCase()]),
        [[stove, sku.toLowerCase()]]
      )
    })
  )

  it.effect("answers at most eight results, with places for collections", () =>
    Effect.gen(function* () {
      const { actor, cookie } = yield* aMerchant
      const { apply } = yield* CatalogChanges
      yield* Effect.forEach([..."abcdefghij"], (letter) =>
        apply([aNew("product", `Lantern ${letter}`), aNew("collection", `Lanterns ${letter}`)])
      ).pipe(actingAs(actor), Effect.orDie)
      const data = bodyOf(yield* searchFor("lantern", cookie)).data as ReadonlyArray<{ readonly kind: string }>
      assert.deepStrictEqual(
        data.map(({ kind }) => kind),
        [...Array<string>(5).fill("product"), ...Array<string>(3).fill("collection")]
      )
    })
  )

  it.effect("has the needle rules of the lists", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aMerchant
      const titles = (search: string) =>
        Effect.map(searchFor(search, cookie), (answer) =>
          (bodyOf(answer).data as ReadonlyArray<{ readonly title: string }>).map(({ title }) => title).sort()
        )
      // No words find nothing; every word must occur; two characters match only at the beginning of a word.
      assert.deepStrictEqual(yield* titles(""), [])
      assert.deepStrictEqual(yield* titles(" \u0085 "), [])
      assert.deepStrictEqual(yield* titles("the stove"), ["The stove"])
      assert.deepStrictEqual(yield* titles("tent stove"), [])
      assert.deepStrictEqual(yield* titles("ove"), ["The stove"])
      assert.deepStrictEqual(yield* titles("ov"), [])
      assert.deepStrictEqual(yield* titles("%"), [])
    })
  )

  it.effect("needs a session that has not ended", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email } = yield* aUser()
      assertEnvelope(yield* searchFor("x"), 401, signInFirst)
      // The session is checked before the parameters.
      assertEnvelope(yield* ask("/console-api/search"), 401, signInFirst)
      assertEnvelope(yield* searchFor("x", "catalog_session=unknown"), 401, signInFirst)
      const { apiKey } = yield* aUser()
      const withKey = yield* ask("/console-api/search?search=x", { headers: { authorization: `Bearer ${apiKey}` } })
      assertEnvelope(withKey, 401, signInFirst)
      assert.strictEqual((yield* searchFor("x", cookie)).status, 200)
      const other = yield* aBrowser(accountId, `other-${email}`)
      yield* Effect.orDie((yield* Users).disable(accountId, email))
      assertEnvelope(yield* searchFor("x", cookie), 401, signInFirst)
      assert.strictEqual((yield* searchFor("x", other.cookie)).status, 200)
    })
  )

  it.effect("shows nothing of another account", () =>
    Effect.gen(function* () {
      yield* aMerchant
      const { cookie } = yield* aUser()
      for (const search of ["tent", "stove", "camp"])
        assert.deepStrictEqual(bodyOf(yield* searchFor(search, cookie)), { data: [] })
    })
  )

  it.effect("refuses malformed parameters and methods in its envelope", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const misfit = (message: string) => ({
        code: "validation_failed",
        message: `search: ${message}`,
        details: [{ path: "search", message }]
      })
      for (const [query, message] of [
        ["", "is missing"],
        ["?search=a&search=b", "is given more than once"],
        [`?search=${"x".repeat(201)}`, "must have at most 200 characters"],
        ["?search=a%00b", "must not contain U+0000"]
      ] as const)
        assertEnvelope(yield* ask(`/console-api/search${query}`, { cookie }), 400, misfit(message))
      assertEnvelope(yield* ask("/console-api/search?search=x", { cookie, method: "POST" }), 405, {
        code: "method_not_allowed",
        message: "This path supports only GET and HEAD."
      })
    })
  )

  it.effect("is not part of REST v1", () =>
    Effect.gen(function* () {
      assert.notInclude((yield* ask("/openapi.json")).text, "console-api")
    })
  )
})

/** Only compiled: the compiler refuses what the definition does not have. */
export const wrongCalls = async (signal: AbortSignal) => {
  // @ts-expect-error: no such endpoint
  await get("serach", { search: "x" }, signal)
  // @ts-expect-error: no such parameter
  await get("search", { needle: "x" }, signal)
  const { data } = await get("search", { search: "x" }, signal)
  // @ts-expect-error: no such member
  return data.map(({ price }) => price)
}

const Written = Schema.Struct({ by: Schema.String })

/** An API with an unsafe method, which the private API does not have yet. */
class WritingApi extends HttpApi.make("writing").add(
  HttpApiGroup.make("writing").add(HttpApiEndpoint.post("write", "/write").addSuccess(Written)).middleware(Session)
) {}

const writing = apiSurface(
  WritingApi,
  "edit",
  HttpApiBuilder.group(WritingApi, "writing", (group) =>
    group.handle("write", () =>
      Effect.flatMap(CurrentActor, (actor) => jsonOf(Written)({ by: "userId" in actor ? String(actor.userId) : "" }))
    )
  )
)

/** A node that serves only this API. */
const WritingServer = addressOf().pipe(
  Layer.provideMerge(
    Http.layer({
      host: "127.0.0.1",
      port: 0,
      surface: { ...writing, layer: writing.layer.pipe(Layer.provide(Layer.succeed(BaseUrl, "http://127.0.0.1"))) }
    })
  ),
  Layer.provide(Readiness.layer(Effect.void)),
  Layer.provide(RateBudget.layerProcess({ perKey: 100_000, perAccount: 100_000 })),
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(anyDatabase),
  Layer.provideMerge(Logger.remove(Logger.defaultLogger)),
  Layer.provideMerge(Layer.succeed(PasswordCost, 2 ** 10)),
  Layer.orDie
)

layer(WritingServer, { excludeTestServices: true })("an unsafe method of such an API", (it) => {
  it.effect("needs the role, and the CSRF token of the session", () =>
    Effect.gen(function* () {
      const { accountId, cookie, userId } = yield* aUser()
      const csrf = csrfOf(cookie.split("=")[1] ?? "")
      const write = (headers: Readonly<Record<string, string>>, as = cookie) =>
        ask("/write", { cookie: as, headers, method: "POST" })
      const noToken = { code: "forbidden", message: "Send the CSRF token of the session in the header x-csrf-token." }
      const written = yield* write({ "x-csrf-token": csrf })
      assert.deepStrictEqual([written.status, bodyOf(written)], [200, { by: userId }])
      assertEnvelope(yield* write({}), 403, noToken)
      assertEnvelope(yield* write({ "x-csrf-token": "x" }), 403, noToken)
      assertEnvelope(yield* write({ "x-csrf-token": csrf, origin: "https://other.example" }), 403, noToken)
      assertEnvelope(yield* write({ "x-csrf-token": csrf }, "catalog_session=unknown"), 401, signInFirst)
      const viewer = yield* aBrowser(accountId, `viewer-${accountId}@example.com`, "view")
      const ofViewer = csrfOf(viewer.cookie.split("=")[1] ?? "")
      assertEnvelope(yield* write({ "x-csrf-token": ofViewer }), 403, noToken)
      assertEnvelope(yield* write({ "x-csrf-token": ofViewer }, viewer.cookie), 403, {
        code: "forbidden",
        message: "This needs the role edit. Yours is view."
      })
    })
  )
})
