import { Array as Arr } from "effect"
import type { ComponentChildren } from "preact"
import { isDescending } from "../../catalog/ListWindows.sql.ts"
import type { ListOrder, MerchantPage } from "../../catalog/MerchantLists.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { SavedView } from "../../catalog/SavedViewsRepo.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { Store } from "../../model/Store.ts"
import { Ago } from "../Ago.tsx"
import type { Visitor } from "../Browser.ts"
import { creationPages } from "../creations/NewEntityPage.tsx"
import { listPages, sectionOf } from "../entities/ListPages.ts"
import { Frame, HiddenFields, Note } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import { Island } from "../Island.tsx"
import { Live } from "../Live.tsx"
import type { Saying, Sentence, Words } from "../languages/Words.tsx"
import { countOf, EntityLink, titleOr } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { Thumbnail } from "../pictures/Thumbnail.tsx"
import { SelectionBar } from "../selections/SelectionBar.tsx"
import { fields } from "../selections/SelectionForm.ts"
import { selectedPrefix } from "../stores/PublishStorePage.tsx"
import { type ColumnSort, Table } from "../Table.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { ListFilters, type ListQuery, listAddress, unfilteredAddress } from "./ListFilters.tsx"
import { orderOf } from "./ListOrder.ts"
import { nextOf, previousOf, totalTextOf } from "./ListWalk.ts"
import { StoreStates } from "./StoreStates.tsx"
import { type RefusedView, ViewBar } from "./ViewBar.tsx"

interface Content {
  readonly visitor: Visitor
  readonly kind: EntityKind
  readonly query: ListQuery
  readonly page: MerchantPage
  /** The first variants of each product that has several, by the product's id. */
  readonly variants: Readonly<Record<string, ReadonlyArray<ListedEntity>>>
  readonly stores: ReadonlyArray<Store>
  readonly address: PictureAddress
  readonly now: number
  readonly views: ReadonlyArray<SavedView>
  readonly refused?: RefusedView | undefined
  readonly note?: Saying | undefined
}

const isFiltered = ({ from, order, walk, ...filters }: ListQuery) => Object.keys(filters).length > 0

const Pages = ({ kind, page, query }: Content) => {
  const t = useWords()
  const { pages, path } = listPages[kind]
  const [previous, next] = [previousOf(query), nextOf(query, page)]
  return (
    <nav class="pages" aria-label={t(pages)}>
      {query.from !== undefined && <a href={listAddress(path, query)}>{t("First page")}</a>}
      {previous !== undefined && <a href={listAddress(path, query, previous)}>{t("Previous page")}</a>}
      {next !== undefined && <a href={listAddress(path, query, next)}>{t("Next page")}</a>}
      {page.rows.length > 0 && (
        <span class="quiet">
          {t("{count, plural, one {# row} other {# rows}} on this page", { count: page.rows.length })}
        </span>
      )}
    </nav>
  )
}

const Select = ({ row }: { readonly row: ListedEntity }) => {
  const t = useWords()
  return (
    <input
      type="checkbox"
      name={`${selectedPrefix}${row.id}`}
      value="yes"
      aria-label={t("Select {title}", { title: titleOr(t, row.kind, row.title) })}
    />
  )
}

/** The variants of a product, folded. */
const Nested = ({ content: { stores, variants }, row }: { readonly row: ListedEntity; readonly content: Content }) => {
  const t = useWords()
  const shown = variants[row.id] ?? []
  return (
    <details class="nested">
      <summary class="quiet">
        {row.sku === "" ? (
          countOf(t, "variant", row.variants)
        ) : (
          <>
            <bdi>{row.sku}</bdi> {t("and {count, number} more", { count: row.variants - 1 })}
          </>
        )}
      </summary>
      <ul>
        {shown.map(({ id, kind, price, sku, states, title }) => (
          <li key={id}>
            <EntityLink id={id} kind={kind} title={title} />
            <bdi class="quiet">{sku}</bdi>
            {price !== "" && <span class="number">{t.amount(price)}</span>}
            <StoreStates states={states} stores={stores} />
          </li>
        ))}
        {row.variants > shown.length && (
          <li>
            <a href={pageOf(paths.entity, row.id)}>
              {t("and {count, number} more", { count: row.variants - shown.length })}
            </a>
          </li>
        )}
      </ul>
    </details>
  )
}

const Title = ({ content, row }: { readonly row: ListedEntity; readonly content: Content }) => {
  const { address } = content
  return (
    <div class="item">
      <Select row={row} />
      {row.kind !== "variant" && <Thumbnail picture={row.picture} width={40} address={address} />}
      <div>
        <EntityLink id={row.id} kind={row.kind} title={row.title} />
        {row.variants > 1 ? (
          <Nested row={row} content={content} />
        ) : (
          row.sku !== "" && (
            <div class="quiet">
              <bdi>{row.sku}</bdi>
            </div>
          )
        )}
      </div>
    </div>
  )
}

const none = (words: string) => <span class="quiet">{words}</span>

type Column = readonly [name: Sentence, cell: (row: ListedEntity, content: Content, t: Words) => ComponentChildren]

const name: Column = ["Name", (row, content) => <Title row={row} content={content} />]
// Only this cell is live: the rows stay, with the focus and what is selected in them.
const states: Column = [
  "Stores",
  (row, { stores }) => (
    <Live id={`states-${row.id}`} on={[`publish:${row.id}`]}>
      <StoreStates states={row.states} stores={stores} />
    </Live>
  )
]
const changed: Column = ["Changed", ({ changedAt }, { now }) => <Ago at={changedAt} now={now} />]

/** The columns that sort, each with its two orders. */
const sorts: ReadonlyMap<Column, readonly [ListOrder, ListOrder]> = new Map([
  [name, ["title", "title-desc"]],
  [changed, ["newest", "oldest"]]
])

const columns: Readonly<Record<Exclude<EntityKind, "media">, readonly [Column, ...ReadonlyArray<Column>]>> = {
  product: [
    name,
    states,
    [
      "Vendor",
      ({ vendor }, { query }, t) =>
        vendor === "" ? (
          none(t("No vendor"))
        ) : (
          <a class="calm" href={listAddress(paths.products, query, { vendor })}>
            <bdi>{vendor}</bdi>
          </a>
        )
    ],
    ["Variants", ({ variants }, _, t) => <span class="number">{t.number(variants)}</span>],
    changed
  ],
  variant: [
    name,
    [
      "Product",
      ({ parentId, parentTitle }, _, t) =>
        parentId === null ? null : (
          <EntityLink id={parentId} kind="product" title={titleOr(t, "product", parentTitle ?? "")} />
        )
    ],
    states,
    [
      "Price",
      ({ price }, _, t) => (price === "" ? none(t("No price")) : <span class="number">{t.amount(price)}</span>)
    ],
    changed
  ],
  collection: [
    name,
    states,
    [
      "Products",
      ({ members }, _, t) => <span class="number">{members >= 1_000 ? `${t.number(1_000)}+` : t.number(members)}</span>
    ],
    changed
  ]
}

/**
 * The link in the header of a column. If the list is sorted by this column, the link reverses the order. Otherwise it sorts the list by
 * the first order of the column in `sorts`.
 */
const sortOf = (column: Column, { kind, query }: Content): ColumnSort | undefined => {
  const orders = sorts.get(column)
  if (orders === undefined) return undefined
  const order = orderOf(query.order)
  const [first, second] = orders
  const next = order === first ? second : first
  return {
    href: listAddress(listPages[kind].path, query, { order: next === "newest" ? "" : next }),
    order: orders.includes(order) ? (isDescending(order) ? "descending" : "ascending") : undefined
  }
}

const Rows = (content: Content) => {
  const t = useWords()
  const { address, kind, page, query, visitor } = content
  return (
    <form method="post" action={paths.exportSelected} class="listed">
      <HiddenFields csrf={visitor.csrf} />
      <Island
        name="SelectAll"
        prefix={selectedPrefix}
        all={page.rows.length}
        findField={page.next === undefined && query.from === undefined ? undefined : fields.of}
      />
      {kind === "media" ? (
        <ul class="pictures">
          {page.rows.map((row) => (
            <li key={row.id}>
              <Select row={row} />
              <a href={pageOf(paths.entity, row.id)}>
                <Thumbnail picture={row.picture} width={400} address={address} />
                <bdi>{titleOr(t, kind, row.title)}</bdi>
              </a>
              {row.picture?.alt === "" && <span class="quiet">{t("No description")}</span>}
            </li>
          ))}
        </ul>
      ) : (
        <Table
          name={t(listPages[kind].name)}
          columns={Arr.map(columns[kind], ([column]) => t(column))}
          sorts={columns[kind].map((column) => sortOf(column, content))}
          rows={page.rows.map((row) => ({
            key: row.id,
            cells: columns[kind].map(([, cell]) => cell(row, content, t))
          }))}
        />
      )}
      <SelectionBar kind={kind} query={query} stores={content.stores} />
    </form>
  )
}

/** Only the page of a whole list can say that the list is empty: other pages may have rows. */
const Empty = ({ kind, page, query }: Content) => {
  const t = useWords()

  const { none, path } = listPages[kind]
  const isWhole = query.from === undefined && page.next === undefined
  return (
    <p class="quiet" role="status">
      {!isWhole
        ? t("There is nothing on this page.")
        : isFiltered(query)
          ? t.rich("Nothing was found. <link>Show all</link>", {
              link: (words) => <a href={unfilteredAddress(path, query)}>{words}</a>
            })
          : t(none)}
    </p>
  )
}

/** A list of one kind, with filters. Its address contains all filters and the position. */
export const EntityListPage = (content: Content) => {
  const t = useWords()

  const { kind, page, query, stores, visitor } = content
  const { name } = listPages[kind]
  return (
    <Frame
      title={t(name)}
      visitor={visitor}
      current={sectionOf(kind)}
      total={totalTextOf(t, query, page)}
      actions={
        <>
          {kind !== "variant" && (
            <Allowed to="edit">
              <a class="button" href={creationPages[kind].path}>
                <Icon name="plus" />
                {t(creationPages[kind].title)}
              </a>
            </Allowed>
          )}
          <a class="button plain" href={paths.imports}>
            {t("Import")}
          </a>
          <a class="button plain" href={paths.exportJsonl} download>
            {t("Export the catalog")}
          </a>
        </>
      }
    >
      {(kind === "product" || kind === "variant") && (
        <nav class="tabs" aria-label={t("Products and variants")}>
          {(["product", "variant"] as const).map((tab) => (
            <a key={tab} href={listPages[tab].path} aria-current={tab === kind ? "page" : undefined}>
              {t(listPages[tab].name)}
            </a>
          ))}
        </nav>
      )}
      {content.note !== undefined && <Note>{t.say(content.note)}</Note>}
      <ViewBar visitor={visitor} kind={kind} query={query} views={content.views} refused={content.refused} />
      <ListFilters kind={kind} query={query} rows={page.rows} stores={stores} />
      {page.rows.length === 0 ? <Empty {...content} /> : <Rows {...content} />}
      <Pages {...content} />
    </Frame>
  )
}
