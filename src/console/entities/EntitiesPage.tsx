import type { EntityRow } from "../../catalog/Entity.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, Time } from "../Frame.tsx"
import { counted, EntityLink, PublishStateOf } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { Table } from "../Table.tsx"

/** The page that lists each kind, and its words. */
export const listPages = {
  product: { path: paths.products, name: "Products", one: "product" },
  variant: { path: paths.variants, name: "Variants", one: "variant" },
  collection: { path: paths.collections, name: "Collections", one: "collection" },
  media: { path: paths.media, name: "Media", one: "media file" }
} as const satisfies Record<EntityKind, { readonly path: string; readonly name: string; readonly one: string }>

/** The section of the navigation to which a kind belongs. */
export const sectionOf = (kind: EntityKind): string => listPages[kind === "variant" ? "product" : kind].path

const tabs = ["product", "variant", "collection", "media"] as const

export const EntitiesPage = ({
  kind,
  nextCursor,
  rows,
  search,
  visitor
}: {
  readonly visitor: Visitor
  readonly kind: EntityKind
  readonly rows: ReadonlyArray<EntityRow>
  readonly search: string
  readonly nextCursor: string | null
}) => {
  const filters = search === "" ? {} : { search }
  const { name, one, path } = listPages[kind]
  const addressOf = (of: string, parameters: Readonly<Record<string, string>>) => {
    const query = new URLSearchParams(parameters)
    return query.size === 0 ? of : `${of}?${query}`
  }
  return (
    <Frame title={name} visitor={visitor} current={sectionOf(kind)}>
      <nav class="tabs" aria-label="Kinds">
        {tabs.map((tab) => (
          <a key={tab} href={addressOf(listPages[tab].path, filters)} aria-current={tab === kind ? "page" : undefined}>
            {listPages[tab].name}
          </a>
        ))}
      </nav>
      <search>
        <form method="get" action={path} class="search">
          <label>
            Id, or words of a title, SKU, vendor or tag
            <input type="search" name="search" value={search} maxLength={200} data-search />
          </label>
          <button type="submit">Find</button>
        </form>
      </search>
      {rows.length === 0 ? (
        <p class="quiet" role="status">
          {search === "" ? `There is no ${one} yet.` : "Nothing was found."}
        </p>
      ) : (
        <Table
          name={name}
          columns={["Name", "On", "State", "Changed"]}
          rows={rows.map((row) => ({
            key: row.id,
            cells: [
              <>
                <EntityLink id={row.id} kind={row.type} title={row.title} />
                {row.type === "variant" && row.sku !== "" && <div class="quiet">{row.sku}</div>}
              </>,
              counted(row.store_ids.length, "store"),
              <PublishStateOf status={row.last_publish_status} pendingPublish={row.pending_publish} />,
              <Time at={row.updated_at} />
            ]
          }))}
        />
      )}
      {nextCursor !== null && (
        <nav class="pages" aria-label={`Pages of ${name.toLowerCase()}`}>
          <a href={addressOf(path, { ...filters, cursor: nextCursor })}>Next page</a>
        </nav>
      )}
    </Frame>
  )
}
