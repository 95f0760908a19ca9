import { Schema } from "effect"
import { StoreId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

/** A value in another language. `outdated`: the source's digest is not the one the translation was made from. */
export const Translation = Schema.Struct({
  key: Schema.String,
  value: Schema.String,
  outdated: Schema.Boolean,
  source_digest: Schema.NullOr(Schema.String).annotations({
    description: "Digest of the source that it was made from; null where the platform does not keep it."
  }),
  updated_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "Translation" })
export type Translation = typeof Translation.Type

/** A field of an entity that can be translated, and what it says in the store's main language. */
export const TranslatableField = Schema.Struct({
  key: Schema.String,
  type: Schema.String,
  source_locale: Schema.String,
  source_value: Schema.String,
  digest: Schema.NullOr(Schema.String)
}).annotations({ identifier: "TranslatableField" })
export type TranslatableField = typeof TranslatableField.Type

/** By locale, then by store. */
export const Translations = Schema.Struct({
  locale: Schema.String,
  stores: Schema.Array(Schema.Struct({ store_id: StoreId, translations: Schema.Array(Translation) }))
}).annotations({ identifier: "Translations" })
export type Translations = typeof Translations.Type

/** What one store says about one product or collection in one other language. */
export const PlatformTranslations = Schema.Struct({
  kind: Schema.Literal("product", "collection"),
  platform_id: Schema.String,
  locale: Schema.String,
  fields: Schema.Array(TranslatableField),
  translations: Schema.Array(Translation)
})
export type PlatformTranslations = typeof PlatformTranslations.Type
