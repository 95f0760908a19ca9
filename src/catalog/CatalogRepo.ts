import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import { DirectQuery } from "../database/DirectQuery.ts"
import { isDistributedAtStart } from "../database/Distribution.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { makeCatalogDetails } from "./CatalogDetails.sql.ts"
import { makeCatalogLists } from "./CatalogLists.sql.ts"
import { makeCatalogLookUps } from "./CatalogLookUps.sql.ts"
import { makeCatalogProjections } from "./CatalogProjections.sql.ts"
import type {
  IdentifiedProjections,
  LimitedRow,
  ListFilters,
  ProjectionsRecord,
  RelatedPage,
  RelatedPlace,
  RowPage,
  VersionsRecord
} from "./CatalogRows.ts"
import type { EntityRecord, Include } from "./Entity.ts"
import { makeLimitedReads } from "./LimitedRows.sql.ts"

/** Reads of products, variants, collections and media. */
export class CatalogRepo extends Context.Tag("catalog/CatalogRepo")<
  CatalogRepo,
  {
    /** Up to `limit` rows whose change_seq is greater than `after` (0: from the start), ordered by change_seq. */
    readonly page: (
      accountId: AccountId,
      kind: EntityKind,
      filters: ListFilters,
      after: number,
      limit: number
    ) => Effect.Effect<RowPage>
    /** As `page`, with these groups of the details in each row (`includedOf`), and at most `maxPageBytes`. */
    readonly includingPage: (
      accountId: AccountId,
      kind: EntityKind,
      include: ReadonlyArray<Include>,
      filters: ListFilters,
      after: number,
      limit: number
    ) => Effect.Effect<RowPage>
    /** A page of all kinds together, ordered by change_seq. */
    readonly pageOfAll: (
      accountId: AccountId,
      filters: Omit<ListFilters, "collectionId">,
      after: number,
      limit: number
    ) => Effect.Effect<RowPage>
    readonly find: (accountId: AccountId, kind: EntityKind, id: EntityId) => Effect.Effect<Option.Option<EntityRecord>>
    /**
     * The state and the search text of these entities, computed from these stores only. Entities that only other
     * stores have are left out.
     */
    readonly limitedTo: (
      accountId: AccountId,
      stores: ReadonlyArray<StoreId>,
      ids: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyMap<EntityId, LimitedRow>>
    /** The kind of an entity. None: the account has no such entity. */
    readonly kindOf: (accountId: AccountId, id: EntityId) => Effect.Effect<Option.Option<EntityKind>>
    /** Variants with this canonical SKU, ordered by id. */
    readonly withSku: (accountId: AccountId, sku: string) => Effect.Effect<ReadonlyArray<EntityId>>
    /** Products and collections with this canonical handle, ordered by kind, then id. */
    readonly withHandle: (
      accountId: AccountId,
      handle: string
    ) => Effect.Effect<ReadonlyArray<{ readonly id: EntityId; readonly kind: EntityKind }>>
    /**
     * Locks a handle of the account until the transaction ends, whether or not an entity has it. Only creations that look for a free
     * handle take this lock, so it delays no other write.
     */
    readonly lockHandle: (accountId: AccountId, handle: string) => Effect.Effect<void>
    /**
     * The variants of those of these entities that are on the store (`isThere`), or not on it (`isThere` false), and the media in their
     * galleries and in those of their variants, each once.
     */
    readonly partsOnStore: (
      accountId: AccountId,
      storeId: StoreId,
      ids: ReadonlyArray<EntityId>,
      isThere: boolean
    ) => Effect.Effect<ReadonlyArray<EntityId>>
    /**
     * Those of these media that an entity on the store shows there in its gallery. Galleries of `except` do not count. With `variantsOf`, only
     * those of the variants of this product do.
     */
    readonly mediaShownByOthers: (
      accountId: AccountId,
      storeId: StoreId,
      mediaIds: ReadonlyArray<EntityId>,
      except: ReadonlyArray<EntityId>,
      variantsOf?: EntityId
    ) => Effect.Effect<ReadonlyArray<EntityId>>
    /**
     * List rows of related entities, after a place: variants of a product by position; media in gallery order;
     * collections by id; products (the product of a variant, the members of a collection by position). For a media file, each list
     * has the entities that use the file, by id. Empty if the entity does not exist. If the entity at `after` has another position now,
     * the rows after that position. If it is gone, the rows from its position on.
     */
    readonly related: (
      accountId: AccountId,
      id: EntityId,
      after: RelatedPlace,
      limit: number
    ) => Effect.Effect<RelatedPage>
    /** Number of members of a collection before this one. 0: it is the first, or no member. */
    readonly membersBefore: (accountId: AccountId, collectionId: EntityId, productId: EntityId) => Effect.Effect<number>
    /** The store versions of an entity, ordered by domain. `storeId`: only the version on this store. */
    readonly versions: (
      accountId: AccountId,
      kind: EntityKind,
      id: EntityId,
      storeId?: StoreId
    ) => Effect.Effect<Option.Option<VersionsRecord>>
    /** As `versions`, with all data that a publish sends and the values that each store accepted last. */
    readonly projections: (
      accountId: AccountId,
      kind: EntityKind,
      id: EntityId,
      storeId?: StoreId
    ) => Effect.Effect<Option.Option<ProjectionsRecord>>
    /** As `projections`, of these entities of a kind, in this order and at one moment. Unknown ids are left out. */
    readonly projectionsOfAll: (
      accountId: AccountId,
      kind: EntityKind,
      ids: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyArray<IdentifiedProjections>>
    /** The platform id of an entity on a store (null: unknown). None: no such entity, or it is not on that store. */
    readonly onStore: (
      accountId: AccountId,
      kind: EntityKind,
      id: EntityId,
      storeId: StoreId
    ) => Effect.Effect<Option.Option<{ readonly platformId: string | null }>>
    /** The key that signs cursors. There is one for the whole database. */
    readonly cursorKey: Effect.Effect<Uint8Array>
  }
>() {
  static readonly layer = Layer.effect(
    CatalogRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return {
        ...makeCatalogLists(sql, yield* DirectQuery, yield* isDistributedAtStart),
        ...makeCatalogDetails(sql),
        ...makeCatalogLookUps(sql),
        ...makeLimitedReads(sql),
        ...makeCatalogProjections(sql),
        cursorKey: sql`SELECT cursor_key AS key FROM installation`.pipe(
          Effect.flatMap(Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ key: Schema.Uint8ArrayFromSelf })))),
          Effect.map(([{ key }]) => key),
          orDie
        )
      }
    })
  )
}

/** Look-ups of entities and of what belongs to them. */
export type CatalogLookUps = Pick<
  CatalogRepo["Type"],
  | "kindOf"
  | "lockHandle"
  | "mediaShownByOthers"
  | "membersBefore"
  | "partsOnStore"
  | "related"
  | "withHandle"
  | "withSku"
>
