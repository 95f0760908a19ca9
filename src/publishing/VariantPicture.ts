import type { AcceptedValues } from "../catalog/Aggregate.ts"
import type { EntityId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { VariantPicture } from "../platform/Publication.ts"

/** A publish of a variant was accepted without its picture. */
export const pictureLeftOut: PublishError = {
  code: "PICTURE_LEFT_OUT",
  message:
    "The picture of a variant was left out, because the store does not show it for the product. Add it to the product, publish the product, then publish the variant again."
}

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
