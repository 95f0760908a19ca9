import { Schema } from "effect"
import { StoreId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

/** The kinds of entities that are translated. */
export const TranslatedKind = Schema.Literal("product", "collection")
export type TranslatedKind = typeof TranslatedKind.Type

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

const field = {
  key: Schema.String.annotations({
    description: "The platform's name of the field, for example `title` or `body_html`."
  }),
  type: Schema.String,
  source_locale: Schema.String,
  source_value: Schema.String,
  digest: Schema.NullOr(Schema.String).annotations({
    description: "Changes with the source; null: the source is empty."
  })
}

const PlatformTranslatableField = Schema.Struct(field)

/** A field of an entity that can be translated, and what it says in the main language of these stores. */
export const TranslatableField = Schema.Struct({
  ...field,
  store_ids: Schema.Array(StoreId).annotations({ description: "The stores whose source this is, by domain." })
}).annotations({ identifier: "TranslatableField" })
export type TranslatableField = typeof TranslatableField.Type

/** By locale, then by store. */
export const Translations = Schema.Struct({
  locale: Schema.String,
  stores: Schema.Array(Schema.Struct({ store_id: StoreId, translations: Schema.Array(Translation) }))
}).annotations({ identifier: "Translations" })
export type Translations = typeof Translations.Type

/** What the stores of an entity say about it in other languages than their main one. */
export interface EntityTranslations {
  /** By locale, then by the stores' domains, then by key. */
  readonly data: ReadonlyArray<Translations>
  /** By key, then by the first of the stores that share the source. */
  readonly translatable_fields: ReadonlyArray<TranslatableField>
}

/** What one store says about one product or collection in one other language. */
export const PlatformTranslations = Schema.Struct({
  kind: TranslatedKind,
  platform_id: Schema.String,
  locale: Schema.String,
  fields: Schema.Array(PlatformTranslatableField),
  translations: Schema.Array(Translation)
})
export type PlatformTranslations = typeof PlatformTranslations.Type

/** Whether the source is not the one that a translation was made from; where one of the digests is not known, as its platform says. */
export const isOutdated = ({ outdated, source_digest }: Translation, digest: string | null): boolean =>
  source_digest !== null && digest !== null ? source_digest !== digest : outdated
