import { Schema } from "effect"
import {
  listOrders,
  type MerchantFilters,
  type MerchantState,
  type MissingField,
  merchantStates,
  missingFields
} from "../../catalog/MerchantLists.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import { StoreId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { listPages } from "../entities/ListPages.ts"
import { Icon } from "../Icon.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { publishStates } from "../Naming.tsx"
import { StoreOptions } from "../StoreChoice.tsx"
import { useWords } from "../Viewer.tsx"
import { orderOf, orderWords, placeIn } from "./ListOrder.ts"
import { walkIn } from "./ListWalk.ts"

/** Names of the query parameters of a list. */
export type ListParameter =
  | "search"
  | "store_id"
  | "state"
  | "vendor"
  | "type"
  | "tag"
  | "own"
  | "missing"
  | "order"
  | "from"
  | "walk"
export type ListQuery = Readonly<Partial<Record<ListParameter, string>>>

const names: ReadonlyArray<ListParameter> = [
  "search",
  "store_id",
  "state",
  "vendor",
  "type",
  "tag",
  "own",
  "missing",
  "order",
  "from",
  "walk"
]

const isState = Schema.is(Schema.Literal(...merchantStates, "absent"))
const isMissing = Schema.is(Schema.Literal(...missingFields))
const isStoreId = Schema.is(StoreId)

/** Filters that only the list of products has. */
const ofProducts: ReadonlySet<ListParameter> = new Set(["vendor", "type", "tag", "missing"])

/**
 * The parameters that are set. Unknown values, and filters that the list does not have, are left out, so an outdated link shows more
 * and not an error.
 */
export const listQueryOf = (kind: EntityKind, query: Parameters): ListQuery => {
  const values = Object.fromEntries(
    names.flatMap((name) => {
      const value = query.get(name)?.trim() ?? ""
      return value === "" || (kind !== "product" && ofProducts.has(name)) ? [] : [[name, value]]
    })
  ) as ListQuery
  const { from, missing, order: _, own, state, store_id, walk, ...texts } = values
  const order = orderOf(values.order)
  return {
    ...texts,
    ...(isStoreId(store_id) && { store_id }),
    ...(isState(state) && (state !== "absent" || isStoreId(store_id)) && { state }),
    ...(isMissing(missing) && { missing }),
    ...(own === "yes" && { own }),
    ...(order !== "newest" && { order }),
    ...(from !== undefined &&
      placeIn(from, order) !== undefined && { from, ...(walkIn(walk) !== undefined && { walk }) })
  }
}

export const filtersOf = (query: ListQuery): MerchantFilters => ({
  search: query.search,
  storeId: isStoreId(query.store_id) ? query.store_id : undefined,
  state: isState(query.state) ? query.state : undefined,
  vendor: query.vendor,
  productType: query.type,
  tag: query.tag,
  hasOwnValues: query.own === "yes" ? true : undefined,
  missing: isMissing(query.missing) ? query.missing : undefined
})

/** The address of a list. A change of the filters starts again at the first page. */
export const listAddress = (path: string, { from, walk, ...query }: ListQuery, change: ListQuery = {}): string => {
  const parameters = new URLSearchParams(
    Object.entries({ ...query, ...change }).filter(([, value]) => value !== "" && value !== undefined)
  )
  return parameters.size === 0 ? path : `${path}?${parameters}`
}

/** The address of the list without filters, in the same order. */
export const unfilteredAddress = (path: string, { order }: ListQuery): string =>
  listAddress(path, order === undefined ? {} : { order })

const missingWords: Readonly<Record<MissingField, Sentence>> = {
  description: "Description",
  vendor: "Vendor",
  type: "Type",
  tags: "Tags",
  picture: "Picture"
}

const missingChips: Readonly<Record<MissingField, Sentence>> = {
  description: "Missing: description",
  vendor: "Missing: vendor",
  type: "Missing: type",
  tags: "Missing: tags",
  picture: "Missing: picture"
}

const StateChips = ({ path, query }: { readonly path: string; readonly query: ListQuery }) => {
  const t = useWords()
  return (
    <ul class="chips" aria-label={t("State")}>
      {[undefined, ...merchantStates].map((state: MerchantState | undefined) => (
        <li key={state ?? "all"}>
          <a
            class="chip"
            href={listAddress(path, query, { state: state ?? "" })}
            aria-current={query.state === state ? "true" : undefined}
          >
            {state === undefined ? (
              t("All")
            ) : (
              <>
                <span class={`dot ${publishStates[state].tone}`} />
                {t(publishStates[state].name)}
              </>
            )}
          </a>
        </li>
      ))}
      {query.store_id !== undefined && (
        <li>
          <a
            class="chip"
            href={listAddress(path, query, { state: "absent" })}
            aria-current={query.state === "absent" ? "true" : undefined}
          >
            <span class="dot idle" />
            {t("Not on this store")}
          </a>
        </li>
      )}
    </ul>
  )
}

/** The filters that are set, each with a link that removes it. */
const SetFilters = ({
  path,
  query,
  stores
}: {
  readonly path: string
  readonly query: ListQuery
  readonly stores: ReadonlyArray<Store>
}) => {
  const t = useWords()

  const { missing, own, search, store_id, tag, type, vendor } = query
  const store = stores.find(({ id }) => id === store_id)
  const set: ReadonlyArray<readonly [ListParameter, string]> = [
    ...(search === undefined ? [] : [["search", t("Search: {text}", { text: search })] as const]),
    ...(store_id === undefined
      ? []
      : [["store_id", t("Store: {store}", { store: store?.name ?? t("unknown") })] as const]),
    ...(vendor === undefined ? [] : [["vendor", t("Vendor: {text}", { text: vendor })] as const]),
    ...(type === undefined ? [] : [["type", t("Type: {text}", { text: type })] as const]),
    ...(tag === undefined ? [] : [["tag", t("Tag: {text}", { text: tag })] as const]),
    ...(isMissing(missing) ? [["missing", t(missingChips[missing])] as const] : []),
    ...(own === undefined ? [] : [["own", t("Own values on a store")] as const])
  ]
  return set.length === 0 ? null : (
    <ul class="chips" aria-label={t("Filters")}>
      {set.map(([name, words]) => (
        <li key={name}>
          <a
            class="chip on"
            href={listAddress(path, query, {
              [name]: "",
              ...(name === "store_id" && query.state === "absent" && { state: "" })
            })}
          >
            <bdi>{words}</bdi>
            <span class="spoken"> {t("(remove)")}</span>
            <Icon name="x" />
          </a>
        </li>
      ))}
      <li>
        <a class="chip" href={unfilteredAddress(path, query)}>
          {t("Clear all")}
        </a>
      </li>
    </ul>
  )
}

const searches: Readonly<Record<EntityKind, Sentence>> = {
  product: "Search products",
  variant: "Search variants",
  collection: "Search collections",
  media: "Search media"
}

/** The fields in which a search looks. */
const searched: Readonly<Record<EntityKind, Sentence>> = {
  product: "Title, SKU, vendor, tag or id",
  variant: "Title, SKU, barcode or id",
  collection: "Title, handle or id",
  media: "Description, file name or id"
}

/** The filters of a list, as links and one form: they work without JavaScript, and their addresses can be shared. */
export const ListFilters = ({
  kind,
  query,
  rows,
  stores
}: {
  readonly kind: EntityKind
  readonly query: ListQuery
  /** The rows of the page, whose values are suggested. */
  readonly rows: ReadonlyArray<Pick<ListedEntity, "productType" | "vendor">>
  readonly stores: ReadonlyArray<Store>
}) => {
  const t = useWords()

  const { path } = listPages[kind]
  const text = (parameter: "vendor" | "type" | "tag", label: string, suggestions: ReadonlyArray<string> = []) => (
    <label>
      {label}
      <input
        type="text"
        name={parameter}
        value={query[parameter] ?? ""}
        maxLength={200}
        list={suggestions.length === 0 ? undefined : `known-${parameter}`}
        autocomplete="off"
      />
      {suggestions.length > 0 && (
        <datalist id={`known-${parameter}`}>
          {[...new Set(suggestions)].sort().map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
    </label>
  )
  return (
    <search class="filters">
      <StateChips path={path} query={query} />
      {query.state !== undefined && query.store_id === undefined && stores.length > 1 && (
        <p class="quiet">
          {t(
            "If no store is chosen, an item is listed under its worst state on any store: Failed, Publishing or Changed, in this order. Not published means on no store. Choose a store to see its states."
          )}
        </p>
      )}
      <form method="get" action={path}>
        {query.state !== undefined && <input type="hidden" name="state" value={query.state} />}
        <div class="line">
          <div class="find">
            <Icon name="search" />
            <input
              type="search"
              name="search"
              value={query.search ?? ""}
              aria-label={t(searches[kind])}
              placeholder={t(searched[kind])}
              maxLength={200}
              data-search
            />
          </div>
          <select name="store_id" aria-label={t("Store")}>
            <option value="">{t("Any store")}</option>
            <StoreOptions stores={stores} chosen={query.store_id} />
          </select>
          <select name="order" aria-label={t("Sort")}>
            {listOrders.map((order) => (
              <option
                key={order}
                value={order === "newest" ? "" : order}
                selected={order !== "newest" && order === query.order}
              >
                {t(orderWords[order])}
              </option>
            ))}
          </select>
          <button type="submit" class="plain">
            {t("Apply")}
          </button>
        </div>
        <details open={["vendor", "type", "tag", "missing", "own"].some((each) => Object.hasOwn(query, each))}>
          <summary>{t("More filters")}</summary>
          <div class="line">
            {kind === "product" && (
              <>
                {text(
                  "vendor",
                  t("Vendor"),
                  rows.map(({ vendor }) => vendor).filter((vendor) => vendor !== "")
                )}
                {text(
                  "type",
                  t("Type"),
                  rows.map(({ productType }) => productType).filter((type) => type !== "")
                )}
                {text("tag", t("Tag"))}
                <label>
                  {t("Missing")}
                  <select name="missing">
                    <option value="">{t("Any")}</option>
                    {missingFields.map((field) => (
                      <option key={field} value={field} selected={query.missing === field}>
                        {t(missingWords[field])}
                      </option>
                    ))}
                  </select>
                </label>
              </>
            )}
            <label class="pick">
              <input type="checkbox" name="own" value="yes" checked={query.own === "yes"} />{" "}
              {t("Own values on a store")}
            </label>
          </div>
        </details>
      </form>
      <SetFilters path={path} query={query} stores={stores} />
    </search>
  )
}
