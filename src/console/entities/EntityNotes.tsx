import { Option, Schema } from "effect"
import type { EntityRecord } from "../../catalog/Entity.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import type { IdentifiedSheet, Sheet } from "../../drafts/Drafts.ts"
import { EntityId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { Alert, Note } from "../Frame.tsx"
import type { Saying, Sentence } from "../languages/Words.tsx"
import { titleOr } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { fieldName } from "./FieldNames.ts"
import { pictureName, type SavedPicture } from "./Gallery.tsx"
import { type GalleryChange, joinedIn, storesIn } from "./GalleryChange.ts"
import { columnsOf, type SavedCell } from "./GridCell.tsx"
import { type Moved, MovedNote, movedIn } from "./Moves.tsx"

const readId = Schema.decodeOption(EntityId)

/** The result of the last form. */
export type FormResult =
  | { readonly _tag: "Created"; readonly words: Sentence }
  | { readonly _tag: "Requested" | "Nothing" | "Cancelled" | "DropCancelled"; readonly domain: string }
  | { readonly _tag: "Chosen"; readonly count: number }
  | { readonly _tag: "Saved"; readonly does: Sentence; readonly saved: SavedCell }
  | { readonly _tag: "NotUndone"; readonly saved: SavedCell }
  | { readonly _tag: "Picture"; readonly saved: SavedPicture }
  | { readonly _tag: "Moved"; readonly moved: Moved }
  | { readonly _tag: "Refused"; readonly message: Saying }

/** Results of a publish request or its cancellation, by the value of the query parameter `note`. `store_id` names the store. */
const notes: Readonly<Record<string, "Requested" | "Nothing" | "Cancelled" | "DropCancelled">> = {
  requested: "Requested",
  nothing: "Nothing",
  "publish-cancelled": "Cancelled",
  "drop-publish-cancelled": "DropCancelled"
}

/** The notes after a cancelled publish, or after one of a drop. */
const cancelNotes = {
  Cancelled: "The publish to {store} is cancelled: nothing was sent. Its changes stay in the draft.",
  DropCancelled:
    "The publish to {store} is cancelled: nothing was sent. The drop that requested it takes its values out of the draft."
} as const satisfies Readonly<Record<string, Sentence>>

/** The notes after a creation, by the value of `note`. */
const creationNotes: Readonly<Record<string, Sentence>> = {
  created: "Created as a draft. Nothing reaches a store before you publish it.",
  "variant-created": "The variant is created as a draft. Nothing reaches a store before you publish it."
}

/** Results of a cell's form, by the first word of `note` (`noteOfCell`). */
const cellNotes: Readonly<Record<string, Sentence>> = {
  saved: "{cell}: saved as a draft.",
  cleared: "{cell}: has the catalog's value again.",
  copied: "{cell}: saved as a draft, and copied to the chosen stores.",
  undone: "{cell}: has its earlier value again, saved as a draft."
}

/** Sentences that say which change was made, by the change that undoes it. */
const pictureNotes: Readonly<Record<GalleryChange["_tag"], Sentence>> = {
  Move: "{picture} is picture {place, number} of {all, number} now: saved as a draft.",
  Show: "{picture}: its stores are saved as a draft.",
  Remove: "{picture} is in the gallery now: saved as a draft.",
  Put: "{picture} is not in the gallery any more: saved as a draft."
}

/** As `pictureNotes`, if the gallery of the variant's product changed too. */
const joinedNotes = {
  Show: "{picture}: its stores are saved as a draft. The gallery of the product shows it there too.",
  Remove: "{picture} is in the gallery now, and in that of the product: saved as a draft."
} as const satisfies Readonly<Record<string, Sentence>>

const wordsOfPicture = (undo: GalleryChange): Sentence =>
  "joined" in undo && undo.joined !== undefined ? joinedNotes[undo._tag] : pictureNotes[undo._tag]

/** Reads the change that undoes a change of a picture from the note of that change. */
const undoIn = (name: string): GalleryChange | undefined => {
  const [, does = "", id = "", before = "", on = ""] =
    /^(added|moved|removed|shown) (\S+) (\S+)(?: (\S+))?$/.exec(name) ?? []
  const mediaId = Option.getOrUndefined(readId(id))
  if (mediaId === undefined) return undefined
  if (does === "added") return { _tag: "Remove", mediaId, joined: joinedIn(before) }
  if (does === "shown") return { _tag: "Show", mediaId, storeIds: storesIn(before), joined: joinedIn(on) }
  if (does === "removed")
    return /^\d{1,5}$/.test(before)
      ? { _tag: "Put", mediaId, place: Number(before), storeIds: storesIn(on) }
      : undefined
  return /^\d{1,5}$/.test(before) ? { _tag: "Move", mediaId, place: Number(before) } : undefined
}

/** The result that the query of a page names. */
export const resultOf = (query: Parameters, stores: EntityRecord["stores"]): FormResult | undefined => {
  const name = query.get("note") ?? ""
  const [, does = "", revision = "", variant, at = "", key = ""] =
    /^(\w+) (\d{1,9}) (?:([^/\s]+)\/)?(\S+) (.+)$/s.exec(name) ?? []
  const words = Object.hasOwn(cellNotes, does) ? cellNotes[does] : undefined
  if (words !== undefined) {
    const storeId = stores.find(({ store_id }) => store_id === at)?.store_id ?? null
    return {
      _tag: "Saved",
      does: words,
      saved: { place: { of: Option.getOrUndefined(readId(variant ?? "")), key, storeId }, revision: Number(revision) }
    }
  }
  const undo = undoIn(name)
  if (undo !== undefined) return { _tag: "Picture", saved: { mediaId: undo.mediaId, undo } }
  const moved = movedIn(name)
  if (moved !== undefined) return { _tag: "Moved", moved }
  const [, count] = /^chosen (\d{1,3})$/.exec(name) ?? []
  if (count !== undefined) return { _tag: "Chosen", count: Number(count) }
  const created = Object.hasOwn(creationNotes, name) ? creationNotes[name] : undefined
  if (created !== undefined) return { _tag: "Created", words: created }
  const _tag = Object.hasOwn(notes, name) ? notes[name] : undefined
  const on = stores.find(({ store_id }) => store_id === query.get("store_id"))
  return _tag === undefined || on === undefined ? undefined : { _tag, domain: on.store_domain }
}

/** Shows the result of the last form. */
export const ResultNote = ({
  id,
  linked,
  pictures,
  result,
  sheet,
  variants
}: {
  readonly result: FormResult
  readonly id: EntityId
  readonly sheet: Sheet
  readonly linked: ReadonlyArray<Store>
  readonly pictures: ReadonlyArray<ListedEntity>
  readonly variants: ReadonlyArray<IdentifiedSheet>
}) => {
  const t = useWords()

  switch (result._tag) {
    case "Created":
      return (
        <Note>
          <p>{t(result.words)}</p>
        </Note>
      )
    case "Chosen":
      return (
        <Note>
          <p>
            {t(
              "The publish to {count, plural, one {# store} other {# stores}} was requested. The state of each store is shown below.",
              { count: result.count }
            )}{" "}
            <a href={pageOf(paths.entity, id)}>{t("Reload")}</a>
          </p>
        </Note>
      )
    case "Saved": {
      const { key, storeId } = result.saved.place
      const where = columnsOf(t, sheet, linked).find((column) => column.storeId === storeId)?.name ?? ""
      return (
        <Note>
          <p>
            {t.rich(result.does, {
              cell: (
                <>
                  {fieldName(t, key)}, <bdi>{where}</bdi>
                </>
              )
            })}
          </p>
        </Note>
      )
    }
    case "NotUndone":
      // The cell says why.
      return null
    case "Picture": {
      const { mediaId, undo } = result.saved
      const place = sheet.gallery.findIndex((entry) => entry.mediaId === mediaId)
      return (
        <Note>
          <p>
            {t.rich(wordsOfPicture(undo), {
              picture: (
                <bdi>
                  {pictureName(
                    t,
                    pictures.find((picture) => picture.id === mediaId)
                  )}
                </bdi>
              ),
              place: place + 1,
              all: sheet.gallery.length
            })}
          </p>
        </Note>
      )
    }
    case "Moved": {
      const variant = variants.find((each) => each.id === result.moved.id)
      return variant === undefined ? null : (
        <MovedNote moved={result.moved} name={titleOr(t, "variant", variant.title)} />
      )
    }
    case "Requested":
      return (
        <Note>
          <p>
            {t("The publish to {store} was requested. Its state is shown below.", {
              store: result.domain
            })}{" "}
            <a href={pageOf(paths.entity, id)}>{t("Reload")}</a>
          </p>
        </Note>
      )
    case "Cancelled":
    case "DropCancelled":
      return (
        <Note>
          <p>{t(cancelNotes[result._tag], { store: result.domain })}</p>
        </Note>
      )
    case "Nothing":
      return (
        <Note>
          <p>{t("There was nothing to publish: {store} has this draft already.", { store: result.domain })}</p>
        </Note>
      )
    case "Refused":
      return (
        <Alert>
          <p>{t.say(result.message)}</p>
        </Alert>
      )
  }
}
