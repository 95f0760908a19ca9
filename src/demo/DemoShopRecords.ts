import type { Aggregate } from "../catalog/Aggregate.ts"
import { CatalogChange } from "../drafts/CatalogChange.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { type DemoRecord, demoPlatformId } from "../platform/demo/DemoRecords.ts"

type Aggregates = ReadonlyMap<EntityId, Aggregate>

const acceptedOn = ({ versions }: Aggregate, storeId: StoreId) =>
  versions.find((version) => version.storeId === storeId)?.accepted ?? null

/** The records of a demo shop whose values are exactly those that its store has accepted. */
export const acceptedRecords = (aggregates: Aggregates, storeId: StoreId): ReadonlyArray<DemoRecord> => {
  const nameOf = (id: EntityId) => {
    const aggregate = aggregates.get(id)
    return aggregate === undefined ? [] : [demoPlatformId(aggregate.kind, id)]
  }
  return [...aggregates.values()].flatMap((aggregate): ReadonlyArray<DemoRecord> => {
    const { id, kind, parentId } = aggregate
    const values = acceptedOn(aggregate, storeId)
    if (values === null) return []
    const product = parentId === null ? undefined : aggregates.get(parentId)
    const place = product === undefined ? -1 : (acceptedOn(product, storeId)?.variants ?? []).indexOf(id)
    return [
      {
        kind,
        platformId: demoPlatformId(kind, id),
        entityId: id,
        parentId: parentId === null ? null : demoPlatformId("product", parentId),
        position: place < 0 ? null : place,
        attributes: values.attributes,
        media: kind === "variant" ? [] : (values.media ?? []).flatMap(nameOf),
        members: (values.members ?? []).flatMap(nameOf),
        picture: kind === "variant" ? ((values.media ?? []).flatMap(nameOf)[0] ?? null) : null
      }
    ]
  })
}

/** Adds platform ids to the changes by which stores accept entities. */
export const withNames = (
  changes: ReadonlyArray<ReadonlyArray<CatalogChange>>
): ReadonlyArray<ReadonlyArray<CatalogChange>> => {
  const kinds = new Map(
    changes.flat().flatMap((change) => (change._tag === "CreateEntity" ? [[change.id, change.kind] as const] : []))
  )
  return changes.map((some) =>
    some.map((change) => {
      const kind = change._tag === "AcceptPublish" ? kinds.get(change.entityId) : undefined
      return change._tag !== "AcceptPublish" || kind === undefined
        ? change
        : CatalogChange.AcceptPublish({ ...change, platformId: demoPlatformId(kind, change.entityId) })
    })
  )
}

/** The products and collections whose publish is pending. Variants and media are published together with their product. */
export const awaitingPublish = (
  aggregates: Aggregates
): ReadonlyArray<{ readonly entityId: EntityId; readonly storeId: StoreId }> =>
  [...aggregates.values()]
    .filter(({ kind }) => kind === "product" || kind === "collection")
    .flatMap(({ id, versions }) =>
      versions
        .filter(({ lastPublishStatus }) => lastPublishStatus === "pending")
        .map(({ storeId }) => ({ entityId: id, storeId }))
    )
