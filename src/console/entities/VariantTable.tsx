import type { EntityRow, StoreVersion } from "../../catalog/Entity.ts"
import type { Store } from "../../model/Store.ts"
import { EntityLink, PublishStateOf } from "../Naming.tsx"
import { Table } from "../Table.tsx"

/** A variant of a product, with its values on each store. */
export interface ListedVariant {
  readonly row: EntityRow
  readonly versions: ReadonlyArray<StoreVersion>
}

const priceOn = ({ versions }: ListedVariant, { currency, id }: Store) => {
  const version = versions.find(({ store_id }) => store_id === id)
  if (version === undefined) return <span class="quiet">Not on this store</span>
  const price = version.attributes.find(({ key }) => key === "price")?.value ?? ""
  return price === "" ? <span class="quiet">no price</span> : <span class="number">{`${currency} ${price}`}</span>
}

/** The variants of a product, with the price on each store in its currency. `total`: how many there are. */
export const VariantTable = ({
  stores,
  total,
  variants
}: {
  readonly variants: ReadonlyArray<ListedVariant>
  readonly stores: ReadonlyArray<Store>
  readonly total: number
}) =>
  variants.length === 0 ? null : (
    <section aria-labelledby="variants">
      <h2 id="variants">Variants</h2>
      <Table
        labelledBy="variants"
        columns={["Variant", "SKU", ...stores.map(({ name }) => `Price on ${name}`), "State"]}
        rows={variants.map((variant) => ({
          key: variant.row.id,
          cells: [
            <EntityLink id={variant.row.id} kind="variant" title={variant.row.title} />,
            variant.row.type === "variant" ? variant.row.sku : "",
            ...stores.map((store) => priceOn(variant, store)),
            <PublishStateOf status={variant.row.last_publish_status} pendingPublish={variant.row.pending_publish} />
          ]
        }))}
      />
      {total > variants.length && <p class="quiet">{`The first ${variants.length} are listed here.`}</p>}
    </section>
  )
