import { Effect } from "effect"
import { type Aggregate, variantsByProduct } from "../../catalog/Aggregate.ts"
import { untilNone } from "../../database/Forgetting.ts"
import { Transaction } from "../../database/Transaction.ts"
import type { CatalogChange } from "../../drafts/CatalogChange.ts"
import { DraftsRepo } from "../../drafts/DraftsRepo.ts"
import type { AccountId, EntityId, ImportId, StoreId } from "../../model/Ids.ts"
import type { Timestamp } from "../../model/Timestamp.ts"
import { makePause } from "../../runtime/Pause.ts"
import { StoreAccess } from "../../stores/StoreAccess.ts"
import type { ReportProgress } from "../ImportStaging.ts"
import { ImportsRepo } from "../ImportsRepo.ts"
import type { PulledRecord } from "../PulledRecord.ts"
import { PulledRecordsRepo } from "../PulledRecordsRepo.ts"
import { planAnswer } from "../plan/AnswerPlan.ts"
import type { Relations } from "../plan/ImportPlanner.ts"
import { matchVariants } from "../plan/VariantPlan.ts"
import { firstAnswer, isPlanned, type LeasedRun, listChangedKeys, type StagedItem } from "../StagedImport.ts"
import type { ImportSource } from "../StoreProduct.ts"
import { findRelated, groupRecords, relatedIn, toStoreEntity, toStoreVariant } from "./RecordGroups.ts"
import { makeRecordMatching } from "./RecordMatching.ts"
import { makeStoreReading, type Write } from "./StoreReading.ts"

/** Number of changed entities whose records are read at once, with all variants of a product. A single item may have more. */
const entitiesAtOnce = 100

/** Reads which values a store has after an export was applied. */
export const makeStoreAnswers = Effect.gen(function* () {
  const access = yield* StoreAccess
  const drafts = yield* DraftsRepo
  const pulled = yield* PulledRecordsRepo
  const repo = yield* ImportsRepo
  const transaction = yield* Transaction
  const match = yield* makeRecordMatching
  const { pull } = yield* makeStoreReading

  /** Plans the changes that record the store's values of these entities, which the imported file changed, as accepted. */
  const planBatch = (
    accountId: AccountId,
    id: ImportId,
    source: ImportSource,
    changedKeys: ReadonlyMap<EntityId, ReadonlySet<string>>
  ) =>
    transaction.run(
      Effect.gen(function* () {
        const batch = groupRecords(yield* pulled.matching(accountId, id, [...changedKeys.keys()]))
        const roots = batch.map(([root]) => root)
        const entityIds = yield* pulled.resolve(accountId, id, relatedIn(batch))
        const targets = roots.flatMap(({ entityId }) => entityId ?? [])
        const { aggregates } = yield* drafts.read(accountId, targets, [])
        const variantsOf = variantsByProduct(aggregates.values())
        const answer = (entity: Aggregate | undefined, record: PulledRecord, relations: Relations) => {
          const changed = entity === undefined ? undefined : changedKeys.get(entity.id)
          return entity === undefined || changed === undefined
            ? []
            : planAnswer(entity, toStoreEntity(record), relations, source, changed)
        }
        return batch.map(([root, ...variants]): ReadonlyArray<CatalogChange> => {
          const entity = root.entityId === null ? undefined : aggregates.get(root.entityId)
          const related = findRelated(root, entityIds)
          if (root.kind !== "product")
            return answer(entity, root, root.kind === "collection" ? { members: related } : {})
          const here = root.entityId === null ? [] : (variantsOf.get(root.entityId) ?? [])
          const inStore = variants.map((variant) => toStoreVariant(variant, entityIds))
          const matched = matchVariants(inStore, here, source.storeId)
          return [
            ...answer(entity, root, { media: related, variants: matched.flatMap((each) => each?.id ?? []) }),
            ...variants.flatMap((variant, index) =>
              answer(matched[index], variant, { picture: inStore[index]?.picture })
            )
          ]
        })
      })
    )

  /**
   * Reads the whole store and stages the changes that record the values of the exported entities as accepted. They
   * replace changes that were staged before. Returns their number.
   */
  return <E>(
    { accountId, id }: LeasedRun,
    storeId: StoreId,
    begunAt: Timestamp,
    report: ReportProgress,
    write: Write<E>
  ) =>
    Effect.gen(function* () {
      yield* untilNone(write(repo.clearSome(accountId, id)))
      yield* untilNone(write(pulled.forgetSome(accountId, id)))
      const count = yield* pull(accountId, yield* access.open(accountId, storeId), id, report, write)
      yield* pulled.measure
      yield* match(accountId, storeId, id, count, write)
      const source: ImportSource = { storeId, isComplete: true, begunAt }
      const pause = yield* makePause
      let entities = 0
      let ordinal = firstAnswer
      let after = -1
      while (true) {
        const changed = (yield* repo.nextItems(accountId, id, after, entitiesAtOnce)).filter(isPlanned)
        const last = changed.at(-1)
        if (last === undefined) break
        after = last.ordinal
        const answers = yield* planBatch(accountId, id, source, listChangedKeys(changed))
        const items = answers
          .filter((changes) => changes.length > 0)
          .map((changes): StagedItem => ({ ordinal: ordinal++, entities: changes.length, changes }))
        entities += items.reduce((sum, item) => sum + item.entities, 0)
        if (items.length > 0) yield* write(repo.stage(accountId, id, items))
        yield* pause
      }
      return entities
    })
})

export type ReadAnswer = Effect.Effect.Success<typeof makeStoreAnswers>
