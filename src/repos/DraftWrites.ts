import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Schema } from "effect"
import type { Aggregate } from "../domain/Aggregate.ts"
import type { Plan } from "../domain/CatalogChange.ts"
import { AccountId, type EntityId } from "../domain/Ids.ts"
import { sameJson } from "../domain/SameJson.ts"
import { Timestamp } from "../domain/Timestamp.ts"

/** What the account's counter is raised for. */
export interface Raise {
  /** Entities that take a new place in the change order, in this order. */
  readonly stamped: ReadonlyArray<EntityId>
  /** Entities whose draft changed on a store only. */
  readonly drafted: ReadonlyArray<EntityId>
}

/** Places that entities take behind an account's counters, from 1. */
interface Stamps {
  readonly places: ReadonlyMap<EntityId, number>
  readonly seqBefore: number
  /** null: nothing is stamped. */
  readonly timeBefore: Timestamp | null
}

/** The statements by which a plan is written. */
export const makeDraftWrites = (sql: SqlClient) => {
  // What an insert without stamps leaves to the columns' defaults.
  const unstamped: Stamps = { places: new Map(), seqBefore: 0, timeBefore: null }

  const insertEntities = (accountId: AccountId, created: ReadonlyArray<Aggregate>, stamps = unstamped) => {
    const rows = created.map((aggregate) => ({
      ...entityRow(aggregate),
      kind: aggregate.kind,
      parentId: aggregate.parentId,
      n: stamps.places.get(aggregate.id) ?? null
    }))
    return sql`
    INSERT INTO entity (account_id, id, kind, parent_id, position, attributes, pending_publish, last_publish_status,
                        store_ids, search_text, draft_revision, change_seq, canonical_changed_at, stamped_by)
    SELECT ${accountId}::uuid, r.id, r.kind, r."parentId", r.position, r.attributes, r."pendingPublish",
           r."lastPublishStatus", r."storeIds", r."searchText",
           CASE WHEN r.n IS NULL THEN 0 ELSE 1 END, ${stamps.seqBefore}::bigint + r.n,
           ${stamps.timeBefore}::timestamptz + r.n * interval '1 microsecond',
           CASE WHEN r.n IS NOT NULL THEN pg_current_xact_id() END
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS r (
      id uuid, kind text, "parentId" uuid, position integer, attributes jsonb, "pendingPublish" boolean,
      "lastPublishStatus" text, "storeIds" uuid[], "searchText" text, n integer
    )`
  }

  const updateEntities = (accountId: AccountId, updated: ReadonlyArray<unknown>) => sql`
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
                               last_publish_status, published_at, last_publish_error, platform_id)
    SELECT ${accountId}::uuid, r."entityId", r."storeId", r.overrides, nullif(r.accepted, 'null'), r."pendingPublish",
           r."lastPublishStatus", r."publishedAt", nullif(r."lastPublishError", 'null'), r."platformId"
    FROM jsonb_to_recordset(${JSON.stringify(versions)}::jsonb) AS r (
      "entityId" uuid, "storeId" uuid, overrides jsonb, accepted jsonb, "pendingPublish" boolean,
      "lastPublishStatus" text, "publishedAt" timestamptz, "lastPublishError" jsonb, "platformId" text
    )
    ON CONFLICT (account_id, entity_id, store_id) DO UPDATE
    SET overrides = excluded.overrides, accepted = excluded.accepted, pending_publish = excluded.pending_publish,
        last_publish_status = excluded.last_publish_status, published_at = excluded.published_at,
        last_publish_error = excluded.last_publish_error, platform_id = excluded.platform_id`

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

  const write = (accountId: AccountId, plan: Plan, stamps?: Stamps) =>
    Effect.gen(function* () {
      const written = differences(plan)
      const run = <Row>(
        rows: ReadonlyArray<Row>,
        statement: (rows: ReadonlyArray<Row>) => Effect.Effect<unknown, SqlError>
      ) => (rows.length === 0 ? Effect.void : statement(rows))
      yield* run(plan.created, (rows) => insertEntities(accountId, rows, stamps))
      yield* run(written.entities.kept, (rows) => updateEntities(accountId, rows))
      yield* run(written.versions.removed, (rows) => deleteVersions(accountId, rows))
      yield* run(written.versions.kept, (rows) => upsertVersions(accountId, rows))
      yield* run(written.galleries.removed, (rows) => deleteGalleries(accountId, rows))
      yield* run(written.galleries.kept, (rows) => upsertGalleries(accountId, rows))
      yield* run(written.members.removed, (rows) => deleteMembers(accountId, rows))
      yield* run(written.members.kept, (rows) => upsertMembers(accountId, rows))
    })

  const raisedAccount = (accountId: string, count: number) => sql`
    UPDATE account
    SET version = version + 1,
        change_seq = change_seq + ${count},
        last_changed_at = CASE
          WHEN ${count} = 0 THEN last_changed_at
          ELSE greatest(last_changed_at + interval '1 microsecond', app_now()) + (${count} - 1) * interval '1 microsecond'
        END
    WHERE id = ${accountId}`

  const raise = (accountId: AccountId, { drafted, stamped }: Raise) => sql`
    WITH stamp AS (
      SELECT id, ordinality AS n FROM unnest(${stamped}::uuid[]) WITH ORDINALITY AS t (id, ordinality)
    ), raised AS (
      ${raisedAccount(accountId, stamped.length)}
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
    WHERE e.account_id = ${accountId} AND e.id = stamp.id`

  const raiseFirst = SqlSchema.single({
    Request: Schema.Struct({ accountId: AccountId, count: Schema.Int }),
    Result: Schema.Struct({ seqBefore: Schema.Int, timeBefore: Timestamp }),
    execute: ({ accountId, count }) => sql`
      ${raisedAccount(accountId, count)}
      RETURNING change_seq - ${count} AS "seqBefore",
                rfc3339(last_changed_at - ${count} * interval '1 microsecond') AS "timeBefore"`
  })

  /** Stamps and revisions of entities that were here before. */
  const stampOld = (
    accountId: AccountId,
    { places, seqBefore, timeBefore }: Stamps,
    drafted: ReadonlyArray<EntityId>
  ) => sql`
    WITH drafts AS (
      UPDATE entity e
      SET draft_revision = e.draft_revision + 1
      WHERE e.account_id = ${accountId} AND e.id = ANY(${drafted}::uuid[])
    )
    UPDATE entity e
    SET draft_revision = e.draft_revision + 1,
        change_seq = ${seqBefore}::bigint + stamp.n,
        canonical_changed_at = ${timeBefore}::timestamptz + stamp.n * interval '1 microsecond',
        stamped_by = pg_current_xact_id()
    FROM unnest(${[...places.keys()]}::uuid[], ${[...places.values()]}::integer[]) AS stamp (id, n)
    WHERE e.account_id = ${accountId} AND e.id = stamp.id`

  const saveStamped = (accountId: AccountId, plan: Plan) =>
    Effect.gen(function* () {
      const { created, drafted, stamped } = plan
      const counted = yield* Effect.orDie(raiseFirst({ accountId, count: stamped.length }))
      const places = new Map(stamped.map((id, index) => [id, index + 1]))
      yield* write(accountId, plan, { places, ...counted })
      for (const { id } of created) places.delete(id)
      if (places.size + drafted.length > 0) yield* stampOld(accountId, { places, ...counted }, drafted)
    })

  return { write, raise, saveStamped }
}

/** What may change of an entity's own row. */
const entityRow = ({
  attributes,
  id,
  lastPublishStatus,
  pendingPublish,
  position,
  searchText,
  storeIds
}: Aggregate) => ({
  id,
  attributes,
  position,
  pendingPublish,
  lastPublishStatus,
  storeIds,
  searchText
})

/** A plan as rows: what the tables must lose, and what they must hold. Rows that stay as they are are left out. */
const differences = (plan: Plan) => {
  const all = [...plan.created.map((after) => ({ before: undefined, after })), ...plan.updated]
  const rows = <Row extends object>(
    rowsOf: (aggregate: Aggregate) => ReadonlyArray<Row>,
    keyOf: (row: Row) => string,
    pairs: ReadonlyArray<{ readonly before: Aggregate | undefined; readonly after: Aggregate }> = all
  ) => {
    const removed: Array<Row> = []
    const kept: Array<Row> = []
    for (const { after, before } of pairs) {
      const old = new Map((before === undefined ? [] : rowsOf(before)).map((row) => [keyOf(row), row]))
      for (const row of rowsOf(after)) {
        const previous = old.get(keyOf(row))
        if (previous === undefined || !sameJson(previous, row)) kept.push(row)
        old.delete(keyOf(row))
      }
      removed.push(...old.values())
    }
    return { removed, kept }
  }
  return {
    entities: rows(
      (aggregate) => [entityRow(aggregate)],
      ({ id }) => id,
      plan.updated
    ),
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
