import { createHash } from "node:crypto"
import type { EntityKind } from "../model/Attribute.ts"
import type {
  OwnerType,
  PlatformMetafieldDefinition,
  PlatformMetaobjectDefinition,
  PlatformMetaobjectEntry
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
import type { StoreName } from "./DemoProducts.ts"
import * as Tongues from "./DemoTongues.ts"
import { localValues } from "./DemoTranslations.ts"

/** What a shop of the demo calls an entity. */
export type PlatformIdOf = (kind: EntityKind, entityId: EntityId) => string

const at = (text: string) => Timestamp.make(`2026-${text}:00.000000Z`)

// Markets. Those with the same handle in two stores are one.

const region = (regions: Readonly<Record<string, string>>) =>
  Object.entries(regions).map(([code, name]) => ({ code, name }))

interface MarketLine {
  readonly name: string
  readonly status?: "draft"
  readonly currency: string
  readonly regions: Readonly<Record<string, string>>
  /** The languages that it is addressed in, the main one first. */
  readonly locales: ReadonlyArray<string>
  /** Of the market's catalog, in percent. */
  readonly priceChange?: number
}

const marketLines: Readonly<Record<StoreName, Readonly<Record<string, MarketLine>>>> = {
  europe: {
    "euro-area": {
      name: "Euro area",
      currency: "EUR",
      regions: {
        AT: "Austria",
        DE: "Germany",
        ES: "Spain",
        FR: "France",
        IE: "Ireland",
        IT: "Italy",
        NL: "Netherlands"
      },
      locales: ["en", "de"]
    },
    "united-kingdom": {
      name: "United Kingdom",
      currency: "GBP",
      regions: { GB: "United Kingdom" },
      locales: ["en"],
      priceChange: 8
    },
    switzerland: {
      name: "Switzerland",
      status: "draft",
      currency: "CHF",
      regions: { CH: "Switzerland" },
      locales: ["de", "en"]
    },
    international: {
      name: "International",
      currency: "USD",
      regions: { AU: "Australia", CA: "Canada", NZ: "New Zealand", US: "United States" },
      locales: ["en"],
      priceChange: 15
    }
  },
  gulf: {
    "gulf-states": {
      name: "دول الخليج",
      currency: "AED",
      regions: { AE: "United Arab Emirates", BH: "Bahrain", KW: "Kuwait", OM: "Oman", QA: "Qatar", SA: "Saudi Arabia" },
      locales: ["ar", "en"]
    },
    international: {
      name: "International",
      status: "draft",
      currency: "USD",
      regions: { EG: "Egypt", JO: "Jordan", US: "United States" },
      locales: ["en", "ar"],
      priceChange: -5
    }
  },
  china: {
    mainland: { name: "中国大陆", currency: "CNY", regions: { CN: "China" }, locales: ["zh-CN"] },
    "hong-kong": {
      name: "香港",
      currency: "HKD",
      regions: { HK: "Hong Kong SAR" },
      locales: ["zh-CN", "en"],
      priceChange: 10
    }
  }
}

const marketsOf = (store: Store, name: StoreName): ReadonlyArray<PlatformMarket> =>
  Object.entries(marketLines[name]).map(([handle, line]) => {
    const [default_locale = store.primary_locale, ...alternate_locales] = line.locales
    return {
      handle,
      type: "region",
      platform_id: `demo://market/${handle}`,
      name: line.name,
      status: line.status ?? "active",
      currency: line.currency === store.currency ? null : line.currency,
      regions: region(line.regions),
      web_presences: [
        {
          platform_id: `demo://web-presence/${handle}`,
          domain: store.domain,
          subfolder_suffix: line.currency === store.currency ? null : handle,
          default_locale,
          alternate_locales
        }
      ],
      catalogs:
        line.priceChange === undefined
          ? []
          : [
              {
                id: `demo://catalog/${handle}`,
                title: `Prices: ${line.name}`,
                status: line.status ?? "active",
                currency: line.currency,
                price_adjustment: {
                  type: line.priceChange > 0 ? "percentage_increase" : "percentage_decrease",
                  value: Math.abs(line.priceChange)
                }
              }
            ]
    }
  })

// Metafield definitions: of every metafield that the products have, and of some owners beside them.

interface MetafieldLine {
  readonly name: string
  readonly description: string | null
  readonly type?: string
  readonly validations?: PlatformMetafieldDefinition["validations"]
}

const metafieldLines: Readonly<Partial<Record<OwnerType, Readonly<Record<string, MetafieldLine>>>>> = {
  product: {
    "care.washing": { name: "Washing", description: "How it is cleaned, in one line." },
    "material.body": { name: "Body", description: "What the body of the thing is made of." },
    "material.shell": { name: "Shell", description: "The outer fabric." },
    "material.wax": { name: "Wax", description: null },
    "material.yarn": { name: "Yarn", description: "Fibre and its share." },
    "specs.fabric_weight_gsm": {
      name: "Fabric weight",
      description: "Grams a square metre.",
      validations: [{ name: "min", type: "number_decimal", value: "20" }]
    },
    "specs.hours": { name: "Hours of light", description: "On one charge, at half brightness." },
    "specs.pages": { name: "Pages", description: null },
    "specs.season": {
      name: "Season",
      description: "1 is summer, 4 is winter.",
      validations: [
        { name: "min", type: "number_integer", value: "1" },
        { name: "max", type: "number_integer", value: "4" }
      ]
    }
  },
  variant: {
    "fit.length_cm": { name: "Length", description: "Of the garment, in centimetres.", type: "number_decimal" }
  },
  collection: {
    "story.maker": { name: "Maker", description: "The workshop it tells of.", type: "metaobject_reference" }
  },
  media: { "rights.photographer": { name: "Photographer", description: null } },
  market: { "service.phone": { name: "Service telephone", description: "Answered in the market's main language." } },
  shop: { "legal.imprint": { name: "Imprint", description: "Where the imprint is.", type: "url" } }
}

const metafieldDefinitionsOf = (name: StoreName, ownerType: OwnerType): ReadonlyArray<PlatformMetafieldDefinition> =>
  Object.entries(metafieldLines[ownerType] ?? {}).flatMap(([path, line]) => {
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
            name: line.name,
            description: line.description,
            type: line.type ?? metafieldTypes[path] ?? "single_line_text_field",
            validations: line.validations ?? [],
            platform_id: `demo://metafield-definition/${ownerType}/${path}`,
            metafields_count: count
          }
        ]
  })

// Metaobjects: the workshops that make things, and guides to sizes.

const field = (key: string, name: string, type: string, required = false) => ({
  key,
  name,
  type,
  required,
  validations: []
})

const metaobjectFields = {
  workshop: [
    field("name", "Name", "single_line_text_field", true),
    field("place", "Place", "single_line_text_field"),
    field("since", "Since", "number_integer"),
    field("portrait", "Portrait", "multi_line_text_field")
  ],
  size_guide: [
    field("title", "Title", "single_line_text_field", true),
    field("advice", "Advice", "multi_line_text_field")
  ]
}

type MetaobjectType = keyof typeof metaobjectFields

const metaobjectNames: Readonly<
  Record<MetaobjectType, readonly [name: string, description: string | null, translatable: boolean]>
> = {
  workshop: ["Workshop", "Who makes what we sell.", true],
  size_guide: ["Size guide", null, false]
}

interface EntryLine {
  readonly stores: ReadonlyArray<StoreName>
  readonly values: ReadonlyArray<string | null>
  readonly status?: "draft"
  readonly updated: string
}

const entryLines: Readonly<Record<MetaobjectType, Readonly<Record<string, EntryLine>>>> = {
  workshop: {
    "tarn-and-tern": {
      stores: ["europe", "gulf", "china"],
      values: ["Tarn & Tern", "Ulverston", "1998", "Two sewing machines, then nine.\nThe canvas is still cut by hand."],
      updated: "01-18T09:12"
    },
    "nine-looms": {
      stores: ["europe", "china"],
      values: ["Nine Looms", "Hebden", "1974", "Nobody remembers why there are eleven."],
      updated: "01-18T09:20"
    },
    "hollin-forge": {
      stores: ["europe", "gulf"],
      values: ["Hollin Forge", "Edale", "1951", null],
      updated: "01-20T14:02"
    },
    "marlpit-pottery": {
      stores: ["europe"],
      values: ["Marlpit Pottery", "Cheddleton", "2006", "One kiln, fired on Thursdays."],
      status: "draft",
      updated: "02-02T16:45"
    },
    "moon-workshop": {
      stores: ["gulf"],
      values: ["ورشة القمر", "نزوى", "1983", "نحاس وخشب أرز، وقهوة لكل زائر."],
      updated: "01-25T07:30"
    },
    "greenstone-kiln": {
      stores: ["china"],
      values: ["青石窑", "龙泉", "1962", "一窑青瓷,三日火。"],
      updated: "01-27T02:10"
    }
  },
  size_guide: {
    rainwear: {
      stores: ["europe", "china"],
      values: ["Rainwear", "Made to go over a jumper: take your usual size."],
      updated: "01-22T10:00"
    },
    knitwear: {
      stores: ["europe"],
      values: ["Knitwear", "Between two sizes, take the smaller: wool gives."],
      updated: "01-22T10:05"
    },
    hats: { stores: ["europe"], values: ["Hats", "Measure above the ears."], status: "draft", updated: "02-01T08:00" }
  }
}

const entriesOf = (name: StoreName, type: MetaobjectType): ReadonlyArray<PlatformMetaobjectEntry> =>
  Object.entries(entryLines[type])
    .filter(([, { stores }]) => stores.includes(name))
    .map(
      ([handle, { status, updated, values }]): PlatformMetaobjectEntry => ({
        handle,
        display_name: values[0] ?? handle,
        status: status ?? "active",
        fields: metaobjectFields[type].map(({ key, type }, index) => ({ key, type, value: values[index] ?? null })),
        updated_at: at(updated),
        platform_id: `demo://metaobject/${type}/${handle}`
      })
    )

const isMetaobjectType = (type: string): type is MetaobjectType => Object.hasOwn(metaobjectFields, type)
const metaobjectTypes = Object.keys(metaobjectFields).filter(isMetaobjectType)

const metaobjectDefinitionsOf = (name: StoreName): ReadonlyArray<PlatformMetaobjectDefinition> =>
  metaobjectTypes
    .map((type) => ({ type, entries: entriesOf(name, type) }))
    .filter(({ entries }) => entries.length > 0)
    .map(({ entries, type }) => {
      const [called, description, translatable] = metaobjectNames[type]
      return {
        type,
        name: called,
        description,
        display_name_key: metaobjectFields[type][0]?.key ?? null,
        fields: metaobjectFields[type],
        entries_count: entries.length,
        translatable,
        platform_id: `demo://metaobject-definition/${type}`
      }
    })

// Translations, in the second language of each store, of what its first publish brought there.

/** What a platform keeps of a source, to see whether it changed. */
const digestOf = (source: string) => createHash("sha256").update(source).digest("hex")

type Values = Readonly<Record<string, string | null>>

/** The platform's names of what it translates, their types and ours. */
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
  said: Tongues.Said | undefined
): PlatformTranslations => {
  const locale = store.locales.find((each) => each !== store.primary_locale) ?? ""
  const texts: Values =
    said === undefined
      ? {}
      : {
          title: said.title,
          body_html: said.text === undefined ? null : `<p>${said.text}</p>`,
          meta_description: said.text ?? null
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
      const source_digest = key === "title" && said?.madeFrom !== undefined ? digestOf(said.madeFrom) : digest
      return [{ key, value, outdated: source_digest !== digest, source_digest, updated_at: at("01-30T11:00") }]
    })
  }
}

/** What a store says in its second language about what it calls otherwise than English does. */
const englishOf = (
  handle: string,
  { text, title }: { readonly text: string; readonly title: string },
  isLocal: boolean
) =>
  Tongues.englishProducts[handle] ??
  (!isLocal || Tongues.notInEnglish.includes(handle)
    ? undefined
    : { title, text, ...(handle in Tongues.oldEnglish && { madeFrom: Tongues.oldEnglish[handle] ?? "" }) })

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
        name === "europe" ? Tongues.germanProducts[handle] : englishOf(handle, product, "title" in local)
      )
    })

/** Collections are published where they have members. */
const collectionsOn = (name: StoreName) =>
  collections.filter(({ members, stores }) => members.length > 0 && stores.includes(name))

const collectionTranslationsOf = (stores: DemoStores, store: Store, name: StoreName, platformIdOf: PlatformIdOf) =>
  collectionsOn(name).map((collection) =>
    translationsOf(
      "collection",
      platformIdOf("collection", idsOf(stores).entity("collection", collection.handle)),
      store,
      collectionValues(collection),
      (name === "europe" ? Tongues.germanCollections : Tongues.englishCollections)[collection.handle]
    )
  )

const named = ([china, europe, gulf]: DemoStores): ReadonlyArray<readonly [StoreName, Store]> => [
  ["china", china],
  ["europe", europe],
  ["gulf", gulf]
]

const ownerTypes: ReadonlyArray<OwnerType> = ["product", "variant", "collection", "media", "market", "shop"]

/** What each shop of the demo has beside its catalog, by the names of its sections. */
export const demoSections = (
  stores: DemoStores,
  platformIdOf: PlatformIdOf
): ReadonlyArray<{ readonly store: Store; readonly sections: Readonly<Record<string, ReadonlyArray<unknown>>> }> =>
  named(stores).map(([name, store]) => ({
    store,
    sections: {
      markets: marketsOf(store, name),
      ...Object.fromEntries(
        ownerTypes.map((ownerType) => [`metafield-definitions/${ownerType}`, metafieldDefinitionsOf(name, ownerType)])
      ),
      "metaobject-definitions": metaobjectDefinitionsOf(name),
      ...Object.fromEntries(metaobjectTypes.map((type) => [`metaobject-entries/${type}`, entriesOf(name, type)])),
      "translations/product": productTranslationsOf(stores, store, name, platformIdOf),
      "translations/collection": collectionTranslationsOf(stores, store, name, platformIdOf)
    }
  }))
