import { HttpApiClient, HttpClient, HttpClientRequest } from "@effect/platform"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { RestApi } from "../../src/api/RestApi.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity, TestServer } from "../../src/testing/index.ts"

layer(TestServer, { excludeTestServices: true })("the client that the definitions give", (it) => {
  it.effect("decodes the server's responses, including errors", () =>
    Effect.gen(function* () {
      const { actor, stores, token } = yield* anAccount({ domains: ["a.example"] })
      const id = yield* anEntity("product", { title: "Boots" }, { on: stores }).pipe(actingAs(actor))
      const client = yield* HttpApiClient.make(RestApi, {
        transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(token))
      })

      assert.deepStrictEqual(yield* client.ping.ping(), { status: "ok", account_id_present: true })
      const page = yield* client.catalog.listProducts({ urlParams: { limit: 10, status: "never_published" } })
      assert.deepStrictEqual(
        page.data.map(({ title }) => title),
        ["Boots"]
      )
      assert.strictEqual((yield* client.catalog.getProduct({ path: { id } })).title, "Boots")

      assert.deepStrictEqual(yield* client.storeData.listMarkets(), { data: [], next_cursor: null })
      const defined = yield* client.storeData.listMetafieldDefinitions({ urlParams: { owner_type: "shop" } })
      assert.deepStrictEqual(defined, { data: [], next_cursor: null })
      assert.deepStrictEqual(yield* client.storeData.listProductTranslations({ path: { id } }), {
        data: [],
        next_cursor: null,
        translatable_fields: []
      })

      const absent = EntityId.make("00000000-0000-4000-8000-000000000001")
      const missing = yield* Effect.flip(client.catalog.getProduct({ path: { id: absent } }))
      assert.strictEqual((missing as { readonly _tag?: string })._tag, "NotFound")
      const refused = yield* Effect.flip(client.catalog.listProducts({ urlParams: { limit: 1, cursor: "forged" } }))
      assert.strictEqual((refused as { readonly _tag?: string })._tag, "ValidationFailed")
      const forbidden = yield* Effect.flip(client.dataHealth.deleteUnused())
      assert.deepInclude((forbidden as { readonly error: object }).error, { code: "forbidden" })
    })
  )
})
