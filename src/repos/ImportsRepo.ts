import { SqlClient, SqlSchema } from "@effect/sql"
import { Array as Arr, Context, Effect, Layer, type Option, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import type { CatalogChange } from "../domain/CatalogChange.ts"
import { CatalogChangeJson } from "../domain/CatalogChangeJson.ts"
import { AccountId, EntityId, ImportId, type StoreId } from "../domain/Ids.ts"
import { type ImportPhase, ImportRun, type ImportSummary, noProducts } from "../domain/Import.ts"

/** The changes of one product of an import. */
export interface StagedItem {
  readonly ordinal: number
  /** How many entities the changes own. */
  readonly entities: number
  readonly changes: ReadonlyArray<CatalogChange>
}

/** An import that a process works on, or worked on until its lease ran out. */
export interface LeasedRun {
  readonly accountId: AccountId
  readonly id: ImportId
  readonly phase: "fetching" | "applying"
  readonly takeovers: number
}

/** Imports and what they will do. Only SQL: a test that needs them runs on the embedded database in memory. */
export class ImportsRepo extends Context.Tag("catalog/ImportsRepo")<
  ImportsRepo,
  {
    /** A new import in `fetching`, leased. */
    readonly create: (
      accountId: AccountId,
      run: { readonly id: ImportId; readonly storeId: StoreId; readonly fileName: string }
    ) => Effect.Effect<void>
    readonly find: (accountId: AccountId, id: ImportId) => Effect.Effect<Option.Option<ImportRun>>
    /** Newest first. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<ImportRun>>
    /** Moves an import on; what is not given stays. Without `leased` its lease ends. */
    readonly move: (
      accountId: AccountId,
      id: ImportId,
      to: {
        readonly phase: ImportPhase
        readonly leased: boolean
        readonly summary?: ImportSummary | undefined
        readonly error?: string | undefined
      }
    ) => Effect.Effect<void>
    /** Extends the lease by 60 s; false when the import is no longer in this phase. */
    readonly renew: (accountId: AccountId, id: ImportId, phase: ImportPhase) => Effect.Effect<boolean>
    /** Ends the lease on an import that is being applied: whoever asks next takes it over. */
    readonly release: (accountId: AccountId, id: ImportId) => Effect.Effect<void>
    /**
     * Takes over one import whose lease ran out, if there is one, of this account and with this id (null: any): leased
     * again, its takeovers counted.
     */
    readonly takeOver: (among: {
      readonly accountId: AccountId | null
      readonly id: ImportId | null
    }) => Effect.Effect<Option.Option<LeasedRun>>
    /** Imports that nobody decided about within 7 days of the beginning of their review. */
    readonly abandoned: Effect.Effect<ReadonlyArray<{ readonly accountId: AccountId; readonly id: ImportId }>>
    /** Deletes the items of imports that ended more than 7 days ago; how many items. */
    readonly forgetStaged: Effect.Effect<number>
    readonly stage: (accountId: AccountId, id: ImportId, items: ReadonlyArray<StagedItem>) => Effect.Effect<void>
    /** Items that are not done, in order, at most so many entities together but at least one item. */
    readonly nextItems: (
      accountId: AccountId,
      id: ImportId,
      mostEntities: number
    ) => Effect.Effect<ReadonlyArray<StagedItem>>
    /** These, which follow those done before, and with them all before them. */
    readonly markDone: (
      accountId: AccountId,
      id: ImportId,
      items: Arr.NonEmptyReadonlyArray<StagedItem>
    ) => Effect.Effect<void>
    /** Forgets what an import would still do. */
    readonly clear: (accountId: AccountId, id: ImportId) => Effect.Effect<void>
    /** Products that these SKUs (of variants) and handles lead to. A SKU of two variants leads nowhere. */
    readonly match: (
      accountId: AccountId,
      skus: ReadonlyArray<string>,
      handles: ReadonlyArray<string>
    ) => Effect.Effect<{
      readonly bySku: ReadonlyMap<string, EntityId>
      readonly byHandle: ReadonlyMap<string, EntityId>
    }>
    readonly accountVersion: (accountId: AccountId) => Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    ImportsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const runColumns = sql`
        i.id, i.store_id AS "storeId", s.domain AS "storeDomain", i.file_name AS "fileName", i.phase, i.summary, i.error,
        i.applied, rfc3339(i.created_at) AS "createdAt", rfc3339(i.updated_at) AS "updatedAt"`

      const find = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: AccountId, id: ImportId }),
        Result: ImportRun,
        execute: ({ accountId, id }) => sql`
          SELECT ${runColumns}
          FROM import_run i JOIN store s ON s.account_id = i.account_id AND s.id = i.store_id
          WHERE i.account_id = ${accountId} AND i.id = ${id}`
      })
      const list = SqlSchema.findAll({
        Request: AccountId,
        Result: ImportRun,
        execute: (accountId) => sql`
          SELECT ${runColumns}
          FROM import_run i JOIN store s ON s.account_id = i.account_id AND s.id = i.store_id
          WHERE i.account_id = ${accountId}
          ORDER BY i.created_at DESC, i.id`
      })
      const takeOver = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: Schema.NullOr(AccountId), id: Schema.NullOr(ImportId) }),
        Result: Schema.Struct({
          accountId: AccountId,
          id: ImportId,
          phase: Schema.Literal("fetching", "applying"),
          takeovers: Schema.Int
        }),
        execute: ({ accountId, id }) => sql`
          UPDATE import_run i
          SET lease_until = app_now() + interval '60 seconds', takeovers = i.takeovers + 1, updated_at = app_now()
          WHERE (i.account_id, i.id) = (
            SELECT e.account_id, e.id FROM import_run e
            WHERE e.phase IN ('fetching', 'applying') AND e.lease_until <= app_now()
              AND (${accountId}::uuid IS NULL OR e.account_id = ${accountId}) AND (${id}::uuid IS NULL OR e.id = ${id})
            ORDER BY e.lease_until LIMIT 1
            FOR UPDATE SKIP LOCKED
          )
          RETURNING i.account_id AS "accountId", i.id, i.phase, i.takeovers`
      })
      const abandoned = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Schema.Struct({ accountId: AccountId, id: ImportId }),
        execute: () => sql`
          SELECT account_id AS "accountId", id FROM import_run
          WHERE phase = 'reviewing' AND updated_at <= app_now() - interval '7 days'
          ORDER BY updated_at, id`
      })
      // In statements that do not run long; by their place, as a join with so many rows would scan the table.
      const forgetSome = Effect.map(
        sql`
          WITH gone AS (
            DELETE FROM import_item d
            WHERE d.ctid = ANY(ARRAY(
              SELECT t.ctid
              FROM import_run r JOIN import_item t ON t.account_id = r.account_id AND t.run_id = r.id
              WHERE r.phase IN ('applied', 'discarded', 'failed') AND r.updated_at <= app_now() - interval '7 days'
              LIMIT 10000
            ))
            RETURNING d.ordinal
          )
          SELECT count(*)::integer AS count FROM gone`,
        ([row]) => Number(row?.count ?? 0)
      )
      const doneThrough = (accountId: string, id: string) =>
        sql`(SELECT r.done_through FROM import_run r WHERE r.account_id = ${accountId} AND r.id = ${id})`
      const nextItems = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, id: ImportId, most: Schema.Int }),
        Result: Schema.Struct({ ordinal: Schema.Int, entities: Schema.Int, changes: Schema.Array(CatalogChangeJson) }),
        execute: ({ accountId, id, most }) => sql`
          SELECT n.ordinal, n.entities, n.changes
          FROM (
            SELECT f.ordinal, f.entities, f.changes, sum(f.entities) OVER (ORDER BY f.ordinal) AS total,
                   row_number() OVER (ORDER BY f.ordinal) AS place
            FROM (
              SELECT t.ordinal, t.entities, t.changes FROM import_item t
              WHERE t.account_id = ${accountId} AND t.run_id = ${id} AND t.ordinal > ${doneThrough(accountId, id)}
              ORDER BY t.ordinal LIMIT ${most}
            ) f
          ) n
          WHERE n.total <= ${most} OR n.place = 1
          ORDER BY n.ordinal`
      })
      const Found = Schema.Struct({ key: Schema.String, productId: EntityId })
      // A look-up a key: of an expression in a partial index the planner knows nothing, and for a list of keys expects so many
      // rows that it would scan the table.
      const matchSkus = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, keys: Schema.Array(Schema.String) }),
        Result: Found,
        execute: ({ accountId, keys }) => sql`
          SELECT k.key, min(f.parent_id::text) AS "productId"
          FROM (SELECT DISTINCT unnest(${keys}::text[]) AS key) k
          CROSS JOIN LATERAL (
            SELECT e.parent_id FROM entity e
            WHERE e.account_id = ${accountId} AND e.kind = 'variant' AND e.attributes #>> '{sku,value}' = k.key
            LIMIT 2
          ) f
          GROUP BY k.key
          HAVING count(*) = 1`
      })
      const matchHandles = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, keys: Schema.Array(Schema.String) }),
        Result: Found,
        execute: ({ accountId, keys }) => sql`
          SELECT k.key, min(f.id::text) AS "productId"
          FROM (SELECT DISTINCT unnest(${keys}::text[]) AS key) k
          CROSS JOIN LATERAL (
            SELECT e.id FROM entity e
            WHERE e.account_id = ${accountId} AND e.kind = 'product' AND e.attributes #>> '{handle,value}' = k.key
            LIMIT 2
          ) f
          GROUP BY k.key
          HAVING count(*) = 1`
      })
      const accountVersion = SqlSchema.single({
        Request: AccountId,
        Result: Schema.Struct({ version: Schema.Number }),
        execute: (accountId) => sql`SELECT version FROM account WHERE id = ${accountId}`
      })
      const byKey = (found: ReadonlyArray<typeof Found.Type>) =>
        new Map(found.map(({ key, productId }) => [key, productId]))

      return {
        create: (accountId, run) =>
          sql`
            INSERT INTO import_run (account_id, id, store_id, source, file_name, phase, lease_until, summary)
            VALUES (${accountId}, ${run.id}, ${run.storeId}, 'csv', ${run.fileName}, 'fetching',
                    app_now() + interval '60 seconds', ${JSON.stringify(noProducts)}::jsonb)`.pipe(
            Effect.asVoid,
            orDie
          ),
        find: (accountId, id) => orDie(find({ accountId, id })),
        list: (accountId) => orDie(list(accountId)),
        move: (accountId, id, { error, leased, phase, summary }) =>
          sql`
            UPDATE import_run
            SET phase = ${phase}, updated_at = app_now(),
                lease_until = CASE WHEN ${leased} THEN app_now() + interval '60 seconds' END,
                summary = coalesce(${summary === undefined ? null : JSON.stringify(summary)}::jsonb, summary),
                error = coalesce(${error ?? null}::text, error)
            WHERE account_id = ${accountId} AND id = ${id}`.pipe(Effect.asVoid, orDie),
        renew: (accountId, id, phase) =>
          sql`
            UPDATE import_run SET lease_until = app_now() + interval '60 seconds'
            WHERE account_id = ${accountId} AND id = ${id} AND phase = ${phase}
            RETURNING id`.pipe(
            Effect.map((rows) => rows.length > 0),
            orDie
          ),
        release: (accountId, id) =>
          sql`
            UPDATE import_run SET lease_until = app_now()
            WHERE account_id = ${accountId} AND id = ${id} AND phase = 'applying'`.pipe(Effect.asVoid, orDie),
        takeOver: (among) => orDie(takeOver(among)),
        abandoned: orDie(abandoned()),
        forgetStaged: Effect.iterate(
          { deleted: -1, total: 0 },
          {
            while: ({ deleted }) => deleted !== 0,
            body: ({ total }) => Effect.map(forgetSome, (deleted) => ({ deleted, total: total + deleted }))
          }
        ).pipe(
          Effect.map(({ total }) => total),
          orDie
        ),
        stage: (accountId, id, items) =>
          sql`
            INSERT INTO import_item (account_id, run_id, ordinal, entities, changes)
            SELECT ${accountId}::uuid, ${id}::uuid, r.ordinal, r.entities, r.changes
            FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb) AS r (ordinal integer, entities integer, changes jsonb)`.pipe(
            Effect.asVoid,
            orDie
          ),
        nextItems: (accountId, id, most) => orDie(nextItems({ accountId, id, most })),
        markDone: (accountId, id, items) =>
          sql`
            UPDATE import_run SET done_through = ${Arr.lastNonEmpty(items).ordinal}, applied = applied + ${items.length}
            WHERE account_id = ${accountId} AND id = ${id}`.pipe(Effect.asVoid, orDie),
        clear: (accountId, id) =>
          sql`
            DELETE FROM import_item
            WHERE account_id = ${accountId} AND run_id = ${id} AND ordinal > ${doneThrough(accountId, id)}`.pipe(
            Effect.asVoid,
            orDie
          ),
        match: (accountId, skus, handles) =>
          orDie(
            Effect.all({
              bySku: Effect.map(matchSkus({ accountId, keys: skus }), byKey),
              byHandle: Effect.map(matchHandles({ accountId, keys: handles }), byKey)
            })
          ),
        accountVersion: (accountId) => Effect.map(Effect.orDie(accountVersion(accountId)), ({ version }) => version)
      }
    })
  )
}
