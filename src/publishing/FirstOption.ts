import { type Aggregate, byPosition } from "../catalog/Aggregate.ts"
import { CatalogChange } from "../drafts/CatalogChange.ts"
import { optionsOf } from "../drafts/Creation.ts"
import { type Attributes, effective, valueOf } from "../model/Attribute.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { type FirstOption, hasNoOptions, noOption, optionKeys } from "../model/ProductOptions.ts"
import type { PublishedEntity } from "../platform/Publication.ts"

const onStore = ({ attributes, versions }: Aggregate, storeId: StoreId) => {
  const version = versions.find((each) => each.storeId === storeId)
  return version === undefined
    ? []
    : [{ draft: effective(attributes, version.overrides), accepted: version.accepted?.attributes }]
}

/**
 * The option that a product has in its draft for a store, if the product is live there without options. Undefined: any other product.
 * A product and each of its variants are published alone, so each of them gives the option to the store if it is the first to come
 * there.
 */
export const findFirstOption = (
  aggregates: ReadonlyMap<EntityId, Aggregate>,
  product: Aggregate,
  storeId: StoreId
): FirstOption | undefined => {
  const [there] = onStore(product, storeId)
  if (there?.accepted === undefined) return undefined
  const variants = [...aggregates.values()]
    .filter(({ parentId }) => parentId === product.id)
    .sort(byPosition)
    .flatMap((variant) => onStore(variant, storeId))
  const live = variants.filter(({ accepted }) => accepted !== undefined)
  const [former] = live
  if (former?.accepted === undefined || live.length > 1 || !hasNoOptions(former.accepted)) return undefined
  const [option, ...others] = optionsOf(
    { attributes: there.draft },
    variants.map(({ draft }) => ({ attributes: draft }))
  )
  if (option === undefined || others.length > 0) return undefined
  const given = { name: option.name, former: valueOf(former.draft, "option1") || noOption.value }
  return given.name === noOption.name && given.former === noOption.value ? undefined : given
}

/**
 * The first option that new values of a live variant give to its product. `sent`: all values of the variant that are published with
 * the new ones. Undefined: `values` have no option value, or the product has an option already.
 */
export const findOptionOfValues = (
  aggregates: ReadonlyMap<EntityId, Aggregate>,
  { parentId }: Aggregate,
  storeId: StoreId,
  values: Attributes,
  sent: Attributes
): FirstOption | undefined => {
  const former = valueOf(values, optionKeys[0])
  const product = parentId === null ? undefined : aggregates.get(parentId)
  if (product === undefined || former === "" || hasNoOptions(sent)) return undefined
  const option = findFirstOption(aggregates, product, storeId)
  return option && { ...option, former }
}

/**
 * Records as accepted the value of the first option that a live variant got by a publish of its product or of another variant. Empty:
 * the variant has a value already, or is in `published`. Its other values stay as the store accepted them.
 */
export const acceptFormerValue = (
  aggregates: ReadonlyMap<EntityId, Aggregate>,
  productId: EntityId,
  storeId: StoreId,
  { former }: FirstOption,
  published: ReadonlyArray<EntityId>
): ReadonlyArray<CatalogChange> => {
  const [only, ...others] = [...aggregates.values()].filter(
    (variant) =>
      variant.parentId === productId &&
      onStore(variant, storeId).some(({ accepted }) => accepted !== undefined && hasNoOptions(accepted))
  )
  if (only === undefined || others.length > 0 || published.includes(only.id)) return []
  const values = { [optionKeys[0]]: former }
  return [CatalogChange.AcceptImported({ entityId: only.id, storeId, values, media: [], variants: [] })]
}

/** Whether an open publication gives the option that a new request would give. `asked` undefined: it gives none. */
export const givesOption = (open: FirstOption | undefined, asked: FirstOption | undefined): boolean =>
  asked === undefined || (open?.name === asked.name && open.former === asked.former)

/** A variant that the store has without an option value, with its value of the first option. */
export const withFormerValue = <Variant extends PublishedEntity>(
  variant: Variant,
  firstOption: FirstOption | undefined
): Variant =>
  firstOption === undefined || !hasNoOptions(variant.attributes)
    ? variant
    : {
        ...variant,
        attributes: {
          ...variant.attributes,
          option1: { value: firstOption.former, type: "single_line_text_field" }
        }
      }
