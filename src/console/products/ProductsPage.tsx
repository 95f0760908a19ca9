import type { ComponentChildren } from "preact"
import { type MerchantPage, windowSize } from "../../catalog/MerchantLists.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { SavedView } from "../../catalog/SavedViewsRepo.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { Store } from "../../model/Store.ts"
import { Ago } from "../Ago.tsx"
import type { Visitor } from "../Browser.ts"
import { listPages, sectionOf } from "../entities/ListPages.ts"
import { Frame, HiddenFields, Note } from "../Frame.tsx"
import { counted, EntityLink, titleOr } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { Thumbnail } from "../pictures/Thumbnail.tsx"
import { SelectionBar } from "../selections/SelectionBar.tsx"
import { selectedPrefix } from "../stores/PublishStorePage.tsx"
import { Table } from "../Table.tsx"
import { Allowed } from "../Viewer.tsx"
import { type ListQuery, listAddress, ProductFilters } from "./ProductFilters.tsx"
import { StoreStates } from "./StoreStates.tsx"
import { type RefusedView, ViewBar } from "./ViewBar.tsx"

interface Content {
  readonly visitor: Visitor
  readonly kind: EntityKind
  readonly query: ListQuery
  readonly page: MerchantPage
  readonly stores: ReadonlyArray<Store>
  readonly address: PictureAddress
  readonly now: number
  readonly views: ReadonlyArray<SavedView>
  readonly refused?: RefusedView | undefined
  readonly note?: string | undefined
}

const isFiltered = ({ from, order, ...filters }: ListQuery) => Object.keys(filters).length > 0

/** The number of entities, as far as it is counted. A page after the first counts only what follows. */
const totalOf = ({ page: { found, isCut }, query }: Content) =>
  query.from !== undefined
    ? undefined
    : found > windowSize
      ? `${windowSize.toLocaleString("en")}+`
      : `${found.toLocaleString("en")}${isCut ? "+" : ""}`

const Title = ({ address, row }: { readonly row: ListedEntity; readonly address: PictureAddress }) => (
  <div class="item">
    <Allowed to="edit">
      <input type="checkbox" name={`${selectedPrefix}${row.id}`} value="yes" aria-label={`Select ${row.title}`} />
    </Allowed>
    {row.kind !== "variant" && <Thumbnail picture={row.picture} width={40} address={address} />}
    <div>
      <EntityLink id={row.id} kind={row.kind} title={row.title} />
      {row.sku !== "" && (
        <div class="quiet">
          {row.sku}
          {row.variants > 1 && ` and ${row.variants - 1} more`}
        </div>
      )}
    </div>
  </div>
)

const none = (words: string) => <span class="quiet">{words}</span>

type Column = readonly [name: string, cell: (row: ListedEntity, content: Content) => ComponentChildren]

const name: Column = ["Name", (row, { address }) => <Title row={row} address={address} />]
const states: Column = ["Stores", (row, { stores }) => <StoreStates states={row.states} stores={stores} />]
const changed: Column = ["Changed", ({ changedAt }, { now }) => <Ago at={changedAt} now={now} />]

const columns: Readonly<Record<Exclude<EntityKind, "media">, ReadonlyArray<Column>>> = {
  product: [
    name,
    states,
    [
      "Vendor",
      ({ vendor }, { query }) =>
        vendor === "" ? (
          none("No vendor")
        ) : (
          <a class="calm" href={listAddress(paths.products, query, { vendor })}>
            <bdi>{vendor}</bdi>
          </a>
        )
    ],
    ["Variants", ({ variants }) => <span class="number">{variants}</span>],
    changed
  ],
  variant: [
    name,
    [
      "Product",
      ({ parentId, parentTitle }) =>
        parentId === null ? null : (
          <EntityLink id={parentId} kind="product" title={titleOr("product", parentTitle ?? "")} />
        )
    ],
    states,
    ["Price", ({ price }) => (price === "" ? none("No price") : <span class="number">{price}</span>)],
    changed
  ],
  collection: [
    name,
    states,
    ["Products", ({ members }) => <span class="number">{members >= 1_000 ? "1,000+" : members}</span>],
    changed
  ]
}

const Rows = (content: Content) => {
  const { address, kind, page, query, visitor } = content
  if (kind === "media")
    return (
      <ul class="pictures">
        {page.rows.map((row) => (
          <li key={row.id}>
            <a href={pageOf(paths.entity, row.id)}>
              <Thumbnail picture={row.picture} width={400} address={address} />
              <bdi>{titleOr(kind, row.title)}</bdi>
            </a>
            {row.picture?.alt === "" && <span class="quiet">No description</span>}
          </li>
        ))}
      </ul>
    )
  const [first = name, ...others] = columns[kind]
  const table = (
    <Table
      name={listPages[kind].name}
      columns={[first[0], ...others.map(([column]) => column)]}
      rows={page.rows.map((row) => ({
        key: row.id,
        cells: [first, ...others].map(([, cell]) => cell(row, content))
      }))}
    />
  )
  return (
    <Allowed to="edit" otherwise={<div class="listed">{table}</div>}>
      <form method="post" action={paths.setSelected} class="listed">
        <HiddenFields csrf={visitor.csrf} />
        {table}
        <SelectionBar kind={kind} query={query} stores={content.stores} />
      </form>
    </Allowed>
  )
}

const Empty = ({ kind, page, query }: Content) => {
  const { one, path } = listPages[kind]
  if (page.isCut)
    return (
      <p role="status">
        None of {windowSize.toLocaleString("en")} {one}s matches. Older ones were not checked yet.
      </p>
    )
  return (
    <p class="quiet" role="status">
      {isFiltered(query) ? (
        <>
          Nothing was found. <a href={path}>Show all</a>
        </>
      ) : (
        `There is no ${one} yet.`
      )}
    </p>
  )
}

/** A list of one kind, with filters. Its address contains all filters and the position. */
export const ProductsPage = (content: Content) => {
  const { kind, page, query, stores, visitor } = content
  const { name, path } = listPages[kind]
  return (
    <Frame
      title={name}
      visitor={visitor}
      current={sectionOf(kind)}
      total={totalOf(content)}
      actions={
        <>
          <a class="button plain" href={paths.imports}>
            Import
          </a>
          <a class="button plain" href={paths.exportJsonl} download>
            Export
          </a>
        </>
      }
    >
      {(kind === "product" || kind === "variant") && (
        <nav class="tabs" aria-label="Products and variants">
          {(["product", "variant"] as const).map((tab) => (
            <a key={tab} href={listPages[tab].path} aria-current={tab === kind ? "page" : undefined}>
              {listPages[tab].name}
            </a>
          ))}
        </nav>
      )}
      {content.note !== undefined && <Note>{content.note}</Note>}
      <ViewBar visitor={visitor} kind={kind} query={query} views={content.views} refused={content.refused} />
      <ProductFilters kind={kind} query={query} stores={stores} />
      {page.rows.length === 0 ? <Empty {...content} /> : <Rows {...content} />}
      <nav class="pages" aria-label={`Pages of ${name.toLowerCase()}`}>
        {query.from !== undefined && <a href={listAddress(path, query)}>First page</a>}
        {page.next !== undefined && <a href={listAddress(path, query, { from: String(page.next) })}>Next page</a>}
        {page.rows.length > 0 && <span class="quiet">{counted(page.rows.length, "row")} on this page</span>}
      </nav>
    </Frame>
  )
}
