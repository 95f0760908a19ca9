import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { EntityId } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity, Stores } from "../../src/testing/index.ts"
import { aConnection, callWith } from "./Connector.ts"

/** A demo store and a store without a platform, with collections on both, and functions that call tools. */
export const aShop = (collections: number) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    const made = yield* Effect.gen(function* () {
      const { link } = yield* Stores
      const { store } = yield* link({ domain: "a.demo.example", platform: "demo" })
      const { store: files } = yield* link({ domain: "files.example" })
      const ids = yield* Effect.forEach(
        Array.from({ length: collections }, (_, place) => `Collection ${place}`),
        (title) => anEntity("collection", { title }, { on: [store] })
      )
      return { store, files, ids }
    }).pipe(actingAs(actor))
    const { token } = yield* aConnection(accountId)
    const call = callWith(token)
    const revisionOf = (master_id: EntityId) =>
      Effect.map(call("get_master_v1", { master_id }), ({ structuredContent }) => structuredContent.draft_revision)
    const mastersOf = Effect.forEach(made.ids, (master_id) =>
      Effect.map(revisionOf(master_id), (draft_revision) => ({ master_id, draft_revision }))
    )
    /** The complete text of a refusal. */
    const refusal = (args: object, name = "publish_master_v1") =>
      Effect.map(call(name, args), ({ content, isError }) => {
        assert.isTrue(isError, content[0]?.text)
        return content[0]?.text
      })
    return { ...made, accountId, actor, token, call, mastersOf, refusal }
  })
