import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { readsAll } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { everySearchedKey } from "../drafts/Aggregate.ts"
import { AccountId, EntityId, nilUuid, StoreId } from "../model/Ids.ts"
import { PublishCounts } from "../model/PublishState.ts"
import { Store } from "../model/Store.ts"

/** A store that is linked, or was: as it was then. */
export interface KnownStore {
  readonly store: Store
  readonly isLinked: boolean
}

/** What a change of a store's link left to do. */
export interface Refreshed {
  /** The entities that have a version on the store. */
  readonly entities: number
  /** Those of them that must be derived afresh; of variants their products. */
  readonly stale: ReadonlyArray<EntityId>
}

/** Entities that one statement rolls up at most: it ends long before its time is over. */
const entitiesAtOnce = 10_000

/** The stores of an account: those that are linked, and what is kept of those that were. */
export class StoresRepo extends Context.Tag("catalog/StoresRepo")<
  StoresRepo,
  {
    /** The linked ones, by domain. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Store>>
    /** A linked one. */
    readonly find: (accountId: AccountId, id: StoreId) => Effect.Effect<Option.Option<Store>>
    /** A linked or an unlinked one. */
    readonly findByDomain: (accountId: AccountId, domain: string) => Effect.Effect<Option.Option<KnownStore>>
    /** Links a new store, or one that was unlinked. */
    readonly link: (accountId: AccountId, store: Store) => Effect.Effect<void>
    /** What opens a linked store's platform, as it was kept; none: it has nothing. */
    readonly credential: (accountId: AccountId, id: StoreId) => Effect.Effect<Option.Option<Uint8Array>>
    /** Keeps what opens a linked store's platform, in place of what did before. */
    readonly keepCredential: (accountId: AccountId, id: StoreId, sealed: Uint8Array) => Effect.Effect<void>
    /**
     * Whether another account has linked the Shopify store of this domain. Who asks keeps the answer true until the end of
     * the transaction. Only for who has shown that the store is theirs.
     */
    readonly isLinkedElsewhere: (accountId: AccountId, domain: string) => Effect.Effect<boolean>
    /** Unlinks a store and keeps all that it has, but what opens its platform. */
    readonly unlink: (accountId: AccountId, id: StoreId) => Effect.Effect<void>
    /**
     * After a store was linked again or unlinked: rolls up stores and publish states of its entities afresh, a set at a
     * time. It locks them in no order: the caller keeps other writers out. Search texts, and pending states of what
     * changed while the store was unlinked, are for the caller to derive.
     */
    readonly refresh: (accountId: AccountId, id: StoreId) => Effect.Effect<Refreshed>
    /** How many versions of each linked store stand where, all of them counted; of a store without one nothing. */
    readonly publishCounts: (accountId: AccountId) => Effect.Effect<ReadonlyMap<StoreId, PublishCounts>>
    /** Writes that an import of the store was applied just now. */
    readonly recordImport: (accountId: AccountId, id: StoreId) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    StoresRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const columns = sql`
        id, domain, name, platform, 'linked' AS status, primary_locale, locales, currency,
        rfc3339(last_imported_at) AS last_imported_at`

      const list = SqlSchema.findAll({
        Request: AccountId,
        Result: Store,
        execute: (accountId) => sql`
          SELECT ${columns}
          FROM store
          WHERE account_id = ${accountId} AND status = 'linked'
          ORDER BY domain COLLATE "C", id`
      })

      const find = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: AccountId, id: StoreId }),
        Result: Store,
        execute: ({ accountId, id }) => sql`
          SELECT ${columns}
          FROM store
          WHERE account_id = ${accountId} AND id = ${id} AND status = 'linked'`
      })

      const findByDomain = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: AccountId, domain: Schema.String }),
        Result: Schema.Struct({ ...Store.fields, isLinked: Schema.Boolean }),
        execute: ({ accountId, domain }) => sql`
          SELECT ${columns}, status = 'linked' AS "isLinked"
          FROM store
          WHERE account_id = ${accountId} AND domain = ${domain}`
      })

      const publishCounts = SqlSchema.findAll({
        Request: AccountId,
        Result: Schema.Struct({ id: StoreId, ...PublishCounts.fields }),
        execute: (accountId) => sql`
          ${sql.literal(readsAll)}
          SELECT v.store_id AS id,
                 (count(*) FILTER (WHERE v.last_publish_status = 'never_published'))::integer AS "neverPublished",
                 (count(*) FILTER (WHERE v.last_publish_status = 'pending'))::integer AS pending,
                 (count(*) FILTER (WHERE v.last_publish_status = 'published'))::integer AS published,
                 (count(*) FILTER (WHERE v.last_publish_status = 'failed'))::integer AS failed,
                 (count(*) FILTER (WHERE v.pending_publish))::integer AS "pendingPublish"
          FROM store_version v
          JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
          WHERE v.account_id = ${accountId}
          GROUP BY v.store_id`
      })

      const credential = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: AccountId, id: StoreId }),
        Result: Schema.Struct({ credential: Schema.NullOr(Schema.Uint8ArrayFromSelf) }),
        execute: ({ accountId, id }) => sql`
          SELECT credential
          FROM store
          WHERE account_id = ${accountId} AND id = ${id} AND status = 'linked'`
      })

      const RefreshedSome = Schema.Struct({
        count: Schema.Number,
        last: Schema.NullOr(Schema.String),
        stale: Schema.Array(EntityId)
      })
      const refreshSome = SqlSchema.single({
        Request: Schema.Struct({ accountId: AccountId, id: StoreId, after: Schema.String }),
        Result: RefreshedSome,
        execute: ({ accountId, after, id }) => sql`
          WITH here AS (
            SELECT v.entity_id, v.overrides ?| ${everySearchedKey} AS searched
            FROM store_version v
            WHERE v.account_id = ${accountId} AND v.store_id = ${id} AND v.entity_id > ${after}
            ORDER BY v.entity_id LIMIT ${sql.literal(String(entitiesAtOnce))}
          ), rolled AS (
            SELECT h.entity_id, bool_or(h.searched) AS searched,
                   coalesce(array_agg(s.id ORDER BY s.domain COLLATE "C", s.id) FILTER (WHERE s.id IS NOT NULL), '{}') AS store_ids,
                   coalesce(bool_or(v.pending_publish) FILTER (WHERE s.id IS NOT NULL), false) AS pending_publish,
                   CASE WHEN bool_or(s.id IS NOT NULL AND v.last_publish_status = 'failed') THEN 'failed'
                        WHEN bool_or(s.id IS NOT NULL AND v.last_publish_status = 'pending') THEN 'pending'
                        WHEN bool_or(s.id IS NOT NULL AND v.last_publish_status = 'published') THEN 'published'
                        ELSE 'never_published' END AS last_publish_status
            FROM here h
            JOIN store_version v ON v.account_id = ${accountId} AND v.entity_id = h.entity_id
            LEFT JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
            GROUP BY h.entity_id
          ), written AS (
            UPDATE entity e
            SET store_ids = r.store_ids, pending_publish = r.pending_publish, last_publish_status = r.last_publish_status
            FROM rolled r
            WHERE e.account_id = ${accountId} AND e.id = r.entity_id
            RETURNING e.id, coalesce(e.parent_id, e.id) AS owner,
                      r.searched OR e.change_seq > (
                        SELECT s.unlinked_at_seq FROM store s WHERE s.account_id = ${accountId} AND s.id = ${id}
                      ) AS is_stale
          )
          SELECT count(*) AS count, max(id::text) AS last,
                 coalesce(array_agg(DISTINCT owner) FILTER (WHERE is_stale), '{}') AS stale
          FROM written`
      })

      return {
        list: (accountId) => orDie(list(accountId)),
        find: (accountId, id) => orDie(find({ accountId, id })),
        link: (accountId, store) =>
          sql`
            INSERT INTO store (account_id, id, domain, name, platform, status, primary_locale, locales, currency, last_imported_at)
            VALUES (${accountId}, ${store.id}, ${store.domain}, ${store.name}, ${store.platform}, ${store.status},
                    ${store.primary_locale}, ${store.locales}, ${store.currency}, ${store.last_imported_at})
            ON CONFLICT (account_id, id) DO UPDATE
            SET name = excluded.name, platform = excluded.platform, status = excluded.status,
                primary_locale = excluded.primary_locale, locales = excluded.locales, currency = excluded.currency`.pipe(
            Effect.asVoid,
            orDie
          ),
        findByDomain: (accountId, domain) =>
          Effect.map(
            orDie(findByDomain({ accountId, domain })),
            Option.map(({ isLinked, ...store }) => ({ store, isLinked }))
          ),
        credential: (accountId, id) =>
          Effect.map(
            orDie(credential({ accountId, id })),
            Option.flatMapNullable(({ credential }) => credential)
          ),
        keepCredential: (accountId, id, sealed) =>
          sql`
            UPDATE store SET credential = ${Buffer.from(sealed)}
            WHERE account_id = ${accountId} AND id = ${id} AND status = 'linked'`.pipe(Effect.asVoid, orDie),
        isLinkedElsewhere: (accountId, domain) =>
          Effect.gen(function* () {
            // Two accounts that link it at once: the second looks when the first is through, in a statement of its own.
            yield* sql`SELECT pg_advisory_xact_lock(hashtextextended('shopify store ' || ${domain}::text, 0))`
            const taken = yield* sql`
              SELECT id FROM store
              WHERE domain = ${domain} AND platform = 'shopify' AND status = 'linked' AND account_id <> ${accountId}`
            return taken.length > 0
          }).pipe(orDie),
        unlink: (accountId, id) =>
          sql`
            UPDATE store s SET status = 'unlinked', unlinked_at_seq = a.change_seq, credential = NULL
            FROM account a
            WHERE s.account_id = ${accountId} AND s.id = ${id} AND a.id = s.account_id`.pipe(Effect.asVoid, orDie),
        refresh: Effect.fnUntraced(function* (accountId, id) {
          const stale = new Set<EntityId>()
          let entities = 0
          for (let after: string | null = nilUuid; after !== null; ) {
            const some: typeof RefreshedSome.Type = yield* Effect.orDie(refreshSome({ accountId, id, after }))
            entities += some.count
            for (const owner of some.stale) stale.add(owner)
            after = some.last
          }
          return { entities, stale: [...stale].sort() }
        }),
        publishCounts: (accountId) =>
          Effect.map(orDie(publishCounts(accountId)), (rows) => new Map(rows.map(({ id, ...counts }) => [id, counts]))),
        recordImport: (accountId, id) =>
          sql`UPDATE store SET last_imported_at = app_now() WHERE account_id = ${accountId} AND id = ${id}`.pipe(
            Effect.asVoid,
            orDie
          )
      }
    })
  )
}
