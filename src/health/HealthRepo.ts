import { SqlClient, SqlSchema } from "@effect/sql"
import { Array as Arr, Context, Effect, Layer, Option, Schema } from "effect"
import { planCustom, readsAll } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { readMetafieldRules } from "../drafts/DefinitionsRepo.ts"
import { EntityKind } from "../model/Attribute.ts"
import { AccountId, StoreId } from "../model/Ids.ts"
import { builtInKeyRules, KeyRules } from "../model/KeyRules.ts"
import { Platform } from "../model/Store.ts"
import { Timestamp } from "../model/Timestamp.ts"
import {
  defaultRules,
  dimensionOf,
  HealthDimension,
  HealthIssue,
  HealthRules,
  type HealthSection,
  isPerStore,
  kindsWith
} from "./Health.ts"
import { type Counts, isChecked, isScanned, populationOf, resultOf } from "./HealthScan.ts"
import { makeHealthScans } from "./HealthScans.ts"
import { makeLinkedStores } from "./scans/ScanParts.sql.ts"

/** What of a section's rows is asked for. */
export interface IssueQuery {
  readonly section: HealthSection
  /** From 1. */
  readonly page: number
  readonly pageSize: number
  readonly storeId: StoreId | null
  readonly locale: string | null
}

/** Which of a section's rows are counted. */
export type IssueFilter = Omit<IssueQuery, "page" | "pageSize">

/** A page of a section, as of its last scan. */
export interface IssueRows {
  readonly scannedAt: Timestamp
  readonly rows: ReadonlyArray<HealthIssue>
  readonly hasNext: boolean
  /** What the snapshot says of `compared`; null: nothing. */
  readonly compared: number | null
}

/**
 * Snapshots of the catalog's quality and the rows behind them. A scan is written in whole by one transaction; readers see
 * the last one.
 */
export class HealthRepo extends Context.Tag("catalog/HealthRepo")<
  HealthRepo,
  {
    /** A number, larger than all before it, whoever drew them: a scan of a larger one began later. */
    readonly ticket: Effect.Effect<number>
    /** Takes the right to scan a dimension until the transaction ends; false: somebody else has it. Never waits. */
    readonly tryLock: (accountId: AccountId, dimension: HealthDimension) => Effect.Effect<boolean>
    /** The number of the last scan, of the account or of a store; 0: none. */
    readonly lastRun: (
      accountId: AccountId,
      dimension: HealthDimension,
      storeId: StoreId | null
    ) => Effect.Effect<number>
    /**
     * Scans the account, with each store where stores have snapshots of their own, or one store. Everything is read as of
     * one moment. Answers the scan's number; the account's counter is the caller's to raise. A store that is not linked has
     * no snapshot afterwards.
     */
    readonly scan: (accountId: AccountId, dimension: HealthDimension, storeId: StoreId | null) => Effect.Effect<number>
    /** The last snapshots of the account, or of a store (where it has its own), as JSON text by dimension. */
    readonly snapshots: (
      accountId: AccountId,
      storeId: StoreId | null
    ) => Effect.Effect<ReadonlyMap<HealthDimension, string>>
    /** None: the section was never scanned. */
    readonly issues: (accountId: AccountId, query: IssueQuery) => Effect.Effect<Option.Option<IssueRows>>
    /** Rows that the pages of `issues` deliver together; 0 also where the section was never scanned. */
    readonly countIssues: (accountId: AccountId, filter: IssueFilter) => Effect.Effect<number>
    readonly rules: (accountId: AccountId) => Effect.Effect<HealthRules>
    /** The same, which nobody else changes until the transaction ends. */
    readonly lockRules: (accountId: AccountId) => Effect.Effect<HealthRules>
    readonly keepRules: (accountId: AccountId, rules: HealthRules) => Effect.Effect<void>
    /**
     * Takes away what knows of a store that is being unlinked: its own snapshots, and all of the account, whose dimensions
     * are answered. Waits for scans that run, and keeps others out until the transaction ends.
     */
    readonly forgetStore: (accountId: AccountId, storeId: StoreId) => Effect.Effect<ReadonlyArray<HealthDimension>>
  }
>() {
  static readonly layer = Layer.effect(
    HealthRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const found = makeHealthScans(sql)
      const metafields = readMetafieldRules(sql)
      const linkedStores = makeLinkedStores(sql)
      const all = sql.literal(`${planCustom} ${readsAll}`)

      const Run = Schema.Struct({ run: Schema.Number })
      const draw = SqlSchema.single({
        Request: Schema.Void,
        Result: Run,
        execute: () => sql`SELECT nextval('health_run') AS run`
      })

      const tryLock = SqlSchema.single({
        Request: Schema.Struct({ accountId: AccountId, dimension: HealthDimension }),
        Result: Schema.Struct({ locked: Schema.Boolean }),
        execute: ({ accountId, dimension }) => sql`
          SELECT pg_try_advisory_xact_lock(
            hashtextextended('health ' || ${dimension}::text || ' ' || ${accountId}::text, 0)
          ) AS locked`
      })

      const OfSnapshot = Schema.Struct({
        accountId: AccountId,
        dimension: HealthDimension,
        storeId: Schema.NullOr(StoreId)
      })

      const lastRun = SqlSchema.findOne({
        Request: OfSnapshot,
        Result: Run,
        execute: ({ accountId, dimension, storeId }) => sql`
          SELECT run FROM health_snapshot
          WHERE account_id = ${accountId} AND dimension = ${dimension}
            AND ${storeId === null ? sql`store_id IS NULL` : sql`store_id = ${storeId}`}`
      })

      const readRules = SqlSchema.findOne({
        Request: AccountId,
        Result: Schema.Struct({ rules: HealthRules }),
        execute: (accountId) => sql`SELECT rules FROM completeness_rule WHERE account_id = ${accountId}`
      })
      const rulesOf = (accountId: AccountId) =>
        Effect.map(readRules(accountId), Option.match({ onNone: () => defaultRules, onSome: ({ rules }) => rules }))

      /** An account without rules of its own gets the usual ones: a row that is not there cannot be locked. */
      const lockRules = SqlSchema.single({
        Request: AccountId,
        Result: Schema.Struct({ rules: HealthRules }),
        execute: (accountId) => sql`
          INSERT INTO completeness_rule (account_id, rules) VALUES (${accountId}, ${JSON.stringify(defaultRules)}::jsonb)
          ON CONFLICT (account_id) DO UPDATE SET rules = completeness_rule.rules
          RETURNING rules`
      })

      /** One statement, so one moment: the rows are found and written, and what was looked at is counted. */
      const writeRows = SqlSchema.single({
        Request: Schema.Struct({
          ...OfSnapshot.fields,
          run: Schema.Number,
          rules: Schema.typeSchema(HealthRules),
          keys: Schema.instanceOf(KeyRules)
        }),
        Result: Schema.Struct({
          asOfVersion: Schema.Number,
          stores: Schema.Array(Schema.Struct({ id: StoreId, platform: Platform })),
          groups: Schema.Array(
            Schema.Struct({ kind: EntityKind, storeIds: Schema.Array(StoreId), entities: Schema.Number })
          ),
          unusedOnNoStore: Schema.Number
        }),
        execute: ({ accountId, dimension, keys, rules, run, storeId }) => {
          const hasLocales = dimension === "translations"
          const kinds = new Set([
            ...populationOf(dimension, rules).kinds,
            ...(dimension === "completeness" ? kindsWith("recommended", rules) : [])
          ])
          return sql`
            WITH linked AS MATERIALIZED (
              ${linkedStores(accountId, storeId)}
            ), found AS MATERIALIZED (
              -- What is found is narrow, what it is found in is wide: numbering it takes sorts.
              ${found[dimension]({ accountId, keys, rules })}
            ), written AS (
              INSERT INTO health_issue (account_id, run, section, ordinal, store_ordinal, locale_ordinal,
                                        store_locale_ordinal, entity_id, entity_type, title, store_id, locale, fields,
                                        shown)
              SELECT ${accountId}::uuid, ${run}::bigint, f.section,
                     row_number() OVER (PARTITION BY f.section ORDER BY f.entity_id, f.store_id, f.locale COLLATE "C"),
                     row_number() OVER (PARTITION BY f.section, f.store_id ORDER BY f.entity_id, f.locale COLLATE "C"),
                     ${
                       hasLocales
                         ? sql`
                     row_number() OVER (PARTITION BY f.section, f.locale ORDER BY f.entity_id, f.store_id),
                     row_number() OVER (PARTITION BY f.section, f.store_id, f.locale ORDER BY f.entity_id),`
                         : sql`NULL, NULL,`
                     }
                     f.entity_id, f.entity_type, f.title, f.store_id, f.locale, f.fields, f.shown
              FROM found f
            )
            SELECT (SELECT a.version FROM account a WHERE a.id = ${accountId}) AS "asOfVersion",
                   ARRAY(
                     SELECT json_build_object('id', l.id, 'platform', l.platform)
                     FROM linked l ORDER BY l.domain COLLATE "C", l.id
                   ) AS stores,
                   (
                     SELECT coalesce(json_agg(
                              json_build_object('kind', g.kind, 'storeIds', g.store_ids, 'entities', g.entities)
                            ), '[]')
                     FROM (
                       SELECT e.kind, e.store_ids, count(*) AS entities
                       FROM entity e
                       WHERE e.account_id = ${accountId} AND e.kind = ANY(${[...kinds]}::text[])
                       GROUP BY e.kind, e.store_ids
                     ) g
                   ) AS groups,
                   ${
                     dimension === "media"
                       ? sql`(
                         SELECT count(*) FROM entity e
                         WHERE e.account_id = ${accountId} AND e.kind = 'media' AND e.store_ids = '{}'
                           AND NOT EXISTS (
                             SELECT FROM entity_media g WHERE g.account_id = ${accountId} AND g.media_id = e.id
                           )
                       )`
                       : sql`0`
                   } AS "unusedOnNoStore" ${all}`
        }
      })

      /** The rows of a run, counted: of the account (storeId null) and of each store. */
      const countRows = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, run: Schema.Number, dimension: HealthDimension }),
        Result: Schema.Struct({
          storeId: Schema.NullOr(StoreId),
          what: Schema.Literal("all", "section", "field", "locale"),
          name: Schema.String,
          rows: Schema.Number,
          entities: Schema.Number
        }),
        execute: ({ accountId, dimension, run }) => {
          const byStore = isPerStore(dimension)
          // A recommended field has a share of its own, and does not make an entity incomplete.
          const scored = dimension === "completeness" ? sql`AND i.section = 'completeness-required'` : sql``
          const rows = sql`health_issue i WHERE i.account_id = ${accountId} AND i.run = ${run}`
          const fields = sql`(
            SELECT DISTINCT i.entity_id, i.store_id, f.name
            FROM health_issue i CROSS JOIN LATERAL unnest(i.fields) AS f (name)
            WHERE i.account_id = ${accountId} AND i.run = ${run}
          ) f`
          return sql`
            SELECT NULL::uuid AS "storeId", 'all' AS what, '' AS name, 0 AS rows, count(DISTINCT i.entity_id) AS entities
            FROM ${rows} ${scored}
            UNION ALL
            SELECT i.store_id, 'all', '', 0, count(DISTINCT i.entity_id) FROM ${rows} ${scored} GROUP BY i.store_id
            UNION ALL
            SELECT NULL, 'section', i.section, count(*), count(DISTINCT i.entity_id) FROM ${rows} GROUP BY i.section
            UNION ALL
            SELECT NULL, 'field', f.name, 0, count(DISTINCT f.entity_id) FROM ${fields} GROUP BY f.name
            ${
              byStore
                ? sql`
            UNION ALL
            SELECT i.store_id, 'section', i.section, count(*), count(DISTINCT i.entity_id)
            FROM ${rows} GROUP BY i.store_id, i.section
            UNION ALL
            SELECT f.store_id, 'field', f.name, 0, count(*) FROM ${fields} GROUP BY f.store_id, f.name`
                : sql``
            }
            ${
              dimension === "translations"
                ? sql`
            UNION ALL
            SELECT NULL, 'locale', i.locale, 0, count(DISTINCT i.entity_id) FROM ${rows} GROUP BY i.locale
            UNION ALL
            SELECT i.store_id, 'locale', i.locale, 0, count(DISTINCT i.entity_id)
            FROM ${rows} GROUP BY i.store_id, i.locale`
                : sql``
            } ${all}`
        }
      })

      /** What the scan replaces: all of the dimension, or one store's. Answers the numbers of the scans that wrote it. */
      const removeSnapshots = SqlSchema.findAll({
        Request: OfSnapshot,
        Result: Run,
        execute: ({ accountId, dimension, storeId }) => sql`
          DELETE FROM health_snapshot
          WHERE account_id = ${accountId} AND dimension = ${dimension}
            AND ${storeId === null ? sql`true` : sql`store_id = ${storeId}`}
          RETURNING run`
      })

      /** Rows of scans that no snapshot is of any more. */
      const removeRows = (accountId: AccountId, runs: ReadonlyArray<number>) =>
        sql`
          DELETE FROM health_issue i
          USING unnest(${[...new Set(runs)]}::bigint[]) AS old (run)
          WHERE i.account_id = ${accountId} AND i.run = old.run
            AND NOT EXISTS (
              SELECT FROM health_snapshot s WHERE s.account_id = ${accountId} AND s.run = old.run
            ) ${all}`

      const scanNow = (accountId: AccountId, dimension: HealthDimension, storeId: StoreId | null) =>
        Effect.gen(function* () {
          // It reads everything and sorts what it finds: both take their time, and more memory than a page.
          yield* sql`SET LOCAL statement_timeout = '10min'`
          yield* sql`SET LOCAL work_mem = '64MB'`
          const rules = yield* rulesOf(accountId)
          const { run } = yield* draw()
          const keys = dimension === "structure" ? new KeyRules(yield* metafields(accountId)) : builtInKeyRules
          const written = yield* writeRows({ accountId, dimension, storeId, run, rules, keys })
          const counted = yield* countRows({ accountId, dimension, run })
          const { kinds, leastStores } = populationOf(dimension, rules)
          const storeIds = written.stores.map(({ id }) => id)
          const scanned = new Set(written.stores.filter((store) => isScanned(dimension, store)).map(({ id }) => id))
          const groups = written.groups.filter(({ kind }) => kinds.includes(kind))
          const checkedOf = (all: typeof groups, scope: StoreId | null) =>
            all.filter((group) => isChecked(group.storeIds, leastStores, scanned, scope))
          const entitiesIn = (some: typeof groups) => Arr.reduce(some, 0, (sum, { entities }) => sum + entities)
          const recommended = kindsWith("recommended", rules)
          const scopes: ReadonlyArray<StoreId | null> =
            storeId === null
              ? [null, ...(isPerStore(dimension) ? storeIds : [])]
              : storeIds.filter((id) => id === storeId)
          const snapshots = scopes.map((scope) => {
            // A store's scan wrote that store's rows alone: they are all there are.
            const about = counted.filter((row) => row.storeId === (storeId === null ? scope : null))
            const named = (what: string) => about.filter((row) => row.what === what)
            const checked = checkedOf(groups, scope)
            const counts: Counts = {
              checked: entitiesIn(checked),
              affected: named("all")[0]?.entities ?? 0,
              onNoStore: scope === null ? entitiesIn(groups.filter(({ storeIds }) => storeIds.length === 0)) : 0,
              recommendedChecked: entitiesIn(
                checkedOf(
                  written.groups.filter(({ kind }) => recommended.includes(kind)),
                  scope
                )
              ),
              byStore: new Map(
                storeIds.map((id) => [
                  id,
                  {
                    checked: scanned.has(id) ? entitiesIn(checked.filter((group) => group.storeIds.includes(id))) : 0,
                    affected: counted.find((row) => row.storeId === id && row.what === "all")?.entities ?? 0
                  }
                ])
              ),
              byField: new Map(named("field").map(({ entities, name }) => [name, entities])),
              bySection: new Map(named("section").map(({ entities, name, rows }) => [name, { rows, entities }])),
              byLocale: new Map(named("locale").map(({ entities, name }) => [name, entities])),
              unusedOnNoStore: written.unusedOnNoStore
            }
            const result = resultOf(dimension, counts, scope === null ? storeIds : [scope], rules)
            return { storeId: scope, result: JSON.stringify(result) }
          })
          const replaced = yield* removeSnapshots({ accountId, dimension, storeId })
          yield* sql`
            INSERT INTO health_snapshot (account_id, dimension, store_id, run, as_of_version, scanned_at, result)
            SELECT ${accountId}::uuid, ${dimension}, r."storeId", ${run}::bigint, ${written.asOfVersion}::bigint,
                   -- Asked once: the snapshots of a scan are of one time.
                   (SELECT app_now()), r.result::json
            FROM jsonb_to_recordset(${JSON.stringify(snapshots)}::jsonb) AS r ("storeId" uuid, result text)`
          if (replaced.length > 0)
            yield* removeRows(
              accountId,
              replaced.map(({ run }) => run)
            )
          return run
        })

      const readSnapshots = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, storeId: Schema.NullOr(StoreId) }),
        Result: Schema.Struct({ dimension: HealthDimension, text: Schema.String }),
        execute: ({ accountId, storeId }) => sql`
          SELECT dimension,
                 '{"dimension":"' || dimension || '","scanned":true,"result":' || result::text || ',"scanned_at":"'
                   || rfc3339(scanned_at) || '","as_of_version":' || as_of_version || '}' AS text
          FROM health_snapshot
          WHERE account_id = ${accountId}
            AND CASE WHEN ${storeId}::uuid IS NOT NULL AND dimension IN ('sync', 'completeness', 'translations')
                  THEN store_id = ${storeId}::uuid ELSE store_id IS NULL END`
      })

      const InSection = Schema.Struct({
        accountId: AccountId,
        dimension: HealthDimension,
        section: Schema.String,
        snapshotOf: Schema.NullOr(StoreId),
        storeId: Schema.NullOr(StoreId),
        locale: Schema.NullOr(Schema.String)
      })
      type InSection = typeof InSection.Encoded

      /** Which snapshot answers for a section's rows, and which of them. */
      const inSection = (accountId: AccountId, { locale, section, storeId }: IssueFilter): typeof InSection.Type => {
        const dimension = dimensionOf(section)
        return {
          accountId,
          dimension,
          section,
          snapshotOf: isPerStore(dimension) ? storeId : null,
          storeId,
          locale: dimension === "translations" ? locale : null
        }
      }

      /** The column that numbers the rows under these filters. */
      const ordinalOf = ({ locale, storeId }: InSection) =>
        sql.literal(`i.${storeId === null ? "" : "store_"}${locale === null ? "" : "locale_"}ordinal`)

      /** The rows of a snapshot under these filters. */
      const rowsOf = ({ accountId, locale, section, storeId }: InSection) => sql`
                     FROM health_issue i
                     WHERE i.account_id = ${accountId} AND i.run = s.run AND i.section = ${section}
                       ${storeId === null ? sql`` : sql`AND i.store_id = ${storeId}`}
                       ${locale === null ? sql`` : sql`AND i.locale = ${locale}`}`

      const snapshotOf = ({ accountId, dimension, snapshotOf: storeId }: InSection) => sql`
            FROM health_snapshot s
            WHERE s.account_id = ${accountId} AND s.dimension = ${dimension}
              AND ${storeId === null ? sql`s.store_id IS NULL` : sql`s.store_id = ${storeId}`}`

      const readIssues = SqlSchema.findOne({
        Request: Schema.Struct({ ...InSection.fields, after: Schema.Number, count: Schema.Number }),
        Result: Schema.Struct({
          scannedAt: Timestamp,
          compared: Schema.NullOr(Schema.Number),
          rows: Schema.Array(HealthIssue)
        }),
        execute: ({ after, count, ...asked }) => {
          const ordinal = ordinalOf(asked)
          return sql`
            SELECT rfc3339(s.scanned_at) AS "scannedAt",
                   CASE WHEN s.dimension = 'divergence' THEN (s.result ->> 'compared')::integer END AS compared,
                   ARRAY(
                     SELECT jsonb_strip_nulls(jsonb_build_object(
                              'entity_id', i.entity_id, 'entity_type', i.entity_type, 'title', i.title,
                              'store_id', i.store_id, 'fields', i.fields, 'locale', i.locale
                            )
                            -- The variant as it is now: a scan does not read the products of all that it lists.
                            || CASE WHEN i.entity_type = 'variant' THEN (
                              SELECT jsonb_build_object(
                                'sku', coalesce(e.attributes #>> '{sku,value}', ''), 'product_id', p.id,
                                'product_title', p.title
                              )
                              FROM entity e JOIN entity p ON p.account_id = ${asked.accountId} AND p.id = e.parent_id
                              WHERE e.account_id = ${asked.accountId} AND e.id = i.entity_id
                            ) ELSE '{}' END
                            || CASE jsonb_typeof(i.shown)
                              WHEN 'array' THEN jsonb_build_object('values', i.shown)
                              WHEN 'object' THEN i.shown
                              ELSE '{}'
                            END)
                     ${rowsOf(asked)}
                       AND ${ordinal} > ${after}::bigint AND ${ordinal} <= ${after}::bigint + ${count}::bigint
                     ORDER BY ${ordinal}
                   ) AS rows
            ${snapshotOf(asked)}`
        }
      })

      /** Rows are numbered without gaps: the last one's number is how many there are. */
      const countIssues = SqlSchema.findOne({
        Request: InSection,
        Result: Schema.Struct({ rows: Schema.Number }),
        execute: (asked) => sql`
            SELECT coalesce((SELECT ${ordinalOf(asked)} ${rowsOf(asked)} ORDER BY ${ordinalOf(asked)} DESC LIMIT 1), 0) AS rows
            ${snapshotOf(asked)}`
      })

      const lockAll = (accountId: AccountId) => sql`
        SELECT pg_advisory_xact_lock(hashtextextended('health ' || d.name || ' ' || ${accountId}::text, 0))
        FROM unnest(${HealthDimension.literals}::text[]) AS d (name)`

      const forget = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, storeId: StoreId }),
        Result: Schema.Struct({ run: Schema.Number, dimension: HealthDimension, storeId: Schema.NullOr(StoreId) }),
        execute: ({ accountId, storeId }) => sql`
          DELETE FROM health_snapshot
          WHERE account_id = ${accountId} AND (store_id = ${storeId} OR store_id IS NULL)
          RETURNING run, dimension, store_id AS "storeId"`
      })

      return {
        ticket: Effect.map(Effect.orDie(draw()), ({ run }) => run),
        tryLock: (accountId, dimension) =>
          Effect.map(Effect.orDie(tryLock({ accountId, dimension })), ({ locked }) => locked),
        lastRun: (accountId, dimension, storeId) =>
          Effect.map(
            orDie(lastRun({ accountId, dimension, storeId })),
            Option.match({ onNone: () => 0, onSome: ({ run }) => run })
          ),
        scan: (accountId, dimension, storeId) =>
          orDie(Effect.catchTag(scanNow(accountId, dimension, storeId), "NoSuchElementException", Effect.die)),
        snapshots: (accountId, storeId) =>
          Effect.map(
            orDie(readSnapshots({ accountId, storeId })),
            (rows) => new Map(rows.map(({ dimension, text }) => [dimension, text]))
          ),
        issues: (accountId, { page, pageSize, ...filter }) =>
          Effect.map(
            // One more tells whether others follow.
            orDie(readIssues({ ...inSection(accountId, filter), after: (page - 1) * pageSize, count: pageSize + 1 })),
            Option.map(({ rows, ...page }) => ({
              ...page,
              rows: rows.slice(0, pageSize),
              hasNext: rows.length > pageSize
            }))
          ),
        countIssues: (accountId, filter) =>
          Effect.map(
            orDie(countIssues(inSection(accountId, filter))),
            Option.match({ onNone: () => 0, onSome: ({ rows }) => rows })
          ),
        rules: (accountId) => orDie(rulesOf(accountId)),
        lockRules: (accountId) => Effect.map(Effect.orDie(lockRules(accountId)), ({ rules }) => rules),
        keepRules: (accountId, rules) =>
          sql`
            INSERT INTO completeness_rule (account_id, rules) VALUES (${accountId}, ${JSON.stringify(rules)}::jsonb)
            ON CONFLICT (account_id) DO UPDATE SET rules = excluded.rules`.pipe(Effect.asVoid, orDie),
        forgetStore: (accountId, storeId) =>
          Effect.gen(function* () {
            yield* lockAll(accountId)
            const removed = yield* forget({ accountId, storeId })
            if (removed.length > 0)
              yield* removeRows(
                accountId,
                removed.map(({ run }) => run)
              )
            return removed.flatMap(({ dimension, storeId }) => (storeId === null ? [dimension] : []))
          }).pipe(orDie)
      }
    })
  )
}
