import { Array as Arr, Effect, Layer, Option, Ref } from "effect"
import { type MemoryAccount, type MemoryState, MemoryStore } from "../database/MemoryStore.memory.ts"
import { type EntityKind, titleOf, valueOf } from "../model/Attribute.ts"
import type { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { rollUp } from "../model/PublishState.ts"
import { type Aggregate, byPosition } from "./Aggregate.ts"
import { type CatalogLookUps, CatalogRepo } from "./CatalogRepo.ts"
import {
  type IdentifiedProjections,
  type ListFilters,
  limitedRowOf,
  maxPageBytes,
  type ProjectionsRecord,
  placeOfGone,
  type RelatedList,
  type RelatedPlace,
  type RowPage,
  relatedLists,
  relatedPageOf
} from "./CatalogRows.ts"
import type { MemoryEntity } from "./CatalogState.memory.ts"
import { type EntityRecord, type EntityRow, type Include, includedOf, mediaTypeOf } from "./Entity.ts"
import { layersOf } from "./SearchedFields.ts"
import { matches } from "./SearchText.ts"

const isOnStore = ({ versions }: Aggregate, storeId: StoreId) => versions.some((each) => each.storeId === storeId)

/** As `makeCatalogLookUps`. */
const makeLookUps = (store: MemoryStore["Type"]): CatalogLookUps => ({
  kindOf: (accountId, id) =>
    Effect.map(Ref.get(store), (state) => Option.fromNullable(state.get(accountId)?.entities.get(id)?.aggregate.kind)),
  withSku: (accountId, sku) =>
    Effect.map(Ref.get(store), (state) =>
      [...(state.get(accountId)?.entities.values() ?? [])]
        .flatMap(({ aggregate: { attributes, id, kind } }) =>
          kind === "variant" && valueOf(attributes, "sku") === sku ? [id] : []
        )
        .sort()
    ),
  withHandle: (accountId, handle) =>
    Effect.map(Ref.get(store), (state) =>
      [...(state.get(accountId)?.entities.values() ?? [])]
        .map(({ aggregate }) => aggregate)
        .filter(
          ({ attributes, kind }) =>
            (kind === "product" || kind === "collection") && valueOf(attributes, "handle") === handle
        )
        .map(({ id, kind }) => ({ id, kind }))
        .sort((left, right) => (`${left.kind} ${left.id}` < `${right.kind} ${right.id}` ? -1 : 1))
    ),
  // In-memory transactions run one at a time.
  lockHandle: () => Effect.void,
  partsOnStore: (accountId, storeId, ids, isThere) =>
    Effect.map(Ref.get(store), (state) => {
      const entities = state.get(accountId)?.entities
      const moved = ids
        .flatMap((id) => entities?.get(id)?.aggregate ?? [])
        .filter((each) => isOnStore(each, storeId) === isThere)
      const variants = [...(entities?.values() ?? [])]
        .map(({ aggregate }) => aggregate)
        .filter(({ parentId }) => moved.some(({ id }) => id === parentId))
      const media = [...moved, ...variants].flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId))
      return [...new Set([...variants.map(({ id }) => id), ...media])]
    }),
  mediaShownByOthers: (accountId, storeId, mediaIds, except, variantsOf) =>
    Effect.map(Ref.get(store), (state) => {
      const showing = [...(state.get(accountId)?.entities.values() ?? [])].flatMap(({ aggregate }) =>
        isOnStore(aggregate, storeId) &&
        !except.includes(aggregate.id) &&
        (variantsOf === undefined || aggregate.parentId === variantsOf)
          ? aggregate.gallery
          : []
      )
      return mediaIds.filter((id) =>
        showing.some(({ mediaId, storeIds }) => mediaId === id && storeIds.includes(storeId))
      )
    }),
  related: (accountId, id, after, limit) =>
    Effect.map(Ref.get(store), (state) => {
      const account = state.get(accountId)
      const found = account?.entities.get(id)
      const places = account === undefined || found === undefined ? [] : relatedTo(account, found.aggregate)
      const now = places.find((place) => place.list === after.list && place.id === after.id)
      const rows = places
        .filter((place) => byPlace(place, now ?? placeOfGone(after)) > 0)
        .sort(byPlace)
        .flatMap((place) => {
          const entity = account?.entities.get(place.id)
          return entity === undefined ? [] : [{ ...place, row: JSON.stringify(rowOf(entity)) }]
        })
      return relatedPageOf(rows, limit)
    }),
  membersBefore: (accountId, collectionId, productId) =>
    Effect.map(Ref.get(store), (state) => {
      const members = state.get(accountId)?.entities.get(collectionId)?.aggregate.members ?? []
      return Math.max(0, members.indexOf(productId))
    })
})

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerCatalogRepoMemory = Layer.effect(
  CatalogRepo,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const entity = (accountId: AccountId, kind: EntityKind, id: EntityId) =>
      Effect.map(Ref.get(store), (state) => {
        const account = state.get(accountId)
        const found = account?.entities.get(id)
        return account === undefined || found?.aggregate.kind !== kind ? Option.none() : Option.some({ account, found })
      })
    const pageOf = makePages(store)
    return {
      page: pageOf,
      includingPage: (accountId, kind, include, filters, after, limit) =>
        pageOf(accountId, kind, filters, after, limit, include),
      pageOfAll: (accountId, filters, after, limit) => pageOf(accountId, null, filters, after, limit),
      limitedTo: (accountId, stores, ids) =>
        Effect.map(Ref.get(store), (state) => {
          const entities = state.get(accountId)?.entities
          const aggregates = [...(entities?.values() ?? [])]
            .map(({ aggregate }) => limitedTo(aggregate, stores))
            .filter((each) => each !== undefined)
          return new Map(
            aggregates
              .filter(({ id }) => ids.includes(id))
              .map((each) => [
                each.id,
                limitedRowOf({
                  ...each,
                  skus: aggregates
                    .filter(({ parentId }) => parentId === each.id)
                    .flatMap((variant) => layersOf(variant, "sku")),
                  productTitle: valueOf(
                    (each.parentId === null ? undefined : entities?.get(each.parentId)?.aggregate.attributes) ?? {},
                    "title"
                  )
                })
              ])
          )
        }),
      ...makeLookUps(store),
      find: (accountId, kind, id) =>
        Effect.map(
          entity(accountId, kind, id),
          Option.map(({ account, found }) => recordOf(account, found))
        ),
      versions: (accountId, kind, id, storeId) =>
        Effect.map(
          entity(accountId, kind, id),
          Option.map(({ account, found: { aggregate } }) => ({
            attributes: aggregate.attributes,
            versions: aggregate.versions.flatMap((version) => {
              const linked = account.stores.get(version.storeId)
              return linked === undefined || (storeId !== undefined && version.storeId !== storeId)
                ? []
                : [
                    {
                      storeId: version.storeId,
                      storeDomain: linked.domain,
                      overrides: version.overrides,
                      pendingPublish: version.pendingPublish,
                      lastPublishStatus: version.lastPublishStatus
                    }
                  ]
            })
          }))
        ),
      projections: (accountId, kind, id, storeId) =>
        Effect.map(
          entity(accountId, kind, id),
          Option.map(({ account, found: { aggregate } }) => toProjections(account, aggregate, storeId))
        ),
      projectionsOfAll: (accountId, kind, ids) =>
        Effect.forEach(ids, (id) => entity(accountId, kind, id)).pipe(Effect.map(toIdentified)),
      onStore: (accountId, kind, id, storeId) =>
        Effect.map(entity(accountId, kind, id), (entry) =>
          Option.flatMap(entry, ({ account, found: { aggregate } }) =>
            account.stores.has(storeId)
              ? Option.fromNullable(aggregate.versions.find((version) => version.storeId === storeId))
              : Option.none()
          ).pipe(Option.map(({ platformId }) => ({ platformId })))
        ),
      cursorKey: Effect.succeed(new TextEncoder().encode("in memory: a key of 32 bytes...."))
    }
  })
)

/** Reads pages of list rows, or of details with included groups. */
const makePages =
  (store: Ref.Ref<MemoryState>) =>
  (
    accountId: AccountId,
    kind: EntityKind | null,
    filters: ListFilters,
    after: number,
    limit: number,
    include?: ReadonlyArray<Include>
  ): Effect.Effect<RowPage> =>
    Effect.map(Ref.get(store), (state) => {
      const account = state.get(accountId)
      const members =
        filters.collectionId === undefined
          ? undefined
          : new Set(account?.entities.get(filters.collectionId)?.aggregate.members)
      const found = [...(account?.entities.values() ?? [])]
        .filter(
          ({ aggregate, canonicalChangedAt, changeSeq }) =>
            (kind === null || aggregate.kind === kind) &&
            changeSeq > after &&
            isInState(account, aggregate, filters) &&
            (filters.updatedSince === undefined || canonicalChangedAt >= filters.updatedSince) &&
            (members === undefined || members.has(aggregate.id)) &&
            isChosen(account, aggregate, filters) &&
            (filters.needles === undefined || matches(aggregate.searchText, filters.needles))
        )
        .sort((left, right) => left.changeSeq - right.changeSeq)
      const rows: Array<string> = []
      let bytes = 0
      for (const entity of found.slice(0, limit)) {
        const row = JSON.stringify(
          include === undefined || account === undefined
            ? rowOf(entity)
            : includedOf(entity.aggregate.kind, recordOf(account, entity), include)
        )
        bytes += Buffer.byteLength(row) + 2
        if (rows.length > 0 && bytes > maxPageBytes) break
        rows.push(row)
      }
      return {
        rows: rows.join(","),
        count: rows.length,
        last: found[rows.length - 1]?.changeSeq ?? null,
        more: found.length > rows.length
      }
    })

/** Whether the filters name an entity by its id or by one of its values. */
const isChosen = (
  account: MemoryAccount | undefined,
  { attributes, id, kind }: MemoryEntity["aggregate"],
  { barcodes, handles, ids, skus }: ListFilters
) => {
  const variants =
    kind === "product"
      ? [...(account?.entities.values() ?? [])].flatMap(({ aggregate }) =>
          aggregate.parentId === id ? [aggregate.attributes] : []
        )
      : [attributes]
  const hasOne = (layers: ReadonlyArray<typeof attributes>, key: string, values: ReadonlyArray<string> | undefined) =>
    values === undefined || layers.some((layer) => values.includes(valueOf(layer, key)))
  return (
    (ids === undefined || ids.includes(id)) &&
    hasOne([attributes], "handle", handles) &&
    hasOne(variants, "sku", skus) &&
    hasOne(variants, "barcode", barcodes)
  )
}

/** The aggregate with only these stores. Undefined: only other stores have the entity. */
const limitedTo = (aggregate: MemoryEntity["aggregate"], stores: ReadonlyArray<StoreId>) => {
  const versions = aggregate.versions.filter(({ storeId }) => stores.includes(storeId))
  return aggregate.storeIds.length > 0 && !aggregate.storeIds.some((id) => stores.includes(id))
    ? undefined
    : { ...aggregate, versions, ...rollUp(versions) }
}

/** Whether an entity has the state of the filters: on the store of the filters, or without a store on all stores together. */
const isInState = (
  account: MemoryAccount | undefined,
  aggregate: MemoryEntity["aggregate"],
  { isPending, status, stores, storeId }: ListFilters
) => {
  const visible = stores === undefined ? aggregate : limitedTo(aggregate, stores)
  const state =
    storeId === undefined || visible === undefined
      ? visible
      : aggregate.versions.find((version) => version.storeId === storeId && account?.stores.has(storeId))
  return (
    state !== undefined &&
    (status === undefined || state.lastPublishStatus === status) &&
    (isPending === undefined || state.pendingPublish === isPending)
  )
}

const toProjections = (
  account: MemoryAccount,
  aggregate: MemoryEntity["aggregate"],
  storeId: StoreId | undefined
): ProjectionsRecord => ({
  attributes: aggregate.attributes,
  gallery: aggregate.gallery,
  versions: aggregate.versions.flatMap((version) => {
    const linked = account.stores.get(version.storeId)
    const { members = [], ...accepted } = version.accepted ?? { attributes: {} }
    const isOn = ({ storeIds }: { readonly storeIds: ReadonlyArray<StoreId> }) => storeIds.includes(version.storeId)
    return linked === undefined || (storeId !== undefined && version.storeId !== storeId)
      ? []
      : [
          {
            ...version,
            accepted: version.accepted === null ? null : accepted,
            membersDiffer: aggregate.members.join() !== members.join(),
            storeDomain: linked.domain,
            media: aggregate.gallery.filter(isOn).map(({ mediaId }) => mediaId),
            variants: [...account.entities.values()]
              .map((other) => other.aggregate)
              .filter((other) => other.parentId === aggregate.id && isOn(other))
              .sort(byPosition)
              .map((variant) => variant.id)
          }
        ]
  })
})

const toIdentified = (
  found: ReadonlyArray<Option.Option<{ readonly account: MemoryAccount; readonly found: MemoryEntity }>>
): ReadonlyArray<IdentifiedProjections> =>
  Arr.getSomes(found).map(({ account, found: { aggregate, draftRevision } }) => ({
    id: aggregate.id,
    title: titleOf(aggregate.kind, aggregate.attributes),
    draftRevision,
    ...toProjections(account, aggregate, undefined)
  }))

const listOfKind: Readonly<Record<EntityKind, RelatedList>> = {
  variant: "variants",
  media: "media",
  collection: "collections",
  product: "products"
}

const byPlace = (left: RelatedPlace, right: RelatedPlace): number =>
  left.list - right.list || left.position - right.position || left.id.localeCompare(right.id)

/** The places of the entities that an entity is related to. */
const relatedTo = (account: MemoryAccount, aggregate: MemoryEntity["aggregate"]): ReadonlyArray<RelatedPlace> => {
  const others = [...account.entities.values()].map((other) => other.aggregate)
  const place = (kind: EntityKind, id: EntityId, position = 0) => ({
    list: relatedLists.indexOf(listOfKind[kind]) + 1,
    position,
    id
  })
  return [
    ...others.flatMap(({ gallery, id, kind, members, parentId, position }) => [
      ...(parentId === aggregate.id ? [place(kind, id, 1 + (position ?? 0))] : []),
      ...(members.includes(aggregate.id) || gallery.some(({ mediaId }) => mediaId === aggregate.id)
        ? [place(kind, id)]
        : [])
    ]),
    ...aggregate.gallery.map(({ mediaId }, position) => place("media", mediaId, 1 + position)),
    ...(aggregate.parentId === null ? [] : [place("product", aggregate.parentId)]),
    ...aggregate.members.map((id, position) => place("product", id, 1 + position))
  ]
}

const rowOf = ({ aggregate, canonicalChangedAt, draftRevision }: MemoryEntity): EntityRow => {
  const { attributes, kind, parentId } = aggregate
  const row = {
    id: aggregate.id,
    title: titleOf(kind, attributes),
    draft_revision: draftRevision,
    pending_publish: aggregate.pendingPublish,
    last_publish_status: aggregate.lastPublishStatus,
    store_ids: aggregate.storeIds,
    updated_at: canonicalChangedAt
  }
  switch (kind) {
    case "product":
      return { ...row, type: kind }
    case "variant":
      return { ...row, type: kind, product_id: parentId ?? aggregate.id, sku: valueOf(attributes, "sku") }
    case "collection":
      return { ...row, type: kind, handle: valueOf(attributes, "handle") }
    case "media":
      return {
        ...row,
        type: kind,
        url: valueOf(attributes, "url"),
        media_type: mediaTypeOf(valueOf(attributes, "mime_type")),
        alt: valueOf(attributes, "alt")
      }
  }
}

const recordOf = (account: MemoryAccount, entity: MemoryEntity): EntityRecord => {
  const { aggregate } = entity
  const others = [...account.entities.values()].map((other) => other.aggregate)
  const byId = (left: { readonly id: string }, right: { readonly id: string }) => (left.id < right.id ? -1 : 1)
  return {
    id: aggregate.id,
    title: titleOf(aggregate.kind, aggregate.attributes),
    attributes: aggregate.attributes,
    draftRevision: entity.draftRevision,
    pendingPublish: aggregate.pendingPublish,
    lastPublishStatus: aggregate.lastPublishStatus,
    createdAt: entity.createdAt,
    updatedAt: entity.canonicalChangedAt,
    parentId: aggregate.parentId,
    variantIds: others
      .filter(({ parentId }) => parentId === aggregate.id)
      .sort(byPosition)
      .map(({ id }) => id),
    mediaIds: aggregate.gallery.map(({ mediaId }) => mediaId),
    collectionIds: others
      .filter(({ members }) => members.includes(aggregate.id))
      .sort(byId)
      .map(({ id }) => id),
    productsCount: aggregate.members.length,
    usedBy: others
      .filter(({ gallery }) => gallery.some(({ mediaId }) => mediaId === aggregate.id))
      .sort(byId)
      .map(({ id, kind }) => ({ id, kind })),
    stores: aggregate.versions.flatMap((version) => {
      const linked = account.stores.get(version.storeId)
      return linked === undefined
        ? []
        : [
            {
              store_id: version.storeId,
              store_domain: linked.domain,
              pending_publish: version.pendingPublish,
              last_publish_status: version.lastPublishStatus,
              published_at: version.publishedAt,
              last_publish_error: version.lastPublishError
            }
          ]
    })
  }
}
