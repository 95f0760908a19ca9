import { Context, Effect, Layer } from "effect"
import { Catalog, type ListQuery, type Page } from "../catalog/Catalog.ts"
import {
  type CollectionRow,
  details,
  type IncludedCollection,
  type IncludedMedia,
  type IncludedProduct,
  type IncludedVariant,
  type MediaRow,
  type ProductRow,
  type VariantRow
} from "../catalog/Entity.ts"
import { Drops } from "../drops/Drops.ts"
import { ChangeFeed, type FeedQuery } from "../feed/ChangeFeed.ts"
import { DataHealth, type IssuesQuery } from "../health/DataHealth.ts"
import type { HealthDimension } from "../health/Health.ts"
import { Remediation } from "../health/Remediation.ts"
import type { FillOperation, ReconcileOperation } from "../health/RemediationRules.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { MetaobjectEntry, OwnerType } from "../model/Definition.ts"
import type { DropId, EntityId, RecordId, StoreId } from "../model/Ids.ts"
import { JsonText } from "../model/JsonText.ts"
import type { TranslatedKind } from "../platform/Translation.ts"
import { type ChannelKind, SalesChannels } from "../storedata/SalesChannels.ts"
import { StoreData } from "../storedata/StoreData.ts"
import { Stores } from "../stores/Stores.ts"
import { makeMustBeLinked } from "./Channels.ts"

interface OneEntity {
  readonly path: { readonly id: EntityId }
}

interface OneVersion {
  readonly path: { readonly id: EntityId; readonly store_id: StoreId }
}

interface OneRecord {
  readonly path: { readonly id: RecordId }
}

interface OneStore {
  readonly path: { readonly id: StoreId }
}

interface EntityOnStore extends OneEntity {
  readonly urlParams: { readonly store_id: StoreId }
}

interface List {
  readonly urlParams: ListQuery
}

interface Batch<Operation> {
  readonly payload: { readonly entity_type: EntityKind; readonly operations: ReadonlyArray<Operation> }
}

const wholeList = <A>(data: ReadonlyArray<A>) => ({ data, next_cursor: null })

const make = Effect.gen(function* () {
  const catalog = yield* Catalog
  const health = yield* DataHealth
  const remediation = yield* Remediation
  const storeData = yield* StoreData
  const channels = yield* SalesChannels
  const drops = yield* Drops
  const stores = yield* Stores
  const feed = yield* ChangeFeed
  const mustBeLinked = yield* makeMustBeLinked

  const list =
    <Row extends { readonly Type: unknown }>(kind: EntityKind) =>
    ({ urlParams }: List) =>
      // Lists before it checks the store, so that an invalid cursor (400) wins over an unknown store (404).
      Effect.zipLeft(
        // The cast to this kind's row type is safe, because the contract suite decodes the pages of both repositories.
        catalog.list(kind, urlParams) as Effect.Effect<
          JsonText<Page<Row["Type"]>>,
          Effect.Effect.Error<ReturnType<typeof catalog.list>>,
          Effect.Effect.Context<ReturnType<typeof catalog.list>>
        >,
        mustBeLinked(urlParams.store_id)
      )
  const versions =
    (kind: EntityKind) =>
    ({ path }: OneEntity) =>
      Effect.map(catalog.versions(kind, path.id), wholeList)
  const version =
    (kind: EntityKind) =>
    ({ path }: OneVersion) =>
      catalog.version(kind, path.id, path.store_id)
  const translations =
    (kind: TranslatedKind) =>
    ({ path }: OneEntity) =>
      Effect.map(storeData.translations(kind, path.id), ({ data, translatable_fields }) => ({
        ...wholeList(data),
        translatable_fields
      }))

  const channelsOf =
    (kind: ChannelKind) =>
    ({ path, urlParams }: EntityOnStore) =>
      Effect.map(channels.ofEntity(kind, path.id, urlParams.store_id), wholeList)

  const dropsOf =
    (kind: ChannelKind) =>
    ({ path }: OneEntity) =>
      Effect.map(drops.ofEntity(kind, path.id), wholeList)

  return {
    ping: () => Effect.succeed({ status: "ok", account_id_present: true }),
    listProducts: (request: List) => {
      const page = list<typeof ProductRow | typeof IncludedProduct>("product")(request)
      const collection = request.urlParams.collection_id
      // Lists before it checks the collection, so that an invalid cursor wins over an unknown collection.
      return collection === undefined ? page : Effect.zipLeft(page, catalog.get("collection", collection))
    },
    getProduct: ({ path }: OneEntity) => Effect.map(catalog.get("product", path.id), details.product),
    listProductVersions: versions("product"),
    getProductVersion: version("product"),
    listVariants: list<typeof VariantRow | typeof IncludedVariant>("variant"),
    getVariant: ({ path }: OneEntity) => Effect.map(catalog.get("variant", path.id), details.variant),
    listVariantVersions: versions("variant"),
    getVariantVersion: version("variant"),
    listCollections: list<typeof CollectionRow | typeof IncludedCollection>("collection"),
    getCollection: ({ path }: OneEntity) => Effect.map(catalog.get("collection", path.id), details.collection),
    listCollectionVersions: versions("collection"),
    getCollectionVersion: version("collection"),
    listMedia: list<typeof MediaRow | typeof IncludedMedia>("media"),
    getMedia: ({ path }: OneEntity) => Effect.map(catalog.get("media", path.id), details.media),
    listMediaVersions: versions("media"),
    getMediaVersion: version("media"),
    listChanges: ({ urlParams }: { readonly urlParams: FeedQuery }) => feed.page(urlParams),
    listStores: () => Effect.map(stores.list, wholeList),
    getDataHealth: ({ urlParams }: { readonly urlParams: { readonly store_id?: StoreId | undefined } }) =>
      health.overview(urlParams.store_id),
    runDataHealthScan: ({
      payload
    }: {
      readonly payload: { readonly dimension: HealthDimension; readonly store_id?: StoreId | undefined }
    }) => health.scan(payload.dimension, payload.store_id),
    listDataHealthIssues: ({ urlParams }: { readonly urlParams: IssuesQuery }) => health.issues(urlParams),
    fillCompletenessGaps: ({ payload }: Batch<FillOperation>) =>
      remediation.fill(payload.entity_type, payload.operations),
    reconcileValueDivergence: ({ payload }: Batch<ReconcileOperation>) =>
      remediation.reconcile(payload.entity_type, payload.operations),
    listMarkets: () => Effect.map(storeData.markets, wholeList),
    getMarket: ({ path }: OneRecord) => storeData.market(path.id),
    listMetafieldDefinitions: ({ urlParams }: { readonly urlParams: { readonly owner_type?: OwnerType } }) =>
      Effect.map(storeData.metafieldDefinitions(urlParams.owner_type ?? null), wholeList),
    listMetaobjectDefinitions: () => Effect.map(storeData.metaobjectDefinitions, wholeList),
    listMetaobjectEntries: ({ path }: OneRecord) =>
      Effect.map(
        storeData.metaobjectEntries(path.id),
        ({ text }) =>
          new JsonText<{ readonly data: ReadonlyArray<MetaobjectEntry>; readonly next_cursor: null }>(
            `{"data":${text},"next_cursor":null}`
          )
      ),
    listProductTranslations: translations("product"),
    listCollectionTranslations: translations("collection"),
    listStoreSalesChannels: ({ path }: OneStore) => Effect.map(channels.ofStore(path.id), wholeList),
    listProductSalesChannels: channelsOf("product"),
    listVariantSalesChannels: channelsOf("variant"),
    listCollectionSalesChannels: channelsOf("collection"),
    listDrops: () => Effect.map(drops.list, wholeList),
    getDrop: ({ path }: { readonly path: { readonly id: DropId } }) => drops.get(path.id),
    listProductDrops: dropsOf("product"),
    listVariantDrops: dropsOf("variant"),
    listCollectionDrops: dropsOf("collection"),
    deleteUnused: () => Effect.dieMessage("no credential holds pim:delete, so no request comes this far")
  }
})

/** One program per REST endpoint, by endpoint name. The REST handler and the tool of an endpoint run the same program. */
export class Programs extends Context.Tag("catalog/Programs")<Programs, Effect.Effect.Success<typeof make>>() {
  static readonly make = make
  static readonly layer = Layer.effect(Programs, make)
}
