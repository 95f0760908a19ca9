import { SqlClient } from "@effect/sql"
import { withTransformer } from "@effect/sql/Statement"
import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import { CatalogChanges } from "../../src/drafts/CatalogChanges.ts"
import { Drafts } from "../../src/drafts/Drafts.ts"
import type { CurrentActor } from "../../src/model/Actor.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { featureEngines } from "../support/TestDatabase.ts"
import { amount, isLong } from "../support/Volume.ts"

/** More rows than one statement writes. */
const many = amount(10_001, 200_001)
const full = Array.from({ length: Math.floor(many / 10_000) }, () => 10_000)

for (const engine of featureEngines)
  describe.skipIf(engine.absent)(`a collection of ${many} products on ${engine.name}`, () => {
    const TestLayer = Services.pipe(
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(engine.layer),
      Layer.orDie
    )

    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("is written and emptied by several statements, and a change of few writes few rows", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          const changes = yield* CatalogChanges
          const drafts = yield* Drafts
          const sql = yield* SqlClient.SqlClient
          const collectionId = yield* anEntity("collection", { title: "All" }).pipe(actingAs(actor))
          const inserted = yield* sql`
            INSERT INTO entity (account_id, id, kind, attributes, draft_revision, change_seq, canonical_changed_at, stamped_by,
                                created_at, pending_publish, last_publish_status, store_ids, search_text)
            SELECT e.account_id, gen_random_uuid(), 'product', e.attributes, 1, -n, e.canonical_changed_at, e.stamped_by,
                   e.created_at, false, e.last_publish_status, '{}', ''
            FROM entity e CROSS JOIN generate_series(1, ${many}::integer) n
            WHERE e.account_id = ${accountId} AND e.id = ${collectionId}
            RETURNING id`
          const productIds = inserted.map(({ id }) => EntityId.make(String(id)))
          assert.lengthOf(productIds, many)

          /** The number of rows in each statement of a write that writes members. */
          const rowsOf = (write: Effect.Effect<unknown, unknown, CurrentActor>) =>
            Effect.gen(function* () {
              const rows: Array<string> = []
              const [time] = yield* Effect.timed(
                withTransformer(write, (statement) => {
                  const [text, [first]] = statement.compile()
                  const [, verb] = /^\s*(INSERT|DELETE) [A-Z]+ collection_member\b/.exec(text) ?? []
                  if (verb !== undefined) rows.push(`${verb} ${JSON.parse(String(first)).length}`)
                  return Effect.succeed(statement)
                }).pipe(actingAs(actor))
              )
              if (isLong)
                console.log(`${many} members, ${rows.length} statements (${rows[0]}): ${Duration.format(time)}`)
              return rows
            })
          const set = (members: ReadonlyArray<EntityId>) =>
            changes.apply([CatalogChange.SetMembers({ collectionId, productIds: members })])
          const stored = Effect.map(
            sql`
              SELECT product_id AS id FROM collection_member
              WHERE account_id = ${accountId} AND collection_id = ${collectionId} ORDER BY position`,
            (rows) => rows.map(({ id }) => id as string)
          )
          const [first, second, third, ...others] = productIds
          assert(first !== undefined && second !== undefined && third !== undefined)
          const writesOf = (verb: string) => [...full, 1].map((rows) => `${verb} ${rows}`)
          for (const [write, members, written] of [
            [set(productIds), productIds, writesOf("INSERT")],
            [drafts.changeMembers(collectionId, [], [second]), [first, third, ...others], ["DELETE 1"]],
            [drafts.moveMember(collectionId, third, 1), [third, first, ...others], ["INSERT 2"]],
            [drafts.changeMembers(collectionId, [second], []), [third, first, ...others, second], ["INSERT 1"]],
            [set([second, first, ...others]), [second, first, ...others], ["DELETE 1", "INSERT 1"]],
            [set([second, first, ...others, third]), [second, first, ...others, third], ["INSERT 1"]],
            [set([]), [], writesOf("DELETE")]
          ] as const) {
            assert.deepStrictEqual(yield* rowsOf(write), [...written])
            assert.deepStrictEqual(yield* stored, [...members])
          }
        })
      )
    })
  })
