import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { NewEntity } from "../../drafts/Creation.ts"
import type { Sheet } from "../../drafts/Drafts.ts"
import { type Attributes, type EntityKind, valueOf } from "../../model/Attribute.ts"
import type { AttributeEdit } from "../../model/AttributeRules.ts"
import type { Issue, ValidationFailed } from "../../model/Errors.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import { type FirstOption, joinOptions, optionKeys, type ProductOptions } from "../../model/ProductOptions.ts"
import { fieldName } from "../entities/FieldNames.ts"
import type { Misfit } from "../Field.tsx"
import type { Sentence, Words } from "../languages/Words.tsx"

/** A text field of the form. `of`: the entity whose attribute it is, if not the new one itself. */
export interface NewField {
  readonly key: string
  readonly of?: "variant"
  readonly isRequired?: true
  readonly type?: "url"
  readonly maxLength: number
  readonly rule?: Sentence
}

const sku = { key: "sku", maxLength: 255 }
const price = { key: "price", maxLength: 24 }

/** The most characters of a title. */
export const maxTitle = 255

/** The fields of each kind. Other fields are edited on the page of the new entity. */
export const newFields: Readonly<Record<EntityKind, ReadonlyArray<NewField>>> = {
  product: [
    { key: "title", isRequired: true, maxLength: maxTitle },
    { key: "vendor", maxLength: 255 },
    { key: "product_type", maxLength: 255 },
    { ...sku, of: "variant" },
    { ...price, of: "variant" }
  ],
  variant: [sku, price, { key: "barcode", maxLength: 255 }],
  collection: [{ key: "title", isRequired: true, maxLength: maxTitle }],
  media: [
    {
      key: "url",
      isRequired: true,
      type: "url",
      maxLength: 2_048,
      rule: "Anybody must be able to read the picture there, because stores fetch it from this address."
    },
    { key: "alt", maxLength: 512, rule: "What the picture shows, for those who cannot see it." }
  ]
}

/** Names of form fields that are not keys of attributes. */
export const formNames = {
  owner: "of",
  store: "store-",
  option: "option-",
  /** The names of the product's options that the form was made for, as JSON. */
  madeFor: "options",
  optionName: "option-name",
  former: "option-former"
} as const

/** The names of options, to notice that they changed after the form was opened. */
export const namesOf = (options: ProductOptions): string => JSON.stringify(options.map(({ name }) => name))

/** The form as typed. */
export interface NewEntityForm {
  readonly values: Readonly<Record<string, string>>
  /** By position. */
  readonly optionValues: ReadonlyArray<string>
  readonly firstOption: FirstOption
  readonly storeIds: ReadonlyArray<string>
}

export const formOf = (kind: EntityKind, parameters: Parameters): NewEntityForm => {
  const text = (name: string) => (parameters.get(name) ?? "").trim()
  return {
    values: Object.fromEntries(newFields[kind].map(({ key }) => [key, text(key)])),
    optionValues: [0, 1, 2].map((index) => text(`${formNames.option}${index}`)),
    firstOption: { name: text(formNames.optionName), former: text(formNames.former) },
    storeIds: parameters.names
      .filter((name) => name.startsWith(formNames.store))
      .map((name) => name.slice(formNames.store.length))
  }
}

/** Whether an entity is on the chosen stores, and on no other one. */
export const isOnChosen = ({ stores }: Pick<Sheet, "stores">, chosen: ReadonlyArray<StoreId>): boolean =>
  stores.length === chosen.length && stores.every(({ projection }) => chosen.includes(projection.store_id))

/** Whether an entity, and the first variant of a new product, have the values of the form. */
export const isAsTyped = (
  kind: EntityKind,
  form: NewEntityForm,
  { own, variant }: { readonly own: Attributes; readonly variant: Attributes }
): boolean => {
  const hasText = ({ key, of }: NewField) => valueOf(of === "variant" ? variant : own, key) === form.values[key]
  const typed = new Map<string, string>(optionKeys.map((key, index) => [key, form.optionValues[index] ?? ""]))
  const hasOptions = joinOptions((key) => valueOf(own, key)) === joinOptions((key) => typed.get(key) ?? "")
  return newFields[kind].every(hasText) && (kind !== "variant" || hasOptions)
}

/** The ids that the form creates, and the entity that the new one belongs to. */
interface NewIds {
  readonly id: EntityId
  readonly variantId: EntityId
  readonly owner: EntityId | null
}

/**
 * The entity that a form describes. `options`: those of a variant's product. `hasVariants`: whether the product has any; a product without
 * variants needs no option. Undefined: a variant without a product.
 */
export const newEntityOf = (
  kind: EntityKind,
  { id, owner, variantId }: NewIds,
  { firstOption, optionValues, values }: NewEntityForm,
  storeIds: ReadonlyArray<StoreId>,
  { hasVariants, options }: { readonly options: ProductOptions; readonly hasVariants: boolean }
): NewEntity | undefined => {
  const edits = (of?: "variant"): ReadonlyArray<AttributeEdit> =>
    newFields[kind].flatMap((field) => {
      const value = values[field.key] ?? ""
      return field.of === of && field.type !== "url" && value !== "" ? [{ key: field.key, value }] : []
    })
  const attributes = edits()
  switch (kind) {
    case "product":
      return NewEntity.Product({ id, attributes, variantId, variant: edits("variant"), storeIds })
    case "collection":
      return NewEntity.Collection({ id, attributes, storeIds })
    case "media":
      return NewEntity.Media({ id, attributes, url: values.url ?? "", shownBy: owner })
    case "variant": {
      if (owner === null) return undefined
      const isPlain = !hasVariants && firstOption.name === "" && optionValues[0] === ""
      return NewEntity.Variant({
        id,
        productId: owner,
        attributes,
        optionValues: isPlain ? [] : optionValues.slice(0, Math.max(1, options.length)),
        firstOption: options.length > 0 || isPlain ? null : firstOption
      })
    }
  }
}

/** The form field that an issue is about; empty: the form as a whole. */
const fieldOf = (kind: EntityKind, { path }: Issue): string => {
  const option = /^option_values\.(\d)$/.exec(path)?.[1]
  if (option !== undefined) return `${formNames.option}${option}`
  if (path === "first_option.name") return formNames.optionName
  if (path === "first_option.former") return formNames.former
  const key = path.replace(/^(?:variant\.)?attributes\./, "")
  return newFields[kind].some((field) => field.key === key) ? key : ""
}

/** Whether the form was refused because its id is taken: it was sent before. */
export const isTaken = ({ issues }: ValidationFailed) => issues.some(({ path }) => path === "id")

export const sentBefore: Sentence =
  "You have sent this form before with other values, which were created. Send it again to create another one."

/** The problem of each field of the form, and those of the form as a whole. */
export const misfitsOf = (
  t: Words,
  kind: EntityKind,
  { issues }: ValidationFailed,
  options: ProductOptions = []
): ReadonlyArray<Misfit> =>
  issues.map((issue) => {
    const field = fieldOf(kind, issue)
    const option = options[Number(field.slice(formNames.option.length))]?.name
    const label =
      field === "" ? undefined : field.startsWith(formNames.option) ? (option ?? t("Option")) : fieldName(t, field)
    return {
      field,
      message:
        label === undefined ? issue.message : t("{field}: {problem}.", { field: label, problem: t.say(issue.message) })
    }
  })
