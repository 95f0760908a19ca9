import { assert, describe, layer, it as test } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { openApiPath } from "../../src/api/openapi/OpenApiDocument.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { ImportId } from "../../src/model/Ids.ts"
import { assertDocumented, document, heldAgainst } from "./Documented.ts"
import { ask, exhaust, MemoryServer } from "./Exchange.ts"
import { aCatalog, aKey, bodyOf, jsonType, queryOf, targetOf, unused, withParameter } from "./Fixtures.ts"

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { responses }]) => ({
    path,
    method: method.toUpperCase(),
    statuses: Object.keys(responses).map(Number)
  }))
)

/** Statuses that requests cause here. Other tests cause those of failures, in `elsewhere`. */
const provoked = new Set([200, 304, 400, 401, 403, 404, 413, 414, 415, 417, 423, 429, 431])
// 410 needs a cursor that is 30 days old: see test/http/Changes.
const elsewhere = new Set([408, 410, 500, 502, 503])

layer(MemoryServer)("the OpenAPI document", (it) => {
  it.effect("is served as generated", () =>
    Effect.map(ask(openApiPath), ({ text }) => assert.deepStrictEqual(JSON.parse(text), document))
  )

  it.effect("describes every response that a request can get from every operation", () =>
    Effect.gen(function* () {
      const { accountId, ids, stores, token } = yield* aCatalog()
      const { token: withoutRead } = yield* aKey(accountId, ["pim:write"])
      const { token: withoutWrite } = yield* aKey(accountId, ["pim:read"])
      const { token: spent } = yield* aKey(accountId, ["pim:read"])
      const { token: second } = yield* aKey(accountId, ["pim:read", "pim:write"])
      heldAgainst.clear()
      const x = "x".repeat(13_000)
      for (const { method, path } of operations) {
        yield* TestClock.adjust("1 minute")
        const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1")
        const place = pattern.includes(":") ? targetOf(pattern, ids, String(stores[0]?.id)) : path
        const target = `${place}${queryOf[path] ?? ""}`
        const body = bodyOf[path]
        if (body !== undefined) {
          const sent = { method, token: second, headers: jsonType }
          const done = yield* ask(target, { ...sent, body: JSON.stringify(body) })
          assert.strictEqual(done.status, 200, done.text)
          yield* ask(target, { method, token: withoutWrite })
          yield* ask(target, { method, token: second, body: "{}" })
          yield* ask(target, { ...sent, body: "x".repeat(2_100_000) })
          if (path.endsWith("/scans"))
            yield* ask(target, { ...sent, body: JSON.stringify({ ...body, store_id: unused }) })
          else {
            const lock = yield* ImportLockRepo
            yield* lock.keep(accountId, ImportId.make(unused))
            yield* ask(target, { ...sent, body: JSON.stringify(body) })
            yield* lock.keep(accountId, null)
          }
        }
        const read = yield* ask(target, { method, token })
        if (method === "GET") {
          assert.strictEqual(read.status, 200, read.text)
          yield* ask(target, { method, token, headers: { "if-none-match": String(read.headers.etag) } })
          yield* ask(target, { method: "HEAD", token: second })
        }
        yield* ask(withParameter(target, "x=%FF"), { method, token: second })
        yield* ask(target, { method })
        yield* ask(target, { method, token: withoutRead })
        yield* ask(withParameter(target, x), { method })
        yield* ask(target, { method, headers: { "x-long": "x".repeat(17_000) } })
        yield* ask(target, { method, headers: { expect: "200-ok" } })
        if (pattern.includes(":id")) yield* ask(target.replace(/[0-9a-f-]{36}/, "unknown"), { method, token: second })
        if (["products", "variants", "collections", "media"].some((list) => path === `/api/v1/${list}`))
          yield* ask(`${target}?store_id=${crypto.randomUUID()}`, { method, token: second })
        if (path.startsWith("/api/v1/data-health") && method === "GET")
          yield* ask(withParameter(target, `store_id=${crypto.randomUUID()}`), { method, token: second })
      }
      yield* TestClock.adjust("1 minute")
      yield* exhaust(spent)
      for (const { method, path } of operations) yield* ask(path.replaceAll(/\{\w+\}/g, "x"), { method, token: spent })

      const described = operations.flatMap(({ method, path, statuses }) =>
        statuses.filter((status) => !elsewhere.has(status)).map((status) => `${method} ${path} ${status}`)
      )
      assert.isAtLeast(described.length, 150)
      assert.deepStrictEqual(
        described.filter((key) => !heldAgainst.has(key)),
        []
      )
      assert.isTrue(
        operations.every(({ statuses }) => statuses.every((each) => provoked.has(each) || elsewhere.has(each)))
      )
    })
  )
})

/** A list of values in a query, written as OpenAPI says: by default one parameter for each value. */
const written = (
  { explode = true, name }: { readonly explode?: boolean; readonly name: string },
  values: ReadonlyArray<string>
) => {
  const escaped = values.map(encodeURIComponent)
  return explode ? escaped.map((value) => `${name}=${value}`).join("&") : `${name}=${escaped.join(",")}`
}

layer(MemoryServer)("a list of values in a parameter", (it) => {
  it.effect("is accepted in the form that the document describes", () =>
    Effect.gen(function* () {
      const { ids, token } = yield* aCatalog()
      const values: Readonly<Record<string, ReadonlyArray<string>>> = {
        include: ["attributes", "stores"],
        ids: [ids.product, ids.variant, ids.collection, ids.media],
        handle: ["boots", "shoes"],
        sku: ["B-S", "B-M"],
        barcode: ["1", "2"]
      }
      let lists = 0
      for (const [path, { get }] of Object.entries(document.paths))
        for (const parameter of get?.parameters ?? []) {
          if (!("name" in parameter) || parameter.schema.type !== "array") continue
          lists += 1
          const several = values[parameter.name] ?? assert.fail(`no values of ${parameter.name}`)
          const { status, text } = yield* ask(`${path}?${written(parameter, several)}`, { token })
          assert.strictEqual(status, 200, `${path} ${parameter.name}: ${text}`)
          const hasOne = parameter.name === "include" || parameter.name === "ids" || parameter.name === "sku"
          assert.lengthOf(JSON.parse(text).data, hasOne ? 1 : 0, `${path} ${parameter.name}`)
        }
      assert.strictEqual(lists, 14)
    })
  )
})

describe("a response that the document does not describe", () => {
  const headers = {
    "content-type": "application/json",
    "cache-control": "private, no-cache",
    vary: "Authorization, Accept-Encoding",
    etag: '"x"',
    "x-ratelimit-limit": "120",
    "x-ratelimit-remaining": "119",
    "x-ratelimit-reset": "1770136920",
    "x-ratelimit-scope": "key",
    "x-request-id": "req_1"
  }
  const good = { status: 200, headers, text: '{"status":"ok","account_id_present":true}' }
  const { etag, ...withoutTag } = headers
  const wrong: Readonly<Record<string, typeof good>> = {
    "its status": { ...good, status: 202 },
    "its body": { ...good, text: '{"status":"ok"}' },
    "the type of a member": { ...good, text: '{"status":"ok","account_id_present":"yes"}' },
    "a member more": { ...good, text: '{"status":"ok","account_id_present":true,"more":1}' },
    "a header less": { ...good, headers: withoutTag as typeof headers },
    "a header more": { ...good, headers: { ...headers, "x-powered-by": "x" } as typeof headers },
    "a header that is no number": { ...good, headers: { ...headers, "x-ratelimit-limit": "many" } },
    "a header of none of its values": { ...good, headers: { ...headers, "x-ratelimit-scope": "store" } },
    "its type of content": { ...good, headers: { ...headers, "content-type": "text/plain" } }
  }
  test("is reported", () => {
    assertDocumented("GET", "/api/v1/ping?x=1", good)
    for (const [what, answer] of Object.entries(wrong))
      assert.throws(() => assertDocumented("GET", "/api/v1/ping", answer), undefined, undefined, what)
    assert.throws(() => assertDocumented("GET", "/api/v1/stores", { ...good, status: 404 }))
  })
})
