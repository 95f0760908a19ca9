import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { EntityId, StoreId } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity, Drafts } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { deadlocks, dwell, layerServices, noticeDeadlocksSoon } from "./ServerServices.ts"

const products = amount(30, 300)
const variantsEach = 3
/** Writers that add the same product at once. */
const writers = 4

type Outcome = "added" | "stale"

/** Writes the title of a product on a store that does not have it yet. All writers send the same revision. */
const addWith = (id: EntityId, storeId: StoreId, draft_revision: number, title: string) =>
  Effect.gen(function* () {
    const { updateVersionAttributes } = yield* Drafts
    const update = { draft_revision, attributes: [{ key: "title", value: title }] }
    return yield* updateVersionAttributes(id, storeId, update, true)
  }).pipe(
    Effect.as<Outcome>("added"),
    Effect.catchTag("RevisionConflict", ({ currentRevision }) => {
      assert.strictEqual(currentRevision, draft_revision + 1)
      return Effect.succeed<Outcome>("stale")
    })
  )

describe.skipIf(!serverAnswers)("products that several writers add to a store at the same time", () => {
  layer(layerServices(2 * writers), { excludeTestServices: true })((it) => {
    it.effect("are added once, with all variants and the values of the accepted write", () =>
      Effect.gen(function* () {
        yield* noticeDeadlocksSoon
        yield* dwell({ writeMillis: 3, commitMillis: 1 })
        const sql = yield* SqlClient.SqlClient
        const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
        const [here, there] = stores
        const outcomes = yield* Effect.forEach(Array.from({ length: products }), () =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const id = yield* anEntity("product", { title: "Tent" }, { on: [here] })
            for (let place = 0; place < variantsEach; place++)
              yield* anEntity("variant", { sku: `T-${place}` }, { of: id, on: [here] })
            const { draft_revision } = yield* drafts.get(id, null)
            const told = yield* Effect.forEach(
              Array.from({ length: writers }, (_, writer) => `Zelt ${writer}`),
              (title) => Effect.map(addWith(id, there.id, draft_revision, title), (outcome) => ({ title, outcome })),
              { concurrency: "unbounded" }
            )
            const added = told.filter(({ outcome }) => outcome === "added")
            assert.lengthOf(added, 1)
            const draft = yield* drafts.get(id, there.id)
            assert.strictEqual(draft.draft_revision, draft_revision + 1)
            assert.strictEqual(draft.attributes.find(({ key }) => key === "title")?.value, added[0]?.title)
            return told.length
          })
        ).pipe(actingAs(actor))
        const [versions] = yield* sql`
            SELECT count(*)::int AS versions, count(*) FILTER (WHERE pending_publish)::int AS pending
            FROM store_version WHERE account_id = ${accountId} AND store_id = ${there.id}`
        const [additions] = yield* sql`
            SELECT count(*)::int AS additions, count(DISTINCT entity_id)::int AS entities
            FROM entity_history
            WHERE account_id = ${accountId} AND store_id = ${there.id} AND action = 'added_to_store'`
        const writes = outcomes.reduce((sum, count) => sum + count, 0)
        const entities = products * (1 + variantsEach)
        report("Store additions", { writes, ...versions, ...additions })
        assert.strictEqual(writes, products * writers)
        assert.deepStrictEqual(versions, { versions: entities, pending: entities })
        assert.deepStrictEqual(additions, { additions: entities, entities })
        assert.strictEqual(yield* deadlocks, 0)
      })
    )
  })
})
