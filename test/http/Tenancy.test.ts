import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { RestApi } from "../../src/api/RestApi.ts"
import { routesOf } from "../../src/http/RouteTable.ts"
import { actingAs, anEntity } from "../../src/testing/index.ts"
import { ask, assertRefusal, headerNames, MemoryServer, refusals } from "./Exchange.ts"
import { aCatalog, asksForStore, targetOf } from "./Fixtures.ts"

const routes = routesOf(RestApi).filter(({ path }) => path.includes("/:"))
const unused = "00000000-0000-4000-8000-000000000001"

const malformed = (id: string) => [
  "1",
  "-1",
  "null",
  "__proto__",
  id.slice(0, -1),
  `${id}0`,
  id.replaceAll("-", ""),
  `{${id}}`,
  `urn:uuid:${id}`,
  `${id}%00`,
  `%20${id}`,
  `${id}%0A`,
  `${id},${id}`,
  "%27%20OR%201=1--",
  "%F0%9F%98%80",
  "x".repeat(101)
]

layer(MemoryServer)("all unknown ids get the same response, whatever the reason", (it) => {
  assert.strictEqual(routes.length, 24)
  for (const { path } of routes)
    it.effect(path, () =>
      Effect.gen(function* () {
        const ours = yield* aCatalog()
        const theirs = yield* aCatalog(["theirs.example", "b.example"])
        const store = ours.stores[0]?.id ?? ""
        const same = (id: string) => ({
          product: id,
          variant: id,
          collection: id,
          media: id,
          market: id,
          definition: id,
          store: id,
          drop: id
        })
        const own = { ...ours.ids, store }
        const kinds = Object.entries(own)
        const kind = /v1\/(?:metaobject-)?(product|variant|collection|media|market|definition|store|drop)/.exec(
          path
        )?.[1]
        const foreign = { ...theirs.ids, store: theirs.stores[0]?.id ?? "" }

        const ofId: ReadonlyArray<readonly [string, string]> = [
          ["absent", targetOf(path, same(unused), store)],
          ["nil", targetOf(path, same("00000000-0000-0000-0000-000000000000"), store)],
          ["foreign", targetOf(path, foreign, store)],
          ["foreign, with its own store", targetOf(path, foreign, foreign.store)],
          ["foreign, in upper case", targetOf(path, same(theirs.ids.product.toUpperCase()), store)],
          ["the account's", targetOf(path, same(ours.accountId), store)],
          ...kinds
            .filter(([other]) => other !== kind)
            .map(([other, id]) => [`that of another kind: ${other}`, targetOf(path, same(id), store)] as const),
          ...malformed(ours.ids.product).map((id) => [`malformed: ${id}`, targetOf(path, same(id), store)] as const)
        ]
        const ofStore: ReadonlyArray<readonly [string, string]> =
          path.endsWith(":store_id") || asksForStore(path)
            ? [
                ["store absent", targetOf(path, own, unused)],
                ["store foreign", targetOf(path, own, foreign.store)],
                ["store without a version", targetOf(path, own, ours.stores[1]?.id ?? "")],
                ["store is an entity", targetOf(path, own, ours.ids.product)],
                ...(asksForStore(path) ? [] : malformed(store)).map(
                  (id) => [`store malformed: ${id}`, targetOf(path, own, id)] as const
                )
              ]
            : []

        const right = targetOf(path, own, store)
        assert.strictEqual((yield* ask(right, { token: ours.token })).status, 200)
        const upper = targetOf(path, same((own as Record<string, string>)[kind ?? ""]?.toUpperCase() ?? ""), store)
        assert.strictEqual((yield* ask(upper, { token: ours.token })).status, 200)

        const wholes = new Set<string>()
        for (const [cause, target] of [...ofId, ...ofStore]) {
          const answer = yield* ask(target, { token: ours.token })
          assert.strictEqual(answer.status, 404, cause)
          assertRefusal(answer, refusals.notFound)
          const { "content-length": length, "content-type": type } = answer.headers
          const text = answer.text.replace(String(answer.headers["x-request-id"]), "")
          wholes.add(JSON.stringify([answer.status, text, headerNames(answer), length, type]))
          const head = yield* ask(target, { token: ours.token, method: "HEAD" })
          assert.deepStrictEqual([head.status, head.text, headerNames(head)], [404, "", headerNames(answer)], cause)
        }
        assert.strictEqual(wholes.size, 1)
      })
    )

  it.effect("lists have only the account's own records", () =>
    Effect.gen(function* () {
      const ours = yield* aCatalog()
      const theirs = yield* aCatalog(["theirs.example", "c.example"])
      const bounded = ["markets", "metafield-definitions", "metaobject-definitions"]
      for (const target of ["products", "variants", "collections", "media", "stores", "drops", ...bounded]) {
        const own = yield* ask(`/api/v1/${target}`, { token: ours.token })
        const other = yield* ask(`/api/v1/${target}`, { token: theirs.token })
        const idsOf = (text: string) => (JSON.parse(text).data as ReadonlyArray<{ id: string }>).map(({ id }) => id)
        assert.strictEqual(idsOf(own.text).length, target === "stores" ? 2 : 1)
        assert.deepStrictEqual(
          idsOf(own.text).filter((id) => idsOf(other.text).includes(id)),
          []
        )
        for (const id of [...Object.values(theirs.ids), ...theirs.stores.map((store) => store.id), theirs.accountId])
          assert.notInclude(own.text, id)
      }
    })
  )

  it.effect("another account's collection and an unknown one, as filters, are both 404", () =>
    Effect.gen(function* () {
      const ours = yield* aCatalog()
      const theirs = yield* aCatalog(["theirs.example", "d.example"])
      const by = (id: string) => ask(`/api/v1/products?collection_id=${id}`, { token: ours.token })
      assert.strictEqual((yield* by(ours.ids.collection)).status, 200)
      for (const id of [theirs.ids.collection, unused, ours.ids.product, "00000000-0000-0000-0000-000000000000"])
        assertRefusal(yield* by(id), refusals.notFound)
    })
  )

  it.effect("a cursor of another account is refused like one of another list", () =>
    Effect.gen(function* () {
      const ours = yield* aCatalog()
      const theirs = yield* aCatalog(["theirs.example", "e.example"])
      for (const { actor } of [ours, theirs]) yield* anEntity("product", { title: "Shoes" }).pipe(actingAs(actor))
      const first = yield* ask("/api/v1/products?limit=1", { token: theirs.token })
      const { next_cursor } = JSON.parse(first.text)
      const second = `/api/v1/products?limit=1&cursor=${next_cursor}`
      assert.strictEqual((yield* ask(second, { token: theirs.token })).status, 200)
      assertRefusal(yield* ask(second, { token: ours.token }), refusals.foreignCursor)
    })
  )
})
