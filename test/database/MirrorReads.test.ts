import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { EntityId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { aTranslation, refresh } from "../support/Mirrors.ts"
import { makeRowsRead } from "../support/RowsRead.ts"
import { layerServer, serverAnswers } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"

const products = amount(600, 5_000)
const tables = ["mirror_item", "store_version", "translatable_field", "translation"]
/**
 * Maximum number of reads by table, a few for each record. Reading the whole table once for each record would be
 * `products` rows.
 */
const maxEach = 60

const TestLayer = Services.pipe(
  Layer.provideMerge(RepositoriesOnDatabase),
  Layer.provideMerge(layerServer),
  Layer.orDie
)

describe.skipIf(!serverAnswers)("merges of markets, definitions and translations on tables without statistics", () => {
  layer(TestLayer, { excludeTestServices: true })((it) => {
    it.scoped("need a few look-ups per record; a join by platform id reads the whole store for each record", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { rowsRead } = yield* makeRowsRead(tables)
        for (const table of tables) yield* sql`ALTER TABLE ${sql(table)} SET (autovacuum_enabled = false)`
        const { accountId, actor, stores } = yield* anAccount({ domains: ["tern.example"] })
        const [store] = stores
        assert(store !== undefined)
        const ids = yield* Effect.replicateEffect(mintId(EntityId), products)
        const platformId = (index: number) => `demo://product/${index}`
        yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
          apply(
            ids.flatMap((id, index) => [
              CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: `Tern ${index}` } }),
              CatalogChange.AddToStore({ entityId: id, storeId: store.id }),
              CatalogChange.AcceptPublish({ entityId: id, storeId: store.id, platformId: platformId(index) })
            ])
          )
        ).pipe(actingAs(actor))
        const translations = (said: string) =>
          ids.map((_, index) =>
            aTranslation("product", platformId(index), "de", `Tern ${index}`, [`${said} ${index}`, null])
          )
        for (const said of ["Seeschwalbe", "Zwergseeschwalbe"]) {
          const before = yield* rowsRead
          const { isChanged } = yield* refresh(accountId, store, { translations: translations(said) })
          assert.isTrue(isChanged)
          assert.isBelow((yield* rowsRead) - before, maxEach * products)
        }
        const [kept] = yield* sql`
          SELECT count(*)::integer AS count FROM translation WHERE account_id = ${accountId} AND value LIKE 'Zwerg%'`
        assert.strictEqual(kept?.count, products)

        // The opposite case: a join by platform id.
        const before = yield* rowsRead
        yield* sql`
          SELECT w.entity_id
          FROM translatable_field f
          JOIN store_version v ON v.account_id = f.account_id AND v.entity_id = f.entity_id AND v.store_id = f.store_id
          CROSS JOIN LATERAL (
            SELECT o.entity_id FROM store_version o
            WHERE o.account_id = ${accountId} AND o.store_id = ${store.id} AND o.platform_id = v.platform_id
            LIMIT 2
          ) w
          WHERE f.account_id = ${accountId} AND f.store_id = ${store.id}`
        assert.isAbove((yield* rowsRead) - before, maxEach * products)
      })
    )
  })
})
