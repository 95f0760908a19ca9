import { assert, layer } from "@effect/vitest"
import { Effect, Ref } from "effect"
import { MemoryStore, updateAccount } from "../../src/database/MemoryStore.memory.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { ask, assertRefusal, MemoryServer, misfit } from "./Exchange.ts"

const bodyOf = ({ status, text }: { readonly status: number; readonly text: string }) => {
  assert.strictEqual(status, 200, text)
  return JSON.parse(text)
}

layer(MemoryServer)("the feed of changes over HTTP", (it) => {
  it.effect("polling returns 304 until something changes", () =>
    Effect.gen(function* () {
      const { actor, token } = yield* anAccount({ domains: ["a.example"] })
      const begun = bodyOf(yield* ask("/api/v1/changes?cursor=latest", { token }))
      assert.deepStrictEqual(begun.data, [])
      const target = `/api/v1/changes?cursor=${begun.next_cursor}`
      const empty = yield* ask(target, { token })
      assert.deepStrictEqual(bodyOf(empty), { data: [], next_cursor: begun.next_cursor })
      const headers = { "if-none-match": String(empty.headers.etag) }
      assert.strictEqual((yield* ask(target, { token, headers })).status, 304)
      const id = yield* anEntity("product", { title: "Boots" }).pipe(actingAs(actor))
      const changed = bodyOf(yield* ask(target, { token, headers }))
      assert.deepInclude(changed.data[0], { type: "entity.created", entity: { id, type: "product" }, what: [] })
      assert.hasAllKeys(changed.data[0], ["seq", "at", "type", "entity", "what"])
      assert.notStrictEqual(changed.next_cursor, begun.next_cursor)
    })
  )

  it.effect("a cursor of another list is 400, a cursor before the oldest change is 410", () =>
    Effect.gen(function* () {
      const { accountId, actor, token } = yield* anAccount()
      const { next_cursor: old } = bodyOf(yield* ask("/api/v1/changes?cursor=latest", { token }))
      for (const title of ["1", "2", "3"]) yield* anEntity("product", { title }).pipe(actingAs(actor))
      const { next_cursor: foreign } = bodyOf(yield* ask("/api/v1/products?limit=1", { token }))
      assertRefusal(
        yield* ask(`/api/v1/changes?cursor=${foreign}`, { token }),
        misfit(
          "cursor",
          "is not a cursor of this feed; send next_cursor unchanged, `latest` to begin now, or no cursor to begin with the oldest change"
        )
      )
      const store = yield* MemoryStore
      yield* updateAccount(store, accountId, (account) => ({
        ...account,
        version: account.version + 1,
        feed: account.feed.slice(2),
        feedFloor: 2
      }))
      assertRefusal(yield* ask(`/api/v1/changes?cursor=${old}`, { token }), {
        status: 410,
        code: "cursor_expired",
        message:
          "The cursor is older than 30 days, and changes after it were deleted. Get a cursor with `cursor=latest`, read the lists again, then follow the feed from that cursor."
      })
      const first = bodyOf(yield* ask("/api/v1/changes", { token }))
      assert.deepStrictEqual(
        first.data.map(({ seq }: { readonly seq: number }) => seq),
        [3]
      )
      assert.strictEqual((yield* Ref.get(store)).get(accountId)?.feedFloor, 2)
    })
  )
})
