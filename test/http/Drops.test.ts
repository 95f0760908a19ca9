import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Drops } from "../../src/drops/Drops.ts"
import { actingAs } from "../../src/testing/index.ts"
import { ask, assertHeaders, assertRefusal, MemoryServer, noRoute } from "./Exchange.ts"
import { aCatalog } from "./Fixtures.ts"

layer(MemoryServer)("drops over REST", (it) => {
  it.effect("are listed with all changes; the list of an entity has only its own changes", () =>
    Effect.gen(function* () {
      const { ids, token } = yield* aCatalog()
      const read = (path: string) =>
        Effect.map(ask(`/api/v1${path}`, { token }), (answer) => {
          assert.strictEqual(answer.status, 200, answer.text)
          assertHeaders(answer, ["content-type", "etag"])
          return JSON.parse(answer.text)
        })
      const change = (entity_type: "product" | "variant" | "collection") => ({
        entity_id: ids[entity_type],
        entity_type,
        store_id: null,
        field: "title",
        value: "Sale",
        outcome: null,
        error: null,
        deleted_name: null
      })
      const drop = {
        id: ids.drop,
        name: "Sale",
        status: "scheduled",
        starts_at: "2030-01-31T09:30:00.000000Z",
        ends_at: null,
        timezone: "Europe/Lisbon",
        changes: [change("product"), change("variant"), change("collection")]
      }
      assert.deepStrictEqual(yield* read("/drops"), { data: [drop], next_cursor: null })
      assert.deepStrictEqual(yield* read("/drops?limit=0&cursor=nonsense"), { data: [drop], next_cursor: null })
      assert.deepStrictEqual(yield* read(`/drops/${ids.drop}`), drop)
      for (const kind of ["product", "variant", "collection"] as const)
        assert.deepStrictEqual(yield* read(`/${kind}s/${ids[kind]}/drops`), {
          data: [{ ...drop, changes: [change(kind)] }],
          next_cursor: null
        })
      // Media files have no list of drops.
      const ofMedia = `/api/v1/media/${ids.media}/drops`
      assertRefusal(yield* ask(ofMedia, { token }), noRoute(`GET ${ofMedia}`))
    })
  )

  it.effect("are 304 until one changes", () =>
    Effect.gen(function* () {
      const { actor, ids, token } = yield* aCatalog()
      const targets = ["/drops", `/drops/${ids.drop}`, `/products/${ids.product}/drops`].map((path) => `/api/v1${path}`)
      const statuses = (tags: ReadonlyArray<string>) =>
        Effect.forEach(targets, (target, index) =>
          Effect.map(
            ask(target, { token, headers: { "if-none-match": tags[index] ?? "" } }),
            ({ headers, status }) => ({ status, etag: String(headers.etag) })
          )
        )
      const first = yield* statuses([])
      const tags = first.map(({ etag }) => etag)
      for (const _ of [1, 2, 3])
        assert.deepStrictEqual(
          (yield* statuses(tags)).map(({ status }) => status),
          [304, 304, 304]
        )
      yield* Effect.flatMap(Drops, ({ cancel }) => cancel(ids.drop)).pipe(actingAs(actor))
      assert.deepStrictEqual(
        (yield* statuses(tags)).map(({ status }) => status),
        [200, 200, 200]
      )
    })
  )
})
