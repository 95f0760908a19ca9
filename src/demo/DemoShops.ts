import { SqlClient, SqlSchema } from "@effect/sql"
import { Array as Arr, Chunk, Context, Effect, Layer, Option, Order, Schema, Stream } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { Transaction } from "../database/Transaction.ts"
import { EntityId } from "../model/Ids.ts"
import type { PlatformStore } from "../platform/PlatformClient.ts"
import { PlatformRecord } from "../platform/PlatformRecord.ts"
import type { Publication, Published } from "../platform/Publication.ts"
import { type DemoEffect, type DemoRecord, effectOf } from "./DemoRecords.ts"

/** Which shop. */
export type DemoShop = Pick<PlatformStore, "accountId" | "storeId">

/**
 * How a shop fails. `delay`: it answers late; `error`: it fails and does nothing; `refuse`: it says no; `lost`: it does
 * what it was asked, and the answer is lost. `percent`: of how many calls in a hundred.
 */
export const DemoFailure = Schema.Struct({
  kind: Schema.Literal("delay", "error", "refuse", "lost"),
  percent: Schema.Int.pipe(Schema.between(1, 100)),
  /** Of `delay` alone. */
  delayMillis: Schema.NonNegativeInt
})
export type DemoFailure = typeof DemoFailure.Type

const PlatformIds = Schema.parseJson(Schema.Record({ key: EntityId, value: Schema.String }))

const publishedFrom = (ids: Readonly<Record<EntityId, string>>): Published => ({
  platformIds: new Map(Object.entries(ids).map(([entityId, platformId]) => [EntityId.make(entityId), platformId]))
})

const pageSize = 500

/** The shops of the demo platform: the same from every process that has the database. */
export class DemoShops extends Context.Tag("catalog/DemoShops")<
  DemoShops,
  {
    /** In the order of a pull, read a page at a time. */
    readonly records: (shop: DemoShop) => Stream.Stream<PlatformRecord>
    /** The record that was published from an entity; of several the first by id. */
    readonly find: (shop: DemoShop, entityId: EntityId) => Effect.Effect<Option.Option<PlatformRecord>>
    /** Carries a publication out; one whose key was carried out before changes nothing and is answered as it was then. */
    readonly apply: (shop: DemoShop, publication: Publication) => Effect.Effect<Published>
    /** What became of the publication with this key; none: it was never carried out. */
    readonly applied: (shop: DemoShop, key: string) => Effect.Effect<Option.Option<Published>>
    /** Publications that were carried out. */
    readonly effects: (shop: DemoShop) => Effect.Effect<number>
    /** Writes records as somebody would who works in the shop itself; without a position a variant stays where it is. */
    readonly put: (
      shop: DemoShop,
      records: ReadonlyArray<PlatformRecord & { readonly position?: number | null }>
    ) => Effect.Effect<void>
    /** Replaces a part of the shop beside its catalog. */
    readonly putSection: (shop: DemoShop, section: string, items: ReadonlyArray<unknown>) => Effect.Effect<void>
    readonly section: (shop: DemoShop, section: string) => Effect.Effect<ReadonlyArray<unknown>>
    readonly fail: (shop: DemoShop, failure: DemoFailure) => Effect.Effect<void>
    readonly mend: (shop: DemoShop) => Effect.Effect<void>
    readonly failures: (shop: DemoShop) => Effect.Effect<ReadonlyArray<DemoFailure>>
  }
>() {
  static readonly layer = Layer.effect(
    DemoShops,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const transaction = yield* Transaction

      const Place = Schema.Struct({
        rank: Schema.Int,
        owner: Schema.String,
        depth: Schema.Int,
        place: Schema.Int,
        platformId: Schema.String
      })
      const Row = Schema.Struct({ ...PlatformRecord.fields, ...Place.fields })
      const first = { rank: -1, owner: "", depth: 0, place: 0, platformId: "" }

      const page = SqlSchema.findAll({
        Request: Schema.Struct({
          shop: Schema.Struct({ accountId: Schema.String, storeId: Schema.String }),
          after: Place
        }),
        Result: Row,
        execute: ({ after, shop }) => sql`
          SELECT * FROM (
            SELECT kind, platform_id AS "platformId", entity_id AS "entityId", parent_id AS "parentId",
                   attributes, media, members,
                   CASE kind WHEN 'media' THEN 0 WHEN 'collection' THEN 2 ELSE 1 END AS rank,
                   coalesce(parent_id, platform_id) COLLATE "C" AS owner,
                   (kind = 'variant')::int AS depth,
                   coalesce(position, 2147483647) AS place
            FROM demo_shop_record
            WHERE account_id = ${shop.accountId} AND store_id = ${shop.storeId}
          ) AS record
          WHERE (rank, owner, depth, place, "platformId" COLLATE "C")
            > (${after.rank}::int, ${after.owner}::text, ${after.depth}::int, ${after.place}::int, ${after.platformId}::text)
          ORDER BY rank, owner, depth, place, "platformId" COLLATE "C"
          LIMIT ${pageSize}`
      })

      const rowsOf = (records: ReadonlyArray<DemoRecord>) =>
        // In one order: two publications of one shop must not wait for each other.
        JSON.stringify(
          Arr.sort(
            records,
            Order.mapInput(Order.string, ({ platformId }: DemoRecord) => platformId)
          )
        )

      const recordset = (records: ReadonlyArray<DemoRecord>) => sql`
        jsonb_to_recordset(${rowsOf(records)}::jsonb) AS given (
          kind text, "platformId" text, "entityId" uuid, "parentId" text, position integer, attributes jsonb,
          media text[], members text[]
        )`

      const insert = ({ accountId, storeId }: DemoShop, records: ReadonlyArray<DemoRecord>) => sql`
        INSERT INTO demo_shop_record
          (account_id, store_id, platform_id, kind, entity_id, parent_id, position, attributes, media, members)
        SELECT ${accountId}::uuid, ${storeId}::uuid, "platformId", kind, "entityId", "parentId", position, attributes,
               media, members
        FROM ${recordset(records)}`

      const write = (shop: DemoShop, records: ReadonlyArray<DemoRecord>) => sql`
        ${insert(shop, records)}
        ON CONFLICT (account_id, store_id, platform_id) DO UPDATE
        SET entity_id = EXCLUDED.entity_id, parent_id = EXCLUDED.parent_id, attributes = EXCLUDED.attributes,
            position = coalesce(EXCLUDED.position, demo_shop_record.position),
            media = EXCLUDED.media, members = EXCLUDED.members`

      const place = (shop: DemoShop, records: ReadonlyArray<DemoRecord>) => sql`
        ${insert(shop, records)}
        ON CONFLICT (account_id, store_id, platform_id) DO UPDATE
        SET position = coalesce(EXCLUDED.position, demo_shop_record.position)`

      const Applied = Schema.Struct({ platformIds: PlatformIds })
      const applied = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: Schema.String, storeId: Schema.String, key: Schema.String }),
        Result: Applied,
        execute: ({ accountId, key, storeId }) => sql`
          SELECT platform_ids::text AS "platformIds" FROM demo_shop_effect
          WHERE account_id = ${accountId} AND store_id = ${storeId} AND key = ${key}`
      })
      const findApplied = ({ accountId, storeId }: DemoShop, key: string) =>
        Effect.map(
          orDie(applied({ accountId, storeId, key })),
          Option.map(({ platformIds }) => publishedFrom(platformIds))
        )

      const carryOut = (shop: DemoShop, publication: Publication, { placed, published, written }: DemoEffect) =>
        Effect.gen(function* () {
          // Whoever comes second with the key waits here until the first is through.
          const mine = yield* sql`
            INSERT INTO demo_shop_effect (account_id, store_id, key, entity_id, platform_ids)
            VALUES (${shop.accountId}, ${shop.storeId}, ${publication.key}, ${publication.entityId},
                    ${JSON.stringify(Object.fromEntries(published.platformIds))}::jsonb)
            ON CONFLICT DO NOTHING
            RETURNING key`
          if (mine.length === 0) return yield* findApplied(shop, publication.key)
          yield* write(shop, written)
          yield* place(shop, placed)
          return Option.some(published)
        })

      const find = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: Schema.String, storeId: Schema.String, entityId: EntityId }),
        Result: PlatformRecord,
        execute: ({ accountId, entityId, storeId }) => sql`
          SELECT kind, platform_id AS "platformId", entity_id AS "entityId", parent_id AS "parentId", attributes, media,
                 members
          FROM demo_shop_record
          WHERE account_id = ${accountId} AND store_id = ${storeId} AND entity_id = ${entityId}
          ORDER BY platform_id COLLATE "C" LIMIT 1`
      })
      const Count = Schema.Struct({ count: Schema.Int })
      const effects = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: Schema.String, storeId: Schema.String }),
        Result: Count,
        execute: ({ accountId, storeId }) => sql`
          SELECT count(*) AS count FROM demo_shop_effect WHERE account_id = ${accountId} AND store_id = ${storeId}`
      })
      const failures = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: Schema.String, storeId: Schema.String }),
        Result: DemoFailure,
        execute: ({ accountId, storeId }) => sql`
          SELECT kind, percent, delay_millis AS "delayMillis" FROM demo_shop_failure
          WHERE account_id = ${accountId} AND store_id = ${storeId}
          ORDER BY kind`
      })
      const section = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: Schema.String, storeId: Schema.String, section: Schema.String }),
        Result: Schema.Struct({ content: Schema.Unknown }),
        execute: ({ accountId, section, storeId }) => sql`
          SELECT content FROM demo_shop_section
          WHERE account_id = ${accountId} AND store_id = ${storeId} AND section = ${section}
          ORDER BY ordinal`
      })
      const idsOf = ({ accountId, storeId }: DemoShop) => ({ accountId, storeId })

      return {
        records: (shop) =>
          Stream.paginateChunkEffect(first as typeof Place.Type, (after) =>
            Effect.map(orDie(page({ shop: idsOf(shop), after })), (rows) => [
              Chunk.unsafeFromArray(
                rows.map(({ attributes, entityId, kind, media, members, parentId, platformId }) => ({
                  kind,
                  platformId,
                  entityId,
                  parentId,
                  attributes,
                  media,
                  members
                }))
              ),
              rows.length < pageSize ? Option.none() : Arr.last(rows)
            ])
          ),
        find: (shop, entityId) => orDie(find({ ...idsOf(shop), entityId })),
        apply: (shop, publication) => {
          const effect = effectOf(publication)
          return Effect.map(
            transaction.run(orDie(carryOut(shop, publication, effect))),
            Option.getOrElse(() => effect.published)
          )
        },
        applied: findApplied,
        effects: (shop) =>
          Effect.map(orDie(effects(idsOf(shop))), Option.match({ onNone: () => 0, onSome: ({ count }) => count })),
        put: (shop, records) =>
          write(
            shop,
            records.map((record) => ({ ...record, position: record.position ?? null }))
          ).pipe(Effect.asVoid, orDie),
        putSection: (shop, name, items) =>
          transaction.run(
            Effect.gen(function* () {
              yield* sql`
                DELETE FROM demo_shop_section
                WHERE account_id = ${shop.accountId} AND store_id = ${shop.storeId} AND section = ${name}`
              yield* sql`
                INSERT INTO demo_shop_section (account_id, store_id, section, ordinal, content)
                SELECT ${shop.accountId}::uuid, ${shop.storeId}::uuid, ${name}::text, ordinal, content
                FROM jsonb_array_elements(${JSON.stringify(items)}::jsonb) WITH ORDINALITY AS item (content, ordinal)`
            }).pipe(orDie)
          ),
        section: (shop, name) =>
          Effect.map(orDie(section({ ...idsOf(shop), section: name })), (rows) => rows.map(({ content }) => content)),
        fail: ({ accountId, storeId }, { delayMillis, kind, percent }) =>
          sql`
            INSERT INTO demo_shop_failure (account_id, store_id, kind, percent, delay_millis)
            VALUES (${accountId}, ${storeId}, ${kind}, ${percent}, ${delayMillis})
            ON CONFLICT (account_id, store_id, kind) DO UPDATE
            SET percent = EXCLUDED.percent, delay_millis = EXCLUDED.delay_millis`.pipe(Effect.asVoid, orDie),
        mend: ({ accountId, storeId }) =>
          sql`DELETE FROM demo_shop_failure WHERE account_id = ${accountId} AND store_id = ${storeId}`.pipe(
            Effect.asVoid,
            orDie
          ),
        failures: (shop) => orDie(failures(idsOf(shop)))
      }
    })
  )
}
