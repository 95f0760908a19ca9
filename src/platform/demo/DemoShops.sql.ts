import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { discardRows, findAll, findOne } from "../../database/Rows.ts"
import { orDie } from "../../database/SqlErrors.ts"
import type { Transaction } from "../../database/Transaction.ts"
import { EntityId } from "../../model/Ids.ts"
import type { Publication, Published } from "../Publication.ts"
import { makeDemoRecordWrites } from "./DemoRecords.sql.ts"
import { type DemoEffect, effectOf } from "./DemoRecords.ts"
import { DemoFailure, type DemoShop } from "./DemoShop.ts"
import type { DemoShops } from "./DemoShops.ts"

type Shops = Context.Tag.Service<DemoShops>
type Transactions = Context.Tag.Service<Transaction>

const PlatformIds = Schema.parseJson(Schema.Record({ key: EntityId, value: Schema.String }))

const publishedFrom = (ids: Readonly<Record<EntityId, string>>): Published => ({
  platformIds: new Map(Object.entries(ids).map(([entityId, platformId]) => [EntityId.make(entityId), platformId]))
})

/** Applies publications to a shop, each publication at most once. */
export const makeDemoEffects = (
  sql: SqlClient,
  transaction: Transactions
): Pick<Shops, "applied" | "apply" | "effects" | "put" | "remove"> => {
  const { place, takeOff, write } = makeDemoRecordWrites(sql)

  const applied = findOne(Schema.Struct({ platformIds: PlatformIds }))(
    ({ accountId, storeId }: DemoShop, key: string) => sql`
      SELECT platform_ids::text AS "platformIds" FROM demo_shop_effect
      WHERE account_id = ${accountId} AND store_id = ${storeId} AND key = ${key}`
  )
  const findApplied = (shop: DemoShop, key: string) =>
    Effect.map(
      applied(shop, key),
      Option.map(({ platformIds }) => publishedFrom(platformIds))
    )

  const carryOut = (shop: DemoShop, publication: Publication, { gallery, placed, published, written }: DemoEffect) =>
    Effect.gen(function* () {
      // If two publications with the same key run at once, the second waits here until the first is committed.
      const inserted = yield* sql`
        INSERT INTO demo_shop_effect (account_id, store_id, key, entity_id, platform_ids)
        VALUES (${shop.accountId}, ${shop.storeId}, ${publication.key}, ${publication.entityId},
                ${JSON.stringify(Object.fromEntries(published.platformIds))}::jsonb)
        ON CONFLICT DO NOTHING
        RETURNING key`
      if (inserted.length === 0) return yield* findApplied(shop, publication.key)
      yield* write(shop, written)
      yield* place(shop, placed)
      if (gallery !== undefined) yield* takeOff(shop, gallery)
      return Option.some(published)
    })

  const effects = findOne(Schema.Struct({ count: Schema.Int }))(
    ({ accountId, storeId }: DemoShop) => sql`
      SELECT count(*) AS count FROM demo_shop_effect WHERE account_id = ${accountId} AND store_id = ${storeId}`
  )

  return {
    apply: (shop, publication) => {
      const effect = effectOf(publication)
      return Effect.map(
        transaction.run(orDie(carryOut(shop, publication, effect))),
        Option.getOrElse(() => effect.published)
      )
    },
    applied: findApplied,
    remove: ({ accountId, storeId }, platformId) =>
      sql`
        DELETE FROM demo_shop_record r
        WHERE r.account_id = ${accountId} AND r.store_id = ${storeId} AND r.platform_id = ${platformId}`.pipe(
        discardRows
      ),
    effects: (shop) => Effect.map(effects(shop), Option.match({ onNone: () => 0, onSome: ({ count }) => count })),
    put: (shop, records) =>
      write(
        shop,
        records.map((record) => ({ ...record, position: record.position ?? null }))
      ).pipe(discardRows)
  }
}

/** Reads and writes the data of a shop outside its catalog. */
export const makeDemoSections = (sql: SqlClient, transaction: Transactions): Pick<Shops, "putSections" | "section"> => {
  const section = findAll(Schema.Struct({ content: Schema.Unknown }))(
    ({ accountId, storeId }: DemoShop, section: string) => sql`
      SELECT content FROM demo_shop_section
      WHERE account_id = ${accountId} AND store_id = ${storeId} AND section = ${section}
      ORDER BY ordinal`
  )

  return {
    putSections: (shop, sections) =>
      transaction.run(
        Effect.gen(function* () {
          const json = JSON.stringify(sections)
          yield* sql`
            DELETE FROM demo_shop_section
            WHERE account_id = ${shop.accountId} AND store_id = ${shop.storeId}
              AND section IN (SELECT jsonb_object_keys(${json}::jsonb))`
          yield* sql`
            INSERT INTO demo_shop_section (account_id, store_id, section, ordinal, content)
            SELECT own.account_id, ${shop.storeId}::uuid, s.name, i.ordinal, i.content
            FROM account_state own
            CROSS JOIN jsonb_each(${json}::jsonb) AS s (name, items)
            CROSS JOIN jsonb_array_elements(s.items) WITH ORDINALITY AS i (content, ordinal)
            WHERE own.account_id = ${shop.accountId}`
        }).pipe(orDie)
      ),
    section: (shop, name) => Effect.map(section(shop, name), (rows) => rows.map(({ content }) => content))
  }
}

/** Reads and writes the failures of shops. */
export const makeDemoFailures = (sql: SqlClient): Pick<Shops, "fail" | "failures" | "repair"> => {
  const failures = findAll(DemoFailure)(
    ({ accountId, storeId }: DemoShop) => sql`
      SELECT kind, percent, delay_millis AS "delayMillis" FROM demo_shop_failure
      WHERE account_id = ${accountId} AND store_id = ${storeId}
      ORDER BY kind`
  )

  return {
    fail: ({ accountId, storeId }, { delayMillis, kind, percent }) =>
      sql`
        INSERT INTO demo_shop_failure (account_id, store_id, kind, percent, delay_millis)
        VALUES (${accountId}, ${storeId}, ${kind}, ${percent}, ${delayMillis})
        ON CONFLICT (account_id, store_id, kind) DO UPDATE
        SET percent = EXCLUDED.percent, delay_millis = EXCLUDED.delay_millis`.pipe(discardRows),
    repair: ({ accountId, storeId }) =>
      sql`DELETE FROM demo_shop_failure WHERE account_id = ${accountId} AND store_id = ${storeId}`.pipe(discardRows),
    failures
  }
}
