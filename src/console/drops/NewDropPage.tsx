import type { JSX } from "preact"
import { builtInFields, EntityKind } from "../../model/Attribute.ts"
import type { DropId } from "../../model/Ids.ts"
import { isWritable } from "../../model/KeyRules.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { Alert, Frame, HiddenFields } from "../Frame.tsx"
import { paths } from "../Paths.ts"
import { StoreOptions } from "../StoreChoice.tsx"

/** The fields of the form, in order, with their labels. */
export const dropFields = {
  name: "Name",
  starts: "Starts (UTC)",
  ends: "Ends (UTC)",
  entity: "Product, variant, collection or media file",
  store_id: "Store",
  field: "Field",
  value: "New value"
} as const
export type DropField = keyof typeof dropFields

export type DropForm = Readonly<Record<DropField, string>>

/** A problem of a field, as a sentence without the name of the field. */
export interface DropMisfit {
  readonly field: DropField
  readonly message: string
}

/** The built-in keys of all kinds that can be written. */
const knownKeys = [
  ...new Set(
    EntityKind.literals.flatMap((kind) => Object.keys(builtInFields[kind]).filter((key) => isWritable(kind, key)))
  )
]

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** A form field with its label, its rule and its problems. */
const LabelledField = ({
  children,
  field,
  misfits,
  rule
}: {
  readonly field: DropField
  readonly misfits: ReadonlyArray<DropMisfit>
  readonly rule?: string
  readonly children: (attributes: {
    readonly id: string
    readonly name: string
    readonly "aria-invalid"?: "true"
    readonly "aria-describedby"?: string
  }) => JSX.Element
}) => {
  const own = misfits.filter((misfit) => misfit.field === field)
  const described = [...(own.length > 0 ? [`${field}-wrong`] : []), ...(rule === undefined ? [] : [`${field}-rule`])]
  return (
    <div>
      <label for={field}>{dropFields[field]}</label>
      {rule !== undefined && (
        <p id={`${field}-rule`} class="quiet">
          {rule}
        </p>
      )}
      {own.length > 0 && (
        <p id={`${field}-wrong`} class="wrong">
          {own.map(({ message }) => `${capitalize(message)}.`).join(" ")}
        </p>
      )}
      {children({
        id: field,
        name: field,
        ...(own.length > 0 && { "aria-invalid": "true" as const }),
        ...(described.length > 0 && { "aria-describedby": described.join(" ") })
      })}
    </div>
  )
}

/** `stores`: stores with a platform; `nextId`: the id of the new drop, so that sending the form twice schedules one drop. */
export const NewDropPage = ({
  form,
  misfits,
  nextId,
  stores,
  visitor
}: {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<Store>
  readonly form: DropForm
  readonly misfits: ReadonlyArray<DropMisfit>
  readonly nextId: DropId
}) => (
  <Frame title="Schedule a drop" visitor={visitor} current={paths.drops}>
    <nav class="trail" aria-label="Trail">
      <a href={paths.drops}>All drops</a>
    </nav>
    {misfits.length > 0 && (
      <Alert>
        <p>The drop was not scheduled. Your input is still here:</p>
        <ul>
          {misfits.map(({ field, message }) => (
            <li key={`${field} ${message}`}>
              <a href={`#${field}`}>{dropFields[field]}</a>: {message}.
            </li>
          ))}
        </ul>
      </Alert>
    )}
    {stores.length === 0 && <p>No linked store has a platform, so there is nothing that a drop can change.</p>}
    <form method="post" action={paths.drops} class="sheet fields">
      <HiddenFields csrf={visitor.csrf} id={nextId} />
      <LabelledField field="name" misfits={misfits}>
        {(attributes) => <input type="text" value={form.name} required maxLength={200} dir="auto" {...attributes} />}
      </LabelledField>
      <LabelledField field="starts" misfits={misfits} rule="In UTC, not in your local time.">
        {(attributes) => <input type="datetime-local" value={form.starts} required {...attributes} />}
      </LabelledField>
      <LabelledField
        field="ends"
        misfits={misfits}
        rule="In UTC. The field then has its earlier value again. Leave it empty to keep the new value."
      >
        {(attributes) => <input type="datetime-local" value={form.ends} {...attributes} />}
      </LabelledField>
      <LabelledField
        field="entity"
        misfits={misfits}
        rule="The id of the entity, or the handle of a product or collection."
      >
        {(attributes) => <input type="text" value={form.entity} required {...attributes} />}
      </LabelledField>
      <LabelledField field="store_id" misfits={misfits}>
        {(attributes) => (
          <select {...attributes}>
            <option value="">All stores of the entity</option>
            <StoreOptions stores={stores} chosen={form.store_id} />
          </select>
        )}
      </LabelledField>
      <LabelledField
        field="field"
        misfits={misfits}
        rule="For example title or price, or namespace.key of a metafield."
      >
        {(attributes) => (
          <input
            type="text"
            value={form.field}
            required
            list="keys"
            autocomplete="off"
            spellcheck={false}
            {...attributes}
          />
        )}
      </LabelledField>
      <datalist id="keys">
        {knownKeys.map((key) => (
          <option key={key} value={key} />
        ))}
      </datalist>
      <LabelledField field="value" misfits={misfits} rule="Leave it empty to clear the field.">
        {/* HTML parsers drop the first line break of a textarea. This added one is dropped, and those of the value stay. */}
        {(attributes) => <textarea dir="auto" {...attributes}>{`\n${form.value}`}</textarea>}
      </LabelledField>
      <div class="buttons">
        <button type="submit">Schedule the drop</button>
      </div>
    </form>
  </Frame>
)
