import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Number as Num, Schema } from "effect"
import { untilNone } from "../database/Forgetting.ts"
import { allAccounts, planCustom, readsAll } from "../database/PlannerHints.ts"
import { findAll, findOne, findSingle } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { makeRunTransaction } from "../database/Transaction.ts"
import { AccountId, EntityId, nilUuid, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { HealthDimension } from "./Health.ts"
import type { HealthRepo } from "./HealthRepo.ts"
import { LinkedStore, Population, RowCount } from "./HealthScanRows.sql.ts"
import { makeHealthSnapshots } from "./HealthSnapshots.sql.ts"

/** The account or store that a base describes. `storeId` null: the whole account. */
export interface ScanOf {
  readonly accountId: AccountId
  readonly dimension: HealthDimension
  readonly storeId: StoreId | null
}

/**
 * The stored state of a scan: its rows, and the counts from which its result is computed. Incremental scans update it.
 */
export const HealthBase = Schema.Struct({
  base: Schema.Number,
  version: Schema.Number,
  /** Entities with smaller ids are scanned. Null: all entities are scanned. */
  reached: Schema.NullOr(EntityId),
  fingerprint: Schema.String,
  stores: Schema.Array(LinkedStore),
  population: Schema.Array(Population),
  counts: Schema.Array(RowCount),
  scanned: Schema.Number,
  entities: Schema.Number,
  /** The number of blocks. */
  blocks: Schema.Number
})
export type HealthBase = typeof HealthBase.Type

/** Number of rows of one list in each block of its base. Blocks at the end may be missing. */
export const BlockedList = Schema.Struct({
  section: Schema.String,
  storeId: StoreId,
  locale: Schema.String,
  /** The number of rows before each block. */
  firsts: Schema.Array(Schema.Number),
  total: Schema.Number
})
export type BlockedList = typeof BlockedList.Type

/** Rows of a deleted base to delete per statement. */
const rowsAtOnce = 20_000

/** Statements on bases. A scan locks its dimension before it changes its base. */
export const makeHealthBases = (sql: SqlClient) => {
  const scope = (storeId: string | null) => storeId ?? nilUuid

  /** The newest base of a scan, complete or not. */
  const newest = findOne(HealthBase)(
    ({ accountId, dimension, storeId }: ScanOf) => sql`
      SELECT b.base, b.version, b.reached, b.fingerprint, b.stores, b.population, b.counts, b.scanned, b.entities,
             cardinality(b.starts) AS blocks
      FROM health_base b
      WHERE b.account_id = ${accountId} AND b.dimension = ${dimension} AND b.scope = ${scope(storeId)}
      ORDER BY b.base DESC LIMIT 1`
  )

  /** Inserts a base without rows. A change after it has a note with a newer version, so no change is missed. */
  const begin = ({ accountId, base, dimension, fingerprint, stores, storeId }: ScanOf & BegunBase) =>
    sql`
      INSERT INTO health_base (account_id, base, dimension, scope, version, reached, fingerprint, stores, population, counts,
                               starts, scanned, entities, begun_at)
      SELECT a.account_id, ${base}::bigint, ${dimension}, ${scope(storeId)}::uuid, a.version, ${nilUuid}::uuid, ${fingerprint},
             ${JSON.stringify(stores)}::json, '[]', '[]', '{}', 0,
             (SELECT count(*) FROM entity e WHERE e.account_id = ${accountId}), app_now()
      FROM account_state a WHERE a.account_id = ${accountId} ${sql.literal(readsAll)}`

  const save = (accountId: AccountId, base: HealthBase, starts: ReadonlyArray<EntityId>) => sql`
    UPDATE health_base b
    SET version = ${base.version}, reached = ${base.reached}::uuid, stores = ${JSON.stringify(base.stores)}::json,
        population = ${JSON.stringify(base.population)}::json, counts = ${JSON.stringify(base.counts)}::json,
        scanned = ${base.scanned}, starts = b.starts || ${[...starts]}::uuid[], stepped_at = app_now(),
        worked_seconds = b.worked_seconds + least(extract(epoch FROM app_now() - coalesce(b.stepped_at, b.begun_at)), 60)
    WHERE b.account_id = ${accountId} AND b.base = ${base.base}`

  /** The first entity after a range of `entities` entities that begins at `from`. Null: none follows. */
  const endOf = findSingle(Schema.Struct({ end: Schema.NullOr(EntityId) }))(
    (accountId: AccountId, from: EntityId, entities: number) => sql`
      SELECT (
        SELECT e.id FROM entity e WHERE e.account_id = ${accountId} AND e.id >= ${from}::uuid
        ORDER BY e.id OFFSET ${entities}::bigint LIMIT 1
      ) AS "end"`
  )

  /** Number of changed entities in the notes after a version. An entity that changed twice counts twice. */
  const changedSince = findSingle(Schema.Struct({ changed: Schema.Number }))(
    (accountId: AccountId, version: number) => sql`
      SELECT coalesce(sum(cardinality(n.entities)), 0)::bigint AS changed
      FROM change_note n WHERE n.account_id = ${accountId} AND n.version > ${version}`
  )

  /** Whether there are notes with a change for scans after a version. */
  const isNoted = findSingle(Schema.Struct({ noted: Schema.Boolean }))(
    (accountId: AccountId, version: number) => sql`
      SELECT EXISTS (
        SELECT FROM change_note n
        WHERE n.account_id = ${accountId} AND n.version > ${version}
          AND (n.entities <> '{}' OR n.skus <> '{}' OR n.moved <> '[]')
      ) AS noted`
  )

  const lists = findAll(BlockedList)(
    (accountId: AccountId, base: number) => sql`
      SELECT l.section, l.store_id AS "storeId", l.locale, l.firsts, l.total
      FROM health_list l WHERE l.account_id = ${accountId} AND l.base = ${base}`
  )

  const saveLists = (accountId: AccountId, base: number, changed: ReadonlyArray<BlockedList>) =>
    changed.length === 0
      ? Effect.void
      : sql`
          INSERT INTO health_list (account_id, base, section, store_id, locale, firsts, total)
          SELECT b.account_id, b.base, r.section, r."storeId", r.locale, r.firsts, r.total
          FROM health_base b
          CROSS JOIN jsonb_to_recordset(${JSON.stringify(changed)}::jsonb) AS r (
            section text, "storeId" uuid, locale text, firsts integer[], total integer
          )
          WHERE b.account_id = ${accountId} AND b.base = ${base}
          ON CONFLICT (account_id, base, section, store_id, locale) DO UPDATE
          SET firsts = excluded.firsts, total = excluded.total`

  /** Deletes the blocks of a base; the next step divides its rows again. */
  const undivide = (accountId: AccountId, base: number) =>
    Effect.zipRight(
      sql`DELETE FROM health_list l WHERE l.account_id = ${accountId} AND l.base = ${base}`,
      sql`UPDATE health_base b SET starts = '{}' WHERE b.account_id = ${accountId} AND b.base = ${base}`
    )

  return { newest, begin, save, endOf, changedSince, isNoted, lists, saveLists, undivide }
}

interface BegunBase {
  readonly base: number
  readonly fingerprint: string
  readonly stores: ReadonlyArray<LinkedStore>
}

/** Reads the bases that are not complete. */
export const makeUnfinished = (sql: SqlClient): Context.Tag.Service<HealthRepo>["unfinished"] => {
  const unfinished = findAll(
    Schema.Struct({
      dimension: HealthDimension,
      storeId: Schema.NullOr(StoreId),
      scanned: Schema.Number,
      entities: Schema.Number,
      begunAt: Timestamp,
      seconds: Schema.Number,
      idleSeconds: Schema.Number
    })
  )(
    (accountId: AccountId) => sql`
      SELECT b.dimension, nullif(b.scope, ${nilUuid}::uuid) AS "storeId", b.scanned, b.entities, rfc3339(b.begun_at) AS "begunAt",
             b.worked_seconds AS seconds,
             greatest(extract(epoch FROM app_now() - coalesce(b.stepped_at, b.begun_at)), 0)::float8 AS "idleSeconds"
      FROM health_base b
      WHERE b.account_id = ${accountId} AND b.reached IS NOT NULL AND b.fingerprint <> ''
        -- A scan that began again after a change of its rules or stores leaves its former base behind.
        AND NOT EXISTS (
          SELECT FROM health_base n
          WHERE n.account_id = ${accountId} AND n.dimension = b.dimension AND n.scope = b.scope AND n.base > b.base
        )
      ORDER BY b.begun_at, b.base`
  )
  return unfinished
}

/** The next scan is a full scan if at least this fraction of the entities changed, and at least this number. */
export const maxChanged = { part: 4, entities: 10_000 }

/** The bases of deleted and abandoned scans. Small statements, each in its own transaction. */
export const makeTidyScans = (sql: SqlClient) => {
  const runTransaction = makeRunTransaction(sql)
  const { tryLock } = makeHealthSnapshots(sql)

  /** Whether no snapshot shows the base `b` and no scan extends it. */
  const isUnused = (accountId: AccountId) => sql`
    NOT EXISTS (SELECT FROM health_snapshot s WHERE s.account_id = ${accountId} AND s.base = b.base)
    AND (
      b.reached IS NULL OR b.fingerprint = ''
      OR EXISTS (
        SELECT FROM health_base n
        WHERE n.account_id = ${accountId} AND n.dimension = b.dimension AND n.scope = b.scope AND n.base > b.base
      )
    )`

  const unused = findAll(Schema.Struct({ base: Schema.Number, dimension: HealthDimension }))(
    (accountId: AccountId) => sql`
      SELECT b.base, b.dimension FROM health_base b WHERE b.account_id = ${accountId} AND ${isUnused(accountId)}`
  )

  /**
   * Makes an unused base unusable, so that no scan continues it while its rows are deleted. Returns nothing if a scan uses it now, or
   * if the dimension is locked: the running scan can use it, and tidies afterwards.
   */
  const disable = (accountId: AccountId, base: number, dimension: HealthDimension) =>
    Effect.flatMap(tryLock(accountId, dimension), (isLocked) =>
      isLocked
        ? sql`
            UPDATE health_base b SET fingerprint = ''
            WHERE b.account_id = ${accountId} AND b.base = ${base} AND ${isUnused(accountId)}
            RETURNING b.base`
        : Effect.succeed([])
    ).pipe(runTransaction)

  const removeSome = (accountId: AccountId, base: number) =>
    Effect.map(
      sql`
        DELETE FROM health_issue i
        WHERE i.account_id = ${accountId} AND i.ctid = ANY(ARRAY(
          SELECT o.ctid FROM health_issue o
          WHERE o.account_id = ${accountId} AND o.base = ${base} LIMIT ${sql.literal(String(rowsAtOnce))}
        ))
        RETURNING 1 ${sql.literal(planCustom)}`,
      ({ length }) => length
    )

  const scanned = findAll(Schema.Struct({ id: AccountId }))(
    () => sql`SELECT DISTINCT b.account_id AS id FROM health_base b ${sql.literal(allAccounts)}`
  )

  const tidy = (accountId: AccountId) =>
    Effect.gen(function* () {
      let removed = 0
      for (const { base, dimension } of yield* unused(accountId)) {
        if ((yield* disable(accountId, base, dimension)).length === 0) continue
        removed += yield* untilNone(removeSome(accountId, base))
        yield* sql`DELETE FROM health_base b WHERE b.account_id = ${accountId} AND b.base = ${base}`
      }
      return removed
    }).pipe(orDie)

  return {
    tidy,
    tidyAll: Effect.flatMap(scanned(), (accounts) =>
      Effect.map(
        Effect.forEach(accounts, ({ id }) => tidy(id)),
        (removed) => Num.sumAll(removed)
      )
    )
  }
}
