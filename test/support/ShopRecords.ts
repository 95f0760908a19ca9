import { builtInFields, type EntityKind } from "../../src/model/Attribute.ts"
import type { EntityId } from "../../src/model/Ids.ts"
import type { PlatformRecord } from "../../src/platform/PlatformRecord.ts"

type Texts = Readonly<Record<string, string>>

/** A record in the form of a platform's shop. Keys with a dot are metafields with a single line of text. */
export const held = (
  kind: EntityKind,
  platformId: string,
  texts: Texts,
  more: Partial<Pick<PlatformRecord, "parentId" | "media" | "members" | "entityId">> = {}
): PlatformRecord => ({
  kind,
  platformId,
  entityId: null,
  parentId: null,
  attributes: Object.fromEntries(
    Object.entries(texts).map(([key, value]) => [
      key,
      { value, type: builtInFields[kind][key] ?? "single_line_text_field" }
    ])
  ),
  media: [],
  members: [],
  ...more
})

/** A record that was published from an entity. */
export const from = (entityId: EntityId, record: PlatformRecord): PlatformRecord => ({ ...record, entityId })

/** A product with a picture and one variant for each size, in the form of a platform's shop. */
export const aProductOf = (
  handle: string,
  sizes: ReadonlyArray<string>,
  texts: Texts = {}
): ReadonlyArray<PlatformRecord> => [
  held("media", `file/${handle}`, { url: `https://shop.example/files/${handle}.jpg?v=3`, alt: `${handle} on a table` }),
  held(
    "product",
    `product/${handle}`,
    {
      handle,
      title: `The ${handle}`,
      vendor: "Fell",
      tags: '["a","b"]',
      options: JSON.stringify([{ name: "Size", values: sizes }]),
      "my.fit": "snug",
      ...texts
    },
    { media: [`file/${handle}`] }
  ),
  ...sizes.map((size) =>
    held(
      "variant",
      `variant/${handle}/${size}`,
      { title: size, option1: size, sku: `${handle}-${size}`, price: "10.00" },
      { parentId: `product/${handle}` }
    )
  )
]
