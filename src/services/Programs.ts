import { Effect, Option } from "effect"
import type { EntityKind } from "../domain/Attribute.ts"
import { type CollectionRow, details, type MediaRow, type ProductRow, type VariantRow } from "../domain/Entity.ts"
import type { EntityId, StoreId } from "../domain/Ids.ts"
import type { JsonText } from "../domain/JsonText.ts"
import { Catalog, type ListQuery, type Page } from "./Catalog.ts"
import { Stores } from "./Stores.ts"

interface OneEntity {
  readonly path: { readonly id: EntityId }
}

interface OneVersion {
  readonly path: { readonly id: EntityId; readonly store_id: StoreId }
}

interface List {
  readonly urlParams: ListQuery
}

const bounded = <A>(data: ReadonlyArray<A>) => ({ data, next_cursor: null })

/** One program an endpoint, named as the endpoint. REST handlers and tools run these and nothing else. */
export const makePrograms = Effect.gen(function* () {
  const catalog = yield* Catalog
  const stores = yield* Stores

  const list =
    <Row extends { readonly Type: unknown }>(kind: EntityKind) =>
    ({ urlParams }: List) =>
      // The rows are of this kind's shape: the contract suite decodes every page of both repositories.
      catalog.list(kind, urlParams) as Effect.Effect<
        JsonText<Page<Row["Type"]>>,
        Effect.Effect.Error<ReturnType<typeof catalog.list>>,
        Effect.Effect.Context<ReturnType<typeof catalog.list>>
      >
  const versions =
    (kind: EntityKind) =>
    ({ path }: OneEntity) =>
      Effect.map(catalog.versions(kind, path.id), bounded)
  const version =
    (kind: EntityKind) =>
    ({ path }: OneVersion) =>
      catalog.version(kind, path.id, path.store_id)

  return {
    ping: () => Effect.succeed({ status: "ok", account_id_present: true }),
    listProducts: (request: List) =>
      Effect.zipLeft(
        list<typeof ProductRow>("product")(request),
        // After the parameters, the cursor among them: an unknown collection is 404.
        Effect.transposeMapOption(Option.fromNullable(request.urlParams.collection_id), (id) =>
          catalog.get("collection", id)
        )
      ),
    getProduct: ({ path }: OneEntity) => Effect.map(catalog.get("product", path.id), details.product),
    listProductVersions: versions("product"),
    getProductVersion: version("product"),
    listVariants: list<typeof VariantRow>("variant"),
    getVariant: ({ path }: OneEntity) => Effect.map(catalog.get("variant", path.id), details.variant),
    listVariantVersions: versions("variant"),
    getVariantVersion: version("variant"),
    listCollections: list<typeof CollectionRow>("collection"),
    getCollection: ({ path }: OneEntity) => Effect.map(catalog.get("collection", path.id), details.collection),
    listCollectionVersions: versions("collection"),
    getCollectionVersion: version("collection"),
    listMedia: list<typeof MediaRow>("media"),
    getMedia: ({ path }: OneEntity) => Effect.map(catalog.get("media", path.id), details.media),
    listMediaVersions: versions("media"),
    getMediaVersion: version("media"),
    listStores: () => Effect.map(stores.list, bounded),
    deleteUnused: () => Effect.dieMessage("no credential holds pim:delete, so no request comes this far")
  }
})
