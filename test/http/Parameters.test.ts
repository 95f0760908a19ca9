import { assert, describe, it, layer } from "@effect/vitest"
import { Array as Arr, Effect } from "effect"
import { envelopeOf } from "../../src/api/ErrorEnvelope.ts"
import { ValidationFailed } from "../../src/model/Errors.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { type Answer, ask, assertHeaders, assertRefusal, MemoryServer, misfit, refusals } from "./Exchange.ts"
import { aCatalog, aKey } from "./Fixtures.ts"

const rowsOf = ({ status, text }: Answer): number => {
  assert.strictEqual(status, 200, text)
  return JSON.parse(text).data.length
}

/** Checks that every issue of a 400 concerns this parameter. */
const assertMisfit = (answer: Answer, parameter: string) => {
  assert.strictEqual(answer.status, 400, answer.text)
  assertHeaders(answer, ["content-type"])
  const { error } = JSON.parse(answer.text)
  assert.hasAllKeys(error, ["code", "message", "request_id", "details"])
  assert.deepInclude(error, { code: "validation_failed", request_id: answer.headers["x-request-id"] })
  assert.isAtLeast(error.details.length, 1)
  for (const issue of error.details) {
    assert.hasAllKeys(issue, ["path", "message"])
    assert.strictEqual(issue.path, parameter)
  }
}

const lists = ["products", "variants", "collections", "media"]

/** An account with this many products, created in one change. */
const products = (count: number) =>
  Effect.gen(function* () {
    const account = yield* anAccount()
    yield* (yield* CatalogChanges)
      .apply(
        Arr.makeBy(count, (index) =>
          CatalogChange.CreateEntity({
            id: EntityId.make(crypto.randomUUID()),
            kind: "product",
            parentId: null,
            values: { title: `Product ${index}` }
          })
        )
      )
      .pipe(actingAs(account.actor), Effect.orDie)
    return account
  })

layer(MemoryServer)("parameters", (it) => {
  it.effect("limit: an invalid number means the default, a number out of range the nearest bound", () =>
    Effect.gen(function* () {
      const { token } = yield* products(255)
      const rows: Readonly<Record<string, number>> = {
        "7": 7,
        "007": 7,
        "-0": 1,
        "%2B7": 7,
        "0": 1,
        "-5": 1,
        "250": 250,
        "251": 250,
        "9007199254740993": 250,
        [`${"9".repeat(400)}`]: 250,
        [`-${"9".repeat(400)}`]: 1,
        [`${"0".repeat(400)}3`]: 3,
        "": 50,
        "+7": 50,
        "%207": 50,
        "7%20": 50,
        "7%0A": 50,
        "7%00": 50,
        "1e3": 50,
        "0x10": 50,
        "0b11": 50,
        "7.0": 50,
        "7n": 50,
        "1_0": 50,
        "--7": 50,
        "%2B": 50,
        "-": 50,
        NaN: 50,
        Infinity: 50,
        null: 50,
        true: 50,
        "%D9%A3": 50,
        "%EF%BC%97": 50,
        "%C2%B2": 50
      }
      for (const [value, count] of Object.entries(rows))
        assert.strictEqual(rowsOf(yield* ask(`/api/v1/products?limit=${value}`, { token })), count, value)
      assert.strictEqual(rowsOf(yield* ask("/api/v1/products", { token })), 50)
    })
  )

  it.effect("a parameter given twice is refused, even with the same value", () =>
    Effect.gen(function* () {
      const { ids, stores, token } = yield* aCatalog()
      const values: Readonly<Record<string, string>> = {
        limit: "1",
        cursor: "x",
        status: "failed",
        search: "boots",
        pending: "true",
        pending_publish: "true",
        include: "stores",
        ids: ids.product,
        store_id: stores[0].id,
        updated_since: "2026-01-01T00:00:00Z"
      }
      for (const list of lists)
        for (const [name, value] of Object.entries(values))
          assertRefusal(
            yield* ask(`/api/v1/${list}?${name}=${value}&${name}=${value}`, { token }),
            misfit(name, "is given more than once")
          )
      const collection = `collection_id=${ids.collection}`
      assertRefusal(
        yield* ask(`/api/v1/products?${collection}&${collection}`, { token }),
        misfit("collection_id", "is given more than once")
      )
      assertRefusal(
        yield* ask("/api/v1/products?limit=1&%6Cimit=1", { token }),
        misfit("limit", "is given more than once")
      )
      assertRefusal(
        yield* ask(`/api/v1/products?${"limit=1&".repeat(900)}`, { token }),
        misfit("limit", "is given more than once")
      )
    })
  )

  it.effect("unknown parameters are ignored", () =>
    Effect.gen(function* () {
      const { token } = yield* aCatalog()
      const etag = String((yield* ask("/api/v1/products", { token })).headers.etag)
      const names = [
        "x",
        "__proto__",
        "constructor",
        "prototype",
        "toString",
        "hasOwnProperty",
        "valueOf",
        "length",
        "then"
      ]
      const queries = [
        ...names.map((name) => `${name}=1`),
        ...names.map((name) => `${name}=1&${name}=2`),
        "__proto__[limit]=1",
        "__proto__.limit=1",
        "limit[]=1",
        "limit[a]=1",
        "LIMIT=1",
        "page=7",
        "",
        "&",
        "&&=&",
        "=",
        "=limit",
        "%00=1",
        "x=%00",
        "collection=1",
        "?limit=1"
      ]
      for (const query of queries) {
        const answer = yield* ask(`/api/v1/products?${query}`, { token })
        assert.deepStrictEqual([answer.status, answer.headers.etag], [200, etag], query)
      }
      assert.notProperty({}, "limit")
    })
  )

  it.effect("bounded lists and single reads ignore parameters", () =>
    Effect.gen(function* () {
      const { ids, token } = yield* aCatalog()
      for (const path of [
        "/stores",
        `/products/${ids.product}`,
        `/products/${ids.product}/stores`,
        "/ping",
        "/markets",
        `/markets/${ids.market}`,
        "/metafield-definitions",
        "/metaobject-definitions",
        `/metaobject-definitions/${ids.definition}/entries`,
        `/products/${ids.product}/translations`,
        `/collections/${ids.collection}/translations`
      ]) {
        const plain = yield* ask(`/api/v1${path}`, { token })
        const query = "limit=1&limit=2&cursor=garbage&status=x&updated_since=never&search=%00&page=0"
        const asked = yield* ask(`/api/v1${path}?${query}`, { token })
        assert.deepStrictEqual([asked.status, asked.text], [200, plain.text])
      }
    })
  )

  it.effect("cursor: a cursor of another list, or of other filters, is refused", () =>
    Effect.gen(function* () {
      const { actor, ids, stores, token } = yield* aCatalog()
      yield* anEntity("product", { title: "Shoes" }).pipe(actingAs(actor))
      yield* anEntity("variant", { title: "L" }, { of: ids.product }).pipe(actingAs(actor))
      const cursorOf = (target: string) =>
        Effect.map(ask(target, { token }), ({ text }) => JSON.parse(text).next_cursor as string)
      const cursor = yield* cursorOf("/api/v1/products?limit=1")
      assert.strictEqual(yield* cursorOf("/api/v1/products?limit=1"), cursor)
      for (const limit of ["", "&limit=1", "&limit=250", "&limit=x", "&search=", "&search=%20"])
        assert.strictEqual(rowsOf(yield* ask(`/api/v1/products?cursor=${cursor}${limit}`, { token })), 1)

      const other = cursor[5] === "A" ? "B" : "A"
      const targets = [
        ...[
          "garbage",
          "null",
          "0",
          "%00",
          "%F0%9F%98%80",
          "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
          "x".repeat(4_000),
          cursor.slice(0, -1),
          `${cursor}A`,
          `${cursor}=`,
          `${cursor}%0A`,
          `%20${cursor}`,
          `${cursor.slice(0, 5)}${other}${cursor.slice(6)}`,
          cursor.toLowerCase() === cursor ? cursor.toUpperCase() : cursor.toLowerCase()
        ].map((value) => `products?cursor=${value}`),
        `products?cursor=${cursor}&search=boots`,
        `products?cursor=${cursor}&status=never_published`,
        `products?cursor=${cursor}&store_id=${stores[0].id}`,
        `products?cursor=${cursor}&pending=true`,
        `products?cursor=${cursor}&updated_since=2020-01-01T00:00:00Z`,
        `products?cursor=${cursor}&collection_id=${ids.collection}`,
        `variants?cursor=${cursor}`,
        `collections?cursor=${cursor}`,
        `media?cursor=${cursor}`,
        `products?cursor=${yield* cursorOf("/api/v1/variants?limit=1")}`,
        `products?cursor=${yield* cursorOf("/api/v1/products?limit=1&status=never_published")}`
      ]
      for (const target of targets) assertRefusal(yield* ask(`/api/v1/${target}`, { token }), refusals.foreignCursor)
    })
  )

  const instants: Readonly<Record<string, string | null>> = {
    "2026-01-31T09:30:00Z": null,
    "2026-01-31t09:30:00z": null,
    "2026-01-31T09:30:00.123456789Z": null,
    "2026-01-31T09:30:00%2B02:00": null,
    "2026-01-31T09:30:00-23:59": null,
    "2024-02-29T00:00:00Z": null,
    "2016-12-31T23:59:60Z": null,
    "2017-01-01T01:59:60%2B02:00": null,
    "0001-01-01T00:00:00%2B01:00": null,
    "9999-12-31T23:59:59-01:00": null,
    "": null,
    never: "such as",
    infinity: "such as",
    "-infinity": "such as",
    now: "such as",
    "1769851800": "such as",
    "2026-01-31": "such as",
    "2026-1-31T09:30:00Z": "such as",
    "2026-01-31T9:30:00Z": "such as",
    "2026-01-31T09:30Z": "such as",
    "20260131T093000Z": "such as",
    "%2B2026-01-31T09:30:00Z": "such as",
    "2026-W05-6T09:30:00Z": "such as",
    "2026-01-31T09:30:00": "the offset is missing",
    "2026-01-31T09:30:00.5": "the offset is missing",
    "2026-01-31%2009:30:00Z": `write "T" between date and time`,
    "2026-01-31T09:30:00+02:00": "encode it as %2B",
    "2026-01-31T09:30:00%2B0200": `the offset must be "Z"`,
    "2026-01-31T09:30:00%2B24:00": "the offset must be at most 23:59",
    "2026-01-31T09:30:00%20CET": `the offset must be "Z"`,
    "2026-01-31T09:30:00Z%00": `the offset must be "Z"`,
    "2026-02-30T00:00:00Z": "this date does not exist",
    "2025-02-29T00:00:00Z": "this date does not exist",
    "2026-13-01T00:00:00Z": "this date does not exist",
    "2026-00-10T00:00:00Z": "this date does not exist",
    "2026-01-31T24:00:00Z": "the hour must be 00 to 23",
    "2026-01-31T09:60:00Z": "the minute must be 00 to 59",
    "2026-01-31T09:30:61Z": "the second must be 00 to 59",
    "2026-01-31T09:30:60Z": "the second 60 exists only at 23:59:60Z",
    [`2026-01-31T09:30:00.${"1".repeat(31)}Z`]: "more than 30 digits",
    [`2026-01-31T09:30:00.${"1".repeat(7_000)}Z`]: "such as",
    "%D9%A2%D9%A0%D9%A2%D9%A6-01-31T09:30:00Z": "such as"
  }
  it.effect("updated_since: RFC 3339 with an offset, and nothing else", () =>
    Effect.gen(function* () {
      const { accountId, token } = yield* aCatalog()
      const { token: second } = yield* aKey(accountId, ["pim:read"])
      for (const [value, complaint] of Object.entries(instants)) {
        const answer = yield* ask(`/api/v1/products?updated_since=${value}`, { token })
        if (complaint === null) assert.strictEqual(answer.status, 200, value)
        else {
          assertMisfit(answer, "updated_since")
          assert.include(answer.text.replaceAll("\\", ""), complaint, value)
        }
      }
      for (const list of lists)
        assertMisfit(
          yield* ask(`/api/v1/${list}?updated_since=2026-02-30T00:00:00Z`, { token: second }),
          "updated_since"
        )
    })
  )

  it.effect("status: one of four", () =>
    Effect.gen(function* () {
      const { token } = yield* aCatalog()
      for (const list of lists) {
        for (const status of ["never_published", "pending", "published", "failed"])
          assert.strictEqual(
            rowsOf(yield* ask(`/api/v1/${list}?status=${status}`, { token })),
            status === "never_published" ? 1 : 0
          )
        for (const status of ["active", "Failed", "failed%00", "failed,pending", "%20failed", "__proto__"])
          assertMisfit(yield* ask(`/api/v1/${list}?status=${status}`, { token }), "status")
      }
    })
  )

  it.effect("store_id and pending: a UUID of a linked store, true or false", () =>
    Effect.gen(function* () {
      const { stores, token } = yield* aCatalog()
      for (const list of lists) {
        const by = (query: string) => ask(`/api/v1/${list}?${query}`, { token })
        const rows = rowsOf(yield* by(""))
        for (const id of [stores[0].id, stores[0].id.toUpperCase()])
          assert.strictEqual(rowsOf(yield* by(`store_id=${id}`)), rows, list)
        assert.strictEqual(rowsOf(yield* by("pending=true")) + rowsOf(yield* by("pending=false")), rows)
        for (const id of [crypto.randomUUID(), "00000000-0000-0000-0000-000000000000"])
          assertRefusal(yield* by(`store_id=${id}`), refusals.notFound)
        assertRefusal(yield* by("store_id=1"), misfit("store_id", "must be a UUID"))
        for (const pending of ["1", "TRUE", "yes", "%00", "null"])
          assertRefusal(yield* by(`pending=${pending}`), misfit("pending", "must be true or false"))
      }
    })
  )

  it.effect("locale and field of issues: only those that the account has", () =>
    Effect.gen(function* () {
      const { token } = yield* aCatalog()
      const by = (query: string) => ask(`/api/v1/data-health/issues?section=${query}`, { token })
      for (const query of ["translations-outdated&locale=en", "divergence&locale=German", "divergence&field=title"])
        assert.strictEqual(rowsOf(yield* by(query)), 0, query)
      assertRefusal(
        yield* by("translations-outdated&locale=German"),
        misfit("locale", "must be one of en: the languages of the account's stores")
      )
      assertRefusal(yield* by("media-unused&field=alt"), misfit("field", "rows of media-unused have no fields"))
      assertMisfit(yield* by("divergence&field=titel"), "field")
      assertRefusal(
        yield* by(`divergence&field=${"x".repeat(321)}`),
        misfit("field", "must have at most 320 characters")
      )
      assertRefusal(yield* by("divergence&field=%00"), misfit("field", "must not contain U+0000"))
    })
  )

  it.effect("search: at most 200 characters, without U+0000; no character has a special meaning", () =>
    Effect.gen(function* () {
      const { token } = yield* aCatalog()
      const found = (search: string) => Effect.map(ask(`/api/v1/products?search=${search}`, { token }), rowsOf)
      for (const everything of ["", "%20", "+", "%09%0A", "boots", "BOOTS", "b%C3%B6%C3%B6ts", "b-s+boots", "oot"])
        assert.strictEqual(yield* found(everything), 1, everything)
      for (const nothing of [
        "%25",
        "_",
        "%5C",
        "b%25s",
        "boo_s",
        "%27",
        "%27%20OR%20%27%27=%27",
        "*",
        ".*",
        "(",
        "[",
        "shoes",
        "oo"
      ])
        assert.strictEqual(yield* found(nothing), 0, nothing)
      for (const long of ["x".repeat(200), "%20".repeat(200), "(a+)".repeat(50).replaceAll("+", "%2B")])
        assert.isAtMost(yield* found(long), 1)
      for (const list of lists) {
        const longer = yield* ask(`/api/v1/${list}?search=${"x".repeat(201)}`, { token })
        assertRefusal(longer, misfit("search", "must have at most 200 characters"))
        const zero = yield* ask(`/api/v1/${list}?search=a%00b`, { token })
        assertRefusal(zero, misfit("search", "must not contain U+0000"))
        for (const undecodable of ["%ED%A0%80", "%FF", "%C0%80", "%F5%80%80%80", "%", "%4", "%zz", "%u0041"])
          assertRefusal(yield* ask(`/api/v1/${list}?search=${undecodable}`, { token }), refusals.badQuery)
      }
      assertRefusal(yield* ask("/api/v1/products?a=%C3&b=%A9", { token }), refusals.badQuery)
      assertRefusal(yield* ask("/api/v1/products?%FF=1", { token }), refusals.badQuery)
    })
  )

  it.effect("collection_id: malformed is 400, unknown is 404, in any case", () =>
    Effect.gen(function* () {
      const { ids, token } = yield* aCatalog()
      const by = (id: string) => ask(`/api/v1/products?collection_id=${id}`, { token })
      assert.strictEqual(rowsOf(yield* by(ids.collection)), 1)
      assert.strictEqual(rowsOf(yield* by(ids.collection.toUpperCase())), 1)
      for (const id of ["1", "null", ids.collection.slice(1), `${ids.collection}0`, `${ids.collection}%0A`, "%00"])
        assertRefusal(yield* by(id), misfit("collection_id", "must be a UUID"))
      for (const id of [ids.product, crypto.randomUUID(), "00000000-0000-0000-0000-000000000000"])
        assertRefusal(yield* by(id), refusals.notFound)
      const elsewhere = yield* ask("/api/v1/variants?collection_id=1", { token })
      assert.strictEqual(rowsOf(elsewhere), 1)
    })
  )

  it.effect("include, ids and pending_publish: an invalid value is refused with the allowed ones", () =>
    Effect.gen(function* () {
      const { accountId, ids, token: first } = yield* aCatalog()
      const { token: second } = yield* aKey(accountId, ["pim:read"])
      const groups = "must be one or more of attributes, stores, relationships, separated by commas"
      const manyIds = (count: number) => Array.from({ length: count }, () => crypto.randomUUID()).join(",")
      for (const [index, list] of lists.entries()) {
        const token = index % 2 === 0 ? first : second
        const by = (query: string) => ask(`/api/v1/${list}?${query}`, { token })
        for (const include of ["x", "Attributes", "attributes,values", "%00", "attributes;stores"])
          assertRefusal(yield* by(`include=${include}`), misfit("include", groups))
        const [row] = JSON.parse((yield* by("include=stores,attributes,stores,")).text).data
        assert.containsAllKeys(row, ["attributes", "stores"])
        assert.doesNotHaveAnyKeys(row, ["store_ids", "media_ids", "variant_ids"])
        for (const wrong of ["1", `${ids.product},x`, "%00"])
          assertRefusal(yield* by(`ids=${wrong}`), misfit("ids", "must be ids (UUIDs), separated by commas"))
        assertRefusal(yield* by(`ids=${manyIds(251)}`), misfit("ids", "must have at most 250 values"))
        const known =
          ids[
            ({ products: "product", variants: "variant", collections: "collection", media: "media" } as const)[list] ??
              "product"
          ]
        // A target of 250 ids with escaped commas is within the length limit.
        const most = `${known.toUpperCase()},${manyIds(249)}`.replaceAll(",", "%2C")
        assert.strictEqual(rowsOf(yield* by(`include=attributes,stores,relationships&ids=${most}`)), 1)
        assertRefusal(
          yield* by(`ids=${known}&cursor=x`),
          misfit(
            "cursor",
            "cannot be combined with ids: entities that are named by their ids are on one page; send either of them"
          )
        )
        assertRefusal(yield* by("pending_publish=1"), misfit("pending_publish", "must be true or false"))
        assertRefusal(
          yield* by("pending_publish=true&pending=false"),
          misfit("pending_publish", "contradicts pending, which is the same filter: send one of them")
        )
        for (const value of ["true", "false"])
          assert.strictEqual((yield* by(`pending_publish=${value}`)).text, (yield* by(`pending=${value}`)).text)
      }
    })
  )

  it.effect("sku, barcode and handle: values with commas and backslashes are escaped", () =>
    Effect.gen(function* () {
      const { actor, token } = yield* anAccount()
      yield* Effect.gen(function* () {
        const product = yield* anEntity("product", { title: "Boots", handle: "boots" })
        for (const sku of ["a,b", "a", "b\\", "b\\,c"]) yield* anEntity("variant", { title: sku, sku }, { of: product })
      }).pipe(actingAs(actor), Effect.orDie)
      const skus = (query: string) =>
        Effect.map(ask(`/api/v1/variants?sku=${encodeURIComponent(query)}`, { token }), ({ status, text }) => {
          assert.strictEqual(status, 200, text)
          return JSON.parse(text).data.map((row: { readonly sku: string }) => row.sku)
        })
      assert.deepStrictEqual(yield* skus("a,b"), ["a"])
      assert.deepStrictEqual(yield* skus("a\\,b"), ["a,b"])
      assert.deepStrictEqual(yield* skus("a\\,b,a"), ["a,b", "a"])
      assert.deepStrictEqual(yield* skus("b\\"), ["b\\"])
      assert.deepStrictEqual(yield* skus("b\\\\,a"), ["a", "b\\"])
      assert.deepStrictEqual(yield* skus("b\\\\\\,c"), ["b\\,c"])
      assertRefusal(yield* ask("/api/v1/variants?sku=a,%00", { token }), misfit("sku", "must not contain U+0000"))
      assertRefusal(
        yield* ask(`/api/v1/variants?barcode=${Array.from({ length: 251 }, (_, index) => index).join(",")}`, { token }),
        misfit("barcode", "must have at most 250 values")
      )
    })
  )

  it.effect("a blank parameter counts as absent, whichever it is", () =>
    Effect.gen(function* () {
      const { accountId, ids, stores, token: first } = yield* aCatalog()
      const store = `store_id=${stores[0].id}`
      const { token: second } = yield* aKey(accountId, ["pim:read"])
      const answers: ReadonlyArray<readonly [path: string, names: ReadonlyArray<string>]> = [
        ["products", ["limit", "cursor", "updated_since", "store_id", "status", "pending", "search", "collection_id"]],
        ["media", ["include", "ids", "pending_publish", "sku", "barcode", "handle"]],
        ["variants", ["limit", "cursor", "updated_since", "store_id", "status", "pending", "search"]],
        ["metafield-definitions", ["owner_type"]],
        ["data-health", ["store_id"]],
        ["data-health/issues?section=divergence", ["page", "page_size", "store_id", "locale", "field"]],
        [`products/${ids.product}/sales-channels?${store}`, ["limit"]]
      ]
      for (const [path, names] of answers) {
        // The budget of one key is too small for so many requests.
        const token = path === "products" ? first : second
        const target = `/api/v1/${path}`
        const { headers, status } = yield* ask(target, { token })
        for (const name of names)
          for (const blank of [name, `${name}=`, `${name}=%20`, `${name}=+%09`, `${name}=&${name}=`]) {
            const answer = yield* ask(`${target}${target.includes("?") ? "&" : "?"}${blank}`, { token })
            assert.deepStrictEqual([answer.status, answer.headers.etag], [status, headers.etag], `${path} ${blank}`)
          }
      }
      const token = first
      assert.strictEqual(rowsOf(yield* ask("/api/v1/products?search=boots&status=&limit=", { token })), 1)
      assert.strictEqual(rowsOf(yield* ask("/api/v1/products?status=&search=shoes", { token })), 0)
      // A required parameter that is blank is reported as missing.
      for (const blank of ["", "?store_id", "?store_id=", "?store_id=%20"])
        assertRefusal(
          yield* ask(`/api/v1/products/${ids.product}/sales-channels${blank}`, { token }),
          misfit("store_id", "is missing")
        )
    })
  )

  it.effect("owner_type: one of a fixed list, which a refusal names", () =>
    Effect.gen(function* () {
      const { token } = yield* aCatalog()
      const by = (owner: string) => ask(`/api/v1/metafield-definitions?owner_type=${owner}`, { token })
      assert.strictEqual(rowsOf(yield* by("product")), 1)
      for (const owner of ["variant", "collection", "media", "market", "shop"])
        assert.strictEqual(rowsOf(yield* by(owner)), 0)
      const known = misfit("owner_type", "must be one of product, variant, collection, media, market, shop")
      for (const owner of ["Product", "products", "order", "product%20", "%00", "null"])
        assertRefusal(yield* by(owner), known)
      assertRefusal(yield* by("product&owner_type=product"), misfit("owner_type", "is given more than once"))
    })
  )

  it.effect("a refused value is never repeated in the message", () =>
    Effect.gen(function* () {
      const { token } = yield* aCatalog()
      const marker = "zqzqzq"
      for (const query of [
        `status=${marker}`,
        `cursor=${marker}`,
        `updated_since=${marker}`,
        `updated_since=2026-01-31T09:30:00${marker}`,
        `collection_id=${marker}`,
        `include=${marker}`,
        `ids=${marker}`,
        `sku=${marker},%00`,
        `pending_publish=${marker}`,
        `limit=${marker}&limit=${marker}`,
        `search=${marker}&search=${marker}`,
        `search=${marker}%00`,
        `search=${marker.repeat(40)}`,
        `search=%${marker}`,
        `status=${encodeURIComponent(`", actual ${marker}, actual `)}`,
        `status=a&status=${encodeURIComponent(`", actual ${marker}`)}`
      ]) {
        const answer = yield* ask(`/api/v1/products?${query}`, { token })
        assert.strictEqual(answer.status, 400)
        assert.notInclude(answer.text, marker)
      }
    })
  )
})

describe("details", () => {
  it("are capped in count and length", () => {
    const issues = Arr.makeBy(100, (index) => ({ path: `${index}${"p".repeat(1_000)}`, message: "m".repeat(1_000) }))
    const envelope = envelopeOf(new ValidationFailed({ issues }), "req_1")
    assert("details" in envelope.error)
    assert.strictEqual(envelope.error.details.length, 20)
    assert.strictEqual(envelope.error.message.length, 500)
    for (const { message, path } of envelope.error.details)
      assert.deepStrictEqual([message.length, path.length], [500, 500])
  })
})
