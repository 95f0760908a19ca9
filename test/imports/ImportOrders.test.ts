import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { afterAll } from "vitest"
import { Imports } from "../../src/imports/Imports.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, Catalog, Programs } from "../../src/testing/index.ts"
import { featureEngines } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "import-orders-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const header = "Handle,Title,Option1 Name,Option1 Value,Variant SKU,Image Src,Image Position"
const file = (name: string, sizes: ReadonlyArray<string>, images: ReadonlyArray<string>) => {
  const path = join(folder, name)
  const lines = sizes.map((size, index) => {
    const [title, option] = index === 0 ? ["Mug", "Size"] : ["", ""]
    return `mug,${title},${option},${size},M-${size},https://cdn.example/${images[index]}.jpg,${index + 1}`
  })
  writeFileSync(path, `${[header, ...lines].join("\n")}\n`)
  return path
}
const first = file("first.csv", ["S", "M", "L"], ["a", "b", "c"])
const turned = file("turned.csv", ["L", "S", "M"], ["c", "a", "b"])

const quiet = () => Effect.void

for (const engine of featureEngines) {
  describe.skipIf(engine.absent)(`orders of imports on ${engine.name}`, () => {
    layer(ServicesOnDatabase.pipe(Layer.provideMerge(engine.layer), Layer.orDie), { excludeTestServices: true })(
      `orders of imports on ${engine.name}`,
      (it) => {
        const bring = (path: string) =>
          Effect.gen(function* () {
            const imports = yield* Imports
            const { id } = yield* imports.csv(path, "us.example", quiet)
            return (yield* imports.accept(id, quiet)).summary
          })

        it.effect("images, variants and options follow the file, and the same file again writes nothing", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              const catalog = yield* Catalog
              const programs = yield* Programs
              const sql = yield* SqlClient.SqlClient
              yield* bring(first)
              const [row] = JSON.parse((yield* catalog.list("product", { limit: 1 })).text).data
              const found = programs.getProduct({ path: { id: row.id } })
              const written = sql`
                SELECT (SELECT json_agg(e ORDER BY e.id) FROM entity e WHERE e.account_id = ${actor.accountId}) AS entities,
                       (SELECT json_agg(v ORDER BY v.entity_id) FROM store_version v WHERE v.account_id = ${actor.accountId}) AS versions,
                       (SELECT json_agg(g ORDER BY g.entity_id, g.media_id) FROM entity_media g WHERE g.account_id = ${actor.accountId}) AS galleries`
              const before = yield* found
              assert.deepStrictEqual([before.variant_ids.length, before.media_ids.length], [3, 3])
              for (const [path, places, sizes] of [
                [turned, [2, 0, 1], ["L", "S", "M"]],
                [first, [0, 1, 2], ["S", "M", "L"]]
              ] as const) {
                assert.deepInclude(yield* bring(path), { created: 0, updated: 1, unchanged: 0, conflicts: 0 })
                const product = yield* found
                assert.deepStrictEqual(
                  product.variant_ids,
                  places.flatMap((place) => before.variant_ids[place] ?? [])
                )
                assert.deepStrictEqual(
                  product.media_ids,
                  places.flatMap((place) => before.media_ids[place] ?? [])
                )
                assert.strictEqual(
                  product.attributes.find(({ key }) => key === "options")?.value,
                  JSON.stringify([{ name: "Size", values: sizes }])
                )
                assert.isFalse(product.pending_publish)
                const state = yield* written
                assert.deepInclude(yield* bring(path), { created: 0, updated: 0, unchanged: 1, conflicts: 0 })
                assert.deepStrictEqual(yield* written, state)
              }
            }).pipe(actingAs(actor))
          })
        )
      }
    )
  })
}
