import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { HealthDimension, HealthSection } from "../../src/health/Health.ts"
import { ImportId } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { unknownKey } from "../contract/DraftValues.ts"
import { type Answer, ask, assertHeaders, assertRefusal, MemoryServer, misfit, refusals } from "./Exchange.ts"
import { aKey } from "./Fixtures.ts"

const base = "/api/v1/data-health"
const unused = "00000000-0000-4000-8000-000000000001"
const json = { "content-type": "application/json" }

const dimensions = HealthDimension.literals
const sections = HealthSection.literals
const kinds = "product, variant, collection, media"

const post = (path: string, token: string, body: unknown) =>
  ask(`${base}${path}`, {
    method: "POST",
    token,
    headers: json,
    body: typeof body === "string" ? body : JSON.stringify(body)
  })
const get = (path: string, token: string) => ask(`${base}${path}`, { token })

const bodyOf = (answer: Answer) => {
  assert.strictEqual(answer.status, 200, answer.text)
  assertHeaders(answer, ["content-type", "etag"])
  return JSON.parse(answer.text)
}

/** A product whose title differs on two stores, and one on the first store without a required field. */
const aShop = Effect.gen(function* () {
  const account = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [a, b] = account.stores
  const ids = yield* Effect.gen(function* () {
    const tent = yield* anEntity(
      "product",
      { title: "Tent", vendor: "Fell", product_type: "Tents", description_html: "<p>Dry</p>" },
      { on: [a, b] }
    )
    const bare = yield* anEntity("product", { title: "Bare" }, { on: [a] })
    yield* (yield* CatalogChanges).apply([
      CatalogChange.SetOverrides({ entityId: tent, storeId: b.id, values: { title: "Zelt" } })
    ])
    return { tent, bare }
  }).pipe(actingAs(account.actor), Effect.orDie)
  return { ...account, ...ids, a: a.id, b: b.id }
})

layer(MemoryServer)("data health over REST", (it) => {
  it.effect("the complete cycle: never scanned, scan, read, repair, scan again", () =>
    Effect.gen(function* () {
      const { a, b, bare, tent, token } = yield* aShop
      assert.deepStrictEqual(bodyOf(yield* get("", token)), {
        dimensions: dimensions.map((dimension) => ({ dimension, scanned: false }))
      })
      assert.deepStrictEqual(bodyOf(yield* get("/issues?section=divergence", token)), {
        section: "divergence",
        scanned: false,
        data: [],
        page: 1,
        has_next: false,
        compared: 0
      })
      const scanned = bodyOf(yield* post("/scans", token, { dimension: "divergence", more: 1 }))
      assert.deepStrictEqual(scanned, {
        dimension: "divergence",
        scanned: true,
        result: {
          checked: 1,
          affected: 1,
          score: 0,
          on_no_store: 0,
          by_store: [
            { store_id: a, checked: 1, affected: 0 },
            { store_id: b, checked: 1, affected: 1 }
          ],
          by_field: [{ field: "title", affected: 1 }],
          by_section: [{ section: "divergence", rows: 1 }],
          compared: 1,
          rules: { texts: "same_language", prices: "same_currency" }
        },
        scanned_at: scanned.scanned_at,
        as_of_version: scanned.as_of_version
      })
      assert.deepStrictEqual(bodyOf(yield* get("/issues?section=divergence", token)), {
        section: "divergence",
        scanned: true,
        scanned_at: scanned.scanned_at,
        data: [
          {
            entity_id: tent,
            entity_type: "product",
            title: "Tent",
            store_id: b,
            store_domain: "b.example",
            fields: ["title"],
            values: [{ field: "title", value: "Zelt" }]
          }
        ],
        page: 1,
        has_next: false,
        compared: 1
      })
      assert.deepStrictEqual(bodyOf(yield* get(`/issues?section=divergence&store_id=${a}`, token)).data, [])

      const completeness = bodyOf(yield* post("/scans", token, { dimension: "completeness" }))
      assert.deepInclude(completeness.result, { checked: 2, affected: 1, score: 50, required: 1 })
      assert.deepStrictEqual(bodyOf(yield* get("/issues?section=completeness-required", token)).data, [
        {
          entity_id: bare,
          entity_type: "product",
          title: "Bare",
          store_id: a,
          store_domain: "a.example",
          fields: ["description_html", "vendor", "product_type"]
        }
      ])
      for (const [field, rows] of [
        ["vendor", 1],
        ["title", 0],
        ["care.washing", 0]
      ] as const) {
        const page = bodyOf(yield* get(`/issues?section=completeness-required&field=${field}`, token))
        assert.deepStrictEqual([page.data.length, page.has_next], [rows, false])
      }
      const fields = { description_html: "<p>Bare</p>", vendor: "Fell", product_type: "Tents" }
      const operations = Object.entries(fields).map(([field, value]) => ({
        entity_id: bare.toUpperCase(),
        store_id: a,
        field,
        value
      }))
      const filled = bodyOf(yield* post("/completeness-fills", token, { entity_type: "product", operations }))
      assert.deepStrictEqual(filled, {
        filled: 3,
        results: operations.map(({ field }) => ({
          entity_id: bare,
          store_id: a,
          field,
          ok: true,
          filled: true,
          draft_revision: 2
        }))
      })
      const reconciled = bodyOf(
        yield* post("/divergence-reconciles", token, {
          entity_type: "product",
          operations: [{ entity_id: tent, field: "title", winner_store_id: b }]
        })
      )
      assert.deepStrictEqual(reconciled, {
        patched: 1,
        results: [{ entity_id: tent, store_id: b, ok: true, patched_store_ids: [a], draft_revision: 3 }]
      })
      // Snapshots do not change until the next scan.
      assert.deepStrictEqual(bodyOf(yield* get("", token)).dimensions[1], completeness)
      const after = [
        bodyOf(yield* post("/scans", token, { dimension: "completeness", store_id: a.toUpperCase() })),
        bodyOf(yield* post("/scans", token, { dimension: "divergence", store_id: a }))
      ]
      assert.deepInclude(after[0].result, { required: 0, by_store: [{ store_id: a, checked: 2, affected: 0 }] })
      // A dimension that does not exist per store is scanned as a whole.
      assert.deepInclude(after[1].result, { affected: 0, score: 100, compared: 1 })
      assert.lengthOf(after[1].result.by_store, 2)
      const ofStore = bodyOf(yield* get(`?store_id=${a}`, token)).dimensions
      assert.deepStrictEqual([ofStore[1], ofStore[4]], after)
      // The account's own snapshot of completeness is unchanged.
      assert.deepStrictEqual(bodyOf(yield* get("", token)).dimensions[1], completeness)
    })
  )

  it.effect("an answer is a 304 until the next scan", () =>
    Effect.gen(function* () {
      const { token } = yield* aShop
      const tagOf = ({ headers }: Answer) => String(headers.etag)
      for (const [path, dimension] of [
        ["", "sync"],
        ["/issues?section=media-unused", "media"]
      ] as const) {
        const first = yield* get(path, token)
        const ask304 = ask(`${base}${path}`, { token, headers: { "if-none-match": tagOf(first) } })
        assert.strictEqual((yield* ask304).status, 304)
        assert.strictEqual((yield* ask304).status, 304)
        yield* post("/scans", token, { dimension })
        const changed = yield* ask304
        assert.strictEqual(changed.status, 200, path)
        assert.notStrictEqual(tagOf(changed), tagOf(first))
      }
    })
  )

  it.effect("pages: numbers are read as everywhere; a page after the last one is empty", () =>
    Effect.gen(function* () {
      const { actor, stores, token } = yield* anAccount({ domains: ["a.example"] })
      yield* Effect.replicateEffect(anEntity("product", { title: "x" }, { on: stores }), 103).pipe(actingAs(actor))
      yield* post("/scans", token, { dimension: "completeness" })
      const all = bodyOf(yield* get("/issues?section=completeness-required&page_size=1000", token))
      assert.deepStrictEqual([all.data.length, all.page, all.has_next], [100, 1, true])
      const cases: Readonly<Record<string, readonly [rows: number, page: number, more: boolean]>> = {
        "": [25, 1, true],
        "page=2": [25, 2, true],
        "page=%2B5": [3, 5, false],
        "page=6": [0, 6, false],
        "page=0": [25, 1, true],
        "page=-7": [25, 1, true],
        "page=two": [25, 1, true],
        [`page=${"9".repeat(400)}`]: [0, 10_000_000_000_000, false],
        "page_size=0": [1, 1, true],
        "page_size=103": [100, 1, true],
        "page_size=x": [25, 1, true],
        "page=2&page_size=100": [3, 2, false],
        // Ignored in sections that it does not filter.
        "locale=de": [25, 1, true]
      }
      for (const [query, expected] of Object.entries(cases)) {
        const page = bodyOf(yield* get(`/issues?section=completeness-required&${query}`, token))
        assert.deepStrictEqual([page.data.length, page.page, page.has_next], expected, query)
      }
      const five = yield* Effect.forEach([1, 2, 3, 4, 5], (page) =>
        Effect.map(get(`/issues?section=completeness-required&page=${page}`, token), (answer) => bodyOf(answer).data)
      )
      const ids = five.flat().map(({ entity_id }: { readonly entity_id: string }) => entity_id)
      assert.strictEqual(new Set(ids).size, 103)
      assert.deepStrictEqual(ids, [...ids].sort())
    })
  )

  it.effect("an invalid batch is refused as a whole, and nothing is written", () =>
    Effect.gen(function* () {
      const { a, actor, bare, token } = yield* aShop
      const listed = (names: ReadonlyArray<string>) => names.join(", ")
      const missing = (names: ReadonlyArray<string>) => `is missing: give one of ${listed(names)}`
      const known = (names: ReadonlyArray<string>) => `must be one of ${listed(names)}`
      const queries: ReadonlyArray<readonly [string, string, string]> = [
        ["/issues", "section", missing(sections)],
        ["/issues?section=sync", "section", known(sections)],
        ["/issues?section=Divergence", "section", known(sections)],
        ["/issues?section=divergence&section=divergence", "section", "is given more than once"],
        ["/issues?section=divergence&page=1&page=1", "page", "is given more than once"],
        ["/issues?section=divergence&page_size=1&page_size=2", "page_size", "is given more than once"],
        ["/issues?section=divergence&store_id=x", "store_id", "must be a UUID"],
        ["/issues?section=divergence&locale=%00", "locale", "must not contain U+0000"],
        [`/issues?section=divergence&locale=${"x".repeat(36)}`, "locale", "must have at most 35 characters"],
        ["/issues?section=", "section", missing(sections)],
        ["?store_id=x", "store_id", "must be a UUID"],
        [`?store_id=${a}&store_id=${a}`, "store_id", "is given more than once"]
      ]
      for (const [path, place, message] of queries) assertRefusal(yield* get(path, token), misfit(place, message))

      const fill = { entity_id: bare, store_id: a, field: "vendor", value: "Fell" }
      const reconcile = { entity_id: bare, field: "vendor", value: "Fell" }
      const { value: _, ...neither } = reconcile
      const batch = (...operations: ReadonlyArray<unknown>) => ({ entity_type: "product", operations })
      const either = "give exactly one of winner_store_id and value"
      const narrow = "applies only to value: leave it out with winner_store_id"
      const bodies: ReadonlyArray<readonly [string, unknown, string, string | RegExp]> = [
        ["/scans", {}, "dimension", missing(dimensions)],
        ["/scans", { dimension: "speed" }, "dimension", known(dimensions)],
        ["/scans", { dimension: 7 }, "dimension", known(dimensions)],
        ["/scans", { dimension: "sync", store_id: "x" }, "store_id", "must be a UUID"],
        ["/scans", { dimension: "sync", store_id: 7 }, "store_id", "expected text"],
        ["/scans", { dimension: null }, "dimension", missing(dimensions)],
        ["/scans", [], "body", "expected an object"],
        ["/scans", null, "body", "expected an object"],
        ["/scans", 7, "body", "expected an object"],
        ["/scans", "{", "body", "is not JSON"],
        ...["/completeness-fills", "/divergence-reconciles"].flatMap(
          (path): ReadonlyArray<readonly [string, unknown, string, string | RegExp]> => [
            [path, { operations: [] }, "entity_type", `is missing: give one of ${kinds}`],
            [path, { entity_type: "products", operations: [] }, "entity_type", `must be one of ${kinds}`],
            [path, { entity_type: "product" }, "operations", /missing/],
            [path, { entity_type: "product", operations: {} }, "operations", "expected a list (an array)"],
            [path, { entity_type: "product", operations: 1 }, "operations", "expected a list (an array)"],
            [path, batch(null), "operations.0", "expected an object"],
            [path, batch("x"), "operations.0", "expected an object"],
            [path, '"x"', "body", "expected an object"]
          ]
        ),
        [
          "/completeness-fills",
          batch(...Array.from({ length: 501 }, () => fill)),
          "operations",
          "must be at most 500 operations"
        ],
        [
          "/divergence-reconciles",
          batch(...Array.from({ length: 501 }, () => reconcile)),
          "operations",
          "must be at most 500 operations"
        ],
        ["/completeness-fills", batch(fill, { ...fill, entity_id: "x" }), "operations.1.entity_id", "must be a UUID"],
        ["/completeness-fills", batch({ ...fill, store_id: 7 }), "operations.0.store_id", "expected text"],
        ["/completeness-fills", batch({ ...fill, value: null }), "operations.0.value", "is missing"],
        ["/completeness-fills", batch({ entity_id: bare, store_id: a, field: "x" }), "operations.0.value", /missing/],
        ["/divergence-reconciles", batch(7), "operations.0", "expected an object"],
        ["/divergence-reconciles", batch(neither), "operations.0.winner_store_id", either],
        ["/divergence-reconciles", batch({ ...reconcile, winner_store_id: a }), "operations.0.winner_store_id", either],
        [
          "/divergence-reconciles",
          batch({ ...neither, winner_store_id: a, store_id: a }),
          "operations.0.store_id",
          narrow
        ],
        ["/divergence-reconciles", batch({ ...reconcile, value: 7 }), "operations.0.value", "expected text"],
        ["/divergence-reconciles", batch({ ...reconcile, store_id: 7 }), "operations.0.store_id", "expected text"]
      ]
      for (const [path, body, place, message] of bodies) {
        const answer = yield* post(path, token, body)
        if (typeof message === "string") assertRefusal(answer, misfit(place, message))
        else {
          const { error } = JSON.parse(answer.text)
          assert.deepStrictEqual([answer.status, error.code], [400, "validation_failed"], answer.text)
          assert.strictEqual(error.details[0].path, place)
          assert.match(error.details[0].message, message)
        }
      }
      // A member that is null counts as absent.
      const scan = bodyOf(yield* post("/scans", token, { dimension: "media", store_id: null }))
      assert.strictEqual(scan.scanned, true)
      const reconciled = batch({ ...reconcile, winner_store_id: null, store_id: null })
      assert.deepStrictEqual(bodyOf(yield* post("/divergence-reconciles", token, reconciled)), {
        patched: 0,
        results: [{ entity_id: bare, store_id: a, ok: true, patched_store_ids: [], unchanged: true, draft_revision: 1 }]
      })
      assert.deepStrictEqual(bodyOf(yield* post("/completeness-fills", token, batch())), { filled: 0, results: [] })
      const unknown = { entity_id: bare, store_id: a, field: "de.vendor", value: "Fell" }
      assert.deepStrictEqual(bodyOf(yield* post("/completeness-fills", token, batch(unknown))), {
        filled: 0,
        results: [
          {
            entity_id: bare,
            store_id: a,
            field: "de.vendor",
            ok: false,
            filled: false,
            error: {
              code: "validation_failed",
              message: `field: ${unknownKey("product", "vendor")}`
            }
          }
        ]
      })
      assert.deepStrictEqual(bodyOf(yield* post("/divergence-reconciles", token, batch())), { patched: 0, results: [] })
      const product = bodyOf(yield* ask(`/api/v1/products/${bare}`, { token }))
      assert.strictEqual(product.draft_revision, 1)
      assert.strictEqual(actor._tag, "Cli")
    })
  )

  it.effect("a store that is not the account's is 404 in a query or in the body of a scan", () =>
    Effect.gen(function* () {
      const { token } = yield* aShop
      const theirs = yield* anAccount({ domains: ["theirs.example"] })
      for (const id of [unused, theirs.stores[0].id]) {
        assertRefusal(yield* get(`?store_id=${id}`, token), refusals.notFound)
        assertRefusal(yield* get(`/issues?section=media-unused&store_id=${id}`, token), refusals.notFound)
        for (const dimension of dimensions)
          assertRefusal(yield* post("/scans", token, { dimension, store_id: id }), refusals.notFound)
      }
    })
  )

  it.effect("a foreign id inside a valid batch gives the same result as an unknown one, and changes nothing", () =>
    Effect.gen(function* () {
      const { a, bare, token } = yield* aShop
      const theirs = yield* aShop
      const version = (key: string) => Effect.map(ask(`/api/v1/products`, { token: key }), ({ text }) => text)
      const before = yield* version(theirs.token)
      const fill = (entity_id: string, store_id: string) => ({ entity_id, store_id, field: "vendor", value: "Fell" })
      const pairs: ReadonlyArray<readonly [string, string]> = [
        [theirs.bare, theirs.a],
        [theirs.bare, a],
        [bare, theirs.a],
        [unused, a],
        [bare, unused]
      ]
      const operations = [...pairs.map(([entity, store]) => fill(entity, store)), fill(bare, a)]
      const { filled, results } = bodyOf(
        yield* post("/completeness-fills", token, { entity_type: "product", operations })
      )
      assert.strictEqual(filled, 1)
      const noProduct = (id: string) => ({
        code: "not_found",
        message: `This account has no product with the id ${id}.`
      })
      const noStore = (id: string) => ({
        code: "not_found",
        message: `This account has no linked store with the id ${id}.`
      })
      assert.deepStrictEqual(results, [
        ...pairs.map(([entity_id, store_id]) => ({
          entity_id,
          store_id,
          field: "vendor",
          ok: false,
          filled: false,
          error: entity_id === bare ? noStore(store_id) : noProduct(entity_id)
        })),
        { entity_id: bare, store_id: a, field: "vendor", ok: true, filled: true, draft_revision: 2 }
      ])
      const reconciles = [theirs.tent, unused].map((entity_id) => ({ entity_id, field: "title", value: "x" }))
      const { patched, results: others } = bodyOf(
        yield* post("/divergence-reconciles", token, { entity_type: "product", operations: reconciles })
      )
      assert.strictEqual(patched, 0)
      assert.deepStrictEqual(
        others,
        reconciles.map(({ entity_id }) => ({
          entity_id,
          store_id: "00000000-0000-0000-0000-000000000000",
          ok: false,
          patched_store_ids: [],
          error: noProduct(entity_id)
        }))
      )
      assert.strictEqual(yield* version(theirs.token), before)
    })
  )

  it.effect("batches take 2 MiB, the scan 1 MiB", () =>
    Effect.gen(function* () {
      const { a, bare, token } = yield* aShop
      const value = "x".repeat(4_000)
      const operations = Array.from({ length: 490 }, () => ({
        entity_id: bare,
        store_id: a,
        field: "seo_description",
        value
      }))
      const large = JSON.stringify({ entity_type: "product", operations })
      assert.isAbove(large.length, 1_048_576)
      assert.isBelow(large.length, 2_097_152)
      assert.strictEqual(bodyOf(yield* post("/completeness-fills", token, large)).filled, 1)
      const limit = (bytes: number) => ({
        ...refusals.tooLarge,
        message: `The body is larger than ${bytes} bytes.`
      })
      for (const path of ["/completeness-fills", "/divergence-reconciles"])
        assertRefusal(yield* post(path, token, "x".repeat(2_097_153)), limit(2_097_152))
      assertRefusal(yield* post("/scans", token, "x".repeat(1_048_577)), limit(1_048_576))
    })
  )

  it.effect("reading needs pim:read, everything else pim:write; a locked account is reported after invalid input", () =>
    Effect.gen(function* () {
      const { a, accountId, bare, token } = yield* aShop
      const { token: reader } = yield* aKey(accountId, ["pim:read"])
      const { token: writer } = yield* aKey(accountId, ["pim:write"])
      const good = {
        "/scans": { dimension: "sync" },
        "/completeness-fills": {
          entity_type: "product",
          operations: [{ entity_id: bare, store_id: a, field: "vendor", value: "Fell" }]
        },
        "/divergence-reconciles": {
          entity_type: "product",
          operations: [{ entity_id: bare, field: "vendor", value: "Fell" }]
        }
      }
      for (const path of ["", "/issues?section=divergence"]) {
        assertRefusal(yield* get(path, writer), refusals.noRead)
        bodyOf(yield* get(path, reader))
      }
      const lock = yield* ImportLockRepo
      yield* lock.keep(accountId, ImportId.make(unused))
      for (const [path, body] of Object.entries(good)) {
        assertRefusal(yield* post(path, reader, body), refusals.noWrite)
        assertRefusal(yield* ask(`${base}${path}`, { token: writer }), refusals.onlyPost)
        if (path === "/scans") bodyOf(yield* post(path, writer, body))
        else {
          assert.strictEqual((yield* post(path, writer, { ...body, entity_type: "x" })).status, 400)
          assertRefusal(yield* post(path, writer, body), {
            status: 423,
            code: "pim_locked",
            message: "An import or refresh has locked the catalog; retry after it has ended."
          })
        }
      }
      yield* lock.keep(accountId, null)
      assert.strictEqual(bodyOf(yield* post("/completeness-fills", token, good["/completeness-fills"])).filled, 1)
    })
  )
})
