import { formNames } from "../creations/NewEntityForm.ts"
import { FieldMisfit, fieldState, type Misfit } from "../Field.tsx"
import { Hidden } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import { placeText } from "../lists/ListOrder.ts"
import { PageLinks } from "../PageLinks.tsx"
import { paths } from "../Paths.ts"
import { Thumbnail } from "../pictures/Thumbnail.tsx"
import { useWords } from "../Viewer.tsx"
import { spoken } from "../Wording.tsx"
import { type GalleryProps, pictureName, StateFields } from "./Gallery.tsx"
import { galleryFields } from "./GalleryChange.ts"
import { parametersOfView, viewPath } from "./GridAddress.ts"

/** Maximum length of the words that are looked for, in characters. */
export const maxFind = 200

/** Pictures on a page of the picker. */
export const maxPicks = 24

/** A link that opens the picker; or the media of the account with a search, each with a button that adds it to the gallery. */
export const PicturePicker = (props: GalleryProps) => {
  const t = useWords()
  const { address, editing, found, sheet, view } = props
  const picker = editing?.picker
  if (picker === undefined)
    return (
      <p>
        <a class="button plain" href={`${viewPath(view, { [galleryFields.picks]: "yes" })}#picker`}>
          <Icon name="plus" />
          {t("Add pictures")}
        </a>
      </p>
    )
  const misfit: Misfit | undefined =
    picker.find.length <= maxFind
      ? undefined
      : {
          field: galleryFields.find,
          message: {
            sentence: "A search or filter has at most {count, number} characters.",
            values: { count: maxFind }
          }
        }
  const isInGallery = (id: string) => sheet.gallery.some(({ mediaId }) => mediaId === id)
  const opened = { [galleryFields.picks]: "yes", ...(picker.find !== "" && { [galleryFields.find]: picker.find }) }
  const to = (parameters: Readonly<Record<string, string>>) => `${viewPath(view, parameters)}#picker`
  const rows = found?.rows ?? []
  return (
    <section id="picker" aria-labelledby="picker-name" class="sheet">
      <h3 id="picker-name">{t("Add pictures")}</h3>
      <form method="get" action={`${paths.entity}#picker`} class="line">
        <Hidden of={Object.entries({ ...parametersOfView(view), [galleryFields.picks]: "yes" })} />
        <input
          type="search"
          name={galleryFields.find}
          value={picker.find}
          aria-label={t("Search media")}
          maxLength={maxFind}
          autofocus
          {...fieldState(misfit, galleryFields.find)}
        />
        <button type="submit" class="plain">
          {t("Search")}
        </button>
        <a class="button plain" href={`${paths.newMedia}?${new URLSearchParams({ [formNames.owner]: view.id })}`}>
          {t("From an address")}
        </a>
        <a class="button bare" href={`${viewPath(view)}#gallery`}>
          {t("Cancel")}
        </a>
        <FieldMisfit field={galleryFields.find} misfit={misfit} />
      </form>
      {misfit === undefined && rows.length === 0 && (
        <p class="quiet" role="status">
          {t(picker.from === undefined ? "There are no pictures." : "There is nothing on this page.")}
        </p>
      )}
      <form method="post" action={paths.editGallery}>
        <StateFields {...props} />
        <Hidden of={Object.entries(opened)} />
        <ul class="pictures">
          {rows.map((row) => {
            const name = pictureName(t, row)
            return (
              <li key={row.id}>
                <Thumbnail picture={row.picture} width={400} address={address} />
                <bdi>{name}</bdi>
                {isInGallery(row.id) ? (
                  <span class="quiet">{t("In the gallery")}</span>
                ) : (
                  <button type="submit" class="plain" name={galleryFields.add} value={row.id}>
                    {t.rich("Add<spoken> {picture}</spoken>", { picture: name, spoken })}
                  </button>
                )}
              </li>
            )
          })}
        </ul>
      </form>
      <PageLinks
        first={picker.from === undefined ? undefined : to(opened)}
        next={found?.next === undefined ? undefined : to({ ...opened, [galleryFields.from]: placeText(found.next) })}
      />
    </section>
  )
}
