import { Chunk, Effect, Option, Stream } from "effect"
import type { ExportedMetafield } from "../../model/Definition.ts"
import { DigestMap } from "../../runtime/DigestMap.ts"
import type { ImportedProduct, ImportFileRejected } from "../ImportedProduct.ts"
import { imageAddressesOf, variantImagesOf } from "../StoreProduct.ts"
import { MetafieldInference } from "./MetafieldInference.ts"
import { empty, readShopifyCsv, ShopifyCsvPart, type ShopifyCsvSummary } from "./ShopifyCsv.ts"
import type { MetafieldColumn } from "./ShopifyCsvColumns.ts"

/** The progress of reading an export. */
interface ReadProgress {
  readonly bytesRead: number
  readonly totalBytes: number
}

/** Totals of a whole export, with its shared SKUs and metafields. */
export interface InspectedCsv extends ShopifyCsvSummary {
  /** SKUs that variants of several products share. */
  readonly sharedSkus: ReadonlySet<string>
  /** By address of an image (`addressOf`): 1 if one product names it, 2 if several do. */
  readonly imageAddresses: DigestMap
  /** One entry per metafield column, even if the column has no values. */
  readonly metafields: ReadonlyArray<ExportedMetafield>
}

/** Finds the SKUs that several products have. Keeps all SKUs in memory: about 30 MB for 300,000. */
class SkuCensus {
  readonly seen = new DigestMap()
  readonly shared = new Set<string>()

  take({ variants }: ImportedProduct): void {
    for (const sku of new Set(variants.flatMap(({ values }) => values.sku || []))) {
      if (this.seen.get(sku) === undefined) this.seen.set(sku, 1)
      else this.shared.add(sku)
    }
  }
}

/** Counts the products that name each address of an image. `ofVariants`: number of images that only variants name. */
class AddressCensus {
  readonly counts = new DigestMap()
  ofVariants = 0

  take(product: ImportedProduct): void {
    this.ofVariants += variantImagesOf(product).length
    for (const address of imageAddressesOf(product))
      this.counts.set(address, this.counts.get(address) === undefined ? 1 : 2)
  }
}

/** Counts the values of each metafield and infers their type. */
class MetafieldCensus {
  readonly found = {
    product: new Map<string, { count: number; readonly inference: MetafieldInference }>(),
    variant: new Map<string, { count: number; readonly inference: MetafieldInference }>()
  }

  take({ values, variants }: ImportedProduct): void {
    this.count("product", values)
    for (const variant of variants) this.count("variant", variant.values)
  }

  private count(owner: "product" | "variant", values: ImportedProduct["values"]): void {
    const found = this.found[owner]
    for (const key of Object.keys(values)) {
      const value = key.includes(".") ? values[key] : undefined
      if (value === undefined || value === "") continue
      const metafield = found.get(key) ?? { count: 0, inference: new MetafieldInference() }
      metafield.count += 1
      metafield.inference.take(value)
      found.set(key, metafield)
    }
  }

  of(ownerType: "product" | "variant", columns: ReadonlyArray<MetafieldColumn>): ReadonlyArray<ExportedMetafield> {
    return columns.map(({ key, name }) => {
      const { count, inference } = this.found[ownerType].get(key) ?? { count: 0, inference: new MetafieldInference() }
      return { ownerType, key, name, type: inference.type, count }
    })
  }
}

/**
 * Reads a whole export to compute the totals. Reports the progress after every chunk that completes a product.
 * ImportFileRejected: as `readShopifyCsv`.
 */
export const inspectShopifyCsv: (
  path: string,
  report: (progress: ReadProgress) => Effect.Effect<void>
) => Effect.Effect<InspectedCsv, ImportFileRejected> = Effect.fn("ShopifyCsv.inspect")(function* (path, report) {
  const skus = new SkuCensus()
  const addresses = new AddressCensus()
  const metafields = new MetafieldCensus()
  const last = yield* readShopifyCsv(path).pipe(
    Stream.chunks,
    Stream.tap((parts) => {
      const products = Chunk.filter(parts, ShopifyCsvPart.$is("Product"))
      for (const { product } of products) {
        skus.take(product)
        addresses.take(product)
        metafields.take(product)
      }
      return Option.match(Chunk.last(products), {
        onNone: () => Effect.void,
        onSome: ({ bytesRead, totalBytes }) => report({ bytesRead, totalBytes })
      })
    }),
    Stream.flattenChunks,
    Stream.runLast
  )
  const summary = yield* Option.filter(last, ShopifyCsvPart.$is("Summary")).pipe(Effect.orElseFail(empty))
  return {
    ...summary,
    images: summary.images + addresses.ofVariants,
    sharedSkus: skus.shared,
    imageAddresses: addresses.counts,
    metafields: [
      ...metafields.of("product", summary.productMetafields),
      ...metafields.of("variant", summary.variantMetafields)
    ]
  }
})
