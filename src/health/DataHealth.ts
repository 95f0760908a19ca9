import { Context, Effect, Layer, Option } from "effect"
import { Workload } from "../database/Deadlines.ts"
import { Transaction } from "../database/Transaction.ts"
import type { DivergenceRules } from "../drafts/Divergence.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { builtInFields, EntityKind } from "../model/Attribute.ts"
import { keyMisfit } from "../model/AttributeRules.ts"
import { isMetafieldKey } from "../model/Definition.ts"
import { type Issue, NotFound, ValidationFailed } from "../model/Errors.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import { JsonText } from "../model/JsonText.ts"
import { builtInKeyRules } from "../model/KeyRules.ts"
import { attributeKeyOf } from "../platform/Translation.ts"
import { makeSharedRuns } from "../runtime/SharedRuns.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import {
  type CompletenessRules,
  completenessLevels,
  dimensionOf,
  type FieldsToFill,
  HealthDimension,
  type HealthIssue,
  type HealthIssuePage,
  type HealthOverview,
  type HealthRules,
  type HealthSection,
  type HealthSnapshot,
  isPerStore,
  type StructureRules
} from "./Health.ts"
import { HealthRepo } from "./HealthRepo.ts"

/** Scans of this process at once: each keeps a connection busy for as long as it takes. */
const mostScansAtOnce = 2

/** Most fields that a level of the rules names. */
const mostRuleFields = 50

/** What of a section's rows is asked for. */
export interface IssuesQuery {
  readonly section: HealthSection
  /** From 1. */
  readonly page: number
  /** 1 to 100. */
  readonly page_size: number
  readonly store_id?: StoreId | undefined
  /** Narrows the translation sections; of the others it is passed over. */
  readonly locale?: string | undefined
}

/** Rules of divergence and structure, those that are to change. */
export interface CheckChanges {
  readonly divergence?: Partial<DivergenceRules> | undefined
  readonly structure?: Partial<StructureRules> | undefined
}

interface ScanWork {
  readonly accountId: AccountId
  readonly dimension: HealthDimension
  readonly storeId: StoreId | null
}

/** The quality of the catalog of whoever asks: scanned when somebody says so, read from the last scan otherwise. */
export class DataHealth extends Context.Tag("catalog/DataHealth")<
  DataHealth,
  {
    /**
     * Every dimension's last snapshot, of the account or of a store. Never scans. NotFound: no such store is linked.
     */
    readonly overview: (storeId?: StoreId) => Effect.Effect<JsonText<HealthOverview>, NotFound, CurrentActor>
    /**
     * Scans a dimension and answers its snapshot. The scan began after this was called: it sees whatever the caller wrote
     * before. Callers that come while one runs share the next. A store where the dimension has none of its own is passed
     * over. NotFound: no such store is linked.
     */
    readonly scan: (
      dimension: HealthDimension,
      storeId?: StoreId
    ) => Effect.Effect<JsonText<HealthSnapshot>, NotFound, CurrentActor>
    /** A page of a section as of its last scan. Never scans. NotFound: no such store is linked. */
    readonly issues: (query: IssuesQuery) => Effect.Effect<HealthIssuePage, NotFound, CurrentActor>
    /** Rows that all pages of a section deliver together, as of its last scan. Never scans. NotFound as for `issues`. */
    readonly countIssues: (
      query: Omit<IssuesQuery, "page" | "page_size">
    ) => Effect.Effect<number, NotFound, CurrentActor>
    /** The fields that are looked at for completeness, and the rules of divergence and structure. */
    readonly rules: Effect.Effect<HealthRules, never, CurrentActor>
    /**
     * Other rules, from the next scan on. ValidationFailed: a key that is no attribute of its kind, one that is named twice,
     * or both required and recommended, or more than 50 of a level.
     */
    readonly setRules: (rules: HealthRules) => Effect.Effect<HealthRules, ValidationFailed, CurrentActor>
    /**
     * Other rules for one kind; a level that is left out, and all other kinds, stay as they are at the moment of writing.
     * Answers the rules of all kinds. ValidationFailed as for `setRules`.
     */
    readonly changeRules: (
      kind: EntityKind,
      levels: Partial<FieldsToFill>
    ) => Effect.Effect<HealthRules, ValidationFailed, CurrentActor>
    /** Other rules of divergence and structure; a rule that is left out stays as it is at the moment of writing. */
    readonly changeChecks: (changes: CheckChanges) => Effect.Effect<HealthRules, never, CurrentActor>
  }
>() {
  static readonly layer = Layer.scoped(
    DataHealth,
    Effect.gen(function* () {
      const repo = yield* HealthRepo
      const drafts = yield* DraftsRepo
      const stores = yield* StoresRepo
      const transaction = yield* Transaction
      const permits = yield* Effect.makeSemaphore(mostScansAtOnce)

      const raise = (accountId: AccountId) => drafts.raise(accountId)

      /** One transaction; whoever else scans the dimension is not waited for with a connection in hand. */
      const attempt = ({ accountId, dimension, storeId }: ScanWork, newest: number) =>
        transaction
          .run(
            Effect.gen(function* () {
              const isMine = yield* repo.tryLock(accountId, dimension)
              const last = yield* repo.lastRun(accountId, dimension, storeId)
              if (!isMine || last > newest) return last
              const run = yield* repo.scan(accountId, dimension, storeId)
              yield* raise(accountId)
              return run
            })
          )
          .pipe(Effect.provideService(Workload, "scan"), permits.withPermits(1))

      const scanned = yield* makeSharedRuns<ScanWork>({
        nameOf: ({ accountId, dimension, storeId }) => `${accountId} ${dimension} ${storeId}`,
        ticket: repo.ticket,
        attempt
      })

      const mustBeLinked = Effect.fnUntraced(function* (storeId: StoreId | undefined) {
        const { accountId } = yield* CurrentActor
        if (storeId !== undefined && Option.isNone(yield* stores.find(accountId, storeId))) return yield* new NotFound()
        return accountId
      })

      const writeRules = (accountId: AccountId, rules: HealthRules) =>
        repo.keepRules(accountId, rules).pipe(Effect.zipRight(raise(accountId)), Effect.as(rules))

      const keepRules = Effect.fnUntraced(function* (accountId: AccountId, rules: HealthRules) {
        const issues = ruleIssues(rules)
        if (issues.length > 0) return yield* new ValidationFailed({ issues })
        return yield* writeRules(accountId, rules)
      })

      const textOf = (snapshots: ReadonlyMap<HealthDimension, string>, dimension: HealthDimension) =>
        snapshots.get(dimension) ?? JSON.stringify({ dimension, scanned: false })

      return {
        overview: Effect.fnUntraced(function* (storeId) {
          const accountId = yield* mustBeLinked(storeId)
          const snapshots = yield* repo.snapshots(accountId, storeId ?? null)
          const texts = HealthDimension.literals.map((dimension) => textOf(snapshots, dimension))
          return new JsonText<HealthOverview>(`{"dimensions":[${texts.join(",")}]}`)
        }),
        scan: Effect.fn("DataHealth.scan")(function* (dimension, storeId) {
          const accountId = yield* mustBeLinked(storeId)
          const scope = isPerStore(dimension) ? (storeId ?? null) : null
          yield* scanned({ accountId, dimension, storeId: scope })
          const snapshot = (yield* repo.snapshots(accountId, scope)).get(dimension)
          // Unlinked meanwhile.
          if (snapshot === undefined) return yield* new NotFound()
          return new JsonText<HealthSnapshot>(snapshot)
        }),
        issues: Effect.fn("DataHealth.issues")(function* ({ locale, page, page_size, section, store_id }) {
          const accountId = yield* mustBeLinked(store_id)
          const found = yield* repo.issues(accountId, {
            section,
            page,
            pageSize: page_size,
            storeId: store_id ?? null,
            locale: locale ?? null
          })
          return Option.match(found, {
            onNone: (): HealthIssuePage => ({
              section,
              scanned: false,
              data: [],
              page,
              has_next: false,
              ...(section === "divergence" && { compared: 0 })
            }),
            onSome: ({ compared, hasNext, rows, scannedAt }): HealthIssuePage => ({
              section,
              scanned: true,
              scanned_at: scannedAt,
              data: dimensionOf(section) === "translations" ? rows.map(withAttributeKeys) : rows,
              page,
              has_next: hasNext,
              ...(compared !== null && { compared })
            })
          })
        }),
        countIssues: Effect.fn("DataHealth.countIssues")(function* ({ locale, section, store_id }) {
          const accountId = yield* mustBeLinked(store_id)
          return yield* repo.countIssues(accountId, { section, storeId: store_id ?? null, locale: locale ?? null })
        }),
        rules: Effect.flatMap(CurrentActor, ({ accountId }) => repo.rules(accountId)),
        setRules: Effect.fn("DataHealth.setRules")(function* (rules) {
          const { accountId } = yield* CurrentActor
          return yield* transaction.run(keepRules(accountId, rules))
        }),
        changeRules: Effect.fn("DataHealth.changeRules")(function* (kind, levels) {
          const { accountId } = yield* CurrentActor
          return yield* transaction.run(
            Effect.flatMap(repo.lockRules(accountId), (before) =>
              keepRules(accountId, { ...before, [kind]: { ...before[kind], ...levels } })
            )
          )
        }),
        changeChecks: Effect.fn("DataHealth.changeChecks")(function* ({ divergence, structure }) {
          const { accountId } = yield* CurrentActor
          return yield* transaction.run(
            Effect.flatMap(repo.lockRules(accountId), (before) =>
              writeRules(accountId, {
                ...before,
                divergence: { ...before.divergence, ...divergence },
                structure: { ...before.structure, ...structure }
              })
            )
          )
        })
      }
    })
  )
}

const withAttributeKeys = (issue: HealthIssue): HealthIssue => ({
  ...issue,
  attribute_keys: issue.fields.map((field) => attributeKeyOf(issue.entity_type, field))
})

const ruleIssues = (rules: CompletenessRules): ReadonlyArray<Issue> =>
  EntityKind.literals.flatMap((kind) =>
    completenessLevels.flatMap((level) => {
      const fields = rules[kind][level]
      const path = `${kind}.${level}`
      if (fields.length > mostRuleFields) return [{ path, message: `names more than ${mostRuleFields} fields` }]
      return fields.flatMap((field, index): ReadonlyArray<Issue> => {
        if (fields.indexOf(field) < index) return [{ path, message: `${field} is named twice` }]
        if (level === "recommended" && rules[kind].required.includes(field))
          return [{ path, message: `${field} is required already` }]
        // Rules may name a metafield before it has a definition.
        if (Object.hasOwn(builtInFields[kind], field) || isMetafieldKey(field)) return []
        const message = keyMisfit(kind, field, builtInKeyRules)
        return message === undefined ? [] : [{ path, message }]
      })
    })
  )
