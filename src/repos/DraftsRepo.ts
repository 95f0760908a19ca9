import { SqlClient, SqlSchema } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import { Array as Arr, Clock, Context, Effect, Layer, Ref, Schema } from "effect"
import { planCustom } from "../database/Database.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { Aggregate } from "../domain/Aggregate.ts"
import { Attributes, EntityKind } from "../domain/Attribute.ts"
import type { Locked, Plan } from "../domain/CatalogChange.ts"
import { AccountId, EntityId, StoreId } from "../domain/Ids.ts"
import { PublishError, PublishStatus } from "../domain/PublishState.ts"
import { compareStores } from "../domain/Store.ts"
import { fromMillis, max, plusMicros, Timestamp } from "../domain/Timestamp.ts"
import { type MemoryEntity, MemoryStore, updateAccount } from "./MemoryStore.ts"

/** What the account's counter is raised for. */
export interface Raise {
  /** Entities that take a new place in the change order, in this order. */
  readonly stamped: ReadonlyArray<EntityId>
  /** Entities whose draft changed on a store only. */
  readonly drafted: ReadonlyArray<EntityId>
}

/** The three steps of every write to the catalog. They belong into one transaction, in this order. */
export class DraftsRepo extends Context.Tag("catalog/DraftsRepo")<
  DraftsRepo,
  {
    /**
     * Locks the entities that exist among `owners`, with the products of variants and then the variants of products
     * among them, and reads all that a plan needs. Owners are locked before variants, each by id: no two writers can
     * wait for each other.
     */
    readonly lock: (
      accountId: AccountId,
      owners: ReadonlyArray<EntityId>,
      references: ReadonlyArray<EntityId>
    ) => Effect.Effect<Locked>
    /** Writes a plan, all but its stamps. */
    readonly save: (accountId: AccountId, plan: Plan) => Effect.Effect<void>
    /** Raises the account's version, and with it stamps: the last statement of a transaction (a walk must not skip). */
    readonly raise: (accountId: AccountId, raise: Raise) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    DraftsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const EntityColumns = Schema.Struct({
        id: EntityId,
        kind: EntityKind,
        parentId: Schema.NullOr(EntityId),
        position: Schema.NullOr(Schema.Number),
        attributes: Attributes,
        pendingPublish: Schema.Boolean,
        lastPublishStatus: PublishStatus,
        storeIds: Schema.Array(StoreId),
        searchText: Schema.String,
        draftRevision: Schema.Number
      })
      const entityColumns = sql`
        e.id, e.kind, e.parent_id AS "parentId", e.position, e.attributes, e.pending_publish AS "pendingPublish",
        e.last_publish_status AS "lastPublishStatus", e.store_ids AS "storeIds", e.search_text AS "searchText",
        e.draft_revision AS "draftRevision"`

      // An import fills tables that were empty when a plan was made, and a plan that is kept would go on reading all of them.
      const grown = sql.literal(planCustom)

      const Ids = Schema.Struct({ accountId: AccountId, ids: Schema.Array(EntityId) })

      // NO KEY: who refers to an entity (its media, its members) shares a lock on its key, outside of any order of ours,
      // and must not wait for who writes it. One array of ids, as an OR with a sub-select would scan the table.
      const lockOwners = SqlSchema.findAll({
        Request: Ids,
        Result: EntityColumns,
        execute: ({ accountId, ids }) => sql`
          SELECT ${entityColumns}
          FROM entity e
          WHERE e.account_id = ${accountId}
            AND e.id = ANY(${ids}::uuid[] || ARRAY(
              SELECT v.parent_id FROM entity v
              WHERE v.account_id = ${accountId} AND v.id = ANY(${ids}::uuid[]) AND v.parent_id IS NOT NULL
            ))
          ORDER BY e.kind = 'variant', e.id
          FOR NO KEY UPDATE OF e ${grown}`
      })

      const lockVariants = SqlSchema.findAll({
        Request: Ids,
        Result: EntityColumns,
        execute: ({ accountId, ids }) => sql`
          SELECT ${entityColumns}
          FROM entity e
          WHERE e.account_id = ${accountId} AND e.parent_id = ANY(${ids}::uuid[])
          ORDER BY e.id
          FOR NO KEY UPDATE OF e ${grown}`
      })

      const Accepted = Schema.Struct({
        attributes: Attributes,
        media: Schema.optionalWith(Schema.Array(EntityId), { exact: true }),
        variants: Schema.optionalWith(Schema.Array(EntityId), { exact: true }),
        members: Schema.optionalWith(Schema.Array(EntityId), { exact: true })
      })

      const readVersions = SqlSchema.findAll({
        Request: Ids,
        Result: Schema.Struct({
          entityId: EntityId,
          storeId: StoreId,
          overrides: Attributes,
          accepted: Schema.NullOr(Accepted),
          pendingPublish: Schema.Boolean,
          lastPublishStatus: PublishStatus,
          publishedAt: Schema.NullOr(Timestamp),
          lastPublishError: Schema.NullOr(PublishError)
        }),
        execute: ({ accountId, ids }) => sql`
          SELECT v.entity_id AS "entityId", v.store_id AS "storeId", v.overrides, v.accepted,
                 v.pending_publish AS "pendingPublish", v.last_publish_status AS "lastPublishStatus",
                 rfc3339(v.published_at) AS "publishedAt", v.last_publish_error AS "lastPublishError"
          FROM store_version v
          JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
          WHERE v.account_id = ${accountId} AND v.entity_id = ANY(${ids}::uuid[])
          ORDER BY s.domain COLLATE "C", s.id ${grown}`
      })

      const readGalleries = SqlSchema.findAll({
        Request: Ids,
        Result: Schema.Struct({ entityId: EntityId, mediaId: EntityId, storeIds: Schema.Array(StoreId) }),
        execute: ({ accountId, ids }) => sql`
          SELECT g.entity_id AS "entityId", g.media_id AS "mediaId", g.store_ids AS "storeIds"
          FROM entity_media g
          WHERE g.account_id = ${accountId} AND g.entity_id = ANY(${ids}::uuid[])
          ORDER BY g.entity_id, g.position, g.media_id`
      })

      const readMembers = SqlSchema.findAll({
        Request: Ids,
        Result: Schema.Struct({ collectionId: EntityId, productId: EntityId }),
        execute: ({ accountId, ids }) => sql`
          SELECT m.collection_id AS "collectionId", m.product_id AS "productId"
          FROM collection_member m
          WHERE m.account_id = ${accountId} AND m.collection_id = ANY(${ids}::uuid[])
          ORDER BY m.collection_id, m.position, m.product_id`
      })

      const readKinds = SqlSchema.findAll({
        Request: Ids,
        Result: Schema.Struct({ id: EntityId, kind: EntityKind }),
        execute: ({ accountId, ids }) => sql`
          SELECT e.id, e.kind FROM entity e WHERE e.account_id = ${accountId} AND e.id = ANY(${ids}::uuid[])`
      })

      const readAccount = SqlSchema.single({
        Request: AccountId,
        Result: Schema.Struct({ now: Timestamp, storeIds: Schema.Array(StoreId) }),
        execute: (accountId) => sql`
          SELECT rfc3339(app_now()) AS now,
                 ARRAY(
                   SELECT s.id FROM store s
                   WHERE s.account_id = ${accountId} AND s.status = 'linked'
                   ORDER BY s.domain COLLATE "C", s.id
                 ) AS "storeIds"`
      })

      const insertEntities = (accountId: AccountId, created: ReadonlyArray<Aggregate>) => sql`
        INSERT INTO entity (account_id, id, kind, parent_id, position, attributes, pending_publish, last_publish_status,
                            store_ids, search_text)
        SELECT ${accountId}::uuid, r.id, r.kind, r."parentId", r.position, r.attributes, r."pendingPublish",
               r."lastPublishStatus", r."storeIds", r."searchText"
        FROM jsonb_to_recordset(${JSON.stringify(created)}::jsonb) AS r (
          id uuid, kind text, "parentId" uuid, position integer, attributes jsonb, "pendingPublish" boolean,
          "lastPublishStatus" text, "storeIds" uuid[], "searchText" text
        )`

      const updateEntities = (accountId: AccountId, updated: ReadonlyArray<Aggregate>) => sql`
        UPDATE entity e
        SET attributes = r.attributes, position = r.position, pending_publish = r."pendingPublish",
            last_publish_status = r."lastPublishStatus", store_ids = r."storeIds", search_text = r."searchText"
        FROM jsonb_to_recordset(${JSON.stringify(updated)}::jsonb) AS r (
          id uuid, position integer, attributes jsonb, "pendingPublish" boolean, "lastPublishStatus" text,
          "storeIds" uuid[], "searchText" text
        )
        WHERE e.account_id = ${accountId} AND e.id = r.id`

      const upsertVersions = (accountId: AccountId, versions: ReadonlyArray<unknown>) => sql`
        INSERT INTO store_version (account_id, entity_id, store_id, overrides, accepted, pending_publish,
                                   last_publish_status, published_at, last_publish_error)
        SELECT ${accountId}::uuid, r."entityId", r."storeId", r.overrides, nullif(r.accepted, 'null'), r."pendingPublish",
               r."lastPublishStatus", r."publishedAt", nullif(r."lastPublishError", 'null')
        FROM jsonb_to_recordset(${JSON.stringify(versions)}::jsonb) AS r (
          "entityId" uuid, "storeId" uuid, overrides jsonb, accepted jsonb, "pendingPublish" boolean,
          "lastPublishStatus" text, "publishedAt" timestamptz, "lastPublishError" jsonb
        )
        ON CONFLICT (account_id, entity_id, store_id) DO UPDATE
        SET overrides = excluded.overrides, accepted = excluded.accepted, pending_publish = excluded.pending_publish,
            last_publish_status = excluded.last_publish_status, published_at = excluded.published_at,
            last_publish_error = excluded.last_publish_error`

      const deleteVersions = (accountId: AccountId, versions: ReadonlyArray<unknown>) => sql`
        DELETE FROM store_version v
        USING jsonb_to_recordset(${JSON.stringify(versions)}::jsonb) AS r ("entityId" uuid, "storeId" uuid)
        WHERE v.account_id = ${accountId} AND v.entity_id = r."entityId" AND v.store_id = r."storeId"`

      const upsertGalleries = (accountId: AccountId, entries: ReadonlyArray<unknown>) => sql`
        INSERT INTO entity_media (account_id, entity_id, media_id, position, store_ids)
        SELECT ${accountId}::uuid, r."entityId", r."mediaId", r.position, r."storeIds"
        FROM jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) AS r (
          "entityId" uuid, "mediaId" uuid, position integer, "storeIds" uuid[]
        )
        ON CONFLICT (account_id, entity_id, media_id) DO UPDATE
        SET position = excluded.position, store_ids = excluded.store_ids`

      const deleteGalleries = (accountId: AccountId, entries: ReadonlyArray<unknown>) => sql`
        DELETE FROM entity_media g
        USING jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) AS r ("entityId" uuid, "mediaId" uuid)
        WHERE g.account_id = ${accountId} AND g.entity_id = r."entityId" AND g.media_id = r."mediaId"`

      const upsertMembers = (accountId: AccountId, members: ReadonlyArray<unknown>) => sql`
        INSERT INTO collection_member (account_id, collection_id, product_id, position)
        SELECT ${accountId}::uuid, r."collectionId", r."productId", r.position
        FROM jsonb_to_recordset(${JSON.stringify(members)}::jsonb) AS r (
          "collectionId" uuid, "productId" uuid, position integer
        )
        ON CONFLICT (account_id, collection_id, product_id) DO UPDATE SET position = excluded.position`

      const deleteMembers = (accountId: AccountId, members: ReadonlyArray<unknown>) => sql`
        DELETE FROM collection_member m
        USING jsonb_to_recordset(${JSON.stringify(members)}::jsonb) AS r ("collectionId" uuid, "productId" uuid)
        WHERE m.account_id = ${accountId} AND m.collection_id = r."collectionId" AND m.product_id = r."productId"`

      return {
        lock: (accountId, owners, references) =>
          Effect.gen(function* () {
            const locked = yield* lockOwners({ accountId, ids: owners })
            const products = locked.filter(({ kind }) => kind === "product").map(({ id }) => id)
            // A statement of its own: only now is a variant visible that was added while the product's lock was awaited.
            const variants = products.length === 0 ? [] : yield* lockVariants({ accountId, ids: products })
            const entities = new Map([...locked, ...variants].map((entity) => [entity.id, entity]))
            const ids = [...entities.keys()]
            const versions = Arr.groupBy(yield* readVersions({ accountId, ids }), ({ entityId }) => entityId)
            const galleries = Arr.groupBy(yield* readGalleries({ accountId, ids }), ({ entityId }) => entityId)
            // Only of collections: for so many ids the planner expects all members there are, and would scan the table.
            const collections = [...entities.values()].filter(({ kind }) => kind === "collection").map(({ id }) => id)
            const members = Arr.groupBy(
              collections.length === 0 ? [] : yield* readMembers({ accountId, ids: collections }),
              ({ collectionId }) => collectionId
            )
            const kinds = references.length === 0 ? [] : yield* readKinds({ accountId, ids: references })
            const { now, storeIds } = yield* Effect.orDie(readAccount(accountId))
            return {
              now,
              storeIds,
              kinds: new Map(kinds.map(({ id, kind }) => [id, kind])),
              revisions: new Map([...entities].map(([id, { draftRevision }]) => [id, draftRevision])),
              aggregates: new Map(
                [...entities].map(([id, { draftRevision: _, ...entity }]): [EntityId, Aggregate] => [
                  id,
                  {
                    ...entity,
                    versions: (versions[id] ?? []).map(({ entityId: _, ...version }) => version),
                    gallery: (galleries[id] ?? []).map(({ mediaId, storeIds }) => ({ mediaId, storeIds })),
                    members: (members[id] ?? []).map(({ productId }) => productId)
                  }
                ])
              )
            }
          }).pipe(orDie),
        save: (accountId, plan) =>
          Effect.gen(function* () {
            const written = differences(plan)
            const run = <Row>(
              rows: ReadonlyArray<Row>,
              statement: (rows: ReadonlyArray<Row>) => Effect.Effect<unknown, SqlError>
            ) => (rows.length === 0 ? Effect.void : statement(rows))
            yield* run(plan.created, (rows) => insertEntities(accountId, rows))
            yield* run(written.entities, (rows) => updateEntities(accountId, rows))
            yield* run(written.versions.removed, (rows) => deleteVersions(accountId, rows))
            yield* run(written.versions.kept, (rows) => upsertVersions(accountId, rows))
            yield* run(written.galleries.removed, (rows) => deleteGalleries(accountId, rows))
            yield* run(written.galleries.kept, (rows) => upsertGalleries(accountId, rows))
            yield* run(written.members.removed, (rows) => deleteMembers(accountId, rows))
            yield* run(written.members.kept, (rows) => upsertMembers(accountId, rows))
          }).pipe(orDie),
        raise: (accountId, { drafted, stamped }) =>
          sql`
            WITH stamp AS (
              SELECT id, ordinality AS n FROM unnest(${stamped}::uuid[]) WITH ORDINALITY AS t (id, ordinality)
            ), raised AS (
              UPDATE account
              SET version = version + 1,
                  change_seq = change_seq + ${stamped.length},
                  last_changed_at = CASE
                    WHEN ${stamped.length} = 0 THEN last_changed_at
                    ELSE greatest(last_changed_at + interval '1 microsecond', app_now())
                         + (${stamped.length} - 1) * interval '1 microsecond'
                  END
              WHERE id = ${accountId}
              RETURNING change_seq - ${stamped.length} AS seq_before,
                        last_changed_at - ${stamped.length} * interval '1 microsecond' AS time_before
            ), drafts AS (
              UPDATE entity e
              SET draft_revision = e.draft_revision + 1
              FROM raised
              WHERE e.account_id = ${accountId} AND e.id = ANY(${drafted}::uuid[])
            )
            UPDATE entity e
            SET draft_revision = e.draft_revision + 1,
                change_seq = raised.seq_before + stamp.n,
                canonical_changed_at = raised.time_before + stamp.n * interval '1 microsecond',
                stamped_by = pg_current_xact_id()
            FROM raised, stamp
            WHERE e.account_id = ${accountId} AND e.id = stamp.id`.pipe(Effect.asVoid, orDie)
      }
    })
  )

  /** The executable specification: it passes the same contract suite as `layer`. */
  static readonly layerMemory = Layer.effect(
    DraftsRepo,
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const now = Effect.map(Clock.currentTimeMillis, fromMillis)
      return {
        lock: (accountId, owners, references) =>
          Effect.gen(function* () {
            const account = (yield* Ref.get(store)).get(accountId)
            const all = [...(account?.entities.values() ?? [])].map(({ aggregate }) => aggregate)
            const named = new Set(owners)
            const parents = new Set(all.filter(({ id }) => named.has(id)).map(({ parentId }) => parentId))
            const locked = all.filter(({ id }) => named.has(id) || parents.has(id))
            const products = new Set<EntityId | null>(
              locked.filter(({ kind }) => kind === "product").map(({ id }) => id)
            )
            const variants = all.filter(({ parentId }) => parentId !== null && products.has(parentId))
            return {
              now: yield* now,
              storeIds: [...(account?.stores.values() ?? [])].sort(compareStores).map(({ id }) => id),
              kinds: new Map(
                references.flatMap((id): ReadonlyArray<[EntityId, EntityKind]> => {
                  const kind = account?.entities.get(id)?.aggregate.kind
                  return kind === undefined ? [] : [[id, kind]]
                })
              ),
              revisions: new Map([...(account?.entities ?? [])].map(([id, { draftRevision }]) => [id, draftRevision])),
              aggregates: new Map([...locked, ...variants].map((aggregate) => [aggregate.id, aggregate]))
            }
          }),
        save: (accountId, plan) =>
          Effect.flatMap(now, (createdAt) =>
            updateAccount(store, accountId, (account) => {
              const entities = new Map(account.entities)
              for (const aggregate of plan.created)
                entities.set(aggregate.id, {
                  aggregate,
                  draftRevision: 0,
                  changeSeq: 0,
                  canonicalChangedAt: createdAt,
                  createdAt
                })
              for (const { after } of plan.updated) {
                const entity = entities.get(after.id)
                if (entity !== undefined) entities.set(after.id, { ...entity, aggregate: after })
              }
              return { ...account, entities }
            })
          ),
        raise: (accountId, { drafted, stamped }) =>
          Effect.flatMap(now, (time) =>
            updateAccount(store, accountId, (account) => {
              const entities = new Map(account.entities)
              const change = (id: EntityId, how: (entity: MemoryEntity) => MemoryEntity) => {
                const entity = entities.get(id)
                if (entity !== undefined) entities.set(id, how(entity))
              }
              const first = max(plusMicros(account.lastChangedAt, 1), time)
              for (const id of drafted) change(id, (entity) => ({ ...entity, draftRevision: entity.draftRevision + 1 }))
              stamped.forEach((id, index) => {
                change(id, (entity) => ({
                  ...entity,
                  draftRevision: entity.draftRevision + 1,
                  changeSeq: account.changeSeq + index + 1,
                  canonicalChangedAt: plusMicros(first, index)
                }))
              })
              return {
                ...account,
                entities,
                version: account.version + 1,
                changeSeq: account.changeSeq + stamped.length,
                lastChangedAt: stamped.length === 0 ? account.lastChangedAt : plusMicros(first, stamped.length - 1)
              }
            })
          )
      }
    })
  )
}

/** A plan as rows: what the tables must lose, and what they must hold. Rows that stay as they are are left out. */
const differences = (plan: Plan) => {
  const pairs = [...plan.created.map((after) => ({ before: undefined, after })), ...plan.updated]
  const rows = <Row extends object>(
    rowsOf: (aggregate: Aggregate) => ReadonlyArray<Row>,
    keyOf: (row: Row) => string
  ) => {
    const removed: Array<Row> = []
    const kept: Array<Row> = []
    for (const { after, before } of pairs) {
      const old = new Map((before === undefined ? [] : rowsOf(before)).map((row) => [keyOf(row), row]))
      for (const row of rowsOf(after)) {
        const previous = old.get(keyOf(row))
        if (previous === undefined || JSON.stringify(previous) !== JSON.stringify(row)) kept.push(row)
        old.delete(keyOf(row))
      }
      removed.push(...old.values())
    }
    return { removed, kept }
  }
  return {
    entities: plan.updated.map(({ after }) => after),
    versions: rows(
      ({ id, versions }) => versions.map((version) => ({ entityId: id, ...version })),
      ({ entityId, storeId }) => `${entityId} ${storeId}`
    ),
    galleries: rows(
      ({ gallery, id }) => gallery.map((entry, position) => ({ entityId: id, position, ...entry })),
      ({ entityId, mediaId }) => `${entityId} ${mediaId}`
    ),
    members: rows(
      ({ id, members }) => members.map((productId, position) => ({ collectionId: id, productId, position })),
      ({ collectionId, productId }) => `${collectionId} ${productId}`
    )
  }
}
