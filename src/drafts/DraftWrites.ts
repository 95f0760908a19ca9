import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import { Effect, Schema } from "effect"
import { AccountId, type EntityId } from "../model/Ids.ts"
import { sameJson } from "../model/SameJson.ts"
import { plusMicros, Timestamp } from "../model/Timestamp.ts"
import type { Aggregate } from "./Aggregate.ts"
import { type Plan, publishedFrom } from "./CatalogChange.ts"

/** Places that entities take behind an account's counters, from 1. */
interface Stamps {
  readonly places: ReadonlyMap<EntityId, number>
  readonly counters: Counters
}

/** An account's counters before they were raised. */
const Counters = Schema.Struct({ seqBefore: Schema.Int, timeBefore: Timestamp })
type Counters = typeof Counters.Type

/** The statements by which a plan is written. */
export const makeDraftWrites = (sql: SqlClient) => {
  const insertEntities = (accountId: AccountId, created: ReadonlyArray<Aggregate>, stamps?: Stamps) => {
    const rows = created.map((aggregate) => ({
      ...entityRow(aggregate),
      kind: aggregate.kind,
      parentId: aggregate.parentId,
      n: stamps?.places.get(aggregate.id)
    }))
    const seqBefore = stamps?.counters.seqBefore ?? null
    const timeBefore = stamps?.counters.timeBefore ?? null
    return sql`
    INSERT INTO entity (account_id, id, kind, parent_id, position, attributes, pending_publish, last_publish_status,
                        store_ids, search_text, draft_revision, change_seq, canonical_changed_at, created_at, stamped_by)
    SELECT ${accountId}::uuid, r.id, r.kind, r."parentId", r.position, r.attributes, r."pendingPublish",
           r."lastPublishStatus", r."storeIds", r."searchText",
           CASE WHEN r.n IS NULL THEN 0 ELSE 1 END, ${seqBefore}::bigint + r.n,
           ${timeBefore}::timestamptz + r.n * interval '1 microsecond',
           -- All that one transaction makes is as old as the first of it.
           coalesce(${timeBefore}::timestamptz + interval '1 microsecond', app_now()),
           CASE WHEN r.n IS NOT NULL THEN pg_current_xact_id() END
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS r (
      id uuid, kind text, "parentId" uuid, position integer, attributes jsonb, "pendingPublish" boolean,
      "lastPublishStatus" text, "storeIds" uuid[], "searchText" text, n integer
    )`
  }

  const updateEntities = (accountId: AccountId, updates: ReadonlyArray<EntityUpdate>, counted: Fragment) => sql`
    WITH counted AS (${counted})
    UPDATE entity e
    SET attributes = coalesce(r.attributes, e.attributes), position = coalesce(r.position, e.position),
        pending_publish = coalesce(r."pendingPublish", e.pending_publish),
        last_publish_status = coalesce(r."lastPublishStatus", e.last_publish_status),
        store_ids = coalesce(r."storeIds", e.store_ids), search_text = coalesce(r."searchText", e.search_text),
        draft_revision = e.draft_revision + r.revisions,
        change_seq = coalesce(counted.seq_before + r.n, e.change_seq),
        canonical_changed_at = coalesce(counted.time_before + r.n * interval '1 microsecond', e.canonical_changed_at),
        stamped_by = CASE WHEN r.n IS NULL THEN e.stamped_by ELSE pg_current_xact_id() END
    FROM counted, jsonb_to_recordset(${JSON.stringify(updates)}::jsonb) AS r (
      id uuid, position integer, attributes jsonb, "pendingPublish" boolean, "lastPublishStatus" text,
      "storeIds" uuid[], "searchText" text, revisions integer, n integer
    )
    WHERE e.account_id = ${accountId} AND e.id = r.id`

  /** Without counters nothing can be stamped. */
  const countedAs = (counters?: Counters) =>
    sql`SELECT ${counters?.seqBefore ?? null}::bigint AS seq_before,
               ${counters?.timeBefore ?? null}::timestamptz AS time_before`

  const updateVersions = (accountId: AccountId, versions: ReadonlyArray<unknown>) => sql`
    UPDATE store_version v
    SET overrides = coalesce(r.overrides, v.overrides),
        accepted = CASE WHEN r."acceptsAnew" THEN nullif(r.accepted, 'null') ELSE v.accepted END,
        pending_publish = r."pendingPublish", last_publish_status = r."lastPublishStatus",
        published_at = r."publishedAt", last_publish_error = nullif(r."lastPublishError", 'null'),
        platform_id = r."platformId"
    FROM jsonb_to_recordset(${JSON.stringify(versions)}::jsonb) AS r (
      "entityId" uuid, "storeId" uuid, overrides jsonb, accepted jsonb, "acceptsAnew" boolean,
      "pendingPublish" boolean, "lastPublishStatus" text, "publishedAt" timestamptz, "lastPublishError" jsonb,
      "platformId" text
    )
    WHERE v.account_id = ${accountId} AND v.entity_id = r."entityId" AND v.store_id = r."storeId"`

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

  const run = <Row>(
    rows: ReadonlyArray<Row>,
    statement: (rows: ReadonlyArray<Row>) => Effect.Effect<unknown, SqlError>
  ) => (rows.length === 0 ? Effect.void : statement(rows))

  /** All that belongs to entities; their own rows are there. */
  const writeBelongings = (accountId: AccountId, plan: Plan) =>
    Effect.gen(function* () {
      const { galleries, members, versions } = differences(plan)
      yield* run(versions.removed, (rows) => deleteVersions(accountId, rows))
      yield* run(versions.changed.map(versionUpdate), (rows) => updateVersions(accountId, rows))
      yield* run(versions.added, (rows) => upsertVersions(accountId, rows))
      yield* run(galleries.removed, (rows) => deleteGalleries(accountId, rows))
      yield* run(keptOf(galleries), (rows) => upsertGalleries(accountId, rows))
      yield* run(members.removed, (rows) => deleteMembers(accountId, rows))
      yield* run(keptOf(members), (rows) => upsertMembers(accountId, rows))
    })

  const save = (accountId: AccountId, plan: Plan) =>
    Effect.gen(function* () {
      yield* run(plan.created, (rows) => insertEntities(accountId, rows))
      yield* run(derivedUpdates(plan), (rows) => updateEntities(accountId, rows, countedAs()))
      yield* writeBelongings(accountId, plan)
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

  const raise = (accountId: AccountId, plan: Plan | undefined) => {
    const updates = plan === undefined ? [] : risenUpdates(plan)
    const count = plan?.stamped.length ?? 0
    const raised = raisedAccount(accountId, count)
    return updates.length === 0
      ? raised
      : updateEntities(
          accountId,
          updates,
          sql`${raised}
              RETURNING change_seq - ${count} AS seq_before, last_changed_at - ${count} * interval '1 microsecond' AS time_before`
        )
  }

  const raiseFirst = SqlSchema.single({
    Request: Schema.Struct({ accountId: AccountId, count: Schema.Int }),
    Result: Counters,
    execute: ({ accountId, count }) => sql`
      ${raisedAccount(accountId, count)}
      RETURNING change_seq - ${count} AS "seqBefore",
                rfc3339(last_changed_at - ${count} * interval '1 microsecond') AS "timeBefore"`
  })

  const saveStamped = (accountId: AccountId, planned: Plan) =>
    Effect.gen(function* () {
      const counters = yield* Effect.orDie(raiseFirst({ accountId, count: planned.stamped.length }))
      const plan = publishedFrom(planned, plusMicros(counters.timeBefore, planned.stamped.length))
      const created = new Set(plan.created.map(({ id }) => id))
      const updates = [...derivedUpdates(plan), ...risenUpdates(plan).filter(({ id }) => !created.has(id))]
      yield* run(plan.created, (rows) => insertEntities(accountId, rows, { places: placesOf(plan), counters }))
      yield* run(updates, (rows) => updateEntities(accountId, rows, countedAs(counters)))
      yield* writeBelongings(accountId, plan)
    })

  return { save, raise, saveStamped }
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

/** What an entity's row takes of a plan; a column that is not named stays as it is. */
interface EntityUpdate extends Partial<ReturnType<typeof entityRow>> {
  readonly id: EntityId
  /** By how much the draft's revision rises. */
  readonly revisions: 0 | 1
  /** Its place among those that are stamped. */
  readonly n?: number | undefined
}

const placesOf = ({ stamped }: Plan): ReadonlyMap<EntityId, number> =>
  new Map(stamped.map((id, index) => [id, index + 1]))

const changedColumns = ({ after, before }: Plan["updated"][number]): Partial<ReturnType<typeof entityRow>> => {
  const old = new Map<string, unknown>(Object.entries(entityRow(before)))
  return Object.fromEntries(Object.entries(entityRow(after)).filter(([key, value]) => !sameJson(old.get(key), value)))
}

/** Of entities whose revision rises. */
const risenUpdates = (plan: Plan): ReadonlyArray<EntityUpdate> => {
  const updated = new Map(plan.updated.map((pair) => [pair.after.id, pair]))
  const places = placesOf(plan)
  return [...plan.stamped, ...plan.drafted].map((id) => {
    const pair = updated.get(id)
    return { ...(pair === undefined ? {} : changedColumns(pair)), id, revisions: 1, n: places.get(id) }
  })
}

/** Of entities of which nothing but what is derived changes. */
const derivedUpdates = ({ drafted, stamped, updated }: Plan): ReadonlyArray<EntityUpdate> => {
  const risen = new Set([...stamped, ...drafted])
  return updated.flatMap((pair) => {
    const columns = risen.has(pair.after.id) ? {} : changedColumns(pair)
    return Object.keys(columns).length === 0 ? [] : [{ ...columns, id: pair.after.id, revisions: 0 }]
  })
}

/** What belongs to the entities of a plan, as rows. Those that stay as they are are left out. */
interface Difference<Row> {
  readonly added: ReadonlyArray<Row>
  readonly changed: ReadonlyArray<{ readonly before: Row; readonly after: Row }>
  readonly removed: ReadonlyArray<Row>
}

const keptOf = <Row>({ added, changed }: Difference<Row>): ReadonlyArray<Row> => [
  ...added,
  ...changed.map(({ after }) => after)
]

const differences = (plan: Plan) => {
  const all = [...plan.created.map((after) => ({ before: undefined, after })), ...plan.updated]
  const rows = <Item, Row extends object>(
    itemsOf: (aggregate: Aggregate) => ReadonlyArray<Item>,
    rowOf: (item: Item, position: number, id: EntityId) => Row,
    keyOf: (row: Row) => string
  ): Difference<Row> => {
    const rowsOf = (aggregate: Aggregate) =>
      itemsOf(aggregate).map((item, position) => rowOf(item, position, aggregate.id))
    const added: Array<Row> = []
    const changed: Array<{ readonly before: Row; readonly after: Row }> = []
    const removed: Array<Row> = []
    for (const { after, before } of all) {
      if (before !== undefined && itemsOf(before) === itemsOf(after)) continue
      const old = new Map((before === undefined ? [] : rowsOf(before)).map((row) => [keyOf(row), row]))
      for (const row of rowsOf(after)) {
        const previous = old.get(keyOf(row))
        if (previous === undefined) added.push(row)
        else if (!sameJson(previous, row)) changed.push({ before: previous, after: row })
        old.delete(keyOf(row))
      }
      removed.push(...old.values())
    }
    return { added, changed, removed }
  }
  return {
    versions: rows(
      ({ versions }) => versions,
      (version, _, entityId) => ({ entityId, ...version }),
      ({ entityId, storeId }) => `${entityId} ${storeId}`
    ),
    galleries: rows(
      ({ gallery }) => gallery,
      (entry, position, entityId) => ({ entityId, position, ...entry }),
      ({ entityId, mediaId }) => `${entityId} ${mediaId}`
    ),
    members: rows(
      ({ members }) => members,
      (productId, position, collectionId) => ({ collectionId, productId, position }),
      ({ collectionId, productId }) => `${collectionId} ${productId}`
    )
  }
}

/** What a version's row takes: its values, by far the most of it, only where they change. */
const versionUpdate = ({ after, before }: ReturnType<typeof differences>["versions"]["changed"][number]) => {
  const { accepted, overrides, ...state } = after
  return {
    ...state,
    ...(sameJson(before.overrides, overrides) ? {} : { overrides }),
    ...(sameJson(before.accepted, accepted) ? {} : { acceptsAnew: true, accepted })
  }
}
