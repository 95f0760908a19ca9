import { CatalogChange } from "../drafts/CatalogChange.ts"
import type { PlannedDrop } from "../drops/Drop.ts"
import { type AccountId, DropId, EntityId, StoreId } from "../model/Ids.ts"
import { noOptions } from "../model/ProductOptions.ts"
import type { Store } from "../model/Store.ts"
import { plusMicros, type Timestamp } from "../model/Timestamp.ts"
import { uuidOf } from "../runtime/Identifiers.ts"
import {
  type Edit,
  type FirstPublish,
  families,
  type ProductFamily,
  type StoreName,
  stories,
  type Values
} from "./DemoContent.ts"
import { localPrice, localValues, variantValues } from "./DemoVariants.ts"

/** The stores of the demo, ordered by domain. */
export type DemoStores = readonly [china: Store, europe: Store, gulf: Store]

const storeNames = ["china", "europe", "gulf"] as const

/** The three stores of a demo account. Ids and domains are derived from the account's id, so each account has different ones. */
export const demoStores = (accountId: AccountId): DemoStores => {
  const store = (slug: StoreName, name: string, primary_locale: string, other: string, currency: string): Store => ({
    id: StoreId.make(uuidOf(accountId, `store/${slug}`)),
    domain: `tarn-and-tern-${slug}-${accountId.slice(0, 8)}.demo.example`,
    name,
    platform: "demo",
    status: "linked",
    primary_locale,
    locales: [primary_locale, other],
    currency,
    last_imported_at: null
  })
  return [
    store("china", "山湖与燕鸥", "zh-CN", "en", "CNY"),
    store("europe", "Tarn & Tern", "en", "de", "EUR"),
    store("gulf", "تارن وتيرن", "ar", "en", "AED")
  ]
}

type Changes = ReadonlyArray<CatalogChange>

/** The ids of entities and stores of one account, by their names in the content. */
interface Ids {
  readonly entity: (kind: "product" | "variant" | "media" | "collection", name: string) => EntityId
  readonly store: (name: StoreName) => StoreId
  /** The ids of several stores, in the order in which the API lists stores. */
  readonly stores: (names: ReadonlyArray<StoreName>) => ReadonlyArray<StoreId>
}

export const idsOf = ([china, europe, gulf]: DemoStores): Ids => {
  const byName = { china: china.id, europe: europe.id, gulf: gulf.id }
  return {
    entity: (kind, name) => EntityId.make(uuidOf(europe.id, `${kind}/${name}`)),
    store: (name) => byName[name],
    stores: (names) => storeNames.filter((name) => names.includes(name)).map((name) => byName[name])
  }
}

interface DemoMedia {
  readonly file: string
  readonly mimeType: string
  readonly alt: string
  readonly stores: ReadonlyArray<StoreName>
}

interface DemoProduct {
  readonly handle: string
  readonly title: string
  readonly text: string
  readonly family: ProductFamily
  readonly stores: ReadonlyArray<StoreName>
  /** A variant's name is the handle of the product and the position of the variant, for example `kestrel-20/0`. */
  readonly variants: ReadonlyArray<{ readonly name: string; readonly values: Values }>
  readonly gallery: ReadonlyArray<DemoMedia>
}

const galleryOf = (handle: string, alt: string, own: ReadonlyArray<StoreName>): ReadonlyArray<DemoMedia> =>
  stories.withoutGallery.includes(handle)
    ? []
    : [
        {
          file: `${handle}.jpg`,
          mimeType: "image/jpeg",
          alt: stories.withoutAlt.includes(handle) ? "" : alt,
          stores: own
        },
        ...Object.entries(stories.moreMedia).flatMap(([file, { alt, mimeType, product, stores = own }]) =>
          product === handle ? [{ file, mimeType, alt, stores }] : []
        )
      ]

export const products = families.flatMap((family, familyIndex) =>
  Object.entries(family.products).map(([handle, product], index): DemoProduct => {
    const { price, stores = family.stores, text, title } = product
    const variants = stories.withoutVariants.includes(handle)
      ? []
      : variantValues(family, familyIndex + 1, index + 1, price)
    return {
      handle,
      title,
      text,
      family,
      stores,
      variants: variants.map((values, place) => ({
        name: `${handle}/${place}`,
        values: place === 0 ? { ...values, ...stories.firstVariantGaps[handle] } : values
      })),
      gallery: galleryOf(handle, `${title}, ${family.scene}`, stores)
    }
  })
)

/** The outcome of the first publish of a product to a store. */
export const firstPublishOf = (handle: string, store: StoreName): FirstPublish["outcome"] | "accepted" => {
  const { outcome, stores } = stories.firstPublishes[handle] ?? { outcome: "accepted" }
  return stores === undefined || stores.includes(store) ? outcome : "accepted"
}

export const collections = Object.entries(stories.collections).map(([handle, { stores, tag, text, title }]) => ({
  handle,
  title,
  text,
  stores,
  banner: { file: `banner-${handle}.jpg`, mimeType: "image/jpeg", alt: `Banner of ${title}`, stores },
  members: products
    .filter(({ family }) => family.tags.includes(tag))
    .filter((product) =>
      stores.every((store) => product.stores.includes(store) && firstPublishOf(product.handle, store) === "accepted")
    )
    .map((product) => product.handle)
}))

const unusedMedia = Object.entries(stories.moreMedia).flatMap(
  ([file, { alt, mimeType, product }]): ReadonlyArray<DemoMedia> =>
    product === null ? [{ file, mimeType, alt, stores: ["europe"] }] : []
)

const addToStores = (ids: Ids, entityId: EntityId, names: ReadonlyArray<StoreName>): Changes =>
  ids.stores(names).map((storeId) => CatalogChange.AddToStore({ entityId, storeId }))

const override = (ids: Ids, entityId: EntityId, store: StoreName, values: Values): Changes =>
  Object.values(values).every((value) => value === null)
    ? []
    : [CatalogChange.SetOverrides({ entityId, storeId: ids.store(store), values })]

const show = (ids: Ids, entityId: EntityId, media: ReadonlyArray<DemoMedia>): CatalogChange =>
  CatalogChange.SetGallery({
    entityId,
    entries: media.map(({ file, stores }) => ({ mediaId: ids.entity("media", file), storeIds: ids.stores(stores) }))
  })

const createMedia = (ids: Ids, { alt, file, mimeType, stores }: DemoMedia, index: number): Changes => {
  const id = ids.entity("media", file)
  const [kind] = mimeType.split("/")
  const [width, height] = kind === "image" ? ["2000", "1500"] : kind === "model" ? [null, null] : ["1920", "1080"]
  const values = {
    alt,
    url: `https://${kind === "text" ? "video.demo.example/embed" : "cdn.demo.example/tarn-and-tern"}/${file}`,
    mime_type: mimeType,
    width,
    height,
    file_size: kind === "text" ? null : String((kind === "image" ? 180_000 : 4_200_000) + index * 1_711),
    file_name: file
  }
  return [CatalogChange.CreateEntity({ id, kind: "media", parentId: null, values }), ...addToStores(ids, id, stores)]
}

/** The types of metafields. Metafields that are not listed are single-line texts. */
export const metafieldTypes: Readonly<Record<string, string>> = {
  "specs.fabric_weight_gsm": "number_decimal",
  "specs.season": "number_integer",
  "specs.hours": "number_integer",
  "specs.pages": "number_integer"
}

/** The canonical values of a new product. */
export const productValues = ({ family, handle, text, title }: DemoProduct): Values => {
  const options = Object.entries(family.options).map(([name, values]) => ({ name, values }))
  return {
    title,
    handle,
    description_html: `<p>${text}</p><p>${family.promise}</p>`,
    vendor: family.vendor,
    product_type: family.type,
    tags: JSON.stringify(family.tags),
    status: family.tags.includes("new") ? "draft" : "active",
    options: options.length > 0 ? JSON.stringify(options) : noOptions,
    seo_title: `${title} | ${family.vendor}`,
    seo_description: text,
    ...family.metafields,
    ...stories.productGaps[handle]
  }
}

const createProduct = (ids: Ids, product: DemoProduct): Changes => {
  const { gallery, handle, stores, variants } = product
  const id = ids.entity("product", handle)
  return [
    CatalogChange.CreateEntity({
      id,
      kind: "product",
      parentId: null,
      values: productValues(product),
      types: metafieldTypes
    }),
    ...addToStores(ids, id, stores),
    ...stores.flatMap((store) => override(ids, id, store, localValues(handle, store))),
    show(ids, id, gallery),
    ...variants.flatMap(({ name, values }, place) => {
      const variantId = ids.entity("variant", name)
      return [
        CatalogChange.CreateEntity({ id: variantId, kind: "variant", parentId: id, values }),
        ...addToStores(ids, variantId, stores),
        ...stores.flatMap((store) => override(ids, variantId, store, { price: localPrice(store, values.price) })),
        // The product's first picture shows the first variant.
        show(ids, variantId, place === 0 ? gallery.slice(0, 1) : [])
      ]
    })
  ]
}

/** The canonical values of a collection. */
export const collectionValues = ({ handle, text, title }: (typeof collections)[number]): Values => ({
  title,
  handle,
  description_html: `<p>${text}</p>`,
  sort_order: "manual",
  seo_title: `${title} | Tarn & Tern`,
  seo_description: text
})

const setMembers = (ids: Ids, handle: string, members: ReadonlyArray<string>): CatalogChange =>
  CatalogChange.SetMembers({
    collectionId: ids.entity("collection", handle),
    productIds: members.map((member) => ids.entity("product", member))
  })

const createCollection = (ids: Ids, collection: (typeof collections)[number]) => {
  const { banner, handle, members, stores } = collection
  const id = ids.entity("collection", handle)
  const values = collectionValues(collection)
  return [
    CatalogChange.CreateEntity({ id, kind: "collection", parentId: null, values }),
    ...addToStores(ids, id, stores),
    show(ids, id, [banner]),
    setMembers(ids, handle, members)
  ]
}

const publish = (
  ids: Ids,
  entityId: EntityId,
  store: StoreName,
  outcome: ReturnType<typeof firstPublishOf>
): Changes => {
  const version = { entityId, storeId: ids.store(store) }
  switch (outcome) {
    case "not requested":
      return []
    case "requested":
      return [CatalogChange.RequestPublish(version)]
    case "accepted":
      return [CatalogChange.AcceptPublish(version)]
    default:
      return [CatalogChange.RefusePublish({ ...version, error: outcome })]
  }
}

/** Publishes a product. Its first publish includes the variants and the gallery on the store, so all have the same outcome. */
const publishProduct = (ids: Ids, { gallery, handle, stores, variants }: DemoProduct): Changes =>
  stores.flatMap((store) =>
    [
      ...gallery.filter((media) => media.stores.includes(store)).map(({ file }) => ids.entity("media", file)),
      ...variants.map(({ name }) => ids.entity("variant", name)),
      ids.entity("product", handle)
    ].flatMap((id) => publish(ids, id, store, firstPublishOf(handle, store)))
  )

const publishCollection = (ids: Ids, { banner, handle, members, stores }: (typeof collections)[number]): Changes =>
  members.length === 0
    ? []
    : stores.flatMap((store) =>
        [ids.entity("media", banner.file), ids.entity("collection", handle)].flatMap((id) =>
          publish(ids, id, store, "accepted")
        )
      )

const edit = (ids: Ids, { of, product, store, values }: Edit): Changes => {
  const entityId = of === "variant" ? ids.entity("variant", `${product}/0`) : ids.entity("product", product)
  return store === undefined
    ? [CatalogChange.SetAttributes({ entityId, values })]
    : override(ids, entityId, store, values)
}

/**
 * The catalog of the demo as lists of changes: media, products, collections, first publishes, and later edits and publishes.
 * The same stores always give the same changes.
 */
export const demoChanges = (stores: DemoStores): ReadonlyArray<Changes> => {
  const ids = idsOf(stores)
  const media = [
    ...products.flatMap(({ gallery }) => gallery),
    ...unusedMedia,
    ...collections.map(({ banner }) => banner)
  ]
  return [
    media.flatMap((file, index) => createMedia(ids, file, index)),
    products.flatMap((product) => createProduct(ids, product)),
    collections.flatMap((collection) => createCollection(ids, collection)),
    [
      ...products.flatMap((product) => publishProduct(ids, product)),
      ...collections.flatMap((collection) => publishCollection(ids, collection))
    ],
    [
      ...stories.edits.flatMap((change) => edit(ids, change)),
      ...Object.entries(stories.laterAlts).map(([file, alt]) =>
        CatalogChange.SetAttributes({ entityId: ids.entity("media", file), values: { alt } })
      ),
      ...collections.flatMap(({ handle, members }) => {
        const added = stories.laterMembers[handle]
        return added === undefined ? [] : [setMembers(ids, handle, [...members, ...added])]
      }),
      ...stories.laterPublishes.flatMap(({ error, product, stores: names }) =>
        names.flatMap((store) => publish(ids, ids.entity("product", product), store, error ?? "requested"))
      )
    ]
  ]
}

const dayMicros = 86_400_000_000

/** A drop of the demo. `isOver`: the drop has ended and its changes were reverted. */
interface DemoDrop {
  readonly id: DropId
  readonly planned: PlannedDrop
  readonly isOver: boolean
}

/** The drops of the demo: one has ended, one is in the far future. The store has accepted the products of both. */
export const demoDrops = (stores: DemoStores, now: Timestamp): ReadonlyArray<DemoDrop> => {
  const { entity, store } = idsOf(stores)
  const days = (count: number) => plusMicros(now, count * dayMicros)
  const id = (name: string) => DropId.make(uuidOf(stores[1].id, `drop/${name}`))
  return [
    {
      id: id("open-hut-weekend"),
      isOver: true,
      planned: {
        name: "Open hut weekend",
        starts_at: days(-30),
        ends_at: days(-28),
        timezone: "Europe/Berlin",
        changes: [
          {
            entity_id: entity("product", "kestrel-20"),
            entity_type: "product",
            store_id: store("europe"),
            field: "title",
            value: "Kestrel 20 Daypack: open hut weekend"
          }
        ]
      }
    },
    {
      id: id("first-snow-prices"),
      isOver: false,
      planned: {
        name: "First snow prices",
        starts_at: days(90),
        ends_at: days(104),
        timezone: "Europe/Berlin",
        changes: [
          {
            entity_id: entity("variant", "kestrel-20/0"),
            entity_type: "variant",
            store_id: store("europe"),
            field: "price",
            value: "74.00"
          },
          {
            entity_id: entity("product", "kestrel-20"),
            entity_type: "product",
            store_id: null,
            field: "seo_description",
            value: "First snow, last of the summer stock: two weeks only."
          }
        ]
      }
    }
  ]
}
