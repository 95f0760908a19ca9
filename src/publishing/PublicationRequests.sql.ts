import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Effect, Schema } from "effect"
import { findAll, findOne, withoutChecks } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { WorkHints } from "../database/WorkHintsRepo.ts"
import { type AccountId, EntityId, PublicationId, type StoreId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { KnownVersion, MemberVersion, PublicationContent } from "./PublicationContent.ts"
import type { PublicationRequests } from "./PublicationsRepo.ts"

const byId = <Row extends { readonly id: EntityId }>(
  rows: ReadonlyArray<Row>
): ReadonlyMap<EntityId, Omit<Row, "id">> => new Map(rows.map(({ id, ...version }) => [id, version]))

const toIds = (rows: ReadonlyArray<{ readonly id: EntityId }>): ReadonlySet<EntityId> =>
  new Set(rows.map(({ id }) => id))

const Newest = Schema.Struct({ id: PublicationId, content: PublicationContent, error: Schema.NullOr(PublishError) })

const makeInsert =
  (sql: SqlClient, hints: WorkHints | undefined): PublicationRequests["insert"] =>
  (
    accountId,
    { actor, content, draftRevision, dropId, entityId, entityIds, error, failuresBefore, id, jobId, storeId }
  ) =>
    sql`
      INSERT INTO publication (account_id, id, entity_id, store_id, draft_revision, brings, content, actor, drop_id,
                               job_id, error, failures_before, sequence)
      SELECT own.account_id, ${id}::uuid, ${entityId}::uuid, ${storeId}::uuid, ${draftRevision}::integer,
             ${entityIds}::uuid[], ${JSON.stringify(content)}::jsonb, ${JSON.stringify(actor)}::jsonb, ${dropId}::uuid,
             ${jobId}::uuid, ${error === null ? null : JSON.stringify(error)}::jsonb,
             ${failuresBefore === null ? null : JSON.stringify(failuresBefore)}::jsonb,
             1 + (
               SELECT coalesce(max(p.sequence), 0) FROM publication p
               WHERE p.account_id = ${accountId} AND p.store_id = ${storeId}
             )
      FROM account_state own
      WHERE own.account_id = ${accountId}`.pipe(Effect.zipRight(hints?.add(accountId) ?? Effect.void), orDie)

/** Statements for a publish request: they read its entities, insert the publication and find what must run before it. */
export const makePublicationRequests = (sql: SqlClient, hints: WorkHints | undefined): PublicationRequests => {
  const newest = findOne(withoutChecks(Newest))(
    (accountId: AccountId, entityId: EntityId, storeId: StoreId) => sql`
      SELECT p.id, p.content, p.error FROM publication p
      WHERE p.account_id = ${accountId} AND p.entity_id = ${entityId} AND p.store_id = ${storeId}
        AND p.state = 'pending'
      ORDER BY p.sequence DESC
      LIMIT 1`
  )

  const requestedAgain = findAll(Schema.Struct({ id: EntityId }))(
    (accountId: AccountId, storeId: StoreId, ids: ReadonlyArray<EntityId>, id: PublicationId) => sql`
      SELECT k.id FROM unnest(${ids}::uuid[]) AS k (id)
      WHERE EXISTS (
        SELECT FROM publication p
        WHERE p.account_id = ${accountId} AND p.store_id = ${storeId} AND p.state = 'pending' AND p.id <> ${id}
          AND p.entity_id = k.id
      )`
  )

  const broughtAgain = findAll(Schema.Struct({ id: EntityId, isIncluded: Schema.Boolean }))(
    (accountId: AccountId, storeId: StoreId, ids: ReadonlyArray<EntityId>, id: PublicationId) => sql`
      SELECT k.id, b."isIncluded" FROM unnest(${ids}::uuid[]) AS k (id)
      CROSS JOIN LATERAL (
        SELECT bool_or(
                 coalesce(p.content -> 'carried', '[]') @> jsonb_build_array(jsonb_build_object('entityId', k.id))
               ) AS "isIncluded"
        FROM publication p
        WHERE p.account_id = ${accountId} AND p.store_id = ${storeId} AND p.state = 'pending' AND p.id <> ${id}
          AND p.brings @> ARRAY[k.id]
      ) b
      WHERE b."isIncluded" IS NOT NULL`
  )

  const ahead = findAll(Schema.Struct({ id: PublicationId }))(
    (accountId: AccountId, ids: ReadonlyArray<PublicationId>) => sql`
      WITH RECURSIVE line AS (
        SELECT p.id, p.store_id, p.sequence, p.brings FROM publication p
        WHERE p.account_id = ${accountId} AND p.id = ANY(${ids}::uuid[])
        UNION
        SELECT q.id, q.store_id, q.sequence, q.brings
        FROM line l
        JOIN publication q ON q.account_id = ${accountId} AND q.store_id = l.store_id AND q.state = 'pending'
          AND q.sequence < l.sequence AND q.brings && l.brings
      )
      SELECT id FROM line`
  )

  const related = findAll(Schema.Struct({ id: EntityId }))(
    (accountId: AccountId, entityId: EntityId, storeId: StoreId) => sql`
      SELECT g.media_id AS id FROM entity_media g
      WHERE g.account_id = ${accountId} AND g.entity_id = ${entityId}
      UNION ALL
      SELECT m.product_id AS id
      FROM collection_member m
      CROSS JOIN LATERAL (
        SELECT v.platform_id, v.accepted FROM store_version v
        WHERE v.account_id = ${accountId} AND v.entity_id = m.product_id AND v.store_id = ${storeId} OFFSET 0
      ) v
      WHERE m.account_id = ${accountId} AND m.collection_id = ${entityId}
        AND v.platform_id IS NULL AND v.accepted IS NOT NULL`
  )

  /** Reads columns of the store versions `o` of entities, each looked up by itself. */
  const versionsOf = (columns: Fragment, accountId: AccountId, storeId: StoreId, ids: ReadonlyArray<EntityId>) => sql`
    SELECT v.*
    FROM unnest(${ids}::uuid[]) AS k (id)
    CROSS JOIN LATERAL (
      SELECT o.entity_id AS id, o.platform_id AS "platformId", ${columns} FROM store_version o
      WHERE o.account_id = ${accountId} AND o.entity_id = k.id AND o.store_id = ${storeId} OFFSET 0
    ) v`

  const storeVersions = findAll(withoutChecks(Schema.Struct({ id: EntityId, ...KnownVersion.fields })))(
    (accountId: AccountId, storeId: StoreId, ids: ReadonlyArray<EntityId>) =>
      versionsOf(sql`o.accepted, o.may_be_live AS "mayBeLive"`, accountId, storeId, ids)
  )

  const memberVersions = findAll(withoutChecks(Schema.Struct({ id: EntityId, ...MemberVersion.fields })))(
    (accountId: AccountId, storeId: StoreId, ids: ReadonlyArray<EntityId>) =>
      versionsOf(sql`o.accepted IS NOT NULL AS "isLive"`, accountId, storeId, ids)
  )

  const recordsOfOthers = findAll(Schema.Struct({ platformId: Schema.String }))(
    (accountId: AccountId, storeId: StoreId, entityId: EntityId, platformIds: ReadonlyArray<string>) => sql`
      SELECT k.id AS "platformId" FROM unnest(${platformIds}::text[]) AS k (id)
      CROSS JOIN LATERAL (
        SELECT v.entity_id FROM store_version v
        WHERE v.account_id = ${accountId} AND v.store_id = ${storeId} AND v.platform_id = k.id
          AND v.entity_id <> ${entityId}
        LIMIT 1
      ) v`
  )

  return {
    insert: makeInsert(sql, hints),
    newest,
    requestedAgain: (...request) => Effect.map(requestedAgain(...request), toIds),
    broughtAgain: (...request) => Effect.map(broughtAgain(...request), byId),
    ahead: (accountId, ids) => Effect.map(ahead(accountId, ids), (rows) => rows.map(({ id }) => id)),
    related: (accountId, entityId, storeId) =>
      Effect.map(related(accountId, entityId, storeId), (rows) => rows.map(({ id }) => id)),
    storeVersions: (accountId, storeId, ids) => Effect.map(storeVersions(accountId, storeId, ids), byId),
    recordsOfOthers: (...request) =>
      Effect.map(recordsOfOthers(...request), (rows) => new Set(rows.map(({ platformId }) => platformId))),
    memberVersions: (accountId, storeId, ids) =>
      ids.length === 0 ? Effect.succeed(new Map()) : Effect.map(memberVersions(accountId, storeId, ids), byId)
  }
}
