import type { ComponentChildren, JSX } from "preact"
import { timeZones } from "../../access/Profile.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { DropThing } from "../../drops/Composition.ts"
import { instantsOf } from "../../drops/Zone.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import { isWritable, type KeyRules } from "../../model/KeyRules.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { controlOf } from "../entities/CellInput.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { listPages } from "../entities/ListPages.ts"
import type { Misfit } from "../Field.tsx"
import { Alert, Frame, HiddenFields } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import { english } from "../languages/Words.tsx"
import { counted, kindWords, titleOr } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { Thumbnail } from "../pictures/Thumbnail.tsx"
import { Text } from "../Wording.tsx"
import { type DropForm, type Fold, fieldIn, nameOf, names, type TypedValue } from "./DropForm.ts"
import { timeOfDay } from "./DropWords.tsx"

/** The content of the form's page. `misfits`: the first one gets the focus. `found`: results of the search; undefined: none was made. */
export interface NewDropContent {
  readonly visitor: Visitor
  readonly form: DropForm
  readonly misfits: ReadonlyArray<Misfit>
  /** null: all stores. */
  readonly store: Store | null
  /** The chosen things. */
  readonly things: ReadonlyArray<DropThing>
  readonly found: ReadonlyArray<ListedEntity> | undefined
  readonly rules: KeyRules
  readonly address: PictureAddress
  /** The field that gets the focus if nothing is wrong. */
  readonly focus?: string | undefined
}

const idOf = (field: string) => field.replaceAll(/[^\w-]/g, "_")

/** The attributes of a control: its name, and what is wrong with it. */
const stateOf = ({ focus, misfits }: Pick<NewDropContent, "focus" | "misfits">, field: string, rule?: string) => {
  const isMisfit = misfits.some((misfit) => misfit.field === field)
  const described = [
    ...(isMisfit ? [`${idOf(field)}-misfit`] : []),
    ...(rule === undefined ? [] : [`${idOf(field)}-rule`])
  ]
  return {
    id: idOf(field),
    name: field,
    ...(isMisfit && { "aria-invalid": "true" as const }),
    ...((misfits[0]?.field ?? focus) === field && { autofocus: true }),
    ...(described.length > 0 && { "aria-describedby": described.join(" ") })
  }
}

const Misfits = ({ field, misfits }: { readonly field: string; readonly misfits: ReadonlyArray<Misfit> }) => {
  const own = misfits.filter((misfit) => misfit.field === field)
  return own.length === 0 ? null : (
    <p class="wrong" id={`${idOf(field)}-misfit`}>
      {own.map(({ message }) => message).join(" ")}
    </p>
  )
}

/** A labelled control, the rule below it, and its problems. */
const Labelled = ({
  children,
  content,
  field,
  label,
  rule
}: {
  readonly content: Pick<NewDropContent, "focus" | "misfits">
  readonly field: string
  readonly label: ComponentChildren
  readonly rule?: string
  readonly children: (attributes: ReturnType<typeof stateOf>) => JSX.Element
}) => (
  <div>
    <label for={idOf(field)}>{label}</label>
    {children(stateOf(content, field, rule))}
    <Misfits field={field} misfits={content.misfits} />
    {rule !== undefined && (
      <p class="quiet hint" id={`${idOf(field)}-rule`}>
        {rule}
      </p>
    )}
  </div>
)

/** The choice between two instants of one local time. */
const FoldChoice = ({
  chosen,
  field,
  text,
  zone
}: {
  readonly field: "starts" | "ends"
  readonly text: string
  readonly zone: string
  readonly chosen: Fold
}) => {
  const found = text === "" || !isKnownZone(zone) ? undefined : instantsOf(text, zone)
  return found?._tag !== "Twice" ? null : (
    <label>
      Which {text.slice(11, 16)}?
      <select name={`${field}_fold`}>
        <option value="">Choose one</option>
        <option value="first" selected={chosen === "first"}>
          {`The first, ${timeOfDay(found.first, "UTC")} UTC`}
        </option>
        <option value="second" selected={chosen === "second"}>
          {`The second, ${timeOfDay(found.second, "UTC")} UTC`}
        </option>
      </select>
    </label>
  )
}

export const isKnownZone = (zone: string): boolean => zone === "UTC" || timeZones.includes(zone)

const When = (content: NewDropContent) => {
  const { ends, endsFold, name, starts, startsFold, zone } = content.form
  return (
    <section class="sheet step" aria-labelledby="when">
      <h2 id="when">When</h2>
      <Labelled content={content} field="name" label="Name">
        {(attributes) => (
          <input type="text" value={name} maxLength={200} dir="auto" autocomplete="off" {...attributes} />
        )}
      </Labelled>
      <div class="three">
        <div>
          <Labelled content={content} field="starts" label="Starts">
            {(attributes) => <input type="datetime-local" value={starts} {...attributes} />}
          </Labelled>
          <FoldChoice field="starts" text={starts} zone={zone} chosen={startsFold} />
        </div>
        <div>
          <Labelled
            content={content}
            field="ends"
            label="Ends"
            rule="The earlier values come back. Empty: the new values stay."
          >
            {(attributes) => <input type="datetime-local" value={ends} {...attributes} />}
          </Labelled>
          <FoldChoice field="ends" text={ends} zone={zone} chosen={endsFold} />
        </div>
        <Labelled content={content} field="zone" label="Time zone" rule="Of both times.">
          {(attributes) => (
            <select {...attributes}>
              {["UTC", ...timeZones].map((each) => (
                <option key={each} value={each} selected={each === zone}>
                  {each}
                </option>
              ))}
            </select>
          )}
        </Labelled>
      </div>
    </section>
  )
}

const nameOfThing = ({ kind, parentTitle, title }: Pick<DropThing, "kind" | "parentTitle" | "title">) =>
  parentTitle === null
    ? titleOr(english, kind, title)
    : `${titleOr(english, "product", parentTitle)}: ${titleOr(english, kind, title)}`

/** The chosen things: each is a checkbox, so that unchecking removes it. */
const Chosen = ({ things }: NewDropContent) =>
  things.length === 0 ? (
    <p class="quiet">Nothing is chosen yet.</p>
  ) : (
    <fieldset class="picks">
      <legend>{`Chosen: ${counted(things.length, "thing")}`}</legend>
      {things.map((thing) => (
        <label class="pick" key={thing.id}>
          <input type="checkbox" name={`${names.thing}${thing.id}`} value="yes" checked />
          <span>
            <bdi>{nameOfThing(thing)}</bdi>{" "}
            <span class="quiet">
              {thing.kind === "product" ? "with its variants" : kindWords[thing.kind].toLowerCase()}
            </span>
          </span>
        </label>
      ))}
    </fieldset>
  )

const Found = ({ address, form, found }: NewDropContent) => {
  if (found === undefined) return null
  const others = found.filter(({ id }) => !form.things.includes(id))
  return (
    <fieldset class="picks" id="found">
      <legend>Found</legend>
      {others.length === 0 && (
        <p class="quiet" role="status">
          {found.length === 0 ? "Nothing was found on the store." : "Everything that was found is chosen."}
        </p>
      )}
      {others.map((row) => (
        <div class="item" key={row.id}>
          <label class="pick">
            <input type="checkbox" name={`${names.thing}${row.id}`} value="yes" />
            {row.kind !== "variant" && <Thumbnail picture={row.picture} width={40} address={address} />}
            <span>
              <bdi>{nameOfThing(row)}</bdi>{" "}
              <span class="quiet">
                {row.kind === "collection"
                  ? "the collection itself"
                  : [row.sku, row.kind === "product" && counted(row.variants, "variant")].filter(Boolean).join(" · ")}
              </span>
            </span>
          </label>
          {row.kind === "collection" && row.members > 0 && (
            <label class="pick">
              <input type="checkbox" name={`${names.members}${row.id}`} value="yes" />
              <span>
                {`Its ${counted(row.members, "product")}`}
                <span class="spoken"> of {row.title}</span>
              </span>
            </label>
          )}
        </div>
      ))}
      {others.length > 0 && (
        <button type="submit" class="plain" name="do" value="update">
          Add the selected
        </button>
      )}
    </fieldset>
  )
}

const Things = (content: NewDropContent) => {
  const { form } = content
  return (
    <section class="sheet step" aria-labelledby="what">
      <h2 id="what">What</h2>
      <Chosen {...content} />
      <div class="seek">
        <div>
          <label for="kind">Search</label>
          <select id="kind" name="kind">
            {(["product", "variant", "collection", "media"] as const).map((kind) => (
              <option key={kind} value={kind} selected={kind === form.kind}>
                {listPages[kind].name}
              </option>
            ))}
          </select>
        </div>
        <div>
          <label for="search">Words</label>
          <input
            type="search"
            value={form.search}
            placeholder="Title, SKU, vendor or tag"
            maxLength={200}
            {...stateOf(content, "search")}
          />
        </div>
        <button type="submit" class="plain" name="do" value="search">
          <Icon name="search" />
          Search
        </button>
      </div>
      <Misfits field="search" misfits={content.misfits} />
      {form.searched !== undefined && <input type="hidden" name="searched" value={form.searched} />}
      <Found {...content} />
    </section>
  )
}

const kindNouns: Readonly<Record<EntityKind, string>> = {
  product: "products",
  variant: "variants",
  collection: "collections",
  media: "media files"
}

/** The control for a value, by the type of its field. */
const ValueField = ({ content, value }: { readonly content: NewDropContent; readonly value: TypedValue }) => {
  const { key, kind, typed } = value
  const rule = content.rules.find(kind, key) ?? { type: "single_line_text_field" }
  const control = controlOf({ key, rule, type: rule.type }, typed)
  const field = nameOf(value)
  const label = (
    <>
      <bdi>{fieldName(english, key)}</bdi> <span class="quiet">of the chosen {kindNouns[kind]}</span>
    </>
  )
  const hint = control._tag === "Area" ? control.hint : undefined
  return (
    <div class="set">
      <Labelled content={content} field={field} label={label} {...(hint !== undefined && { rule: hint })}>
        {(attributes) =>
          control._tag === "Choice" ? (
            <select {...attributes}>
              {["", ...new Set([...control.choices, ...(typed === "" ? [] : [typed])])].map((choice) => (
                <option key={choice} value={choice} selected={choice === typed}>
                  {choice === "" ? "empty" : choice}
                </option>
              ))}
            </select>
          ) : control._tag === "Area" ? (
            // Browsers drop the first line break of a text area.
            <textarea rows={3} dir="auto" {...attributes}>{`\n${typed}`}</textarea>
          ) : (
            <input
              type="text"
              inputMode={control.inputMode}
              value={typed}
              dir="auto"
              autocomplete="off"
              {...attributes}
            />
          )
        }
      </Labelled>
      <button
        type="submit"
        class="bare icon-only"
        name="do"
        value={`remove ${field}`}
        aria-label={`Remove ${fieldName(english, key)} of ${kindNouns[kind]}`}
        title="Remove"
      >
        <Icon name="x" />
      </button>
    </div>
  )
}

/** The fields of a kind that can be added. */
const FieldOptions = ({
  content: { form, rules },
  kind
}: {
  readonly content: NewDropContent
  readonly kind: EntityKind
}) => (
  <optgroup label={listPages[kind].name}>
    {[...rules.ofKind(kind).keys()]
      .filter((key) => isWritable(kind, key) && !form.values.some((value) => value.kind === kind && value.key === key))
      .map((key) => (
        <option key={key} value={`${kind}-${key}`} selected={form.add === `${kind}-${key}`}>
          {key.includes(".") ? `${fieldName(english, key)} (${key})` : fieldName(english, key)}
        </option>
      ))}
  </optgroup>
)

const Changes = (content: NewDropContent) => {
  const { form, store, things } = content
  const chosenKinds = new Set<EntityKind>(
    things.length === 0
      ? ["product", "variant"]
      : things.flatMap(({ kind }) => (kind === "product" ? [kind, "variant" as const] : [kind]))
  )
  return (
    <section class="sheet step" aria-labelledby="changes">
      <h2 id="changes">Changes</h2>
      {(store !== null || form.percent !== "") && (
        <div class="three">
          <Labelled
            content={content}
            field="percent"
            label="Percent off"
            rule={`Of each variant's price on the store, rounded as ${store?.currency ?? "its currency"} is.`}
          >
            {(attributes) => (
              <input
                type="text"
                inputMode="decimal"
                value={form.percent}
                maxLength={10}
                autocomplete="off"
                {...attributes}
              />
            )}
          </Labelled>
          <label class="pick">
            <input type="checkbox" name="old_price" value="yes" checked={form.keepsOldPrice} />
            <span>
              Show the old price as <em>{fieldName(english, "compare_at_price")}</em>
            </span>
          </label>
        </div>
      )}
      {form.values.map((value) => (
        <ValueField key={nameOf(value)} content={content} value={value} />
      ))}
      <div class="seek">
        <div>
          <label for="add">Another field</label>
          <select {...stateOf(content, "add")}>
            <option value="">Choose a field</option>
            {(["product", "variant", "collection", "media"] as const)
              .filter((kind) => chosenKinds.has(kind))
              .map((kind) => (
                <FieldOptions key={kind} content={content} kind={kind} />
              ))}
          </select>
        </div>
        <button type="submit" class="plain" name="do" value="add">
          <Icon name="plus" />
          Add the field
        </button>
      </div>
      <Misfits field="add" misfits={content.misfits} />
    </section>
  )
}

/** The name of a field of the form. */
const labelOf = (field: string): string => {
  const value = field.startsWith(names.set) ? fieldIn(field.slice(names.set.length)) : undefined
  if (value !== undefined) return `${fieldName(english, value.key)} of ${kindNouns[value.kind]}`
  const labels: Readonly<Record<string, string>> = {
    name: "Name",
    starts: "Starts",
    ends: "Ends",
    zone: "Time zone",
    search: "What",
    percent: "Percent off",
    add: "Changes"
  }
  return labels[field] ?? field
}

/** The form for a new drop: one page, whose buttons search, add and review, and keep everything that was typed. */
export const NewDropPage = (content: NewDropContent) => {
  const { form, misfits, store, visitor } = content
  return (
    <Frame title="Schedule a drop" visitor={visitor} current={paths.drops}>
      <nav class="trail" aria-label="Trail">
        <a href={paths.drops}>All drops</a> <span class="quiet">on</span>{" "}
        {store === null ? "all stores" : <Text>{store.name}</Text>} <a href={paths.newDrop}>Another store</a>
      </nav>
      {misfits.length > 0 && (
        <Alert>
          <p>The drop cannot be scheduled like this. Your input is still here:</p>
          <ul>
            {misfits.map(({ field, message }) => (
              <li key={`${field} ${message}`}>
                <a href={`#${idOf(field)}`}>{labelOf(field)}</a>: {message}
              </li>
            ))}
          </ul>
        </Alert>
      )}
      <form method="post" action={paths.newDrop} class="steps">
        <HiddenFields csrf={visitor.csrf} />
        <input type="hidden" name="store_id" value={form.storeId} />
        {/* Enter presses the first button: it searches if other words were typed, else it leads to the review. */}
        <button type="submit" name="do" value="enter" class="spoken" tabIndex={-1} aria-hidden="true">
          Continue
        </button>
        <When {...content} />
        <Things {...content} />
        <Changes {...content} />
        <div class="actionbar">
          <button type="submit" name="do" value="review">
            Review
          </button>
          <span class="quiet">Nothing is scheduled before you have seen every change.</span>
        </div>
      </form>
    </Frame>
  )
}
