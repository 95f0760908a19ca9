import * as fc from "fast-check"
import type { PublishStatus } from "../../../src/model/PublishState.ts"

export const kinds = ["product", "variant", "collection", "media"] as const
export const domains = ["b.example", "a.example", "b-c.example", "ab.example"]

const nat = fc.nat({ max: 10_000 })
const texts = [
  "",
  "Boots",
  "Café 100% _x\\",
  'He said "no"',
  "手机壳 قهوة 🏔️",
  "TEE-XL",
  "ẞ straße",
  "boots",
  '["winter","Boots"]',
  "1.50"
]
const text = fc.constantFrom(...texts)
const key = fc.constantFrom(
  "title",
  "handle",
  "vendor",
  "tags",
  "sku",
  "barcode",
  "alt",
  "file_name",
  "my.fit",
  "price"
)

/** One change. Its entities and stores are positions among those that exist when it is executed. */
const change = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      tag: fc.constant("create" as const),
      kind: fc.constantFrom(...kinds),
      title: text,
      sku: text,
      of: nat
    })
  },
  { weight: 3, arbitrary: fc.record({ tag: fc.constant("set" as const), entity: nat, key, value: fc.option(text) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      tag: fc.constant("override" as const),
      entity: nat,
      store: nat,
      key,
      value: fc.option(text)
    })
  },
  {
    weight: 5,
    arbitrary: fc.record({ tag: fc.constantFrom("join" as const, "leave" as const), entity: nat, store: nat })
  },
  {
    weight: 4,
    arbitrary: fc.record({
      tag: fc.constantFrom("accept" as const, "refuse" as const, "ask" as const),
      entity: nat,
      store: nat
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      tag: fc.constant("gallery" as const),
      entity: nat,
      media: fc.array(fc.tuple(nat, fc.array(nat, { maxLength: 2 })), { maxLength: 3 })
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      tag: fc.constant("members" as const),
      entity: nat,
      products: fc.array(nat, { maxLength: 4 })
    })
  },
  { weight: 2, arbitrary: fc.record({ tag: fc.constant("order" as const), entity: nat, isTurned: fc.boolean() }) }
)
export type Change = typeof change extends fc.Arbitrary<infer A> ? A : never

const csvRow = fc.record({
  handle: fc.constantFrom("boots", "hat", "tee", "last"),
  title: fc.constantFrom("Boots", "Hat", "Straße, 手机"),
  tags: fc.constantFrom("", '"a, b"'),
  variants: fc.array(
    fc.record({
      sku: fc.constantFrom("", "B-S", "B-M", "TEE-XL"),
      price: fc.constantFrom("10.00", "1.50", "2.00", "12.00", "free")
    }),
    {
      minLength: 1,
      maxLength: 2
    }
  ),
  image: fc.constantFrom(
    "",
    "https://cdn.example/b.jpg?v=1",
    "https://cdn.example/b.jpg?v=2",
    "https://cdn.example/h.jpg",
    "https://cdn.example/last.jpg"
  ),
  alt: fc.constantFrom("", "Front")
})

const accepts = Array.from({ length: 5 }, () => "accept" as const)

/** An operation between two comparisons. */
export const operation = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant("apply" as const),
      changes: fc.oneof(fc.tuple(change), fc.tuple(change), fc.array(change, { minLength: 2, maxLength: 4 }))
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("link" as const),
      domain: fc.constantFrom(...domains, "no domain"),
      currency: fc.option(fc.constantFrom("EUR", "CHF")),
      platform: fc.constantFrom("none", "demo", "absent")
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("unlink" as const), domain: fc.constantFrom(...domains, "gone.example") })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("import" as const),
      domain: fc.constantFrom(...domains),
      rows: fc.uniqueArray(csvRow, { selector: ({ handle }) => handle, maxLength: 3 }),
      andThen: fc.constantFrom(...accepts, "discard" as const, "wait" as const)
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("accept" as const, "discard" as const),
      isOpen: fc.boolean(),
      run: nat
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("createKey" as const),
      name: fc.constantFrom("", "Shop"),
      isExpired: fc.boolean(),
      scope: fc.constantFrom("pim:read", "pim:delete", "pim:write")
    })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("revokeKey" as const), key: nat }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("list" as const),
      kind: fc.constantFrom(...kinds),
      limit: fc.constantFrom(1, 2, 3, 10, 50),
      cursor: fc.option(nat),
      status: fc.option(
        fc.constantFrom<[PublishStatus, PublishStatus, PublishStatus, PublishStatus]>(
          "never_published",
          "pending",
          "published",
          "failed"
        )
      ),
      since: fc.option(nat),
      search: fc.option(fc.constantFrom("boots", "Xl", "straß", "机", "100%", "b-s", "o", "boots fit", " ", "_x")),
      collection: fc.option(nat)
    })
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("version" as const), entity: nat, store: nat }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait" as const), millis: fc.constantFrom(1, 60_000, 600_000) }) }
)
export type Operation = typeof operation extends fc.Arbitrary<infer A> ? A : never

/** The beginning of every sequence: two stores, each with an entity of each kind. */
export const beginning: ReadonlyArray<Operation> = [
  { do: "link", domain: "b.example", currency: null, platform: "demo" },
  { do: "link", domain: "a.example", currency: "EUR", platform: "demo" },
  ...kinds.flatMap(
    (kind, entity): ReadonlyArray<Operation> => [
      { do: "apply", changes: [{ tag: "create", kind, title: "Boots", sku: "B-S", of: 0 }] },
      { do: "apply", changes: [0, 1].map((store) => ({ tag: "join", entity, store })) }
    ]
  )
]

/** The end of every sequence: an import, and a store that is unlinked and linked again. */
export const ending: ReadonlyArray<Operation> = [
  { do: "discard", isOpen: true, run: 0 },
  { do: "link", domain: "b.example", currency: null, platform: "demo" },
  {
    do: "import",
    domain: "b.example",
    rows: [
      {
        handle: "last",
        title: "Hat",
        tags: "",
        variants: [{ sku: "", price: "1.50" }],
        image: "https://cdn.example/last.jpg",
        alt: ""
      }
    ],
    andThen: "accept"
  },
  { do: "unlink", domain: "b.example" },
  { do: "link", domain: "b.example", currency: "CHF", platform: "demo" }
]

const quoted = (cell: string) => (cell.includes(",") && !cell.startsWith('"') ? `"${cell}"` : cell)

/** A Shopify export of these products. */
export const csvOf = (rows: ReadonlyArray<typeof csvRow extends fc.Arbitrary<infer A> ? A : never>) =>
  [
    "Handle,Title,Tags,Option1 Name,Option1 Value,Variant SKU,Variant Price,Image Src,Image Alt Text,Fit (product.metafields.my.fit)",
    ...rows.flatMap(({ alt, handle, image, tags, title, variants }) =>
      variants.map(({ price, sku }, index) =>
        index === 0
          ? [
              handle,
              quoted(title),
              tags,
              "Size",
              `size ${index}`,
              sku,
              price,
              image,
              image === "" ? "" : alt,
              "snug"
            ].join(",")
          : [handle, "", "", "", `size ${index}`, sku, price, "", "", ""].join(",")
      )
    )
  ].join("\n")
