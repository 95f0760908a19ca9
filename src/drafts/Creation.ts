import { Data, Either } from "effect"
import type { Aggregate } from "../catalog/Aggregate.ts"
import { type EntityKind, effective, valueOf } from "../model/Attribute.ts"
import { type AttributeEdit, attributeIssues, textIssues } from "../model/AttributeRules.ts"
import { type Issue, NotFound, ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { misfitOf } from "../model/KeyRule.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import {
  type FirstOption,
  hasNoOptions,
  joinOptions,
  noOption,
  noOptions,
  optionKeys,
  type ProductOptions,
  readOptions,
  titleByOptions
} from "../model/ProductOptions.ts"
import { handleOf } from "../model/SameValue.ts"
import { isInvisible, textMisfit } from "../model/Text.ts"
import { CatalogChange, type LockedCatalog } from "./CatalogChange.ts"
import { typesFor, unlessAny } from "./DraftWrite.ts"
import { decideCopy } from "./ProductCopy.ts"
import { lockedGallery, PartsMoved } from "./StoreMembership.ts"
import { joinGallery, maxGallery } from "./VariantPictures.ts"

type Edits = ReadonlyArray<AttributeEdit>

/** A new entity with its canonical values. The caller chooses the ids, so that a form that is sent twice creates one entity. */
export type NewEntity = Data.TaggedEnum<{
  /** A product with its first variant. `storeIds`: the stores that both are added to. */
  Product: {
    readonly id: EntityId
    readonly attributes: Edits
    readonly variantId: EntityId
    readonly variant: Edits
    readonly storeIds: ReadonlyArray<StoreId>
  }
  /**
   * A copy of a product with its variants, pictures and values; without the handle, the search title, SKUs, barcodes and metafields of the
   * type `id`, which name one product or variant. `attributes`: its title. `storeIds`: the stores of the product that the copy is added to.
   */
  Copy: {
    readonly id: EntityId
    readonly productId: EntityId
    readonly attributes: Edits
    readonly storeIds: ReadonlyArray<StoreId>
  }
  /** A further variant, added to all stores of its product, unlinked ones too. `optionValues`: in the order of the product's options. */
  Variant: {
    readonly id: EntityId
    readonly productId: EntityId
    readonly attributes: Edits
    readonly optionValues: ReadonlyArray<string>
    readonly firstOption: FirstOption | null
  }
  Collection: { readonly id: EntityId; readonly attributes: Edits; readonly storeIds: ReadonlyArray<StoreId> }
  /** A picture at an address. `shownBy`: the entity whose gallery shows it as the last one, on all its stores. */
  Media: {
    readonly id: EntityId
    readonly url: string
    readonly attributes: Edits
    readonly shownBy: EntityId | null
  }
}>
export const NewEntity = Data.taggedEnum<NewEntity>()

type NewOf<Tag extends NewEntity["_tag"]> = Data.TaggedEnum.Value<NewEntity, Tag>
type Refusal = NotFound | ValidationFailed
type Decided<E = Refusal> = Either.Either<ReadonlyArray<CatalogChange>, E>

const refuse = (path: string, message: string) => Either.left(ValidationFailed.at(path, message))

const issuesOf = (kind: EntityKind, edits: Edits, rules: KeyRules) => {
  const texts = textIssues(edits)
  return texts.length > 0 ? texts : attributeIssues(kind, edits, rules, [])
}

/** The issues of an entity that needs a title. */
const titledIssues = (kind: EntityKind, edits: Edits, rules: KeyRules): ReadonlyArray<Issue> => [
  ...(edits.some(({ key, value }) => key === "title" && value !== null && !isInvisible(value))
    ? []
    : [{ path: "attributes.title", message: "must not be empty" }]),
  ...issuesOf(kind, edits, rules)
]

const valuesOf = (edits: Edits) => Object.fromEntries(edits.map(({ key, value }) => [key, value]))

/** `decided`: values that do not depend on the edits, and win over them. */
const createEntity = (
  { id, kind, parentId }: { readonly id: EntityId; readonly kind: EntityKind; readonly parentId?: EntityId },
  edits: Edits,
  rules: KeyRules,
  decided: Readonly<Record<string, string>> = {}
) => {
  const values = { ...valuesOf(edits), ...decided }
  return CatalogChange.CreateEntity({
    id,
    kind,
    parentId: parentId ?? null,
    values,
    types: typesFor(rules, kind, Object.keys(values))
  })
}

const addTo = (entityId: EntityId, storeIds: ReadonlyArray<StoreId>) =>
  storeIds.map((storeId) => CatalogChange.AddToStore({ entityId, storeId }))

/** The values of the variant with these option values. */
const optionValues = (values: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const byKey = Object.fromEntries(values.map((value, index) => [optionKeys[index] ?? "", value]))
  return { ...byKey, title: titleByOptions((key) => byKey[key] ?? "") }
}

const noOptionValues = optionValues([noOption.value])

const decideProduct = (
  { attributes, id, storeIds, variant, variantId }: NewOf<"Product">,
  rules: KeyRules
): Decided<ValidationFailed> =>
  Either.map(
    unlessAny([
      ...titledIssues("product", attributes, rules),
      ...issuesOf("variant", variant, rules).map(({ message, path }) => ({ path: `variant.${path}`, message }))
    ]),
    () => [
      createEntity({ id, kind: "product" }, attributes, rules, { options: noOptions }),
      createEntity({ id: variantId, kind: "variant", parentId: id }, variant, rules, noOptionValues),
      ...addTo(id, storeIds),
      ...addTo(variantId, storeIds)
    ]
  )

const decideProductCopy = (
  { attributes, id, productId, storeIds }: NewOf<"Copy">,
  rules: KeyRules,
  locked: LockedCatalog
): Decided<Refusal | PartsMoved> =>
  Either.flatMap(unlessAny(titledIssues("product", attributes, rules)), () =>
    decideCopy({ id, productId, storeIds, values: valuesOf(attributes) }, rules, locked)
  )

const decideCollection = (
  { attributes, id, storeIds }: NewOf<"Collection">,
  rules: KeyRules
): Decided<ValidationFailed> =>
  Either.map(unlessAny(titledIssues("collection", attributes, rules)), () => [
    createEntity({ id, kind: "collection" }, attributes, rules),
    ...addTo(id, storeIds)
  ])

type Valued = Pick<Aggregate, "attributes">

/** The options of a product; those that only its variants have get a name. Empty: it has no options. */
export const optionsOf = (product: Valued, variants: ReadonlyArray<Valued>): ProductOptions => {
  if (variants.every(({ attributes }) => hasNoOptions(attributes))) return []
  const defined = readOptions(valueOf(product.attributes, "options"))
  return optionKeys.flatMap((key, index) => {
    const used = variants.map((variant) => valueOf(variant.attributes, key)).filter((value) => value !== "")
    const { name = `Option ${index + 1}`, values = [] } = defined[index] ?? {}
    return defined[index] === undefined && used.length === 0
      ? []
      : [{ name, values: [...new Set([...values, ...used])] }]
  })
}

/** An option value for comparison: people read values that differ in case, blanks or invisible characters as the same. */
const folded = (value: string) =>
  value
    .normalize("NFKC")
    .replaceAll(/[\p{Cf}\p{DI}]/gu, "")
    .replaceAll(/\s+/g, " ")
    .trim()
    .toLowerCase()

/** Shopify refuses " / " in an option value, because it separates the values in a variant's title. */
const optionMisfit = (value: string, rules: KeyRules): string | undefined => {
  if (isInvisible(value)) return "must not be empty"
  if (value.includes(" / ")) return 'must not contain " / "'
  if (folded(value) === folded(noOption.value))
    return 'must not be "Default Title", which says that a variant has no options'
  return issuesOf("variant", [{ key: "option1", value }], rules)[0]?.message
}

const optionIssues = (texts: Readonly<Record<string, string>>, rules: KeyRules): ReadonlyArray<Issue> =>
  Object.entries(texts).flatMap(([path, value]) => {
    const message = optionMisfit(value, rules)
    return message === undefined ? [] : [{ path, message }]
  })

const joinFolded = (value: (key: string) => string) => joinOptions((key) => folded(value(key)))

/** Whether a variant has these option values in the catalog or on one of its stores. */
const hasOptions = ({ attributes, versions }: Aggregate, options: string) =>
  [attributes, ...versions.map(({ overrides }) => effective(attributes, overrides))].some(
    (layer) => joinFolded((key) => valueOf(layer, key)) === options
  )

/** The values of an entity on a store. */
const onStore = ({ attributes, versions }: Aggregate, storeId: StoreId): Valued | undefined => {
  const version = versions.find((each) => each.storeId === storeId)
  return version === undefined ? undefined : { attributes: effective(attributes, version.overrides) }
}

/** Whether a store has another number of options than the catalog, so that the new variant would lack a value there, or have one too many. */
const differsOnStore = (product: Aggregate, variants: ReadonlyArray<Aggregate>, options: ProductOptions) =>
  product.storeIds.some((storeId) => {
    const there = onStore(product, storeId)
    const variantsThere = variants.flatMap((variant) => onStore(variant, storeId) ?? [])
    return there !== undefined && variantsThere.length > 0 && optionsOf(there, variantsThere).length !== options.length
  })

/** Whether a variant lacks the value of an option before one that is in use. */
const hasGaps = (variants: ReadonlyArray<Valued>) => {
  const used = optionKeys.map((key) => variants.some(({ attributes }) => valueOf(attributes, key) !== ""))
  return used.lastIndexOf(true) >= used.filter(Boolean).length
}

/**
 * Whether the product is being published to a store for the first time. A publish that is requested meanwhile does not know yet which
 * variant the store will have without an option value.
 */
const isFirstPublishOpen = ({ versions }: Aggregate) =>
  versions.some(({ accepted, lastPublishStatus }) => accepted === null && lastPublishStatus === "pending")

/** Gives a product without options its first one. Only one variant can have the option's former value. */
const decideFirstOption = (
  { firstOption, optionValues: values }: NewOf<"Variant">,
  only: Aggregate | undefined,
  rules: KeyRules
): Either.Either<
  { readonly options: ProductOptions; readonly changes: ReadonlyArray<CatalogChange> },
  ValidationFailed
> =>
  Either.gen(function* () {
    if (firstOption === null)
      return yield* refuse(
        "first_option",
        "must name the option by which the variants differ, because the product has none"
      )
    const { former, name } = firstOption
    yield* unlessAny(
      optionIssues(
        {
          "first_option.name": name,
          ...(only !== undefined && { "first_option.former": former }),
          "option_values.0": values[0] ?? ""
        },
        rules
      )
    )
    if (values.length > 1) return yield* refuse("option_values", "must have one value")
    const before = only === undefined ? [] : [former]
    return {
      options: [{ name, values: [...before, ...values] }],
      changes:
        only === undefined ? [] : [CatalogChange.SetAttributes({ entityId: only.id, values: optionValues([former]) })]
    }
  })

const decideNextOptions = (
  { optionValues: values }: NewOf<"Variant">,
  options: ProductOptions,
  rules: KeyRules
): Either.Either<ProductOptions, ValidationFailed> =>
  Either.gen(function* () {
    if (values.length !== options.length)
      return yield* refuse(
        "option_values",
        `must have a value for each option: ${options.map(({ name }) => name).join(", ")}`
      )
    yield* unlessAny(
      optionIssues(Object.fromEntries(values.map((value, index) => [`option_values.${index}`, value])), rules)
    )
    return options.map((option, index) => ({
      ...option,
      values: [...new Set([...option.values, values[index] ?? ""])]
    }))
  })

/** The largest number of variants that stores accept. */
const maxVariants = 2_048

const decideVariant = (
  entity: NewOf<"Variant">,
  rules: KeyRules,
  locked: LockedCatalog
): Decided<Refusal | PartsMoved> =>
  Either.gen(function* () {
    const product = locked.aggregates.get(entity.productId)
    if (product?.kind !== "product") return yield* Either.left(new NotFound())
    if ([...locked.summaries.values()].some(({ parentId }) => parentId === product.id))
      return yield* Either.left(new PartsMoved())
    const variants = [...locked.aggregates.values()].filter(({ parentId }) => parentId === product.id)
    if (variants.length >= maxVariants)
      return yield* refuse("", `The product has ${maxVariants} variants, the most that stores accept.`)
    yield* unlessAny(issuesOf("variant", entity.attributes, rules))
    const before = optionsOf(product, variants)
    if (hasGaps(variants) || (before.length === 0 && variants.length > 1))
      return yield* refuse("", "The variants of the product have no option values: give them values first.")
    if (differsOnStore(product, variants, before))
      return yield* refuse(
        "",
        "The product has other options on one of its stores: give it the same options there first."
      )
    if (before.length === 0 && variants.length > 0 && isFirstPublishOpen(product))
      return yield* refuse("", "The first publish of the product has not ended yet: add the variant after it.")
    if (before.length > 0 && entity.firstOption !== null)
      return yield* refuse("", "The product has got its first option meanwhile: send the form again to see it.")
    const addVariant = (values: Readonly<Record<string, string>>, options: string) => [
      createEntity({ id: entity.id, kind: "variant", parentId: product.id }, entity.attributes, rules, values),
      ...addTo(entity.id, product.storeIds),
      CatalogChange.AddToUnlinkedStores({ entityId: entity.id }),
      CatalogChange.SetAttributes({ entityId: product.id, values: { options } })
    ]
    if (variants.length === 0 && entity.firstOption === null) return addVariant(noOptionValues, noOptions)
    const first = before.length === 0 ? yield* decideFirstOption(entity, variants[0], rules) : undefined
    const options = first?.options ?? (yield* decideNextOptions(entity, before, rules))
    const values = optionValues(entity.optionValues)
    const joined = joinFolded((key) => values[key] ?? "")
    const isFormer =
      first !== undefined &&
      joined === joinFolded((key) => (key === "option1" ? (entity.firstOption?.former ?? "") : ""))
    if (isFormer || variants.some((variant) => hasOptions(variant, joined)))
      return yield* refuse("option_values.0", "another variant of the product has these option values")
    return [...(first?.changes ?? []), ...addVariant(values, JSON.stringify(options))]
  })

/** The name of the file at an address: decoded, unless it is no name of a file then. */
const fileNameOf = (url: string) => {
  const name = new URL(url).pathname.split("/").at(-1) ?? ""
  try {
    const decoded = decodeURIComponent(name)
    return /^[^\p{C}/\\]{1,255}$/u.test(decoded) ? decoded : name.slice(-255)
  } catch {
    return name.slice(-255)
  }
}

/** Longer addresses are refused by Shopify, and with them the whole product. */
const addressRule = { type: "url", maxLength: 2_048 }

const addressMisfit = (url: string): string | undefined => {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isPublic = /^https:\/\//i.test(url) && parsed?.username === "" && parsed.password === ""
  return isPublic
    ? (textMisfit(url) ?? misfitOf(addressRule, url))
    : "must be an address that begins with https://, without a user name or password"
}

const decideMedia = (
  { attributes, id, shownBy, url }: NewOf<"Media">,
  rules: KeyRules,
  locked: LockedCatalog
): Decided<Refusal | PartsMoved> =>
  Either.gen(function* () {
    const misfit = addressMisfit(url)
    yield* unlessAny([
      ...(misfit === undefined ? [] : [{ path: "url", message: misfit }]),
      ...issuesOf("media", attributes, rules)
    ])
    const created = createEntity({ id, kind: "media" }, attributes, rules, { url, file_name: fileNameOf(url) })
    if (shownBy === null) return [created]
    const owner = yield* Either.fromNullable(locked.aggregates.get(shownBy), () => new NotFound())
    const gallery = yield* lockedGallery(owner, locked)
    if (gallery.length >= maxGallery)
      return yield* refuse("", `The gallery has ${maxGallery} pictures, the most that stores accept.`)
    const shown = { mediaId: id, storeIds: owner.storeIds }
    const product = owner.parentId === null ? undefined : locked.aggregates.get(owner.parentId)
    return [
      created,
      ...addTo(id, owner.storeIds),
      CatalogChange.SetGallery({ entityId: shownBy, entries: [...gallery, shown] }),
      ...(product === undefined ? [] : yield* joinGallery(product, [{ ...shown, isNew: true }]))
    ]
  })

/** A handle made of a title; empty if the title has no letters and digits. */
export const handleOfTitle = (title: string): string =>
  handleOf(title.normalize("NFKC"))
    .slice(0, 200)
    // The end may be half of a letter.
    .replaceAll(/[-\p{Cs}]+$/gu, "")

/** The entity that a new one belongs to: the product of a variant, or the entity whose gallery shows a picture; of a copy its original. */
export const ownerOf = (entity: NewEntity): EntityId | null =>
  "productId" in entity ? entity.productId : entity._tag === "Media" ? entity.shownBy : null

/**
 * Checks the values of a new entity by the rules of their keys, and decides the changes. ValidationFailed: a value breaks a rule, the id
 * is taken, or a store is not linked. NotFound: the owner does not exist. PartsMoved: a variant of the product, or a picture of a gallery,
 * is not locked.
 */
export const decideCreation =
  (entity: NewEntity, rules: KeyRules) =>
  (locked: LockedCatalog): Decided<Refusal | PartsMoved> =>
    // First, so that a form that is sent twice is not refused for what it has created.
    locked.aggregates.has(entity.id)
      ? refuse("id", "an entity with this id exists already")
      : entity._tag !== "Copy" && "storeIds" in entity && !entity.storeIds.every((id) => locked.storeIds.includes(id))
        ? // It was unlinked after the caller had checked it.
          refuse("", "A store that you chose is not linked any more. Check the stores, then send the form again.")
        : NewEntity.$match(entity, {
            Product: (product) => decideProduct(product, rules),
            Copy: (copy) => decideProductCopy(copy, rules, locked),
            Variant: (variant) => decideVariant(variant, rules, locked),
            Collection: (collection) => decideCollection(collection, rules),
            Media: (media) => decideMedia(media, rules, locked)
          })
