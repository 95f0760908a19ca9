import { EventEmitter, once } from "node:events"
import { assert, describe, it, layer } from "@effect/vitest"
import { CatalogError, connect, verifyWebhook } from "catalog/client"
import { actingAs, anEntity, CatalogChange, CatalogChanges } from "catalog/testing"
import { Effect } from "effect"
import { Webhook } from "standardwebhooks"
import { ask, MemoryServer, port } from "../http/Exchange.ts"
import { aCatalog, aKey, unused } from "../http/Fixtures.ts"

const all = ["attributes", "stores", "relationships"] as const

/** A client of an account with an entity of each kind and five more products. */
const aClient = Effect.gen(function* () {
  const account = yield* aCatalog()
  const more = yield* Effect.forEach(["A", "B", "C", "D", "E"], (title) => anEntity("product", { title })).pipe(
    actingAs(account.actor)
  )
  const url = `http://127.0.0.1:${yield* port}`
  const rename = (title: string, products = more) =>
    Effect.flatMap(CatalogChanges, (changes) =>
      Effect.forEach(products, (entityId) =>
        changes.apply([CatalogChange.SetAttributes({ entityId, values: { title } })])
      )
    ).pipe(actingAs(account.actor), Effect.orDie)
  const json = (target: string) => Effect.map(ask(target, { token: account.token }), ({ text }) => JSON.parse(text))
  return { ...account, catalog: connect({ url, key: account.token }), json, more, rename, url }
})

const collect = async <A>(items: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const collected: Array<A> = []
  for await (const item of items) collected.push(item)
  return collected
}

/** An AbortSignal, as a program without Effect creates it. */
const anAbort = () => {
  const controller = new AbortController()
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) }
}

const failure = (call: () => Promise<unknown>) =>
  Effect.promise(() =>
    call().then(
      () => assert.fail("it did not fail"),
      (error: unknown) => error
    )
  )

layer(MemoryServer)("a client", (it) => {
  it.effect("reads what the service returns", () =>
    Effect.gen(function* () {
      const { catalog, ids, json, stores } = yield* aClient
      const storeId = stores[0].id
      const details = { products: ids.product, variants: ids.variant, collections: ids.collection, media: ids.media }
      for (const kind of ["products", "variants", "collections", "media"] as const) {
        const id = details[kind]
        const path = `/api/v1/${kind}/${id}`
        const { get, version, versions } = catalog[kind]
        assert.deepStrictEqual(yield* Effect.promise<unknown>(() => get(id)), yield* json(path))
        assert.deepStrictEqual(yield* Effect.promise<unknown>(() => versions(id)), yield* json(`${path}/stores`))
        const onStore = yield* Effect.promise<unknown>(() => version(id, storeId))
        assert.deepStrictEqual(onStore, yield* json(`${path}/stores/${storeId}`))
        const rows = yield* Effect.promise(() => collect(catalog.walk(kind, { include: all })))
        assert.deepStrictEqual<unknown>(rows, (yield* json(`/api/v1/${kind}?include=${all.join()}`)).data)
      }
      const linked = yield* Effect.promise(() => catalog.endpoints.stores.listStores())
      assert.deepStrictEqual(linked, yield* json("/api/v1/stores"))
    })
  )

  it.effect("walks a list over its pages, with filters", () =>
    Effect.gen(function* () {
      const { catalog, ids, json, more, stores } = yield* aClient
      const walk = (...params: Parameters<typeof catalog.products.walk>) =>
        Effect.promise(() => collect<{ readonly id: string }>(catalog.products.walk(...params)))
      const rows = yield* walk({ limit: 2 })
      assert.deepStrictEqual(rows, (yield* json("/api/v1/products")).data)
      assert.lengthOf(rows, 6)
      const onStore = yield* walk({ store_id: stores[0].id, include: ["attributes"], limit: 1 })
      assert.deepStrictEqual(
        onStore.map(({ id }) => id),
        [ids.product]
      )
      assert.lengthOf(yield* walk({ ids: [] }), 0)
      const some = [...more, ...Array.from({ length: 600 }, () => unused), ids.product, ids.variant]
      const named = yield* walk({ ids: some, include: ["stores"] })
      assert.deepStrictEqual(named.map(({ id }) => id).sort(), [...more, ids.product].sort())
      const first = yield* Effect.promise(async () => {
        for await (const row of catalog.products.walk({ limit: 1 })) return row
        return undefined
      })
      assert.deepStrictEqual(first, rows[0])
    })
  )

  it.effect("an empty list of values matches nothing, and a parameter that is undefined is absent", () =>
    Effect.gen(function* () {
      const { catalog, ids, json } = yield* aClient
      const walk = (...params: Parameters<typeof catalog.products.walk>) =>
        Effect.promise(() => collect<{ readonly id: string }>(catalog.products.walk(...params)))
      for (const values of [[], [""], [" "]]) {
        assert.lengthOf(yield* walk({ sku: values }), 0, "sku")
        assert.lengthOf(yield* walk({ handle: values }), 0, "handle")
        assert.lengthOf(yield* walk({ barcode: values, include: ["stores"] }), 0, "barcode")
      }
      assert.lengthOf(yield* walk({ sku: ["", "B-S"] }), 1)
      const [bare] = yield* walk({ include: [] })
      const {
        attributes: _,
        collection_ids,
        media_ids,
        stores,
        variant_ids,
        ...rest
      } = yield* json(`/api/v1/products/${ids.product}`)
      assert.isDefined(collection_ids && media_ids && stores && variant_ids)
      assert.deepStrictEqual<unknown>(bare, rest)
      const absent = {
        status: undefined,
        search: undefined,
        ids: undefined,
        limit: undefined,
        include: undefined
      } as {}
      assert.deepStrictEqual<unknown>(yield* walk(absent), (yield* json("/api/v1/products")).data)
      assert.lengthOf(yield* walk({ ids: Array.from({ length: 600 }, () => ids.product) }), 1)
    })
  )

  it.effect("takes times in any form of RFC 3339", () =>
    Effect.gen(function* () {
      const { catalog } = yield* aClient
      const since = (updated_since: string) => collect(catalog.products.walk({ updated_since }))
      for (const [time, rows] of [
        [new Date(0).toISOString(), 6],
        ["1970-01-01T02:00:00+02:00", 6],
        ["2999-01-01T00:00:00Z", 0]
      ] as const)
        assert.lengthOf(yield* Effect.promise(() => since(time)), rows, time)
      assert.deepInclude(yield* failure(() => since("yesterday")), {
        code: "invalid_request",
        message: "updated_since: must be an RFC 3339 date-time with an offset, such as 2026-01-31T09:30:00Z"
      })
    })
  )

  it.effect("an endpoint takes the default size of pages", () =>
    Effect.gen(function* () {
      const { catalog, json } = yield* aClient
      const { endpoints } = catalog
      for (const [call, target] of [
        [() => endpoints.catalog.listProducts({ urlParams: {} }), "/api/v1/products"],
        [() => endpoints.catalog.listMedia({ urlParams: { search: "boots" } }), "/api/v1/media?search=boots"],
        [() => endpoints.changes.listChanges({ urlParams: {} }), "/api/v1/changes"],
        [
          () => endpoints.dataHealth.listDataHealthIssues({ urlParams: { section: "divergence" } }),
          "/api/v1/data-health/issues?section=divergence"
        ]
      ] as const)
        assert.deepStrictEqual<unknown>(yield* Effect.promise<unknown>(call), yield* json(target))
    })
  )

  it.effect("follows the feed: from any change's cursor on, nothing is missed", () =>
    Effect.gen(function* () {
      const { catalog, json, rename } = yield* aClient
      const after = yield* Effect.promise(() => catalog.changes.latest())
      assert.lengthOf(yield* Effect.promise(() => collect(catalog.changes.follow({ after, poll: false }))), 0)
      yield* rename("Z")
      const follow = (from: string | undefined) =>
        Effect.promise(() => collect(catalog.changes.follow({ after: from, limit: 2, poll: false })))
      const changes = yield* follow(after)
      const { data } = yield* json(`/api/v1/changes?cursor=${after}`)
      assert.lengthOf(data, 5)
      assert.deepStrictEqual(
        changes.map(({ cursor: _, ...change }) => change),
        data
      )
      for (const [index, { cursor }] of changes.entries()) {
        const later = yield* follow(cursor)
        assert.isAtLeast(later.length, changes.length - index - 1)
        assert.isAtMost(later.length, changes.length - index)
        assert.deepStrictEqual(
          later.map(({ seq }) => seq),
          changes.slice(-later.length || changes.length).map(({ seq }) => seq)
        )
      }
      const pages = yield* Effect.promise(() => collect(catalog.changes.pages({ after, limit: 2, poll: false })))
      assert.deepStrictEqual(
        pages.map(({ data: { length } }) => length),
        [2, 2, 1]
      )
      assert.strictEqual(pages[2]?.next_cursor, yield* Effect.promise(() => catalog.changes.latest()))
    })
  )

  it.effect("waits for changes until it is aborted", () =>
    Effect.gen(function* () {
      const { rename, token, url } = yield* aClient
      const requests = new EventEmitter()
      const catalog = connect({
        url,
        key: token,
        fetch: (...request) => {
          requests.emit("request")
          return fetch(...request)
        }
      })
      const after = yield* Effect.promise(() => catalog.changes.latest())
      const { abort, signal } = anAbort()
      const changes = catalog.changes.follow({ after, poll: 0.05, signal })[Symbol.asyncIterator]()
      const requested = once(requests, "request")
      const first = changes.next()
      yield* Effect.promise(() => requested)
      // The change comes after an empty page, while the client polls.
      yield* Effect.promise(() => Promise.race([once(requests, "request"), first]))
      yield* rename("Late")
      const { value } = yield* Effect.promise(() => first)
      assert.strictEqual(value?.type, "entity.updated")
      for (let left = 4; left > 0; left--) yield* Effect.promise(() => changes.next())
      const next = failure(() => changes.next())
      abort(new Error("enough"))
      assert.deepStrictEqual(yield* next, new Error("enough"))
      for (const call of [
        () => catalog.products.get(unused, { signal }),
        () => catalog.changes.latest({ signal }),
        () => catalog.endpoints.ping.ping({}, { signal }),
        () => collect(catalog.products.walk({}, { signal }))
      ])
        assert.deepStrictEqual(yield* failure(call), new Error("enough"))
    })
  )

  it.effect("rejects with the error envelope of the service", () =>
    Effect.gen(function* () {
      const { accountId, catalog, url } = yield* aClient
      const writer = yield* aKey(accountId, ["pim:write"])
      const refused = [
        ["not_found", 404, () => catalog.products.get(unused)],
        ["not_found", 404, () => collect(catalog.products.walk({ store_id: unused }))],
        ["validation_failed", 400, () => collect(catalog.changes.follow({ after: "x" }))],
        ["unauthorized", 401, () => connect({ url, key: "pk_live_x" }).changes.latest()],
        ["forbidden", 403, () => connect({ url, key: writer.token }).changes.latest()]
      ] as const
      for (const [code, status, call] of refused) {
        const error = yield* failure(call)
        assert.instanceOf(error, CatalogError)
        assert.deepInclude(error, { code, status })
        assert.match(String((error as CatalogError).request_id), /^req_[0-9a-f-]{36}$/)
        assert.isAbove((error as CatalogError).message.length, 10)
        assert.strictEqual((error as CatalogError).details?.[0]?.path, status === 400 ? "cursor" : undefined)
      }
    })
  )

  it.effect("waits until a used-up budget is renewed", () =>
    Effect.gen(function* () {
      const { token, url } = yield* aClient
      for (let left = 1; left > 0; )
        left = Number((yield* ask("/api/v1/ping", { token })).headers["x-ratelimit-remaining"])
      const error = (yield* failure(() => connect({ url, key: token, maxWait: 0 }).changes.latest())) as CatalogError
      assert.deepInclude(error, { code: "rate_limited", status: 429 })
      assert.isAbove(error.retry_after ?? 0, 0)
      assert.isAtMost(error.retry_after ?? 0, 60)
    })
  )
})

describe("a webhook's message", () => {
  const secret = `whsec_${Buffer.from("a secret of twenty-four b").toString("base64")}`
  const other = `whsec_${Buffer.from("another secret of 24 byte").toString("base64")}`
  const message = { type: "entity.updated", timestamp: "2026-11-21T09:30:00.113905Z", data: { seq: 7, name: "ä" } }
  const body = JSON.stringify(message)
  const signed = (at = new Date(), by = secret) => ({
    "webhook-id": "chg_1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
    "webhook-signature": new Webhook(by).sign("chg_1", at, body)
  })

  it("is verified and returned, from any form of headers and body, by the old secret or the new one", () => {
    const headers = signed()
    const fromBoth = {
      ...headers,
      "webhook-signature": `${signed(new Date(), other)["webhook-signature"]} ${headers["webhook-signature"]}`
    }
    for (const given of [headers, new Headers(headers), { ...headers, accept: undefined }, fromBoth])
      for (const sent of [body, new TextEncoder().encode(body), Buffer.from(body)])
        for (const secrets of [secret, [secret], [other, secret], [secret, other]])
          assert.deepStrictEqual(verifyWebhook(secrets, { headers: given, body: sent }), message)
  })

  it("with arguments of another form is refused with the reason", () => {
    for (const [secrets, headers, given, reason] of [
      [secret, signed(), message, "body: must be the text or the bytes of the request, before they are parsed"],
      [secret, undefined, body, "headers: must be the headers of the request"],
      [undefined, signed(), body, "secrets: must be a secret (whsec_...) or an array"]
    ] as const)
      assert.throws(() => verifyWebhook(secrets as never, { headers, body: given } as never), CatalogError, reason)
  })

  it("is refused if any signed part was changed", () => {
    const old = new Date(Date.now() - 6 * 60_000)
    const early = new Date(Date.now() + 6 * 60_000)
    const { "webhook-signature": _, ...unsigned } = signed()
    for (const [secrets, request] of [
      [other, { headers: signed(), body }],
      ["whsec_", { headers: signed(), body }],
      [[], { headers: signed(), body }],
      [secret, { headers: signed(), body: body.replace("7", "8") }],
      [secret, { headers: { ...signed(), "webhook-id": "chg_2" }, body }],
      [secret, { headers: signed(old), body }],
      [secret, { headers: signed(early), body }],
      [secret, { headers: unsigned, body }],
      [secret, { headers: {}, body }]
    ] as const)
      assert.throws(
        () => verifyWebhook(secrets, request),
        CatalogError,
        /^The message is not verified: [A-Za-z' ]+\.?$/
      )
  })
})
