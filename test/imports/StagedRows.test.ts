import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { rowsAtOnce } from "../../src/database/Forgetting.ts"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import { CatalogChanges } from "../../src/drafts/CatalogChanges.ts"
import { partsAtOnce } from "../../src/imports/ImportStaging.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { actingAs, anAccount, anEntity, Stores } from "../../src/testing/index.ts"
import { makeHolding } from "../support/HeldStep.ts"
import { aProductOf } from "../support/ShopRecords.ts"
import { anyDatabase, isServerCluster } from "../support/TestDatabase.ts"

const quiet = () => Effect.void
const { heldAt, layerOn } = makeHolding()

const TestLayer = layerOn(anyDatabase)

/** Records how many rows each statement deletes or updates. */
const watch = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE statement_rows (what text, count bigint)`
  yield* sql`
    CREATE FUNCTION record_rows() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO statement_rows SELECT TG_OP || ' ' || TG_TABLE_NAME, count(*) FROM changed;
      RETURN NULL;
    END $$`
  for (const [operation, table, changed] of [
    ["DELETE", "import_item", "OLD"],
    ["DELETE", "import_record", "OLD"],
    ["DELETE", "mirror_item", "OLD"],
    ["UPDATE", "import_record", "NEW"]
  ] as const)
    yield* sql.unsafe(
      `CREATE TRIGGER record_${operation} AFTER ${operation} ON ${table} REFERENCING ${changed} TABLE AS changed
       FOR EACH STATEMENT EXECUTE FUNCTION record_rows()`
    )
})

describe("a refresh of a store with more entities than one statement looks up", () => {
  layer(TestLayer, { excludeTestServices: true })((it) => {
    it.effect("finds one that the store does not have any more, after many others", () =>
      Effect.gen(function* () {
        const { accountId, actor } = yield* anAccount({})
        yield* Effect.gen(function* () {
          const { store } = yield* (yield* Stores).link({ domain: "many.example", platform: "demo" })
          yield* (yield* DemoShops).put({ accountId, storeId: store.id }, aProductOf("hat", ["S"]))
          const ids = Array.from({ length: partsAtOnce + 1 }, () => EntityId.make(crypto.randomUUID())).sort()
          const last = ids.at(-1) ?? assert.fail("no entity")
          yield* (yield* CatalogChanges).apply([
            ...ids.flatMap((id) => [
              CatalogChange.CreateEntity({ id, kind: "media", parentId: null, values: { alt: "A picture" } }),
              CatalogChange.AddToStore({ entityId: id, storeId: store.id })
            ]),
            CatalogChange.AcceptPublish({ entityId: last, storeId: store.id })
          ])
          const imports = yield* Imports
          const { id, summary } = yield* imports.refresh("many.example", quiet)
          assert.deepInclude(summary, { created: 1, unlinked: 1 })
          const [leaving, ...others] = yield* imports.reviewList(id, "leaving", -1, 500)
          assert.deepStrictEqual(others, [])
          assert.include(JSON.stringify(leaving), last)
        }).pipe(actingAs(actor))
      })
    )
  })
})

// On a cluster, triggers do not run on the nodes.
describe.skipIf(isServerCluster)("the staged rows of a large import", () => {
  layer(TestLayer, { excludeTestServices: true })((it) => {
    it.effect("are changed and deleted in short statements, and those of an ended import are not listed", () =>
      Effect.gen(function* () {
        const many = Math.trunc(2.5 * rowsAtOnce)
        const more = 11 * rowsAtOnce
        const { accountId, actor } = yield* anAccount({})
        yield* Effect.gen(function* () {
          const imports = yield* Imports
          const sql = yield* SqlClient.SqlClient
          const { store } = yield* (yield* Stores).link({ domain: "large.example", platform: "demo" })
          yield* (yield* DemoShops).put({ accountId, storeId: store.id }, aProductOf("hat", ["S"]))
          yield* watch
          const { fiber, goOn } = yield* heldAt("staged", imports.refresh("large.example", quiet))
          const [run = assert.fail("no import")] = yield* imports.list
          const addItems = (count: number) => sql`
            INSERT INTO import_item (account_id, run_id, ordinal, entities, changes, list)
            SELECT ${accountId}::uuid, ${run.id}::uuid, 1000 + n, 1, '[]', 'new' FROM generate_series(1, ${count}) n`
          yield* addItems(many)
          // The comparison reads the records of positive numbers.
          yield* sql`
            INSERT INTO import_record (account_id, run_id, root, ordinal, kind, platform_id, attributes, related, entity_id)
            SELECT ${accountId}::uuid, ${run.id}::uuid, -n, -n, 'media', n::text, '{}', '{}', gen_random_uuid()
            FROM generate_series(1, ${many}) n`
          // The catalog changes, so the comparison is repeated.
          yield* anEntity("media", { alt: "later" })
          yield* goOn
          const { id, phase, summary } = yield* Fiber.join(fiber)
          assert.deepInclude({ phase, created: summary.created }, { phase: "reviewing", created: 1 })
          assert.deepStrictEqual(yield* sql`SELECT ordinal FROM import_record`, [])
          assert.isAbove((yield* imports.reviewList(id, "new", -1, 500)).length, 0)

          const left = Effect.map(sql`SELECT count(*)::integer AS count FROM import_item`, ([row]) =>
            Number(row?.count)
          )
          const mirrored = Effect.map(sql`SELECT count(*)::integer AS count FROM mirror_item`, ([row]) =>
            Number(row?.count)
          )
          const planned = yield* left
          yield* addItems(more)
          yield* sql`
            INSERT INTO mirror_item (account_id, import_id, kind, name, id, content)
            SELECT ${accountId}::uuid, ${run.id}::uuid, 'translations', n::text, gen_random_uuid(), '{}'
            FROM generate_series(1, ${more}) n`
          const staged = yield* mirrored
          assert.deepInclude(yield* imports.discard(id), { phase: "discarded" })
          const late = planned + more - 10 * rowsAtOnce
          assert.strictEqual(yield* left, late)
          assert.strictEqual(yield* mirrored, staged - 10 * rowsAtOnce)
          assert.deepStrictEqual(yield* imports.reviewList(id, "new", -1, 500), [])
          assert.strictEqual(yield* imports.forgetStaged, late)
          assert.strictEqual(yield* left, 0)
          assert.strictEqual(yield* mirrored, 0)

          const totals = yield* sql`
            SELECT what, max(count)::integer AS max, sum(count)::integer AS sum FROM statement_rows GROUP BY what ORDER BY what`
          assert.deepStrictEqual(
            totals.map(({ max, what }) => [what, max]),
            ["DELETE import_item", "DELETE import_record", "DELETE mirror_item", "UPDATE import_record"].map((what) => [
              what,
              rowsAtOnce
            ])
          )
          const [items = 0, records = 0, , updated = 0] = totals.map(({ sum }) => Number(sum))
          assert.isAtLeast(items, many + more)
          assert.isAtLeast(records, many)
          assert.isAtLeast(updated, many)
        }).pipe(actingAs(actor))
      })
    )
  })
})
