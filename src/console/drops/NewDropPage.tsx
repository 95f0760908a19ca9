import type { EntityKind } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import { isWritable } from "../../model/KeyRules.ts"
import { controlOf } from "../entities/CellInput.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { listPages } from "../entities/ListPages.ts"
import { controlId, controlState, Labelled, Misfits } from "../Field.tsx"
import { Alert, Frame, HiddenFields } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import type { Sentence, Words } from "../languages/Words.tsx"
import { totalTextOf } from "../lists/ListWalk.ts"
import { countOf, fullName, kindWords } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { Thumbnail } from "../pictures/Thumbnail.tsx"
import { GoneNote } from "../selections/SelectionPages.tsx"
import { useWords } from "../Viewer.tsx"
import { spoken, Text } from "../Wording.tsx"
import { fieldIn, nameOf, names, storeField, type TypedValue } from "./DropForm.ts"
import { type NewDropContent, When } from "./NewDropFields.tsx"

/** The checkbox that adds the products of a collection. */
const Members = ({
  collection,
  count,
  id,
  isTicked = false
}: {
  readonly id: EntityId
  readonly collection: string
  readonly count: number
  readonly isTicked?: boolean
}) => {
  const t = useWords()
  return count === 0 ? null : (
    <label class="pick">
      <input type="checkbox" name={`${names.members}${id}`} value="yes" checked={isTicked} />
      <span>
        {t.rich("Its {things}<spoken> of {collection}</spoken>", {
          things: countOf(t, "product", count),
          collection,
          spoken
        })}
      </span>
    </label>
  )
}

/** The chosen things: each is a checkbox, so that unchecking removes it. With a collection, its products can be chosen too. */
const Chosen = ({ memberCounts, ticksMembers, things }: NewDropContent) => {
  const t = useWords()
  return things.length === 0 ? (
    <p class="quiet">{t("Nothing is chosen yet.")}</p>
  ) : (
    <fieldset class="picks">
      <legend>{t("Chosen: {count, plural, one {# item} other {# items}}", { count: things.length })}</legend>
      {things.map((thing) => (
        <div class="item" key={thing.id}>
          <label class="pick">
            <input type="checkbox" name={`${names.thing}${thing.id}`} value="yes" checked />
            <span>
              <bdi>{fullName(t, thing)}</bdi>{" "}
              <span class="quiet">{t(thing.kind === "product" ? "with its variants" : kindWords[thing.kind])}</span>
            </span>
          </label>
          <Members
            id={thing.id}
            collection={thing.title}
            count={memberCounts.get(thing.id) ?? 0}
            isTicked={ticksMembers}
          />
        </div>
      ))}
    </fieldset>
  )
}

const Results = ({ address, results }: NewDropContent) => {
  const t = useWords()
  if (results === undefined) return null
  const { isPart, others, page } = results
  return (
    <fieldset class="picks" id="found">
      <legend>{t("Found")}</legend>
      {(isPart || others.length === 0) && (
        <p class="quiet" role="status">
          {isPart
            ? t("{count, number} of {all} are shown. Add words to the search to find the others.", {
                count: others.length,
                all: totalTextOf(t, {}, page) ?? ""
              })
            : page.rows.length === 0
              ? t("Nothing was found on the store.")
              : t("Everything that was found is chosen.")}
        </p>
      )}
      {others.map((row) => (
        <div class="item" key={row.id}>
          <label class="pick">
            <input type="checkbox" name={`${names.thing}${row.id}`} value="yes" />
            {row.kind !== "variant" && <Thumbnail picture={row.picture} width={40} address={address} />}
            <span>
              <bdi>{fullName(t, row)}</bdi>{" "}
              <span class="quiet">
                {row.kind === "collection"
                  ? t("the collection itself")
                  : [row.sku, row.kind === "product" && countOf(t, "variant", row.variants)]
                      .filter(Boolean)
                      .join(" · ")}
              </span>
            </span>
          </label>
          {row.kind === "collection" && <Members id={row.id} collection={row.title} count={row.members} />}
        </div>
      ))}
      {others.length > 0 && (
        <button type="submit" class="plain" name="do" value="update">
          {t("Add the selected")}
        </button>
      )}
    </fieldset>
  )
}

const Things = (content: NewDropContent) => {
  const t = useWords()
  const { form } = content
  return (
    <section class="sheet step" aria-labelledby="what">
      <h2 id="what">{t("What")}</h2>
      <Chosen {...content} />
      <div class="seek">
        <div>
          <label for="kind">{t("Search")}</label>
          <select id="kind" name="kind">
            {(["product", "variant", "collection", "media"] as const).map((kind) => (
              <option key={kind} value={kind} selected={kind === form.kind}>
                {t(listPages[kind].name)}
              </option>
            ))}
          </select>
        </div>
        <div>
          <label for="search">{t("Words")}</label>
          <input
            type="search"
            value={form.search}
            placeholder={t("Title, SKU, vendor or tag")}
            maxLength={200}
            {...controlState(content, "search")}
          />
        </div>
        <button type="submit" class="plain" name="do" value="search">
          <Icon name="search" />
          {t("Search")}
        </button>
      </div>
      <Misfits field="search" misfits={content.misfits} />
      {form.searched !== undefined && <input type="hidden" name="searched" value={form.searched} />}
      <Results {...content} />
    </section>
  )
}

const kindNouns: Readonly<Record<EntityKind, Sentence>> = {
  product: "products",
  variant: "variants",
  collection: "collections",
  media: "media files"
}

/** The control for a value, by the type of its field. */
const ValueField = ({ content, value }: { readonly content: NewDropContent; readonly value: TypedValue }) => {
  const t = useWords()
  const { key, kind, typed } = value
  const rule = content.rules.find(kind, key) ?? { type: "single_line_text_field" }
  const control = controlOf({ key, rule, type: rule.type }, typed)
  const field = nameOf(value)
  const label = t.rich("{field} <quiet>of the chosen {things}</quiet>", {
    field: <bdi>{fieldName(t, key)}</bdi>,
    things: t(kindNouns[kind]),
    quiet: (words) => <span class="quiet">{words}</span>
  })
  const hint = control._tag === "Area" && control.hint !== undefined ? t.say(control.hint) : undefined
  return (
    <div class="set">
      <Labelled form={content} field={field} label={label} rule={hint}>
        {(attributes) =>
          control._tag === "Choice" ? (
            <select {...attributes}>
              {["", ...new Set([...control.choices, ...(typed === "" ? [] : [typed])])].map((choice) => (
                <option key={choice} value={choice} selected={choice === typed}>
                  {choice === "" ? t("empty") : choice}
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
        aria-label={t("Remove {field} of {things}", { field: fieldName(t, key), things: t(kindNouns[kind]) })}
        title={t("Remove")}
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
}) => {
  const t = useWords()
  return (
    <optgroup label={t(listPages[kind].name)}>
      {[...rules.ofKind(kind).keys()]
        .filter(
          (key) => isWritable(kind, key) && !form.values.some((value) => value.kind === kind && value.key === key)
        )
        .map((key) => (
          <option key={key} value={`${kind}-${key}`} selected={form.add === `${kind}-${key}`}>
            {key.includes(".") ? `${fieldName(t, key)} (${key})` : fieldName(t, key)}
          </option>
        ))}
    </optgroup>
  )
}

const Changes = (content: NewDropContent) => {
  const t = useWords()
  const { form, store, things } = content
  const chosenKinds = new Set<EntityKind>(
    things.length === 0
      ? ["product", "variant"]
      : things.flatMap(({ kind }) => (kind === "product" ? [kind, "variant" as const] : [kind]))
  )
  return (
    <section class="sheet step" aria-labelledby="changes">
      <h2 id="changes">{t("Changes")}</h2>
      {(store !== null || form.percent !== "") && (
        <div class="three">
          <Labelled
            form={content}
            field="percent"
            label={t("Percent off")}
            rule={
              store === null
                ? t(
                    "The percentage is taken off each variant's price on the store. The new price is rounded to the digits of the store's currency."
                  )
                : t(
                    "The percentage is taken off each variant's price on the store. The new price is rounded to the digits of {currency}.",
                    { currency: store.currency }
                  )
            }
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
            <span>{t.rich("Show the old price as <em>{field}</em>", { field: fieldName(t, "compare_at_price") })}</span>
          </label>
        </div>
      )}
      {form.values.map((value) => (
        <ValueField key={nameOf(value)} content={content} value={value} />
      ))}
      <div class="seek">
        <div>
          <label for="add">{t("Another field")}</label>
          <select {...controlState(content, "add")}>
            <option value="">{t("Choose a field")}</option>
            {(["product", "variant", "collection", "media"] as const)
              .filter((kind) => chosenKinds.has(kind))
              .map((kind) => (
                <FieldOptions key={kind} content={content} kind={kind} />
              ))}
          </select>
        </div>
        <button type="submit" class="plain" name="do" value="add">
          <Icon name="plus" />
          {t("Add the field")}
        </button>
      </div>
      <Misfits field="add" misfits={content.misfits} />
    </section>
  )
}

/** The name of a field of the form. */
const labelOf = (t: Words, field: string): string => {
  const value = field.startsWith(names.set) ? fieldIn(field.slice(names.set.length)) : undefined
  if (value !== undefined)
    return t("{field} of {things}", { field: fieldName(t, value.key), things: t(kindNouns[value.kind]) })
  const labels: Readonly<Record<string, Sentence>> = {
    name: "Name",
    starts: "Starts",
    ends: "Ends",
    zone: "Time zone",
    search: "What",
    percent: "Percent off",
    add: "Changes"
  }
  return t.say(labels[field] ?? field)
}

/** The form for a new drop: one page, whose buttons search, add and review, and keep everything that was typed. */
export const NewDropPage = (content: NewDropContent) => {
  const t = useWords()
  const { form, misfits, store, things, visitor } = content
  return (
    <Frame title={t("Schedule a drop")} visitor={visitor} current={paths.drops}>
      {misfits.length > 0 && (
        <Alert>
          <p>{t("The drop cannot be scheduled like this. Your input is still here:")}</p>
          <ul>
            {misfits.map(({ field, message }) => (
              <li key={`${field} ${t.say(message)}`}>
                <a href={`#${controlId(field)}`}>{labelOf(t, field)}</a>: {t.say(message)}
              </li>
            ))}
          </ul>
        </Alert>
      )}
      <GoneNote count={form.things.length - things.length} />
      <form method="post" action={paths.newDrop} class="steps">
        <HiddenFields csrf={visitor.csrf} />
        <input type="hidden" name={storeField} value={form.storeId} />
        {/* Enter presses the first button: it searches if other words were typed, else it leads to the review. */}
        <button type="submit" name="do" value="enter" class="spoken" tabIndex={-1} aria-hidden="true">
          {t("Continue")}
        </button>
        <nav class="trail" aria-label={t("Breadcrumb")}>
          {t.rich(
            "<drops>All drops</drops> <quiet>· This drop is on</quiet> {store}. <another>Choose another store</another>",
            {
              drops: (words) => <a href={paths.drops}>{words}</a>,
              quiet: (words) => <span class="quiet">{words}</span>,
              store: store === null ? t("all stores") : <Text>{store.name}</Text>,
              another: (words) =>
                content.hasOtherStores && (
                  <button type="submit" class="bare" name="do" value="store">
                    {words}
                  </button>
                )
            }
          )}
        </nav>
        <When {...content} />
        <Things {...content} />
        <Changes {...content} />
        <div class="actionbar">
          <button type="submit" name="do" value="review">
            {t("Review")}
          </button>
          <span class="quiet">{t("Nothing is scheduled before you have seen every change.")}</span>
        </div>
      </form>
    </Frame>
  )
}
