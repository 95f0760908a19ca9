import * as fc from "fast-check"
import type { HealthRules } from "../../../src/health/Health.ts"
import type { EntityKind } from "../../../src/model/Attribute.ts"
import type { PlatformMetafieldDefinition } from "../../../src/model/Definition.ts"
import { EntityId, type StoreId } from "../../../src/model/Ids.ts"
import type { MirrorItem } from "../../../src/storedata/MirrorRecords.ts"
import { CatalogChange } from "../../../src/testing/index.ts"

const nat = fc.nat({ max: 10_000 })

/** Random values: filled, empty in several ways, and invalid for their keys. */
const text = fc.constantFrom(
  "",
  "",
  " \t\u00a0\u3000",
  "Boots",
  "Boots 2",
  "手机壳 🏔️",
  "two\nlines",
  "x".repeat(256),
  "🏔".repeat(128),
  `${"🏔".repeat(150)}${"é".repeat(100)}`
)
const html = fc.constantFrom(
  "",
  "<p> &nbsp;</p>\n<br/>",
  "<p><!-- nothing --></p>",
  '<p><img src="a.png"></p>',
  "<IMG\n>",
  "<image>",
  "<p>Warm &amp; dry</p>",
  "<<<",
  "a < b",
  "<p>\u200b</p>",
  "&#160;&#xA0;&NBSP;",
  '<a title="x>y"></a>'
)
const number = fc.constantFrom("", "12.50", "free", "1e3", "-0.000000001", "٣", "12345678901234")
const list = fc.constantFrom(
  "",
  "[]",
  '["winter","a, b"]',
  '["a\\nb"]',

  "[1]",
  "winter",
  '["a"',
  '["\\u0041"]'
)
const json = fc.constantFrom(
  "",
  '{"a":[1,2]}',
  "{",
  "nul",
  `${"[".repeat(32)}${"]".repeat(32)}`,
  `${"[".repeat(33)}${"]".repeat(33)}`,
  `["${"[".repeat(40)}"]`,
  '"\\u0000"'
)
const address = fc.constantFrom(
  "",
  "https://cdn.example/a.png",
  "http:///",
  "ftp://x.example",
  "https://a b",
  "MAILTO:a@b.example",
  "tel:"
)
const integer = fc.constantFrom("", "7", "9007199254740991", "9007199254740992", "1.5")
const flag = fc.constantFrom("", "true", "TRUE")
const price = fc.oneof(number, fc.constantFrom("0", "0.00", "-0.0", "00", "0.001", "0.", "12.50"))
const status = fc.constantFrom("", "active", "active", "draft", "live")

/** Keys with their random values. Keys with a dot are metafields with the given type. */
const keys = {
  product: {
    title: text,
    handle: text,
    description_html: html,
    vendor: text,
    product_type: text,
    tags: list,
    status,
    options: json,
    seo_title: text,
    seo_description: text,
    "spec.data": json,
    "spec.link": address,
    "spec.count": integer,
    "spec.deposit": json,
    "care.note": text
  },
  variant: {
    title: text,
    // Few values, so that products share a SKU.
    sku: fc.constantFrom("", "A-1", "A-1", "A-1", "A-1", "B-2", " "),
    barcode: text,
    price,
    option1: text,
    taxable: flag
  },
  collection: { title: text, handle: text, description_html: html, seo_title: text },
  media: { alt: text, url: address, file_name: text, width: integer }
} satisfies Readonly<Record<EntityKind, Readonly<Record<string, fc.Arbitrary<string>>>>>

const types: Readonly<Record<string, string>> = {
  "spec.data": "json",
  "spec.link": "url",
  "spec.count": "number_integer",
  "spec.deposit": "money"
}

const kind = fc.constantFrom<[EntityKind, EntityKind, EntityKind, EntityKind, EntityKind, EntityKind]>(
  "product",
  "product",
  "variant",
  "variant",
  "collection",
  "media"
)

/** A key and a value for every kind; the entity's kind selects one of them. */
const edit = fc.record(
  Object.fromEntries(
    Object.entries(keys).map(([kind, ofKind]) => [
      kind,
      fc.oneof(...Object.entries(ofKind).map(([key, values]) => fc.record({ key: fc.constant(key), value: values })))
    ])
  ) as Readonly<Record<EntityKind, fc.Arbitrary<{ readonly key: string; readonly value: string }>>>
)

/** A change of a catalog. Entities and stores are given by their position. */
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("create" as const),
      kind,
      of: nat,
      edits: fc.array(edit, { maxLength: 8 }),
      on: fc.array(nat, { maxLength: 3 })
    })
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("set" as const), entity: nat, edit }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("override" as const),
      entity: nat,
      store: nat,
      edit,
      isRemoved: fc.boolean()
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("join" as const, "leave" as const), entity: nat, store: nat })
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("accept" as const, "accept" as const, "refuse" as const, "ask" as const),
      entity: nat,
      store: nat
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("gallery" as const),
      entity: nat,
      media: fc.array(fc.tuple(nat, fc.array(nat, { maxLength: 2 })), { maxLength: 3 })
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("members" as const),
      entity: nat,
      products: fc.array(nat, { maxLength: 4 })
    })
  }
)
export type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

const digest = fc.constantFrom(null, "digest of a", "digest of b")

/** A store's translations of a product or collection in one language. Entity and store are given by their position. */
const tongue = fc.record({
  kind: fc.constantFrom("product" as const, "collection" as const),
  entity: nat,
  store: nat,
  locale: fc.constantFrom("de", "fr", "xx"),
  fields: fc.uniqueArray(
    fc.record({
      key: fc.constantFrom("title", "body_html", "meta_title"),
      sourceLocale: fc.constantFrom("en", "en", "de"),
      source: fc.constantFrom("", "a", "b")
    }),
    { selector: ({ key }) => key }
  ),
  translations: fc.uniqueArray(
    fc.record({
      key: fc.constantFrom("title", "body_html", "handle"),
      value: fc.constantFrom("", "x", "y"),
      outdated: fc.boolean(),
      madeFrom: digest,
      digest
    }),
    { selector: ({ key }) => key }
  )
})
export type Tongue = typeof tongue extends fc.Arbitrary<infer A> ? A : never

const definition = fc.record({
  key: fc.constantFrom("spec.data", "spec.link", "spec.count", "care.note", "care.none"),
  isOwn: fc.boolean(),
  type: fc.constantFrom(
    "single_line_text_field",
    "number_integer",
    "date",
    "json",
    "url",
    "list.single_line_text_field"
  ),
  validations: fc.array(
    fc.record({
      name: fc.constantFrom("min", "max", "choices", "regex", "list.min", "list.max"),
      value: fc.constantFrom("3", "8", '["Boots","7"]', "^B", "nonsense")
    }),
    { maxLength: 2 }
  )
})
export type Defined = typeof definition extends fc.Arbitrary<infer A> ? A : never

/** A definition of a metafield of products. */
export const definitionOf = ({ key, type, validations }: Defined): PlatformMetafieldDefinition => {
  const [namespace = "", name = ""] = key.split(".")
  return {
    owner_type: "product",
    namespace,
    key: name,
    name,
    description: null,
    type,
    validations: validations.map((validation) => ({ ...validation, type })),
    platform_id: `definition/${key}`,
    metafields_count: 0
  }
}

/** The languages of a store. */
export const locales = ["en", "de", "fr"]

/** The attributes of three stores: two regions of one language, an unknown language, and so on. */
const shop = fc.record({
  platform: fc.constantFrom("none" as const, "demo" as const, "demo" as const),
  primary_locale: fc.constantFrom("de-DE", "de-AT", "DE", "en", "zh_CN", "und", "x", "deutsch", "germanlanguage"),
  currency: fc.constantFrom("EUR", "EUR", "eur", "CNY", "XXX", "?")
})

const levels = (required: ReadonlyArray<string>, recommended: ReadonlyArray<string>) =>
  fc.record({ required: fc.subarray([...required]), recommended: fc.subarray([...recommended]) })

/** Rules of an account: any of the fields, or none of a kind. */
const rules: fc.Arbitrary<HealthRules> = fc.record({
  product: levels(["title", "vendor", "description_html"], ["tags", "seo_title"]),
  variant: levels(["sku", "price"], ["barcode"]),
  collection: levels(["title"], ["seo_title"]),
  media: levels(["url"], ["alt"]),
  divergence: fc.record({
    texts: fc.constantFrom("same_language" as const, "same_language" as const, "all" as const),
    prices: fc.constantFrom("same_currency" as const, "same_currency" as const, "all" as const)
  }),
  structure: fc.record({ zero_price: fc.constantFrom("issue" as const, "issue" as const, "allowed" as const) })
})

/** A catalog that is scanned, changed, and scanned again. `rules` null: the default rules. */
export const history = fc.record({
  definitions: fc.uniqueArray(definition, { maxLength: 4, selector: ({ key }) => key }),
  shops: fc.tuple(shop, shop, shop),
  rules: fc.option(rules),
  tongues: fc.array(tongue, { maxLength: 12, size: "max" }),
  first: fc.array(step, { minLength: 35, maxLength: 60, size: "max" }),
  afterwards: fc.array(step, { maxLength: 15, size: "max" })
})

export type History = typeof history extends fc.Arbitrary<infer A> ? A : never

/** The entities and stores that the steps choose from. */
export class World {
  readonly entities: Array<{ readonly id: EntityId; readonly kind: EntityKind }> = []
  readonly storeIds: ReadonlyArray<StoreId>
  readonly mint: () => string

  constructor(storeIds: ReadonlyArray<StoreId>, mint: () => string) {
    this.storeIds = storeIds
    this.mint = mint
  }

  private some(kind: EntityKind, place: number): EntityId | undefined {
    const of = this.entities.filter((entity) => entity.kind === kind)
    return of[place % Math.max(1, of.length)]?.id
  }

  private any(place: number) {
    return this.entities[place % Math.max(1, this.entities.length)]
  }

  private store(place: number): StoreId {
    const id = this.storeIds[place % this.storeIds.length]
    if (id === undefined) throw new Error("there is no store")
    return id
  }

  /** The translations of a store's platform, with the platform id of their entity. */
  mirrored({ entity, fields, kind, locale, store, translations }: Tongue) {
    const entityId = this.some(kind, entity)
    if (entityId === undefined) return undefined
    const storeId = this.store(store)
    const platform_id = `${kind}/${entityId}`
    const items: ReadonlyArray<MirrorItem> = [
      {
        kind: "translatable_fields",
        content: {
          platform_id,
          fields: fields.map(({ key, source, sourceLocale }) => ({
            key,
            type: "single_line_text_field",
            source_locale: sourceLocale,
            source_value: source,
            digest: source === "" ? null : `digest of ${source}`
          }))
        }
      },
      {
        kind: "translations",
        content: {
          platform_id,
          locale,
          translations: translations.map(({ digest, key, madeFrom, outdated, value }) => ({
            key,
            value,
            outdated,
            source_digest: madeFrom,
            digest,
            updated_at: null
          }))
        }
      }
    ]
    return { entityId, storeId, platformId: platform_id, items }
  }

  /** The changes of a step; none if it has no target. */
  changesOf(step: Step): ReadonlyArray<CatalogChange> {
    switch (step.do) {
      case "create": {
        const parentId = step.kind === "variant" ? this.some("product", step.of) : null
        if (parentId === undefined) return []
        const id = EntityId.make(this.mint())
        this.entities.push({ id, kind: step.kind })
        const values = Object.fromEntries(step.edits.map((edit) => [edit[step.kind].key, edit[step.kind].value]))
        return [
          CatalogChange.CreateEntity({ id, kind: step.kind, parentId, values, types }),
          ...step.on.map((place) => CatalogChange.AddToStore({ entityId: id, storeId: this.store(place) }))
        ]
      }
      case "set": {
        const entity = this.any(step.entity)
        if (entity === undefined) return []
        const { key, value } = step.edit[entity.kind]
        return [CatalogChange.SetAttributes({ entityId: entity.id, values: { [key]: value }, types })]
      }
      case "override": {
        const entity = this.any(step.entity)
        if (entity === undefined) return []
        const { key, value } = step.edit[entity.kind]
        const values = { [key]: step.isRemoved ? null : value }
        return [CatalogChange.SetOverrides({ entityId: entity.id, storeId: this.store(step.store), values, types })]
      }
      case "join":
      case "leave":
      case "accept":
      case "refuse":
      case "ask": {
        const entity = this.any(step.entity)
        if (entity === undefined) return []
        const target = { entityId: entity.id, storeId: this.store(step.store) }
        switch (step.do) {
          case "join":
            return [CatalogChange.AddToStore(target)]
          case "leave":
            return [CatalogChange.RemoveFromStore(target)]
          case "accept":
            return [CatalogChange.AcceptPublish(target)]
          case "refuse":
            return [CatalogChange.RefusePublish({ ...target, error: { code: "busy", message: "Busy" } })]
          case "ask":
            return [CatalogChange.RequestPublish(target)]
        }
        break
      }
      case "gallery": {
        const entity = this.any(step.entity)
        const media = step.media.flatMap(([place, stores]) => {
          const mediaId = this.some("media", place)
          return mediaId === undefined
            ? []
            : [{ mediaId, storeIds: [...new Set(stores.map((store) => this.store(store)))] }]
        })
        const entries = media.filter(
          ({ mediaId }, index) => media.findIndex((other) => other.mediaId === mediaId) === index
        )
        return entity === undefined ? [] : [CatalogChange.SetGallery({ entityId: entity.id, entries })]
      }
      case "members": {
        const collectionId = this.some("collection", step.entity)
        const productIds = step.products.flatMap((place) => this.some("product", place) ?? [])
        return collectionId === undefined
          ? []
          : [CatalogChange.SetMembers({ collectionId, productIds: [...new Set(productIds)] })]
      }
    }
  }
}
