import type { GalleryEntry } from "../../catalog/Aggregate.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { Sheet } from "../../drafts/Drafts.ts"
import type { HistoryActor } from "../../drafts/History.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { Alert, HiddenFields } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import { actorName, titleOr } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { Thumbnail } from "../pictures/Thumbnail.tsx"
import { Allowed } from "../Viewer.tsx"
import { digestOf } from "./Cells.ts"
import { type GridView, parametersOfView, viewPath } from "./GridAddress.ts"

/** The names of the fields of a gallery's forms. */
export const galleryFields = {
  revision: "draft_revision",
  seen: "seen",
  /** The id of a picture, its new place from 0, and the control that gets the focus afterwards. */
  move: "move",
  /** The picture whose stores are chosen. */
  picture: "picture",
  /** Before the id of a store that shows the picture. */
  on: "on-"
} as const

/** A change of one entry. `Move`: to a place of the gallery, from 0. `Show`: on these stores, and on no other that has the entity. */
export type GalleryChange =
  | { readonly _tag: "Move"; readonly mediaId: EntityId; readonly place: number }
  | { readonly _tag: "Show"; readonly mediaId: EntityId; readonly storeIds: ReadonlyArray<StoreId> }

/** The part of the gallery that is open or was refused. */
export interface GalleryEditing {
  /** The picture whose stores are chosen. */
  readonly open?: EntityId | undefined
  /** The change that was refused. */
  readonly change?: GalleryChange
  /** `Newer`: somebody else has changed the gallery; `author`: who, if it is known. */
  readonly refusal?:
    | { readonly _tag: "Refused"; readonly message: string }
    | { readonly _tag: "Newer"; readonly author: HistoryActor | undefined }
}

/** The last saved change, with the form that takes it back. */
export interface SavedPicture {
  readonly mediaId: EntityId
  readonly undo: GalleryChange
}

export interface GalleryProps {
  readonly csrf: string
  readonly draftRevision: number
  readonly sheet: Sheet
  /** The stores of the account. */
  readonly linked: ReadonlyArray<Store>
  readonly view: GridView
  readonly pictures: ReadonlyArray<ListedEntity>
  readonly address: PictureAddress
  readonly editing: GalleryEditing | undefined
  readonly saved: SavedPicture | undefined
}

/** Identifies the gallery that a form was opened with. */
export const digestOfGallery = (gallery: ReadonlyArray<GalleryEntry>): string => digestOf(JSON.stringify(gallery))

export const pictureId = (mediaId: EntityId): string => `picture-${mediaId}`
/** The control of a picture. `by`: "up", "down", "handle" or "stores". */
export const pictureControlId = (mediaId: EntityId, by: string): string => `${pictureId(mediaId)}-${by}`

/** The page with the stores of one picture open. */
const storesPath = (view: GridView, mediaId: EntityId) =>
  `${viewPath(view, { [galleryFields.picture]: mediaId })}#${pictureControlId(mediaId, "stores")}`

/** The page at a control of a picture. Without one: at the picture. */
export const picturePath = (
  view: GridView,
  mediaId: EntityId,
  by: string,
  more: Readonly<Record<string, string>> = {}
): string => `${viewPath(view, more)}#${by === "" ? pictureId(mediaId) : pictureControlId(mediaId, by)}`

/** The page that follows a saved change, with the offer to take it back. */
export const savedPicturePath = (view: GridView, undo: GalleryChange, by: string): string => {
  const before =
    undo._tag === "Move"
      ? `moved ${undo.mediaId} ${undo.place}`
      : `shown ${undo.mediaId} ${undo.storeIds.join() || "-"}`
  return picturePath(view, undo.mediaId, by, { note: before })
}

const moveForm = "gallery-move"

/** The name of a picture: its alternative text, or the name of its file. */
export const pictureName = (picture: ListedEntity | undefined): string =>
  picture?.picture?.alt || titleOr("media", picture?.title ?? "")

const StateFields = ({ csrf, draftRevision, sheet, view }: GalleryProps) => {
  const hidden = {
    ...parametersOfView(view),
    [galleryFields.revision]: String(draftRevision),
    [galleryFields.seen]: digestOfGallery(sheet.gallery)
  }
  return (
    <>
      <HiddenFields csrf={csrf} />
      {Object.entries(hidden).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
    </>
  )
}

/** A change as hidden fields. `by`: the control that gets the focus. */
const ChangeFields = ({ by, change }: { readonly change: GalleryChange; readonly by: string }) =>
  change._tag === "Move" ? (
    <input type="hidden" name={galleryFields.move} value={`${change.mediaId} ${change.place} ${by}`} />
  ) : (
    <>
      <input type="hidden" name={galleryFields.picture} value={change.mediaId} />
      {change.storeIds.map((id) => (
        <input key={id} type="hidden" name={`${galleryFields.on}${id}`} value="yes" />
      ))}
    </>
  )

/** The stores that have the entity. */
const storesOf = ({ linked, sheet }: GalleryProps) =>
  sheet.stores.map(({ projection: { store_domain, store_id } }) => ({
    id: store_id,
    name: linked.find(({ id }) => id === store_id)?.name ?? store_domain
  }))

/** The stores that show a picture, in words. */
const shownOn = (props: GalleryProps, { storeIds }: GalleryEntry) => {
  const stores = storesOf(props)
  const names = stores.filter(({ id }) => storeIds.includes(id)).map(({ name }) => name)
  return names.length === 0 ? (
    "On no store"
  ) : names.length === stores.length ? (
    stores.length === 1 ? (
      <>
        On <bdi>{names[0]}</bdi>
      </>
    ) : (
      "On all stores"
    )
  ) : (
    <>
      Only on{" "}
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 && ", "}
          <bdi>{name}</bdi>
        </span>
      ))}
    </>
  )
}

interface CardProps extends GalleryProps {
  readonly entry: GalleryEntry
  readonly place: number
  readonly name: string
}

const Moves = ({ entry: { mediaId }, name, place, sheet }: CardProps) => {
  const last = sheet.gallery.length - 1
  const Button = ({ by, to }: { readonly by: "up" | "down"; readonly to: number }) => (
    <button
      type="submit"
      form={moveForm}
      class="plain icon-only"
      id={pictureControlId(mediaId, by)}
      name={galleryFields.move}
      value={`${mediaId} ${to} ${by}`}
      disabled={to < 0 || to > last}
      aria-label={`Move ${name} ${by}`}
      title={`Move ${by}`}
    >
      <Icon name={by === "up" ? "arrow-left" : "arrow-right"} />
    </button>
  )
  return (
    <div class="moves">
      <button
        type="button"
        class="bare icon-only handle"
        id={pictureControlId(mediaId, "handle")}
        data-handle
        aria-label={`Drag ${name}, picture ${place + 1} of ${last + 1}`}
        aria-describedby="gallery-keys"
        title="Drag to another place"
      >
        <Icon name="grip-vertical" />
      </button>
      <Button by="up" to={place - 1} />
      <Button by="down" to={place + 1} />
    </div>
  )
}

/** Chooses the stores that show one picture. */
const ShowForm = (props: CardProps) => {
  const { editing, entry, name, view } = props
  const { mediaId } = entry
  const change = editing?.change
  const ticked = change?._tag === "Show" && change.mediaId === mediaId ? change.storeIds : entry.storeIds
  return (
    <form method="post" action={paths.editGallery} class="cell">
      <StateFields {...props} />
      <input type="hidden" name={galleryFields.picture} value={mediaId} />
      <RefusalIn {...props} />
      <fieldset>
        <legend>
          Stores that show it<span class="spoken">: {name}</span>
        </legend>
        {storesOf(props).map((store, index) => (
          <label key={store.id} class="pick">
            <input
              type="checkbox"
              name={`${galleryFields.on}${store.id}`}
              value="yes"
              checked={ticked.includes(store.id)}
              {...(index === 0 && { id: pictureControlId(mediaId, "stores"), autofocus: true })}
            />{" "}
            <bdi>{store.name}</bdi>
          </label>
        ))}
      </fieldset>
      <div class="buttons">
        <button type="submit">Save draft</button>
        <a class="button bare cancel" href={`${viewPath(view)}#${pictureControlId(mediaId, "stores")}`}>
          Cancel
        </a>
      </div>
    </form>
  )
}

/** Takes the last change back, as another write. */
const UndoForm = ({ saved, ...props }: CardProps & { readonly saved: SavedPicture }) => (
  <Allowed to="edit">
    <form method="post" action={paths.editGallery} class="undo">
      <StateFields {...props} saved={saved} />
      <ChangeFields change={saved.undo} by="undo" />
      <button type="submit" class="plain" id={pictureControlId(saved.mediaId, "undo")}>
        <Icon name="undo-2" />
        Undo
      </button>
    </form>
  </Allowed>
)

const Card = (props: CardProps) => {
  const { address, editing, entry, name, pictures, place, saved, sheet, view } = props
  const { mediaId } = entry
  const picture = pictures.find(({ id }) => id === mediaId)?.picture ?? null
  const isOpen = editing?.open === mediaId
  return (
    <li id={pictureId(mediaId)} data-picture={mediaId} data-name={name} class={isOpen ? "open" : undefined}>
      <div class="frame">
        <a href={pageOf(paths.entity, mediaId)} draggable={false}>
          <Thumbnail picture={picture} width={400} address={address} />
          <bdi>{name}</bdi>
        </a>
      </div>
      {isOpen ? (
        <ShowForm {...props} />
      ) : (
        <>
          {sheet.stores.length > 0 && (
            <p class={entry.storeIds.length === 0 ? undefined : "quiet"}>
              {shownOn(props, entry)}{" "}
              <Allowed to="edit">
                <a id={pictureControlId(mediaId, "stores")} href={storesPath(view, mediaId)}>
                  Change<span class="spoken"> the stores of {name}</span>
                </a>
              </Allowed>
            </p>
          )}
          {saved?.mediaId === mediaId && (
            <div class="marks">
              <span class="state good">Saved</span>
              <UndoForm {...props} saved={saved} />
            </div>
          )}
          {sheet.gallery.length > 1 && (
            <Allowed to="edit">
              <Moves {...props} />
            </Allowed>
          )}
        </>
      )}
      {place === 0 && <span class="chip first">Main picture</span>}
    </li>
  )
}

/** Why the last change was refused. A change that is still possible can be made again, based on the gallery that is shown now. */
const RefusalIn = (props: GalleryProps) => {
  const { editing, pictures, sheet } = props
  const { change, refusal } = editing ?? {}
  if (refusal === undefined || change === undefined) return null
  const name = pictureName(pictures.find(({ id }) => id === change.mediaId))
  const isThere = sheet.gallery.some(({ mediaId }) => mediaId === change.mediaId)
  return (
    <Alert>
      {refusal._tag === "Refused" ? (
        <p>{refusal.message}</p>
      ) : (
        <>
          <p>
            {refusal.author === undefined ? "Somebody else" : actorName(refusal.author)} changed the gallery after you
            opened it. Nothing was overwritten. Below is the gallery as it is now.
          </p>
          <p>
            {!isThere
              ? "The picture that you changed is not in it any more."
              : change._tag === "Show"
                ? "Your choice of stores is still below. Saving it replaces the choice of before."
                : `You wanted ${name} as picture ${change.place + 1}.`}
          </p>
        </>
      )}
      {isThere && change._tag === "Move" && change.place < sheet.gallery.length && (
        <form method="post" action={paths.editGallery}>
          <StateFields {...props} />
          <ChangeFields change={change} by="undo" />
          <button type="submit" autofocus>
            {`Move it to place ${change.place + 1} now`}
          </button>
        </form>
      )}
    </Alert>
  )
}

/** The pictures of an entity in their order, with forms that move them and choose their stores. */
export const Gallery = (props: GalleryProps) => {
  const { editing, pictures, sheet } = props
  const { gallery, kind } = sheet
  const isInCard = gallery.some(({ mediaId }) => mediaId === editing?.open)
  if (gallery.length === 0 && kind !== "product" && editing === undefined) return null
  return (
    <section aria-labelledby="gallery">
      <h2 id="gallery">Gallery</h2>
      {!isInCard && <RefusalIn {...props} />}
      {gallery.length === 0 ? (
        <p class="quiet">There are no pictures.</p>
      ) : (
        <>
          <Allowed to="edit">
            <form method="post" action={paths.editGallery} id={moveForm}>
              <StateFields {...props} />
            </form>
            <p class="spoken" id="gallery-keys">
              Press Space to pick the picture up, arrow keys to move it, Space again to save its place, Escape to put it
              back.
            </p>
          </Allowed>
          <ol class="gallery" data-gallery={moveForm} aria-labelledby="gallery">
            {gallery.map((entry, place) => (
              <Card
                key={entry.mediaId}
                {...props}
                entry={entry}
                place={place}
                name={pictureName(pictures.find(({ id }) => id === entry.mediaId))}
              />
            ))}
          </ol>
        </>
      )}
    </section>
  )
}
