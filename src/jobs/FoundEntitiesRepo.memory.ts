import { Effect, Layer, Ref } from "effect"
import type { MemoryEntity } from "../catalog/CatalogState.memory.ts"
import type { MerchantState, MissingField } from "../catalog/MerchantLists.ts"
import { matches, terms } from "../catalog/SearchText.ts"
import { MemoryStore } from "../database/MemoryStore.memory.ts"
import { valueOf } from "../model/Attribute.ts"
import type { PublishStatus } from "../model/PublishState.ts"
import { type FoundEntities, pageOf } from "./FoundEntities.ts"
import { FoundEntitiesRepo } from "./FoundEntitiesRepo.ts"

type Aggregate = MemoryEntity["aggregate"]

interface PublishedState {
  readonly lastPublishStatus: PublishStatus
  readonly pendingPublish: boolean
}

const isInState: Readonly<Record<MerchantState, (of: PublishedState) => boolean>> = {
  live: ({ lastPublishStatus, pendingPublish }) => lastPublishStatus === "published" && !pendingPublish,
  changed: ({ lastPublishStatus, pendingPublish }) => lastPublishStatus === "published" && pendingPublish,
  publishing: ({ lastPublishStatus }) => lastPublishStatus === "pending",
  failed: ({ lastPublishStatus }) => lastPublishStatus === "failed",
  unpublished: ({ lastPublishStatus }) => lastPublishStatus === "never_published"
}

const isEmpty = (aggregate: Aggregate, key: string) => ["", "[]"].includes(valueOf(aggregate.attributes, key))

const lacks: Readonly<Record<MissingField, (aggregate: Aggregate) => boolean>> = {
  description: (aggregate) => isEmpty(aggregate, "description_html"),
  vendor: (aggregate) => isEmpty(aggregate, "vendor"),
  type: (aggregate) => isEmpty(aggregate, "product_type"),
  tags: (aggregate) => isEmpty(aggregate, "tags"),
  picture: ({ gallery, kind }) => kind === "product" && gallery.length === 0
}

const isOnStores = (aggregate: Aggregate, { filters: { state, storeId } }: FoundEntities) => {
  const isIn = state === undefined || state === "absent" ? () => true : isInState[state]
  if (storeId === undefined) return isIn(aggregate)
  if (state === "absent") return !aggregate.storeIds.includes(storeId)
  return (
    aggregate.storeIds.includes(storeId) &&
    aggregate.versions.some((version) => version.storeId === storeId && isIn(version))
  )
}

const fits = (aggregate: Aggregate, found: FoundEntities) => {
  const { hasOwnValues, missing, productType, search, storeId, tag, vendor } = found.filters
  return (
    found.kinds.includes(aggregate.kind) &&
    isOnStores(aggregate, found) &&
    matches(aggregate.searchText, search === undefined ? [] : terms(search)) &&
    (vendor === undefined || aggregate.attributes.vendor?.value === vendor) &&
    (productType === undefined || aggregate.attributes.product_type?.value === productType) &&
    (tag === undefined || valueOf(aggregate.attributes, "tags").includes(JSON.stringify(tag))) &&
    (missing === undefined || lacks[missing](aggregate)) &&
    (hasOwnValues !== true ||
      aggregate.versions.some(
        (version) => Object.keys(version.overrides).length > 0 && (storeId === undefined || version.storeId === storeId)
      ))
  )
}

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerFoundEntitiesRepoMemory = Layer.effect(
  FoundEntitiesRepo,
  Effect.map(MemoryStore, (store) => ({
    next: (accountId, jobId, found, place) =>
      Effect.map(Ref.get(store), (state) => {
        const account = state.get(accountId)
        const begun = account?.jobs.get(jobId)?.job.created_at ?? ""
        const checkedEntities = [...(account?.entities.values() ?? [])]
          .filter(({ aggregate: { id } }) => id > place.after)
          .sort((left, right) => (left.aggregate.id < right.aggregate.id ? -1 : 1))
          .slice(0, place.looked)
          .map(({ aggregate, createdAt }) => ({
            id: aggregate.id,
            fits: createdAt <= begun && fits(aggregate, found)
          }))
        return pageOf(checkedEntities, place)
      })
  }))
)
