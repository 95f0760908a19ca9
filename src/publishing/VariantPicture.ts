import type { AcceptedValues, Aggregate } from "../catalog/Aggregate.ts"
import { CatalogChange } from "../drafts/CatalogChange.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { VariantPicture } from "../platform/Publication.ts"

/** A publish of a variant was accepted without its picture. */
export const pictureLeftOut: PublishError = {
  code: "PICTURE_LEFT_OUT",
  message:
    "The picture of a variant was left out, because the store does not show it for the product. Add it to the product, publish the product, then publish the variant again."
}

/**
 * The changes of the live variants whose accepted picture is not in the gallery that the store has accepted of their product: the store has
 * taken it off them. `published`: entities whose own values were accepted too.
 */
export const loseGonePictures = (
  aggregates: Iterable<Aggregate>,
  productId: EntityId,
  storeId: StoreId,
  gallery: ReadonlyArray<EntityId>,
  published: ReadonlyArray<EntityId>
): ReadonlyArray<CatalogChange> =>
  [...aggregates].flatMap(({ id, parentId, versions }) => {
    const accepted = versions.find((version) => version.storeId === storeId)?.accepted?.media ?? []
    return parentId === productId && !published.includes(id) && accepted.some((picture) => !gallery.includes(picture))
      ? [CatalogChange.LosePicture({ entityId: id, storeId })]
      : []
  })

/** What a publish does with the picture of a variant. */
interface SentPicture {
  /** Absent: the store keeps the picture that it has. */
  readonly sent: { readonly picture?: VariantPicture | null }
  /** The part of the accepted values that follows. */
  readonly accepted: Pick<AcceptedValues, "media">
  readonly isLeftOut: boolean
}

/**
 * Decides on the picture of a variant. A store shows a picture of a variant only if the gallery of its product has it.
 *
 * `wanted`: the picture of the draft, as a list of one; undefined: it is not published. `before`: the picture
 * that the store accepted last. `gallery`: the media of the product on the store, with their platform ids.
 */
export const sendPicture = (
  wanted: AcceptedValues["media"],
  before: AcceptedValues["media"],
  gallery: ReadonlyMap<EntityId, string | null>
): SentPicture => {
  const [entityId] = wanted ?? []
  if (wanted !== undefined && entityId === undefined)
    return { sent: { picture: null }, accepted: { media: [] }, isLeftOut: false }
  const platformId = entityId === undefined ? undefined : gallery.get(entityId)
  return entityId === undefined || platformId === undefined
    ? { sent: {}, accepted: before === undefined ? {} : { media: before }, isLeftOut: entityId !== undefined }
    : { sent: { picture: { entityId, platformId } }, accepted: { media: [entityId] }, isLeftOut: false }
}
