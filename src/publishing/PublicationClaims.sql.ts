import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Array as Arr, type Context, Effect, Option, Order, Schema } from "effect"
import { insertAll } from "../database/Inserts.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { findOne, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { makeRunTransaction } from "../database/Transaction.ts"
import type { WorkHints } from "../database/WorkHintsRepo.ts"
import { AccountId, PublicationId, StoreId } from "../model/Ids.ts"
import { delayedCode } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { monotonicMillis } from "../runtime/MonotonicClock.ts"
import { makeCanPublish, makeIsDue } from "./DuePublications.sql.ts"
import {
  type AttemptEnd,
  type BeginAttempts,
  ClaimedPublication,
  type ClaimRequest,
  isAnswered
} from "./PublicationClaim.ts"
import type { PublicationsRepo } from "./PublicationsRepo.ts"

type Repo = Context.Tag.Service<PublicationsRepo>

/** `accountId` null: publications of all accounts. */
const Limits = Schema.Struct({
  accountId: Schema.NullOr(AccountId),
  limit: Schema.Int,
  maxPerStore: Schema.Int,
  only: Schema.NullOr(Schema.Array(PublicationId)),
  platforms: Schema.optional(Schema.Array(Schema.String))
})

/** The linked stores with pending publications, of all accounts of a server. */
const makeWaitingStores = (sql: SqlClient) =>
  // The recursion goes from store to store in the queue's index, so its cost does not grow with the number of a store's
  // publications.
  sql`
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
    )`

/**
 * The linked stores with pending publications: of one account, or of all accounts of a cluster, where a recursive query cannot
 * read several nodes.
 */
const makeStoresOfCluster = (sql: SqlClient, accountId: string | null) =>
  sql`
    WITH waiting AS (
      SELECT s.account_id, s.id AS store_id FROM store s
      WHERE s.status = 'linked' AND ${accountId === null ? sql.literal("true") : sql`s.account_id = ${accountId}`}
        AND EXISTS (
          SELECT FROM publication p
          WHERE p.account_id = ${accountId === null ? sql.literal("s.account_id") : sql`${accountId}`}
            AND p.store_id = s.id AND p.state = 'pending'
        )
    )`

/**
 * Locks a store until the transaction ends. False: another process is claiming publications of the store. It never waits, because a
 * process can stop inside its claim. Later statements of the transaction see all earlier claims of the store.
 */
const tryStore = (storeId: string) =>
  `pg_try_advisory_xact_lock(hashtextextended('publish claims ' || ${storeId}::text, 0))`

const Due = Schema.Struct({
  accountId: AccountId,
  id: PublicationId,
  storeId: StoreId,
  /** Whether this process has locked the store. On a cluster, stores are locked later, in the transaction of their account. */
  isLocked: Schema.Boolean,
  place: Schema.Number,
  sequence: Schema.Number,
  requestedAt: Timestamp
})

/**
 * Finds publications to claim: the first of each store, then the second of each, and so on. After a failure that may belong to the whole
 * platform, the newest takes the last place of its store: the oldest ones may be those for which the platform always fails.
 */
const makeFindDue = (sql: SqlClient, isDistributed: boolean) => {
  const isDue = makeIsDue(sql)
  const canPublish = makeCanPublish(sql)
  return SqlSchema.findAll({
    Request: Limits,
    Result: Due,
    execute: ({ accountId, limit, maxPerStore, only, platforms }) => {
      const account = accountId === null ? sql.literal("w.account_id") : sql`${accountId}`
      const dueOfStore = sql`
          SELECT p.account_id, p.store_id, p.id, p.sequence, p.asked_at
          FROM publication p
          WHERE p.account_id = ${account} AND p.store_id = w.store_id
            AND (${only}::uuid[] IS NULL OR p.id = ANY(${only}::uuid[])) AND ${isDue(account)}`
      return sql`
      ${isDistributed ? makeStoresOfCluster(sql, accountId) : makeWaitingStores(sql)}
      SELECT c.account_id AS "accountId", c.id, c.store_id AS "storeId", c.place, c.sequence,
             rfc3339(c.asked_at) AS "requestedAt", ${sql.literal(isDistributed ? "false" : tryStore("c.store_id"))} AS "isLocked"
      FROM (
        SELECT c.account_id, c.id, c.store_id, c.sequence, c.asked_at,
               row_number() OVER (PARTITION BY c.account_id, c.store_id ORDER BY c.sequence) AS place
        FROM waiting w
        JOIN store s ON s.account_id = ${account} AND s.id = w.store_id AND ${canPublish(platforms)}
        JOIN import_lock l ON l.account_id = ${account} AND l.run_id IS NULL
        CROSS JOIN LATERAL (
          SELECT count(*) AS count FROM publication b
          WHERE b.account_id = ${account} AND b.store_id = w.store_id AND b.claim IS NOT NULL
            AND b.lease_until > app_now()
        ) busy
        CROSS JOIN LATERAL (
          (
            ${dueOfStore}
            ORDER BY p.sequence
            LIMIT greatest(${maxPerStore}::bigint - busy.count - (s.outage_met_by IS NOT NULL)::integer, 0)
          )
          UNION
          (
            ${dueOfStore} AND s.outage_met_by IS NOT NULL
            ORDER BY p.sequence DESC
            LIMIT least(greatest(${maxPerStore}::bigint - busy.count, 0), 1)
          )
        ) c
        ORDER BY place, c.asked_at, c.sequence LIMIT ${limit}
      ) c ${sql.literal(accountId === null ? allAccounts : "")}`
    }
  })
}

/**
 * Claims publications of one account whose stores are locked. Concurrent workers skip locked rows, and each checks again what it has
 * locked, and the limit of each store.
 */
const makeClaimOfAccount = (sql: SqlClient, holder: string) => {
  const isDue = makeIsDue(sql)
  const canPublish = makeCanPublish(sql)
  const run = makeRunTransaction(sql)
  const take = SqlSchema.findAll({
    Request: Schema.Struct({
      accountId: AccountId,
      ids: Schema.Array(PublicationId),
      claims: Schema.Array(Schema.String),
      places: Schema.Array(Schema.Number),
      maxPerStore: Schema.Int,
      leaseSeconds: Schema.Number,
      platforms: Schema.optional(Schema.Array(Schema.String))
    }),
    Result: ClaimedPublication,
    execute: ({ accountId, claims, ids, leaseSeconds, maxPerStore, places, platforms }) => sql`
      UPDATE publication t
      SET claim = n.claim, lease_until = app_now() + ${leaseSeconds}::float8 * interval '1 second',
          claimed_by = ${holder}, attempts = t.attempts + 1, lost = t.lost + (t.claim IS NOT NULL)::integer
      FROM unnest(${ids}::uuid[], ${claims}::uuid[]) AS n (id, claim), store o
      WHERE t.account_id = ${accountId} AND t.id = n.id AND o.account_id = ${accountId} AND o.id = t.store_id
        AND t.id = ANY(ARRAY(
        SELECT p.id
        FROM unnest(${ids}::uuid[], ${places}::integer[]) AS d (id, place)
        JOIN publication p ON p.account_id = ${accountId} AND p.id = d.id
        JOIN store s ON s.account_id = ${accountId} AND s.id = p.store_id AND ${canPublish(platforms)}
        JOIN import_lock l ON l.account_id = ${accountId} AND l.run_id IS NULL
        WHERE ${isDue(sql`${accountId}`)} AND d.place <= ${maxPerStore} - (
          SELECT count(*) FROM publication b
          WHERE b.account_id = ${accountId} AND b.store_id = p.store_id AND b.claim IS NOT NULL
            AND b.lease_until > app_now()
        )
        FOR UPDATE OF p SKIP LOCKED
      ))
      RETURNING t.account_id AS "accountId", t.id, t.claim::text AS claim, t.entity_id AS "entityId",
                t.store_id AS "storeId", t.draft_revision AS "draftRevision", t.content, t.actor, t.drop_id AS "dropId",
                t.attempts, t.given_back AS "givenBack", t.lost, t.error,
                -- The lease began at the claim. Its end is used, because Citus refuses the clock in RETURNING.
                stamp_text(plus_micros(t.lease_until, ${-Math.round(leaseSeconds * 1_000_000)}::bigint)) AS "claimedAt",
                stamp_text(t.asked_at) AS "requestedAt", stamp_text(o.outage_until) AS "outageUntil"`
  })

  /** Attempts of processes that ended without an outcome are lost. */
  const beginAttempts = (accountId: AccountId, claimed: ReadonlyArray<ClaimedPublication>) =>
    Effect.gen(function* () {
      const again = claimed.filter(({ attempts }) => attempts > 1).map(({ id }) => id)
      if (again.length > 0)
        yield* sql`
          UPDATE publish_attempt SET ended_at = app_now(), outcome = 'lost'
          WHERE account_id = ${accountId} AND publication_id = ANY(${again}::uuid[]) AND ended_at IS NULL`
      yield* insertAll(
        sql`
          INSERT INTO publish_attempt (account_id, publication_id, ordinal)
          SELECT own.account_id, r.id, r.ordinal
          FROM account_state own
          CROSS JOIN unnest(${claimed.map(({ id }) => id)}::uuid[], ${claimed.map(({ attempts }) => attempts)}::integer[])
            AS r (id, ordinal)
          WHERE own.account_id = ${accountId}`,
        claimed.length
      )
    })

  const lockStores = (accountId: AccountId, due: ReadonlyArray<typeof Due.Type>) =>
    Effect.map(
      sql<{ readonly id: string; readonly isLocked: boolean }>`
        SELECT s.id, ${sql.literal(tryStore("s.id"))} AS "isLocked" FROM store s
        WHERE s.account_id = ${accountId} AND s.id = ANY(${Arr.dedupe(due.map(({ storeId }) => storeId))}::uuid[])`,
      (stores) => {
        const locked = new Set(stores.flatMap(({ id, isLocked }) => (isLocked ? [id] : [])))
        return due.filter(({ storeId }) => locked.has(storeId))
      }
    )

  return (
    accountId: AccountId,
    found: ReadonlyArray<typeof Due.Type>,
    { leaseSeconds, maxPerStore, platforms }: ClaimRequest
  ) =>
    Effect.gen(function* () {
      const due = found.some(({ isLocked }) => !isLocked) ? yield* lockStores(accountId, found) : found
      const claimed = yield* take({
        accountId,
        ids: due.map(({ id }) => id),
        claims: due.map(() => crypto.randomUUID()),
        places: due.map(({ place }) => place),
        leaseSeconds,
        maxPerStore,
        platforms
      })
      if (claimed.length > 0) yield* beginAttempts(accountId, claimed)
      return claimed
    }).pipe(orDie, run)
}

const byRequest = Order.mapInput(
  Order.string,
  ({ requestedAt, id }: { readonly requestedAt: Timestamp; readonly id: string }) => `${requestedAt} ${id}`
)

const byPlace = Order.mapInput(
  Order.tuple(Order.number, Order.string, Order.number),
  ({ place, requestedAt, sequence }: typeof Due.Type) => [place, requestedAt, sequence] as const
)

/** The part of the free places that one account of a cluster may take at once, so that places are left for the accounts that follow. */
const shareOfAccount = 1 / 4
/** Stands for the due publications of an account that was not asked, because no place was free. Its hint stays as it is. */
const notAsked = null

const ignoreAttempts: BeginAttempts = () => Effect.void

/** Claims due publications for the process `holder`. On a cluster, each account in a transaction of its own. */
export const makeClaimPublications = (sql: SqlClient, holder: string, hints: WorkHints | undefined): Repo["claim"] => {
  const findDue = makeFindDue(sql, hints !== undefined)
  const claimOfAccount = makeClaimOfAccount(sql, holder)
  const run = makeRunTransaction(sql)

  const claimEach = <A, E, R>(
    due: ReadonlyArray<typeof Due.Type>,
    claim: (accountId: AccountId, ofAccount: typeof due) => Effect.Effect<ReadonlyArray<A>, E, R>
  ) =>
    Effect.map(
      Effect.forEach(Object.entries(Arr.groupBy(due, ({ accountId }) => accountId)), ([id, ofAccount]) =>
        claim(AccountId.make(id), ofAccount)
      ),
      Arr.flatten
    )
  type Claimed = Effect.Effect.Success<ReturnType<typeof claimOfAccount>>
  const inOrder = (claimed: Claimed) => Arr.sort(claimed, byRequest)
  /** Runs one transaction that claims, and begins the attempts. */
  const beginning = <E, R>(work: Effect.Effect<Claimed, E, R>, begin: BeginAttempts) =>
    Effect.gen(function* () {
      const claimedAt = yield* monotonicMillis
      const claimed = yield* work
      if (claimed.length > 0) yield* begin(inOrder(claimed), claimedAt)
      return claimed
    })

  if (hints === undefined)
    return (request, begin = ignoreAttempts) =>
      findDue({ ...request, accountId: null }).pipe(
        Effect.flatMap((due) =>
          claimEach(
            due.filter(({ isLocked }) => isLocked),
            (accountId, ofAccount) => claimOfAccount(accountId, ofAccount, request)
          )
        ),
        orDie,
        run,
        (work) => beginning(work, begin),
        Effect.map(inOrder)
      )

  /** Claims what is due of each account, and begins it at once: the next accounts may have a node that answers slowly. */
  const claimAny = (hints: WorkHints, request: ClaimRequest, begin: BeginAttempts) =>
    Effect.gen(function* () {
      const all: Array<Claimed[number]> = []
      let free = request.limit
      const claimAt = (accountId: AccountId) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            const places = { most: Math.ceil(free * shareOfAccount), used: 0 }
            free -= places.most
            return places
          }),
          (places) =>
            Effect.gen(function* () {
              if (places.most === 0) return [notAsked]
              const due = yield* findDue({ ...request, limit: places.most, accountId })
              if (due.length === 0) return []
              const claimed = yield* beginning(claimOfAccount(accountId, due, request), begin)
              places.used = claimed.length
              all.push(...claimed)
              return due
            }),
          ({ most, used }) =>
            Effect.sync(() => {
              free += most - used
            })
        )
      yield* hints.collectDue(claimAt)
      return all
    })

  /** Claims some of these publications. A node that ceases to answer must not lose the claims of other accounts. */
  const claimOnly = (hints: WorkHints, request: ClaimRequest, begin: BeginAttempts) =>
    Effect.flatMap(findDue({ ...request, accountId: null }), (due) =>
      claimEach(Arr.take(Arr.sort(due, byPlace), request.limit), (accountId, ofAccount) =>
        hints.orSkip(accountId, beginning(claimOfAccount(accountId, ofAccount, request), begin), [])
      )
    )

  return (request, begin = ignoreAttempts) =>
    (request.only === null ? claimAny : claimOnly)(hints, request, begin).pipe(Effect.map(inOrder), orDie)
}

/** The condition that an attempt holds its claim, and the statement that ends it. */
const makeEndAttempt = (sql: SqlClient) => {
  const isStillClaimed = ({ accountId, claim, id }: ClaimedPublication) =>
    sql`p.account_id = ${accountId} AND p.id = ${id} AND p.claim = ${claim}::uuid AND p.state = 'pending'`

  /** Ends the attempt and updates the publication. False: this attempt does not hold the claim any more. `and`: a further part of `WITH`. */
  const end = (
    claimed: ClaimedPublication,
    { outcome, reason }: AttemptEnd,
    assignment: Fragment,
    and = sql.literal("")
  ) =>
    sql`
      WITH ended AS (
        UPDATE publication p SET claim = NULL, lease_until = NULL, ${assignment}
        WHERE ${isStillClaimed(claimed)}
        RETURNING p.account_id, p.id, p.attempts, p.store_id
      ) ${and}
      UPDATE publish_attempt a
      SET ended_at = app_now(), outcome = ${outcome}, reason = ${reason}
      FROM ended e
      WHERE a.account_id = ${claimed.accountId} AND a.publication_id = e.id AND a.ordinal = e.attempts
      RETURNING a.ordinal`.pipe(hasRows)

  return { isStillClaimed, end }
}

/**
 * Statements that change a claimed publication. If another process has claimed it since, they change nothing. `hasten` changes only those
 * that are not claimed.
 */
export const makeClaimWrites = (
  sql: SqlClient,
  hints: WorkHints | undefined
): Pick<Repo, "failsAlone" | "finish" | "giveBack" | "hasten" | "meetOutage" | "pin" | "postpone" | "renew"> => {
  const { end, isStillClaimed } = makeEndAttempt(sql)
  const tell = ({ accountId }: ClaimedPublication, delaySeconds = 0) =>
    hints?.add(accountId, delaySeconds) ?? Effect.void

  /** Updates the publication. False: this attempt does not hold the claim any more. */
  const update = (claimed: ClaimedPublication, assignment: Fragment) =>
    sql`
      UPDATE publication p SET ${assignment}
      WHERE ${isStillClaimed(claimed)}
      RETURNING p.id`.pipe(hasRows)

  /**
   * The part of a statement that ends the outage of the store of `ended`, if there is one and the platform has answered. If it has not, only
   * failures of this publication alone are forgotten: the next request of its entity is another publication.
   */
  const endOutage = ({ accountId, id }: ClaimedPublication, end: AttemptEnd) => sql`
    , answered AS (
      UPDATE store s SET outage_until = least(s.outage_until, app_now()), outage_met_by = NULL
      FROM ended e
      WHERE s.account_id = ${accountId} AND s.id = e.store_id AND ${
        isAnswered(end) ? sql`s.outage_met_by IS NOT NULL` : sql`s.outage_met_by = ${id} AND s.outage_error IS NULL`
      }
    )`

  const failsAlone = findOne(Schema.Struct({ since: Timestamp }))(
    (claimed: ClaimedPublication) => sql`
      UPDATE store s
      SET outage_error = NULL, outage_met_by = ${claimed.id},
          outage_alone_since = least(CASE WHEN s.outage_met_by = ${claimed.id} THEN s.outage_alone_since END, app_now())
      WHERE s.account_id = ${claimed.accountId} AND s.id = ${claimed.storeId}
        AND (s.outage_met_by IS NULL OR (s.outage_met_by = ${claimed.id} AND s.outage_error IS NULL))
        AND EXISTS (SELECT FROM publication p WHERE ${isStillClaimed(claimed)})
      RETURNING stamp_text(s.outage_alone_since) AS since`
  )

  return {
    renew: (claimed, leaseSeconds) =>
      update(claimed, sql`lease_until = app_now() + ${leaseSeconds}::float8 * interval '1 second'`),
    pin: (claimed, content) => update(claimed, sql`content = ${JSON.stringify(content)}::jsonb`),
    postpone: (claimed, ended, error, delaySeconds, { isCounted } = { isCounted: true }) =>
      end(
        claimed,
        ended,
        sql`
          error = ${JSON.stringify(error)}::jsonb, given_back = p.given_back + ${isCounted ? 0 : 1},
          next_attempt_at = app_now() + ${delaySeconds}::float8 * interval '1 second'`
      ).pipe(Effect.zipLeft(tell(claimed, delaySeconds))),
    meetOutage: (claimed, ended, error, delaySeconds) =>
      Effect.gen(function* () {
        const delay = Math.round(delaySeconds * 1_000_000)
        // The store first, because several publications write it at the same time. No delay and no error if this publication is the only one
        // that met the outage. The delay is multiplied, because a cluster refuses the clock in CASE.
        yield* sql`
          UPDATE store s
          SET outage_until = greatest(
                s.outage_until,
                plus_micros(app_now(), ((s.outage_met_by <> ${claimed.id}) IS TRUE)::integer * ${delay}::bigint)
              ),
              outage_error = CASE
                WHEN s.outage_met_by <> ${claimed.id} OR (s.outage_met_by IS NOT NULL AND s.outage_error IS NOT NULL)
                THEN ${JSON.stringify(error)}::jsonb
              END,
              outage_met_by = ${claimed.id}, outage_alone_since = NULL
          WHERE s.account_id = ${claimed.accountId} AND s.id = ${claimed.storeId}
            AND EXISTS (SELECT FROM publication p WHERE ${isStillClaimed(claimed)})`
        const isEnded = yield* end(
          claimed,
          ended,
          sql`
            error = ${JSON.stringify(error)}::jsonb, given_back = p.given_back + 1,
            next_attempt_at = plus_micros(app_now(), ${delay}::bigint)`
        )
        yield* tell(claimed, delaySeconds)
        return isEnded
      }).pipe(orDie),
    failsAlone: (claimed) =>
      Effect.map(
        failsAlone(claimed),
        Option.map(({ since }) => since)
      ),
    hasten: (accountId, storeId, entityId) =>
      Effect.gen(function* () {
        if (entityId !== null)
          yield* sql`
            UPDATE store s SET outage_until = app_now()
            WHERE s.account_id = ${accountId} AND s.id = ${storeId} AND s.outage_until > app_now()`
        // Rows that another transaction has locked are skipped, because an attempt begins or ends there.
        yield* sql`
          UPDATE publication t SET next_attempt_at = app_now()
          WHERE t.account_id = ${accountId} AND t.id = ANY(ARRAY(
            SELECT p.id FROM publication p
            WHERE p.account_id = ${accountId} AND p.store_id = ${storeId} AND p.state = 'pending' AND p.claim IS NULL
              AND p.next_attempt_at > app_now() AND p.error ->> 'code' = ${delayedCode}
              AND ${entityId === null ? sql.literal("true") : sql`p.brings @> ARRAY[${entityId}::uuid]`}
            FOR UPDATE SKIP LOCKED
          ))`
        yield* hints?.add(accountId) ?? Effect.void
      }).pipe(orDie),
    giveBack: (claimed) =>
      end(claimed, { outcome: "interrupted", reason: null }, sql`given_back = p.given_back + 1`).pipe(
        Effect.zipRight(tell(claimed))
      ),
    finish: (claimed, ended, state, error) =>
      end(
        claimed,
        ended,
        sql`
          state = ${state}, finished_at = app_now(),
          error = ${error === null ? null : JSON.stringify(error)}::jsonb`,
        endOutage(claimed, ended)
      ).pipe(Effect.zipLeft(tell(claimed)))
  }
}
