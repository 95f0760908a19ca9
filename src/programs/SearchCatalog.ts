import { Effect } from "effect"
import type { ListQuery } from "../catalog/Catalog.ts"
import { matches, searchText, terms } from "../catalog/SearchText.ts"
import type { EntityId } from "../model/Ids.ts"
import type { JsonText } from "../model/JsonText.ts"
import { Programs } from "./Programs.ts"

/** A product or a collection that a search found. */
interface Found {
  readonly id: EntityId
  readonly kind: "product" | "collection"
  readonly title: string
  /** The SKU in which a word of the search occurs. Null: the words were found elsewhere. */
  readonly sku: string | null
}

/** Maximum number of results. */
const maxFound = 8

/** The places that products leave for collections, if there are as many. */
const placesOfCollections = 3

/** How many variants are read to find the SKUs of the products. */
const maxVariants = 50

interface Row {
  readonly id: EntityId
  readonly title: string
}

interface VariantRow extends Row {
  readonly product_id: EntityId
  readonly sku: string
}

/** The rows of a list. The cast is safe, because lists without `include` have whole rows. */
const rowsOf = <Of extends Row>({ text }: JsonText<unknown>) =>
  (JSON.parse(text) as { readonly data: ReadonlyArray<Of> }).data

/** Searches products and collections by the programs of their lists. A search without words finds nothing. */
export const makeSearchCatalog = Effect.map(
  Programs,
  ({ listCollections, listProducts, listVariants }) =>
    (search: string) => {
      const needles = terms(search)
      if (needles.length === 0) return Effect.succeed<ReadonlyArray<Found>>([])
      const first = (limit: number): { readonly urlParams: ListQuery } => ({ urlParams: { limit, search } })
      return Effect.map(
        Effect.all([listProducts(first(maxFound)), listCollections(first(maxFound)), listVariants(first(maxVariants))]),
        ([productPage, collectionPage, variantPage]): ReadonlyArray<Found> => {
          const skus = new Map<EntityId, string>()
          for (const { product_id, sku } of rowsOf<VariantRow>(variantPage)) {
            const text = searchText([sku])
            if (!skus.has(product_id) && needles.some((needle) => matches(text, [needle]))) skus.set(product_id, sku)
          }
          const [products, collections] = [rowsOf<Row>(productPage), rowsOf<Row>(collectionPage)]
          const shown = products.slice(0, maxFound - Math.min(placesOfCollections, collections.length))
          return [
            ...shown.map(({ id, title }) => ({ id, kind: "product" as const, title, sku: skus.get(id) ?? null })),
            ...collections
              .slice(0, maxFound - shown.length)
              .map(({ id, title }) => ({ id, kind: "collection" as const, title, sku: null }))
          ]
        }
        // Not reachable: the lists name no store and no collection.
      ).pipe(Effect.catchTag("NotFound", Effect.die))
    }
)
