import { Effect, Schema } from "effect"
import type { Catalog } from "../../catalog/Catalog.ts"
import { VariantRow } from "../../catalog/Entity.ts"
import type { Sheet } from "../../drafts/Drafts.ts"
import { valueOf } from "../../model/Attribute.ts"
import { EntityLink } from "../Naming.tsx"
import { useWords } from "../Viewer.tsx"

/** Variants that are read for all SKUs of a page, and variants that are named for each SKU. */
const maxRead = 250
const maxNamed = 5

/** A SKU with the variants that have it in the catalog, two or more. */
export interface SharedSku {
  readonly sku: string
  readonly variants: ReadonlyArray<typeof VariantRow.Type>
}

const readRows = Schema.decode(Schema.parseJson(Schema.Struct({ data: Schema.Array(VariantRow) })))

/** Finds the SKUs of the variants on a page that several variants of the account have. */
export const makeFindSharedSkus = (catalog: Catalog["Type"]) => (shown: ReadonlyArray<Pick<Sheet, "attributes">>) =>
  Effect.gen(function* () {
    const skus = [...new Set(shown.map(({ attributes }) => valueOf(attributes, "sku")))].filter((sku) => sku !== "")
    if (skus.length === 0) return [] as ReadonlyArray<SharedSku>
    // Only a cursor could cause ValidationFailed, and none is given.
    const { text } = yield* catalog.list("variant", { sku: skus, limit: maxRead })
    const { data } = yield* readRows(text)
    return skus
      .map((sku) => ({ sku, variants: data.filter((row) => row.sku === sku) }))
      .filter(({ variants }) => variants.length > 1)
  }).pipe(Effect.orDie)

/** Names the variants that share a SKU. */
export const SharedSkus = ({ shared }: { readonly shared: ReadonlyArray<SharedSku> }) => {
  const t = useWords()
  return (
    <>
      {shared.map(({ sku, variants }) => (
        <p key={sku} class="wrong">
          {t.rich(
            "{count, number} variants have the SKU {sku}: {variants}. Imports and refreshes find a variant by its SKU, so give each its own.",
            {
              count: variants.length,
              sku: <bdi>{sku}</bdi>,
              variants: (
                <>
                  {variants.slice(0, maxNamed).map(({ id, title }, index) => (
                    <>
                      {index > 0 && ", "}
                      <EntityLink id={id} kind="variant" title={title} />
                    </>
                  ))}
                  {variants.length > maxNamed && ", …"}
                </>
              )
            }
          )}
        </p>
      ))}
    </>
  )
}
