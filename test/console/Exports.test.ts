import { get, type IncomingMessage } from "node:http"
import { HttpServer } from "@effect/platform"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { listeningOn } from "../../src/http/BaseUrl.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { actingAs, anEntity, Catalog } from "../../src/testing/index.ts"
import { ask, assertErrorPage, PagesServer } from "../oauth/PagesServer.ts"
import { aMerchant, assertForeignForm, assertNotThere, assertPage, csrfOf } from "./Merchant.ts"

const file = "/exports/catalog.jsonl"

/** A download whose receiver reads nothing. */
const unread = (cookie: string) =>
  Effect.gen(function* () {
    const url = new URL(file, listeningOn((yield* HttpServer.HttpServer).address))
    return yield* Effect.async<IncomingMessage>((resume) => {
      get(url, { headers: { cookie } }, (response) => resume(Effect.succeed(response.pause())))
    })
  })

layer(PagesServer, { excludeTestServices: true })("downloads of the catalog", (it) => {
  it.effect("are limited to two at a time for an account, even if they are read slowly", () =>
    Effect.gen(function* () {
      const { actor, cookie } = yield* aMerchant
      const { cookie: stranger } = yield* aMerchant
      // More data than the sockets of a connection can buffer.
      const html = "long ".repeat(200_000)
      for (let count = 0; count < 16; count++)
        yield* anEntity("product", { title: `Long ${count}`, description_html: html }).pipe(actingAs(actor))
      const downloads = [yield* unread(cookie), yield* unread(cookie)]
      assert.deepStrictEqual(
        downloads.map(({ statusCode }) => statusCode),
        [200, 200]
      )
      const refused = yield* ask(file, { cookie })
      assertErrorPage(refused, 429, /<h1>Two downloads are running<\/h1>/)
      assert.include(refused.text, "This account has 2 downloads of its catalog already.")
      assert.strictEqual((yield* ask(file, { cookie: stranger })).status, 200)
      for (const download of downloads) download.destroy()
      yield* ask(file, { cookie }).pipe(Effect.repeat({ until: ({ status }) => status === 200 }))
    })
  )

  it.effect("are linked on the page of stores, and need a sign-in", () =>
    Effect.gen(function* () {
      const { cookie, tent } = yield* aMerchant
      assert.include((yield* assertPage("/stores", cookie)).text, `<a href="/exports/catalog.jsonl" download`)
      const file = yield* ask("/exports/catalog.jsonl", { headers: { cookie } })
      assert.deepStrictEqual(
        [file.status, file.headers.get("content-type"), file.headers.get("content-disposition")],
        [200, "application/jsonl; charset=utf-8", 'attachment; filename="catalog.jsonl"']
      )
      const lines = file.text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.include(
        lines.map(({ id }) => id),
        tent
      )
      assert.deepStrictEqual(lines.at(-1), { type: "end", entities: lines.length - 4 })
      const foreign = yield* ask("/exports/catalog.jsonl")
      assert.deepStrictEqual(
        [foreign.status, foreign.headers.get("location")],
        [303, "/sign-in?return_to=%2Fexports%2Fcatalog.jsonl"]
      )
    })
  )

  it.effect("have a store's products; those of a store without a platform can count as published", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, files, shop } = merchant
      const hat = yield* anEntity("product", { title: "Hat", handle: "hat" }, { on: [files] }).pipe(actingAs(actor))
      const stores = yield* assertPage("/stores", cookie)
      assert.include(stores.text, `href="/exports/products.csv?id=${shop.id}"`)
      assert.lengthOf(stores.text.match(/Download and count as published: /g) ?? [], 1)
      const ofShop = yield* ask(`/exports/products.csv?id=${shop.id}`, { cookie })
      assert.deepStrictEqual(
        [ofShop.status, ofShop.headers.get("content-type"), ofShop.headers.get("content-disposition")],
        [200, "text/csv; charset=utf-8", 'attachment; filename="tarn.demo.example-products.csv"']
      )
      assert.match(ofShop.text, /\r\ntent,The tent,/)

      const stateOf = Effect.map(
        Effect.flatMap(Catalog, (catalog) => catalog.get("product", hat)),
        ({ stores: [state] }) => state?.last_publish_status
      ).pipe(actingAs(actor))
      assert.include((yield* ask(`/exports/products.csv?id=${files.id}`, { cookie })).text, "hat,Hat,")
      assert.strictEqual(yield* stateOf, "never_published", "a download alone publishes nothing")
      const form = { csrf: csrfOf(stores), id: files.id }
      const file = yield* ask("/exports/products.csv", { cookie, form })
      assert.include(file.text, "hat,Hat,")
      yield* (yield* JobWorker).runDue
      assert.strictEqual(yield* stateOf, "published")

      const refused = yield* ask("/exports/products.csv", { cookie, form: { ...form, id: shop.id } })
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "tarn.demo.example has a platform. Publish the changes to it instead.")
      assertNotThere(yield* ask("/exports/products.csv?id=x", { cookie }))
      assertForeignForm(yield* ask("/exports/products.csv", { cookie, form: { id: files.id } }))
    })
  )
})
