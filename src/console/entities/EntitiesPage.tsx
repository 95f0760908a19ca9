import type { EntityRow } from "../../catalog/Entity.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, Time } from "../Frame.tsx"
import { counted, EntityLink, kindWords, PublishStateOf } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { Table } from "../Table.tsx"

const address = (parameters: Readonly<Record<string, string>>) => `${paths.entities}?${new URLSearchParams(parameters)}`

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
            Id, or words of a title, SKU, vendor or tag
            <input type="search" name="search" value={search} maxLength={200} />
          </label>
          <button type="submit">Find</button>
        </form>
      </search>
      {rows.length === 0 ? (
        <p class="quiet" role="status">
          {search === "" ? "The catalog is empty." : "Nothing was found."}
        </p>
      ) : (
        <Table
          columns={["Name", "Kind", "On", "Last publish", "Changed"]}
          rows={rows.map((row) => ({
            key: row.id,
            cells: [
              <>
                <EntityLink id={row.id} kind={row.type} title={row.title} />
                {row.type === "variant" && row.sku !== "" && <div class="quiet">{row.sku}</div>}
              </>,
              kindWords[row.type],
              counted(row.store_ids.length, "store"),
              <PublishStateOf status={row.last_publish_status} pendingPublish={row.pending_publish} />,
              <Time at={row.updated_at} />
            ]
          }))}
        />
      )}
      {nextCursor !== null && (
        <nav class="pages" aria-label="Pages of entities">
          <a href={address({ ...filters, cursor: nextCursor })}>Next entities</a>
        </nav>
      )}
    </Frame>
  )
}
