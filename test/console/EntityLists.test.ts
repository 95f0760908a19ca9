import { assert, it as itself, layer } from "@effect/vitest"
import { Effect } from "effect"
import { distance } from "../../src/console/Ago.tsx"
import { actingAs, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { ask, PagesServer } from "../oauth/PagesServer.ts"
import { aFailure, aMerchant, assertPage, assertRefusal, csrfOf, textOf } from "./Merchant.ts"

/** The titles of the rows of a list. */
const namesOf = (text: string) =>
  [...text.matchAll(/<div><a href="\/entity[^>]*><bdi>([^<]*)</g)].map(([, title = ""]) => title)

layer(PagesServer, { excludeTestServices: true })("the lists of products", (it) => {
  it.effect("show each kind, and search by words or id", () =>
    Effect.gen(function* () {
      const { cookie, tent } = yield* aMerchant
      for (const [path, names] of [
        ["/products", ["The tent", "The stove"]],
        ["/variants", ["S tent-S", "M tent-M"]],
        ["/collections", ["Camp"]],
        ["/media", ["tent on a table"]]
      ] as const) {
        const all = textOf(yield* assertPage(path, cookie))
        for (const name of names) assert.include(all, name)
      }
      const found = yield* ask("/products?search=tent-S", { cookie })
      assert.deepStrictEqual(namesOf(found.text), ["The tent"])
      assert.include(found.text, 'name="search" value="tent-S"')
      const nothing = yield* ask("/products?search=nowhere&order=title", { cookie })
      assert.include(textOf(nothing), "Nothing was found. Show all")
      // Filters are cleared, and the order stays.
      for (const words of ["Show all", "Clear all"])
        assert.include(nothing.text, `href="/products?order=title">${words}</a>`)
      for (const id of [tent, tent.toUpperCase(), ` ${tent} `]) {
        const answer = yield* ask(`/products?${new URLSearchParams({ search: id })}`, { cookie })
        assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, `/entity?id=${tent}`])
      }
      assertRefusal(yield* ask(`/products?search=${"x".repeat(201)}`, { cookie }), 400, {
        title: "Not understood",
        message: "A search or filter has at most 200 characters.",
        next: ["/products", "To products"]
      })
      // As for the API, a character beyond the basic plane counts once.
      assert.strictEqual((yield* ask(`/products?search=${"%F0%9F%98%80".repeat(200)}`, { cookie })).status, 200)
      const stranger = yield* aMerchant
      assert.notInclude((yield* ask("/products", { cookie })).text, stranger.tent)
    })
  )

  it.effect("media have the selection of the other lists", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop } = yield* aMerchant
      const picture = yield* anEntity("media", { alt: "", url: "https://shop.example/lid.jpg" }).pipe(actingAs(actor))
      const { text } = yield* assertPage("/media", cookie)
      assert.match(
        text,
        new RegExp(`<input type="checkbox" name="publish-${picture}" value="yes" aria-label="Select [^"]+"`)
      )
      assert.include(text, 'data-island="SelectAll"')
      const words = textOf({ text } as never)
      for (const action of ["Publish the selected to", "Set a field", "Add to a store", "Export the selected"])
        assert.include(words, action)
      const form = { csrf: csrfOf({ text } as never), list: "media", query: "", [`publish-${picture}`]: "yes" }
      const add = textOf(yield* ask("/selection/store", { cookie, form }))
      assert.include(add, "The 1 media file that you selected")
      assert.include(add, shop.name.replace("&", "&amp;"))
      const field = textOf(yield* ask("/selection/field", { cookie, form }))
      assert.include(field, "The 1 media file that you selected")
      const none = yield* ask("/selection/field", { cookie, form: { ...form, [`publish-${picture}`]: "" } })
      assert.include([200, 400], none.status)
    })
  )

  it.effect("save filters as views of one user, show and delete them", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aMerchant
      const stranger = yield* aMerchant
      const csrf = csrfOf(yield* ask("/products", { cookie }))
      const send = (path: string, form: Readonly<Record<string, string>>) =>
        ask(path, { cookie, form: { csrf, list: "product", ...form } })
      const viewsOn = (page: { readonly text: string }) =>
        [...page.text.matchAll(/<a class="chip" href="([^"]*)"( aria-current="true")?><bdi>([^<]*)</g)].map(
          ([, href = "", isShown, name = ""]) => [name, href.replaceAll("&amp;", "&"), isShown !== undefined]
        )
      assert.notInclude((yield* ask("/products", { cookie })).text, "Name of the view")
      assert.include((yield* ask("/products?vendor=Fell", { cookie })).text, "Name of the view")

      const query = "search=tent&state=changed"
      const saved = yield* send("/views/save", { name: " Tents ", query: `${query}&from=12&nonsense=1` })
      assert.deepStrictEqual([saved.status, saved.headers.get("location")], [303, `/products?${query}&note=view-saved`])
      assert.include(textOf(yield* assertPage(`/products?${query}`, cookie)), "Delete the view")
      assert.deepStrictEqual(viewsOn(yield* ask(`/products?${query}`, { cookie })), [
        ["Tents", `/products?${query}`, true]
      ])
      // The same name replaces the view, other lists and users have their own views.
      yield* send("/views/save", { name: "Tents", query: "search=tents" })
      assert.deepStrictEqual(viewsOn(yield* ask("/products", { cookie })), [["Tents", "/products?search=tents", false]])
      assert.deepStrictEqual(viewsOn(yield* ask("/variants", { cookie })), [])
      assert.deepStrictEqual(viewsOn(yield* ask("/products", { cookie: stranger.cookie })), [])

      for (const [name, message] of [
        ["  ", "Name of the view: must have 1 to 60 characters."],
        ["x".repeat(61), "Name of the view: must have 1 to 60 characters."]
      ] as const) {
        const refused = yield* send("/views/save", { name, query: "vendor=Fell" })
        assert.strictEqual(refused.status, 400)
        assert.include(refused.text, `<p class="wrong" id="name-misfit" role="alert">${message}</p>`)
        assert.include(refused.text, `name="name" value="${name}"`)
        assert.include(refused.text, 'value="Fell"')
      }
      for (let each = 2; each <= 20; each++)
        yield* send("/views/save", { name: `View ${each}`, query: `vendor=${each}` })
      const oneMore = yield* send("/views/save", { name: "View 21", query: "vendor=21" })
      assert.strictEqual(oneMore.status, 400)
      assert.include(oneMore.text, "Name of the view: is the 21st view of this list: delete one first")
      assert.lengthOf(viewsOn(yield* ask("/products", { cookie })), 20)
      yield* send("/views/save", { name: "View 20", query: "vendor=20&tag=new" })

      for (const form of [
        { list: "shops", name: "x" },
        { list: "", name: "x" }
      ])
        assert.strictEqual((yield* send("/views/delete", form)).status, 404)
      for (const _ of [1, 2]) {
        const deleted = yield* send("/views/delete", { name: "Tents", query: "" })
        assert.deepStrictEqual([deleted.status, deleted.headers.get("location")], [303, "/products?note=view-deleted"])
      }
      assert.lengthOf(viewsOn(yield* ask("/products", { cookie })), 19)

      // Another page that was open saved the same filters: each view can be deleted.
      yield* send("/views/save", { name: "Again", query: "vendor=2" })
      const both = yield* assertPage("/products?vendor=2", cookie)
      assert.deepStrictEqual(
        [...both.text.matchAll(/Delete the view <bdi>([^<]*)</g)].map(([, name]) => name),
        ["Again", "View 2"]
      )
      // A view whose page is refused could not be deleted.
      for (const [query, message] of [
        [`vendor=${"x".repeat(201)}`, "A search or filter has at most 200 characters."],
        ["search=%00", "must not contain U+0000"]
      ] as const) {
        const refused = yield* send("/views/save", { name: "Never", query })
        assert.strictEqual(refused.status, 400)
        assert.include(textOf(refused), message)
      }
      assert.notInclude((yield* ask("/products", { cookie })).text, "Never")
    })
  )

  it.effect("list each product once over all pages, by last change or by title", () =>
    Effect.gen(function* () {
      const { actor, cookie } = yield* aMerchant
      const expected = Array.from({ length: 60 }, (_, index) => `Peg ${index}`)
      yield* Effect.forEach(expected, (title) => anEntity("product", { title })).pipe(actingAs(actor))
      for (const [order, names] of [
        ["", expected.toReversed()],
        ["&order=oldest", expected],
        ["&order=title", expected.toSorted()],
        ["&order=title-desc", expected.toSorted().toReversed()]
      ] as const) {
        const titles: Array<string> = []
        let last = ""
        let path: string | undefined = `/products?search=peg${order}`
        while (path !== undefined) {
          const { text }: { readonly text: string } = yield* ask(path, { cookie })
          last = text
          assert.include(text, '<span class="total number">60</span>')
          assert.strictEqual(text.includes("Previous page"), titles.length > 0)
          titles.push(...namesOf(text))
          path = /href="([^"]*)">Next page/.exec(text)?.[1]?.replaceAll("&amp;", "&")
        }
        assert.deepStrictEqual(titles, names)
        const previous = /href="([^"]*)">Previous page/.exec(last)?.[1]?.replaceAll("&amp;", "&") ?? ""
        assert.strictEqual(previous, `/products?search=peg${order}`)
      }
      // A walk that no page wrote is left out.
      const { text } = yield* ask("/products?order=oldest&from=1&walk=x", { cookie })
      assert.notInclude(text, "Previous page")
      assert.notInclude(text, '<span class="total')
    })
  )

  it.effect("a page whose rows have gone says so, and not that the list is empty", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aMerchant
      const after = Buffer.from(JSON.stringify(["zzz", "ffffffff-ffff-4fff-8fff-ffffffffffff"])).toString("base64url")
      const paths = [
        "/products?from=0",
        "/collections?order=oldest&from=999999999",
        `/variants?order=title&from=${after}`
      ]
      for (const path of [...paths, "/media?search=zzz&from=0"]) {
        const words = textOf(yield* ask(path, { cookie }))
        assert.include(words, "There is nothing on this page.")
        assert.notMatch(words, /There is no (product|collection|variant|media file) yet|Nothing was found/)
        assert.include(words, "First page")
      }
      assert.include(textOf(yield* ask("/products?search=zzz", { cookie })), "Nothing was found.")
    })
  )

  it.effect("name the stores of a state also if there are many, and say what a state means without a store", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop } = yield* aMerchant
      const { link } = yield* Stores
      const more = yield* Effect.forEach([1, 2, 3, 4], (n) => link({ domain: `shop-${n}.example` })).pipe(
        actingAs(actor)
      )
      yield* anEntity("product", { title: "Lamp" }, { on: more.map(({ store }) => store) }).pipe(actingAs(actor))
      const { text } = yield* assertPage("/products?search=lamp", cookie)
      assert.include(
        text,
        '<summary class="quiet">on 4 stores</summary><bdi>shop-1.example, shop-2.example, shop-3.example and shop-4.example</bdi>'
      )
      const words = "If no store is chosen, an item is listed under its worst state on any store"
      assert.include(textOf(yield* ask("/products?state=failed", { cookie })), words)
      for (const path of ["/products", `/products?state=failed&store_id=${shop.id}`])
        assert.notInclude(textOf(yield* ask(path, { cookie })), words)
    })
  )

  it.effect("sort by links in the headers of the columns, which keep the filters, and by a choice", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aMerchant
      const headersOf = ({ text }: { readonly text: string }) =>
        [
          ...text.matchAll(/<th scope="col"(?: aria-sort="(\w+)")?>(?:<a class="calm" href="([^"]*)">)?<bdi>([^<]*)</g)
        ].map(([, sort, href, name]) => [name, sort, href?.replaceAll("&amp;", "&")])
      const vendor = ["Vendor", undefined, undefined]
      const others = [["Stores", undefined, undefined], vendor, ["Variants", undefined, undefined]]
      const byName = (sort: string | undefined, href: string) => ["Name", sort, href]
      const byChange = (sort: string | undefined, href: string) => ["Changed", sort, href]
      for (const [path, first, last] of [
        [
          "/products?from=zzz",
          byName(undefined, "/products?order=title"),
          byChange("descending", "/products?order=oldest")
        ],
        ["/products?order=oldest", byName(undefined, "/products?order=title"), byChange("ascending", "/products")],
        [
          "/products?search=the&order=title",
          byName("ascending", "/products?search=the&order=title-desc"),
          byChange(undefined, "/products?search=the")
        ],
        [
          "/products?order=title-desc&from=12",
          byName("descending", "/products?order=title"),
          byChange(undefined, "/products")
        ]
      ] as const)
        assert.deepStrictEqual(headersOf(yield* assertPage(path, cookie)), [first, ...others, last], path)
      assert.deepStrictEqual(namesOf((yield* ask("/products?order=title", { cookie })).text), ["The stove", "The tent"])
      assert.deepStrictEqual(namesOf((yield* ask("/products?order=title-desc", { cookie })).text), [
        "The tent",
        "The stove"
      ])
      const { text } = yield* assertPage("/media?order=title-desc", cookie)
      assert.deepStrictEqual(
        [
          ...(/<select name="order" aria-label="Sort">.*?<\/select>/.exec(text)?.[0] ?? "").matchAll(
            /<option([^>]*)>([^<]*)</g
          )
        ].map(([, state = "", words]) => [words, state.includes("selected")]),
        [
          ["Newest change first", false],
          ["Oldest change first", false],
          ["Title, A to Z", false],
          ["Title, Z to A", true]
        ]
      )
      // A place that no page of this list wrote shows the first page.
      for (const place of [["x"], ["\0", "00000000-0000-4000-8000-000000000000"], "no JSON"]) {
        const from = Buffer.from(typeof place === "string" ? place : JSON.stringify(place)).toString("base64url")
        const page = yield* ask(`/products?order=title&from=${from}`, { cookie })
        assert.deepStrictEqual([page.status, namesOf(page.text)], [200, ["The stove", "The tent"]], from)
      }
    })
  )

  it.effect("filter by store, state, vendor, type, tag, own values and missing fields", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, files, shop, tent } = merchant
      yield* aFailure(merchant)
      yield* (yield* CatalogChanges)
        .apply([
          CatalogChange.SetAttributes({
            entityId: tent,
            values: { vendor: "Fell & Son", product_type: "Shelter", tags: '["sale","wet"]', description_html: "" }
          }),
          CatalogChange.SetOverrides({ entityId: tent, storeId: shop.id, values: { title: "Das Zelt" } })
        ])
        .pipe(actingAs(actor))
      yield* anEntity("product", { title: "Lamp", vendor: "Fell" }, { on: [files] }).pipe(actingAs(actor))
      for (const [query, names] of [
        ["", ["Lamp", "The tent", "The stove"]],
        [`store_id=${files.id}`, ["Lamp"]],
        [`store_id=${shop.id}`, ["The tent", "The stove"]],
        [`store_id=${shop.id}&state=failed`, ["The stove"]],
        [`store_id=${shop.id}&state=absent`, ["Lamp"]],
        [`store_id=${files.id}&state=absent&search=tent`, ["The tent"]],
        [`store_id=${files.id}&state=absent&vendor=Fell`, []],
        ["state=absent", ["Lamp", "The tent", "The stove"]],
        ["state=failed", ["The stove"]],
        ["state=changed", ["The tent"]],
        ["state=unpublished", ["Lamp"]],
        ["state=live", []],
        ["state=publishing", []],
        ["state=nonsense", ["Lamp", "The tent", "The stove"]],
        [`${new URLSearchParams({ vendor: "Fell & Son" })}`, ["The tent"]],
        ["vendor=Fell", ["Lamp"]],
        ["type=Shelter", ["The tent"]],
        ["tag=sale", ["The tent"]],
        ["tag=sal", []],
        ["own=yes", ["The tent"]],
        [`own=yes&store_id=${files.id}`, []],
        ["missing=vendor", []],
        ["missing=type", ["Lamp", "The stove"]]
      ] as const) {
        const { text } = yield* ask(`/products?${query}`, { cookie })
        assert.deepStrictEqual(namesOf(text).sort(), [...names].sort(), query)
      }
      const page = yield* ask("/products?vendor=Fell&tag=x", { cookie })
      assert.include(page.text, 'href="/products?tag=x"><bdi>Vendor: Fell</bdi>')
      const absent = (yield* ask(`/products?store_id=${files.id}&state=absent`, { cookie })).text
      assert.include(absent, 'aria-current="true"><span class="dot idle"></span>Not on this store</a>')
      // Without the store there is nothing that could be absent.
      assert.include(absent, '<a class="chip on" href="/products"><bdi>Store: files.example</bdi>')
      assert.notInclude((yield* ask("/products", { cookie })).text, '<span class="dot idle"></span>Not on this store')
      assert.include(
        (yield* ask("/products", { cookie })).text,
        '<datalist id="known-vendor"><option value="Fell"></option><option value="Fell &amp; Son"></option>'
      )
      const all = textOf(yield* ask("/products", { cookie }))
      assert.include(all, `Lamp Not published files.example Not on Tarn &amp; Tern`)
      assert.match(all, /The stove stove-One Failed Tarn &amp; Tern Not on files\.example/)
    })
  )

  it.effect("nest the variants of a product in its row: the first ten, with their prices and states", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop, stove, tent } = yield* aMerchant
      const more = yield* Effect.forEach(
        Array.from({ length: 9 }, (_, index) => index),
        (index) =>
          anEntity(
            "variant",
            { title: `Extra ${index}`, sku: `extra-${index}`, price: "12.50" },
            { on: [shop], of: tent }
          )
      ).pipe(actingAs(actor))
      const { text } = yield* assertPage("/products", cookie)
      const [, nested = ""] = /<details class="nested">(.+?)<\/details>/s.exec(text) ?? []
      const words = textOf({ text: `<main>${nested}</main>` } as never)
      assert.match(words, /^tent-M and 10 more M tent-M 10.00 Live Tarn &amp; Tern .*S tent-S /)
      assert.include(words, "Extra 7 extra-7 12.50 Not published Tarn &amp; Tern")
      assert.notInclude(words, "Extra 8")
      assert.match(words, /and 1 more$/)
      assert.include(nested, `<a href="/entity?id=${tent}">and 1 more</a>`)
      assert.include(nested, `href="/entity?id=${more[0]}"`)
      // The stove has one variant, whose SKU is in the row.
      assert.strictEqual(text.split('<details class="nested">').length, 2)
      assert.include(text, stove)
    })
  )
})

itself("a distance in time is in the largest unit that fits", () => {
  const now = Date.parse("2026-11-21T12:00:00Z")
  for (const [at, words] of [
    ["2026-11-21T11:59:50Z", "just now"],
    ["2026-11-21T11:55:00Z", "5 minutes ago"],
    ["2026-11-21T15:00:00Z", "in 3 hours"],
    ["2026-11-20T11:00:00Z", "yesterday"],
    ["2026-10-01T11:00:00Z", "1 Oct 2026"]
  ] as const)
    assert.strictEqual(distance(at, now, { pageLanguage: "en", timeZone: null }), words)
})
