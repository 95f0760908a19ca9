import type { Sheet } from "../../drafts/Drafts.ts"
import type { StoreId } from "../../model/Ids.ts"
import { publishStateOn, publishStates, State } from "../Naming.tsx"
import { useWords } from "../Viewer.tsx"
import { Key } from "../Wording.tsx"
import { rowsOf } from "./Cells.ts"
import { fieldName } from "./FieldNames.ts"
import { type CellPlace, type GridView, viewPath } from "./GridAddress.ts"
import { type Column, columnsOf, GridCell, type GridProps } from "./GridCell.tsx"
import { marketOf } from "./StoreLanguage.ts"

const Legend = () => {
  const t = useWords()
  return (
    <p class="legend" aria-hidden="true">
      <span class="own">{t("Own value")}</span>
      <span class="state wait">{t("Changed, not published")}</span>
      <span class="state bad">{t("Failed")}</span>
      <span class="wrong">{t("Does not fit")}</span>
      <span class="inherited">{t("Grey: from the catalog")}</span>
    </p>
  )
}

const Bar = ({ hidden, view }: { readonly view: GridView; readonly hidden: number }) => {
  const t = useWords()
  return (
    <div class="gridbar">
      <Legend />
      <nav class="chips" aria-label={t("Fields")}>
        <a
          class="chip"
          href={viewPath({ ...view, isDiffering: !view.isDiffering })}
          aria-current={view.isDiffering ? "true" : undefined}
        >
          {t("Only differences")}
        </a>
        {(hidden > 0 || view.withEmpty) && (
          <a
            class="chip"
            href={viewPath({ ...view, withEmpty: !view.withEmpty })}
            aria-current={view.withEmpty ? "true" : undefined}
          >
            {view.withEmpty ? t("With empty fields") : t("Show {count, number} empty", { count: hidden })}
          </a>
        )}
      </nav>
    </div>
  )
}

/** On a narrow screen: chooses the store whose column is shown. */
const ColumnChoice = ({
  columns,
  shown,
  view
}: {
  readonly columns: ReadonlyArray<Column>
  readonly shown: StoreId | null
  readonly view: GridView
}) => {
  const t = useWords()
  return (
    <nav class="tabs columns" aria-label={t("Store")}>
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
}

const Head = ({
  column: { name, store, storeId },
  grid: { sheet },
  isShown
}: {
  readonly column: Column
  readonly grid: GridProps
  readonly isShown: boolean
}) => {
  const t = useWords()

  const on = sheet.stores.find(({ projection }) => projection.store_id === storeId)?.projection
  return (
    <th scope="col" class={isShown ? "shown" : undefined}>
      <bdi>{name}</bdi>
      <div class="quiet">{storeId === null ? t("All stores") : store === undefined ? "" : marketOf(t, store)}</div>
      {on !== undefined && <State {...publishStates[publishStateOn(on)]} />}
    </th>
  )
}

/** The values of an entity: a row for each field, a column for the catalog and one for each store that has the entity. */
export const ValueGrid = (props: GridProps) => {
  const t = useWords()

  const { editing, linked, sheet, view } = props
  const columns = columnsOf(t, sheet, linked)
  const { hidden, rows } = rowsOf(sheet, view)
  const chosen = editing === undefined ? (view.on ?? null) : editing.storeId
  const shown = columns.some(({ storeId }) => storeId === chosen) ? chosen : null
  return (
    <section aria-labelledby="values">
      <h2 id="values" class="spoken">
        {t("Values")}
      </h2>
      <Bar view={view} hidden={hidden} />
      <ColumnChoice columns={columns} shown={shown} view={view} />
      {rows.length === 0 ? (
        <p class="quiet" role="status">
          {view.isDiffering ? t("All stores have the catalog's values.") : t("There are no fields.")}
        </p>
      ) : (
        <div class="gridframe">
          <table class="grid" aria-labelledby="values" data-grid>
            <thead>
              <tr>
                <th scope="col">{t("Field")}</th>
                {columns.map((column) => (
                  <Head key={column.storeId} column={column} grid={props} isShown={column.storeId === shown} />
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr key={row.key}>
                  <th scope="row">
                    {fieldName(t, row.key)}
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
