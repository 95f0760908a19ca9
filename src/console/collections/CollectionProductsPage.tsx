import type { EntityRecord } from "../../catalog/Entity.ts"
import type { MerchantPage } from "../../catalog/MerchantLists.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { EntityId } from "../../model/Ids.ts"
import { assetPaths } from "../Assets.ts"
import type { Visitor } from "../Browser.ts"
import { sectionOf } from "../entities/ListPages.ts"
import { MoveButtons, type Moved, MovedNote, MoveToButton, moveFields, UndoMove } from "../entities/Moves.tsx"
import { FieldMisfit, fieldState } from "../Field.tsx"
import { Frame, Hidden, HiddenFields, Note, Refusal } from "../Frame.tsx"
import type { Saying } from "../languages/Words.tsx"
import { placeText } from "../lists/ListOrder.ts"
import { countOf, EntityLink, titleOr } from "../Naming.tsx"
import { PageLinks } from "../PageLinks.tsx"
import { collectionProductsOf, paths } from "../Paths.ts"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { Thumbnail } from "../pictures/Thumbnail.tsx"
import { useWords } from "../Viewer.tsx"

/** Maximum number of products of the collection, and of found products, on the page. */
export const maxMembers = 100
export const maxFound = 50

/** Names of the fields. `product`: the prefix of a product's checkbox, which its id follows. */
export const memberFields = {
  product: "product-",
  does: "do"
} as const

interface Content {
  readonly visitor: Visitor
  readonly record: EntityRecord
  /** A page of the collection's products, in order, with their positions from 1. */
  readonly members: ReadonlyArray<{ readonly row: ListedEntity; readonly position: number }>
  /** The cursor of the next page. */
  readonly next: string | undefined
  /** The parts of the lists that the page shows: every form and link of the page leads to the same parts again. */
  readonly shown: Shown
  /** Products that are not in the collection. */
  readonly found: MerchantPage
  /** The products whose checkboxes are ticked. */
  readonly ticked: ReadonlySet<EntityId>
  /** The names of the stores that sort the collection by themselves. */
  readonly sorting: ReadonlyArray<string>
  readonly address: PictureAddress
  readonly note: Saying | undefined
  readonly refusal: Saying | undefined
  /** The last move, with the title of its product. */
  readonly moved: { readonly of: Moved; readonly title: string } | undefined
  /** The position that was typed for a product, and what is wrong with it. */
  readonly typed: Typed | undefined
}

/**
 * The search for products, where its page begins, and the cursor of the page of the collection's products, by the names of their fields.
 * `""`: none.
 */
export type Shown = Readonly<Record<"search" | "from" | "cursor", string>>

export interface Typed {
  readonly id: EntityId
  readonly position: string
  readonly misfit: Saying | undefined
}

const Picked = ({
  content: { address, ticked },
  form,
  row
}: {
  readonly content: Content
  readonly row: ListedEntity
  readonly form?: string
}) => {
  const t = useWords()
  return (
    <label class="pick">
      <input
        type="checkbox"
        form={form}
        name={`${memberFields.product}${row.id}`}
        value="yes"
        checked={ticked.has(row.id)}
      />
      <Thumbnail picture={row.picture} width={40} address={address} />
      <span>
        <bdi>{titleOr(t, "product", row.title)}</bdi> <bdi class="quiet">{row.sku}</bdi>
      </span>
    </label>
  )
}

const parametersOfShown = (shown: Shown) => Object.entries(shown).filter(([, value]) => value !== "")

/** The address of the page that shows these parts of the lists. `more`: other parameters. */
export const addressOf = (
  id: EntityId,
  shown: Shown,
  more: ReadonlyArray<readonly [name: string, value: string]> = []
): string => collectionProductsOf(id, [...parametersOfShown(shown), ...more])

/** Maximum number of ticked products that a move keeps: the form of each position repeats them. */
const maxTicked = 20

/** The ticked products as parameters of an address, or as hidden fields of a form that does not have the checkboxes. */
export const parametersOfTicked = (ticked: ReadonlySet<EntityId>) =>
  ticked.size > maxTicked ? [] : Array.from(ticked, (id) => [`${memberFields.product}${id}`, "yes"] as const)

/** The hidden fields of the page's forms. `withTicked`: of a form that does not have the checkboxes. */
const StateFields = ({
  content: { record, shown, ticked, visitor },
  withTicked = false
}: {
  readonly content: Content
  readonly withTicked?: boolean
}) => (
  <>
    <HiddenFields csrf={visitor.csrf} id={record.id} />
    <Hidden of={parametersOfShown(shown)} />
    {withTicked && <Hidden of={parametersOfTicked(ticked)} />}
  </>
)

const membersForm = "members-form"

/**
 * Moves a product. The position has a form of its own, so that Enter in its field moves this product. The arrows send the form of the
 * checkboxes, so that these stay ticked.
 */
const MoveForm = ({
  content,
  position,
  row
}: {
  readonly content: Content
  readonly row: ListedEntity
  readonly position: number
}) => {
  const t = useWords()
  const name = titleOr(t, "product", row.title)
  const form = `move-${row.id}`
  const field = `${moveFields.position}-${row.id}`
  const typed = content.typed?.id === row.id ? content.typed : undefined
  const misfit = typed?.misfit === undefined ? undefined : { field, message: typed.misfit }
  return (
    <form method="post" action={paths.moveProduct} id={form} class="moves">
      <StateFields content={content} withTicked />
      <label>
        <span class="quiet">{t("Position")}</span>
        <input
          type="text"
          inputMode="numeric"
          name={moveFields.position}
          value={typed?.position ?? String(position)}
          maxLength={20}
          autocomplete="off"
          aria-label={t("Position of {item}", { item: name })}
          {...fieldState(misfit, field)}
        />
      </label>
      <MoveToButton form={form} id={row.id} name={name} />
      <MoveButtons
        form={membersForm}
        action={paths.moveProduct}
        id={row.id}
        name={name}
        place={position}
        count={content.record.productsCount}
      />
      <FieldMisfit field={field} misfit={misfit} />
    </form>
  )
}

const Members = (content: Content) => {
  const t = useWords()
  const { members, sorting } = content
  return (
    <>
      {sorting.length > 0 && (
        <p>
          {t("These stores sort the collection by themselves, so the order here has no effect there: {stores}.", {
            stores: sorting.join(t(", "))
          })}
        </p>
      )}
      {/* The button comes before the arrows, because Enter on a checkbox presses the first button of its form. */}
      <form method="post" action={paths.collectionProducts} id={membersForm} class="buttons">
        <StateFields content={content} />
        <button type="submit" class="plain" name={memberFields.does} value="remove">
          {t("Take out the selected")}
        </button>
      </form>
      <fieldset class="picks" data-ticks>
        <legend class="spoken">{t("Products")}</legend>
        {members.map(({ position, row }) => (
          <div class="item" key={row.id}>
            <Picked content={content} row={row} form={membersForm} />
            <MoveForm content={content} row={row} position={position} />
          </div>
        ))}
      </fieldset>
    </>
  )
}

const LastMove = ({ content, moved }: { readonly content: Content; readonly moved: NonNullable<Content["moved"]> }) => {
  const t = useWords()
  const form = "move-undo"
  return (
    <>
      <MovedNote moved={moved.of} name={titleOr(t, "product", moved.title)} />
      <form method="post" action={paths.moveProduct} id={form} class="buttons">
        <StateFields content={content} withTicked />
        <UndoMove form={form} moved={moved.of} />
      </form>
    </>
  )
}

const Found = (content: Content) => {
  const t = useWords()
  const { found, record, shown } = content
  return (
    <section class="sheet" aria-labelledby="add">
      <h2 id="add">{t("Add products")}</h2>
      <form method="get" action={paths.collectionProducts} class="search">
        <Hidden of={[["id", record.id], ...parametersOfShown({ ...shown, search: "", from: "" })]} />
        <label>
          {t("Search products")}
          <input type="search" name="search" value={shown.search} maxLength={200} />
        </label>
        <button type="submit" class="plain">
          {t("Search")}
        </button>
      </form>
      {found.rows.length === 0 ? (
        <p class="quiet" role="status">
          {t(
            found.next === undefined && shown.from === ""
              ? "No products were found that can be added."
              : "There is nothing on this page."
          )}
        </p>
      ) : (
        <form method="post" action={paths.collectionProducts}>
          <StateFields content={content} />
          <fieldset class="picks" data-ticks>
            <legend class="spoken">{t("Products")}</legend>
            {found.rows.map((row) => (
              <div class="item" key={row.id}>
                <Picked content={content} row={row} />
              </div>
            ))}
            <button type="submit" class="plain" name={memberFields.does} value="add">
              {t("Add the selected")}
            </button>
          </fieldset>
        </form>
      )}
      <PageLinks
        first={shown.from === "" ? undefined : `${addressOf(record.id, { ...shown, from: "" })}#add`}
        next={
          found.next === undefined
            ? undefined
            : `${addressOf(record.id, { ...shown, from: placeText(found.next) })}#add`
        }
      />
    </section>
  )
}

/** The products of a collection, and a search for others. */
export const CollectionProductsPage = (content: Content) => {
  const t = useWords()
  const { members, moved, next, note, record, refusal, shown, visitor } = content
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
      {moved !== undefined && <LastMove content={content} moved={moved} />}
      <Refusal text={refusal} />
      <section class="sheet" aria-labelledby="members">
        <h2 id="members">
          {t("In the collection")} <span class="quiet">{countOf(t, "product", record.productsCount)}</span>
        </h2>
        {record.productsCount === 0 && <p class="quiet">{t("There is no product in the collection yet.")}</p>}
        {members.length > 0 && <Members {...content} />}
        <PageLinks
          first={shown.cursor === "" ? undefined : addressOf(record.id, { ...shown, cursor: "" })}
          next={next && addressOf(record.id, { ...shown, cursor: next })}
        />
      </section>
      <Found {...content} />
      <script type="module" src={assetPaths.ticks} />
    </Frame>
  )
}
