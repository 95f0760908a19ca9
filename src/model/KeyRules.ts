import { Schema } from "effect"
import { type Attributes, builtInFields, EntityKind } from "./Attribute.ts"
import { type MetafieldRule, OwnerType } from "./Definition.ts"
import { nearest } from "./EditDistance.ts"
import { fits, type KeyRule, ruleOfDefinition } from "./KeyRule.ts"

/** The built-in keys that only the service writes. */
const readOnlyKeys: Readonly<Record<EntityKind, ReadonlyArray<string>>> = {
  product: ["options"],
  variant: [],
  collection: [],
  media: Object.keys(builtInFields.media).filter((key) => key !== "alt")
}

export const isWritable = (kind: EntityKind, key: string): boolean => !readOnlyKeys[kind].includes(key)

/** Maximum characters of a handle or SKU: a PostgreSQL index entry is limited to 2,704 bytes. */
export const maxIndexedCharacters = 255

const line = { maxLength: 255 }
const notNegative = { min: "0" }
/** Maximum length of a description: 512 Ki characters. */
const description = { maxLength: 524_288 }
/** Shopify stores SEO texts as metafields, so they have the limits of metafields. */
const seo = { seo_title: line, seo_description: { maxLength: 65_536 } }

/** The bounds of built-in keys. They are Shopify's, so that a write is refused here and not at its publish. */
const builtInBounds: Readonly<Record<EntityKind, Readonly<Record<string, Omit<KeyRule, "type">>>>> = {
  product: {
    title: line,
    handle: { maxLength: maxIndexedCharacters },
    description_html: description,
    vendor: line,
    product_type: line,
    tags: { maxLength: 255, maxItems: 250 },
    status: { choices: ["active", "draft", "archived", "unlisted"] },
    ...seo
  },
  variant: {
    // A variant's title is up to three option values of 255 characters, joined by " / ".
    title: { maxLength: 771 },
    sku: { maxLength: maxIndexedCharacters },
    barcode: line,
    price: notNegative,
    compare_at_price: notNegative,
    weight: notNegative,
    weight_unit: { choices: ["g", "kg", "lb", "oz"] },
    option1: line,
    option2: line,
    option3: line
  },
  collection: {
    title: line,
    handle: { maxLength: maxIndexedCharacters },
    description_html: description,
    sort_order: {
      choices: [
        "alpha-asc",
        "alpha-desc",
        "best-selling",
        "created",
        "created-desc",
        "manual",
        "most-relevant",
        "price-asc",
        "price-desc"
      ]
    },
    ...seo
  },
  media: { alt: { maxLength: 512 } }
}

const builtIn = (kind: EntityKind): ReadonlyMap<string, KeyRule> =>
  new Map(
    Object.entries(builtInFields[kind]).map(([key, type]): [string, KeyRule] => [
      key,
      { type, ...builtInBounds[kind][key] }
    ])
  )

/** The rules of built-in keys. */
export const builtInRules: Readonly<Record<EntityKind, ReadonlyMap<string, KeyRule>>> = {
  product: builtIn("product"),
  variant: builtIn("variant"),
  collection: builtIn("collection"),
  media: builtIn("media")
}

const isKind = Schema.is(EntityKind)

const ownerNouns: Readonly<Record<OwnerType, string>> = {
  product: "a product",
  variant: "a variant",
  collection: "a collection",
  media: "a media file",
  market: "a market",
  shop: "a shop"
}

/** The noun for an entity of a kind in messages. */
const nounOf = (kind: EntityKind): string => ownerNouns[kind]

/** Maximum metafields that a message lists. */
const maxListedMetafields = 20

/** Maximum number of unknown keys, per KeyRules instance, for which similar keys are suggested. */
const maxSuggestions = 5

/**
 * The rules of an account's keys, for drafts, drops, fills, reconciles, imports and scans. If a metafield has a definition, its
 * type replaces the type that is stored with a value.
 */
export class KeyRules {
  private readonly metafields: ReadonlyMap<OwnerType, ReadonlyMap<string, KeyRule>>
  private readonly allowedKeys = new Map<EntityKind, string>()
  private suggestions = 0

  constructor(definitions: ReadonlyArray<MetafieldRule>) {
    const metafields = new Map<OwnerType, Map<string, KeyRule>>()
    for (const { key, ownerType, type, validations } of definitions) {
      const ofOwner = metafields.get(ownerType) ?? new Map<string, KeyRule>()
      metafields.set(ownerType, ofOwner.set(key, ruleOfDefinition(type, validations)))
    }
    this.metafields = metafields
  }

  /** The rule of a key. Undefined: the key is unknown. */
  find(kind: EntityKind, key: string): KeyRule | undefined {
    return builtInRules[kind].get(key) ?? this.metafields.get(kind)?.get(key)
  }

  /** The type of a key: from its rule, else from the first layer that has the key. Undefined: the key is unknown. */
  typeOf(kind: EntityKind, key: string, layers: ReadonlyArray<Attributes>): string | undefined {
    return this.find(kind, key)?.type ?? layers.find((layer) => Object.hasOwn(layer, key))?.[key]?.type
  }

  /** Whether a stored value is valid. If the key has no definition, the stored type of the value is used. */
  fits(kind: EntityKind, key: string, { type, value }: { readonly type: string; readonly value: string }): boolean {
    return fits(this.find(kind, key) ?? { type }, value)
  }

  /** The rules of a kind by key: built-in keys first, then metafields. */
  ofKind(kind: EntityKind): ReadonlyMap<string, KeyRule> {
    return new Map([...builtInRules[kind], ...(this.metafields.get(kind) ?? [])])
  }

  /** All rules as JSON for the database, by kind and key: `product title`. */
  toJson(): string {
    return JSON.stringify(
      Object.fromEntries(
        EntityKind.literals.flatMap((kind) => [...this.ofKind(kind)].map(([key, rule]) => [`${kind} ${key}`, rule]))
      )
    )
  }

  /** Lists the keys that may be written, for messages. */
  allowed(kind: EntityKind): string {
    const keys = this.allowedKeys.get(kind) ?? this.listAllowed(kind)
    this.allowedKeys.set(kind, keys)
    return keys
  }

  private listAllowed(kind: EntityKind): string {
    const metafields = [...(this.metafields.get(kind)?.keys() ?? [])].sort()
    const more = metafields.length - maxListedMetafields
    const keys = [
      ...[...builtInRules[kind].keys()].filter((key) => isWritable(kind, key)),
      ...metafields.slice(0, maxListedMetafields),
      ...(more > 0 ? [`${more} more metafields`] : [])
    ]
    return `the allowed keys are ${keys.join(", ")}`
  }

  /** The message for an unknown key of a write, with similar keys. */
  unknown(kind: EntityKind, key: string): string {
    return `${this.whyUnknown(kind, key)}; ${this.allowed(kind)}; a new metafield needs a definition first`
  }

  /** Why a key is unknown: it belongs to other kinds, or it may be misspelt. */
  whyUnknown(kind: EntityKind, key: string): string {
    const owners = OwnerType.literals
      .filter((owner) => this.metafields.get(owner)?.has(key) || (isKind(owner) && builtInRules[owner].has(key)))
      .map((owner) => ownerNouns[owner])
    const similar =
      this.suggestions++ < maxSuggestions
        ? nearest(
            key,
            [...builtInRules[kind].keys(), ...(this.metafields.get(kind)?.keys() ?? [])].filter((each) =>
              isWritable(kind, each)
            )
          )
        : []
    const noun = nounOf(kind)
    const problem =
      owners.length === 0 ? `is an unknown key of ${noun}` : `is a key of ${owners.join(" and ")}, not of ${noun}`
    return similar.length === 0 ? problem : `${problem} (did you mean ${similar.join(" or ")}?)`
  }
}

/** The rules of an account without definitions. */
export const builtInKeyRules = new KeyRules([])
