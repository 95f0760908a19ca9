import { Option, Schema } from "effect"
import type { GalleryEntry } from "../../catalog/Aggregate.ts"
import type { JoinedEntry } from "../../drafts/VariantPictures.ts"
import { type EntityId, StoreId } from "../../model/Ids.ts"
import { digestOf } from "./Cells.ts"
import { type GridView, viewPath } from "./GridAddress.ts"

const readStoreId = Schema.decodeOption(StoreId)

/** The names of the fields of a gallery's forms. */
export const galleryFields = {
  revision: "draft_revision",
  seen: "seen",
  /** The id of a picture, its new place from 0, and the control that gets the focus afterwards. */
  move: "move",
  /** The id of the picture whose stores the form sets. */
  picture: "picture",
  /** The prefix of a checkbox for a store that shows the picture; the store's id follows. */
  on: "on-",
  /** The id of the picture to remove. */
  remove: "remove",
  /** The id of the picture to add at the end, on all stores. */
  add: "add",
  /** The id of a picture, its place and its stores. */
  put: "put",
  /** What came to the gallery of the product with the picture of a variant, and leaves it again: `joinedText`. */
  joined: "joined",
  /** `yes`: the page lists the account's media, to pick one. `find`: the search in this list. `from`: the first row that is shown. */
  picks: "pick",
  find: "find",
  from: "from"
} as const

/** The entry of a product's gallery that came with the picture of a variant. */
export type Joined = Omit<JoinedEntry, "mediaId">

/** As a word of an address and of a form. `-`: nothing came. */
export const joinedText = (joined: Joined | undefined): string =>
  joined === undefined ? "-" : `${joined.isNew ? "new" : "old"}:${joined.storeIds.join()}`

/** The reverse of `joinedText`. Other texts: nothing came. */
export const joinedIn = (text: string): Joined | undefined => {
  const [, age, stores = ""] = /^(new|old):(\S*)$/.exec(text) ?? []
  return age === undefined ? undefined : { isNew: age === "new", storeIds: storesIn(stores) }
}

/** Reads a comma-separated list of store ids. It leaves out texts that are not ids. */
export const storesIn = (text: string): ReadonlyArray<StoreId> =>
  text.split(",").flatMap((each) => Option.toArray(readStoreId(each)))

/**
 * A change of one entry. `Move`: to a place of the gallery, from 0. `Show`: on these stores, and on no other that has the entity.
 * `Put`: adds it, without a place at the end, and without stores on all. `joined`: what leaves the gallery of the product too.
 */
export type GalleryChange =
  | { readonly _tag: "Move"; readonly mediaId: EntityId; readonly place: number }
  | {
      readonly _tag: "Show"
      readonly mediaId: EntityId
      readonly storeIds: ReadonlyArray<StoreId>
      readonly joined?: Joined | undefined
    }
  | { readonly _tag: "Remove"; readonly mediaId: EntityId; readonly joined?: Joined | undefined }
  | {
      readonly _tag: "Put"
      readonly mediaId: EntityId
      readonly place?: number | undefined
      readonly storeIds?: ReadonlyArray<StoreId> | undefined
    }

/** Identifies the gallery that a form was opened with. */
export const digestOfGallery = (gallery: ReadonlyArray<GalleryEntry>): string => digestOf(JSON.stringify(gallery))

export const pictureId = (mediaId: EntityId): string => `picture-${mediaId}`
/** The control of a picture. `by`: "up", "down", "handle" or "stores". */
export const pictureControlId = (mediaId: EntityId, by: string): string => `${pictureId(mediaId)}-${by}`

/** The page at a control of a picture. Without one: at the picture. */
export const picturePath = (
  view: GridView,
  mediaId: EntityId,
  by: string,
  more: Readonly<Record<string, string>> = {}
): string => `${viewPath(view, more)}#${by === "" ? pictureId(mediaId) : pictureControlId(mediaId, by)}`

/** The address of the page after a saved change. The page offers to undo the change. */
export const savedPicturePath = (
  view: GridView,
  undo: GalleryChange,
  by: string,
  more: Readonly<Record<string, string>> = {}
): string => {
  const { mediaId } = undo
  switch (undo._tag) {
    case "Move":
      return picturePath(view, mediaId, by, { note: `moved ${mediaId} ${undo.place}` })
    case "Show":
      return picturePath(view, mediaId, by, {
        note: `shown ${mediaId} ${undo.storeIds.join() || "-"}${undo.joined === undefined ? "" : ` ${joinedText(undo.joined)}`}`
      })
    case "Remove":
      return `${viewPath(view, { ...more, note: `added ${mediaId} ${joinedText(undo.joined)}` })}#${more[galleryFields.picks] === undefined ? pictureId(mediaId) : "picker"}`
    case "Put":
      return `${viewPath(view, { note: `removed ${mediaId} ${undo.place ?? 0} ${undo.storeIds?.join() || "-"}` })}#gallery`
  }
}
