import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option, Redacted } from "effect"
import * as fc from "fast-check"
import type { EntityKind } from "../../../src/domain/Attribute.ts"
import { ownersOf } from "../../../src/domain/CatalogChange.ts"
import { type AccountId, type ApiKeyId, EntityId, type ImportId, StoreId } from "../../../src/domain/Ids.ts"
import type { PublishStatus } from "../../../src/domain/PublishState.ts"
import type { Timestamp } from "../../../src/domain/Timestamp.ts"
import { Imports } from "../../../src/services/Imports.ts"
import { ApiKeys, Catalog, CatalogChange, CatalogChanges, makePrograms, Stores } from "../../../src/testing/index.ts"

export const kinds = ["product", "variant", "collection", "media"] as const
export const domains = ["b.example", "a.example", "b-c.example", "ab.example"]

/** What the operations choose from: what the sides agree to have. */
export interface World {
  readonly accountId: AccountId
  readonly folder: string
  readonly entities: ReadonlyArray<{
    readonly id: EntityId
    readonly kind: EntityKind
    readonly parentId: EntityId | null
    readonly updatedAt: Timestamp
  }>
  /** Every store that was ever linked. */
  readonly storeIds: ReadonlyArray<StoreId>
  readonly keyIds: ReadonlyArray<ApiKeyId>
  /** One under review before all others. */
  readonly importIds: ReadonlyArray<ImportId>
  /** Cursors that lists gave. */
  readonly cursors: ReadonlyArray<string>
  /** Ids for new entities: the next ones. */
  readonly fresh: ReadonlyArray<EntityId>
}

const nat = fc.nat({ max: 10_000 })
const picked = <A>(items: ReadonlyArray<A>, pick: number): A | undefined => items[pick % Math.max(1, items.length)]
const unknown = EntityId.make("00000000-0000-4000-8000-00000000dead")

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

/** One change, its entities and stores by place: of what there is when it is carried out. */
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
type Change = typeof change extends fc.Arbitrary<infer A> ? A : never

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

/** What is done between two comparisons. */
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
      currency: fc.option(fc.constantFrom("EUR", "CHF"))
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
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait" as const), millis: fc.constantFrom(1, 60_000) }) }
)
export type Operation = typeof operation extends fc.Arbitrary<infer A> ? A : never

/** What every sequence begins with: two stores, and on both an entity of each kind. */
export const beginning: ReadonlyArray<Operation> = [
  { do: "link", domain: "b.example", currency: null },
  { do: "link", domain: "a.example", currency: "EUR" },
  ...kinds.flatMap(
    (kind, entity): ReadonlyArray<Operation> => [
      { do: "apply", changes: [{ tag: "create", kind, title: "Boots", sku: "B-S", of: 0 }] },
      { do: "apply", changes: [0, 1].map((store) => ({ tag: "join", entity, store })) }
    ]
  )
]

/** What every sequence ends with, whatever came before: an import, and a store that is unlinked and linked again. */
export const ending: ReadonlyArray<Operation> = [
  { do: "discard", isOpen: true, run: 0 },
  { do: "link", domain: "b.example", currency: null },
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
  { do: "link", domain: "b.example", currency: "CHF" }
]

const changesOf = (world: World, described: ReadonlyArray<Change>): ReadonlyArray<CatalogChange> => {
  const known = world.entities.map(({ id, kind }) => ({ id, kind }))
  const ofKind = (kind: EntityKind, pick: number) => {
    const some = known.filter((each) => each.kind === kind)
    return picked(some, pick)?.id ?? unknown
  }
  const any = (pick: number) => picked(known, pick)?.id ?? unknown
  // Before the first one is linked there is none to name.
  const store = (pick: number) => picked(world.storeIds, pick) ?? StoreId.make(unknown)
  const one = (each: Change, index: number): CatalogChange => {
    switch (each.tag) {
      case "create": {
        const id = world.fresh[index] ?? unknown
        const parentId = each.kind === "variant" ? ofKind("product", each.of) : null
        known.push({ id, kind: each.kind })
        const values = { title: each.title, sku: each.sku, handle: each.title }
        return CatalogChange.CreateEntity({ id, kind: each.kind, parentId, values })
      }
      case "set":
        return CatalogChange.SetAttributes({ entityId: any(each.entity), values: { [each.key]: each.value } })
      case "override":
        return CatalogChange.SetOverrides({
          entityId: any(each.entity),
          storeId: store(each.store),
          values: { [each.key]: each.value }
        })
      case "join":
        return CatalogChange.AddToStore({ entityId: any(each.entity), storeId: store(each.store) })
      case "leave":
        return CatalogChange.RemoveFromStore({ entityId: any(each.entity), storeId: store(each.store) })
      case "accept":
        return CatalogChange.AcceptPublish({ entityId: any(each.entity), storeId: store(each.store) })
      case "refuse":
        return CatalogChange.RefusePublish({
          entityId: any(each.entity),
          storeId: store(each.store),
          error: { code: "busy", message: "Busy" }
        })
      case "ask":
        return CatalogChange.AskPublish({ entityId: any(each.entity), storeId: store(each.store) })
      case "gallery":
        return CatalogChange.SetGallery({
          entityId: any(each.entity),
          entries: each.media.map(([media, stores]) => ({
            mediaId: ofKind("media", media),
            storeIds: [...new Set(stores.map(store))]
          }))
        })
      case "members":
        return CatalogChange.SetMembers({
          collectionId: ofKind("collection", each.entity),
          productIds: [...new Set(each.products.map((pick) => ofKind("product", pick)))]
        })
      case "order": {
        const productId = ofKind("product", each.entity)
        const variants = world.entities.filter(({ parentId }) => parentId === productId).map(({ id }) => id)
        return CatalogChange.OrderVariants({ productId, variantIds: each.isTurned ? variants.reverse() : variants })
      }
    }
  }
  return described.map(one)
}

const quoted = (cell: string) => (cell.includes(",") && !cell.startsWith('"') ? `"${cell}"` : cell)

/** A Shopify export of these products. */
const csvOf = (rows: ReadonlyArray<typeof csvRow extends fc.Arbitrary<infer A> ? A : never>) =>
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

const quiet = () => Effect.void

/** Carries an operation out on one side; what it answers. A key's token differs from side to side: it is left out. */
export const carryOut = (operation: Operation, world: World) =>
  Effect.gen(function* () {
    const imports = yield* Imports
    const keys = yield* ApiKeys
    const stores = yield* Stores
    switch (operation.do) {
      case "apply":
        return yield* (yield* CatalogChanges).apply(changesOf(world, operation.changes))
      case "link":
        return yield* stores.link({ domain: operation.domain, currency: operation.currency ?? undefined })
      case "unlink":
        return yield* stores.unlink(operation.domain)
      case "import": {
        const path = join(world.folder, "export.csv")
        yield* Effect.sync(() => writeFileSync(path, `${csvOf(operation.rows)}\n`))
        const run = yield* imports.csv(path, operation.domain, quiet)
        return operation.andThen === "accept"
          ? yield* imports.accept(run.id, quiet)
          : operation.andThen === "discard"
            ? yield* imports.discard(run.id)
            : run
      }
      case "accept":
      case "discard": {
        const id = picked(world.importIds, operation.isOpen ? 0 : operation.run)
        if (id === undefined) return
        return operation.do === "accept" ? yield* imports.accept(id, quiet) : yield* imports.discard(id)
      }
      case "createKey": {
        const {
          lastFour: _,
          token,
          ...created
        } = yield* keys.create(world.accountId, {
          name: operation.name,
          scopes: [operation.scope],
          expiresAt: operation.isExpired ? (picked(world.entities, 0)?.updatedAt ?? null) : null
        })
        return { ...created, opens: Option.isSome(yield* keys.authenticate(Redacted.value(token))) }
      }
      case "revokeKey": {
        const id = picked(world.keyIds, operation.key)
        return id === undefined ? undefined : yield* keys.revoke(world.accountId, id)
      }
      case "list": {
        const request = {
          limit: operation.limit,
          cursor: operation.cursor === null ? undefined : picked(world.cursors, operation.cursor),
          status: operation.status ?? undefined,
          search: operation.search ?? undefined,
          updated_since: operation.since === null ? undefined : picked(world.entities, operation.since)?.updatedAt,
          collection_id:
            operation.kind !== "product" || operation.collection === null
              ? undefined
              : picked(
                  world.entities.filter(({ kind }) => kind === "collection"),
                  operation.collection
                )?.id
        }
        const { text } = yield* (yield* Catalog).list(operation.kind, request)
        return JSON.parse(text) as { readonly next_cursor: string | null }
      }
      case "version": {
        const entity = picked(world.entities, operation.entity)
        const storeId = picked(world.storeIds, operation.store)
        if (entity === undefined || storeId === undefined) return
        return yield* (yield* Catalog).version(entity.kind, entity.id, storeId)
      }
      case "wait":
        return
    }
  })

/** The entities whose details an operation may have changed; those that it made are not among them yet. */
const touchedBy = (operation: Operation, world: World): ReadonlySet<EntityId> =>
  new Set(
    operation.do === "apply"
      ? changesOf(world, operation.changes).flatMap(ownersOf)
      : ["list", "version", "wait", "createKey", "revokeKey"].includes(operation.do)
        ? []
        : world.entities.map(({ id }) => id)
  )

/** Every row, what else an account shows, and the details of what an operation touched; without one, of everything. */
export const observe = (world: World, token: string, operation?: Operation) =>
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const programs = yield* makePrograms
    const keys = yield* ApiKeys
    const rows = yield* Effect.forEach(kinds, (kind) =>
      Effect.map(catalog.list(kind, { limit: 250 }), ({ text }) => JSON.parse(text) as Page)
    )
    const touched = operation === undefined ? undefined : touchedBy(operation, world)
    const known = rows.flatMap(({ data }) => data).filter(({ id }) => touched?.has(id) ?? true)
    return {
      rows,
      records: yield* Effect.forEach(known, ({ id, type }) =>
        Effect.all({ record: catalog.get(type, id), versions: catalog.versions(type, id) })
      ),
      stores: yield* programs.listStores(),
      // The last use is recorded in the background, whenever that is.
      keys: (yield* keys.list(world.accountId)).map(({ lastFour: _, lastUsedAt: __, ...key }) => key),
      imports: yield* (yield* Imports).list,
      version: Option.getOrThrow(yield* keys.authenticate(token)).accountVersion
    }
  })

interface Page {
  readonly data: ReadonlyArray<{
    readonly id: EntityId
    readonly type: EntityKind
    readonly product_id?: EntityId
    readonly updated_at: Timestamp
  }>
}
