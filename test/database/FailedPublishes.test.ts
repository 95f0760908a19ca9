import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { EntityId } from "../../src/model/Ids.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { layerServer, serverAnswers } from "../support/TestDatabase.ts"

const failed = 1_000

describe.skipIf(!serverAnswers)("the list of failed publishes", () => {
  layer(Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provideMerge(layerServer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("reads each failed publication once, however many entities failed", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { failures } = yield* PublicationsRepo
        const { accountId, actor, stores } = yield* anAccount({ domains: ["one.example"] })
        const [store = assert.fail("no store")] = stores
        const ids = yield* Effect.replicateEffect(mintId(EntityId), failed)
        yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
          apply(
            ids.flatMap((id) => [
              CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: {} }),
              CatalogChange.AddToStore({ entityId: id, storeId: store.id })
            ])
          )
        ).pipe(actingAs(actor))
        yield* sql`
          UPDATE store_version SET last_publish_status = 'failed', last_publish_error = '{"code":"NO","message":"No."}'
          WHERE account_id = ${accountId}`
        yield* sql`
          INSERT INTO publication (account_id, id, sequence, entity_id, store_id, draft_revision, brings, content, actor,
                                   state, attempts, finished_at, error)
          SELECT v.account_id, gen_random_uuid(), row_number() OVER (), v.entity_id, v.store_id, 1, ARRAY[v.entity_id], '{}',
                 '{}', 'failed', 1, app_now(), v.last_publish_error
          FROM store_version v WHERE v.account_id = ${accountId}`
        yield* sql`ANALYZE publication, store_version`

        const read = Effect.gen(function* () {
          const list = yield* failures(accountId, 100)
          const [counted] = yield* sql<{ readonly count: number }>`
            SELECT (t.seq_tup_read + t.idx_tup_fetch)::integer AS count
            FROM pg_stat_xact_user_tables t WHERE t.relname = 'publication'`
          return { list, count: counted?.count }
        })
        const { count, list } = yield* sql.withTransaction(read)
        assert.lengthOf(new Set(list.map(({ entityId }) => entityId)), 100)
        assert.strictEqual(count, failed)
      })
    )
  })
})
