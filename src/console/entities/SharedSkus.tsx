import { Effect, Schema } from "effect"
import { Fragment } from "preact"
import type { Catalog } from "../../catalog/Catalog.ts"
import { VariantRow } from "../../catalog/Entity.ts"
import type { MerchantLists } from "../../catalog/MerchantLists.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { Sheet } from "../../drafts/Drafts.ts"
import { valueOf } from "../../model/Attribute.ts"
import { fullName } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"

/** Variants that are read for all SKUs of a page, and variants that are named for each SKU. */
const maxRead = 250
const maxNamed = 5

/** A SKU that two or more variants have in the catalog, with some of them. */
export interface SharedSku {
  readonly sku: string
  readonly count: number
  readonly named: ReadonlyArray<ListedEntity>
}

const readRows = Schema.decode(Schema.parseJson(Schema.Struct({ data: Schema.Array(VariantRow) })))

/** Finds the SKUs of the variants on a page that several variants of the account have. */
export const makeFindSharedSkus = (catalog: Catalog["Type"], lists: MerchantLists["Type"]) =>
  Effect.fnUntraced(function* (shown: ReadonlyArray<Pick<Sheet, "attributes">>) {
    const skus = [...new Set(shown.map(({ attributes }) => valueOf(attributes, "sku")))].filter((sku) => sku !== "")
    if (skus.length === 0) return [] as ReadonlyArray<SharedSku>
    // Only a cursor could cause ValidationFailed, and none is given.
    const { text } = yield* catalog.list("variant", { sku: skus, limit: maxRead })
    const { data } = yield* readRows(text)
    const shared = skus
      .map((sku) => ({ sku, ids: data.filter((row) => row.sku === sku).map(({ id }) => id) }))
      .filter(({ ids }) => ids.length > 1)
    if (shared.length === 0) return []
    const rows = yield* lists.rows(shared.flatMap(({ ids }) => ids.slice(0, maxNamed)))
    return shared.map(({ ids, sku }) => ({ sku, count: ids.length, named: rows.filter(({ id }) => ids.includes(id)) }))
  }, Effect.orDie)

/** Names the variants that share a SKU. */
export const SharedSkus = ({ shared }: { readonly shared: ReadonlyArray<SharedSku> }) => {
  const t = useWords()
  return (
    <>
      {shared.map(({ count, named, sku }) => (
        <p key={sku} class="wrong">
          {t.rich(
            "{count, number} variants have the SKU {sku}: {variants}. Imports and refreshes find a variant by its SKU, so give each its own.",
            {
              count,
              sku: <bdi>{sku}</bdi>,
              variants: (
                <>
                  {named.map((variant, index) => (
                    <Fragment key={variant.id}>
                      {index > 0 && t(", ")}
                      <a href={pageOf(paths.entity, variant.id)}>
                        <bdi>{fullName(t, variant)}</bdi>
                      </a>
                    </Fragment>
                  ))}
                  {count > named.length && `${t(", ")}…`}
                </>
              )
            }
          )}
        </p>
      ))}
    </>
  )
}
