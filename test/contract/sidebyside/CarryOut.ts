import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option, Redacted } from "effect"
import { ownersOf } from "../../../src/drafts/CatalogChange.ts"
import { maxHistoryEntries } from "../../../src/drafts/History.ts"
import { Drops } from "../../../src/drops/Drops.ts"
import { ChangeFeed } from "../../../src/feed/ChangeFeed.ts"
import type { FeedChange } from "../../../src/feed/FeedChange.ts"
import type { FeedPart } from "../../../src/feed/FeedRepo.ts"
import { Imports } from "../../../src/imports/Imports.ts"
import type { EntityKind } from "../../../src/model/Attribute.ts"
import { type AccountId, type ApiKeyId, type DropId, EntityId, type ImportId, StoreId } from "../../../src/model/Ids.ts"
import type { Timestamp } from "../../../src/model/Timestamp.ts"
import {
  ApiKeys,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Programs,
  Publishing,
  Stores
} from "../../../src/testing/index.ts"
import { type Change, csvOf, kinds, type Operation } from "./Operations.ts"
import type { ServiceOperation } from "./ServiceOperations.ts"

/** The ids that operations choose from; all implementations have the same ones. */
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
  /** Imports; one under review is the first. */
  readonly importIds: ReadonlyArray<ImportId>
  /** Cursors from earlier lists. */
  readonly cursors: ReadonlyArray<string>
  /** Cursors from earlier pages of the feed. */
  readonly feedCursors: ReadonlyArray<string>
  readonly dropIds: ReadonlyArray<DropId>
  /** The next ids for new entities. */
  readonly fresh: ReadonlyArray<EntityId>
}

export const picked = <A>(items: ReadonlyArray<A>, pick: number): A | undefined =>
  items[pick % Math.max(1, items.length)]
export const unknown = EntityId.make("00000000-0000-4000-8000-00000000dead")

const changesOf = (world: World, described: ReadonlyArray<Change>): ReadonlyArray<CatalogChange> => {
  const known = world.entities.map(({ id, kind }) => ({ id, kind }))
  const ofKind = (kind: EntityKind, pick: number) => {
    const some = known.filter((each) => each.kind === kind)
    return picked(some, pick)?.id ?? unknown
  }
  const any = (pick: number) => picked(known, pick)?.id ?? unknown
  // Before the first store is linked, an unknown id is used.
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
        return CatalogChange.RequestPublish({ entityId: any(each.entity), storeId: store(each.store) })
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

const quiet = () => Effect.void
const takeStore = { rest: "take_store" } as const

/**
 * Executes an operation on one implementation. Returns the answer without the token of a key, which differs between
 * implementations.
 */
export const carryOut = (operation: Operation, world: World) =>
  Effect.gen(function* () {
    const imports = yield* Imports
    const keys = yield* ApiKeys
    const stores = yield* Stores
    switch (operation.do) {
      case "apply":
        return yield* (yield* CatalogChanges).apply(changesOf(world, operation.changes))
      case "link":
        return yield* stores.link({
          domain: operation.domain,
          currency: operation.currency ?? undefined,
          platform: operation.platform
        })
      case "unlink":
        return yield* stores.unlink(operation.domain)
      case "import": {
        const path = join(world.folder, "export.csv")
        yield* Effect.sync(() => writeFileSync(path, `${csvOf(operation.rows)}\n`))
        const run = yield* imports.csv(path, operation.domain, quiet)
        return operation.andThen === "accept"
          ? yield* imports.accept(run.id, quiet, takeStore)
          : operation.andThen === "discard"
            ? yield* imports.discard(run.id)
            : run
      }
      case "accept":
      case "discard": {
        const id = picked(world.importIds, operation.isOpen ? 0 : operation.run)
        if (id === undefined) return
        return operation.do === "accept" ? yield* imports.accept(id, quiet, takeStore) : yield* imports.discard(id)
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

/** The changes of each entity in their order. Those of different entities have no order within a step of a job that links a store. */
const changesByEntity = ({ changes, ...ends }: FeedPart) => {
  const byEntity: Record<string, ReadonlyArray<Omit<FeedChange, "seq">>> = {}
  for (const { seq: _, ...change } of changes)
    byEntity[change.entity.id] = [...(byEntity[change.entity.id] ?? []), change]
  return { byEntity, ...ends }
}

const reads = ["list", "version", "wait", "createKey", "revokeKey", "scan", "issues", "feed"]

/** Existing entities whose details an operation may have changed. New ones are not included yet. */
const touchedBy = (operation: Operation | ServiceOperation, world: World): ReadonlySet<EntityId> =>
  new Set(
    operation.do === "apply"
      ? changesOf(world, operation.changes).flatMap(ownersOf)
      : reads.includes(operation.do)
        ? []
        : world.entities.map(({ id }) => id)
  )

/**
 * Reads all rows, the other data of an account, and the details of the changed entities; without an operation, of all
 * entities.
 */
export const observe = (world: World, token: string, operation?: Operation | ServiceOperation) =>
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const programs = yield* Programs
    const keys = yield* ApiKeys
    const drafts = yield* Drafts
    const publishing = yield* Publishing
    const rows = yield* Effect.forEach(kinds, (kind) =>
      Effect.map(catalog.list(kind, { limit: 250 }), ({ text }) => JSON.parse(text) as Page)
    )
    const touched = operation === undefined ? undefined : touchedBy(operation, world)
    const known = rows.flatMap(({ data }) => data).filter(({ id }) => touched?.has(id) ?? true)
    return {
      rows,
      records: yield* Effect.forEach(known, ({ id, type }) =>
        Effect.all({
          record: catalog.get(type, id),
          versions: catalog.versions(type, id),
          history: drafts.history(id, maxHistoryEntries),
          sheet: Effect.map(drafts.sheet(id), ({ rules: _, ...sheet }) => sheet)
        })
      ),
      drops: yield* (yield* Drops).list,
      feed: changesByEntity(yield* (yield* ChangeFeed).read(world.accountId, 0, 10_000)),
      failures: yield* publishing.failures(100),
      stores: yield* programs.listStores(),
      // The last use is recorded in the background at an unknown time.
      keys: (yield* keys.list(world.accountId)).map(({ lastFour: _, lastUsedAt: __, ...key }) => key),
      imports: yield* (yield* Imports).list,
      version: Option.getOrThrow(yield* keys.versionOf(Option.getOrThrow(yield* keys.authenticate(token))))
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
