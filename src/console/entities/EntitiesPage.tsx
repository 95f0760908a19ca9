import type { EntityRow } from "../../catalog/Entity.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, Time } from "../Frame.tsx"
import { counted, EntityLink, kindWords, PublishStateOf } from "../Naming.tsx"
import { paths } from "../Paths.ts"

const address = (parameters: Readonly<Record<string, string>>) => `${paths.entities}?${new URLSearchParams(parameters)}`

/** `search`: what the rows were found by; `nextCursor`: where they go on. */
export const EntitiesPage = ({
  nextCursor,
  rows,
  search,
  visitor
}: {
  readonly visitor: Visitor
  readonly rows: ReadonlyArray<EntityRow>
  readonly search: string
  readonly nextCursor: string | null
}) => {
  const filters = search === "" ? {} : { search }
  return (
    <Frame title="Entities" visitor={visitor} current={paths.entities}>
      <search>
        <form method="get" action={paths.entities} class="search">
          <label>
            Id, or words of a name, SKU, vendor or tag
            <input type="search" name="search" value={search} maxLength={200} />
          </label>
          <button type="submit">Find</button>
        </form>
      </search>
      {rows.length === 0 ? (
        <p class="quiet" role="status">
          {search === "" ? "There is nothing in the catalog yet." : "Nothing was found."}
        </p>
      ) : (
        <table class="sheet">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Kind</th>
              <th scope="col">On</th>
              <th scope="col">Last publish</th>
              <th scope="col">Changed</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                <th scope="row">
                  <EntityLink id={row.id} kind={row.type} title={row.title} />
                  {row.type === "variant" && row.sku !== "" && <div class="quiet">{row.sku}</div>}
                </th>
                <td data-label="Kind">{kindWords[row.type]}</td>
                <td data-label="On">{counted(row.store_ids.length, "store")}</td>
                <td data-label="Last publish">
                  <PublishStateOf status={row.last_publish_status} pendingPublish={row.pending_publish} />
                </td>
                <td data-label="Changed">
                  <Time at={row.updated_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {nextCursor !== null && (
        <nav class="pages" aria-label="Pages of entities">
          <a href={address({ ...filters, cursor: nextCursor })}>Next entities</a>
        </nav>
      )}
    </Frame>
  )
}
