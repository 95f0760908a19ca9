import type { EntityRecord } from "../../catalog/Entity.ts"
import type { MerchantPage } from "../../catalog/MerchantLists.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { Visitor } from "../Browser.ts"
import { sectionOf } from "../entities/ListPages.ts"
import { Frame, Hidden, HiddenFields, Note, Refusal } from "../Frame.tsx"
import type { Saying } from "../languages/Words.tsx"
import { countOf, EntityLink, titleOr } from "../Naming.tsx"
import { collectionProductsOf, paths } from "../Paths.ts"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { Thumbnail } from "../pictures/Thumbnail.tsx"
import { placeText } from "../products/ListOrder.ts"
import { useWords } from "../Viewer.tsx"

/** Maximum number of products of the collection, and of found products, on the page. */
export const maxMembers = 100
export const maxFound = 50

/** Names of the fields. `product`: the prefix of a product's checkbox, which its id follows. */
export const memberFields = {
  product: "product-",
  search: "search",
  from: "from",
  cursor: "cursor",
  does: "do"
} as const

interface Content {
  readonly visitor: Visitor
  readonly record: EntityRecord
  /** A page of the collection's products, in order; `next`: the cursor of the next one. */
  readonly members: ReadonlyArray<ListedEntity>
  readonly next: string | undefined
  readonly search: string
  readonly found: MerchantPage
  readonly address: PictureAddress
  readonly note: Saying | undefined
  readonly refusal: Saying | undefined
}

const Products = ({
  content: { address, record, search, visitor },
  does,
  rows
}: {
  readonly content: Content
  readonly rows: ReadonlyArray<ListedEntity>
  readonly does: "add" | "remove"
}) => {
  const t = useWords()
  return (
    <form method="post" action={paths.collectionProducts}>
      <HiddenFields csrf={visitor.csrf} id={record.id} />
      <Hidden of={[[memberFields.search, search === "" ? undefined : search]]} />
      <fieldset class="picks">
        <legend class="spoken">{t("Products")}</legend>
        {rows.map((row) => (
          <div class="item" key={row.id}>
            <label class="pick">
              <input type="checkbox" name={`${memberFields.product}${row.id}`} value="yes" />
              <Thumbnail picture={row.picture} width={40} address={address} />
              <span>
                <bdi>{titleOr(t, "product", row.title)}</bdi> <bdi class="quiet">{row.sku}</bdi>
              </span>
            </label>
          </div>
        ))}
        <button type="submit" class="plain" name={memberFields.does} value={does}>
          {t(does === "add" ? "Add the selected" : "Take out the selected")}
        </button>
      </fieldset>
    </form>
  )
}

const Found = (content: Content) => {
  const t = useWords()
  const { found, members, record, search } = content
  const rows = found.rows.filter(({ id }) => !members.some((member) => member.id === id))
  const more = { id: record.id, ...(search !== "" && { [memberFields.search]: search }) }
  return (
    <section class="sheet" aria-labelledby="add">
      <h2 id="add">{t("Add products")}</h2>
      <form method="get" action={paths.collectionProducts} class="line">
        <Hidden of={[["id", record.id]]} />
        <input
          type="search"
          name={memberFields.search}
          value={search}
          aria-label={t("Search products")}
          maxLength={200}
        />
        <button type="submit" class="plain">
          {t("Search")}
        </button>
      </form>
      {rows.length === 0 ? (
        <p class="quiet" role="status">
          {t("Nothing was found that is not in the collection.")}
        </p>
      ) : (
        <Products content={content} rows={rows} does="add" />
      )}
      {found.next !== undefined && (
        <p>
          <a
            href={`${paths.collectionProducts}?${new URLSearchParams({ ...more, [memberFields.from]: placeText(found.next) })}#add`}
          >
            {t("Next page")}
          </a>
        </p>
      )}
    </section>
  )
}

/** The products of a collection, and a search for others. */
export const CollectionProductsPage = (content: Content) => {
  const t = useWords()
  const { members, next, note, record, refusal, visitor } = content
  return (
    <Frame
      title={t("Products of {title}", { title: titleOr(t, "collection", record.title) })}
      visitor={visitor}
      current={sectionOf("collection")}
    >
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <EntityLink id={record.id} kind="collection" title={record.title} />
      </nav>
      {note !== undefined && <Note>{t.say(note)}</Note>}
      <Refusal text={refusal} />
      <section class="sheet" aria-labelledby="members">
        <h2 id="members">
          {t("In the collection")} <span class="quiet">{countOf(t, "product", record.productsCount)}</span>
        </h2>
        {record.productsCount === 0 && <p class="quiet">{t("There is no product in the collection yet.")}</p>}
        {members.length > 0 && <Products content={content} rows={members} does="remove" />}
        {next !== undefined && (
          <p>
            <a href={`${collectionProductsOf(record.id)}&${new URLSearchParams({ [memberFields.cursor]: next })}`}>
              {t("Next page")}
            </a>
          </p>
        )}
      </section>
      <Found {...content} />
    </Frame>
  )
}
