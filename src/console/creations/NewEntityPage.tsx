import type { EntityRecord } from "../../catalog/Entity.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { ProductOptions } from "../../model/ProductOptions.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { sectionOf } from "../entities/ListPages.ts"
import { type FormState, Labelled, type Misfit } from "../Field.tsx"
import { Frame, Hidden, HiddenFields, Refusal } from "../Frame.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { EntityLink } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { formNames, type NewEntityForm, type NewField, namesOf, newFields } from "./NewEntityForm.ts"

interface KindWords {
  readonly path: string
  readonly title: Sentence
  readonly button: Sentence
}

/** The page that creates each kind, and its words. */
export const creationPages: Readonly<Record<EntityKind, KindWords>> = {
  product: { path: paths.newProduct, title: "New product", button: "Create the product" },
  variant: { path: paths.newVariant, title: "New variant", button: "Create the variant" },
  collection: { path: paths.newCollection, title: "New collection", button: "Create the collection" },
  media: { path: paths.newMedia, title: "New picture", button: "Add the picture" }
}

/** The entity that the new one belongs to, with the options of a variant's product. */
export interface Owner {
  readonly kind: EntityKind
  readonly record: Pick<EntityRecord, "id" | "stores" | "title" | "variantIds">
  readonly options: ProductOptions
}

interface NewEntityContent {
  readonly visitor: Visitor
  readonly kind: EntityKind
  readonly id: EntityId
  readonly owner: Owner | null
  readonly form: NewEntityForm
  readonly misfits: ReadonlyArray<Misfit>
  /** The stores that a product or collection can be added to. */
  readonly stores: ReadonlyArray<Store>
}

const Text = ({
  field: { isRequired, maxLength, rule, type },
  form,
  label,
  name,
  suggestions = [],
  value
}: {
  readonly field: Omit<NewField, "key" | "of">
  readonly form: FormState
  readonly name: string
  readonly label: string
  readonly value: string
  readonly suggestions?: ReadonlyArray<string>
}) => {
  const t = useWords()
  const listId = suggestions.length === 0 ? undefined : `${name}-known`
  return (
    <Labelled form={form} field={name} label={label} rule={rule && t(rule)}>
      {(attributes) => (
        <>
          <input
            type={type ?? "text"}
            value={value}
            required={isRequired}
            maxLength={maxLength}
            list={listId}
            autocomplete="off"
            {...attributes}
          />
          {listId !== undefined && (
            <datalist id={listId}>
              {suggestions.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Labelled>
  )
}

const required = { isRequired: true, maxLength: 255 } as const

const optionField = (index: number) => `${formNames.option}${index}`

/** The option values of a new variant; for a product without options the fields that give it its first one. */
const Options = ({
  form: { firstOption, optionValues },
  owner: { options, record },
  state
}: Pick<NewEntityContent, "form"> & { readonly owner: Owner; readonly state: FormState }) => {
  const t = useWords()
  const value = (index: number) => ({ form: state, name: optionField(index), value: optionValues[index] ?? "" })
  if (options.length > 0)
    return (
      <>
        {options.map(({ name, values }, index) => (
          <Text key={name} field={required} label={name} suggestions={values} {...value(index)} />
        ))}
      </>
    )
  const hasVariants = record.variantIds.length > 0
  const field = hasVariants ? required : { maxLength: 255 }
  return (
    <fieldset class="fields">
      <legend>{t("The option by which the variants differ")}</legend>
      <Text
        field={{ ...field, rule: "For example Size or Color." }}
        form={state}
        name={formNames.optionName}
        label={t("Name of the option")}
        value={firstOption.name}
      />
      {hasVariants && (
        <Text
          field={required}
          form={state}
          name={formNames.former}
          label={t("Its value for the variant that is there already")}
          value={firstOption.former}
        />
      )}
      <Text field={field} label={t("Its value for the new variant")} {...value(0)} />
    </fieldset>
  )
}

/** The field that comes first on the page. */
const firstField = ({ kind, owner }: NewEntityContent) => {
  if (kind !== "variant" || owner === null) return newFields[kind][0]?.key
  return owner.options.length > 0 ? optionField(0) : formNames.optionName
}

/** Boxes for the stores that a new product or collection is added to. */
export const StorePicks = ({ form, stores }: Pick<NewEntityContent, "form" | "stores">) => {
  const t = useWords()
  return stores.length === 0 ? null : (
    <fieldset class="picks">
      <legend>{t("Stores")}</legend>
      {stores.map(({ id, name }) => (
        <label class="pick" key={id}>
          <input type="checkbox" name={`${formNames.store}${id}`} value="yes" checked={form.storeIds.includes(id)} />
          <bdi>{name}</bdi>
        </label>
      ))}
      <p class="quiet">{t("It is a draft there until you publish it.")}</p>
    </fieldset>
  )
}

/** The form that creates an entity. `id` makes it repeatable: sending it twice creates one entity. */
export const NewEntityPage = (content: NewEntityContent) => {
  const t = useWords()
  const { form, id, kind, misfits, owner, visitor } = content
  const { button, path, title } = creationPages[kind]
  const ofForm = misfits.filter(({ field }) => field === "").map(({ message }) => t.say(message))
  const needsOptions = kind === "variant" && owner !== null
  const state = { misfits, focus: firstField(content) }
  return (
    <Frame title={t(title)} visitor={visitor} current={sectionOf(owner?.kind ?? kind)}>
      <Refusal text={ofForm.length === 0 ? undefined : ofForm.join(" ")} />
      {owner !== null && (
        <p>
          {t.rich(kind === "variant" ? "Of the product {title}" : "For {title}", {
            title: <EntityLink id={owner.record.id} kind={owner.kind} title={owner.record.title} />
          })}
        </p>
      )}
      <form method="post" action={path} class="sheet fields">
        <HiddenFields csrf={visitor.csrf} id={id} />
        <Hidden
          of={[
            [formNames.owner, owner?.record.id],
            [formNames.madeFor, needsOptions ? namesOf(owner.options) : undefined]
          ]}
        />
        {needsOptions && <Options form={form} owner={owner} state={state} />}
        {newFields[kind].map((field) => (
          <Text
            key={field.key}
            field={field}
            form={state}
            name={field.key}
            label={fieldName(t, field.key)}
            value={form.values[field.key] ?? ""}
          />
        ))}
        {(kind === "product" || kind === "collection") && <StorePicks {...content} />}
        <div class="buttons">
          <button type="submit">{t(button)}</button>
        </div>
      </form>
    </Frame>
  )
}
