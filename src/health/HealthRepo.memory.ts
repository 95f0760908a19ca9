import { Clock, type Context, Effect, Layer, Option, Ref } from "effect"
import { linkedStores } from "../catalog/CatalogState.memory.ts"
import type { MemorySlices } from "../database/MemoryStore.memory.ts"
import { type MemoryAccount, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import { metafieldRules } from "../drafts/MirroredDefinitions.memory.ts"
import { titleOf, valueOf } from "../model/Attribute.ts"
import type { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { KeyRules } from "../model/KeyRules.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import { isOutdated } from "../platform/Translation.ts"
import { noTranslations } from "../platform/Translations.memory.ts"
import {
  defaultRules,
  dimensionOf,
  HealthDimension,
  type HealthIssue,
  type HealthRules,
  isPerStore,
  type ScanCause
} from "./Health.ts"
import type { Finding, ScannedCatalog } from "./HealthFindings.memory.ts"
import { HealthRepo, type IssueFilter } from "./HealthRepo.ts"
import { type ScannedSnapshot, scan } from "./HealthScan.memory.ts"
import { type DayNumbers, type HealthDay, keptDays } from "./HealthTrend.ts"

/** The last scan of the account or of a store. */
interface MemorySnapshot extends ScannedSnapshot {
  readonly run: number
  readonly asOfVersion: number
  readonly scannedAt: Timestamp
  readonly cause: ScanCause
  /** The scanned data. Writes replace what they change, so the same objects later mean that nothing changed. */
  readonly seen: ReadonlyArray<unknown>
}

interface MemoryHealth {
  /** null: the default rules. */
  readonly rules: HealthRules | null
  readonly snapshots: ReadonlyArray<MemorySnapshot>
  readonly days: ReadonlyArray<HealthDay>
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    readonly health: MemoryHealth
  }
}

const scannedParts = (account: MemoryAccount): ReadonlyArray<unknown> => [
  account.definitions,
  account.entities,
  account.health.rules,
  account.mirroredDefinitions,
  account.mirroredTranslations,
  account.stores
]

export const emptyHealth: Pick<MemorySlices, "health"> = { health: { rules: null, snapshots: [], days: [] } }

const find = (account: MemoryAccount, dimension: HealthDimension, storeId: StoreId | null) =>
  account.health.snapshots.find((snapshot) => snapshot.dimension === dimension && snapshot.storeId === storeId)

const makeReads = (
  accountOf: (accountId: AccountId) => Effect.Effect<MemoryAccount>
): Pick<Context.Tag.Service<HealthRepo>, "current" | "days" | "lastScan"> => ({
  days: (accountId) =>
    Effect.map(accountOf(accountId), ({ health }) =>
      [...health.days].sort((one, other) =>
        `${one.day} ${one.dimension}` < `${other.day} ${other.dimension}` ? -1 : 1
      )
    ),
  current: (accountId, dimension) =>
    Effect.map(accountOf(accountId), (account) => {
      const parts = find(account, dimension, null)?.seen
      const isCurrent = parts !== undefined && scannedParts(account).every((part, index) => part === parts[index])
      return isCurrent ? Option.some(account.entities.size) : Option.none()
    }),
  lastScan: (accountId) =>
    Effect.map(accountOf(accountId), ({ health }) => {
      const [last] = [...health.snapshots].sort((one, other) => (one.scannedAt < other.scannedAt ? 1 : -1))
      return Option.map(Option.fromNullable(last), ({ cause, scannedAt }) => ({ at: scannedAt, cause }))
    })
})

/** In-memory repository. It passes the same contract suite as `layer`. */
export const layerHealthRepoMemory = Layer.effect(
  HealthRepo,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const last = yield* Ref.make(0)
    const ticket = Ref.updateAndGet(last, (run) => run + 1)
    const accountOf = (accountId: AccountId) =>
      Effect.flatMap(Ref.get(store), (state) => {
        const account = state.get(accountId)
        return account === undefined ? Effect.dieMessage(`no account ${accountId}`) : Effect.succeed(account)
      })
    const findRows = (accountId: AccountId, { locale, section, storeId }: IssueFilter) =>
      Effect.map(accountOf(accountId), (account) => {
        const dimension = dimensionOf(section)
        const found = find(account, dimension, isPerStore(dimension) ? storeId : null)
        return Option.map(Option.fromNullable(found), (snapshot) => ({
          snapshot,
          entities: account.entities,
          rows: snapshot.findings.filter(
            (finding) =>
              finding.section === section &&
              (storeId === null || finding.storeId === storeId) &&
              (locale === null || dimension !== "translations" || finding.locale === locale)
          )
        }))
      })
    const rulesOf = (accountId: AccountId) =>
      Effect.map(accountOf(accountId), ({ health }) => health.rules ?? defaultRules)
    const change = (
      accountId: AccountId,
      next: (health: MemoryAccount["health"]) => MemoryAccount["health"]
    ): Effect.Effect<void> =>
      updateAccount(store, accountId, (account) => ({ ...account, health: next(account.health) }))
    return {
      ...makeReads(accountOf),
      ticket,
      mustExist: () => Effect.void,
      tryLock: () => Effect.succeed(true),
      lastRun: (accountId, dimension, storeId) =>
        Effect.map(accountOf(accountId), (account) => find(account, dimension, storeId)?.run ?? 0),
      scan: (accountId, dimension, storeId, cause = "request") =>
        Effect.gen(function* () {
          const account = yield* accountOf(accountId)
          const run = yield* ticket
          const scannedAt = fromMillis(yield* Clock.currentTimeMillis)
          const isLinked = storeId === null || account.stores.has(storeId)
          const written = isLinked
            ? scan(dimension, scannedCatalog(account), Option.fromNullable(storeId)).map(
                (snapshot): MemorySnapshot => ({
                  ...snapshot,
                  run,
                  scannedAt,
                  cause,
                  asOfVersion: account.version,
                  seen: scannedParts(account)
                })
              )
            : []
          yield* change(accountId, (health) => ({
            ...health,
            snapshots: [
              ...health.snapshots.filter(
                (snapshot) => snapshot.dimension !== dimension || (storeId !== null && snapshot.storeId !== storeId)
              ),
              ...written
            ],
            days: written
              .filter((snapshot) => snapshot.storeId === null)
              .reduce((days, { result }) => keepDay(days, dimension, scannedAt, result), health.days)
          }))
          return { run, scanned: account.entities.size, entities: account.entities.size }
        }),
      unfinished: () => Effect.succeed([]),
      tidy: () => Effect.succeed(0),
      tidyAll: Effect.succeed(0),
      snapshots: (accountId, storeId) =>
        Effect.map(
          accountOf(accountId),
          (account) =>
            new Map(
              HealthDimension.literals.flatMap((dimension) => {
                const snapshot = find(account, dimension, isPerStore(dimension) ? storeId : null)
                return snapshot === undefined ? [] : [[dimension, textOf(snapshot)]]
              })
            )
        ),
      issues: (accountId, { fields, page, pageSize, ...filter }) =>
        Effect.map(
          findRows(accountId, filter),
          Option.map(({ entities, rows: all, snapshot: { result, scannedAt } }) => {
            const rows =
              fields === undefined ? all : all.filter((row) => row.fields.some((name) => fields.includes(name)))
            const after = (page - 1) * pageSize
            return {
              scannedAt,
              compared: "compared" in result ? result.compared : null,
              rows: rows.slice(after, after + pageSize).map((finding) => issueOf(finding, entities)),
              hasNext: rows.length > after + pageSize
            }
          })
        ),
      countIssues: (accountId, filter) =>
        Effect.map(findRows(accountId, filter), Option.match({ onNone: () => 0, onSome: ({ rows }) => rows.length })),
      rules: rulesOf,
      lockRules: rulesOf,
      keepRules: (accountId, rules) => change(accountId, (health) => ({ ...health, rules })),
      // Every scan in memory is a full scan, so there are no bases.
      forgetBases: () => Effect.void,
      forgetStore: (accountId, storeId) =>
        Effect.gen(function* () {
          const { health } = yield* accountOf(accountId)
          yield* change(accountId, ({ snapshots, ...health }) => ({
            ...health,
            snapshots: snapshots.filter((snapshot) => snapshot.storeId !== storeId && snapshot.storeId !== null)
          }))
          return health.snapshots.flatMap(({ dimension, storeId }) => (storeId === null ? [dimension] : []))
        })
    }
  })
)

/** Replaces the numbers of today, and removes those that are no longer kept. */
const keepDay = (
  days: ReadonlyArray<HealthDay>,
  dimension: HealthDimension,
  at: Timestamp,
  { affected, checked }: DayNumbers
): ReadonlyArray<HealthDay> => {
  const day = at.slice(0, 10)
  const oldest = new Date(Date.parse(day) - keptDays * 86_400_000).toISOString().slice(0, 10)
  const others = days.filter((each) => each.dimension !== dimension || (each.day !== day && each.day >= oldest))
  return [...others, { dimension, day, checked, affected }]
}

const textOf = ({ asOfVersion, dimension, result, scannedAt }: MemorySnapshot): string =>
  JSON.stringify({ dimension, scanned: true, result, scanned_at: scannedAt, as_of_version: asOfVersion })

const issueOf = (
  { entityId, entityType, fields, locale, more, storeId, title, values }: Finding,
  entities: MemoryAccount["entities"]
): HealthIssue => ({
  entity_id: entityId,
  entity_type: entityType,
  title,
  store_id: storeId,
  fields,
  ...(locale === null ? {} : { locale }),
  ...(values === null ? {} : { values }),
  ...(entityType === "variant" ? variantOf(entityId, entities) : {}),
  ...more
})

const variantOf = (id: EntityId, entities: MemoryAccount["entities"]) => {
  const variant = entities.get(id)?.aggregate
  const product = variant?.parentId ? entities.get(variant.parentId)?.aggregate : undefined
  return variant === undefined || product === undefined
    ? {}
    : {
        sku: valueOf(variant.attributes, "sku"),
        product_id: product.id,
        product_title: titleOf(product.kind, product.attributes)
      }
}

const scannedCatalog = (account: MemoryAccount): ScannedCatalog => {
  const { entities, health, mirroredTranslations, stores } = account
  const linked = linkedStores(account)
  const mirrored = linked.map(({ id }) => ({ storeId: id, ...(mirroredTranslations.get(id) ?? noTranslations) }))
  return {
    aggregates: [...entities.values()].map(({ aggregate }) => ({
      ...aggregate,
      versions: aggregate.versions.filter(({ storeId }) => stores.has(storeId))
    })),
    stores: linked,
    rules: health.rules ?? defaultRules,
    keys: new KeyRules(metafieldRules(account, null)),
    sources: mirrored.flatMap(({ fields, storeId }) =>
      [...fields.values()].map(({ entityId, field }) => ({
        storeId,
        entityId,
        key: field.key,
        sourceLocale: field.source_locale,
        sourceValue: field.source_value
      }))
    ),
    translations: mirrored.flatMap(({ storeId, translations }) =>
      [...translations.values()].map(({ entityId, locale, translation }) => ({
        storeId,
        entityId,
        locale,
        key: translation.key,
        value: translation.value,
        outdated: isOutdated(translation, translation.digest)
      }))
    )
  }
}
