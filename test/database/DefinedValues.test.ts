import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Migrations from "../../src/database/Migrations.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

const account = "00000000-0000-4000-8000-000000000001"
const id = (number: number) => `00000000-0000-4000-8000-0000000000${number}`
const store = id(10)
const line = "single_line_text_field"

/** Attributes as they are stored: keys with a value and a type. */
const stored = (values: Readonly<Record<string, readonly [value: string, type: string]>>) =>
  JSON.stringify(Object.fromEntries(Object.entries(values).map(([key, [value, type]]) => [key, { value, type }])))

for (const engine of TestDatabase.engines)
  describe.skipIf(engine.absent)(`values older than their definitions, on ${engine.name}`, () => {
    it.live("get the type of their definition if they fit, and keys in use get a definition", () =>
      Effect.gen(function* () {
        const place = Migrations.names.findIndex((name) => name.endsWith("_defined_values"))
        yield* Migrations.runFrom(Migrations.directory, Migrations.names.slice(0, place))
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO account (id, name, version, change_seq) VALUES (${account}, 'A', 5, 3)`
            yield* sql`
              INSERT INTO store (account_id, id, domain, name, platform, status, primary_locale, locales, currency)
              VALUES (${account}, ${store}, 'a.example', 'A', 'demo', 'linked', 'en', '{en}', 'EUR')`
            yield* sql`
              INSERT INTO metafield_definition (account_id, id, owner_type, namespace, key)
              VALUES (${account}, ${id(20)}, 'product', 'specs', 'pages')`
            yield* sql`
              INSERT INTO metafield_definition_store (account_id, store_id, definition_id, platform_id, name, type,
                                                      validations, metafields_count)
              VALUES (${account}, ${store}, ${id(20)}, 'x', 'Pages', 'number_integer', '[]', 1)`
            const right = stored({
              title: ["T", line],
              "specs.pages": ["12", line],
              "care.note": ["two\nlines", "multi_line_text_field"]
            })
            for (const [number, attributes] of [
              [31, right],
              [32, stored({ "specs.pages": ["abc", line] })],
              [33, stored({ title: ["Plain", line] })]
            ] as const) {
              yield* sql`
                INSERT INTO entity (account_id, id, kind, attributes, change_seq, canonical_changed_at, stamped_by, store_ids,
                                    draft_revision, pending_publish)
                VALUES (${account}, ${id(number)}, 'product', ${attributes}::jsonb, ${number - 30}, app_now(),
                        pg_current_xact_id(), ${[store]}::uuid[], 4, true)`
              yield* sql`
                INSERT INTO store_version (account_id, entity_id, store_id, overrides, accepted, pending_publish)
                VALUES (${account}, ${id(number)}, ${store}, ${number === 31 ? "{}" : stored({ "specs.pages": ["7", line] })}::jsonb,
                        jsonb_build_object('attributes', ${number === 31 ? stored({ title: ["T", line], "specs.pages": ["12", "number_integer"], "care.note": ["two\nlines", "multi_line_text_field"] }) : "{}"}::jsonb,
                                           'variants', '[]'::jsonb, 'media', '[]'::jsonb), true)`
            }
          })
        )
        // No later one: those write, too.
        const upToIt = Migrations.names.slice(0, place + 1)
        assert.deepStrictEqual(yield* Migrations.runFrom(Migrations.directory, upToIt), upToIt.slice(-1))
        const entities = yield* sql`
          SELECT right(id::text, 2) AS id, attributes -> 'specs.pages' ->> 'type' AS type, change_seq::int AS place,
                 draft_revision AS revision, pending_publish AS pending
          FROM entity ORDER BY id`
        assert.deepStrictEqual(entities, [
          // The value of a canonical record that changed takes a new place in the walk; only its type was pending.
          { id: "31", type: "number_integer", place: 4, revision: 4, pending: false },
          { id: "32", type: line, place: 2, revision: 4, pending: true },
          { id: "33", type: null, place: 3, revision: 4, pending: true }
        ])
        const versions = yield* sql`
          SELECT overrides -> 'specs.pages' ->> 'type' AS type, pending_publish AS pending FROM store_version ORDER BY entity_id`
        assert.deepStrictEqual(versions, [
          { type: null, pending: false },
          { type: "number_integer", pending: true },
          { type: "number_integer", pending: true }
        ])
        const counters = yield* sql`SELECT version::int AS version, change_seq::int AS place FROM account`
        assert.deepStrictEqual(counters, [{ version: 6, place: 4 }])
        const own = yield* sql`
          SELECT namespace || '.' || key AS key, own FROM metafield_definition WHERE own IS NOT NULL`
        assert.deepStrictEqual(own, [
          {
            key: "care.note",
            own: { name: "note", description: null, type: "multi_line_text_field", validations: [] }
          }
        ])
      }).pipe(Effect.provide(engine.empty))
    )
  })
