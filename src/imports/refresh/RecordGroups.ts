import { Array as Arr, Chunk, Effect, Option, Stream } from "effect"
import type { AccountId, EntityId, ImportId } from "../../model/Ids.ts"
import { partsAtOnce } from "../ImportStaging.ts"
import type { PulledRecord } from "../PulledRecord.ts"
import type { PulledRecordsRepo } from "../PulledRecordsRepo.ts"
import type { StoreEntity, StoreVariant } from "../StoreProduct.ts"

/** A product with its variants, a collection or a file. */
export type RecordGroup = readonly [root: PulledRecord, ...variants: ReadonlyArray<PulledRecord>]

export const toStoreEntity = ({ attributes, entityId, platformId, saidId }: PulledRecord): StoreEntity => ({
  values: Object.fromEntries(Object.entries(attributes).map(([key, { value }]) => [key, value])),
  // The types of built-in keys are fixed.
  types: Object.fromEntries(
    Object.entries(attributes).flatMap(([key, { type }]) => (key.includes(".") ? [[key, type]] : []))
  ),
  platformId,
  isOurs: saidId !== null && saidId === entityId
})

/** The entities of a record's relationships. Leaves out related records that were created too late to be read. */
export const findRelated = (
  { related }: PulledRecord,
  entityIds: ReadonlyMap<string, EntityId>
): ReadonlyArray<EntityId> => [...new Set(related)].flatMap((platformId) => entityIds.get(platformId) ?? [])

/** The picture of a variant's record. null: none. undefined: unknown. */
const findPicture = (
  { related: [platformId] }: PulledRecord,
  entityIds: ReadonlyMap<string, EntityId>
): EntityId | null | undefined =>
  platformId === undefined ? undefined : platformId === "" ? null : entityIds.get(platformId)

export const toStoreVariant = (record: PulledRecord, entityIds: ReadonlyMap<string, EntityId>): StoreVariant => {
  const picture = findPicture(record, entityIds)
  return {
    ...toStoreEntity(record),
    entityId: record.entityId,
    imageUrl: null,
    ...(picture === undefined ? {} : { picture })
  }
}

/** The platform ids that the records of these groups refer to. */
export const relatedIn = (groups: ReadonlyArray<RecordGroup>): ReadonlyArray<string> =>
  groups.flatMap((group) => group.flatMap(({ related }) => related)).filter((platformId) => platformId !== "")

const readRecords = (pulled: PulledRecordsRepo["Type"], accountId: AccountId, id: ImportId) =>
  Stream.paginateChunkEffect(null as { readonly root: number; readonly ordinal: number } | null, (after) =>
    Effect.map(pulled.page(accountId, id, after, partsAtOnce), (page) => [
      Chunk.unsafeFromArray([...page]),
      page.length < partsAtOnce ? Option.none() : Option.fromNullable(page.at(-1))
    ])
  )

/** The staged records in the order in which they were read, with each product's variants in the group of the product. */
export const readGroups = (
  pulled: PulledRecordsRepo["Type"],
  accountId: AccountId,
  id: ImportId
): Stream.Stream<RecordGroup> =>
  readRecords(pulled, accountId, id).pipe(
    Stream.map(Option.some),
    Stream.concat(Stream.succeed(Option.none<PulledRecord>())),
    Stream.mapAccum(
      null as RecordGroup | null,
      (group, record): readonly [RecordGroup | null, Option.Option<RecordGroup>] =>
        Option.match(record, {
          onNone: () => [null, Option.fromNullable(group)],
          onSome: (next) =>
            group !== null && next.root === group[0].root
              ? [[...group, next], Option.none()]
              : [[next], Option.fromNullable(group)]
        })
    ),
    Stream.filterMap((group) => group)
  )

/** Groups records that are in the order in which they were read. */
export const groupRecords = (records: ReadonlyArray<PulledRecord>): ReadonlyArray<RecordGroup> =>
  Arr.isNonEmptyReadonlyArray(records) ? Arr.groupWith(records, (left, right) => left.root === right.root) : []
