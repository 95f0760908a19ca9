import { Effect } from "effect"
import { titleOf, valueOf } from "../../model/Attribute.ts"
import { noOption } from "../../model/ProductOptions.ts"
import { PlatformRefused } from "../PlatformErrors.ts"
import type { PublishedEntity, VariantPublication } from "../Publication.ts"
import { unreadRecord } from "../UnreadRecord.ts"
import type * as Answers from "./Answers.ts"
import type { FoundFile } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"

// Values for which Shopify refuses a whole publish, without saying which, are refused before anything of it is sent. Shopify names a blank
// title, and takes all values but a blank metafield.

/** Shopify refuses longer addresses of files, and with a picture the whole product. */
const maxAddress = 2_048

const refuse = (code: string, message: string, field: string) => new PlatformRefused({ code, message, field })

const isBlank = (text: string) => text.trim() === ""

/** The name of a variant in messages. */
const nameOf = ({ attributes }: PublishedEntity) => valueOf(attributes, "sku") || titleOf("variant", attributes)

/** Fails with the first refusal, if there is one. */
export const failIfMisfit = (
  refusals: ReadonlyArray<PlatformRefused | undefined>
): Effect.Effect<void, PlatformRefused> => refusals.find((refusal) => refusal !== undefined) ?? Effect.void

/** The refusal of a variant without a value for one of these options of its product. */
export const missingOptionValue = (
  variant: PublishedEntity,
  names: ReadonlyArray<string>
): PlatformRefused | undefined => {
  const missing = Mapping.optionValuesOf(variant, names).find(({ name }) => isBlank(name))
  return missing === undefined
    ? undefined
    : refuse(
        "OPTION_VALUE_MISSING",
        `The variant ${nameOf(variant)} has no value for the option ${missing.optionName}.`,
        "optionValues"
      )
}

/** The refusal of a new file whose address Shopify does not take. */
export const longAddress = (media: PublishedEntity): PlatformRefused | undefined =>
  valueOf(media.attributes, "url").length <= maxAddress
    ? undefined
    : refuse(
        "ADDRESS_TOO_LONG",
        `The address of the file ${titleOf("media", media.attributes).slice(0, 100)} has more than ${maxAddress} characters, which stores do not take.`,
        "url"
      )

/** Shopify's variant of a product that was published without variants. */
const defaultOptions = [{ optionName: noOption.name, name: noOption.value }]

/** The refusal of a variant that its product has by SKU or option values only. Such a variant has values that the catalog has not read. */
export const unreadVariant = (
  { attributes, isAccepted, platformId }: VariantPublication,
  live: Answers.LiveVariant | null
): PlatformRefused | undefined =>
  live === null ||
  live.id === platformId ||
  isAccepted === true ||
  Mapping.entityIdOf(live.metafields.nodes) !== null ||
  Mapping.hasOptions(live, defaultOptions)
    ? undefined
    : unreadRecord({
        key: live.sku !== null && live.sku === valueOf(attributes, "sku") ? "SKU" : "options",
        name: live.selectedOptions.map(({ value }) => value).join(" / "),
        platformId: live.id
      })

/**
 * The refusal of a video of another site whose address the store has with another alt text. Such a video has no mark of ours. One with an
 * equal alt text is taken, because nothing of it changes: it may be from a publish whose answer was lost.
 */
export const unreadVideo = (
  { attributes, isAccepted, mayBeCreated, platformId }: PublishedEntity,
  live: FoundFile | null
): PlatformRefused | undefined =>
  live?.originUrl === undefined ||
  live.id === platformId ||
  isAccepted === true ||
  mayBeCreated === true ||
  (live.alt ?? "") === valueOf(attributes, "alt")
    ? undefined
    : unreadRecord({ key: "address", name: live.alt || live.originUrl, platformId: live.id })
