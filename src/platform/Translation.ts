import { Schema } from "effect"
import { builtInFields, type EntityKind } from "../model/Attribute.ts"
import { isMetafieldKey } from "../model/Definition.ts"
import { StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** The kinds of entities that are translated. */
export const TranslatedKind = Schema.Literal("product", "collection")
export type TranslatedKind = typeof TranslatedKind.Type

/** Our attribute keys, by the name that platforms use for the field. Only names that differ are listed. */
const attributeKeys: ReadonlyMap<string, string> = new Map([
  ["body_html", "description_html"],
  ["meta_title", "seo_title"],
  ["meta_description", "seo_description"]
])

/** Our attribute key for a field name of a platform; null: the field is not an attribute of the kind. */
export const attributeKeyOf = (kind: EntityKind, key: string): string | null => {
  const ours = attributeKeys.get(key) ?? key
  return Object.hasOwn(builtInFields[kind], ours) || isMetafieldKey(ours) ? ours : null
}

/** Field names of platforms that differ from our attribute keys. */
export const platformNames: ReadonlyArray<string> = [...attributeKeys.keys()]

/** The field names that platforms use for our attribute key. Empty: the name is the same. */
export const platformNamesOf = (key: string): ReadonlyArray<string> =>
  [...attributeKeys].flatMap(([name, ours]) => (ours === key ? [name] : []))

/** A value in another language. `outdated`: the source text has changed since it was translated. */
export const Translation = Schema.Struct({
  key: Schema.String,
  value: Schema.String,
  outdated: Schema.Boolean,
  source_digest: Schema.NullOr(Schema.String).annotations({
    description: "Digest of the translated source; null if the platform does not store it."
  }),
  updated_at: Schema.NullOr(Timestamp)
})
export type Translation = typeof Translation.Type

const field = {
  key: Schema.String.annotations({
    description: "The platform's name of the field, for example `title` or `body_html`."
  }),
  type: Schema.String,
  source_locale: Schema.String,
  source_value: Schema.String,
  digest: Schema.NullOr(Schema.String).annotations({
    description: "Digest of the source text; it changes when the text changes. null: the text is empty."
  })
}

const PlatformTranslatableField = Schema.Struct(field)

/** A translatable field of an entity, with its value in the main language. Stores with the same value share one record. */
export const TranslatableField = Schema.Struct({
  ...field,
  store_ids: Schema.Array(StoreId).annotations({ description: "The stores with this source, by domain." })
})
export type TranslatableField = typeof TranslatableField.Type

/** The translations into one locale, by store. */
export const Translations = Schema.Struct({
  locale: Schema.String,
  stores: Schema.Array(Schema.Struct({ store_id: StoreId, translations: Schema.Array(Translation) }))
})
export type Translations = typeof Translations.Type

/** The translations of an entity on its stores. */
export interface EntityTranslations {
  /** Sorted by locale, then by the stores' domains, then by key. */
  readonly data: ReadonlyArray<Translations>
  /** Sorted by key, then by the first of the stores that share the source. */
  readonly translatable_fields: ReadonlyArray<TranslatableField>
}

const AttributeKey = Schema.NullOr(Schema.String).annotations({
  description: "The key of the field among the attributes of entities; null: the field is not an attribute."
})

/** A translation in API answers. */
const KeyedTranslation = Schema.Struct({
  ...Translation.fields,
  attribute_key: AttributeKey
}).annotations({ identifier: "Translation" })

/** A translatable field in API answers. */
export const KeyedTranslatableField = Schema.Struct({
  ...TranslatableField.fields,
  attribute_key: AttributeKey
}).annotations({ identifier: "TranslatableField" })

/** Translations in API answers. */
export const KeyedTranslations = Schema.Struct({
  locale: Schema.String,
  stores: Schema.Array(Schema.Struct({ store_id: StoreId, translations: Schema.Array(KeyedTranslation) }))
}).annotations({ identifier: "Translations" })

/** `EntityTranslations` with attribute keys. */
interface KeyedEntityTranslations {
  readonly data: ReadonlyArray<typeof KeyedTranslations.Type>
  readonly translatable_fields: ReadonlyArray<typeof KeyedTranslatableField.Type>
}

export const withAttributeKeys = (
  kind: TranslatedKind,
  { data, translatable_fields }: EntityTranslations
): KeyedEntityTranslations => {
  const withKey = <Field extends { readonly key: string }>(field: Field) => ({
    ...field,
    attribute_key: attributeKeyOf(kind, field.key)
  })
  return {
    data: data.map(({ locale, stores }) => ({
      locale,
      stores: stores.map(({ store_id, translations }) => ({ store_id, translations: translations.map(withKey) }))
    })),
    translatable_fields: translatable_fields.map(withKey)
  }
}

/** The translations of one product or collection on one store into one locale. */
export const PlatformTranslations = Schema.Struct({
  kind: TranslatedKind,
  platform_id: Schema.String,
  locale: Schema.String,
  fields: Schema.Array(PlatformTranslatableField),
  translations: Schema.Array(Translation)
})
export type PlatformTranslations = typeof PlatformTranslations.Type

/** Whether the source has changed since it was translated. Without both digests, the platform's own flag decides. */
export const isOutdated = ({ outdated, source_digest }: Translation, digest: string | null): boolean =>
  source_digest !== null && digest !== null ? source_digest !== digest : outdated
