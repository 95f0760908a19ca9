import { Effect } from "effect"
import { type Aggregate, variantsByProduct } from "../../catalog/Aggregate.ts"
import { Transaction } from "../../database/Transaction.ts"
import { DraftsRepo } from "../../drafts/DraftsRepo.ts"
import { type AccountId, EntityId, type ImportId, type StoreId } from "../../model/Ids.ts"
import { inRuns, UuidSource } from "../../runtime/Identifiers.ts"
import { omitUnlinked } from "../CatalogView.ts"
import type { Counted } from "../ImportStaging.ts"
import type { FoundEntity, PulledRecord } from "../PulledRecord.ts"
import { PulledRecordsRepo } from "../PulledRecordsRepo.ts"
import { planCollection } from "../plan/CollectionPlan.ts"
import type { ImportPlan } from "../plan/ImportPlan.ts"
import { planFile } from "../plan/MediaPlan.ts"
import { planProduct } from "../plan/ProductPlan.ts"
import type { ImportSource } from "../StoreProduct.ts"
import { findRelated, type RecordGroup, relatedIn, toStoreEntity, toStoreVariant } from "./RecordGroups.ts"

/** Files of the product's gallery that an unlinked store shows. */
const listHeldElsewhere = (product: Aggregate | undefined, linked: ReadonlyArray<StoreId>) =>
  new Set(
    (product?.gallery ?? [])
      .filter((entry) => entry.storeIds.some((storeId) => !linked.includes(storeId)))
      .map(({ mediaId }) => mediaId)
  )

/** Plans the record groups of one batch. */
class BatchPlanner {
  /** The planned entity of each record. It is written back to the staged records. */
  readonly assigned: Array<FoundEntity> = []
  readonly source: ImportSource
  readonly mint: () => EntityId
  readonly entityIds: Map<string, EntityId>
  readonly aggregates: ReadonlyMap<EntityId, Aggregate>
  readonly linked: ReadonlyArray<StoreId>
  readonly here: ReadonlyMap<EntityId, Aggregate>
  readonly variants: ReadonlyMap<EntityId, ReadonlyArray<Aggregate>>

  constructor(
    source: ImportSource,
    mint: () => EntityId,
    entityIds: Map<string, EntityId>,
    aggregates: ReadonlyMap<EntityId, Aggregate>,
    linked: ReadonlyArray<StoreId>
  ) {
    this.source = source
    this.mint = mint
    this.entityIds = entityIds
    this.aggregates = aggregates
    this.linked = linked
    this.here = new Map([...aggregates].map(([id, aggregate]) => [id, omitUnlinked(linked, aggregate)]))
    this.variants = variantsByProduct(this.here.values())
  }

  plan(group: RecordGroup): readonly [Counted, ImportPlan] {
    const [root] = group
    if (root.kind === "product") return ["products", this.planProduct(group)]
    const entity = root.entityId === null ? undefined : this.here.get(root.entityId)
    const id = entity?.id ?? this.mint()
    this.assign(root, id)
    if (root.kind === "media") return ["files", planFile(toStoreEntity(root), entity, this.source, id)]
    const members = findRelated(root, this.entityIds)
    return ["collections", planCollection({ ...toStoreEntity(root), members }, entity, this.source, id)]
  }

  private planProduct([root, ...variants]: RecordGroup): ImportPlan {
    const product = root.entityId === null ? undefined : this.here.get(root.entityId)
    const plan = planProduct(
      {
        ...toStoreEntity(root),
        variants: variants.map((variant) => toStoreVariant(variant, this.entityIds)),
        images: [],
        media: findRelated(root, this.entityIds)
      },
      {
        product,
        variants: product === undefined ? [] : (this.variants.get(product.id) ?? []),
        media: [],
        heldElsewhere: listHeldElsewhere(
          root.entityId === null ? undefined : this.aggregates.get(root.entityId),
          this.linked
        )
      },
      this.source,
      this.mint
    )
    this.assign(root, plan.entityId)
    for (const [index, entityId] of plan.variantIds.entries()) {
      const variant = variants[index]
      if (variant !== undefined) this.assign(variant, entityId)
    }
    return plan
  }

  private assign({ ordinal, platformId, root }: PulledRecord, entityId: EntityId): void {
    this.assigned.push({ root, ordinal, entityId })
    // Later products and collections of the batch may refer to the record.
    this.entityIds.set(platformId, entityId)
  }
}

/** Compares batches of a store's records with the catalog, each in one transaction. */
export const makeRefreshPlanning = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const pulled = yield* PulledRecordsRepo
  const transaction = yield* Transaction

  return (accountId: AccountId, source: ImportSource, id: ImportId, groups: ReadonlyArray<RecordGroup>) =>
    transaction.run(
      Effect.gen(function* () {
        const roots = groups.map(([root]) => root)
        const entityIds = new Map(yield* pulled.resolve(accountId, id, relatedIn(groups)))
        const targets = roots.flatMap(({ entityId }) => entityId ?? [])
        const { aggregates, storeIds } = yield* drafts.read(accountId, targets, [])
        const nextUuid = inRuns(yield* UuidSource)
        const mint = () => EntityId.make(nextUuid())
        const planner = new BatchPlanner(source, mint, entityIds, aggregates, storeIds)
        const plans = yield* Effect.sync(() => groups.map((group) => planner.plan(group)))
        yield* pulled.assign(accountId, id, planner.assigned)
        return plans
      })
    )
})
