import { SqlClient, SqlSchema } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import { untilNone } from "../database/Forgetting.ts"
import { LeaseHolder } from "../database/LeaseHolder.ts"
import { readsAll } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { HistoryActor } from "../drafts/History.ts"
import { EntityKind } from "../model/Attribute.ts"
import { AccountId, DropId, EntityId, PublicationId, StoreId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { KnownVersion, PublicationContent } from "./PublicationContent.ts"
import {
  type AttemptOutcome,
  FailedPublication,
  PendingCount,
  PendingEntity,
  PublicationRecord,
  PublishAttempt
} from "./PublicationRecord.ts"

/** A publish that is asked for. `brings`: the entity, and those that take its outcome. */
export interface NewPublication {
  readonly id: PublicationId
  readonly entityId: EntityId
  readonly storeId: StoreId
  readonly draftRevision: number
  readonly brings: ReadonlyArray<EntityId>
  readonly content: PublicationContent
  readonly actor: HistoryActor
  /** The drop that asks for the actor. */
  readonly dropId: DropId | null
}

/** A publication that one attempt has to itself while its lease lasts. */
export const Claimed = Schema.Struct({
  accountId: AccountId,
  id: PublicationId,
  /** Names the attempt: once another process has taken the publication over, nothing is written in its name. */
  claim: Schema.String,
  entityId: EntityId,
  storeId: StoreId,
  draftRevision: Schema.Int,
  content: PublicationContent,
  actor: HistoryActor,
  dropId: Schema.NullOr(DropId),
  /** Attempts that were begun, this one among them. */
  attempts: Schema.Int,
  /** Those of them that were given back. */
  givenBack: Schema.Int,
  /** Those of them that ended with their process. */
  lost: Schema.Int,
  error: Schema.NullOr(PublishError)
})
export type Claimed = typeof Claimed.Type

/** What may be claimed. */
export interface ClaimRequest {
  /** At most so many at once. */
  readonly most: number
  /** At most so many of one store under way, whoever has them. */
  readonly mostPerStore: number
  readonly leaseSeconds: number
  /** Only these; null: any. */
  readonly only: ReadonlyArray<PublicationId> | null
}

/** How an attempt ended, and why. */
export interface AttemptEnd {
  readonly outcome: AttemptOutcome
  /** The class of the failure, or the platform's own code. */
  readonly reason: string | null
}

/** How many days after their end publications and their attempts are deleted. */
export const keptDays = 30
const deletedAtOnce = 10_000

/**
 * Publishes that were asked for, and their queue. Of those that bring the same entity to the same store one is carried out
 * after the other, in the order of asking.
 */
export class PublicationsRepo extends Context.Tag("catalog/PublicationsRepo")<
  PublicationsRepo,
  {
    /** In the transaction that makes the versions pending, which holds the locks of all that it brings. */
    readonly insert: (accountId: AccountId, publication: NewPublication) => Effect.Effect<void>
    /** The newest of an entity on a store whose outcome is open. */
    readonly newest: (
      accountId: AccountId,
      entityId: EntityId,
      storeId: StoreId
    ) => Effect.Effect<Option.Option<{ readonly id: PublicationId; readonly content: PublicationContent }>>
    /** Those of these entities for which another publication to the store was asked whose outcome is open. */
    readonly askedAgain: (
      accountId: AccountId,
      storeId: StoreId,
      entityIds: ReadonlyArray<EntityId>,
      id: PublicationId
    ) => Effect.Effect<ReadonlySet<EntityId>>
    /** Oldest first. */
    readonly find: (
      accountId: AccountId,
      ids: ReadonlyArray<PublicationId>
    ) => Effect.Effect<ReadonlyArray<PublicationRecord>>
    /** What these bring, ended or not. */
    readonly contents: (
      accountId: AccountId,
      ids: ReadonlyArray<PublicationId>
    ) => Effect.Effect<ReadonlyMap<PublicationId, PublicationContent>>
    /**
     * Those to linked stores that failed and that no newer one of the same entity to the same store follows: the newest first,
     * at most so many.
     */
    readonly failures: (accountId: AccountId, limit: number) => Effect.Effect<ReadonlyArray<FailedPublication>>
    /** Of one publication, in their order. */
    readonly attempts: (accountId: AccountId, id: PublicationId) => Effect.Effect<ReadonlyArray<PublishAttempt>>
    /** These, and all that must be carried out before them. */
    readonly ahead: (
      accountId: AccountId,
      ids: ReadonlyArray<PublicationId>
    ) => Effect.Effect<ReadonlyArray<PublicationId>>
    /**
     * What an ask locks beside the entity: the media of its gallery, and of a collection's products those that the store has
     * and nobody knows by what it calls them.
     */
    readonly besides: (
      accountId: AccountId,
      entityId: EntityId,
      storeId: StoreId
    ) => Effect.Effect<ReadonlyArray<EntityId>>
    /** What is known of these entities' versions on a store; of those without one nothing. */
    readonly known: (
      accountId: AccountId,
      storeId: StoreId,
      ids: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyMap<EntityId, KnownVersion>>
    /**
     * Claims publications whose turn it is: due, in nobody's hands, of a linked store and an account that no import locks, and
     * with nothing before them that brings the same. An attempt is begun with each; what their processes left open is lost.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<Claimed>>
    /** Extends the lease; false when the publication is no longer the attempt's. */
    readonly renew: (claimed: Claimed, leaseSeconds: number) => Effect.Effect<boolean>
    /** Writes what a publication brings, once its turn has come; false as for `renew`. */
    readonly pin: (claimed: Claimed, content: PublicationContent) => Effect.Effect<boolean>
    /** Ends the attempt; another follows after the delay. */
    readonly postpone: (
      claimed: Claimed,
      end: AttemptEnd,
      error: PublishError,
      delaySeconds: number
    ) => Effect.Effect<void>
    /** Ends an attempt that does not count: another may follow at once. */
    readonly giveBack: (claimed: Claimed) => Effect.Effect<void>
    /** Ends the publication with the attempt. False: it is no longer the attempt's, and nothing is written. */
    readonly finish: (
      claimed: Claimed,
      end: AttemptEnd,
      state: "published" | "failed",
      error: PublishError | null
    ) => Effect.Effect<boolean>
    /** Versions of a kind that wait for an outcome which no publication will bring, of all accounts; 1,000 at most. */
    readonly orphans: (
      kind: EntityKind
    ) => Effect.Effect<
      ReadonlyArray<{ readonly accountId: AccountId; readonly entityId: EntityId; readonly storeId: StoreId }>
    >
    /** How many versions on a store have something to publish, by kind, all of them counted; of a kind that has none nothing. */
    readonly pendingCounts: (accountId: AccountId, storeId: StoreId) => Effect.Effect<ReadonlyArray<PendingCount>>
    /** The entities of these kinds that wait to be asked for on a store, by id, from the first after this one on. */
    readonly pendingAfter: (
      accountId: AccountId,
      storeId: StoreId,
      kinds: ReadonlyArray<EntityKind>,
      after: EntityId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<PendingEntity>>
    /** Deletes publications that ended more than 30 days ago, with their attempts; how many. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    PublicationsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { name: holder } = yield* LeaseHolder

      const Content = Schema.Struct({ id: PublicationId, content: PublicationContent })
      const newest = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: AccountId, entityId: EntityId, storeId: StoreId }),
        Result: Content,
        execute: ({ accountId, entityId, storeId }) => sql`
          SELECT p.id, p.content FROM publication p
          WHERE p.account_id = ${accountId} AND p.entity_id = ${entityId} AND p.store_id = ${storeId}
            AND p.state = 'pending'
          ORDER BY p.sequence DESC
          LIMIT 1`
      })

      const askedAgain = SqlSchema.findAll({
        Request: Schema.Struct({
          accountId: AccountId,
          storeId: StoreId,
          ids: Schema.Array(EntityId),
          id: PublicationId
        }),
        Result: Schema.Struct({ id: EntityId }),
        execute: ({ accountId, id, ids, storeId }) => sql`
          SELECT k.id FROM unnest(${ids}::uuid[]) AS k (id)
          WHERE EXISTS (
            SELECT FROM publication p
            WHERE p.account_id = ${accountId} AND p.entity_id = k.id AND p.store_id = ${storeId}
              AND p.state = 'pending' AND p.id <> ${id}
          )`
      })

      const Ids = Schema.Struct({ accountId: AccountId, ids: Schema.Array(PublicationId) })
      const find = SqlSchema.findAll({
        Request: Ids,
        Result: PublicationRecord,
        execute: ({ accountId, ids }) => sql`
          SELECT p.id, p.entity_id AS "entityId", p.store_id AS "storeId", s.domain AS "storeDomain",
                 p.draft_revision AS "draftRevision", p.state, p.attempts, rfc3339(p.asked_at) AS "askedAt",
                 rfc3339(p.finished_at) AS "finishedAt", p.error
          FROM publication p
          JOIN store s ON s.account_id = p.account_id AND s.id = p.store_id
          WHERE p.account_id = ${accountId} AND p.id = ANY(${ids}::uuid[])
          ORDER BY p.sequence`
      })

      const contents = SqlSchema.findAll({
        Request: Ids,
        Result: Content,
        execute: ({ accountId, ids }) => sql`
          SELECT p.id, p.content FROM publication p
          WHERE p.account_id = ${accountId} AND p.id = ANY(${ids}::uuid[])`
      })

      const failures = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, limit: Schema.Int }),
        Result: FailedPublication,
        execute: ({ accountId, limit }) => sql`
          WITH newest AS (
            SELECT v.account_id, v.entity_id, v.store_id, s.domain, v.last_publish_error, p.attempts, p.finished_at,
                   row_number() OVER (ORDER BY p.finished_at DESC NULLS LAST, p.sequence DESC, v.entity_id, v.store_id) AS place
            FROM store_version v
            JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
            LEFT JOIN LATERAL (
              SELECT f.attempts, f.finished_at, f.sequence
              FROM publication f
              WHERE f.account_id = v.account_id AND f.store_id = v.store_id AND f.state = 'failed'
                AND f.brings @> ARRAY[v.entity_id]
              ORDER BY f.sequence DESC LIMIT 1
            ) p ON true
            WHERE v.account_id = ${accountId} AND v.last_publish_status = 'failed'
            ORDER BY place LIMIT ${limit}
          )
          SELECT n.entity_id AS "entityId", e.kind AS "entityType", e.title, n.store_id AS "storeId",
                 n.domain AS "storeDomain", n.attempts, rfc3339(n.finished_at) AS "finishedAt", n.last_publish_error AS error
          FROM newest n
          JOIN entity e ON e.account_id = n.account_id AND e.id = n.entity_id
          ORDER BY n.place`
      })

      const attempts = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, id: PublicationId }),
        Result: PublishAttempt,
        execute: ({ accountId, id }) => sql`
          SELECT rfc3339(a.started_at) AS "startedAt", rfc3339(a.ended_at) AS "endedAt", a.outcome, a.reason
          FROM publish_attempt a
          WHERE a.account_id = ${accountId} AND a.publication_id = ${id}
          ORDER BY a.ordinal`
      })

      const ahead = SqlSchema.findAll({
        Request: Ids,
        Result: Schema.Struct({ id: PublicationId }),
        execute: ({ accountId, ids }) => sql`
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
      })

      const besides = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, entityId: EntityId, storeId: StoreId }),
        Result: Schema.Struct({ id: EntityId }),
        execute: ({ accountId, entityId, storeId }) => sql`
          SELECT g.media_id AS id FROM entity_media g
          WHERE g.account_id = ${accountId} AND g.entity_id = ${entityId}
          UNION ALL
          SELECT m.product_id AS id
          FROM collection_member m
          CROSS JOIN LATERAL (
            SELECT v.platform_id, v.accepted FROM store_version v
            WHERE v.account_id = m.account_id AND v.entity_id = m.product_id AND v.store_id = ${storeId} OFFSET 0
          ) v
          WHERE m.account_id = ${accountId} AND m.collection_id = ${entityId}
            AND v.platform_id IS NULL AND v.accepted IS NOT NULL`
      })

      const known = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, storeId: StoreId, ids: Schema.Array(EntityId) }),
        Result: Schema.Struct({ id: EntityId, ...KnownVersion.fields }),
        execute: ({ accountId, ids, storeId }) => sql`
          SELECT v.entity_id AS id, v.platform_id AS "platformId", v.accepted
          FROM unnest(${ids}::uuid[]) AS k (id)
          CROSS JOIN LATERAL (
            SELECT o.entity_id, o.platform_id, o.accepted FROM store_version o
            WHERE o.account_id = ${accountId} AND o.entity_id = k.id AND o.store_id = ${storeId} OFFSET 0
          ) v`
      })

      const ClaimRequest = Schema.Struct({
        most: Schema.Int,
        mostPerStore: Schema.Int,
        leaseSeconds: Schema.Number,
        only: Schema.NullOr(Schema.Array(PublicationId))
      })
      // Stores that wait are found one after the other by the queue's index: what one of them has queued is not read for it.
      // Whoever is second at a row skips it; what has changed since it was seen is looked at again before it is taken.
      const claim = SqlSchema.findAll({
        Request: ClaimRequest,
        Result: Claimed,
        execute: ({ leaseSeconds, most, mostPerStore, only }) => sql`
          WITH RECURSIVE waiting AS (
            (
              SELECT p.account_id, p.store_id FROM publication p
              WHERE p.state = 'pending'
              ORDER BY p.account_id, p.store_id LIMIT 1
            )
            UNION ALL
            SELECT n.account_id, n.store_id
            FROM waiting w
            CROSS JOIN LATERAL (
              SELECT p.account_id, p.store_id FROM publication p
              WHERE p.state = 'pending' AND (p.account_id, p.store_id) > (w.account_id, w.store_id)
              ORDER BY p.account_id, p.store_id LIMIT 1
            ) n
          ), candidate AS (
            SELECT c.account_id, c.id, c.sequence,
                   row_number() OVER (PARTITION BY c.account_id, c.store_id ORDER BY c.sequence) AS place
            FROM waiting w
            JOIN store s ON s.account_id = w.account_id AND s.id = w.store_id AND s.status = 'linked'
            JOIN import_lock l ON l.account_id = w.account_id AND l.run_id IS NULL
            CROSS JOIN LATERAL (
              SELECT count(*) AS count FROM publication b
              WHERE b.account_id = w.account_id AND b.store_id = w.store_id AND b.claim IS NOT NULL
                AND b.lease_until > app_now()
            ) busy
            CROSS JOIN LATERAL (
              SELECT p.account_id, p.store_id, p.id, p.sequence
              FROM publication p
              WHERE p.account_id = w.account_id AND p.store_id = w.store_id AND p.state = 'pending'
                AND p.next_attempt_at <= app_now() AND (p.lease_until IS NULL OR p.lease_until <= app_now())
                AND (${only}::uuid[] IS NULL OR p.id = ANY(${only}::uuid[]))
                AND NOT EXISTS (
                  SELECT FROM publication q
                  WHERE q.account_id = p.account_id AND q.store_id = p.store_id AND q.state = 'pending'
                    AND q.sequence < p.sequence AND q.brings && p.brings
                )
              ORDER BY p.sequence
              LIMIT greatest(${mostPerStore}::bigint - busy.count, 0)
              FOR UPDATE SKIP LOCKED
            ) c
          ), chosen AS (
            SELECT account_id, id FROM candidate ORDER BY place, sequence LIMIT ${most}
          ), taken AS (
            UPDATE publication p
            SET claim = gen_random_uuid(), lease_until = app_now() + ${leaseSeconds}::float8 * interval '1 second',
                claimed_by = ${holder}, attempts = p.attempts + 1, lost = p.lost + (p.claim IS NOT NULL)::integer
            FROM chosen c
            WHERE p.account_id = c.account_id AND p.id = c.id
            RETURNING p.*
          ), lost AS (
            UPDATE publish_attempt a
            SET ended_at = app_now(), outcome = 'lost'
            FROM taken t
            WHERE a.account_id = t.account_id AND a.publication_id = t.id AND a.ended_at IS NULL
          ), begun AS (
            INSERT INTO publish_attempt (account_id, publication_id, ordinal)
            SELECT t.account_id, t.id, t.attempts FROM taken t
          )
          SELECT t.account_id AS "accountId", t.id, t.claim::text AS claim, t.entity_id AS "entityId",
                 t.store_id AS "storeId", t.draft_revision AS "draftRevision", t.content, t.actor, t.drop_id AS "dropId",
                 t.attempts, t.given_back AS "givenBack", t.lost, t.error
          FROM taken t
          ORDER BY t.sequence`
      })

      const isHeld = ({ accountId, claim, id }: Claimed) =>
        sql`p.account_id = ${accountId} AND p.id = ${id} AND p.claim = ${claim}::uuid AND p.state = 'pending'`

      /** Ends an attempt that still has the publication, and with it what the fragment says; whether it had. */
      const end = (claimed: Claimed, { outcome, reason }: AttemptEnd, set: Fragment) =>
        sql`
          WITH ended AS (
            UPDATE publication p SET claim = NULL, lease_until = NULL, ${set}
            WHERE ${isHeld(claimed)}
            RETURNING p.account_id, p.id, p.attempts
          )
          UPDATE publish_attempt a
          SET ended_at = app_now(), outcome = ${outcome}, reason = ${reason}
          FROM ended e
          WHERE a.account_id = e.account_id AND a.publication_id = e.id AND a.ordinal = e.attempts
          RETURNING a.ordinal`.pipe(
          Effect.map((rows) => rows.length > 0),
          orDie
        )

      const orphans = SqlSchema.findAll({
        Request: Schema.String,
        Result: Schema.Struct({ accountId: AccountId, entityId: EntityId, storeId: StoreId }),
        execute: (kind) => sql`
          SELECT v.account_id AS "accountId", v.entity_id AS "entityId", v.store_id AS "storeId"
          FROM store s
          CROSS JOIN LATERAL (
            SELECT o.account_id, o.entity_id, o.store_id FROM store_version o
            WHERE o.account_id = s.account_id AND o.store_id = s.id AND o.last_publish_status = 'pending' OFFSET 0
          ) v
          CROSS JOIN LATERAL (
            SELECT e.id FROM entity e
            WHERE e.account_id = v.account_id AND e.id = v.entity_id AND e.kind = ${kind} OFFSET 0
          ) e
          WHERE s.status = 'linked' AND s.platform <> 'none'
            AND NOT EXISTS (
              SELECT FROM publication p
              WHERE p.account_id = v.account_id AND p.store_id = v.store_id AND p.state = 'pending'
                AND p.brings @> ARRAY[v.entity_id]
            )
          ORDER BY v.account_id, v.store_id, v.entity_id
          LIMIT 1000`
      })

      const forgetSome = Effect.map(
        sql`
          WITH old AS (
            SELECT p.account_id, p.id FROM publication p
            WHERE p.state <> 'pending' AND p.finished_at <= app_now() - ${keptDays} * interval '1 day'
            ORDER BY p.finished_at LIMIT ${deletedAtOnce}
          ), gone AS (
            DELETE FROM publication p USING old o WHERE p.account_id = o.account_id AND p.id = o.id RETURNING p.id
          )
          SELECT count(*)::integer AS count FROM gone`,
        ([row]) => Number(row?.count ?? 0)
      )

      const pendingCounts = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, storeId: StoreId }),
        Result: PendingCount,
        execute: ({ accountId, storeId }) => sql`
          ${sql.literal(readsAll)}
          SELECT e.kind, (count(*) FILTER (WHERE v.last_publish_status <> 'pending'))::integer AS waiting,
                 (count(*) FILTER (WHERE v.last_publish_status = 'pending'))::integer AS "underWay"
          FROM store_version v
          CROSS JOIN LATERAL (
            SELECT o.kind FROM entity o WHERE o.account_id = v.account_id AND o.id = v.entity_id OFFSET 0
          ) e
          WHERE v.account_id = ${accountId} AND v.store_id = ${storeId} AND v.pending_publish
          GROUP BY e.kind
          ORDER BY e.kind COLLATE "C"`
      })

      // Along the index of the store's versions: what it has of an account is read once, however many pages there are.
      const pendingAfter = SqlSchema.findAll({
        Request: Schema.Struct({
          accountId: AccountId,
          storeId: StoreId,
          kinds: Schema.Array(EntityKind),
          after: EntityId,
          limit: Schema.Int
        }),
        Result: PendingEntity,
        execute: ({ accountId, after, kinds, limit, storeId }) => sql`
          SELECT v.entity_id AS id, e.kind, e.title
          FROM store_version v
          CROSS JOIN LATERAL (
            SELECT o.kind, o.title FROM entity o
            WHERE o.account_id = v.account_id AND o.id = v.entity_id AND o.kind = ANY(${kinds}::text[]) OFFSET 0
          ) e
          WHERE v.account_id = ${accountId} AND v.store_id = ${storeId} AND v.entity_id > ${after}
            AND v.pending_publish AND v.last_publish_status <> 'pending'
          ORDER BY v.entity_id
          LIMIT ${limit}`
      })

      return {
        insert: (accountId, { actor, brings, content, draftRevision, dropId, entityId, id, storeId }) =>
          sql`
            INSERT INTO publication (account_id, id, entity_id, store_id, draft_revision, brings, content, actor, drop_id)
            VALUES (${accountId}, ${id}, ${entityId}, ${storeId}, ${draftRevision}, ${brings}::uuid[],
                    ${JSON.stringify(content)}::jsonb, ${JSON.stringify(actor)}::jsonb, ${dropId}::uuid)`.pipe(
            Effect.asVoid,
            orDie
          ),
        newest: (accountId, entityId, storeId) => orDie(newest({ accountId, entityId, storeId })),
        askedAgain: (accountId, storeId, ids, id) =>
          Effect.map(orDie(askedAgain({ accountId, storeId, ids, id })), (rows) => new Set(rows.map(({ id }) => id))),
        pendingCounts: (accountId, storeId) => orDie(pendingCounts({ accountId, storeId })),
        pendingAfter: (accountId, storeId, kinds, after, limit) =>
          orDie(pendingAfter({ accountId, storeId, kinds, after, limit })),
        failures: (accountId, limit) => orDie(failures({ accountId, limit })),
        find: (accountId, ids) => orDie(find({ accountId, ids })),
        contents: (accountId, ids) =>
          Effect.map(
            orDie(contents({ accountId, ids })),
            (rows) => new Map(rows.map(({ content, id }) => [id, content]))
          ),
        attempts: (accountId, id) => orDie(attempts({ accountId, id })),
        ahead: (accountId, ids) => Effect.map(orDie(ahead({ accountId, ids })), (rows) => rows.map(({ id }) => id)),
        besides: (accountId, entityId, storeId) =>
          Effect.map(orDie(besides({ accountId, entityId, storeId })), (rows) => rows.map(({ id }) => id)),
        known: (accountId, storeId, ids) =>
          Effect.map(
            orDie(known({ accountId, storeId, ids })),
            (rows) => new Map(rows.map(({ id, ...version }) => [id, version]))
          ),
        claim: (request) => orDie(claim(request)),
        renew: (claimed, leaseSeconds) =>
          sql`
            UPDATE publication p SET lease_until = app_now() + ${leaseSeconds}::float8 * interval '1 second'
            WHERE ${isHeld(claimed)}
            RETURNING p.id`.pipe(
            Effect.map((rows) => rows.length > 0),
            orDie
          ),
        pin: (claimed, content) =>
          sql`
            UPDATE publication p SET content = ${JSON.stringify(content)}::jsonb
            WHERE ${isHeld(claimed)}
            RETURNING p.id`.pipe(
            Effect.map((rows) => rows.length > 0),
            orDie
          ),
        postpone: (claimed, ended, error, delaySeconds) =>
          Effect.asVoid(
            end(
              claimed,
              ended,
              sql`
                error = ${JSON.stringify(error)}::jsonb,
                next_attempt_at = app_now() + ${delaySeconds}::float8 * interval '1 second'`
            )
          ),
        giveBack: (claimed) =>
          Effect.asVoid(end(claimed, { outcome: "interrupted", reason: null }, sql`given_back = p.given_back + 1`)),
        finish: (claimed, ended, state, error) =>
          end(
            claimed,
            ended,
            sql`
              state = ${state}, finished_at = app_now(),
              error = ${error === null ? null : JSON.stringify(error)}::jsonb`
          ),
        orphans: (kind) => orDie(orphans(kind)),
        forget: orDie(untilNone(forgetSome))
      }
    })
  )
}
