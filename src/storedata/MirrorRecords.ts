import { Schema } from "effect"
import {
  PlatformMetafieldDefinition,
  PlatformMetaobjectDefinition,
  PlatformMetaobjectEntry
} from "../model/Definition.ts"
import type { RecordId } from "../model/Ids.ts"
import { PlatformMarket } from "../platform/Market.ts"
import { PlatformTranslations, Translation } from "../platform/Translation.ts"

/** A translation, with the digest of the current source. */
const MirroredTranslation = Schema.Struct({ ...Translation.fields, digest: Schema.NullOr(Schema.String) })

/** A record that a store has outside its catalog, with the content that the platform gives. */
export const MirrorItem = Schema.Union(
  Schema.Struct({ kind: Schema.Literal("market"), content: PlatformMarket }),
  Schema.Struct({ kind: Schema.Literal("metafield_definition"), content: PlatformMetafieldDefinition }),
  Schema.Struct({ kind: Schema.Literal("metaobject_definition"), content: PlatformMetaobjectDefinition }),
  Schema.Struct({
    kind: Schema.Literal("metaobject_entry"),
    content: Schema.Struct({ type: Schema.String, ...PlatformMetaobjectEntry.fields })
  }),
  // The translatable fields of one entity.
  Schema.Struct({
    kind: Schema.Literal("translatable_fields"),
    content: Schema.Struct({ platform_id: Schema.String, fields: PlatformTranslations.fields.fields })
  }),
  // The translations of one entity into one language.
  Schema.Struct({
    kind: Schema.Literal("translations"),
    content: Schema.Struct({
      platform_id: Schema.String,
      locale: Schema.String,
      translations: Schema.Array(MirroredTranslation)
    })
  })
)
export type MirrorItem = typeof MirrorItem.Type

/** A record that an import has read and staged. */
export interface StagedMirrorItem {
  /** The id of the record, if it does not exist yet. */
  readonly id: RecordId
  /** Unique among the records of the same kind and store. */
  readonly name: string
  readonly item: MirrorItem
}

/** Counts of the records outside the catalog (markets, definitions, entries, translations) that an import read from a store. */
export const MirrorSummary = Schema.Struct({
  markets: Schema.Int,
  metafield_definitions: Schema.Int,
  metaobject_definitions: Schema.Int,
  metaobject_entries: Schema.Int,
  /** Translated products and collections. An entity counts once for each language. */
  translations: Schema.Int,
  /** Types of metaobjects with more than 10,000 entries. The further entries are not stored. */
  cut_metaobjects: Schema.Array(Schema.String)
})
export type MirrorSummary = typeof MirrorSummary.Type

/** Maximum number of entries that are stored per metaobject definition of a store. */
export const maxEntries = 10_000

/** Maximum length of a name or key, in characters. It is Shopify's limit; PostgreSQL can index at most 2,704 bytes. */
const maxCharacters = 255

/** The parts of a record's name, which is unique among the records of the same kind and store. */
const namesOf = ({ content, kind }: MirrorItem): ReadonlyArray<string> => {
  switch (kind) {
    case "market":
      return [content.handle]
    case "metafield_definition":
      return [content.owner_type, content.namespace, content.key]
    case "metaobject_definition":
      return [content.type]
    case "metaobject_entry":
      return [content.platform_id]
    case "translatable_fields":
      return [content.platform_id]
    case "translations":
      return [content.platform_id, content.locale]
  }
}

/** Other values of a record that are part of a key in the database. */
const keysOf = ({ content, kind }: MirrorItem): ReadonlyArray<string> => {
  switch (kind) {
    case "market":
      return content.catalogs.map(({ id }) => id)
    case "metaobject_entry":
      return [content.type]
    case "translatable_fields":
      return content.fields.map(({ key }) => key)
    case "translations":
      return content.translations.map(({ key }) => key)
    default:
      return []
  }
}

/** The record's name, which is unique among the records of the same kind and store. */
export const nameOf = (item: MirrorItem): string => namesOf(item).join(" ")

const isStorable = (value: unknown): boolean =>
  typeof value === "string"
    ? value.isWellFormed() && !value.includes("\u0000")
    : typeof value !== "object" || value === null || Object.values(value).every(isStorable)

/** Whether the database can store a record unchanged: all text is valid, and names and keys are neither empty nor too long. */
export const isKeepable = (item: MirrorItem): boolean =>
  isStorable(item.content) &&
  [...namesOf(item), ...keysOf(item)].every((name) => name !== "" && name.length <= maxCharacters)

/** Sorts items by key and removes duplicate keys. The last item of a key wins. */
const once = <A>(items: ReadonlyArray<A>, keyOf: (item: A) => string): ReadonlyArray<A> =>
  [...new Map(items.map((item) => [keyOf(item), item]))]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([, item]) => item)

/** Sorts the parts of a record that have keys, and removes duplicate keys. */
export const normal = (item: MirrorItem): MirrorItem => {
  switch (item.kind) {
    case "market":
      return { ...item, content: { ...item.content, catalogs: once(item.content.catalogs, ({ id }) => id) } }
    case "translatable_fields":
      return { ...item, content: { ...item.content, fields: once(item.content.fields, ({ key }) => key) } }
    case "translations":
      return { ...item, content: { ...item.content, translations: once(item.content.translations, ({ key }) => key) } }
    default:
      return item
  }
}

/** Converts the translations of one entity into one language to items: the translatable fields, and the translations if any. */
export const translationItems = ({
  fields,
  locale,
  platform_id,
  translations
}: PlatformTranslations): ReadonlyArray<MirrorItem> => {
  const digests = new Map(fields.map(({ digest, key }) => [key, digest]))
  return [
    { kind: "translatable_fields", content: { platform_id, fields } },
    ...(translations.length === 0
      ? []
      : [
          {
            kind: "translations",
            content: {
              platform_id,
              locale,
              translations: translations.map((each) => ({ ...each, digest: digests.get(each.key) ?? null }))
            }
          } as const
        ])
  ]
}
