import { Chunk, Effect, Either, Option, Sink, Stream } from "effect"
import { Transaction } from "../database/Transaction.ts"
import type { Aggregate } from "../drafts/Aggregate.ts"
import { CatalogChange } from "../drafts/CatalogChange.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { type Attributes, type EntityKind, titleOf } from "../model/Attribute.ts"
import { storageRule } from "../model/AttributeRules.ts"
import { type NotFound, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, EntityId, type ImportId, nilUuid, type StoreId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { PlatformClient, type PlatformStore } from "../platform/PlatformClient.ts"
import { type PlatformReadError, PlatformUnavailable } from "../platform/PlatformErrors.ts"
import type { PlatformRecord } from "../platform/PlatformRecord.ts"
import { makeBreath } from "../runtime/Breath.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { UuidSource } from "../runtime/Identifiers.ts"
import { Mirror } from "../storedata/Mirror.ts"
import type { MirrorSummary } from "../storedata/MirrorRecords.ts"
import { StoreAccess } from "../stores/StoreAccess.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { shownBy } from "./ImportComparison.ts"
import { quoted } from "./ImportedProduct.ts"
import { type ImportPlan, matchVariants, planAnswer, planCollection, planFile, planImport } from "./ImportPlan.ts"
import { type Compared, ImportStaging, partsAtOnce, type ReportProgress } from "./ImportStaging.ts"
import { firstAnswer, ImportsRepo, type LeasedRun, type StagedItem } from "./ImportsRepo.ts"
import { type FoundEntity, type MatchedBy, type PulledRecord, PulledRecordsRepo } from "./PulledRecordsRepo.ts"
import type { ImportSource, StoreEntity } from "./StoreProduct.ts"

/** Records whose entities one statement looks for. */
const matchedAtOnce = 2_000

/** The rules by which a record is an entity that is here, in their order: the first that finds one counts. */
const rules: ReadonlyArray<MatchedBy> = ["platformId", "saidId", "variants", "sku", "handle", "address"]

/** Most characters of what a platform calls a record: an index takes no long ones. */
const mostIdCharacters = 255

const nouns: Readonly<Record<EntityKind, string>> = {
  product: "product",
  variant: "variant",
  collection: "collection",
  media: "file"
}

const named = (kind: EntityKind, platformId: string, attributes: Attributes) =>
  `${nouns[kind]} ${platformId} (${quoted(titleOf(kind, attributes))})`

/** Why a record cannot be kept: text is stored as it is said, or refused. */
const unkept = ({ attributes, kind, platformId }: PlatformRecord): ValidationFailed | undefined => {
  if (platformId.length > mostIdCharacters || storageRule("", platformId) !== undefined)
    return ValidationFailed.at("store", `calls a ${nouns[kind]} ${quoted(platformId)}, which cannot be kept`)
  for (const [key, { type, value }] of Object.entries(attributes)) {
    const rule = storageRule("", key) ?? storageRule("", type) ?? storageRule(key, value)
    if (rule !== undefined)
      return ValidationFailed.at("store", `has a ${named(kind, platformId, attributes)} whose ${key} ${rule}`)
  }
  return undefined
}

const textsOf = ({ attributes, entityId, platformId, saidId }: PulledRecord): StoreEntity => ({
  values: Object.fromEntries(Object.entries(attributes).map(([key, { value }]) => [key, value])),
  // Those of built-in keys are ours to know.
  types: Object.fromEntries(
    Object.entries(attributes).flatMap(([key, { type }]) => (key.includes(".") ? [[key, type]] : []))
  ),
  platformId,
  isOurs: saidId !== null && saidId === entityId
})

/** What a whole store was read to. */
interface Fetched {
  /** When the reading began. */
  readonly begunAt: Timestamp
  /** Records of its catalog. */
  readonly count: number
  readonly beside: MirrorSummary
}

/** Writes a part of what is kept of a store. It fails where somebody else works on the import by now. */
type Write<E> = (part: Effect.Effect<void>) => Effect.Effect<void, E>

const write: Write<never> = (part) => part

/** A product with its variants, a collection or a file. */
type Group = readonly [root: PulledRecord, ...variants: ReadonlyArray<PulledRecord>]

/** Reads a whole store through its platform, and compares what was read with the catalog. */
export const makeRefreshComparison = Effect.gen(function* () {
  const access = yield* StoreAccess
  const drafts = yield* DraftsRepo
  const faults = yield* FaultInjector
  const importLock = yield* ImportLockRepo
  const mirror = yield* Mirror
  const platform = yield* PlatformClient
  const pulled = yield* PulledRecordsRepo
  const repo = yield* ImportsRepo
  const stores = yield* StoresRepo
  const transaction = yield* Transaction

  /**
   * Keeps all that the store's platform says, of its catalog and beside it. A platform that fails, or whose answer makes no sense, and a
   * value that cannot be stored end it.
   */
  const fetch = (
    accountId: AccountId,
    store: Store,
    id: ImportId,
    report: ReportProgress
  ): Effect.Effect<Fetched, PlatformReadError | ValidationFailed | NotFound> =>
    Effect.gen(function* () {
      const { createdAt: begunAt } = yield* Effect.flatMap(repo.find(accountId, id), Effect.orDie)
      const opened = yield* access.open(accountId, store.id)
      const count = yield* pull(accountId, opened, id, report, write)
      const beside = yield* mirror.stage(accountId, id, opened)
      yield* pulled.measure
      return { begunAt, count, beside }
    })

  /** Keeps the records of the store's catalog: how many. */
  const pull = <E>(
    accountId: AccountId,
    opened: PlatformStore,
    id: ImportId,
    report: ReportProgress,
    write: Write<E>
  ) =>
    Effect.gen(function* () {
      const breathe = yield* makeBreath
      let count = 0
      let product = { root: 0, platformId: "" }
      const numbered = (
        record: PlatformRecord
      ): Either.Either<PulledRecord, PlatformUnavailable | ValidationFailed> => {
        const refusal = unkept(record)
        if (refusal !== undefined) return Either.left(refusal)
        const { attributes, entityId, kind, members, media, platformId } = record
        count += 1
        if (kind === "product") product = { root: count, platformId }
        // A variant follows its product.
        if (kind === "variant" && record.parentId !== product.platformId)
          return Either.left(new PlatformUnavailable({ reason: "nonsense" }))
        return Either.right({
          root: kind === "variant" ? product.root : count,
          ordinal: count,
          kind,
          platformId,
          saidId: entityId,
          attributes: Object.fromEntries(Object.entries(attributes).filter(([, { value }]) => value !== "")),
          related: kind === "product" ? media : kind === "collection" ? members : [],
          entityId: null
        })
      }
      yield* platform.pull(opened).pipe(
        Stream.mapEffect((record) => Effect.suspend(() => numbered(record))),
        Stream.grouped(partsAtOnce),
        Stream.runForEach((records) =>
          write(pulled.keep(accountId, id, Chunk.toReadonlyArray(records))).pipe(
            Effect.zipRight(faults.at("pulled")),
            Effect.zipRight(breathe),
            Effect.zipRight(report({ step: "fetching", done: count, total: 0 }))
          )
        )
      )
      return count
    })

  /** SKUs of one product that lead to several: none of these is it for certain. */
  const torn = (accountId: AccountId, id: ImportId, found: ReadonlyArray<FoundEntity>) =>
    Effect.gen(function* () {
      const twice = found.find(({ root }, index) => found[index - 1]?.root === root)
      if (twice === undefined) return
      const [record] = yield* pulled.page(accountId, id, { root: twice.root - 1, ordinal: twice.ordinal }, 1)
      const said = record === undefined ? "a product" : `the ${named("product", record.platformId, record.attributes)}`
      const ids = found.filter(({ root }) => root === twice.root).map(({ entityId }) => entityId)
      return yield* ValidationFailed.at(
        "store",
        `has ${said} whose SKUs belong to different products here: ${ids.join(", ")}; give them to one of these, or to none`
      )
    })

  /** Finds the entity that each record is. Every rule sees all records before the next one does: none takes another's. */
  const match = <E>(accountId: AccountId, storeId: StoreId, id: ImportId, count: number, write: Write<E>) =>
    Effect.gen(function* () {
      const breathe = yield* makeBreath
      const ranges = Array.from({ length: Math.ceil(count / matchedAtOnce) }, (_, index) => ({
        accountId,
        id,
        from: index * matchedAtOnce,
        through: (index + 1) * matchedAtOnce
      }))
      for (const by of rules)
        for (const range of ranges) {
          const found = yield* pulled.find(by, range, storeId)
          if (by === "sku") yield* torn(accountId, id, found)
          yield* write(pulled.claim(range, found))
          yield* breathe
        }
      yield* Effect.forEach(ranges, (range) => write(pulled.disown(range)), { discard: true })
    })

  const planBatch = (accountId: AccountId, source: ImportSource, id: ImportId, groups: ReadonlyArray<Group>) =>
    transaction.run(
      Effect.gen(function* () {
        // Whoever holds it alone takes locks of entities in an order of its own.
        yield* importLock.share(accountId)
        const roots = groups.map(([root]) => root)
        const related = new Map(
          yield* pulled.resolve(
            accountId,
            id,
            roots.flatMap((root) => root.related)
          )
        )
        const targets = roots.flatMap(({ entityId }) => entityId ?? [])
        const { aggregates, storeIds } = yield* drafts.lock(accountId, targets, [])
        const here = new Map([...aggregates].map(([each, aggregate]) => [each, shownBy(storeIds, aggregate)]))
        const variantsOf = new Map<EntityId | null, Array<Aggregate>>()
        for (const aggregate of here.values())
          if (aggregate.parentId !== null)
            variantsOf.set(aggregate.parentId, [...(variantsOf.get(aggregate.parentId) ?? []), aggregate])
        for (const variants of variantsOf.values())
          variants.sort((left, right) => (left.position ?? 0) - (right.position ?? 0))
        const nextUuid = yield* UuidSource
        const mint = () => EntityId.make(nextUuid())
        // What was made after the files, or the products, were read comes with the next refresh.
        const known = ({ related: platformIds }: PulledRecord) =>
          [...new Set(platformIds)].flatMap((platformId) => related.get(platformId) ?? [])

        const ids: Array<FoundEntity> = []
        const is = ({ ordinal, platformId, root }: PulledRecord, entityId: EntityId) => {
          ids.push({ root, ordinal, entityId })
          // Products and collections of the same batch name it.
          related.set(platformId, entityId)
        }
        const planOne = ([root, ...variants]: Group): readonly ["products" | "collections" | "files", ImportPlan] => {
          const entity = root.entityId === null ? undefined : here.get(root.entityId)
          if (root.kind !== "product") {
            const entityId = entity?.id ?? mint()
            is(root, entityId)
            return root.kind === "media"
              ? ["files", planFile(textsOf(root), entity, source, entityId)]
              : ["collections", planCollection({ ...textsOf(root), members: known(root) }, entity, source, entityId)]
          }
          const plan = planImport(
            {
              ...textsOf(root),
              variants: variants.map((variant) => ({
                ...textsOf(variant),
                entityId: variant.entityId,
                imageUrl: null
              })),
              images: [],
              media: known(root)
            },
            {
              product: entity,
              variants: entity === undefined ? [] : (variantsOf.get(entity.id) ?? []),
              media: [],
              heldElsewhere: new Set(
                (root.entityId === null ? [] : (aggregates.get(root.entityId)?.gallery ?? []))
                  .filter((entry) => entry.storeIds.some((storeId) => !storeIds.includes(storeId)))
                  .map(({ mediaId }) => mediaId)
              )
            },
            source,
            mint
          )
          is(root, plan.entityId)
          for (const [index, entityId] of plan.variantIds.entries()) {
            const variant = variants[index]
            if (variant !== undefined) is(variant, entityId)
          }
          return ["products", plan]
        }
        const plans = yield* Effect.sync(() => groups.map(planOne))
        yield* pulled.assign(accountId, id, ids)
        return plans
      })
    )

  const records = (accountId: AccountId, id: ImportId) =>
    Stream.paginateChunkEffect(null as { readonly root: number; readonly ordinal: number } | null, (after) =>
      Effect.map(pulled.page(accountId, id, after, partsAtOnce), (page) => [
        Chunk.unsafeFromArray([...page]),
        page.length < partsAtOnce ? Option.none() : Option.fromNullable(page.at(-1))
      ])
    )

  const groups = (accountId: AccountId, id: ImportId): Stream.Stream<Group> =>
    records(accountId, id).pipe(
      Stream.map(Option.some),
      Stream.concat(Stream.succeed(Option.none<PulledRecord>())),
      Stream.mapAccum(null as Group | null, (held, record): readonly [Group | null, Option.Option<Group>] =>
        Option.match(record, {
          onNone: () => [null, Option.fromNullable(held)],
          onSome: (next) =>
            held !== null && next.root === held[0].root
              ? [[...held, next], Option.none()]
              : [[next], Option.fromNullable(held)]
        })
      ),
      Stream.filterMap((group) => group)
    )

  /**
   * Compares all that was read with the catalog and stages what the import will do, in place of what was staged before.
   * ValidationFailed: the store was unlinked, or what it has cannot be told apart here.
   */
  const compare = (
    accountId: AccountId,
    store: Store,
    id: ImportId,
    { begunAt, beside, count }: Fetched,
    report: ReportProgress
  ) =>
    Effect.gen(function* () {
      const version = yield* repo.accountVersion(accountId)
      // After the version: one that is unlinked later moves it.
      if (Option.isNone(yield* stores.find(accountId, store.id)))
        return yield* ValidationFailed.at("store", `${store.domain} was unlinked while it was read`)
      yield* repo.clear(accountId, id)
      yield* pulled.unmatch(accountId, id)
      yield* match(accountId, store.id, id, count, write)
      const staging = new ImportStaging(repo, accountId, id, store.id)
      const source: ImportSource = { storeId: store.id, isComplete: true, begunAt }
      const breathe = yield* makeBreath
      let done = 0
      const stageBatch = (batch: ReadonlyArray<Group>) =>
        Effect.gen(function* () {
          yield* staging.stage(yield* planBatch(accountId, source, id, batch))
          const { images, variants } = staging.summary
          staging.summary = {
            ...staging.summary,
            variants: variants + batch.reduce((sum, group) => sum + group.length - 1, 0),
            images: images + batch.filter(([root]) => root.kind === "media").length
          }
          done += batch.reduce((sum, group) => sum + group.length, 0)
          yield* faults.at("staged")
          yield* breathe
          yield* report({ step: "comparing", done, total: count })
        })
      yield* groups(accountId, id).pipe(
        Stream.transduce(
          Sink.foldWeighted({
            initial: Chunk.empty<Group>(),
            maxCost: partsAtOnce,
            cost: (_, group) => group.length,
            body: (batch, group) => Chunk.append(batch, group)
          })
        ),
        Stream.runForEach((batch) => stageBatch(Chunk.toReadonlyArray(batch)))
      )
      let last: string = nilUuid
      for (;;) {
        const gone = yield* pulled.missing({ accountId, id, storeId: store.id, begunAt }, last, partsAtOnce)
        yield* staging.unlink(gone.map((entityId) => CatalogChange.RemoveFromStore({ entityId, storeId: store.id })))
        const end = gone.at(-1)
        if (end === undefined) break
        last = end
      }
      return { version, summary: { ...staging.summary, beside } } satisfies Compared
    })

  /** What the store holds of the entities of these records that an export changed. */
  const planAnswers = (
    accountId: AccountId,
    id: ImportId,
    source: ImportSource,
    touched: ReadonlyMap<EntityId, ReadonlySet<string>>,
    batch: ReadonlyArray<Group>
  ) =>
    transaction.run(
      Effect.gen(function* () {
        yield* importLock.share(accountId)
        const roots = batch.map(([root]) => root)
        const related = yield* pulled.resolve(
          accountId,
          id,
          roots.flatMap((root) => root.related)
        )
        const known = ({ related: platformIds }: PulledRecord) =>
          [...new Set(platformIds)].flatMap((platformId) => related.get(platformId) ?? [])
        const { aggregates } = yield* drafts.lock(
          accountId,
          roots.flatMap(({ entityId }) => entityId ?? []),
          []
        )
        const answerOf = (
          entity: Aggregate | undefined,
          record: PulledRecord,
          relations: Parameters<typeof planAnswer>[2]
        ) => {
          const changed = entity === undefined ? undefined : touched.get(entity.id)
          return entity === undefined || changed === undefined
            ? []
            : planAnswer(entity, textsOf(record), relations, source, changed)
        }
        return batch.map(([root, ...variants]) => {
          const entity = root.entityId === null ? undefined : aggregates.get(root.entityId)
          if (root.kind !== "product")
            return answerOf(entity, root, root.kind === "collection" ? { members: known(root) } : {})
          const here = [...aggregates.values()].filter(
            ({ parentId }) => parentId !== null && parentId === root.entityId
          )
          const held = variants.map((variant) => ({
            ...textsOf(variant),
            entityId: variant.entityId,
            imageUrl: null
          }))
          const matched = matchVariants(held, here, source.storeId)
          return [
            ...answerOf(entity, root, { media: known(root), variants: matched.flatMap((each) => each?.id ?? []) }),
            ...variants.flatMap((variant, index) => answerOf(matched[index], variant, {}))
          ]
        })
      })
    )

  /**
   * Reads a whole store after an export was applied to it, and stages that the store has accepted what it holds of the entities
   * that the export changed, in place of what was staged so before. How many the store holds.
   */
  const answer = <E>(
    { accountId, id }: LeasedRun,
    storeId: StoreId,
    begunAt: Timestamp,
    report: ReportProgress,
    write: Write<E>
  ) =>
    Effect.gen(function* () {
      yield* write(repo.clear(accountId, id))
      yield* write(pulled.forget(accountId, id))
      const count = yield* pull(accountId, yield* access.open(accountId, storeId), id, report, write)
      yield* pulled.measure
      yield* match(accountId, storeId, id, count, write)
      const touched = yield* repo.touched(accountId, id)
      const source: ImportSource = { storeId, isComplete: true, begunAt }
      const breathe = yield* makeBreath
      let entities = 0
      let ordinal = firstAnswer
      yield* groups(accountId, id).pipe(
        Stream.grouped(partsAtOnce / 5),
        Stream.runForEach((batch) =>
          Effect.gen(function* () {
            const answers = yield* planAnswers(accountId, id, source, touched, Chunk.toReadonlyArray(batch))
            const items = answers
              .filter((changes) => changes.length > 0)
              .map((changes): StagedItem => ({ ordinal: ordinal++, entities: changes.length, changes }))
            entities += items.reduce((sum, item) => sum + item.entities, 0)
            if (items.length > 0) yield* write(repo.stage(accountId, id, items))
            yield* breathe
          })
        )
      )
      yield* write(pulled.forget(accountId, id))
      return entities
    })

  return { answer, fetch, compare }
})
