import type { Aggregate } from "../catalog/Aggregate.ts"
import type { EntityId } from "../model/Ids.ts"
import { sameJson } from "../model/SameJson.ts"
import type { Plan } from "./CatalogChange.ts"

/** The columns of an entity's row that a plan can change. */
export const entityRow = ({
  attributes,
  gallery,
  id,
  kind,
  lastPublishStatus,
  pendingPublish,
  position,
  searchText,
  storeIds
}: Aggregate) => ({
  id,
  attributes,
  position,
  pendingPublish,
  lastPublishStatus,
  storeIds,
  searchText,
  lacksPictures: kind === "product" && gallery.length === 0
})

/** An update of an entity's row. A column that is absent does not change. */
export interface EntityUpdate extends Partial<ReturnType<typeof entityRow>> {
  readonly id: EntityId
  /** The number that is added to the draft's revision. */
  readonly revisions: 0 | 1
  /** Position among the entities that get a new change_seq, from 1. */
  readonly n?: number | undefined
}

/** The positions of the entities that get a new change_seq, from 1. */
export const placesOf = ({ stamped }: Plan): ReadonlyMap<EntityId, number> =>
  new Map(stamped.map((id, index) => [id, index + 1]))

const changedColumns = ({ after, before }: Plan["updated"][number]): Partial<ReturnType<typeof entityRow>> => {
  const old = new Map<string, unknown>(Object.entries(entityRow(before)))
  return Object.fromEntries(Object.entries(entityRow(after)).filter(([key, value]) => !sameJson(old.get(key), value)))
}

/** Updates of entities whose revision rises. */
export const risenUpdates = (plan: Plan): ReadonlyArray<EntityUpdate> => {
  const updated = new Map(plan.updated.map((pair) => [pair.after.id, pair]))
  const places = placesOf(plan)
  return [...plan.stamped, ...plan.drafted].map((id) => {
    const pair = updated.get(id)
    return { ...(pair === undefined ? {} : changedColumns(pair)), id, revisions: 1, n: places.get(id) }
  })
}

/** Updates of entities whose derived columns change and whose revision does not. */
export const derivedUpdates = ({ drafted, stamped, updated }: Plan): ReadonlyArray<EntityUpdate> => {
  const risen = new Set([...stamped, ...drafted])
  return updated.flatMap((pair) => {
    const columns = risen.has(pair.after.id) ? {} : changedColumns(pair)
    return Object.keys(columns).length === 0 ? [] : [{ ...columns, id: pair.after.id, revisions: 0 }]
  })
}

/** The rows of a table that a plan adds, changes or removes. */
interface Difference<Row> {
  readonly added: ReadonlyArray<Row>
  readonly changed: ReadonlyArray<{ readonly before: Row; readonly after: Row }>
  readonly removed: ReadonlyArray<Row>
}

/** The added and the changed rows. */
export const upsertedRows = <Row>({ added, changed }: Difference<Row>): ReadonlyArray<Row> => [
  ...added,
  ...changed.map(({ after }) => after)
]

/** An entity that a plan creates or updates. `before`: undefined for a new one. */
interface Written {
  readonly before: Aggregate | undefined
  readonly after: Aggregate
}

/**
 * The rows of members that a write of one collection changes. The members take the positions of those that stay, so that a product that
 * leaves a large collection changes no other row; or the positions of all, if fewer rows change then: if one replaces another. They are
 * numbered again, from 0, if more than half of the positions would be free.
 */
const memberRows = ({ after, before }: Written) => {
  const { id: collectionId, members } = after
  const old = (before?.members ?? []).map((id, place) => ({ id, position: before?.memberPositions?.[place] ?? place }))
  const positionOf = new Map(old.map(({ id, position }) => [id, position]))
  const isMember = new Set(members)
  const stay = old.filter(({ id }) => isMember.has(id))

  /** The positions of the members, if they take those of these rows. */
  const positionsOf = (rows: typeof old) => {
    const behind = (rows.at(-1)?.position ?? -1) + 1 - rows.length
    const positionAt = (place: number) => rows[place]?.position ?? behind + place
    return positionAt(members.length - 1) < 2 * members.length ? positionAt : (place: number) => place
  }
  const countKept = (positionAt: ReturnType<typeof positionsOf>) =>
    members.filter((id, place) => positionOf.get(id) === positionAt(place)).length
  const [ofStaying, ofAll] = [positionsOf(stay), positionsOf(old)]
  const positionAt = countKept(ofAll) > countKept(ofStaying) ? ofAll : ofStaying
  const upserted = members.flatMap((productId, place) => {
    const position = positionAt(place)
    return positionOf.get(productId) === position ? [] : [{ collectionId, productId, position }]
  })
  const removed = old.flatMap(({ id }) => (isMember.has(id) ? [] : [{ collectionId, productId: id }]))
  return { upserted, removed }
}

/** The rows of store versions, galleries and members that a plan adds, changes or removes. */
export const differences = (plan: Plan) => {
  const written: ReadonlyArray<Written> = [
    ...plan.created.map((after) => ({ before: undefined, after })),
    ...plan.updated
  ]
  const difference = <Item, Row extends object>(
    itemsOf: (aggregate: Aggregate) => ReadonlyArray<Item>,
    rowOf: (item: Item, position: number, id: EntityId) => Row,
    /** The key of a row among those of its entity. */
    keyOf: (row: Row) => string
  ): Difference<Row> => {
    const rowsOf = (aggregate: Aggregate) =>
      itemsOf(aggregate).map((item, position) => rowOf(item, position, aggregate.id))
    const added: Array<Row> = []
    const changed: Array<{ readonly before: Row; readonly after: Row }> = []
    const removed: Array<Row> = []
    for (const { after, before } of written) {
      if (before !== undefined && itemsOf(before) === itemsOf(after)) continue
      const old = new Map((before === undefined ? [] : rowsOf(before)).map((row) => [keyOf(row), row]))
      for (const row of rowsOf(after)) {
        const previous = old.get(keyOf(row))
        if (previous === undefined) added.push(row)
        else if (!sameJson(previous, row)) changed.push({ before: previous, after: row })
        old.delete(keyOf(row))
      }
      removed.push(...old.values())
    }
    return { added, changed, removed }
  }
  return {
    versions: difference(
      ({ versions }) => versions,
      (version, _, entityId) => ({ entityId, ...version }),
      ({ storeId }) => storeId
    ),
    galleries: difference(
      ({ gallery }) => gallery,
      ({ joined, ...entry }, position, entityId) => ({
        ...{ entityId, position, ...entry },
        joinedStoreIds: joined?.storeIds ?? [],
        isJoined: joined?.isNew === true
      }),
      ({ mediaId }) => mediaId
    ),
    members: written.flatMap((each) => (each.before?.members === each.after.members ? [] : [memberRows(each)]))
  }
}

/**
 * An update of a store version. Overrides and accepted values are large, so they are included only if they change. A publish time is
 * included only if it changes, because only a new one is raised to the time of the write.
 */
export const versionUpdate = ({ after, before }: ReturnType<typeof differences>["versions"]["changed"][number]) => {
  const { accepted, overrides, publishedAt, ...state } = after
  return {
    ...state,
    ...(before.publishedAt === publishedAt ? {} : { publishesAnew: true, publishedAt }),
    ...(sameJson(before.overrides, overrides) ? {} : { overrides }),
    ...(sameJson(before.accepted, accepted) ? {} : { acceptsAnew: true, accepted })
  }
}
