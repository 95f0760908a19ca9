import { Option, Schema } from "effect"
import type { ComponentChildren } from "preact"
import type { Sheet } from "../../drafts/Drafts.ts"
import { singleLineText } from "../../model/Attribute.ts"
import type { StoreId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { publishStateOf, publishStates, State } from "../Naming.tsx"
import { readable } from "../Values.tsx"
import { Allowed } from "../Viewer.tsx"
import { Key, shorten } from "../Wording.tsx"
import { CellForm, type Editing } from "./CellForm.tsx"
import { type Cell, type FieldRow, rowsOf, storedIn } from "./Cells.ts"
import { fieldName } from "./FieldNames.ts"
import { type CellPlace, cellId, cellPath, editPath, type GridView, linkId, viewPath } from "./GridAddress.ts"
import { directionOf, marketOf } from "./StoreLanguage.ts"

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

const textOfHtml = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

export interface GridProps {
  readonly csrf: string
  readonly draftRevision: number
  readonly sheet: Sheet
  /** The stores of the account. */
  readonly linked: ReadonlyArray<Store>
  readonly view: GridView
  readonly editing: Editing | undefined
  /** The cell that was saved last. */
  readonly saved?: CellPlace | undefined
}

interface Column {
  readonly storeId: StoreId | null
  readonly name: string
  readonly store: Store | undefined
}

export const columnsOf = (sheet: Sheet, linked: ReadonlyArray<Store>): ReadonlyArray<Column> => [
  { storeId: null, name: "Catalog", store: undefined },
  ...sheet.stores.map(({ projection: { store_domain, store_id } }) => {
    const store = linked.find(({ id }) => id === store_id)
    return { storeId: store_id, name: store?.name ?? store_domain, store }
  })
]

const Content = ({ cell: { value }, column: { store }, row: { key, type } }: CellProps): ComponentChildren => {
  if (value === "") return <span class="quiet">empty</span>
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
        {items.length > maxTags && <span class="quiet">{`and ${items.length - maxTags} more`}</span>}
      </span>
    )
  }
  const words = type === "html" ? textOfHtml(value) : key === "options" ? wordsOfOptions(value) : value
  const shown = shorten(words, maxCharacters)
  return <>{moneyKeys.includes(key) && store !== undefined ? `${store.currency} ${shown}` : shown}</>
}

const readOptions = Schema.decodeUnknownOption(
  Schema.parseJson(Schema.Array(Schema.Struct({ name: Schema.String, values: Schema.Array(Schema.String) })))
)

/** The options of a product as words; other JSON unchanged. */
const wordsOfOptions = (json: string): string =>
  Option.match(readOptions(json), {
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
  const words = [
    storeId !== null && isOwn && <span class="own">Own value</span>,
    isFailed ? <State name="Failed" tone="bad" /> : isChanged && <State name="Changed" tone="wait" />,
    misfit !== undefined && <span class="wrong">{`Does not fit: ${misfit}`}</span>
  ].filter((word) => word !== false)
  return words.length === 0 ? (
    storeId === null ? null : (
      <span class="spoken">From the catalog</span>
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

const GridCell = ({
  grid,
  hasNext,
  isShown,
  ...props
}: CellProps & { readonly grid: GridProps; readonly isShown: boolean; readonly hasNext: boolean }) => {
  const { cell, column, row } = props
  const { editing, linked, saved, sheet, view } = grid
  const place = { key: row.key, storeId: cell.storeId }
  const is = (other: CellPlace | undefined) => other?.key === place.key && other.storeId === place.storeId
  const label = `${fieldName(row.key)}, ${column.name}`
  if (is(editing) && editing !== undefined)
    return (
      <td id={cellId(place)} data-label={column.name} class={classesOf(cell, isShown, true)}>
        <CellForm
          csrf={grid.csrf}
          view={view}
          draftRevision={grid.draftRevision}
          row={row}
          cell={cell}
          stored={storedIn(sheet, place.storeId, place.key)}
          stores={linked.filter(({ id }) => sheet.stores.some(({ projection }) => projection.store_id === id))}
          editing={editing}
          where={column.name}
          hasNext={hasNext}
        />
      </td>
    )
  return (
    <td id={cellId(place)} data-label={column.name} class={classesOf(cell, isShown, false)}>
      <div class={row.type.startsWith("number_") ? "number" : undefined} {...languageOf(props)}>
        <Content {...props} />
      </div>
      <Marks {...props} />
      {is(saved) && (
        <div class="marks">
          <span class="state good">Saved</span>
        </div>
      )}
      {row.isWritable ? (
        <Allowed to="edit">
          <a class="edit" id={linkId(place)} href={editPath(view, place)}>
            <span class="spoken">{`Edit ${label}`}</span>
          </a>
        </Allowed>
      ) : (
        <span class="spoken">Read-only</span>
      )}
    </td>
  )
}

const Legend = () => (
  <p class="legend" aria-hidden="true">
    <span class="own">Own value</span>
    <span class="state wait">Changed, not published</span>
    <span class="state bad">Failed</span>
    <span class="wrong">Does not fit</span>
    <span class="inherited">Grey: from the catalog</span>
  </p>
)

const Bar = ({ hidden, view }: { readonly view: GridView; readonly hidden: number }) => (
  <div class="gridbar">
    <Legend />
    <nav class="chips" aria-label="Fields">
      <a
        class="chip"
        href={viewPath({ ...view, isDiffering: !view.isDiffering })}
        aria-current={view.isDiffering ? "true" : undefined}
      >
        Only differences
      </a>
      {(hidden > 0 || view.withEmpty) && (
        <a
          class="chip"
          href={viewPath({ ...view, withEmpty: !view.withEmpty })}
          aria-current={view.withEmpty ? "true" : undefined}
        >
          {view.withEmpty ? "With empty fields" : `Show ${hidden} empty`}
        </a>
      )}
    </nav>
  </div>
)

/** On a narrow screen: chooses the store whose column is shown. */
const ColumnChoice = ({
  columns,
  shown,
  view
}: {
  readonly columns: ReadonlyArray<Column>
  readonly shown: StoreId | null
  readonly view: GridView
}) => (
  <nav class="tabs columns" aria-label="Store">
    {columns.map(({ name, storeId }) => (
      <a
        key={storeId}
        href={`${viewPath({ ...view, on: storeId ?? undefined })}#values`}
        aria-current={storeId === shown ? "true" : undefined}
      >
        <bdi>{name}</bdi>
      </a>
    ))}
  </nav>
)

const Head = ({
  column: { name, store, storeId },
  grid: { sheet },
  isShown
}: {
  readonly column: Column
  readonly grid: GridProps
  readonly isShown: boolean
}) => {
  const on = sheet.stores.find(({ projection }) => projection.store_id === storeId)?.projection
  return (
    <th scope="col" class={isShown ? "shown" : undefined}>
      <bdi>{name}</bdi>
      <div class="quiet">{storeId === null ? "All stores" : store === undefined ? "" : marketOf(store)}</div>
      {on !== undefined && <State {...publishStates[publishStateOf(on.last_publish_status, on.pending_publish)]} />}
    </th>
  )
}

/** The values of an entity: a row for each field, a column for the catalog and one for each store that has the entity. */
export const ValueGrid = (props: GridProps) => {
  const { editing, linked, sheet, view } = props
  const columns = columnsOf(sheet, linked)
  const { hidden, rows } = rowsOf(sheet, view)
  const chosen = editing === undefined ? (view.on ?? null) : editing.storeId
  const shown = columns.some(({ storeId }) => storeId === chosen) ? chosen : null
  return (
    <section aria-labelledby="values">
      <h2 id="values" class="spoken">
        Values
      </h2>
      <Bar view={view} hidden={hidden} />
      <ColumnChoice columns={columns} shown={shown} view={view} />
      {rows.length === 0 ? (
        <p class="quiet" role="status">
          {view.isDiffering ? "All stores have the catalog's values." : "There are no fields."}
        </p>
      ) : (
        <div class="gridframe">
          <table class="grid" aria-labelledby="values" data-grid>
            <thead>
              <tr>
                <th scope="col">Field</th>
                {columns.map((column) => (
                  <Head key={column.storeId} column={column} grid={props} isShown={column.storeId === shown} />
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr key={row.key}>
                  <th scope="row">
                    {fieldName(row.key)}
                    {row.key.includes(".") && (
                      <div class="quiet">
                        <Key>{row.key}</Key>
                      </div>
                    )}
                  </th>
                  {row.cells.map((cell, place) => {
                    const column = columns[place]
                    return column === undefined ? null : (
                      <GridCell
                        key={cell.storeId}
                        grid={props}
                        row={row}
                        cell={cell}
                        column={column}
                        isShown={cell.storeId === shown}
                        hasNext={rows.slice(index + 1).some((next) => next.isWritable)}
                      />
                    )
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

/** The next cell of the same column that can be edited. Undefined: none. */
export const nextCell = (sheet: Sheet, view: GridView, { key, storeId }: CellPlace): CellPlace | undefined => {
  const { rows } = rowsOf(sheet, view)
  const index = rows.findIndex((row) => row.key === key)
  const next = rows.slice(index + 1).find((row) => row.isWritable)
  return next === undefined ? undefined : { key: next.key, storeId }
}

/** The page that follows a saved form. */
export const savedPath = (view: GridView, place: CellPlace, note: string): string =>
  cellPath(view, place, { note: `${note} ${place.storeId ?? "catalog"} ${place.key}` })
