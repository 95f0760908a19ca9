import { Effect } from "effect"
import { titleOf, valueOf } from "../../model/Attribute.ts"
import { PlatformRefused } from "../PlatformErrors.ts"
import type { PublishedEntity } from "../Publication.ts"
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
