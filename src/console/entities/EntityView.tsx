import { Effect, Schema } from "effect"
import { errorCodes } from "../../api/ErrorCodes.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import { type EntityRecord, EntityRow } from "../../catalog/Entity.ts"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import { parametersOf } from "../../connections/AuthorizationRequest.ts"
import { Drafts, type Sheet } from "../../drafts/Drafts.ts"
import { Drops } from "../../drops/Drops.ts"
import type { RevisionConflict, ValidationFailed } from "../../model/Errors.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import { includesRole } from "../../model/Role.ts"
import { Publishing } from "../../publishing/Publishing.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { maxInBanner } from "../drops/DropBanner.tsx"
import { html } from "../Html.ts"
import { type Saying, wordsIn } from "../languages/Words.tsx"
import { Pictures } from "../pictures/Pictures.ts"
import type { Editing } from "./CellForm.tsx"
import type { FormResult } from "./EntityNotes.tsx"
import { EntityPage } from "./EntityPage.tsx"
import type { GalleryEditing } from "./Gallery.tsx"
import { type GridView, viewOf } from "./GridAddress.ts"
import { maxFind, maxPicks } from "./PicturePicker.tsx"
import { makeFindSharedSkus } from "./SharedSkus.tsx"
import { variantPageOf } from "./VariantTable.tsx"

/** Maximum number of related entities on an entity's page. */
const maxRelated = 100
/** Number of history entries at first, and after the link to a longer history. */
export const firstEntries = 50
export const maxEntries = 250

const rows = Schema.Array(EntityRow)
/** Reads the answer of `Catalog.related`. */
const readRelated = Schema.decode(
  Schema.parseJson(
    Schema.Struct({
      variants: rows,
      media: rows,
      collections: rows,
      products: rows,
      next_cursor: Schema.NullOr(Schema.String)
    })
  )
)

const nothingGiven = parametersOf("")

/** Makes the function that adds the reason to publishes that were not tried yet: the platform does not answer, or an earlier publish waits for it. */
const makeExplainDelays = Effect.map(
  Publishing,
  (publishing) =>
    <Content extends { readonly record: EntityRecord; readonly sheet: Sheet }>(id: EntityId, content: Content) => {
      const { record, sheet } = content
      type OnStore = Pick<EntityRecord["stores"][number], "last_publish_error" | "last_publish_status" | "store_id">
      const isOpen = ({ last_publish_error, last_publish_status }: OnStore) =>
        last_publish_status === "pending" && last_publish_error === null
      if (!record.stores.some(isOpen)) return Effect.succeed(content)
      return Effect.map(publishing.delaysOf(id), (delays): Content => {
        const explain = <Version extends OnStore>(version: Version): Version => {
          const delay = isOpen(version) ? delays.get(version.store_id) : undefined
          return delay === undefined ? version : { ...version, last_publish_error: delay }
        }
        const stores = sheet.stores.map((each) => ({ ...each, projection: explain(each.projection) }))
        return { ...content, record: { ...record, stores: record.stores.map(explain) }, sheet: { ...sheet, stores } }
      })
    }
)

/** Shows the page of one entity. */
export const makeShowEntity = Effect.gen(function* () {
  const catalog = yield* Catalog
  const drafts = yield* Drafts
  const drops = yield* Drops
  const lists = yield* MerchantLists
  const { addressesFor } = yield* Pictures
  const stores = yield* Stores
  const explainDelays = yield* makeExplainDelays
  const findSharedSkus = makeFindSharedSkus(catalog, lists)

  const showEntity = (
    visitor: Visitor,
    id: EntityId,
    {
      editing,
      field,
      galleryEditing: forEditor = {},
      limit = firstEntries,
      resultOn = () => undefined,
      status = 200,
      view = viewOf(id, nothingGiven)
    }: {
      readonly limit?: number
      readonly status?: number
      readonly view?: GridView
      readonly editing?: Editing | undefined
      readonly galleryEditing?: GalleryEditing | undefined
      readonly field?: string | undefined
      readonly resultOn?: (stores: EntityRecord["stores"]) => FormResult | undefined
    }
  ) =>
    Effect.gen(function* () {
      const galleryEditing = includesRole(visitor.role, "edit") ? forEditor : undefined
      const kind = yield* catalog.kindOf(id)
      // The revision is read before the values. If a change comes between, a write with this revision is refused.
      const read = yield* Effect.all({
        record: catalog.get(kind, id),
        sheet: drafts.sheet(id),
        history: field === undefined ? drafts.history(id, limit) : drafts.history(id, maxEntries, { key: field }),
        linked: stores.list,
        holders: drafts.holdersOf(id),
        drops: drops.openOf(id, maxInBanner + 1),
        // Only a cursor could cause ValidationFailed, and none is given.
        related: catalog.related(id, { limit: maxRelated }).pipe(
          Effect.catchTag("ValidationFailed", Effect.die),
          Effect.flatMap(({ text }) => Effect.orDie(readRelated(text)))
        )
      })
      const content = yield* explainDelays(id, read)
      const { page, shown } = variantPageOf(view, content.record.variantIds)
      const variants = yield* drafts.sheets("variant", shown)
      const sharedSkus = yield* findSharedSkus(kind === "variant" ? [content.sheet] : variants)
      const result = resultOn(content.record.stores)
      const changedPicture = result?._tag === "Picture" ? result.saved.mediaId : galleryEditing?.change?.mediaId
      const pictures = yield* lists.rows([
        ...new Set([
          ...content.sheet.gallery.map(({ mediaId }) => mediaId),
          ...(changedPicture === undefined ? [] : [changedPicture])
        ])
      ])
      const picker = galleryEditing?.picker
      const found =
        picker === undefined || picker.find.length > maxFind
          ? undefined
          : yield* lists.page("media", { search: picker.find, from: picker.from, order: "newest", limit: maxPicks })
      return html(
        visitor,
        <EntityPage
          visitor={visitor}
          kind={kind}
          canShowMore={field === undefined && content.history.length === limit && limit < maxEntries}
          result={result}
          view={{ ...view, variants: page }}
          editing={editing}
          galleryEditing={galleryEditing}
          pictures={pictures}
          found={found}
          address={addressesFor(visitor.accountId)}
          field={field}
          {...content}
          variants={variants}
          sharedSkus={sharedSkus}
        />,
        { status }
      )
    })

  /** Shows the current page with the reason why the publish, or its cancellation, was refused. */
  const showRefusal = (
    visitor: Visitor,
    id: EntityId,
    storeId: StoreId,
    error: RevisionConflict | ValidationFailed,
    isCancellation = false
  ) =>
    showEntity(visitor, id, {
      status: errorCodes[error._tag].status,
      resultOn: (on) => {
        const domain =
          on.find(({ store_id }) => store_id === storeId)?.store_domain ?? wordsIn(visitor.pageLanguage)("the store")
        const message: Saying =
          error._tag === "RevisionConflict"
            ? {
                sentence:
                  "Nothing was published to {store}: the draft has changed since you opened this page. Check the current draft, then publish again.",
                values: { store: domain }
              }
            : {
                sentence: isCancellation
                  ? "The publish to {store} is not cancelled: {problem}."
                  : "Nothing was published to {store}: {problem}.",
                values: { store: domain, problem: error.reasons }
              }
        return { _tag: "Refused", message }
      }
    })

  return { showEntity, showRefusal }
})
