import type { ComponentChildren } from "preact"
import type { GalleryEntry } from "../../catalog/Aggregate.ts"
import type { MerchantPage } from "../../catalog/MerchantLists.ts"
import type { ListedEntity, Place } from "../../catalog/MerchantListsRepo.ts"
import type { Sheet } from "../../drafts/Drafts.ts"
import type { HistoryActor } from "../../drafts/History.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { Alert, Hidden, HiddenFields } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import type { Saying, Words } from "../languages/Words.tsx"
import { actorName, titleOr } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { Thumbnail } from "../pictures/Thumbnail.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { spoken } from "../Wording.tsx"
import {
  digestOfGallery,
  type GalleryChange,
  galleryFields,
  type Joined,
  joinedText,
  pictureControlId,
  pictureId
} from "./GalleryChange.ts"
import { type GridView, parametersOfView, viewPath } from "./GridAddress.ts"

/** The part of the gallery that is open or was refused. */
export interface GalleryEditing {
  /** The id of the picture whose stores the form sets. */
  readonly open?: EntityId | undefined
  /** The media of the account can be picked. `find`: words that they must have. */
  readonly picker?: { readonly find: string; readonly from: Place | undefined } | undefined
  /** The change that was refused. */
  readonly change?: GalleryChange
  /** `Newer`: somebody else has changed the gallery; `author`: who, if it is known. */
  readonly refusal?:
    | { readonly _tag: "Refused"; readonly message: Saying }
    | { readonly _tag: "Newer"; readonly author: HistoryActor | undefined }
}

/** The last saved change, with the form that undoes it. */
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
  /** The pictures of the gallery, and those that the last change, saved or refused, was about. */
  readonly pictures: ReadonlyArray<ListedEntity>
  /** The page of the picker. */
  readonly found: MerchantPage | undefined
  readonly address: PictureAddress
  readonly editing: GalleryEditing | undefined
  readonly saved: SavedPicture | undefined
}

/** The page with the stores of one picture open. */
const storesPath = (view: GridView, mediaId: EntityId) =>
  `${viewPath(view, { [galleryFields.picture]: mediaId })}#${pictureControlId(mediaId, "stores")}`

const moveForm = "gallery-move"

/** The name of a picture: its alternative text, or the name of its file. */
export const pictureName = (t: Words, picture: ListedEntity | undefined): string =>
  picture?.picture?.alt || titleOr(t, "media", picture?.title ?? "")

export const StateFields = ({ csrf, draftRevision, sheet, view }: GalleryProps) => {
  const hidden = {
    ...parametersOfView(view),
    [galleryFields.revision]: String(draftRevision),
    [galleryFields.seen]: digestOfGallery(sheet.gallery)
  }
  return (
    <>
      <HiddenFields csrf={csrf} />
      <Hidden of={Object.entries(hidden)} />
    </>
  )
}

const JoinedField = ({ of: { joined } }: { readonly of: { readonly joined?: Joined | undefined } }) =>
  joined === undefined ? null : <input type="hidden" name={galleryFields.joined} value={joinedText(joined)} />

/** A change as hidden fields. `by`: the control that gets the focus. */
const ChangeFields = ({ by, change }: { readonly change: GalleryChange; readonly by: string }) => {
  const { mediaId } = change
  switch (change._tag) {
    case "Move":
      return <input type="hidden" name={galleryFields.move} value={`${mediaId} ${change.place} ${by}`} />
    case "Remove":
      return (
        <>
          <input type="hidden" name={galleryFields.remove} value={mediaId} />
          <JoinedField of={change} />
        </>
      )
    case "Put":
      return change.place === undefined ? (
        <input type="hidden" name={galleryFields.add} value={mediaId} />
      ) : (
        <input
          type="hidden"
          name={galleryFields.put}
          value={`${mediaId} ${change.place} ${change.storeIds?.join() || "-"}`}
        />
      )
    case "Show":
      return (
        <>
          <input type="hidden" name={galleryFields.picture} value={mediaId} />
          <JoinedField of={change} />
          {change.storeIds.map((id) => (
            <input key={id} type="hidden" name={`${galleryFields.on}${id}`} value="yes" />
          ))}
        </>
      )
  }
}

/** The stores that have the entity. */
const storesOf = ({ linked, sheet }: GalleryProps) =>
  sheet.stores.map(({ projection: { store_domain, store_id } }) => ({
    id: store_id,
    name: linked.find(({ id }) => id === store_id)?.name ?? store_domain
  }))

/** The stores that show a picture, in words. */
const shownOn = (t: Words, props: GalleryProps, { storeIds }: GalleryEntry) => {
  const stores = storesOf(props)
  const names = stores.filter(({ id }) => storeIds.includes(id)).map(({ name }) => name)
  return names.length === 0
    ? t("On no store")
    : names.length === stores.length
      ? stores.length === 1
        ? t.rich("On {stores}", { stores: <bdi>{names[0]}</bdi> })
        : t("On all stores")
      : t.rich("Only on {stores}", {
          stores: names.map((name, index) => (
            <span key={name}>
              {index > 0 && t(", ")}
              <bdi>{name}</bdi>
            </span>
          ))
        })
}

interface CardProps extends GalleryProps {
  readonly entry: GalleryEntry
  readonly place: number
  readonly name: string
}

const Moves = ({ entry: { mediaId }, name, place, sheet }: CardProps) => {
  const t = useWords()

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
      aria-label={t(by === "up" ? "Move {picture} up" : "Move {picture} down", { picture: name })}
      title={by === "up" ? t("Move up") : t("Move down")}
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
        aria-label={t("Drag {picture}, picture {place, number} of {all, number}", {
          picture: name,
          place: place + 1,
          all: last + 1
        })}
        aria-describedby="gallery-keys"
        title={t("Drag to another place")}
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
  const t = useWords()

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
        <legend>{t.rich("Stores that show it<spoken>: {picture}</spoken>", { picture: name, spoken })}</legend>
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
        <button type="submit">{t("Save draft")}</button>
        <a class="button bare cancel" href={`${viewPath(view)}#${pictureControlId(mediaId, "stores")}`}>
          {t("Cancel")}
        </a>
      </div>
    </form>
  )
}

/** The form that undoes the last change. The undo is a write of its own. */
const UndoForm = ({ saved, ...props }: GalleryProps & { readonly saved: SavedPicture }) => {
  const t = useWords()
  return (
    <Allowed to="edit">
      <form method="post" action={paths.editGallery} class="undo">
        <StateFields {...props} saved={saved} />
        <ChangeFields change={saved.undo} by="undo" />
        <button type="submit" class="plain" id={pictureControlId(saved.mediaId, "undo")}>
          <Icon name="undo-2" />
          {t("Undo")}
        </button>
      </form>
    </Allowed>
  )
}

const Card = (props: CardProps) => {
  const t = useWords()

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
              {shownOn(t, props, entry)}{" "}
              <Allowed to="edit">
                <a id={pictureControlId(mediaId, "stores")} href={storesPath(view, mediaId)}>
                  {t.rich("Change<spoken> the stores of {picture}</spoken>", { picture: name, spoken })}
                </a>
              </Allowed>
            </p>
          )}
          {saved?.mediaId === mediaId && (
            <div class="marks">
              <span class="state good">{t("Saved")}</span>
              <UndoForm {...props} saved={saved} />
            </div>
          )}
          <Allowed to="edit">
            {sheet.gallery.length > 1 && <Moves {...props} />}
            <button
              type="submit"
              form={moveForm}
              class="bare"
              id={pictureControlId(mediaId, "remove")}
              name={galleryFields.remove}
              value={mediaId}
            >
              {t.rich("Take out<spoken> {picture}</spoken>", { picture: name, spoken })}
            </button>
          </Allowed>
        </>
      )}
      {place === 0 && <span class="chip first">{t("Main picture")}</span>}
    </li>
  )
}

/** Why the last change was refused. A change that is still possible can be made again, based on the gallery that is shown now. */
const RefusalIn = (props: GalleryProps) => {
  const t = useWords()

  const { editing, pictures, sheet } = props
  const { change, refusal } = editing ?? {}
  if (refusal === undefined || change === undefined) return null
  const name = pictureName(
    t,
    pictures.find(({ id }) => id === change.mediaId)
  )
  const isThere = sheet.gallery.some(({ mediaId }) => mediaId === change.mediaId)
  /** The button that makes the change now, if it is still possible. */
  const again =
    change._tag === "Put"
      ? isThere || refusal._tag === "Refused"
        ? undefined
        : t("Add it now")
      : !isThere || change._tag === "Show"
        ? undefined
        : change._tag === "Remove"
          ? t("Take it out now")
          : change.place < sheet.gallery.length
            ? t("Move it to place {place, number} now", { place: change.place + 1 })
            : undefined
  return (
    <Alert>
      {refusal._tag === "Refused" ? (
        <p>{t.say(refusal.message)}</p>
      ) : (
        <>
          <p>
            {t(
              "{author} changed the gallery after you opened it. Nothing was overwritten. Below is the gallery as it is now.",
              { author: refusal.author === undefined ? t("Somebody else") : actorName(t, refusal.author) }
            )}
          </p>
          <p>
            {change._tag === "Put"
              ? isThere
                ? t("{picture} is in it already.", { picture: name })
                : t("You wanted to add {picture}.", { picture: name })
              : !isThere
                ? t("The picture that you changed is not in it any more.")
                : change._tag === "Show"
                  ? t("Your choice of stores is still below. Saving it replaces the earlier choice.")
                  : change._tag === "Remove"
                    ? t("You wanted to take {picture} out.", { picture: name })
                    : t("You wanted {picture} as picture {place, number}.", { picture: name, place: change.place + 1 })}
          </p>
        </>
      )}
      {again !== undefined && (
        <form method="post" action={paths.editGallery}>
          <StateFields {...props} />
          <ChangeFields change={change} by="undo" />
          <button type="submit" autofocus>
            {again}
          </button>
        </form>
      )}
    </Alert>
  )
}

/** The browser fills these placeholders. */
const placeholders = { picture: "{picture}", place: "{place}", all: "{all}" }

/** The pictures of an entity in their order, with forms that move them and choose their stores. `children`: the picker. */
export const Gallery = ({ children, ...props }: GalleryProps & { readonly children: ComponentChildren }) => {
  const t = useWords()

  const { editing, pictures, saved, sheet } = props
  const { gallery, kind } = sheet
  const isInCard = gallery.some(({ mediaId }) => mediaId === editing?.open)
  const mayHavePictures = kind === "product" || kind === "variant"
  if (gallery.length === 0 && !mayHavePictures && editing === undefined && saved === undefined) return null
  return (
    <section aria-labelledby="gallery">
      <h2 id="gallery">{t("Gallery")}</h2>
      {!isInCard && <RefusalIn {...props} />}
      {saved !== undefined && !gallery.some(({ mediaId }) => mediaId === saved.mediaId) && (
        <div class="marks">
          <span class="state good">{t("Saved")}</span>
          <UndoForm {...props} saved={saved} />
        </div>
      )}
      {gallery.length === 0 ? (
        <p class="quiet">{t("There are no pictures.")}</p>
      ) : (
        <>
          <Allowed to="edit">
            <form method="post" action={paths.editGallery} id={moveForm}>
              <StateFields {...props} />
            </form>
            <p class="spoken" id="gallery-keys">
              {t(
                "Press Space to pick the picture up, arrow keys to move it, Space again to save its place, Escape to put it back."
              )}
            </p>
          </Allowed>
          <ol
            class="gallery"
            data-gallery={moveForm}
            data-lifted={t("{picture} is picked up, at place {place} of {all}.", placeholders)}
            data-moved={t("Place {place} of {all}.", placeholders)}
            data-back={t("{picture} is back at place {place}.", placeholders)}
            aria-labelledby="gallery"
          >
            {gallery.map((entry, place) => (
              <Card
                key={entry.mediaId}
                {...props}
                entry={entry}
                place={place}
                name={pictureName(
                  t,
                  pictures.find(({ id }) => id === entry.mediaId)
                )}
              />
            ))}
          </ol>
        </>
      )}
      <Allowed to="edit">{children}</Allowed>
    </section>
  )
}
