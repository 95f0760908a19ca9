import { Option } from "effect"
import type { ComponentChildren } from "preact"
import type { Sheet } from "../../drafts/Drafts.ts"
import { singleLineText } from "../../model/Attribute.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import { parseOptions } from "../../model/ProductOptions.ts"
import type { Store } from "../../model/Store.ts"
import { Alert, Hidden, HiddenFields } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import type { Saying, Words } from "../languages/Words.tsx"
import { State } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { readable, textOfHtml } from "../Values.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { shorten } from "../Wording.tsx"
import { CellForm, cellFields, type Editing } from "./CellForm.tsx"
import { type Cell, type FieldRow, storedIn } from "./Cells.ts"
import { fieldName } from "./FieldNames.ts"
import { type CellPlace, cellId, editPath, type GridView, linkId, parametersOfView, samePlace } from "./GridAddress.ts"
import { directionOf } from "./StoreLanguage.ts"

/** The beginning of a value that a cell shows, in characters. The form has the whole. */
const maxCharacters = 140
const maxTags = 12

const moneyKeys: ReadonlyArray<string> = ["price", "compare_at_price"]
const wordTypes: ReadonlyArray<string> = [
  singleLineText,
  "multi_line_text_field",
  "html",
  "list.single_line_text_field"
]
const keysWithoutWords: ReadonlyArray<string> = ["handle", "sku", "barcode", "status", "weight_unit", "sort_order"]

/** The field of an undo form that names the revision. */
export const undoField = "revision"

export interface GridProps {
  readonly csrf: string
  readonly draftRevision: number
  readonly sheet: Sheet
  /** The stores of the account. */
  readonly linked: ReadonlyArray<Store>
  readonly view: GridView
  readonly editing: Editing | undefined
  readonly saved?: SavedCell | undefined
}

/**
 * The cell that was saved last. `revision`: the draft's revision that an undo takes back; 0: nothing was written. `refusal`: why
 * an undo was refused.
 */
export interface SavedCell {
  readonly place: CellPlace
  readonly revision: number
  readonly refusal?: Saying
}

export interface Column {
  readonly storeId: StoreId | null
  readonly name: string
  /** The name of the column on a narrow screen, where it differs. */
  readonly label?: string
  readonly store: Store | undefined
}

export const columnsOf = (t: Words, sheet: Sheet, linked: ReadonlyArray<Store>): ReadonlyArray<Column> => [
  { storeId: null, name: t("Catalog"), store: undefined },
  ...sheet.stores.map(({ projection: { store_domain, store_id } }) => {
    const store = linked.find(({ id }) => id === store_id)
    return { storeId: store_id, name: store?.name ?? store_domain, store }
  })
]

const Content = ({ cell: { value }, column: { store }, row: { key, type } }: CellProps): ComponentChildren => {
  const t = useWords()

  if (value === "") return <span class="quiet">{t("empty")}</span>
  if (type.startsWith("list.")) {
    const items = readable(value, type).split(", ")
    return key !== "tags" ? (
      shorten(items.join(", "), maxCharacters)
    ) : (
      <span class="tags">
        {items.slice(0, maxTags).map((item) => (
          <span key={item} class="chip">
            <bdi>{shorten(item, 40)}</bdi>
          </span>
        ))}
        {items.length > maxTags && (
          <span class="quiet">{t("and {count, number} more", { count: items.length - maxTags })}</span>
        )}
      </span>
    )
  }
  const words = type === "html" ? textOfHtml(value) : key === "options" ? wordsOfOptions(value) : value
  const shown = shorten(words, maxCharacters)
  return (
    <>{!moneyKeys.includes(key) ? shown : store === undefined ? t.amount(shown) : t.money(shown, store.currency)}</>
  )
}

/** The options of a product as words; other JSON unchanged. */
const wordsOfOptions = (json: string): string =>
  Option.match(parseOptions(json), {
    onNone: () => json,
    onSome: (options) => options.map(({ name, values }) => `${name}: ${values.join(", ")}`).join("; ")
  })

interface CellProps {
  readonly cell: Cell
  readonly column: Column
  readonly row: FieldRow
}

/** The states of a cell in words. Screen readers also hear that a value is inherited. */
const Marks = ({ cell: { isChanged, isFailed, isOwn, misfit, storeId } }: CellProps) => {
  const t = useWords()

  const words = [
    storeId !== null && isOwn && <span class="own">{t("Own value")}</span>,
    isFailed ? <State name="Failed" tone="bad" /> : isChanged && <State name="Changed" tone="wait" />,
    misfit !== undefined && <span class="wrong">{t("Does not fit: {problem}", { problem: misfit })}</span>
  ].filter((word) => word !== false)
  return words.length === 0 ? (
    storeId === null ? null : (
      <span class="spoken">{t("From the catalog")}</span>
    )
  ) : (
    <div class="marks">
      {words.map((word, index) => (
        <span key={index}>{word}</span>
      ))}
    </div>
  )
}

const languageOf = ({ cell: { isOwn }, column: { store }, row: { key, type } }: CellProps) =>
  !wordTypes.includes(type) || keysWithoutWords.includes(key)
    ? {}
    : store === undefined || !isOwn
      ? { dir: "auto" as const }
      : { lang: store.primary_locale, dir: directionOf(store.primary_locale) }

const classesOf = ({ isOwn, misfit, storeId }: Cell, isShown: boolean, isOpen: boolean) =>
  [
    isShown && "shown",
    isOpen && "open",
    storeId !== null && (isOwn ? "own" : "inherited"),
    misfit !== undefined && "wrong"
  ]
    .filter(Boolean)
    .join(" ") || undefined

/** Says that a cell was saved, with a form that undoes the write. If the undo was refused, says why. */
const SavedMark = ({
  csrf,
  label,
  saved: { place, refusal, revision },
  view
}: Pick<GridProps, "csrf" | "view"> & { readonly saved: SavedCell; readonly label: string }) => {
  const t = useWords()

  if (refusal !== undefined)
    return (
      <Alert>
        <p>{t.say(refusal)}</p>
      </Alert>
    )
  const hidden = {
    ...parametersOfView(view),
    [cellFields.key]: place.key,
    [cellFields.store]: place.storeId ?? "",
    ...(place.of !== undefined && { [cellFields.of]: place.of }),
    [undoField]: String(revision)
  }
  return (
    <div class="marks">
      <span class="state good">{t("Saved")}</span>
      {revision > 0 && (
        <Allowed to="edit">
          <form method="post" action={paths.undoEdit} class="undo">
            <HiddenFields csrf={csrf} />
            <Hidden of={Object.entries(hidden)} />
            <button type="submit" class="plain" aria-label={t("Undo: {cell}", { cell: label })}>
              <Icon name="undo-2" />
              {t("Undo")}
            </button>
          </form>
        </Allowed>
      )}
    </div>
  )
}

/** A cell of the grid: its value and states, or its open form. */
export const GridCell = ({
  grid,
  hasNext,
  isShown,
  of,
  ...props
}: CellProps & {
  readonly grid: GridProps
  readonly isShown: boolean
  readonly hasNext: boolean
  /** In the table of variants: the variant of the cell. `label`: the name of the field in that table. */
  readonly of?: { readonly id: EntityId; readonly title: string; readonly label: string }
}) => {
  const t = useWords()

  const { cell, column, row } = props
  const { editing, linked, saved, sheet, view } = grid
  const place = { of: of?.id, key: row.key, storeId: cell.storeId }
  const is = (other: CellPlace | undefined) => samePlace(place, other)
  const where = of === undefined ? column.name : `${of.title}${t(", ")}${column.name}`
  const field = of?.label ?? fieldName(t, row.key)
  const label = `${field}${t(", ")}${where}`
  if (is(editing) && editing !== undefined)
    return (
      <td id={cellId(place)} data-label={column.label ?? column.name} class={classesOf(cell, isShown, true)}>
        <CellForm
          csrf={grid.csrf}
          view={view}
          of={of?.id}
          draftRevision={grid.draftRevision}
          row={row}
          cell={cell}
          stored={storedIn(sheet, place.storeId, place.key)}
          stores={linked.filter(({ id }) => sheet.stores.some(({ projection }) => projection.store_id === id))}
          editing={editing}
          field={field}
          where={where}
          hasNext={hasNext}
        />
      </td>
    )
  return (
    <td id={cellId(place)} data-label={column.label ?? column.name} class={classesOf(cell, isShown, false)}>
      <div class={row.type.startsWith("number_") ? "number" : undefined} {...languageOf(props)}>
        <Content {...props} />
      </div>
      <Marks {...props} />
      {saved !== undefined && is(saved.place) && <SavedMark csrf={grid.csrf} view={view} saved={saved} label={label} />}
      {row.isWritable ? (
        <Allowed to="edit">
          <a
            class="edit"
            id={linkId(place)}
            href={editPath(view, place)}
            autofocus={is(saved?.place) && saved?.refusal !== undefined}
          >
            <span class="spoken">{t("Edit {cell}", { cell: label })}</span>
          </a>
        </Allowed>
      ) : (
        <span class="spoken">{t("Read-only")}</span>
      )}
    </td>
  )
}
