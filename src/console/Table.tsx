import type { ComponentChildren } from "preact"

/** A row: its first cell heads it. */
export interface Row {
  readonly key: string
  readonly cells: ReadonlyArray<ComponentChildren>
}

/**
 * Rows under named columns; on a narrow screen each row is a block that names its cells. `name`: what the table is about,
 * for who does not see where it stands.
 */
export const Table = ({
  columns,
  name,
  rows
}: {
  readonly name: string
  readonly columns: readonly [string, ...ReadonlyArray<string>]
  readonly rows: ReadonlyArray<Row>
}) => (
  <table class="sheet">
    <caption class="spoken">{name}</caption>
    <thead>
      <tr>
        {columns.map((column) => (
          <th key={column} scope="col">
            {column}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map(({ cells: [head, ...others], key }) => (
        <tr key={key}>
          <th scope="row">{head}</th>
          {others.map((cell, index) => (
            <td key={columns[index + 1]} data-label={columns[index + 1]}>
              {cell}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)
