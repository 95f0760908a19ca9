import type { ComponentChildren } from "preact"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { KeyRule } from "../../model/KeyRule.ts"
import { isWritable, type KeyRules } from "../../model/KeyRules.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { controlOf } from "../entities/CellInput.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { listPages, sectionOf } from "../entities/ListPages.ts"
import { Facts, FieldMisfit, fieldState, type Misfit, problemOfForm } from "../Field.tsx"
import { Frame, Hidden, HiddenFields, Note, Refusal } from "../Frame.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { listAddress } from "../lists/ListFilters.tsx"
import { countOf, EntityLink } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { StoreOptions } from "../StoreChoice.tsx"
import { EmptyValue } from "../Values.tsx"
import { useWords } from "../Viewer.tsx"
import { fields, hiddenFieldsOf, type Selection } from "./SelectionForm.ts"

/** The fields of a bulk change as they were typed. `storeId` empty: the catalog, or no store is chosen yet. */
export interface TypedChange {
  readonly key: string
  readonly storeId: string
  readonly typed: string
  /** Whether the override of the store is removed. */
  readonly clears: boolean
}

export interface SelectionContent {
  readonly visitor: Visitor
  /** The path of the form. */
  readonly action: string
  readonly title: Sentence
  readonly selection: Selection
  readonly change: TypedChange
  readonly stores: ReadonlyArray<Store>
  readonly misfit?: Misfit | undefined
}

const listOf = ({ kind, query }: Selection) => listAddress(listPages[kind].path, query)

/** The page on which the form began. */
const startOf = (selection: Selection) => {
  const [id] = selection.ids
  return selection.isOne && id !== undefined ? pageOf(paths.entity, id) : listOf(selection)
}

/** Says how many of the ticked entities were deleted meanwhile. */
export const GoneNote = ({ count }: { readonly count: number }) => {
  const t = useWords()
  return count === 0 ? null : (
    <Note>
      {t(
        "{count, plural, one {# item that you selected was deleted meanwhile.} other {# items that you selected were deleted meanwhile.}} This goes on with the others.",
        { count }
      )}
    </Note>
  )
}

const Steps = ({
  children,
  content: { action, misfit, selection, title, visitor },
  hidden
}: {
  readonly content: SelectionContent
  readonly hidden: ReadonlyArray<readonly [name: string, value: string]>
  readonly children: ComponentChildren
}) => {
  const t = useWords()
  return (
    <Frame title={t(title)} visitor={visitor} current={sectionOf(selection.kind)}>
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <a href={listOf(selection)}>{t(listPages[selection.kind].name)}</a>
      </nav>
      <Refusal text={problemOfForm(misfit)} />
      <GoneNote count={selection.isAll ? 0 : selection.ids.length - selection.existing.length} />
      <form method="post" action={action} class="sheet">
        <HiddenFields csrf={visitor.csrf} />
        <Hidden of={[...hiddenFieldsOf(selection), ...hidden]} />
        {children}
      </form>
    </Frame>
  )
}

/** The choice between the selected entities and all that the filters of the list find. A form about one entity has none. */
const WhichChoice = ({ misfit, selection: { existing, isAll, isOne, kind } }: SelectionContent) => {
  const t = useWords()
  return isOne ? null : (
    <fieldset class="picks">
      <legend>{t(listPages[kind].name)}</legend>
      {existing.length > 0 && (
        <label class="pick">
          <input type="radio" name={fields.of} value="selected" checked={!isAll} />
          <span>{t("The {things} that you selected", { things: countOf(t, kind, existing.length) })}</span>
        </label>
      )}
      <label class="pick">
        <input type="radio" name={fields.of} value="all" checked={isAll} />
        <span>{t("All items that match the list's filters")}</span>
      </label>
      <FieldMisfit field={fields.of} misfit={misfit} />
    </fieldset>
  )
}

const FieldChoice = ({ content, rules }: { readonly content: SelectionContent; readonly rules: KeyRules }) => {
  const t = useWords()
  const { change, misfit, selection, stores } = content
  return (
    <>
      <label>
        {t("Field")}
        <select name={fields.key} {...fieldState(misfit, fields.key)}>
          <option value="">{t("Choose a field")}</option>
          {[...rules.ofKind(selection.kind).keys()]
            .filter((key) => isWritable(selection.kind, key))
            .map((key) => (
              <option key={key} value={key} selected={key === change.key}>
                {key.includes(".") ? `${fieldName(t, key)} (${key})` : fieldName(t, key)}
              </option>
            ))}
        </select>
      </label>
      <FieldMisfit field={fields.key} misfit={misfit} />
      <label>
        {t("Where")}
        <select name={fields.store}>
          <option value="">{t("In the catalog, for all stores")}</option>
          <StoreOptions stores={stores} chosen={change.storeId} />
        </select>
      </label>
    </>
  )
}

/** The control for the new value, by the type of the field. */
const ValueControl = ({ content, rule }: { readonly content: SelectionContent; readonly rule: KeyRule }) => {
  const t = useWords()
  const { change, misfit } = content
  const { key, typed } = change
  const control = controlOf({ key, rule, type: rule.type }, typed)
  const hint = control._tag === "Area" ? control.hint : undefined
  const common = {
    id: "new-value",
    name: fields.value,
    ...fieldState(misfit, fields.value, hint === undefined ? undefined : "value-hint")
  }
  return (
    <>
      <label for="new-value">{t("New value: {field}", { field: fieldName(t, key) })}</label>
      {control._tag === "Choice" ? (
        <select {...common}>
          {["", ...control.choices].map((choice) => (
            <option key={choice} value={choice} selected={choice === typed}>
              {choice === "" ? t("empty") : choice}
            </option>
          ))}
        </select>
      ) : control._tag === "Area" ? (
        // Browsers drop the first line break of a text area.
        <textarea {...common} rows={4} dir="auto">{`\n${typed}`}</textarea>
      ) : (
        <input {...common} type="text" inputMode={control.inputMode} value={typed} dir="auto" autocomplete="off" />
      )}
      {hint !== undefined && (
        <p class="quiet" id="value-hint">
          {t.say(hint)}
        </p>
      )}
      <FieldMisfit field={fields.value} misfit={misfit} />
      {change.storeId !== "" && (
        <label class="pick">
          <input type="checkbox" name={fields.clears} value="yes" checked={change.clears} />
          <span>{t("Remove the store's own value instead, so that it has the catalog's")}</span>
        </label>
      )}
    </>
  )
}

const storeNamed = ({ change, stores }: SelectionContent) => stores.find(({ id }) => id === change.storeId)?.name

/** The first steps of setting a field: the field and the place, then the value. `rule`: of the chosen field. */
export const SetFieldPage = ({
  rule,
  rules,
  ...content
}: SelectionContent & { readonly rules: KeyRules; readonly rule: KeyRule | undefined }) => {
  const t = useWords()
  const { change } = content
  if (rule === undefined)
    return (
      <Steps content={content} hidden={[]}>
        <WhichChoice {...content} />
        <FieldChoice content={content} rules={rules} />
        <div class="buttons">
          <button type="submit" name={fields.does} value="value">
            {t("Continue")}
          </button>
          <a href={startOf(content.selection)}>{t("Cancel")}</a>
        </div>
      </Steps>
    )
  return (
    <Steps
      content={content}
      hidden={[
        [fields.key, change.key],
        [fields.store, change.storeId]
      ]}
    >
      <Facts of={[[t("Where"), <bdi>{storeNamed(content) ?? t("In the catalog, for all stores")}</bdi>]]} />
      <ValueControl content={content} rule={rule} />
      <WhichChoice {...content} />
      <div class="buttons">
        <button type="submit" name={fields.does} value="review">
          {t("Review")}
        </button>
        <button type="submit" class="plain" name={fields.does} value="choose">
          {t("Another field")}
        </button>
        <a href={startOf(content.selection)}>{t("Cancel")}</a>
      </div>
    </Steps>
  )
}

/** The first step of an action: the choice of its entities. `asksStore`: also of its store, which a deletion does not have. */
export const ChoosePage = ({ asksStore, ...content }: SelectionContent & { readonly asksStore: boolean }) => {
  const t = useWords()
  const { change, misfit, selection, stores } = content
  return (
    <Steps content={content} hidden={[]}>
      {asksStore && (
        <>
          <label>
            {t("Store")}
            <select name={fields.store} {...fieldState(misfit, fields.store)}>
              <option value="">{t("Choose a store")}</option>
              <StoreOptions stores={stores} chosen={change.storeId} />
            </select>
          </label>
          <FieldMisfit field={fields.store} misfit={misfit} />
        </>
      )}
      <WhichChoice {...content} />
      <div class="buttons">
        <button type="submit" name={fields.does} value="review">
          {t("Review")}
        </button>
        <a href={startOf(selection)}>{t("Cancel")}</a>
      </div>
    </Steps>
  )
}

/** Number of selected products, and how many of them are not on a store. Stores that have all are left out. */
export interface LeftOut {
  readonly total: number
  readonly ofStores: ReadonlyArray<{ readonly store: Store; readonly count: number }>
}

/** The form of an export: which entities, and which file. Product CSV has the products of one store. */
export const ExportPage = ({ leftOut, ...content }: SelectionContent & { readonly leftOut: LeftOut }) => {
  const t = useWords()
  const { change, misfit, selection, stores } = content
  return (
    <Steps content={content} hidden={[]}>
      <WhichChoice {...content} />
      {selection.kind === "product" && (
        <>
          <label>
            {t("File")}
            <select name={fields.store} {...fieldState(misfit, fields.store)}>
              <option value="">{t("JSON lines: all values, on all stores")}</option>
              {stores.map(({ id, name }) => (
                <option key={id} value={id} selected={id === change.storeId}>
                  {t("Product CSV of {store}", { store: name })}
                </option>
              ))}
            </select>
          </label>
          <FieldMisfit field={fields.store} misfit={misfit} />
          <p class="quiet">{t("Product CSV leaves out products that are not on the store.")}</p>
          {leftOut.ofStores.length > 0 && (
            <ul class="quiet">
              {leftOut.ofStores.map(({ count, store: { id, name } }) => (
                <li key={id}>
                  {t.rich("Left out for {store}: {count, number} of {total, number}", {
                    store: <bdi>{name}</bdi>,
                    count,
                    total: leftOut.total
                  })}
                </li>
              ))}
            </ul>
          )}
        </>
      )}
      <p class="quiet">
        {t(
          "The file shows the catalog of one moment, whatever is changed meanwhile. Products come with their variants."
        )}
      </p>
      <div class="buttons">
        <button type="submit" name={fields.does} value="download">
          {t("Download")}
        </button>
        <a href={startOf(selection)}>{t("Cancel")}</a>
      </div>
    </Steps>
  )
}

/** Maximum number of entities that a review names. */
export const maxNamed = 10

const Names = ({ count, rows }: { readonly rows: ReadonlyArray<ListedEntity>; readonly count: number }) => {
  const t = useWords()
  return (
    <ul>
      {rows.map(({ id, kind, title }) => (
        <li key={id}>
          <EntityLink id={id} kind={kind} title={title} />
        </li>
      ))}
      {count > rows.length && <li class="quiet">{t("and {count, number} more", { count: count - rows.length })}</li>}
    </ul>
  )
}

/** The words of a review. */
export interface ReviewWords {
  /** Names the place. Null: the change has none. */
  readonly where: Sentence | null
  /** Names the number of entities. */
  readonly count: Sentence
  /** Says what the job will do. */
  readonly explanation: Sentence
  /** The button. */
  readonly begin: Sentence
  /** Whether the job cannot be undone. */
  readonly isFinal?: true
}

export const reviewWords = {
  set: {
    where: "Where",
    count: "Changes",
    explanation:
      "They are changed as drafts, and nothing is published. A draft that somebody else changes before its turn is not overwritten: the page of the job lists it.",
    begin: "Change {things}"
  },
  add: {
    where: "Store",
    count: "Changes",
    explanation:
      "Products are added with their variants and pictures. Nothing is published, and items that are on the store already do not change.",
    begin: "Add {things}"
  },
  remove: {
    where: "Store",
    count: "Changes",
    explanation:
      "Only items that were never published to the store are taken off it. Their values for this store are removed. Products are taken off with their variants, and with the pictures that no other gallery shows there. Nothing is deleted in the catalog, and the store itself does not change.",
    begin: "Take off {things}"
  },
  delete: {
    where: null,
    count: "Deletes",
    explanation:
      "This cannot be undone: their values on all stores and their history are deleted too. Products are deleted with their variants, and leave their collections. Pictures stay in the catalog, unless you choose to delete them too. Items that a linked store has, or that a gallery or a drop that has not ended uses, are not deleted: the page of the job lists them. What unlinked stores have is deleted here only: if such a store is linked again and still has an item, its next refresh offers it as new.",
    begin: "Delete {things}",
    isFinal: true
  },
  publish: {
    where: "Store",
    count: "Publishes",
    explanation:
      "Their drafts become live on the store, products before the items that refer to them. Items without a draft for this store are skipped. The page of the job lists the refused items.",
    begin: "Publish {things}"
  },
  cancel: {
    where: "Store",
    count: "Items",
    explanation:
      "Their publishes to this store that wait and were not sent are cancelled, and their changes stay in the draft. The page of the job lists those that may have reached the store: they go on.",
    begin: "Cancel the publishes of {things}"
  }
} as const satisfies Readonly<Record<string, ReviewWords>>

/** The offer to delete the pictures that only the selected entities show. `count`: their number; null if the job will find it out. */
export interface MediaOffer {
  readonly count: number | null
  readonly isChosen: boolean
}

const MediaChoice = ({ count, isChosen }: MediaOffer) => {
  const t = useWords()
  return (
    <label class="pick">
      <input type="checkbox" name={fields.withMedia} value="yes" checked={isChosen} />
      <span>
        {count === null
          ? t("Also delete their pictures that nothing else shows")
          : t(
              "{count, plural, one {Also delete # picture that nothing else shows} other {Also delete # pictures that nothing else shows}}",
              { count }
            )}
      </span>
    </label>
  )
}

/**
 * The last step: what the job will do. `count`: the number of its entities; `rows`: the first of them; `value`: the new value, null
 * if the change sets none; `jobId`: of the job to begin; `back`: the step before, null if there is none. `media`: undefined if there are
 * no pictures to delete.
 */
export const SelectionReviewPage = ({
  back,
  count,
  isOutdated,
  jobId,
  media,
  rows,
  value,
  words,
  ...content
}: SelectionContent & {
  readonly count: number
  readonly rows: ReadonlyArray<ListedEntity>
  readonly value: string | null
  readonly jobId: string
  readonly back: string | null
  readonly media: MediaOffer | undefined
  readonly words: ReviewWords
  readonly isOutdated: boolean
}) => {
  const t = useWords()
  const { change, selection } = content
  const things = countOf(t, selection.kind, count)
  const isField = change.key !== ""
  const place = storeNamed(content) ?? t("In the catalog, for all stores")
  const misfit = isOutdated
    ? {
        field: "",
        message: t("Nothing was changed: the filters now find {things}. Check the review again.", { things })
      }
    : undefined
  return (
    <Steps
      content={{ ...content, misfit }}
      hidden={[
        ["id", jobId],
        [fields.of, selection.isAll ? "all" : "selected"],
        [fields.key, change.key],
        [fields.store, change.storeId],
        [fields.value, change.typed],
        ...(change.clears ? [[fields.clears, "yes"] as const] : []),
        [fields.seen, String(count)]
      ]}
    >
      <Facts
        of={[
          isField && [t("Field"), fieldName(t, change.key)],
          words.where !== null && [t(words.where), <bdi>{place}</bdi>],
          value !== null && [
            t("New value"),
            change.clears ? (
              <span class="quiet">{t("the catalog's value")}</span>
            ) : value === "" ? (
              <EmptyValue />
            ) : (
              <bdi class="value">{value}</bdi>
            )
          ],
          [t(words.count), things]
        ]}
      />
      <Names rows={rows} count={count} />
      <p class="quiet">{t(words.explanation)}</p>
      {media !== undefined && <MediaChoice {...media} />}
      <div class="buttons">
        <button type="submit" class={words.isFinal && "danger"} name={fields.does} value="begin">
          {t(words.begin, { things })}
        </button>
        {back !== null && (
          <button type="submit" class="plain" name={fields.does} value={back}>
            {t("Back")}
          </button>
        )}
        <a href={startOf(selection)}>{t("Cancel")}</a>
      </div>
    </Steps>
  )
}
