import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { afterAll } from "vitest"
import { Demo } from "../../src/demo/Demo.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, Drafts } from "../../src/testing/index.ts"
import { engines } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "history-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = (name: string, ...lines: ReadonlyArray<string>) => {
  const path = join(folder, name)
  writeFileSync(path, `${["Handle,Title,Variant SKU,Variant Price", ...lines].join("\n")}\n`)
  return path
}
const first = file("first.csv", "hat,Hat,H-1,5.00", "cap,Cap,C-1,4.00")
const second = file("second.csv", "hat,Big hat,H-1,5.00", "cap,Cap,C-1,4.00", "wig,Wig,W-1,9.00")

/** Entities whose history lacks a revision, and the number of all entities. */
const gaps = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [counted] = yield* sql`SELECT count(*)::integer AS entities FROM entity`
  const wrong = yield* sql`
    SELECT e.id
    FROM entity e
    LEFT JOIN entity_history h ON h.account_id = e.account_id AND h.entity_id = e.id
    GROUP BY e.account_id, e.id
    HAVING array_agg(DISTINCT h.draft_revision ORDER BY h.draft_revision)
           IS DISTINCT FROM ARRAY(SELECT generate_series(1, e.draft_revision))
       OR min(h.action) FILTER (WHERE h.draft_revision = 1) IS DISTINCT FROM 'created'`
  return { entities: Number(counted?.entities), wrong: wrong.map(({ id }) => String(id)) }
})

for (const engine of engines)
  describe.skipIf(engine.absent)(`histories on ${engine.name}`, () => {
    layer(ServicesOnDatabase.pipe(Layer.provideMerge(engine.layer), Layer.orDie), { excludeTestServices: true })(
      "of all entities",
      (it) => {
        it.effect("an import records only what it created and changed", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["a.example"] })
            const sql = yield* SqlClient.SqlClient
            const imports = yield* Imports
            const drafts = yield* Drafts
            const quiet = () => Effect.void
            const bring = (path: string) =>
              Effect.flatMap(imports.csv(path, "a.example", quiet), ({ id }) =>
                Effect.as(imports.accept(id, quiet), id)
              )
            const rows = Effect.map(
              sql`
                SELECT e.kind, coalesce(e.attributes #>> '{handle,value}', e.attributes #>> '{sku,value}') AS name,
                       h.action, h.actor_kind AS actor, h.import_id AS import
                FROM entity_history h JOIN entity e ON e.account_id = h.account_id AND e.id = h.entity_id
                WHERE h.account_id = ${actor.accountId}
                ORDER BY h.sequence`,
              (all) => all.map((row) => `${row.kind} ${row.name} ${row.action} by ${row.actor} ${row.import}`).sort()
            )
            yield* Effect.gen(function* () {
              const one = yield* bring(first)
              const made = ["product cap", "product hat", "variant C-1", "variant H-1"].map(
                (name) => `${name} created by cli ${one}`
              )
              assert.deepStrictEqual(yield* rows, made)
              yield* bring(first)
              assert.deepStrictEqual(yield* rows, made)
              const two = yield* bring(second)
              assert.deepStrictEqual(
                yield* rows,
                [
                  ...made,
                  `product hat attributes by cli ${two}`,
                  `product wig created by cli ${two}`,
                  `variant W-1 created by cli ${two}`
                ].sort()
              )
              const [hat] = yield* sql`
                SELECT id FROM entity WHERE account_id = ${actor.accountId} AND attributes #>> '{handle,value}' = 'hat'`
              const [newest] = yield* drafts.history(EntityId.make(String(hat?.id)), 1)
              assert.deepInclude(newest, {
                draft_revision: 2,
                import_id: two,
                changes: [{ key: "title", old: "Hat", new: "Big hat" }]
              })
            }).pipe(actingAs(actor))
          })
        )

        it.effect("the demo's histories have no gaps, and a planted gap is found", () =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* (yield* Demo).create
            const { entities, wrong } = yield* gaps
            assert.deepStrictEqual(wrong, [])
            assert.isAtLeast(entities, 400)
            const [edited] = yield* sql`SELECT entity_id AS id FROM entity_history WHERE draft_revision = 2 LIMIT 1`
            yield* sql`DELETE FROM entity_history WHERE entity_id = ${String(edited?.id)} AND draft_revision = 2`
            assert.deepStrictEqual((yield* gaps).wrong, [edited?.id])
          })
        )
      }
    )
  })
