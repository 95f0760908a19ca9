import { get, type IncomingMessage } from "node:http"
import { HttpServer } from "@effect/platform"
import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import { CatalogChanges } from "../../src/drafts/CatalogChanges.ts"
import { Exports } from "../../src/exports/Exports.ts"
import { ExportsRepo } from "../../src/exports/ExportsRepo.ts"
import { listeningOn } from "../../src/http/BaseUrl.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { Unavailable } from "../../src/model/Errors.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { actingAs, anEntity, Catalog } from "../../src/testing/index.ts"
import { ask, assertErrorPage, nodeOf, PagesServer } from "../oauth/PagesServer.ts"
import {
  aMerchant,
  assertForeignForm,
  assertNotThere,
  assertPage,
  assertRefusal,
  csrfOf,
  entityNamed,
  textOf
} from "./Merchant.ts"

const file = "/exports/catalog.jsonl"

/** A download whose receiver reads nothing. */
const unread = (cookie: string) =>
  Effect.gen(function* () {
    const url = new URL(file, listeningOn((yield* HttpServer.HttpServer).address))
    return yield* Effect.async<IncomingMessage>((resume) => {
      get(url, { headers: { cookie } }, (response) => resume(Effect.succeed(response.pause())))
    })
  })

/** Exports that cannot reach the database. */
const unreachable = Layer.fresh(Exports.layer).pipe(
  Layer.provide(
    Layer.effect(
      ExportsRepo,
      Effect.map(ExportsRepo, (repo) =>
        ExportsRepo.of({ ...repo, inSnapshot: () => Effect.die(new Unavailable({ reason: "planted" })) })
      )
    )
  )
)

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
      assert.include(refused.text, "An account has up to two downloads of its catalog at a time.")
      const german = yield* ask(file, { cookie, headers: { "accept-language": "de" } })
      assertErrorPage(german, 429, /<h1>Zwei Downloads laufen<\/h1>/)
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

  it.effect("are refused by a page if the database cannot be reached before the first part is read", () =>
    Effect.gen(function* () {
      const { cookie, files } = yield* aMerchant
      yield* Effect.gen(function* () {
        for (const path of [file, `/exports/products.csv?id=${files.id}`]) {
          const refused = yield* ask(path, { cookie })
          assert.strictEqual(refused.status, 503)
          assert.isNull(refused.headers.get("content-disposition"))
          assert.match(refused.headers.get("x-request-id") ?? "", /^req_[0-9a-f-]{36}$/)
          assert.strictEqual(
            textOf(refused),
            "Not available at the moment The service cannot answer at the moment. Try again in a minute. To the start page"
          )
        }
      }).pipe(Effect.provide(nodeOf().pipe(Layer.provide(unreachable))))
    })
  )

  it.effect("are cut off if the database refuses a later part, so that no browser takes the file for complete", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aMerchant
      const sql = yield* SqlClient.SqlClient
      const broken = yield* Effect.acquireUseRelease(
        sql`ALTER TABLE entity_media RENAME TO entity_media_away`,
        () => Effect.exit(ask("/exports/catalog.jsonl", { cookie })),
        () => Effect.orDie(sql`ALTER TABLE entity_media_away RENAME TO entity_media`)
      )
      assert.isTrue(Exit.isFailure(broken))
      assert.strictEqual((yield* ask("/exports/catalog.jsonl", { cookie })).status, 200)
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

      const { id } = yield* Effect.flatMap(Jobs, ({ begin }) =>
        begin({ kind: "store_link", title: "Link it", subject: files.id, input: {}, total: null })
      ).pipe(actingAs(actor))
      const busy = yield* ask("/exports/products.csv", { cookie, form })
      assertErrorPage(busy, 400, /<h1>Not accepted<\/h1>/)
      assert.include(
        textOf(busy),
        `Not published: the job &quot;Link it&quot; (${id}) is queued and works on the same store: let it finish first. To the stores`
      )
      const inGerman = yield* ask("/exports/products.csv", { cookie, form, headers: { "accept-language": "de" } })
      assert.include(textOf(inGerman), "arbeitet an demselben Shop")

      const refused = yield* ask("/exports/products.csv", { cookie, form: { ...form, id: shop.id } })
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "tarn.demo.example has a platform. Publish the changes to it instead.")
      const german = yield* ask("/exports/products.csv", {
        cookie,
        form: { ...form, id: shop.id },
        headers: { "accept-language": "de" }
      })
      assert.include(german.text, "tarn.demo.example hat eine Plattform.")
      assertNotThere(yield* ask("/exports/products.csv?id=x", { cookie }))
      assertForeignForm(yield* ask("/exports/products.csv", { cookie, form: { id: files.id } }))
    })
  )

  it.effect("have the selected entities of a list, or all that its filters find", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, files, shop, stove, tent } = merchant
      const csrf = csrfOf(yield* ask("/products", { cookie }))
      const send = (form: Readonly<Record<string, string>>, as = cookie) =>
        ask("/selection/export", { cookie: as, form: { csrf, list: "product", query: "", ...form } })
      const linesOf = ({ text }: { readonly text: string }) =>
        text
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line))
      const both = { [`publish-${tent}`]: "yes", [`publish-${stove}`]: "yes" }

      const page = yield* send(both)
      assert.strictEqual(page.status, 200)
      assert.match(
        textOf(page),
        /Export the selected Products Products The 2 products that you selected All items that match the list's filters File JSON lines: all values, on all stores Product CSV of files\.example Product CSV of Tarn &amp; Tern Product CSV leaves out products that are not on the store\. Left out for files\.example ?: 2 of 2 The file shows the catalog of one moment, whatever is changed meanwhile\. Products come with their variants\. Download Cancel$/
      )
      const download = yield* send({ ...both, do: "download", of: "selected", store_id: "" })
      assert.deepStrictEqual(
        [download.status, download.headers.get("content-type"), download.headers.get("content-disposition")],
        [200, "application/jsonl; charset=utf-8", 'attachment; filename="product-selection.jsonl"']
      )
      const [head, ...lines] = linesOf(download)
      assert.deepInclude(head, { type: "catalog", entities: 5, selected: { kind: "product", count: 2 } })
      assert.deepStrictEqual(
        lines.map(({ type }) => type),
        ["store", "store", "variant", "variant", "variant", "product", "product", "end"]
      )

      const filtered = yield* send({ ...both, query: "search=tent", do: "download", of: "all", store_id: shop.id })
      assert.deepStrictEqual(
        [filtered.status, filtered.headers.get("content-type"), filtered.headers.get("content-disposition")],
        [200, "text/csv; charset=utf-8", 'attachment; filename="tarn.demo.example-products.csv"']
      )
      assert.match(filtered.text, /\r\ntent,The tent,/)
      assert.notInclude(filtered.text, "The stove")

      const camp = yield* entityNamed("collection", "Camp").pipe(actingAs(merchant.actor))
      const collections = { list: "collection", [`publish-${camp}`]: "yes" }
      assert.notInclude(textOf(yield* send(collections)), "Product CSV")
      assert.deepInclude(linesOf(yield* send({ ...collections, do: "download", of: "selected" }))[0], {
        selected: { kind: "collection", count: 1 }
      })

      // One of the two is on the other store now.
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([CatalogChange.AddToStore({ entityId: tent, storeId: files.id })])
      ).pipe(actingAs(merchant.actor), Effect.orDie)
      assert.match(textOf(yield* send(both)), /Left out for files\.example ?: 1 of 2 /)
      assert.match(textOf(yield* send({ query: "search=stove", of: "all" })), /Left out for files\.example ?: 1 of 1 /)
      assert.notInclude(textOf(yield* send({ query: "search=tent", of: "all" })), "Left out for")

      const none = yield* send({ query: "search=nowhere", do: "download", of: "all", store_id: "" })
      assert.strictEqual(none.status, 400)
      assert.include(
        none.text,
        '<p class="wrong" id="of-misfit" role="alert">The filters of the list find nothing.</p>'
      )
      // The products are on the other store only.
      const absent = yield* send({ [`publish-${stove}`]: "yes", do: "download", of: "selected", store_id: files.id })
      assert.strictEqual(absent.status, 400)
      assert.include(absent.text, 'role="alert">None of these products is on this store.</p>')
      assertRefusal(yield* send({ do: "download", of: "selected" }), 400, {
        title: "Nothing is selected",
        message: "Select something in the list first.",
        next: ["/products", "To products"]
      })
      // Entities of another kind or account are like deleted ones.
      const gone = {
        title: "Nothing of the selection is left",
        message: "Everything that you selected was deleted meanwhile.",
        next: ["/products", "To products"]
      } as const
      const ofSelected = { list: "product", do: "download", of: "selected", store_id: "" }
      assertRefusal(yield* send({ ...collections, ...ofSelected }), 404, gone)
      assertRefusal(yield* send({ [`publish-${crypto.randomUUID()}`]: "yes", ...ofSelected }), 404, gone)
      assertNotThere(yield* send({ ...both, do: "download", of: "selected", store_id: "x" }))
      const stranger = yield* aMerchant
      const others = csrfOf(yield* ask("/products", { cookie: stranger.cookie }))
      assertRefusal(yield* send({ ...both, ...ofSelected, csrf: others }, stranger.cookie), 404, gone)
      assertNotThere(
        yield* send({ query: "", csrf: others, do: "download", of: "all", store_id: files.id }, stranger.cookie)
      )
      assertForeignForm(yield* send({ ...both, csrf: "x", do: "download" }))
    })
  )
})
