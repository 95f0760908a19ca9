import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Array as Arr, Effect, Schema } from "effect"
import { AcceptedValues, type Aggregate } from "../catalog/Aggregate.ts"
import { memberIdsOf } from "../catalog/OrderedIds.sql.ts"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll, findSingle, mapByKey, withoutChecks } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { PublishError, PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import type { VariantSummary } from "./Aggregate.ts"
import type { ReadExtent, ReadForChange } from "./DraftsRepo.ts"
import { withMark } from "./VariantPictures.ts"

const Ids = Schema.Struct({ accountId: AccountId, ids: Schema.Array(EntityId) })

// Statements look up each id of a list by itself (CROSS JOIN LATERAL) and are planned at each call. While an import fills a table,
// its statistics are missing. For a list of ids, the planner might then choose any index that begins with the account, which
// reads all rows of the account. Most draft writes lock one entity: then the statements read one table, and PostgreSQL and Citus
// keep their plans.

/** Selects rows of each id, by a SELECT of the rows of one id. */
const selectEach = (sql: SqlClient, ids: ReadonlyArray<EntityId>, select: (id: Fragment) => Fragment) =>
  ids.length === 1
    ? select(sql`${ids[0]}::uuid`)
    : sql`
      SELECT n.*
      FROM unnest(${ids}::uuid[]) AS k (id)
      CROSS JOIN LATERAL (${select(sql`k.id`)} OFFSET 0) n`

/** Statements of a list are planned at each call. */
const plannedFor = (sql: SqlClient, ids: ReadonlyArray<EntityId>) => sql.literal(ids.length === 1 ? "" : planCustom)

const Summary = withoutChecks(
  Schema.Struct({
    id: EntityId,
    parentId: EntityId,
    position: Schema.NullOr(Schema.Number),
    sku: Schema.NullOr(Schema.String),
    versions: Schema.Array(Schema.Tuple(StoreId, Schema.NullOr(Schema.String)))
  })
)

/** Statements that read the rows of entities. `rowLock`: the end of each, which locks the rows or not. */
const makeEntityReads = (sql: SqlClient, rowLock: Fragment) => {
  const EntityColumns = withoutChecks(
    Schema.Struct({
      id: EntityId,
      kind: EntityKind,
      parentId: Schema.NullOr(EntityId),
      position: Schema.NullOr(Schema.Number),
      attributes: Attributes,
      pendingPublish: Schema.Boolean,
      lastPublishStatus: PublishStatus,
      searchText: Schema.String,
      draftRevision: Schema.Number
    })
  )
  const entityColumns = sql`
    e.id, e.kind, e.parent_id AS "parentId", e.position, e.attributes, e.pending_publish AS "pendingPublish",
    e.last_publish_status AS "lastPublishStatus", e.search_text AS "searchText",
    e.draft_revision AS "draftRevision"`
  const planned = sql.literal(planCustom)

  const readOne = findAll(EntityColumns)(
    (accountId: AccountId, id: EntityId) => sql`
      SELECT ${entityColumns} FROM entity e
      WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.kind <> 'variant'
      ${rowLock}`
  )

  // FOR NO KEY UPDATE does not block the key share locks of rows that refer to an entity (galleries, members). Those locks are
  // taken in any order. Rows are locked in the order of the subquery.
  const readList = findAll(EntityColumns)(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      WITH requested AS MATERIALIZED (
        SELECT n.id, n.kind, n.parent_id
        FROM unnest(${ids}::uuid[]) AS k (id)
        CROSS JOIN LATERAL (
          SELECT e.id, e.kind, e.parent_id FROM entity e WHERE e.account_id = ${accountId} AND e.id = k.id OFFSET 0
        ) n
      )
      SELECT l.*
      FROM (
        SELECT id, kind = 'variant' AS is_variant FROM requested
        UNION
        SELECT parent_id, false FROM requested WHERE parent_id IS NOT NULL
        ORDER BY is_variant, id
      ) k
      CROSS JOIN LATERAL (
        SELECT ${entityColumns} FROM entity e WHERE e.account_id = ${accountId} AND e.id = k.id ${rowLock}
      ) l ${planned}`
  )

  const readOwners = (accountId: AccountId, ids: ReadonlyArray<EntityId>) => {
    const [first] = ids
    return ids.length === 1 && first !== undefined
      ? Effect.flatMap(readOne(accountId, first), (rows) =>
          // It does not exist, or it is a variant, whose product must be locked first.
          rows.length === 0 ? readList({ accountId, ids }) : Effect.succeed(rows)
        )
      : readList({ accountId, ids })
  }

  const readVariants = findAll(EntityColumns)(({ accountId, ids }: typeof Ids.Type) =>
    ids.length === 1
      ? sql`
      SELECT ${entityColumns} FROM entity e
      WHERE e.account_id = ${accountId} AND e.parent_id = ${ids[0]}
      ORDER BY e.id
      ${rowLock}`
      : sql`
      SELECT l.*
      FROM (
        SELECT v.id
        FROM unnest(${ids}::uuid[]) AS p (id)
        CROSS JOIN LATERAL (
          SELECT e.id FROM entity e WHERE e.account_id = ${accountId} AND e.parent_id = p.id OFFSET 0
        ) v
        ORDER BY v.id
      ) k
      CROSS JOIN LATERAL (
        SELECT ${entityColumns} FROM entity e WHERE e.account_id = ${accountId} AND e.id = k.id ${rowLock}
      ) l ${planned}`
  )

  const summaries = (accountId: AccountId, id: Fragment) => sql`
    SELECT e.id, e.parent_id AS "parentId", e.position, e.attributes -> 'sku' ->> 'value' AS sku, v.versions
    FROM entity e
    CROSS JOIN LATERAL (
      SELECT coalesce(json_agg(json_build_array(s.store_id, s.overrides -> 'sku' ->> 'value')), '[]') AS versions
      FROM store_version s WHERE s.account_id = ${accountId} AND s.entity_id = e.id
    ) v
    WHERE e.account_id = ${accountId} AND e.parent_id = ${id}`

  const readSummaries = findAll(Summary)(
    ({ accountId, ids }: typeof Ids.Type) =>
      sql`${selectEach(sql, ids, (id) => summaries(accountId, id))} ${plannedFor(sql, ids)}`
  )

  return { readOwners, readVariants, readSummaries }
}

/** Rows of linked stores, in the order of the stores. `places`: the place of each linked store. */
const onPlaces = <Row extends { readonly storeId: StoreId }>(
  rows: ReadonlyArray<Row>,
  places: ReadonlyMap<StoreId, number>
): ReadonlyArray<Row> =>
  rows
    .filter(({ storeId }) => places.has(storeId))
    .sort((a, b) => (places.get(a.storeId) ?? 0) - (places.get(b.storeId) ?? 0))

const toSummary = (
  { id, parentId, position, sku, versions }: typeof Summary.Type,
  places: ReadonlyMap<StoreId, number>
): VariantSummary => {
  const placed = onPlaces(
    versions.map(([storeId, override]) => ({ storeId, override })),
    places
  )
  return {
    id,
    parentId,
    position,
    storeIds: placed.map(({ storeId }) => storeId),
    skus: [sku ?? "", ...placed.map(({ override }) => override ?? "")]
  }
}

const Version = Schema.Struct({
  entityId: EntityId,
  storeId: StoreId,
  overrides: Attributes,
  accepted: Schema.NullOr(AcceptedValues),
  pendingPublish: Schema.Boolean,
  lastPublishStatus: PublishStatus,
  publishedAt: Schema.NullOr(Timestamp),
  lastPublishError: Schema.NullOr(PublishError),
  mayBeLive: Schema.Boolean,
  platformId: Schema.NullOr(Schema.String)
})
const GalleryRow = Schema.Struct({
  entityId: EntityId,
  mediaId: EntityId,
  storeIds: Schema.Array(StoreId),
  joinedStoreIds: Schema.Array(StoreId),
  isJoined: Schema.Boolean
})
const LastSequence = Schema.Struct({ entityId: EntityId, last: Schema.NullOr(Schema.Number) })
const LinkedStores = Schema.Struct({ now: Timestamp, storeIds: Schema.Array(StoreId) })

/** Reads the time, the linked stores, and the versions, galleries and history of entities. */
const makePartReads = (sql: SqlClient, isDistributed: boolean) => {
  const accepted = { complete: sql`v.accepted`, summarized: sql`v.accepted - 'members' AS accepted` }
  const stores = (accountId: AccountId) => sql`
    SELECT rfc3339(app_now()) AS now, coalesce(array_agg(s.id ORDER BY s.domain COLLATE "C", s.id), '{}') AS "storeIds"
    FROM store s
    WHERE s.account_id = ${accountId} AND s.status = 'linked'`
  const versions = ({ accountId, ids }: typeof Ids.Type, extent: ReadExtent) =>
    selectEach(
      sql,
      ids,
      (id) => sql`
        SELECT v.entity_id AS "entityId", v.store_id AS "storeId", v.overrides, ${accepted[extent]},
               v.pending_publish AS "pendingPublish", v.last_publish_status AS "lastPublishStatus",
               rfc3339(v.published_at) AS "publishedAt", v.last_publish_error AS "lastPublishError",
               v.may_be_live AS "mayBeLive", v.platform_id AS "platformId"
        FROM store_version v WHERE v.account_id = ${accountId} AND v.entity_id = ${id}`
    )
  const galleries = ({ accountId, ids }: typeof Ids.Type) => sql`
    ${selectEach(
      sql,
      ids,
      (id) => sql`
        SELECT g.entity_id AS "entityId", g.media_id AS "mediaId", g.store_ids AS "storeIds",
               g.joined_store_ids AS "joinedStoreIds", g.is_joined AS "isJoined", g.position
        FROM entity_media g WHERE g.account_id = ${accountId} AND g.entity_id = ${id}`
    )} ORDER BY "entityId", position, "mediaId"`
  const sequences = ({ accountId, ids }: typeof Ids.Type) =>
    selectEach(
      sql,
      ids,
      (id) => sql`
        SELECT ${id} AS "entityId", max(h.sequence) AS last FROM entity_history h
        WHERE h.account_id = ${accountId} AND h.entity_id = ${id}`
    )

  const listed = (rows: Fragment) => sql`(SELECT coalesce(json_agg(found), '[]') FROM (${rows}) found)`
  const readTogether = findSingle(
    withoutChecks(
      Schema.Struct({
        ...LinkedStores.fields,
        versions: Schema.Array(Version),
        galleries: Schema.Array(GalleryRow),
        sequences: Schema.Array(LastSequence)
      })
    )
  )(
    (request: typeof Ids.Type, extent: ReadExtent) => sql`
      SELECT linked.now, linked."storeIds", ${listed(versions(request, extent))} AS versions,
             ${listed(galleries(request))} AS galleries, ${listed(sequences(request))} AS sequences
      FROM (${stores(request.accountId)}) linked ${plannedFor(sql, request.ids)}`
  )

  const readStores = findSingle(withoutChecks(LinkedStores))(stores)
  const readVersions = findAll(withoutChecks(Version))(
    (request: typeof Ids.Type, extent: ReadExtent) => sql`${versions(request, extent)}`
  )
  const readGalleries = findAll(withoutChecks(GalleryRow))(galleries)
  const readSequences = findAll(withoutChecks(LastSequence))((request: typeof Ids.Type) => sql`${sequences(request)}`)
  const readApart = (request: typeof Ids.Type, extent: ReadExtent) =>
    Effect.gen(function* () {
      return {
        ...(yield* readStores(request.accountId)),
        versions: yield* readVersions(request, extent),
        galleries: yield* readGalleries(request),
        sequences: yield* readSequences(request)
      }
    })

  // One statement saves round trips. A cluster plans it at each call, which takes longer than three more statements of one table,
  // whose plans it keeps.
  return (request: typeof Ids.Type, extent: ReadExtent) =>
    isDistributed && request.ids.length === 1 ? readApart(request, extent) : readTogether(request, extent)
}

/** Statements that read the rows that belong to entities. */
const makeRelatedReads = (sql: SqlClient, isDistributed: boolean) => {
  // One row for each collection: a row for each of a million members takes three times the memory.
  const readMembers = findAll(
    withoutChecks(
      Schema.Struct({
        collectionId: EntityId,
        members: Schema.Array(EntityId),
        memberPositions: Schema.NullOr(Schema.Array(Schema.Number))
      })
    )
  )(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      SELECT k.id AS "collectionId", to_json(ARRAY(${memberIdsOf(sql, accountId, sql`k.id`)})) AS members,
             CASE WHEN stored.last >= stored.count THEN to_json(ARRAY(
               SELECT m.position FROM collection_member m
               WHERE m.account_id = ${accountId} AND m.collection_id = k.id
               ORDER BY m.position
             )) END AS "memberPositions"
      FROM unnest(${ids}::uuid[]) AS k (id)
      CROSS JOIN LATERAL (
        SELECT count(*) AS count, max(m.position) AS last FROM collection_member m
        WHERE m.account_id = ${accountId} AND m.collection_id = k.id
      ) stored ${sql.literal(planCustom)}`
  )

  /** The stores whose accepted members differ from the current ones of a collection; PostgreSQL compares them. */
  const readOtherMembers = findAll(Schema.Struct({ collectionId: EntityId, storeId: StoreId }))(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      ${selectEach(
        sql,
        ids,
        (id) => sql`
        SELECT v.entity_id AS "collectionId", v.store_id AS "storeId"
        FROM (
          SELECT to_jsonb(ARRAY(${memberIdsOf(sql, accountId, id)})) AS members OFFSET 0
        ) now
        JOIN store_version v ON v.account_id = ${accountId} AND v.entity_id = ${id}
        WHERE coalesce(v.accepted -> 'members', '[]') <> now.members`
      )} ${plannedFor(sql, ids)}`
  )

  /** The kinds of entities, in the order of the ids. null: there is no such entity. */
  const readKinds = findSingle(withoutChecks(Schema.Struct({ kinds: Schema.Array(Schema.NullOr(EntityKind)) })))(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      SELECT json_agg(e.kind ORDER BY k.place) AS kinds
      FROM jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb) WITH ORDINALITY AS k (id, place)
      LEFT JOIN LATERAL (
        SELECT o.kind FROM entity o WHERE o.account_id = ${accountId} AND o.id = k.id::uuid OFFSET 0
      ) e ON true ${plannedFor(sql, ids)}`
  )

  return { readKinds, readMembers, readOtherMembers, readParts: makePartReads(sql, isDistributed) }
}

const makeReadForChange = (sql: SqlClient, isDistributed: boolean, rowLock: Fragment): ReadForChange => {
  const { readOwners, readSummaries, readVariants } = makeEntityReads(sql, rowLock)
  const { readKinds, readMembers, readOtherMembers, readParts } = makeRelatedReads(sql, isDistributed)

  /** Only collections are queried. For all ids, the planner would expect many more members and scan the table. */
  const readMembersOf = (request: typeof Ids.Type, extent: ReadExtent) =>
    Effect.gen(function* () {
      const isRead = request.ids.length > 0
      const members = isRead && extent === "complete" ? yield* readMembers(request) : []
      const differing = isRead && extent === "summarized" ? yield* readOtherMembers(request) : []
      const unread = extent === "summarized" ? request.ids : []
      const storesOf = Arr.groupBy(differing, ({ collectionId }) => collectionId)
      return {
        members: new Map(members.map(({ collectionId, ...row }) => [collectionId, row])),
        unreadMembers: new Map(unread.map((id) => [id, new Set((storesOf[id] ?? []).map(({ storeId }) => storeId))]))
      }
    })

  return (accountId, owners, references, extent = "complete") =>
    Effect.gen(function* () {
      const ownerRows = yield* readOwners(accountId, owners)
      const products = ownerRows.filter(({ kind }) => kind === "product").map(({ id }) => id)
      const request = { accountId, ids: products }
      // A separate statement also sees variants that were added while this transaction waited for the lock of the product.
      const variants = products.length === 0 || extent === "summarized" ? [] : yield* readVariants(request)
      const summaries = products.length === 0 || extent === "complete" ? [] : yield* readSummaries(request)
      const entities = new Map([...ownerRows, ...variants].map((entity) => [entity.id, entity]))
      const ids = [...entities.keys()]
      const { now, storeIds, ...parts } = yield* readParts({ accountId, ids }, extent)
      const places = new Map(storeIds.map((id, place) => [id, place]))
      const versions = Arr.groupBy(onPlaces(parts.versions, places), ({ entityId }) => entityId)
      const galleries = Arr.groupBy(parts.galleries, ({ entityId }) => entityId)
      const collections = [...entities.values()].filter(({ kind }) => kind === "collection").map(({ id }) => id)
      const { members, unreadMembers } = yield* readMembersOf({ accountId, ids: collections }, extent)
      const { kinds } = references.length === 0 ? { kinds: [] } : yield* readKinds({ accountId, ids: references })
      return {
        now,
        storeIds,
        kinds: mapByKey(references, kinds),
        summaries: new Map(
          summaries.flatMap((row) => (entities.has(row.id) ? [] : [[row.id, toSummary(row, places)] as const]))
        ),
        unreadMembers,
        revisions: new Map([...entities].map(([id, { draftRevision }]) => [id, draftRevision])),
        sequences: new Map(parts.sequences.map(({ entityId, last }) => [entityId, last ?? 0])),
        aggregates: new Map(
          [...entities].map(([id, { draftRevision: _, ...entity }]): [EntityId, Aggregate] => [
            id,
            {
              ...entity,
              // The column `store_ids` is not used: a job that links or unlinks a store may not have updated the row yet.
              storeIds: (versions[id] ?? []).map(({ storeId }) => storeId),
              versions: (versions[id] ?? []).map(({ entityId: _, ...version }) => version),
              gallery: (galleries[id] ?? []).map(({ isJoined: isNew, joinedStoreIds, ...entry }) =>
                withMark(entry, { storeIds: joinedStoreIds, isNew })
              ),
              ...(members.get(id) ?? { members: [] })
            }
          ])
        )
      }
    }).pipe(orDie)
}

/** Reads entities with all data that a plan needs, with locks and without. */
export const makeDraftReads = (sql: SqlClient, isDistributed: boolean): Record<"lock" | "read", ReadForChange> => ({
  lock: makeReadForChange(sql, isDistributed, sql.literal("FOR NO KEY UPDATE")),
  // As a lock does, OFFSET 0 keeps the look-up of each id a statement of its own.
  read: makeReadForChange(sql, isDistributed, sql.literal("OFFSET 0"))
})
