import { Chunk, Effect, Either, Stream } from "effect"
import { type Attributes, type EntityKind, titleOf } from "../../model/Attribute.ts"
import { storageRule } from "../../model/AttributeRules.ts"
import { type NotFound, ValidationFailed } from "../../model/Errors.ts"
import type { AccountId, ImportId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Timestamp } from "../../model/Timestamp.ts"
import { PlatformClient, type PlatformStore } from "../../platform/PlatformClient.ts"
import { type PlatformReadError, PlatformUnavailable } from "../../platform/PlatformErrors.ts"
import type { PlatformRecord } from "../../platform/PlatformRecord.ts"
import { FaultInjector } from "../../runtime/FaultInjector.ts"
import { makePause } from "../../runtime/Pause.ts"
import { Mirror } from "../../storedata/Mirror.ts"
import type { MirrorSummary } from "../../storedata/MirrorRecords.ts"
import { StoreAccess } from "../../stores/StoreAccess.ts"
import { quoted } from "../ImportedProduct.ts"
import { partsAtOnce, type ReportProgress } from "../ImportStaging.ts"
import { ImportsRepo } from "../ImportsRepo.ts"
import type { PulledRecord } from "../PulledRecord.ts"
import { PulledRecordsRepo } from "../PulledRecordsRepo.ts"

/** Maximum length of a record's platform id, in characters. The database cannot index longer ids. */
const maxIdCharacters = 255

const nouns: Readonly<Record<EntityKind, string>> = {
  product: "product",
  variant: "variant",
  collection: "collection",
  media: "file"
}

/** Names a record in an error message. */
export const describeRecord = (kind: EntityKind, platformId: string, attributes: Attributes) =>
  `${nouns[kind]} ${platformId} (${quoted(titleOf(kind, attributes))})`

/** Why a record cannot be stored: the database would refuse its text, and text is stored unchanged or not at all. */
const findRefusal = ({ attributes, kind, platformId }: PlatformRecord): ValidationFailed | undefined => {
  if (platformId.length > maxIdCharacters || storageRule("", platformId) !== undefined)
    return ValidationFailed.at(
      "store",
      `has a ${nouns[kind]} with the id ${quoted(platformId)}, which cannot be stored`
    )
  for (const [key, { type, value }] of Object.entries(attributes)) {
    const rule = storageRule("", key) ?? storageRule("", type) ?? storageRule(key, value)
    if (rule !== undefined)
      return ValidationFailed.at("store", `has a ${describeRecord(kind, platformId, attributes)} whose ${key} ${rule}`)
  }
  return undefined
}

const relatedOf = ({ kind, media, members, picture }: PlatformRecord): ReadonlyArray<string> => {
  switch (kind) {
    case "product":
      return media
    case "collection":
      return members
    case "variant":
      return picture === undefined ? [] : [picture ?? ""]
    case "media":
      return []
  }
}

/** Returns a function that numbers the records of a store in the order of the pull. */
const makeNumbering = () => {
  let count = 0
  let product = { root: 0, platformId: "" }
  return (record: PlatformRecord): Either.Either<PulledRecord, PlatformUnavailable | ValidationFailed> => {
    const refusal = findRefusal(record)
    if (refusal !== undefined) return Either.left(refusal)
    const { attributes, entityId, kind, platformId } = record
    count += 1
    if (kind === "product") product = { root: count, platformId }
    // The platform must send variants directly after their product.
    if (kind === "variant" && record.parentId !== product.platformId)
      return Either.left(new PlatformUnavailable({ reason: "nonsense" }))
    return Either.right({
      root: kind === "variant" ? product.root : count,
      ordinal: count,
      kind,
      platformId,
      saidId: entityId,
      attributes: Object.fromEntries(Object.entries(attributes).filter(([, { value }]) => value !== "")),
      related: relatedOf(record),
      entityId: null
    })
  }
}

/** The result of reading a whole store. */
export interface FetchedStore {
  readonly begunAt: Timestamp
  /** Number of products, variants, collections and files. */
  readonly count: number
  /** Markets, definitions, metaobject entries and translations. */
  readonly beside: MirrorSummary
}

/** Runs a write of staged data. Fails if another process took over the import. */
export type Write<E> = <A>(part: Effect.Effect<A>) => Effect.Effect<A, E>

export const writeAlways: Write<never> = (part) => part

/** Reads the store's platform and stages its records. */
export const makeStoreReading = Effect.gen(function* () {
  const access = yield* StoreAccess
  const faults = yield* FaultInjector
  const mirror = yield* Mirror
  const platform = yield* PlatformClient
  const pulled = yield* PulledRecordsRepo
  const repo = yield* ImportsRepo

  /** Stages the records of the store's catalog. Returns their number. */
  const pull = <E>(
    accountId: AccountId,
    opened: PlatformStore,
    id: ImportId,
    report: ReportProgress,
    write: Write<E>
  ) =>
    Effect.gen(function* () {
      const pause = yield* makePause
      const toPulled = makeNumbering()
      let count = 0
      yield* platform.pull(opened).pipe(
        Stream.mapEffect((record) => Effect.suspend(() => toPulled(record))),
        Stream.grouped(partsAtOnce),
        Stream.runForEach((records) =>
          Effect.suspend(() => {
            count += records.length
            return write(pulled.keep(accountId, id, Chunk.toReadonlyArray(records))).pipe(
              Effect.zipRight(faults.at("pulled")),
              Effect.zipRight(pause),
              Effect.zipRight(report({ step: "fetching", done: count, total: 0 }))
            )
          })
        )
      )
      return count
    })

  /**
   * Stages everything that the store has: products, collections, files, markets, definitions, metaobject entries and
   * translations. Fails if the platform is unavailable, refuses, sends a malformed answer, or has a value that cannot be stored.
   */
  const fetch = (
    accountId: AccountId,
    store: Store,
    id: ImportId,
    report: ReportProgress
  ): Effect.Effect<FetchedStore, PlatformReadError | ValidationFailed | NotFound> =>
    Effect.gen(function* () {
      const { createdAt: begunAt } = yield* Effect.flatMap(repo.find(accountId, id), Effect.orDie)
      const { open, recordRefusal } = yield* access.read(accountId, store.id)
      return yield* Effect.gen(function* () {
        const opened = yield* open
        const count = yield* pull(accountId, opened, id, report, writeAlways)
        const beside = yield* mirror.stage(accountId, id, opened)
        yield* pulled.measure
        return { begunAt, count, beside }
      }).pipe(Effect.tapErrorTag("PlatformRefused", recordRefusal))
    })

  return { fetch, pull }
})
