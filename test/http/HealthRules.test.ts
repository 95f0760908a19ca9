import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Store } from "../../src/model/Store.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, DataHealth } from "../../src/testing/index.ts"
import { type Answer, ask, MemoryServer } from "./Exchange.ts"

const base = "/api/v1/data-health"

const bodyOf = (answer: Answer) => {
  assert.strictEqual(answer.status, 200, answer.text)
  return JSON.parse(answer.text)
}

/** An account whose stores have a platform, with their own languages and currencies. */
const aShop = <const Domains extends ReadonlyArray<string>>(
  domains: Domains,
  facts: ReadonlyArray<Partial<Pick<Store, "platform" | "primary_locale" | "currency">>> = []
) =>
  Effect.gen(function* () {
    const account = yield* anAccount({ domains })
    const { link } = yield* StoresRepo
    for (const [index, store] of (account.stores as ReadonlyArray<Store>).entries())
      yield* link(account.accountId, { ...store, platform: "demo", ...facts[index] })
    const { actor, token } = account
    const post = (path: string, body: unknown) =>
      Effect.map(
        ask(`${base}${path}`, {
          method: "POST",
          token,
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body)
        }),
        bodyOf
      )
    return {
      ...account,
      write: <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(actingAs(actor), Effect.orDie),
      scan: (dimension: string) => Effect.map(post("/scans", { dimension }), ({ result }) => result),
      issues: (section: string) =>
        Effect.map(ask(`${base}/issues?section=${section}`, { token }), (answer) => bodyOf(answer).data),
      fill: (entity_type: string, ...operations: ReadonlyArray<unknown>) =>
        post("/completeness-fills", { entity_type, operations }),
      reconcile: (...operations: ReadonlyArray<unknown>) =>
        post("/divergence-reconciles", { entity_type: "product", operations })
    }
  })

const whole = { vendor: "Fell", product_type: "Tents", description_html: "<p>Dry</p>" }

layer(MemoryServer)("data health of catalogs built by other code", (it) => {
  it.effect("the score counts required fields; recommended fields have a score of their own", () =>
    Effect.gen(function* () {
      const { issues, scan, stores, write } = yield* aShop(["a.example", "b.example"])
      yield* write(
        Effect.gen(function* () {
          const tent = yield* anEntity("product", { title: "Tent", ...whole }, { on: stores })
          yield* anEntity("variant", { sku: "T-1", price: "10.00" }, { of: tent, on: stores })
          yield* anEntity("media", { url: "https://cdn.example/a.png" }, { on: stores })
          yield* anEntity("collection", { title: "Tents" }, { on: stores })
        })
      )
      const head = { checked: 4, affected: 0, score: 100 }
      const byStore = stores.map(({ id }) => ({ store_id: id, checked: 4, affected: 0 }))
      const recommended = { checked: 4, affected: 4, score: 0 }
      const clean = yield* scan("completeness")
      assert.deepInclude(clean, {
        ...head,
        by_store: byStore,
        required: 0,
        recommended: 4,
        by_level: [
          { level: "required", ...head },
          { level: "recommended", ...recommended }
        ],
        by_section: [
          { section: "completeness-required", rows: 0 },
          { section: "completeness-recommended", rows: 8 }
        ]
      })
      // `by_field` counts required and recommended fields.
      assert.includeDeepMembers(clean.by_field, [
        { field: "barcode", affected: 1 },
        { field: "seo_title", affected: 2 }
      ])
      yield* write(anEntity("product", { title: "Bare" }, { on: [stores[0]] }))
      const scanned = yield* scan("completeness")
      assert.deepInclude(scanned, { checked: 5, affected: 1, score: 80, required: 1, recommended: 5 })
      assert.lengthOf(yield* issues("completeness-required"), 1)
    })
  )

  it.effect("texts are compared within a language, prices within a currency, other fields across all stores", () =>
    Effect.gen(function* () {
      const { accountId, actor, issues, reconcile, scan, stores, token, write } = yield* aShop(
        ["at.example", "ch.example", "cn.example", "de.example", "xx.example"],
        [
          { primary_locale: "de-AT", currency: "EUR" },
          { primary_locale: "de-CH", currency: "CHF" },
          { primary_locale: "zh-CN", currency: "CNY" },
          { primary_locale: "de", currency: "EUR" },
          { primary_locale: "und", currency: "XXX" }
        ]
      )
      const [at, ch, cn, de, xx] = stores
      const { product, variant } = yield* write(
        Effect.gen(function* () {
          const product = yield* anEntity("product", { title: "Tent", vendor: "Fell" }, { on: stores })
          const variant = yield* anEntity("variant", { sku: "T-1", price: "10.00" }, { of: product, on: stores })
          const override = (entityId: typeof product, store: Store, values: Readonly<Record<string, string>>) =>
            CatalogChange.SetOverrides({ entityId, storeId: store.id, values })
          yield* (yield* CatalogChanges).apply([
            override(product, at, { title: "Zelt", tags: '["Zelt"]' }),
            override(product, ch, { title: "Zelt", tags: '["Zelt"]' }),
            override(product, de, { title: "Zelt", tags: '["Zelt"]' }),
            override(product, cn, { title: "帐篷", tags: '["帐篷"]', vendor: "Fell China" }),
            override(product, xx, { title: "?" }),
            override(variant, ch, { price: "11.00", sku: "T-1-CH" }),
            override(variant, cn, { price: "80.00" })
          ])
          return { product, variant }
        })
      )
      const listed = Effect.map(issues("divergence"), (rows: ReadonlyArray<Record<string, unknown>>) =>
        rows
          .map(({ entity_id, fields, store_id }) => [entity_id === product ? "product" : "variant", store_id, fields])
          .sort((left, right) => (String(left) < String(right) ? -1 : 1))
      )
      const designed = [
        ["product", cn.id, ["vendor"]],
        ["variant", ch.id, ["sku"]]
      ]
      assert.deepInclude(yield* scan("divergence"), {
        compared: 2,
        affected: 2,
        rules: { texts: "same_language", prices: "same_currency" }
      })
      assert.deepStrictEqual(yield* listed, designed)

      // Stores of one language disagree now: they are listed, other stores are not.
      const retitled = (store: Store, title: string) =>
        write(
          Effect.flatMap(CatalogChanges, ({ apply }) =>
            apply([CatalogChange.SetOverrides({ entityId: product, storeId: store.id, values: { title } })])
          )
        )
      yield* retitled(de, "Zeltchen")
      yield* scan("divergence")
      assert.sameDeepMembers(yield* listed, [
        ...designed,
        ["product", at.id, ["title"]],
        ["product", ch.id, ["title"]],
        ["product", de.id, ["title"]]
      ])
      const titles = Effect.map(ask(`/api/v1/products/${product}/stores`, { token }), (answer) =>
        bodyOf(answer).data.map(
          ({ attributes }: { readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: string }> }) =>
            attributes.find(({ key }) => key === "title")?.value
        )
      )
      // A winner writes only to the stores of its own language.
      assert.deepStrictEqual(yield* reconcile({ entity_id: product, field: "title", winner_store_id: de.id }), {
        patched: 2,
        results: [
          { entity_id: product, store_id: de.id, ok: true, patched_store_ids: [at.id, ch.id], draft_revision: 5 }
        ]
      })
      assert.deepStrictEqual(yield* titles, ["Zeltchen", "Zeltchen", "帐篷", "Zeltchen", "?"])
      assert.deepStrictEqual(
        (yield* reconcile({ entity_id: product, field: "title", winner_store_id: cn.id })).patched,
        0
      )
      // A value without a store is written to the stores of the language that disagrees, and to no others.
      yield* retitled(de, "Zelt")
      assert.deepInclude((yield* reconcile({ entity_id: product, field: "title", value: "Zelt" })).results[0], {
        ok: true,
        patched_store_ids: [at.id, ch.id]
      })
      assert.deepStrictEqual(yield* titles, ["Zelt", "Zelt", "帐篷", "Zelt", "?"])
      yield* scan("divergence")
      assert.deepStrictEqual(yield* listed, designed)

      // The account may choose to compare texts of all stores; then a value is written to all of them.
      yield* Effect.flatMap(DataHealth, ({ changeChecks }) => changeChecks({ divergence: { texts: "all" } })).pipe(
        actingAs(actor)
      )
      assert.deepInclude(yield* scan("divergence"), { rules: { texts: "all", prices: "same_currency" } })
      assert.include(
        (yield* listed).map(([, store, fields]) => `${store} ${fields}`),
        `${cn.id} title,vendor,tags`
      )
      const { results } = yield* reconcile({ entity_id: product, field: "title", value: "Tent" })
      assert.deepInclude(results[0], { ok: true, patched_store_ids: stores.map(({ id }) => id) })
      assert.strictEqual(variant.length, accountId.length)
    })
  )

  it.effect("a value without a store is refused where the stores disagree in several languages", () =>
    Effect.gen(function* () {
      const { reconcile, scan, issues, stores, token, write } = yield* aShop(
        ["de.example", "at.example", "en.example", "uk.example"],
        ["de", "de-AT", "en", "en-GB"].map((primary_locale) => ({ primary_locale }))
      )
      const [de, , en] = stores
      const product = yield* write(
        Effect.gen(function* () {
          const id = yield* anEntity("product", { title: "Tent" }, { on: stores })
          yield* (yield* CatalogChanges).apply([
            CatalogChange.SetOverrides({ entityId: id, storeId: de.id, values: { title: "Zelt" } }),
            CatalogChange.SetOverrides({ entityId: id, storeId: en.id, values: { title: "Tents" } })
          ])
          return id
        })
      )
      const refused = (yield* reconcile({ entity_id: product, field: "title", value: "Zelt" })).results[0]
      assert.deepInclude(refused, {
        ok: false,
        patched_store_ids: [],
        error: {
          code: "validation_failed",
          message:
            "value: the stores disagree in more than one language; name the store to write, or one winner for each language"
        }
      })
      const { draft_revision } = bodyOf(yield* ask(`/api/v1/products/${product}`, { token }))
      assert.deepInclude(bodyOf(yield* ask(`/api/v1/products/${product}`, { token })), { draft_revision })
      // As the message says: one winner for each language, or a named store.
      const done = yield* reconcile(
        { entity_id: product, field: "title", winner_store_id: de.id },
        { entity_id: product, field: "title", value: "Tent", store_id: en.id }
      )
      assert.strictEqual(done.patched, 2)
      yield* scan("divergence")
      assert.deepStrictEqual(yield* issues("divergence"), [])
    })
  )

  it.effect("rows of variants have SKU and product; those of a duplicate SKU list the other variants with it", () =>
    Effect.gen(function* () {
      const { issues, scan, stores, write } = yield* aShop(["a.example"])
      const { ids, tent } = yield* write(
        Effect.gen(function* () {
          const tent = yield* anEntity("product", { title: "Tent", ...whole }, { on: stores })
          const ids = yield* Effect.forEach(Array.from({ length: 13 }), (_, index) =>
            anEntity("variant", { title: `Size ${index}`, sku: "T-1" }, { of: tent, on: stores })
          )
          return { tent, ids: [...ids].sort() }
        })
      )
      yield* scan("structure")
      const rows = yield* issues("structure-duplicate-sku")
      assert.lengthOf(rows, 13)
      for (const row of rows) {
        assert.deepInclude(row, { sku: "T-1", product_id: tent, product_title: "Tent", duplicates_count: 12 })
        assert.deepStrictEqual(
          row.duplicates.map(({ entity_id }: { readonly entity_id: string }) => entity_id),
          ids.filter((id) => id !== row.entity_id).slice(0, 10)
        )
        assert.deepInclude(row.duplicates[0], { product_id: tent, product_title: "Tent" })
        assert.match(row.duplicates[0].title, /^Size \d+$/)
      }
      yield* scan("completeness")
      const [gap] = yield* issues("completeness-required")
      assert.deepInclude(gap, { entity_type: "variant", fields: ["price"], sku: "T-1", product_title: "Tent" })
      assert.notProperty(gap, "duplicates")
    })
  )

  it.effect("a price of 0 is an issue of an active product, unless the account allows it", () =>
    Effect.gen(function* () {
      const { actor, issues, scan, stores, write } = yield* aShop(["a.example", "b.example"])
      const [a, b] = stores
      const free = yield* write(
        Effect.gen(function* () {
          const of = (status: string, price: string) =>
            Effect.gen(function* () {
              const product = yield* anEntity("product", { title: "Tent", status }, { on: stores })
              return yield* anEntity("variant", { sku: `${status} ${price}`, price }, { of: product, on: stores })
            })
          const free = yield* of("active", "0.00")
          yield* of("draft", "0.00")
          yield* of("active", "0.01")
          yield* of("active", "")
          yield* (yield* CatalogChanges).apply([
            CatalogChange.SetOverrides({ entityId: free, storeId: b.id, values: { price: "5.00" } })
          ])
          return free
        })
      )
      yield* scan("structure")
      const rows = yield* issues("structure-invalid-value")
      assert.lengthOf(rows, 1)
      assert.deepInclude(rows[0], {
        entity_id: free,
        store_id: a.id,
        fields: ["price"],
        reasons: [{ field: "price", reason: "zero_price" }]
      })
      yield* Effect.flatMap(DataHealth, ({ changeChecks }) =>
        changeChecks({ structure: { zero_price: "allowed" } })
      ).pipe(actingAs(actor))
      assert.deepInclude(yield* scan("structure"), { rules: { zero_price: "allowed" } })
      assert.deepStrictEqual(yield* issues("structure-invalid-value"), [])
    })
  )

  it.effect("a fill without a store writes the canonical value, so that a new store has no missing field", () =>
    Effect.gen(function* () {
      const { fill, issues, scan, stores, token, write } = yield* aShop(["a.example", "b.example", "c.example"])
      const [a, b, c] = stores
      const { homeless, tent } = yield* write(
        Effect.gen(function* () {
          const { vendor, ...others } = whole
          const tent = yield* anEntity("product", { title: "Tent", ...others }, { on: [a, b] })
          const homeless = yield* anEntity("product", { title: "On no store" })
          assert.strictEqual(vendor, "Fell")
          return { tent, homeless }
        })
      )
      const operation = { entity_id: tent, field: "vendor", value: "Fell" }
      assert.deepStrictEqual(yield* fill("product", operation, operation, { ...operation, entity_id: homeless }), {
        filled: 2,
        results: [
          { entity_id: tent, store_id: null, field: "vendor", ok: true, filled: true, draft_revision: 2 },
          { entity_id: tent, store_id: null, field: "vendor", ok: true, filled: false, draft_revision: 2 },
          { entity_id: homeless, store_id: null, field: "vendor", ok: true, filled: true, draft_revision: 2 }
        ]
      })
      const { attributes } = bodyOf(yield* ask(`/api/v1/products/${tent}`, { token }))
      assert.include(
        attributes.map(({ key, value }: { readonly key: string; readonly value: string }) => `${key} ${value}`),
        "vendor Fell"
      )
      yield* write(
        Effect.flatMap(CatalogChanges, ({ apply }) =>
          apply([CatalogChange.AddToStore({ entityId: tent, storeId: c.id })])
        )
      )
      yield* scan("completeness")
      assert.deepStrictEqual(yield* issues("completeness-required"), [])
      const results = (yield* fill(
        "product",
        { ...operation, value: " " },
        { ...operation, field: "colour" },
        { ...operation, entity_id: "00000000-0000-4000-8000-00000000dead" }
      )).results
      assert.deepStrictEqual(
        results.map(({ error, ok, store_id }: { ok: boolean; store_id: null; error: { code: string } }) => [
          ok,
          store_id,
          error.code
        ]),
        [
          [false, null, "validation_failed"],
          [false, null, "validation_failed"],
          [false, null, "not_found"]
        ]
      )
    })
  )

  it.effect("versions on a store without a platform are neither pending nor never published", () =>
    Effect.gen(function* () {
      const { issues, scan, stores, write } = yield* aShop(["files.example", "shop.example"], [{ platform: "none" }])
      const [files, shop] = stores
      const both = yield* write(
        Effect.gen(function* () {
          const both = yield* anEntity("product", { title: "On both" }, { on: stores })
          yield* anEntity("product", { title: "On files alone" }, { on: [files] })
          return both
        })
      )
      assert.deepInclude(yield* scan("sync"), {
        checked: 1,
        affected: 1,
        on_no_store: 0,
        pending: 1,
        never_published: 1,
        by_store: [
          { store_id: files.id, checked: 0, affected: 0 },
          { store_id: shop.id, checked: 1, affected: 1 }
        ]
      })
      for (const section of ["sync-pending", "sync-never-published"])
        assert.deepStrictEqual(
          (yield* issues(section)).map(({ entity_id, store_id }: Record<string, unknown>) => [entity_id, store_id]),
          [[both, shop.id]],
          section
        )
    })
  )
})
