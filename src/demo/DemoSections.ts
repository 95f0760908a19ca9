import { createHash } from "node:crypto"
import type { EntityKind } from "../model/Attribute.ts"
import {
  OwnerType,
  type PlatformMetafieldDefinition,
  type PlatformMetaobjectDefinition,
  type PlatformMetaobjectEntry
} from "../model/Definition.ts"
import type { EntityId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { Timestamp } from "../model/Timestamp.ts"
import type { PlatformMarket } from "../platform/Market.ts"
import type { PlatformTranslations, TranslatedKind } from "../platform/Translation.ts"
import {
  collections,
  collectionValues,
  type DemoStores,
  firstPublishOf,
  idsOf,
  metafieldTypes,
  products,
  productValues
} from "./DemoCatalog.ts"
import {
  type Metaobject,
  type StoreName,
  shops,
  type TranslatedText,
  translations,
  type Values
} from "./DemoContent.ts"
import { localValues } from "./DemoVariants.ts"

/** Returns the platform id of an entity in a demo shop. */
type PlatformIdOf = (kind: EntityKind, entityId: EntityId) => string

const timestampOf = (text: string) => Timestamp.make(`2026-${text}:00.000000Z`)

const marketsOf = (store: Store, name: StoreName): ReadonlyArray<PlatformMarket> =>
  Object.entries(shops.markets[name]).map(([handle, market]) => {
    const [default_locale = store.primary_locale, ...alternate_locales] = market.locales
    return {
      handle,
      type: "region",
      platform_id: `demo://market/${handle}`,
      name: market.name,
      status: market.status ?? "active",
      currency: market.currency === store.currency ? null : market.currency,
      regions: Object.entries(market.regions).map(([code, name]) => ({ code, name })),
      web_presences: [
        {
          platform_id: `demo://web-presence/${handle}`,
          domain: store.domain,
          subfolder_suffix: market.currency === store.currency ? null : handle,
          default_locale,
          alternate_locales
        }
      ],
      catalogs:
        market.priceChange === undefined
          ? []
          : [
              {
                id: `demo://catalog/${handle}`,
                title: `Prices: ${market.name}`,
                status: market.status ?? "active",
                currency: market.currency,
                price_adjustment: {
                  type: market.priceChange > 0 ? "percentage_increase" : "percentage_decrease",
                  value: Math.abs(market.priceChange)
                }
              }
            ]
    }
  })

const metafieldDefinitionsOf = (name: StoreName, ownerType: OwnerType): ReadonlyArray<PlatformMetafieldDefinition> =>
  Object.entries(shops.metafields[ownerType]).flatMap(([path, metafield]) => {
    const [namespace = "", key = ""] = path.split(".")
    const count =
      ownerType === "product"
        ? products.filter(({ family, stores }) => stores.includes(name) && path in family.metafields).length
        : 0
    return ownerType === "product" && count === 0
      ? []
      : [
          {
            owner_type: ownerType,
            namespace,
            key,
            name: metafield.name,
            description: metafield.description,
            type: metafield.type ?? metafieldTypes[path] ?? "single_line_text_field",
            validations: metafield.validations ?? [],
            platform_id: `demo://metafield-definition/${ownerType}/${path}`,
            metafields_count: count
          }
        ]
  })

const entriesOf = (
  name: StoreName,
  type: string,
  { entries, fields }: Metaobject
): ReadonlyArray<PlatformMetaobjectEntry> =>
  Object.entries(entries)
    .filter(([, { stores }]) => stores.includes(name))
    .map(
      ([handle, { status, updated, values }]): PlatformMetaobjectEntry => ({
        handle,
        display_name: values[0] ?? handle,
        status: status ?? "active",
        fields: fields.map(({ key, type }, index) => ({ key, type, value: values[index] ?? null })),
        updated_at: timestampOf(updated),
        platform_id: `demo://metaobject/${type}/${handle}`
      })
    )

const metaobjectDefinitionsOf = (name: StoreName): ReadonlyArray<PlatformMetaobjectDefinition> =>
  Object.entries(shops.metaobjects).flatMap(([type, metaobject]) => {
    const { length } = entriesOf(name, type, metaobject)
    return length === 0
      ? []
      : [
          {
            type,
            name: metaobject.name,
            description: metaobject.description,
            display_name_key: metaobject.fields[0]?.key ?? null,
            fields: metaobject.fields.map((field) => ({ ...field, validations: [] })),
            entries_count: length,
            translatable: metaobject.translatable,
            platform_id: `demo://metaobject-definition/${type}`
          }
        ]
  })

/** The digest of a source text. A platform compares digests to notice that a source has changed. */
const digestOf = (source: string) => createHash("sha256").update(source).digest("hex")

/** Translatable fields: the platform's field name, the type, and our attribute key. */
const translatable = [
  ["title", "single_line_text_field", "title"],
  ["body_html", "html", "description_html"],
  ["meta_title", "single_line_text_field", "seo_title"],
  ["meta_description", "multi_line_text_field", "seo_description"]
] as const

const translationsOf = (
  kind: TranslatedKind,
  platform_id: string,
  store: Store,
  values: Values,
  translated: TranslatedText | undefined
): PlatformTranslations => {
  const locale = store.locales.find((each) => each !== store.primary_locale) ?? ""
  const texts: Values =
    translated === undefined
      ? {}
      : {
          title: translated.title,
          body_html: translated.text === undefined ? null : `<p>${translated.text}</p>`,
          meta_description: translated.text ?? null
        }
  const fields = translatable.map(([key, type, ours]) => {
    const source_value = values[ours] ?? ""
    return {
      key,
      type,
      source_locale: store.primary_locale,
      source_value,
      digest: source_value === "" ? null : digestOf(source_value)
    }
  })
  return {
    kind,
    platform_id,
    locale,
    fields,
    translations: fields.flatMap(({ digest, key }) => {
      const value = texts[key]
      if (digest === null || value === null || value === undefined) return []
      const source_digest =
        key === "title" && translated?.madeFrom !== undefined ? digestOf(translated.madeFrom) : digest
      return [{ key, value, outdated: source_digest !== digest, source_digest, updated_at: timestampOf("01-30T11:00") }]
    })
  }
}

/** The English translation of a product. If the canonical values are English, only products with a local title have one. */
const englishOf = (
  handle: string,
  { text, title }: { readonly text: string; readonly title: string },
  isLocal: boolean
): TranslatedText | undefined => {
  const { missing, outdatedSources, products } = translations.english
  const madeFrom = outdatedSources[handle]
  return (
    products[handle] ??
    (!isLocal || missing.includes(handle) ? undefined : { title, text, ...(madeFrom !== undefined && { madeFrom }) })
  )
}

const isAccepted = (handle: string, stores: ReadonlyArray<StoreName>, name: StoreName) =>
  stores.includes(name) && firstPublishOf(handle, name) === "accepted"

const productTranslationsOf = (stores: DemoStores, store: Store, name: StoreName, platformIdOf: PlatformIdOf) =>
  products
    .filter(({ handle, stores }) => isAccepted(handle, stores, name))
    .map((product) => {
      const { handle } = product
      const local = Object.fromEntries(Object.entries(localValues(handle, name)).filter(([, value]) => value !== null))
      return translationsOf(
        "product",
        platformIdOf("product", idsOf(stores).entity("product", handle)),
        store,
        { ...productValues(product), ...local },
        name === "europe" ? translations.german.products[handle] : englishOf(handle, product, "title" in local)
      )
    })

/** The published collections of a store. Collections without members are not published. */
const collectionsOn = (name: StoreName) =>
  collections.filter(({ members, stores }) => members.length > 0 && stores.includes(name))

const collectionTranslationsOf = (stores: DemoStores, store: Store, name: StoreName, platformIdOf: PlatformIdOf) =>
  collectionsOn(name).map((collection) =>
    translationsOf(
      "collection",
      platformIdOf("collection", idsOf(stores).entity("collection", collection.handle)),
      store,
      collectionValues(collection),
      translations[name === "europe" ? "german" : "english"].collections[collection.handle]
    )
  )

const withStoreNames = ([china, europe, gulf]: DemoStores): ReadonlyArray<readonly [StoreName, Store]> => [
  ["china", china],
  ["europe", europe],
  ["gulf", gulf]
]

/** The data of each shop outside its catalog, by section. */
export const demoSections = (
  stores: DemoStores,
  platformIdOf: PlatformIdOf
): ReadonlyArray<{ readonly store: Store; readonly sections: Readonly<Record<string, ReadonlyArray<unknown>>> }> =>
  withStoreNames(stores).map(([name, store]) => ({
    store,
    sections: {
      markets: marketsOf(store, name),
      ...Object.fromEntries(
        OwnerType.literals.map((ownerType) => [
          `metafield-definitions/${ownerType}`,
          metafieldDefinitionsOf(name, ownerType)
        ])
      ),
      "metaobject-definitions": metaobjectDefinitionsOf(name),
      ...Object.fromEntries(
        Object.entries(shops.metaobjects).map(([type, metaobject]) => [
          `metaobject-entries/${type}`,
          entriesOf(name, type, metaobject)
        ])
      ),
      "translations/product": productTranslationsOf(stores, store, name, platformIdOf),
      "translations/collection": collectionTranslationsOf(stores, store, name, platformIdOf)
    }
  }))
