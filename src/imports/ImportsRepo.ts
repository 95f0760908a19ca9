import { SqlClient, SqlSchema } from "@effect/sql"
import { Array as Arr, Context, Effect, Layer, type Option, Schema, Struct } from "effect"
import { untilNone } from "../database/Forgetting.ts"
import { LeaseHolder } from "../database/LeaseHolder.ts"
import { orDie } from "../database/SqlErrors.ts"
import { StagedChangeJson } from "../drafts/CatalogChangeJson.ts"
import { authorOf, HistoryActor } from "../drafts/History.ts"
import type { Actor } from "../model/Actor.ts"
import { AccountId, EntityId, ImportId, type StoreId } from "../model/Ids.ts"
import { PendingEntity } from "../publishing/PublicationRecord.ts"
import {
  ConflictDecision,
  ImportConflict,
  type ImportOrigin,
  type ImportPhase,
  ImportRun,
  type ImportSummary,
  maxNamedConflicts,
  nothingPlanned
} from "./Import.ts"
import type { FieldConflict, StagedChange } from "./ImportPlan.ts"

/** The changes of one product of an import; of a refresh also of one collection, file or entity to be unlinked. */
export interface StagedItem {
  readonly ordinal: number
  /** How many entities the changes own. */
  readonly entities: number
  readonly changes: ReadonlyArray<StagedChange>
}

/** The ordinals from which on items hold what the store answered, after all that the import itself brings. */
export const firstAnswer = 1_000_000_000

/** Whether an item is one of those that `plannedOf` counts. */
export const isPlanned = ({ ordinal }: StagedItem): boolean => firstAnswer > ordinal

/** A conflict as it is staged, with its number in its import. */
export interface StagedConflict extends FieldConflict {
  readonly ordinal: number
}

/**
 * An import that a process works on, or worked on until its lease ran out. The takeovers tell whether the lease is still the one that
 * the process took: each takeover counts one more.
 */
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
      run: {
        readonly id: ImportId
        readonly storeId: StoreId
        readonly source: ImportOrigin
        readonly fileName: string | null
        readonly actor: HistoryActor
      }
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
        readonly actor?: HistoryActor | undefined
      }
    ) => Effect.Effect<void>
    /** Extends the lease by 60 s; false when it was taken over, or the import left the phase. */
    readonly renew: (run: LeasedRun) => Effect.Effect<boolean>
    /** Whether nobody took the lease over and the import is still in the phase; if so, that stays until the transaction ends. */
    readonly holds: (run: LeasedRun) => Effect.Effect<boolean>
    /** Ends the lease, unless it was taken over: the next process that asks takes it over. */
    readonly release: (run: LeasedRun) => Effect.Effect<void>
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
    /** Deletes what is staged of imports that ended more than 7 days ago, conflicts too; how many items. */
    readonly forgetStaged: Effect.Effect<number>
    readonly stage: (accountId: AccountId, id: ImportId, items: ReadonlyArray<StagedItem>) => Effect.Effect<void>
    /** Conflicts of staged items, undecided, of one store. */
    readonly stageConflicts: (
      accountId: AccountId,
      id: ImportId,
      storeId: StoreId,
      conflicts: ReadonlyArray<StagedConflict>
    ) => Effect.Effect<void>
    /** By their numbers, from the first one after `after` (0: from the start), at most so many. */
    readonly conflicts: (
      accountId: AccountId,
      id: ImportId,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<ImportConflict>>
    /**
     * Decides these conflicts, or all of them, or all that have no decision yet; an earlier decision is replaced. The
     * numbers of those that there are.
     */
    readonly decide: (
      actor: Actor,
      id: ImportId,
      which: ReadonlyArray<number> | "all" | "undecided",
      decision: ConflictDecision
    ) => Effect.Effect<ReadonlyArray<number>>
    /** How many of its conflicts have no decision, and the numbers of the first ten of them. */
    readonly undecided: (
      accountId: AccountId,
      id: ImportId
    ) => Effect.Effect<{ readonly count: number; readonly first: ReadonlyArray<number> }>
    /** Those of these conflicts whose draft is kept. */
    readonly kept: (
      accountId: AccountId,
      id: ImportId,
      conflicts: ReadonlyArray<number>
    ) => Effect.Effect<ReadonlySet<number>>
    /** Items that are not done, in order, at most so many entities together but at least one item. */
    readonly nextItems: (
      accountId: AccountId,
      id: ImportId,
      mostEntities: number
    ) => Effect.Effect<ReadonlyArray<StagedItem>>
    /** The entities that its items change, with the keys of the values that they set. */
    readonly touched: (accountId: AccountId, id: ImportId) => Effect.Effect<ReadonlyMap<EntityId, ReadonlySet<string>>>
    /** The entities that it takes off the store, by their place among them, after one (0: from the start). */
    readonly removals: (
      accountId: AccountId,
      id: ImportId,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<PendingEntity>>
    /** These, which follow those done before, and with them all before them. */
    readonly markDone: (
      accountId: AccountId,
      id: ImportId,
      items: Arr.NonEmptyReadonlyArray<StagedItem>
    ) => Effect.Effect<void>
    /** Forgets what an import would still do, and before its review its conflicts too. */
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
      const { name: holder } = yield* LeaseHolder

      const runColumns = sql`
        i.id, i.store_id AS "storeId", s.domain AS "storeDomain", i.source, i.file_name AS "fileName", i.phase, i.summary,
        i.error, jsonb_build_object('kind', i.actor_kind, 'id', i.actor_id, 'name', i.actor_name) AS actor, i.applied,
        rfc3339(i.created_at) AS "createdAt", rfc3339(i.updated_at) AS "updatedAt"`

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
          SET lease_until = app_now() + interval '60 seconds', leased_by = ${holder}, takeovers = i.takeovers + 1, updated_at = app_now()
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
      const forgetSome = (table: string) =>
        Effect.map(
          sql`
            WITH gone AS (
              DELETE FROM ${sql(table)} d
              WHERE d.ctid = ANY(ARRAY(
                SELECT t.ctid
                FROM import_run r JOIN ${sql(table)} t ON t.account_id = r.account_id AND t.run_id = r.id
                WHERE r.phase IN ('applied', 'discarded', 'failed') AND r.updated_at <= app_now() - interval '7 days'
                LIMIT 10000
              ))
              RETURNING d.ordinal
            )
            SELECT count(*)::integer AS count FROM gone`,
          ([row]) => Number(row?.count ?? 0)
        )
      const forgetAll = (table: string) => orDie(untilNone(forgetSome(table)))
      const conflicts = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, id: ImportId, after: Schema.Int, limit: Schema.Int }),
        Result: Schema.Struct({
          ...Struct.omit(ImportConflict.fields, "decided_by"),
          kind: Schema.NullOr(HistoryActor.fields.kind),
          actorId: Schema.NullOr(Schema.String),
          actorName: Schema.NullOr(Schema.String)
        }),
        execute: ({ accountId, after, id, limit }) => sql`
          SELECT c.ordinal AS conflict, c.entity_id, e.kind AS entity_type, e.title, c.store_id, s.domain AS store_domain,
                 c.field, c.accepted, c.draft_value, c.store_value, c.decision, c.decided_kind AS kind,
                 c.decided_id AS "actorId", c.decided_name AS "actorName", rfc3339(c.decided_at) AS decided_at
          FROM import_conflict c
          JOIN entity e ON e.account_id = c.account_id AND e.id = c.entity_id
          JOIN store s ON s.account_id = c.account_id AND s.id = c.store_id
          WHERE c.account_id = ${accountId} AND c.run_id = ${id} AND c.ordinal > ${after}
          ORDER BY c.ordinal LIMIT ${limit}`
      })
      const decide = SqlSchema.findAll({
        Request: Schema.Struct({
          accountId: AccountId,
          id: ImportId,
          among: Schema.NullOr(Schema.Array(Schema.Int)),
          isUndecided: Schema.Boolean,
          decision: ConflictDecision,
          kind: HistoryActor.fields.kind,
          actorId: Schema.NullOr(Schema.String)
        }),
        Result: Schema.Struct({ ordinal: Schema.Int }),
        execute: ({ accountId, actorId, among, decision, id, isUndecided, kind }) => sql`
          UPDATE import_conflict c
          SET decision = ${decision}, decided_kind = ${kind}, decided_id = ${actorId}::uuid, decided_at = app_now(),
              decided_name = CASE ${kind}
                WHEN 'key' THEN (SELECT k.name FROM api_key k WHERE k.account_id = ${accountId} AND k.id = ${actorId})
                WHEN 'connection' THEN
                  (SELECT g.client_name FROM oauth_grant g WHERE g.account_id = ${accountId} AND g.id = ${actorId})
                WHEN 'user' THEN (SELECT u.email FROM app_user u WHERE u.account_id = ${accountId} AND u.id = ${actorId})
              END
          WHERE c.account_id = ${accountId} AND c.run_id = ${id}
            AND (${among}::integer[] IS NULL OR c.ordinal = ANY(${among}))
            AND (NOT ${isUndecided} OR c.decision IS NULL)
          RETURNING c.ordinal`
      })
      const undecided = SqlSchema.single({
        Request: Schema.Struct({ accountId: AccountId, id: ImportId }),
        Result: Schema.Struct({ count: Schema.Int, first: Schema.Array(Schema.Int) }),
        execute: ({ accountId, id }) => sql`
          SELECT count(*)::integer AS count,
                 coalesce((array_agg(c.ordinal ORDER BY c.ordinal))[1:${sql.literal(String(maxNamedConflicts))}], '{}') AS first
          FROM import_conflict c
          WHERE c.account_id = ${accountId} AND c.run_id = ${id} AND c.decision IS NULL`
      })
      const kept = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, id: ImportId, ordinals: Schema.Array(Schema.Int) }),
        Result: Schema.Struct({ ordinal: Schema.Int }),
        execute: ({ accountId, id, ordinals }) => sql`
          SELECT c.ordinal FROM import_conflict c
          WHERE c.account_id = ${accountId} AND c.run_id = ${id} AND c.ordinal = ANY(${ordinals}::integer[])
            AND c.decision = 'keep_draft'`
      })
      const doneThrough = (accountId: string, id: string) =>
        sql`(SELECT r.done_through FROM import_run r WHERE r.account_id = ${accountId} AND r.id = ${id})`
      const nextItems = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, id: ImportId, most: Schema.Int }),
        Result: Schema.Struct({ ordinal: Schema.Int, entities: Schema.Int, changes: Schema.Array(StagedChangeJson) }),
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
      const touched = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, id: ImportId }),
        Result: Schema.Struct({ entityId: EntityId, keys: Schema.Array(Schema.String) }),
        execute: ({ accountId, id }) => sql`
          SELECT x."entityId", coalesce(array_agg(DISTINCT k.key) FILTER (WHERE k.key IS NOT NULL), '{}') AS keys
          FROM (
            SELECT coalesce(c.change ->> 'entityId', c.change ->> 'id', c.change ->> 'productId') AS "entityId",
                   CASE WHEN c.change ->> '_tag' IN ('SetAttributes', 'SetOverrides') THEN c.change -> 'values' END AS values
            FROM import_item t
            CROSS JOIN LATERAL (
              SELECT jsonb_array_elements(t.changes) AS change
              UNION ALL
              SELECT jsonb_path_query(t.changes, '$[*].take[*]')
            ) c
            WHERE t.account_id = ${accountId} AND t.run_id = ${id} AND t.ordinal < ${firstAnswer}
          ) x
          LEFT JOIN LATERAL jsonb_object_keys(x.values) AS k (key) ON true
          WHERE x."entityId" IS NOT NULL
          GROUP BY x."entityId"`
      })
      const removals = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, id: ImportId, after: Schema.Int, limit: Schema.Int }),
        Result: PendingEntity,
        execute: ({ accountId, after, id, limit }) => sql`
          SELECT e.id, e.kind, e.title
          FROM (
            SELECT t.ordinal, (t.changes #>> '{0,entityId}')::uuid AS entity_id
            FROM import_run r
            JOIN import_item t ON t.account_id = r.account_id AND t.run_id = r.id
            WHERE r.account_id = ${accountId} AND r.id = ${id} AND t.changes #>> '{0,_tag}' = 'RemoveFromStore'
            ORDER BY t.ordinal OFFSET ${after} LIMIT ${limit}
          ) x
          JOIN entity e ON e.account_id = ${accountId} AND e.id = x.entity_id
          ORDER BY x.ordinal`
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
      const isOf = ({ accountId, id, phase, takeovers }: LeasedRun) =>
        sql`account_id = ${accountId} AND id = ${id} AND phase = ${phase} AND takeovers = ${takeovers}`
      const byKey = (found: ReadonlyArray<typeof Found.Type>) =>
        new Map(found.map(({ key, productId }) => [key, productId]))

      return {
        create: (accountId, run) =>
          sql`
            INSERT INTO import_run (account_id, id, store_id, source, file_name, phase, lease_until, leased_by, summary,
                                    actor_kind, actor_id, actor_name)
            VALUES (${accountId}, ${run.id}, ${run.storeId}, ${run.source}, ${run.fileName}, 'fetching',
                    app_now() + interval '60 seconds', ${holder}, ${JSON.stringify(nothingPlanned)}::jsonb,
                    ${run.actor.kind}, ${run.actor.id}, ${run.actor.name})`.pipe(Effect.asVoid, orDie),
        find: (accountId, id) => orDie(find({ accountId, id })),
        list: (accountId) => orDie(list(accountId)),
        move: (accountId, id, { actor, error, leased, phase, summary }) =>
          sql`
            UPDATE import_run
            SET phase = ${phase}, updated_at = app_now(),
                lease_until = CASE WHEN ${leased} THEN app_now() + interval '60 seconds' END,
                leased_by = CASE WHEN ${leased} THEN ${holder}::text END,
                summary = coalesce(${summary === undefined ? null : JSON.stringify(summary)}::jsonb, summary),
                error = coalesce(${error ?? null}::text, error),
                actor_kind = coalesce(${actor?.kind ?? null}::text, actor_kind),
                actor_id = CASE WHEN ${actor === undefined} THEN actor_id ELSE ${actor?.id ?? null}::uuid END,
                actor_name = CASE WHEN ${actor === undefined} THEN actor_name ELSE ${actor?.name ?? null}::text END
            WHERE account_id = ${accountId} AND id = ${id}`.pipe(Effect.asVoid, orDie),
        renew: (run) =>
          sql`
            UPDATE import_run SET lease_until = app_now() + interval '60 seconds' WHERE ${isOf(run)} RETURNING id`.pipe(
            Effect.map((rows) => rows.length > 0),
            orDie
          ),
        holds: (run) =>
          sql`SELECT id FROM import_run WHERE ${isOf(run)} FOR NO KEY UPDATE`.pipe(
            Effect.map((rows) => rows.length > 0),
            orDie
          ),
        release: (run) =>
          sql`UPDATE import_run SET lease_until = app_now() WHERE ${isOf(run)}`.pipe(Effect.asVoid, orDie),
        takeOver: (among) => orDie(takeOver(among)),
        abandoned: orDie(abandoned()),
        forgetStaged: Effect.forEach(["import_record", "import_conflict"], forgetAll).pipe(
          Effect.zipRight(forgetAll("import_item"))
        ),
        stage: (accountId, id, items) =>
          sql`
            INSERT INTO import_item (account_id, run_id, ordinal, entities, changes)
            SELECT ${accountId}::uuid, ${id}::uuid, r.ordinal, r.entities, r.changes
            FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb) AS r (ordinal integer, entities integer, changes jsonb)`.pipe(
            Effect.asVoid,
            orDie
          ),
        stageConflicts: (accountId, id, storeId, conflicts) =>
          sql`
            INSERT INTO import_conflict (account_id, run_id, ordinal, entity_id, store_id, field, accepted, draft_value, store_value)
            SELECT ${accountId}::uuid, ${id}::uuid, r.ordinal, r."entityId", ${storeId}::uuid, r.field, r.accepted, r.draft, r.store
            FROM jsonb_to_recordset(${JSON.stringify(conflicts)}::jsonb) AS r (
              ordinal integer, "entityId" uuid, field text, accepted text, draft text, store text
            )`.pipe(Effect.asVoid, orDie),
        conflicts: (accountId, id, after, limit) =>
          Effect.map(orDie(conflicts({ accountId, id, after, limit })), (rows) =>
            rows.map(({ actorId, actorName, decided_at, kind, ...conflict }) => ({
              ...conflict,
              decided_by: kind === null ? null : { kind, id: actorId, name: actorName },
              decided_at
            }))
          ),
        decide: (actor, id, which, decision) =>
          Effect.map(
            orDie(
              decide({
                accountId: actor.accountId,
                id,
                among: typeof which === "string" ? null : which,
                isUndecided: which === "undecided",
                decision,
                kind: authorOf(actor).kind,
                actorId: authorOf(actor).id
              })
            ),
            (rows) => rows.map(({ ordinal }) => ordinal)
          ),
        undecided: (accountId, id) => Effect.orDie(undecided({ accountId, id })),
        kept: (accountId, id, ordinals) =>
          ordinals.length === 0
            ? Effect.succeed(new Set())
            : Effect.map(
                orDie(kept({ accountId, id, ordinals })),
                (rows) => new Set(rows.map(({ ordinal }) => ordinal))
              ),
        nextItems: (accountId, id, most) => orDie(nextItems({ accountId, id, most })),
        touched: (accountId, id) =>
          Effect.map(
            orDie(touched({ accountId, id })),
            (rows) => new Map(rows.map(({ entityId, keys }) => [entityId, new Set(keys)]))
          ),
        removals: (accountId, id, after, limit) => orDie(removals({ accountId, id, after, limit })),
        markDone: (accountId, id, items) =>
          sql`
            UPDATE import_run
            SET done_through = ${Arr.lastNonEmpty(items).ordinal}, applied = applied + ${items.filter(isPlanned).length}
            WHERE account_id = ${accountId} AND id = ${id}`.pipe(Effect.asVoid, orDie),
        clear: (accountId, id) =>
          sql`
            DELETE FROM import_item
            WHERE account_id = ${accountId} AND run_id = ${id} AND ordinal > ${doneThrough(accountId, id)}`.pipe(
            Effect.zipRight(sql`
              DELETE FROM import_conflict c USING import_run r
              WHERE c.account_id = ${accountId} AND c.run_id = ${id}
                AND r.account_id = c.account_id AND r.id = c.run_id AND r.phase = 'fetching'`),
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
