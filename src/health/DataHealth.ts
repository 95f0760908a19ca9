import { Context, Effect, Layer, Option } from "effect"
import { Transaction } from "../database/Transaction.ts"
import type { DivergenceRules } from "../drafts/Divergence.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { builtInFields, EntityKind } from "../model/Attribute.ts"
import { keyMisfit } from "../model/AttributeRules.ts"
import { CurrentBounds, includes } from "../model/ConnectionBounds.ts"
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
import { HealthRepo, type IssueRows } from "./HealthRepo.ts"
import { trendOf } from "./HealthTrend.ts"
import { checkLocale, fieldsOf } from "./IssueFilters.ts"
import { makeReadSchedule } from "./ScanSchedule.ts"
import { makeScanSteps, type ScanWork } from "./ScanSteps.ts"

/** Maximum number of fields of one level (required or recommended) of a kind. */
const maxRuleFields = 50

/** A page of a section's issues. */
export interface IssuesQuery {
  readonly section: HealthSection
  /** From 1. */
  readonly page: number
  /** 1 to 100. */
  readonly page_size: number
  readonly store_id?: StoreId | undefined
  /** Filters the translation sections. Other sections ignore it. */
  readonly locale?: string | undefined
  /** Only rows with this field. In the translation sections: the platform's name of the field, or ours. */
  readonly field?: string | undefined
}

/** The rules of divergence and structure to change. */
interface CheckChanges {
  readonly divergence?: Partial<DivergenceRules> | undefined
  readonly structure?: Partial<StructureRules> | undefined
}

/** Writes rules: checked, or known to be valid. */
const makeRuleWrites = (repo: HealthRepo["Type"], drafts: DraftsRepo["Type"]) => {
  const writeRules = (accountId: AccountId, rules: HealthRules) =>
    repo.keepRules(accountId, rules).pipe(Effect.zipRight(drafts.raise(accountId)), Effect.as(rules))

  const keepRules = Effect.fnUntraced(function* (accountId: AccountId, rules: HealthRules) {
    const issues = ruleIssues(rules)
    if (issues.length > 0) return yield* new ValidationFailed({ issues })
    return yield* writeRules(accountId, rules)
  })

  return { keepRules, writeRules }
}

/** The store that a scan is limited to; null: the whole account. */
const scopeOf = (dimension: HealthDimension, storeId: StoreId | undefined): StoreId | null =>
  isPerStore(dimension) ? (storeId ?? null) : null

const makeMustBeLinked = (stores: StoresRepo["Type"]) =>
  Effect.fnUntraced(function* (storeId: StoreId | undefined) {
    const { accountId } = yield* CurrentActor
    if (storeId !== undefined && Option.isNone(yield* stores.find(accountId, storeId))) return yield* new NotFound()
    return accountId
  })

/** Reads how far scans are. */
const makeProgress = (repo: HealthRepo["Type"]) => ({
  /** The unfinished full scan that `scan` of these works on. None: there is none, because it has one step or has ended. */
  progress: Effect.fnUntraced(function* (dimension: HealthDimension, storeId?: StoreId) {
    const { accountId } = yield* CurrentActor
    const scope = scopeOf(dimension, storeId)
    const all = yield* repo.unfinished(accountId)
    return Option.fromNullable(all.find((scan) => scan.dimension === dimension && scan.storeId === scope))
  }),
  /** Full scans that are not finished. It is possible that no process works on them at the moment. */
  unfinished: withAccountId(repo.unfinished)
})

const make = Effect.gen(function* () {
  const repo = yield* HealthRepo
  const { keepRules, writeRules } = makeRuleWrites(repo, yield* DraftsRepo)
  const stores = yield* StoresRepo
  const mustBeLinked = makeMustBeLinked(stores)
  const transaction = yield* Transaction
  const readSchedule = yield* makeReadSchedule

  const scanned = yield* makeSharedRuns<ScanWork>({
    nameOf: ({ accountId, dimension, storeId }) => `${accountId} ${dimension} ${storeId}`,
    ticket: repo.ticket,
    attempt: yield* makeScanSteps
  })

  return {
    /** The last snapshot of every dimension, of the account or of a store. Never scans. NotFound: no such store is linked. */
    overview: Effect.fnUntraced(function* (storeId?: StoreId) {
      const accountId = yield* mustBeLinked(storeId)
      const snapshots = yield* repo.snapshots(accountId, storeId ?? null)
      const texts = HealthDimension.literals.map(
        (dimension) => snapshots.get(dimension) ?? JSON.stringify({ dimension, scanned: false })
      )
      return new JsonText<HealthOverview>(`{"dimensions":[${texts.join(",")}]}`)
    }),
    /**
     * Scans a dimension and returns its snapshot. The scan begins after the call, so it sees all earlier writes of the
     * caller. Callers that arrive during a scan share the next one. In dimensions without snapshots per store, the whole
     * account is scanned. NotFound: no such store is linked.
     */
    scan: Effect.fn("DataHealth.scan")(function* (dimension: HealthDimension, storeId?: StoreId) {
      const scope = scopeOf(dimension, storeId)
      for (;;) {
        const accountId = yield* mustBeLinked(storeId)
        yield* scanned({ accountId, dimension, storeId: scope, cause: "request" })
        const snapshot = (yield* repo.snapshots(accountId, scope)).get(dimension)
        if (snapshot !== undefined) return new JsonText<HealthSnapshot>(snapshot)
        // A store was unlinked after the scan, which deleted the snapshot.
      }
    }),
    /**
     * A page of a section as of its last scan. Never scans. ValidationFailed: a language that no store of the account has, or a
     * field that no row of the section can have. NotFound: no such store is linked.
     */
    issues: Effect.fn("DataHealth.issues")(function* (query: IssuesQuery) {
      const { field, locale, page, page_size, section, store_id } = query
      const { accountId } = yield* CurrentActor
      const linked = yield* stores.list(accountId)
      const fields = yield* fieldsOf(section, field)
      const bounds = yield* CurrentBounds
      const usable = linked.filter(({ id }) => includes(bounds, id))
      yield* checkLocale(repo, accountId, usable, query)
      if (store_id !== undefined && !linked.some(({ id }) => id === store_id)) return yield* new NotFound()
      const filter = { section, storeId: store_id ?? null, locale: locale ?? null, fields }
      const found = yield* repo.issues(accountId, { ...filter, page, pageSize: page_size })
      // The number of compared values counts all stores of the account.
      const visible = bounds.stores === null ? found : Option.map(found, (rows) => ({ ...rows, compared: null }))
      return issuePage(section, page, new Map(linked.map(({ domain, id }) => [id, domain])), visible)
    }),
    /**
     * Number of issues of a section in its last scan, over all pages and fields. Never scans. NotFound as for `issues`.
     */
    countIssues: Effect.fn("DataHealth.countIssues")(function* ({
      locale,
      section,
      store_id
    }: Omit<IssuesQuery, "page" | "page_size" | "field">) {
      const accountId = yield* mustBeLinked(store_id)
      return yield* repo.countIssues(accountId, { section, storeId: store_id ?? null, locale: locale ?? null })
    }),
    /** The overall score at the end of each day on which a dimension was scanned, oldest first, for 400 days. */
    trend: Effect.map(withAccountId(repo.days), trendOf),
    /** The last finished scan. None: nothing was ever scanned. */
    lastScan: withAccountId(repo.lastScan),
    /** The scans that the service begins by itself. */
    schedule: withAccountId(readSchedule),
    ...makeProgress(repo),
    /** Deletes outdated rows of scans, in all accounts. Returns the number of deleted rows. */
    forget: repo.tidyAll,
    rules: withAccountId(repo.rules),
    /**
     * Replaces the rules; the next scan uses them. ValidationFailed: a key is not an attribute of its kind, or is listed
     * twice, or is both required and recommended; or a level has more than 50 fields.
     */
    setRules: Effect.fn("DataHealth.setRules")(function* (rules: HealthRules) {
      const { accountId } = yield* CurrentActor
      return yield* transaction.run(keepRules(accountId, rules))
    }),
    /**
     * Changes the rules of one kind. Omitted levels and other kinds keep their rules. Returns the rules of all kinds.
     * ValidationFailed as for `setRules`.
     */
    changeRules: Effect.fn("DataHealth.changeRules")(function* (kind: EntityKind, levels: Partial<FieldsToFill>) {
      const { accountId } = yield* CurrentActor
      return yield* transaction.run(
        Effect.flatMap(repo.lockRules(accountId), (before) =>
          keepRules(accountId, { ...before, [kind]: { ...before[kind], ...levels } })
        )
      )
    }),
    /** Changes the rules of divergence and structure. Omitted rules stay the same. */
    changeChecks: Effect.fn("DataHealth.changeChecks")(function* ({ divergence, structure }: CheckChanges) {
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

/**
 * Reports problems of the caller's catalog. `scan` scans; all other methods read the result of the last scan.
 */
export class DataHealth extends Context.Tag("catalog/DataHealth")<DataHealth, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.scoped(DataHealth, make)
}

const issuePage = (
  section: HealthSection,
  page: number,
  domains: ReadonlyMap<StoreId, string>,
  found: Option.Option<IssueRows>
): HealthIssuePage =>
  Option.match(found, {
    onNone: () => ({
      section,
      scanned: false,
      data: [],
      page,
      has_next: false,
      ...(section === "divergence" && { compared: 0 })
    }),
    onSome: ({ compared, hasNext, rows, scannedAt }) => ({
      section,
      scanned: true,
      scanned_at: scannedAt,
      data: rows.map((row) => {
        const withStore = withDomain(row, domains.get(row.store_id))
        return dimensionOf(section) === "translations" ? withAttributeKeys(withStore) : withStore
      }),
      page,
      has_next: hasNext,
      ...(compared !== null && { compared })
    })
  })

const withDomain = ({ entity_id, entity_type, store_id, title, ...rest }: HealthIssue, domain: string | undefined) => ({
  entity_id,
  entity_type,
  title,
  store_id,
  ...(domain !== undefined && { store_domain: domain }),
  ...rest
})

const withAttributeKeys = (issue: HealthIssue): HealthIssue => ({
  ...issue,
  attribute_keys: issue.fields.map((field) => attributeKeyOf(issue.entity_type, field))
})

const ruleIssues = (rules: CompletenessRules): ReadonlyArray<Issue> =>
  EntityKind.literals.flatMap((kind) =>
    completenessLevels.flatMap((level) => {
      const fields = rules[kind][level]
      const path = `${kind}.${level}`
      if (fields.length > maxRuleFields) return [{ path, message: `has more than ${maxRuleFields} fields` }]
      return fields.flatMap((field, index): ReadonlyArray<Issue> => {
        if (fields.indexOf(field) < index) return [{ path, message: `${field} is listed twice` }]
        if (level === "recommended" && rules[kind].required.includes(field))
          return [{ path, message: `${field} is already required` }]
        // A rule may name a metafield that has no definition yet.
        if (Object.hasOwn(builtInFields[kind], field) || isMetafieldKey(field)) return []
        const message = keyMisfit(kind, field, builtInKeyRules)
        return message === undefined ? [] : [{ path, message }]
      })
    })
  )
