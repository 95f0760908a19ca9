import { Effect, Either, Option, Schema } from "effect"
import { Catalog } from "../../catalog/Catalog.ts"
import type { MerchantLists } from "../../catalog/MerchantLists.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { Drafts } from "../../drafts/Drafts.ts"
import type { Drops } from "../../drops/Drops.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import { includesRole } from "../../model/Role.ts"
import { Publishing } from "../../publishing/Publishing.ts"
import type { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { seeOther } from "../Html.ts"
import { wordsIn } from "../languages/Words.tsx"
import { decoded, idOf, makePageHandlers, type PageServices, queryOf } from "../PageHandlers.ts"
import { pageOf, paths } from "../Paths.ts"
import type { Pictures } from "../pictures/Pictures.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { lockedMessage, makeEditCell, sentencesOf } from "./CellEdits.ts"
import { cellFields } from "./CellForm.tsx"
import { resultOf } from "./EntityNotes.tsx"
import { againField, cancelField } from "./EntityStores.tsx"
import { firstEntries, makeShowEntity, maxEntries } from "./EntityView.tsx"
import { galleryFields, picturePath, savedPicturePath } from "./GalleryChange.ts"
import { makeEditGallery, pickerIn } from "./GalleryEdits.ts"
import {
  cellPath,
  editPath,
  entityIdIn,
  type GridView,
  noteOfCell,
  storeIdIn,
  viewOf,
  viewPath
} from "./GridAddress.ts"
import { afterMove, readMove, targetOf } from "./Moves.tsx"
import { makeUndoEdit } from "./UndoEdits.ts"
import { nextCell } from "./ValueGrid.tsx"
import { nextVariantCell, variantPageAt, variantPageOf } from "./VariantTable.tsx"

const routes = {
  show: ["GET", paths.entity, refuseOnPage, "view"],
  edit: ["POST", paths.editEntity, refuseOnPage, "edit"],
  undo: ["POST", paths.undoEdit, refuseOnPage, "edit"],
  gallery: ["POST", paths.editGallery, refuseOnPage, "edit"],
  moveVariant: ["POST", paths.moveVariant, refuseOnPage, "edit"],
  publish: ["POST", paths.publishEntity, refuseOnPage, "publish"]
} as const

const readId = Schema.decodeOption(EntityId)

const PublishForm = Schema.Struct({ draft_revision: Schema.NumberFromString.pipe(Schema.int()) })

type ShowEntity = Effect.Effect.Success<typeof makeShowEntity>["showEntity"]

const makeMoveVariant = (drafts: Drafts["Type"], showEntity: ShowEntity) => (visitor: Visitor, form: Parameters) =>
  Effect.gen(function* () {
    const view = viewOf(yield* idOf(EntityId, form), form)
    const move = yield* readMove(form)
    const written = yield* Effect.either(drafts.moveVariant(view.id, move.id, targetOf(move)))
    if (Either.isRight(written)) {
      const { control, note } = afterMove(move, written.right)
      const shown = { ...view, variants: variantPageAt(written.right.place) }
      return seeOther(`${viewPath(shown, note === undefined ? {} : { note })}#${control}`)
    }
    const error = written.left
    if (error._tag === "NotFound") return yield* error
    const message = error._tag === "PimLocked" ? lockedMessage : sentencesOf("the position", error)
    return yield* showEntity(visitor, view.id, {
      view,
      status: error._tag === "PimLocked" ? 423 : 400,
      resultOn: () => ({ _tag: "Refused", message })
    })
  })

/** The page of one entity, with a form that publishes it. */
export const entities: Surface<
  Catalog | Drafts | Drops | MerchantLists | Pictures | Publishing | Stores | PageServices
> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const drafts = yield* Drafts
    const publishing = yield* Publishing
    const { showEntity, showRefusal } = yield* makeShowEntity
    const editCell = yield* makeEditCell
    const undoEdit = yield* makeUndoEdit
    const editGallery = yield* makeEditGallery
    const { asWatcher, withForm, withKeptForm } = yield* makePageHandlers

    /** The variants of the page that a view shows. */
    const variantsOn = (view: GridView) =>
      Effect.flatMap(catalog.get("product", view.id), ({ variantIds }) =>
        drafts.sheets("variant", variantPageOf(view, variantIds).shown)
      )

    return {
      show: asWatcher((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const id = yield* idOf(EntityId, query)
          const limit = query.get("history") === "all" ? maxEntries : firstEntries
          const key = query.get("edit")
          const mayEdit = includesRole(visitor.role, "edit")
          const picture = readId(query.get(galleryFields.picture) ?? "")
          return yield* showEntity(visitor, id, {
            limit,
            view: viewOf(id, query),
            editing:
              key === undefined || !mayEdit
                ? undefined
                : { of: entityIdIn(query, cellFields.of), key, storeId: storeIdIn(query, cellFields.store) ?? null },
            galleryEditing: { open: Option.getOrUndefined(picture), picker: pickerIn(query) },
            field: query.get("field"),
            resultOn: (on) => resultOf(query, on)
          })
        })
      ),
      edit: withKeptForm((visitor, form) =>
        Effect.gen(function* () {
          const outcome = yield* editCell(form)
          const { place, view } = outcome.edit
          if (outcome._tag === "Refused") {
            const { editing, status } = outcome
            return yield* showEntity(visitor, view.id, { view, editing, status })
          }
          const { _tag, edit, revision, sheet } = outcome
          const next =
            edit.action !== "next"
              ? undefined
              : place.of === undefined
                ? nextCell(sheet, view, place)
                : nextVariantCell(yield* variantsOn(view), place)
          const note = _tag === "Same" ? {} : noteOfCell(_tag.toLowerCase(), revision, place)
          return seeOther(next === undefined ? cellPath(view, place, note) : editPath(view, next, note))
        })
      ),
      undo: withForm((visitor, form) =>
        Effect.gen(function* () {
          const outcome = yield* undoEdit(wordsIn(visitor.pageLanguage), form)
          const { place, revision, view } = outcome.undo
          if (outcome._tag === "Undone")
            return seeOther(cellPath(view, place, noteOfCell("undone", outcome.revision, place)))
          const refused = { place, revision, refusal: outcome.message }
          return yield* showEntity(visitor, view.id, {
            view,
            status: outcome.status,
            resultOn: () => ({ _tag: "NotUndone", saved: refused })
          })
        })
      ),
      gallery: withForm((visitor, form) =>
        Effect.gen(function* () {
          const outcome = yield* editGallery(form)
          const { by, change, picker, view } = outcome.edit
          if (outcome._tag === "Refused") {
            const { editing, status } = outcome
            return yield* showEntity(visitor, view.id, { view, galleryEditing: editing, status })
          }
          return seeOther(
            outcome._tag === "Same"
              ? picturePath(view, change.mediaId, by)
              : savedPicturePath(view, outcome.undo, outcome.by, {
                  ...(picker !== undefined && { [galleryFields.picks]: "yes" }),
                  ...(picker !== undefined && picker.find !== "" && { [galleryFields.find]: picker.find })
                })
          )
        })
      ),
      moveVariant: withForm(makeMoveVariant(drafts, showEntity)),
      publish: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(EntityId, form)
          const storeId = yield* idOf(StoreId, form, "store_id")
          if (form.get(cancelField) === "yes") {
            const ended = yield* Effect.either(publishing.cancel(id, storeId))
            if (Either.isRight(ended)) {
              const note = ended.right.isOfDrop ? "drop-publish-cancelled" : "publish-cancelled"
              return seeOther(`${pageOf(paths.entity, id)}&${new URLSearchParams({ note, store_id: storeId })}`)
            }
            return ended.left._tag === "ValidationFailed"
              ? yield* showRefusal(visitor, id, storeId, ended.left, true)
              : yield* ended.left
          }
          const { draft_revision } = yield* decoded(PublishForm, ["draft_revision"], form)
          const asked = yield* Effect.either(
            publishing.request(id, storeId, draft_revision, form.get(againField) === "yes")
          )
          if (Either.isLeft(asked)) {
            const refusal = asked.left
            return refusal._tag === "RevisionConflict" || refusal._tag === "ValidationFailed"
              ? yield* showRefusal(visitor, id, storeId, refusal)
              : yield* refusal
          }
          const note = asked.right.outcome === "nothing_to_publish" ? "nothing" : "requested"
          return seeOther(`${pageOf(paths.entity, id)}&${new URLSearchParams({ note, store_id: storeId })}`)
        })
      )
    }
  })
)
