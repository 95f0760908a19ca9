import type { ComponentChildren } from "preact"

/** A row. The first cell is the header of the row. */
export interface Row {
  readonly key: string
  readonly cells: ReadonlyArray<ComponentChildren>
}

/** A header that sorts the table: the address of the sorted page, and the present order by this column, if there is one. */
export interface ColumnSort {
  readonly href: string
  readonly order: "ascending" | "descending" | undefined
}

/**
 * A table. On a narrow screen each row becomes a block, and each cell shows the name of its column. `name`: the caption for
 * screen readers; `labelledBy`: the id of a heading that is used instead of a caption; `notes`: a second line of each header;
 * `sorts`: the headers that sort.
 */
export const Table = ({
  columns,
  isNumeric = false,
  labelledBy,
  name,
  notes = [],
  rows,
  sorts = []
}: {
  readonly name?: string
  readonly labelledBy?: string
  readonly columns: readonly [string, ...ReadonlyArray<string>]
  readonly notes?: ReadonlyArray<string | undefined>
  readonly sorts?: ReadonlyArray<ColumnSort | undefined>
  readonly isNumeric?: boolean
  readonly rows: ReadonlyArray<Row>
}) => (
  <table class="sheet" aria-labelledby={labelledBy}>
    {name !== undefined && <caption class="spoken">{name}</caption>}
    <thead>
      <tr>
        {columns.map((column, index) => (
          <th key={column} scope="col" aria-sort={sorts[index]?.order}>
            {sorts[index] === undefined ? (
              <bdi>{column}</bdi>
            ) : (
              <a class="calm" href={sorts[index].href}>
                <bdi>{column}</bdi>
              </a>
            )}
            {notes[index] !== undefined && <div class="quiet">{notes[index]}</div>}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map(({ cells: [head, ...others], key }) => (
        <tr key={key}>
          <th scope="row">{head}</th>
          {others.map((cell, index) => (
            <td key={columns[index + 1]} data-label={columns[index + 1]} class={isNumeric ? "number" : undefined}>
              {cell}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)
