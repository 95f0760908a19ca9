import { type Context, Effect, Either, Option, Schema } from "effect"
import { builtInFields, EntityKind } from "../model/Attribute.ts"
import { CurrentBounds } from "../model/ConnectionBounds.ts"
import { isMetafieldKey } from "../model/Definition.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { platformNames, platformNamesOf } from "../platform/Translation.ts"
import { dimensionOf, type HealthSection } from "./Health.ts"
import type { HealthRepo } from "./HealthRepo.ts"

/** The languages with an issue, from the JSON text of a translations snapshot. */
const decodeLocales = (snapshot: string) =>
  Option.map(
    Schema.decodeOption(
      Schema.parseJson(
        Schema.Struct({
          result: Schema.Struct({ by_locale: Schema.Array(Schema.Struct({ locale: Schema.String })) })
        })
      )
    )(snapshot),
    ({ result }) => result.by_locale.map(({ locale }) => locale)
  )

const unknownLocale = (locales: ReadonlyArray<string>) =>
  locales.length === 0
    ? "is not a language of a store: the account has no linked store"
    : `must be one of ${locales.join(", ")}: the languages of the account's stores`

const relationships = ["variant_ids", "media_ids", "members"]

/** The built-in attributes of all kinds, each once. */
const builtInKeys = [...new Set(EntityKind.literals.flatMap((kind) => Object.keys(builtInFields[kind])))]

/**
 * The names of a field in the rows of a section; undefined: the request does not filter by field. ValidationFailed:
 * rows of this section never have the field.
 */
export const fieldsOf = (
  section: HealthSection,
  field: string | undefined
): Either.Either<ReadonlyArray<string> | undefined, ValidationFailed> => {
  if (field === undefined) return Either.right(undefined)
  if (section === "media-unused") return Either.left(ValidationFailed.at("field", `rows of ${section} have no fields`))
  const isTranslated = dimensionOf(section) === "translations"
  const names = isTranslated ? platformNamesOf(field) : []
  const allowedFields = [...builtInKeys, ...relationships, ...(isTranslated ? platformNames : [])]
  return allowedFields.includes(field) || isMetafieldKey(field)
    ? Either.right([field, ...names])
    : Either.left(
        ValidationFailed.at("field", `must be a metafield's namespace.key or one of ${allowedFields.join(", ")}`)
      )
}

/**
 * ValidationFailed: neither a linked store nor an issue of the last scan has this language. Sections without languages
 * ignore it.
 */
export const checkLocale = (
  repo: Context.Tag.Service<HealthRepo>,
  accountId: AccountId,
  linked: ReadonlyArray<Store>,
  { locale, section }: { readonly locale?: string | undefined; readonly section: HealthSection }
): Effect.Effect<void, ValidationFailed> =>
  Effect.gen(function* () {
    if (locale === undefined || dimensionOf(section) !== "translations") return
    if (linked.some(({ locales }) => locales.includes(locale))) return
    const { stores } = yield* CurrentBounds
    const snapshot = (yield* repo.snapshots(accountId, null)).get("translations")
    // The last scan has the languages of all stores, so a caller that is limited to some stores does not use them.
    const scanned = snapshot === undefined || stores !== null ? [] : Option.getOrElse(decodeLocales(snapshot), () => [])
    const locales = [...new Set([...linked.flatMap(({ locales }) => locales), ...scanned])].sort()
    if (!locales.includes(locale)) return yield* ValidationFailed.at("locale", unknownLocale(locales))
  })
