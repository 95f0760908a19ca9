import { Schema } from "effect"
import { type MerchantFilters, merchantStates, missingFields } from "../catalog/MerchantLists.ts"
import { EntityKind } from "../model/Attribute.ts"
import { type EntityId, StoreId } from "../model/Ids.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** The filters of a list, as the input of a job stores them. */
const StoredFilters = Schema.Struct({
  search: optional(Schema.String),
  storeId: optional(StoreId),
  state: optional(Schema.Literal(...merchantStates, "absent")),
  vendor: optional(Schema.String),
  productType: optional(Schema.String),
  tag: optional(Schema.String),
  hasOwnValues: optional(Schema.Boolean),
  missing: optional(Schema.Literal(...missingFields))
})

/** The entities that a job finds by itself: those of these kinds that the filters of a list find. */
export const FoundEntities = Schema.Struct({ kinds: Schema.Array(EntityKind), filters: StoredFilters })
export type FoundEntities = typeof FoundEntities.Type

/** The same as `FoundEntities`, without filters that are undefined. */
export const foundEntities = <const Kinds extends FoundEntities["kinds"]>(kinds: Kinds, filters: MerchantFilters) => {
  const { hasOwnValues, missing, productType, search, state, storeId, tag, vendor } = filters
  return {
    kinds,
    filters: {
      ...(search !== undefined && { search }),
      ...(storeId !== undefined && { storeId }),
      ...(state !== undefined && { state }),
      ...(vendor !== undefined && { vendor }),
      ...(productType !== undefined && { productType }),
      ...(tag !== undefined && { tag }),
      ...(hasOwnValues !== undefined && { hasOwnValues }),
      ...(missing !== undefined && { missing })
    }
  } satisfies FoundEntities
}

/** Where a walk by id continues. `limit`: the maximum number of found entities; `looked`: of entities that are looked at. */
export interface WalkPlace {
  readonly after: EntityId
  readonly looked: number
  readonly limit: number
}

/** The found entities of one statement, by id. `next`: the id after which the walk continues; null: it has ended. */
export interface FoundPage {
  readonly ids: ReadonlyArray<EntityId>
  readonly next: EntityId | null
}

/** Entities that a step of a job looks at for each item that it would process. Most of them may not match the filters. */
export const lookedPerItem = 5

/** The page of entities that were looked at in the order of their ids. */
export const pageOf = (
  seen: ReadonlyArray<{ readonly id: EntityId; readonly fits: boolean }>,
  { limit, looked }: WalkPlace
): FoundPage => {
  const ids = seen.flatMap(({ fits, id }) => (fits ? [id] : []))
  if (ids.length > limit) return { ids: ids.slice(0, limit), next: ids[limit - 1] ?? null }
  return { ids, next: seen.length < looked ? null : (seen.at(-1)?.id ?? null) }
}
