import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { HealthIssue } from "../../src/health/Health.ts"
import { Imports } from "../../src/imports/Imports.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import type { EntityId } from "../../src/model/Ids.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, Catalog, DataHealth, Remediation } from "../../src/testing/index.ts"
import { anyDatabase } from "../support/TestDatabase.ts"

const quiet = () => Effect.void

const realExports = fileURLToPath(new URL("../../../shared/data/shopify-csv/", import.meta.url))

/** Two exports of the same shop, one for each store; the first of a pair is imported first. */
const pairs: Readonly<Record<string, readonly [string, string]>> = {
  bakery: [join("docs/examples", "bakery.csv"), join("docs/examples", "bakery-eu.csv")],
  apparel: [join(realExports, "apparel.csv"), join(realExports, "apparel-eu.csv")]
}

const readOnly = new Set([
  "product options",
  ...["url", "mime_type", "width", "height", "file_size", "file_name"].map((key) => `media ${key}`)
])

/** The canonical values and the values on every store of all entities, as in the REST API. */
const valuesOf = Effect.gen(function* () {
  const catalog = yield* Catalog
  const all: Array<{
    readonly id: EntityId
    readonly kind: EntityKind
    readonly canonical: Readonly<Record<string, string>>
    readonly stores: ReadonlyMap<string, Readonly<Record<string, string>>>
  }> = []
  for (const kind of ["product", "variant", "collection", "media"] as const) {
    const { text } = yield* catalog.list(kind, { limit: 250 })
    const { data } = JSON.parse(text) as { readonly data: ReadonlyArray<{ readonly id: EntityId }> }
    for (const { id } of data) {
      const { attributes } = yield* catalog.get(kind, id)
      const versions = yield* catalog.versions(kind, id)
      const record = (triples: ReadonlyArray<{ readonly key: string; readonly value: string }>) =>
        Object.fromEntries(triples.map(({ key, value }) => [key, value]))
      all.push({
        id,
        kind,
        canonical: Object.fromEntries(Object.entries(attributes).map(([key, { value }]) => [key, value])),
        stores: new Map(versions.map((version) => [version.store_id, record(version.attributes)]))
      })
    }
  }
  return all
})

/** Finds differing fields by comparing the values of the stores, without code of the scans. */
const differing = (all: Effect.Effect.Success<typeof valuesOf>) =>
  all.flatMap(({ canonical, id, kind, stores }) => {
    const keys = new Set([...stores.values()].flatMap((values) => Object.keys(values)))
    const disputed = [...keys].filter(
      (key) =>
        !readOnly.has(`${kind} ${key}`) && new Set([...stores.values()].map((values) => values[key] ?? "")).size > 1
    )
    return [...stores].flatMap(([storeId, values]) => {
      const fields = disputed.filter((key) => (values[key] ?? "") !== (canonical[key] ?? "")).sort()
      return fields.length === 0 ? [] : [`${id} ${storeId} ${fields.join()}`]
    })
  })

const issuesOf = (section: "divergence" | "completeness-required") =>
  Effect.gen(function* () {
    const health = yield* DataHealth
    const rows: Array<HealthIssue> = []
    for (let page = 1; ; page++) {
      const { data, has_next } = yield* health.issues({ section, page, page_size: 100 })
      rows.push(...data)
      if (!has_next) return rows
    }
  })

const shown = (rows: ReadonlyArray<HealthIssue>) =>
  rows.map(({ entity_id, fields, store_id }) => `${entity_id} ${store_id} ${[...fields].sort().join()}`)

for (const [name, [first, second]] of Object.entries(pairs)) {
  const isHere = existsSync(first) && existsSync(second)
  if (!isHere) console.warn(`SKIPPED: the exports of ${name} are not here (${first}, ${second})`)
  describe.skipIf(!isHere)(`the two exports of ${name}`, () => {
    layer(ServicesOnDatabase.pipe(Layer.provideMerge(anyDatabase), Layer.orDie), { excludeTestServices: true })(
      (it) => {
        it.effect("diverge in exactly the fields that differ, and reconciles repair them", () =>
          Effect.gen(function* () {
            const { actor, stores } = yield* anAccount({ domains: ["one.example", "two.example"] })
            yield* Effect.gen(function* () {
              const imports = yield* Imports
              const health = yield* DataHealth
              const remediation = yield* Remediation
              for (const [index, path] of [first, second].entries()) {
                const run = yield* imports.csv(path, stores[index]?.domain ?? "", quiet)
                yield* imports.accept(run.id, quiet)
              }
              yield* health.scan("divergence")
              const rows = yield* issuesOf("divergence")
              const expected = differing(yield* valuesOf)
              assert.isAtLeast(expected.length, 2)
              assert.sameMembers([...shown(rows)], [...expected])

              // Reconciles one field of the first row; only this field is no longer listed.
              const [row] = rows
              assert(row !== undefined)
              const [field = ""] = row.fields
              const { patched } = yield* remediation.reconcile(row.entity_type, [
                { entity_id: row.entity_id, field, winner_store_id: row.store_id }
              ])
              assert.isAtLeast(patched, 1)
              yield* health.scan("divergence")
              const after = yield* issuesOf("divergence")
              const fieldsOf = (issues: ReadonlyArray<HealthIssue>) =>
                issues.flatMap(({ entity_id, fields }) => fields.map((each) => `${entity_id} ${each}`))
              const gone = new Set(fieldsOf(rows))
              for (const each of fieldsOf(after)) gone.delete(each)
              assert.deepStrictEqual([...gone], [`${row.entity_id} ${field}`])
              assert.sameMembers([...shown(after)], differing(yield* valuesOf))

              // Fills the empty required fields with valid values.
              yield* health.scan("completeness")
              const gaps = yield* issuesOf("completeness-required")
              const fills = gaps
                .filter(({ entity_type }) => entity_type === "product")
                .flatMap(({ entity_id, fields, store_id }) =>
                  fields.map((field) => ({ entity_id, store_id, field, value: "Filled" }))
                )
              const { filled, results } = yield* remediation.fill("product", fills)
              assert.strictEqual(filled, fills.length, JSON.stringify(results.find(({ ok }) => !ok)))
              yield* health.scan("completeness")
              const left = yield* issuesOf("completeness-required")
              assert.deepStrictEqual(shown(left), shown(gaps.filter(({ entity_type }) => entity_type !== "product")))
            }).pipe(actingAs(actor))
          })
        )
      }
    )
  })
}
