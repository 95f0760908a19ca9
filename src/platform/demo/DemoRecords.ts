import { type Attributes, type EntityKind, valueOf } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import { PlatformRefused } from "../PlatformErrors.ts"
import type { PlatformRecord } from "../PlatformRecord.ts"
import type { Publication, Published, PublishedEntity, PublishedVariant } from "../Publication.ts"

/** A record, and the position of a variant in its product. null: the position does not change; a new variant comes last. */
export interface DemoRecord extends PlatformRecord {
  readonly position: number | null
}

/** The effect of a publication on a shop. */
export interface DemoEffect {
  /** Records that are inserted or overwritten. */
  readonly written: ReadonlyArray<DemoRecord>
  /** Records that are inserted if they are missing. In existing records only the position is written. */
  readonly placed: ReadonlyArray<DemoRecord>
  /** The variants of a product, and its gallery: they no longer show another picture. Platform ids. */
  readonly gallery?: { readonly variants: ReadonlyArray<string>; readonly media: ReadonlyArray<string> }
  readonly published: Published
}

/** The platform id of an entity in every demo shop. It never changes. */
export const demoPlatformId = (kind: EntityKind, entityId: EntityId): string => `demo://${kind}/${entityId}`

const withoutEmptyValues = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, { value }]) => value !== ""))

const recordOf = (
  kind: EntityKind,
  { attributes, entityId, platformId }: PublishedEntity,
  more: Partial<Pick<DemoRecord, "parentId" | "position" | "media" | "members" | "picture">> = {}
): DemoRecord => ({
  kind,
  platformId: platformId ?? demoPlatformId(kind, entityId),
  entityId,
  parentId: null,
  attributes: withoutEmptyValues(attributes),
  media: [],
  members: [],
  picture: null,
  position: null,
  ...more
})

/** `picture` absent: the record keeps its picture. */
const variantOf = (variant: PublishedVariant, parentId: string, position: number | null): DemoRecord => {
  const { picture, ...record } = recordOf("variant", variant, { parentId, position })
  const sent = variant.picture
  return sent === undefined
    ? record
    : { ...record, picture: sent === null ? null : (sent.platformId ?? demoPlatformId("media", sent.entityId)) }
}

const publishedAs = (records: ReadonlyArray<DemoRecord>): Published => ({
  platformIds: new Map(
    records.flatMap(({ entityId, platformId }) => (entityId === null ? [] : [[entityId, platformId]]))
  )
})

export const effectOf = (publication: Publication): DemoEffect => {
  switch (publication._tag) {
    case "Product": {
      const media = publication.media.map((picture) => recordOf("media", picture))
      const product = recordOf("product", publication, { media: media.map(({ platformId }) => platformId) })
      const variants = publication.variants.map((variant, position) => variantOf(variant, product.platformId, position))
      const both = {
        published: publishedAs([product, ...variants, ...media]),
        gallery: { variants: variants.map(({ platformId }) => platformId), media: product.media }
      }
      return publication.platformId === null
        ? { ...both, written: [product, ...variants], placed: media }
        : { ...both, written: [product], placed: [...variants, ...media] }
    }
    case "Variant": {
      const variant = variantOf(publication, publication.productPlatformId, null)
      return { written: [variant], placed: [], published: publishedAs([variant]) }
    }
    case "Collection": {
      const collection = recordOf("collection", publication, { members: publication.members })
      return { written: [collection], placed: [], published: publishedAs([collection]) }
    }
    case "Media": {
      const media = recordOf("media", publication)
      return { written: [media], placed: [], published: publishedAs([media]) }
    }
  }
}

/** What a record of the shop's staff has in common with the record of a publication. */
export interface SameKeys {
  readonly kind: "product" | "variant" | "collection"
  readonly handle: string
  /** For a product: of its variants. */
  readonly skus: ReadonlyArray<string>
  /** The platform id of a variant's product. */
  readonly parentId: string | null
}

/** Null: no record can be the same. */
export const sameKeysOf = (publication: Publication): SameKeys | null => {
  const handle = valueOf(publication.attributes, "handle")
  const skusOf = (variants: ReadonlyArray<PublishedEntity>) =>
    variants.map(({ attributes }) => valueOf(attributes, "sku")).filter((sku) => sku !== "")
  switch (publication._tag) {
    case "Product":
      return { kind: "product", handle, skus: skusOf(publication.variants), parentId: null }
    case "Variant":
      return { kind: "variant", handle: "", skus: skusOf([publication]), parentId: publication.productPlatformId }
    case "Collection":
      return { kind: "collection", handle, skus: [], parentId: null }
    case "Media":
      return null
  }
}

/** The error with which the demo platform refuses a publication, worded as Shopify does; null: it accepts the publication. */
export const refusalOf = (publication: Publication): PlatformRefused | null =>
  (publication._tag === "Product" || publication._tag === "Collection") &&
  valueOf(publication.attributes, "title").trim() === ""
    ? new PlatformRefused({ code: "INVALID_INPUT", message: "Title can't be blank", field: "input.title" })
    : null

/** Compares records in the order of a pull: media, then each product followed by its variants, then collections. */
export const pullOrder = (left: DemoRecord, right: DemoRecord): number => {
  const key = ({ kind, parentId, platformId, position }: DemoRecord) =>
    [
      kind === "media" ? 0 : kind === "collection" ? 2 : 1,
      parentId ?? platformId,
      kind === "variant" ? 1 : 0,
      position ?? Number.MAX_SAFE_INTEGER,
      platformId
    ] as const
  const [a, b] = [key(left), key(right)]
  const place = a.findIndex((part, index) => part !== b[index])
  const [x, y] = [a[place], b[place]]
  return x === undefined || y === undefined ? 0 : x < y ? -1 : 1
}
