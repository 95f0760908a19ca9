import { Effect, Either, Option, Schema } from "effect"
import type { GalleryEntry } from "../../catalog/Aggregate.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { Drafts } from "../../drafts/Drafts.ts"
import { NotFound } from "../../model/Errors.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import { PageRefused } from "../Browser.ts"
import { placeIn } from "../lists/ListOrder.ts"
import { decoded, idOf } from "../PageHandlers.ts"
import { lockedMessage, maxAttempts, RevisionForm, sentencesOf } from "./CellEdits.ts"
import type { GalleryEditing } from "./Gallery.tsx"
import { digestOfGallery, type GalleryChange, galleryFields, joinedIn } from "./GalleryChange.ts"
import { type GridView, viewOf } from "./GridAddress.ts"

/** A form of a gallery as it was sent. */
interface GalleryEdit {
  readonly view: GridView
  readonly change: GalleryChange
  readonly draftRevision: number
  /** The digest of the gallery that the form was opened with. */
  readonly seen: string
  /** The control that gets the focus. */
  readonly by: string
  /** The picker that the form is in. */
  readonly picker: GalleryEditing["picker"]
}

/** `Saved`: the change that undoes it, and the control that gets the focus. */
type GalleryOutcome =
  | { readonly _tag: "Saved"; readonly edit: GalleryEdit; readonly undo: GalleryChange; readonly by: string }
  | { readonly _tag: "Same"; readonly edit: GalleryEdit }
  | {
      readonly _tag: "Refused"
      readonly edit: GalleryEdit
      readonly editing: GalleryEditing
      readonly status: 400 | 409 | 423
    }

const readMediaId = Schema.decodeOption(EntityId)
const readStoreId = Schema.decode(StoreId)

const put = /^(\S+) (\d{1,5}) (\S+)$/
const moved = /^(\S+) (\d{1,5})(?: (up|down|handle|undo))?$/

const notUnderstood = new PageRefused({
  status: 400,
  title: "Not understood",
  message: "The form names no place for a picture. Open the page again and repeat it there."
})

const readChange = (form: Parameters): Effect.Effect<GalleryChange, NotFound | PageRefused> =>
  Effect.gen(function* () {
    const move = form.get(galleryFields.move)
    const joined = { joined: joinedIn(form.get(galleryFields.joined) ?? "") }
    for (const [name, _tag] of [
      [galleryFields.add, "Put"],
      [galleryFields.remove, "Remove"]
    ] as const)
      if (form.get(name) !== undefined) return { _tag, mediaId: yield* idOf(EntityId, form, name), ...joined }
    const again = form.get(galleryFields.put)
    if (again !== undefined) {
      const [, id = "", place = "", stores = ""] = put.exec(again) ?? []
      const mediaId = readMediaId(id)
      if (Option.isNone(mediaId)) return yield* notUnderstood
      const storeIds = yield* Effect.forEach(stores === "-" ? [] : stores.split(","), (storeId) =>
        Effect.mapError(readStoreId(storeId), () => new NotFound())
      )
      return { _tag: "Put", mediaId: mediaId.value, place: Number(place), storeIds }
    }
    if (move === undefined) {
      const mediaId = yield* idOf(EntityId, form, galleryFields.picture)
      const storeIds = yield* Effect.forEach(
        form.names.filter((name) => name.startsWith(galleryFields.on)),
        (name) => Effect.mapError(readStoreId(name.slice(galleryFields.on.length)), () => new NotFound())
      )
      return { _tag: "Show", mediaId, storeIds, ...joined }
    }
    const [, id = "", place = ""] = moved.exec(move) ?? []
    const mediaId = readMediaId(id)
    if (place === "" || Option.isNone(mediaId)) return yield* notUnderstood
    return { _tag: "Move", mediaId: mediaId.value, place: Number(place) }
  })

/** The open picker of a form or an address. */
export const pickerIn = (given: Parameters): GalleryEditing["picker"] =>
  given.get(galleryFields.picks) === "yes"
    ? {
        find: given.get(galleryFields.find)?.trim() ?? "",
        from: placeIn(given.get(galleryFields.from) ?? "", "newest")
      }
    : undefined

const readEdit = (form: Parameters) =>
  Effect.gen(function* () {
    const id = yield* idOf(EntityId, form)
    const { draft_revision } = yield* decoded(RevisionForm, [galleryFields.revision], form)
    const [, , , by = ""] = moved.exec(form.get(galleryFields.move) ?? "") ?? []
    return {
      view: viewOf(id, form),
      change: yield* readChange(form),
      draftRevision: draft_revision,
      seen: form.get(galleryFields.seen) ?? "",
      by,
      picker: pickerIn(form)
    } satisfies GalleryEdit
  })

const placeOf = (gallery: ReadonlyArray<GalleryEntry>, mediaId: EntityId) =>
  gallery.findIndex((entry) => entry.mediaId === mediaId)

/**
 * The gallery after a change, and the change that undoes it. Undefined: the gallery has no such picture or place. `storeIds`: the
 * stores that have the entity.
 */
const changed = (
  gallery: ReadonlyArray<GalleryEntry>,
  change: GalleryChange,
  storeIds: ReadonlyArray<StoreId>
): { readonly entries: ReadonlyArray<GalleryEntry>; readonly undo: GalleryChange } | undefined => {
  const { mediaId } = change
  const from = placeOf(gallery, mediaId)
  const entry = gallery[from]
  if (change._tag === "Put") {
    const added = { mediaId, storeIds: change.storeIds ?? storeIds }
    const entries = gallery.toSpliced(change.place ?? gallery.length, 0, added)
    return { entries: entry === undefined ? entries : gallery, undo: { _tag: "Remove", mediaId } }
  }
  if (entry === undefined) return undefined
  if (change._tag === "Remove")
    return {
      entries: gallery.toSpliced(from, 1),
      undo: { _tag: "Put", mediaId, place: from, storeIds: entry.storeIds }
    }
  if (change._tag === "Show")
    return {
      entries: gallery.map((each) => (each === entry ? { mediaId, storeIds: change.storeIds } : each)),
      undo: { _tag: "Show", mediaId, storeIds: entry.storeIds }
    }
  return change.place >= gallery.length
    ? undefined
    : {
        entries: gallery.toSpliced(from, 1).toSpliced(change.place, 0, entry),
        undo: { _tag: "Move", mediaId, place: from }
      }
}

/** The control that gets the focus. At an end of the gallery a picture can only be moved the other way. */
const focused = ({ by, change }: GalleryEdit, count: number): string =>
  change._tag !== "Move"
    ? ""
    : by === "up" && change.place === 0
      ? "down"
      : by === "down" && change.place === count - 1
        ? "up"
        : by

const sameStores = (left: ReadonlyArray<StoreId>, right: ReadonlyArray<StoreId>) =>
  left.length === right.length && left.every((id) => right.includes(id))

/** Whether a change leaves the gallery as it is: its reverse is the change itself, or it adds what is there. */
const isSame = (gallery: ReadonlyArray<GalleryEntry>, change: GalleryChange, undo: GalleryChange) =>
  change._tag === "Move"
    ? undo._tag === "Move" && undo.place === change.place
    : change._tag === "Show"
      ? undo._tag === "Show" && sameStores(undo.storeIds, change.storeIds)
      : change._tag === "Put" && placeOf(gallery, change.mediaId) >= 0

/** Saves a form of a gallery as a draft. */
export const makeEditGallery = Effect.map(Drafts, (drafts) => {
  const authorOf = (id: EntityId) =>
    Effect.map(drafts.history(id, 50), (entries) => entries.find(({ action }) => action === "gallery")?.actor)

  const refuse = (
    edit: GalleryEdit,
    status: 400 | 409 | 423,
    refusal: NonNullable<GalleryEditing["refusal"]>
  ): GalleryOutcome => ({
    _tag: "Refused",
    edit,
    status,
    editing: {
      change: edit.change,
      refusal,
      picker: edit.picker,
      open: edit.change._tag === "Show" ? edit.change.mediaId : undefined
    }
  })

  /**
   * Writes only if the gallery is the one that the form was opened with. Other changes of the entity do not matter: after them
   * the write is repeated with the current revision.
   */
  const write = (edit: GalleryEdit, revision: number, attempt: number): ReturnType<typeof attemptOnce> =>
    Effect.catchTag(attemptOnce(edit, revision), "RevisionConflict", (conflict) =>
      attempt < maxAttempts
        ? write(edit, conflict.currentRevision, attempt + 1)
        : Effect.succeed(
            refuse(edit, 409, {
              _tag: "Refused",
              message: "Not saved: others are changing this at the moment. Try again."
            })
          )
    )

  const attemptOnce = (edit: GalleryEdit, revision: number) =>
    Effect.gen(function* () {
      const { change, seen, view } = edit
      const { gallery, stores } = yield* drafts.sheet(view.id)
      if (digestOfGallery(gallery) !== seen)
        return refuse(edit, 409, { _tag: "Newer", author: yield* authorOf(view.id) })
      const storeIds = stores.map(({ projection }) => projection.store_id)
      const next = changed(gallery, change, storeIds)
      if (next === undefined) return yield* new NotFound()
      if (isSame(gallery, change, next.undo)) return { _tag: "Same", edit } as GalleryOutcome
      const written = yield* Effect.either(
        drafts.updateGallery(
          view.id,
          revision,
          next.entries,
          change._tag === "Put" || change._tag === "Show" ? [change.mediaId] : [],
          "joined" in change && change.joined !== undefined ? [{ mediaId: change.mediaId, ...change.joined }] : []
        )
      )
      if (Either.isRight(written)) {
        const [joined] = written.right.joined
        const { undo } = next
        const both =
          joined === undefined || (undo._tag !== "Remove" && undo._tag !== "Show") ? undo : { ...undo, joined }
        return { _tag: "Saved", edit, undo: both, by: focused(edit, gallery.length) } as GalleryOutcome
      }
      const error = written.left
      switch (error._tag) {
        case "PimLocked":
          return refuse(edit, 423, { _tag: "Refused", message: lockedMessage })
        case "ValidationFailed":
          return refuse(edit, 400, {
            _tag: "Refused",
            message: sentencesOf("the gallery", error)
          })
        case "NotFound":
        case "RevisionConflict":
          return yield* error
      }
    })

  return (form: Parameters) => Effect.flatMap(readEdit(form), (edit) => write(edit, edit.draftRevision, 1))
})
