import { Schema } from "effect"
import {
  PlatformMetafieldDefinition,
  PlatformMetaobjectDefinition,
  PlatformMetaobjectEntry
} from "../model/Definition.ts"
import type { RecordId } from "../model/Ids.ts"
import { PlatformMarket } from "../platform/Market.ts"
import { PlatformTranslations, Translation } from "../platform/Translation.ts"

/** A translation, with the digest of its source as it is now. */
const MirroredTranslation = Schema.Struct({ ...Translation.fields, digest: Schema.NullOr(Schema.String) })
export type MirroredTranslation = typeof MirroredTranslation.Type

/** A record that a store has beside its catalog, as its platform gives it. */
export const MirrorItem = Schema.Union(
  Schema.Struct({ kind: Schema.Literal("market"), content: PlatformMarket }),
  Schema.Struct({ kind: Schema.Literal("metafield_definition"), content: PlatformMetafieldDefinition }),
  Schema.Struct({ kind: Schema.Literal("metaobject_definition"), content: PlatformMetaobjectDefinition }),
  Schema.Struct({
    kind: Schema.Literal("metaobject_entry"),
    content: Schema.Struct({ type: Schema.String, ...PlatformMetaobjectEntry.fields })
  }),
  // Of one entity.
  Schema.Struct({
    kind: Schema.Literal("translatable_fields"),
    content: Schema.Struct({ platform_id: Schema.String, fields: PlatformTranslations.fields.fields })
  }),
  // Of one entity in one language.
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

/** A record that an import has read. */
export interface StagedMirrorItem {
  /** Of the record that it becomes, if it is a new one. */
  readonly id: RecordId
  /** Tells it apart from others of its kind in its store. */
  readonly name: string
  readonly item: MirrorItem
}

/** How much an import found in a store beside its catalog. */
export const MirrorSummary = Schema.Struct({
  markets: Schema.Int,
  metafield_definitions: Schema.Int,
  metaobject_definitions: Schema.Int,
  metaobject_entries: Schema.Int,
  /** Products and collections, each counted once for every language it is translated into. */
  translations: Schema.Int,
  /** Types of the metaobjects that have more entries than are kept. */
  cut_metaobjects: Schema.Array(Schema.String)
})
export type MirrorSummary = typeof MirrorSummary.Type

/** Entries of a metaobject definition that are kept of a store. */
export const mostEntries = 10_000

/** Most characters of what records are told apart by: Shopify's limit, and an index of PostgreSQL takes no more than 2,704 bytes. */
const mostCharacters = 255

/** What tells a record apart from others of its kind in its store, in parts. */
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

/** What else is part of a key. */
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

/** The record's name among those of its kind in its store. */
export const nameOf = (item: MirrorItem): string => namesOf(item).join(" ")

const isStorable = (value: unknown): boolean =>
  typeof value === "string"
    ? value.isWellFormed() && !value.includes("\u0000")
    : typeof value !== "object" || value === null || Object.values(value).every(isStorable)

/** Whether a record can be kept as it is: its text is text, and what it is told apart by is no longer than names are. */
export const isKeepable = (item: MirrorItem): boolean =>
  isStorable(item.content) &&
  [...namesOf(item), ...keysOf(item)].every((name) => name !== "" && name.length <= mostCharacters)

/** In the order of their keys, each once: what is given twice is as it was given last. */
const once = <A>(items: ReadonlyArray<A>, keyOf: (item: A) => string): ReadonlyArray<A> =>
  [...new Map(items.map((item) => [keyOf(item), item]))]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([, item]) => item)

/** A record whose parts, where each has a key, are in one order and none is there twice. */
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

/** What an entity's translatable fields and its translations into one language become. */
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
