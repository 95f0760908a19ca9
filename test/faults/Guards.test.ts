import { SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { describe as describeSqlError } from "../../src/database/SqlErrors.ts"
import { engines, isServerCluster } from "../support/TestDatabase.ts"
import { refusalOf } from "./Refusal.ts"

const silent = Logger.remove(Logger.defaultLogger)

const account = "10000000-0000-4000-8000-000000000000"
const id = (digit: number) => `10000000-0000-4000-8000-00000000000${digit}`
const [product, other, variant, collection, media, picture] = [id(1), id(2), id(3), id(4), id(5), id(6)]
const unborn = id(9)

type Sql = SqlClient.SqlClient
type Statements = (sql: Sql) => Effect.Effect<unknown, SqlError>

const all =
  (...statements: ReadonlyArray<Statements>): Statements =>
  (sql) =>
    Effect.forEach(statements, (statement) => statement(sql))

/** The last statement of a writing transaction, written by hand. */
const raise =
  (...ids: ReadonlyArray<string>): Statements =>
  (sql) =>
    sql`
    WITH raised AS (
      UPDATE account_state SET version = version + 1, change_seq = change_seq + ${ids.length} WHERE account_id = ${account}
      RETURNING change_seq - ${ids.length} AS seq_before
    )
    UPDATE entity e
    SET change_seq = raised.seq_before + stamp.n, canonical_changed_at = app_now(), stamped_by = pg_current_xact_id()
    FROM raised, unnest(${ids}::uuid[]) WITH ORDINALITY AS stamp (id, n)
    WHERE e.account_id = ${account} AND e.id = stamp.id`

const rename =
  (entity: string): Statements =>
  (sql) =>
    sql`
    UPDATE entity
    SET attributes = attributes || jsonb_build_object(
          'title', jsonb_build_object('value', gen_random_uuid()::text, 'type', 'single_line_text_field'))
    WHERE account_id = ${account} AND id = ${entity}`

const insert =
  (entity: string, kind: string, parent: string | null = null, position: number | null = null): Statements =>
  (sql) =>
    sql`
    INSERT INTO entity (account_id, id, kind, parent_id, position)
    VALUES (${account}, ${entity}, ${kind}, ${parent}, ${position})`

const remove =
  (entity: string): Statements =>
  (sql) =>
    sql`DELETE FROM entity WHERE account_id = ${account} AND id = ${entity}`

const moveVariant =
  (position: number): Statements =>
  (sql) =>
    sql`UPDATE entity SET position = ${position} WHERE account_id = ${account} AND id = ${variant}`

const adopt =
  (parent: string): Statements =>
  (sql) =>
    sql`UPDATE entity SET parent_id = ${parent} WHERE account_id = ${account} AND id = ${variant}`

const hang =
  (owner: string, file: string): Statements =>
  (sql) =>
    sql`
    INSERT INTO entity_media (account_id, entity_id, media_id, position) VALUES (${account}, ${owner}, ${file}, 1)`

const join =
  (owner: string, member: string): Statements =>
  (sql) =>
    sql`
    INSERT INTO collection_member (account_id, collection_id, product_id, position)
    VALUES (${account}, ${owner}, ${member}, 1)`

const onGallery =
  (how: string): Statements =>
  (sql) =>
    sql.unsafe(`${how} WHERE account_id = $1 AND entity_id = $2 AND media_id = $3`, [account, product, media])

const onMembers =
  (how: string): Statements =>
  (sql) =>
    sql.unsafe(`${how} WHERE account_id = $1 AND collection_id = $2 AND product_id = $3`, [
      account,
      collection,
      product
    ])

/**
 * Every kind of canonical change: its statements, the entities that it must stamp, and the guard's message for the
 * first one without a stamp.
 */
const changes: ReadonlyArray<{
  readonly name: string
  readonly write: Statements
  readonly owners: ReadonlyArray<string>
  readonly why: string
}> = [
  { name: "an attribute", write: rename(product), owners: [product], why: "its canonical values changed" },
  {
    name: "a kind",
    write: (sql) => sql`UPDATE entity SET kind = 'product' WHERE account_id = ${account} AND id = ${collection}`,
    owners: [collection],
    why: "its canonical values changed"
  },
  { name: "a new product", write: insert(unborn, "product"), owners: [unborn], why: "its canonical values changed" },
  {
    name: "a new variant",
    write: insert(unborn, "variant", product, 1),
    owners: [product, unborn],
    why: "its variants changed"
  },
  { name: "a variant's position", write: moveVariant(7), owners: [product], why: "its variants changed" },
  { name: "a variant's product", write: adopt(other), owners: [product, other], why: "its variants changed" },
  { name: "a variant deleted", write: remove(variant), owners: [product], why: "its variants changed" },
  { name: "a gallery entry added", write: hang(product, picture), owners: [product], why: "its gallery changed" },
  {
    name: "a gallery entry moved",
    write: onGallery("UPDATE entity_media SET position = 5"),
    owners: [product],
    why: "its gallery changed"
  },
  {
    name: "a gallery entry's media replaced",
    write: onGallery(`UPDATE entity_media SET media_id = '${picture}'`),
    owners: [product],
    why: "its gallery changed"
  },
  {
    name: "a gallery entry given to another entity",
    write: onGallery(`UPDATE entity_media SET entity_id = '${other}'`),
    owners: [product, other],
    why: "its gallery changed"
  },
  {
    name: "a gallery entry deleted",
    write: onGallery("DELETE FROM entity_media"),
    owners: [product],
    why: "its gallery changed"
  },
  { name: "a member added", write: join(collection, other), owners: [collection], why: "its members changed" },
  {
    name: "a member moved",
    write: onMembers("UPDATE collection_member SET position = 5"),
    owners: [collection],
    why: "its members changed"
  },
  {
    name: "a member replaced",
    write: onMembers(`UPDATE collection_member SET product_id = '${other}'`),
    owners: [collection],
    why: "its members changed"
  },
  {
    // The schema does not require the owner of members to be a collection, so here the second one can be any entity.
    name: "a member given to another collection",
    write: onMembers(`UPDATE collection_member SET collection_id = '${other}'`),
    owners: [collection, other],
    why: "its members changed"
  },
  {
    name: "a member deleted",
    write: onMembers("DELETE FROM collection_member"),
    owners: [collection],
    why: "its members changed"
  }
]

/** Two products: one with a variant, a gallery and a collection, and one without. */
const Catalog = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(
      all(
        (sql) => sql`INSERT INTO account (id, name) VALUES (${account}, 'Guarded')`,
        (sql) => sql`INSERT INTO account_state (account_id) VALUES (${account})`,
        insert(product, "product"),
        insert(other, "product"),
        insert(variant, "variant", product, 0),
        insert(collection, "collection"),
        insert(media, "media"),
        insert(picture, "media"),
        hang(product, media),
        join(collection, product),
        raise(product, other, variant, collection, media, picture)
      )(sql)
    )
  })
)

const undo = Symbol("undo")

/** Runs a change and all deferred guards inside a transaction that is rolled back. */
const refusalOfTrial = (statements: Statements) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const trial = Effect.zipRight(statements(sql), sql`SET CONSTRAINTS ALL IMMEDIATE`)
    return yield* sql
      .withTransaction(Effect.zipRight(trial, Effect.fail(undo)))
      .pipe(Effect.catchAll((error) => (error === undo ? Effect.succeed("") : Effect.succeed(describeSqlError(error)))))
  })

const refusal = (owners: ReadonlyArray<string>, why: string) =>
  new RegExp(
    `^entity (${owners.join("|")}) of account ${account} was not stamped: (${why}|its canonical values changed) ` +
      "\\(raise the counter in the last statement\\) \\(23000\\)$"
  )

/** A savepoint, so that a failed step does not end the transaction. */
const savepoint =
  (statements: Statements): Statements =>
  (sql) =>
    sql.withTransaction(statements(sql))

const undone =
  (statements: Statements): Statements =>
  (sql) =>
    sql.withTransaction(Effect.zipRight(statements(sql), Effect.fail(undo))).pipe(
      Effect.catchIf(
        (error) => error === undo,
        () => Effect.void
      )
    )

const snapshot = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return [
    yield* sql`SELECT account_id, id, kind, parent_id, position, attributes, change_seq FROM entity ORDER BY id`,
    yield* sql`SELECT * FROM entity_media ORDER BY entity_id, media_id`,
    yield* sql`SELECT * FROM collection_member ORDER BY collection_id, product_id`,
    yield* sql`SELECT version, change_seq FROM account_state`
  ]
})

// A cluster has no guards, because Citus does not allow triggers.
for (const engine of engines.filter(({ name }) => name !== "citus")) {
  // A cluster has no guards.
  describe.skipIf(engine.absent || (engine.name === "server" && isServerCluster))(
    `stamp guards on ${engine.name}`,
    () => {
      layer(Layer.merge(Catalog, silent).pipe(Layer.provideMerge(engine.layer)), { excludeTestServices: true })(
        (it) => {
          for (const { name, owners, why, write } of changes) {
            it.effect(`${name} is refused at commit without a stamp, and accepted with one`, () =>
              Effect.gen(function* () {
                // The stamp of an earlier transaction does not count.
                assert.strictEqual(yield* refusalOf(raise(product, other, collection)), "")
                const before = yield* snapshot
                const said = yield* refusalOf(write)
                assert.match(said, refusal(owners, why))
                assert.deepStrictEqual(yield* snapshot, before)
                for (const missing of owners) {
                  const stamped = owners.filter((owner) => owner !== missing)
                  assert.match(yield* refusalOfTrial(all(write, raise(...stamped))), refusal([missing], why))
                }
                assert.strictEqual(yield* refusalOfTrial(all(write, raise(...owners))), "")
                assert.deepStrictEqual(yield* snapshot, before)
              })
            )
          }

          it.effect("a stamped change commits", () =>
            Effect.gen(function* () {
              assert.strictEqual(yield* refusalOf(all(rename(product), raise(product))), "")
              assert.strictEqual(yield* refusalOf(all(insert(id(8), "variant", product, 1), raise(product, id(8)))), "")
              assert.strictEqual(yield* refusalOf(all(hang(product, picture), raise(product))), "")
              assert.strictEqual(yield* refusalOf(all(join(collection, other), raise(collection))), "")
            })
          )

          it.effect("a value written after the stamp is refused", () =>
            Effect.gen(function* () {
              const late = refusal([product], "its canonical values changed")
              assert.match(yield* refusalOf(all(raise(product), rename(product))), late)
              assert.match(yield* refusalOf(all(rename(product), raise(product), rename(product))), late)
              assert.strictEqual(yield* refusalOfTrial(all(raise(product), rename(product), raise(product))), "")
            })
          )

          it.effect("a change of a store's override needs no stamp", () =>
            Effect.gen(function* () {
              const shown = onGallery(`UPDATE entity_media SET store_ids = '{${id(7)}}'`)
              assert.strictEqual(yield* refusalOf(shown), "")
              const derived: Statements = (sql) => sql`
            UPDATE entity
            SET search_text = ' x', pending_publish = NOT pending_publish, draft_revision = draft_revision + 1,
                attributes = attributes, position = position
            WHERE account_id = ${account}`
              assert.strictEqual(yield* refusalOf(derived), "")
            })
          )

          it.effect("savepoints belong to the transaction: a stamp in one counts, a rolled-back stamp does not", () =>
            Effect.gen(function* () {
              const both = all(rename(product), onGallery("UPDATE entity_media SET position = position + 1"))
              const passes = [
                all(savepoint(both), raise(product)),
                all(both, savepoint(raise(product))),
                all(savepoint(both), savepoint(raise(product))),
                all(savepoint(all(savepoint(both), raise(product)))),
                all(undone(both)),
                all(undone(all(both, raise(product))), both, raise(product))
              ]
              for (const statements of passes) assert.strictEqual(yield* refusalOf(statements), "")
              const refused = [
                savepoint(both),
                all(both, undone(raise(product))),
                all(undone(raise(product)), savepoint(both)),
                all(savepoint(raise(product)), savepoint(rename(product)))
              ]
              for (const statements of refused) {
                assert.match(yield* refusalOf(statements), refusal([product], "its gallery changed"))
              }
            })
          )
        }
      )
    }
  )
}
