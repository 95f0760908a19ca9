import { Array as Arr, Effect, Schema } from "effect"
import type { Needle } from "../catalog/SearchText.ts"
import { type CatalogChange, ownersOf } from "../drafts/CatalogChange.ts"
import { EntityKind } from "../model/Attribute.ts"
import { compareFields } from "../model/FieldOrder.ts"
import { type AccountId, EntityId, type ImportId } from "../model/Ids.ts"
import type { ImportsRepo } from "./ImportsRepo.ts"
import { hasValues, listChanges, maxShownEntities, type ReviewList, type StagedItem } from "./StagedImport.ts"

/** An entity that an import changes, with its canonical values in the catalog. `product`: the title of a variant's product. */
export const ReviewedEntity = Schema.Struct({
  id: EntityId,
  kind: EntityKind,
  title: Schema.String,
  product: Schema.NullOr(Schema.String),
  values: Schema.Record({ key: Schema.String, value: Schema.NullOr(Schema.String) })
})
export type ReviewedEntity = typeof ReviewedEntity.Type

/** A value that an import writes. `before` null: there was none, or it is not known any more. `after` null: it becomes empty. */
export interface FieldDifference {
  readonly field: string
  readonly before: string | null
  readonly after: string | null
  /** true: the value is an override of the store. false: it is the canonical value. */
  readonly isOverride: boolean
}

const others = {
  AddToStore: "added_to_store",
  RemoveFromStore: "removed_from_store",
  SetGallery: "gallery",
  SetMembers: "members",
  OrderVariants: "variant_order"
} as const

/** One entity of a row. */
export interface ReviewedChange {
  readonly id: EntityId
  readonly kind: EntityKind
  readonly title: string
  readonly product: string | null
  readonly isNew: boolean
  readonly differences: ReadonlyArray<FieldDifference>
  /** Other changes: the store, the gallery, members, the order of variants. */
  readonly others: ReadonlyArray<(typeof others)[keyof typeof others]>
}

/** A row of a list: a product, collection or file, first, and what belongs to it. */
export interface ReviewRow {
  readonly ordinal: number
  /** At most ten. `more`: the number of the others. */
  readonly changes: ReadonlyArray<ReviewedChange>
  readonly more: number
  /** Whether conflicts decide on further values. */
  readonly hasConflicts: boolean
}

const hasOther = (tag: string): tag is keyof typeof others => Object.hasOwn(others, tag)

/** Whether only a product or a collection has such a change, and not what belongs to it. */
const isOfMain = (change: CatalogChange): boolean =>
  change._tag === "CreateEntity"
    ? change.kind === "product" || change.kind === "collection"
    : ["SetGallery", "SetMembers", "OrderVariants"].includes(change._tag)

type ByEntity = ReadonlyMap<EntityId, ReadonlyArray<CatalogChange>>

/** The changes of the entities that a row shows, and how many entities it leaves out. */
const groupChanges = ({ changes }: StagedItem): { readonly own: ByEntity; readonly more: number } => {
  const groups = new Map<EntityId, Array<CatalogChange>>()
  for (const change of changes) {
    if (change._tag === "Decided") continue
    const [id] = ownersOf(change)
    if (id === undefined) continue
    const own = groups.get(id)
    if (own === undefined) groups.set(id, [change])
    else own.push(change)
  }
  const visible = [...groups].filter(([, own]) => own.some((change) => hasValues(change) || hasOther(change._tag)))
  if (visible.length === 0) {
    // The item has only conflicts, or values that the store has already: the row shows the name of its first entity.
    return {
      own: new Map(
        listChanges(changes)
          .flatMap(ownersOf)
          .slice(0, 1)
          .map((id) => [id, []])
      ),
      more: 0
    }
  }
  const [parts, main] = Arr.partition(visible, ([, own]) => own.some(isOfMain))
  return {
    own: new Map([...main, ...parts].slice(0, maxShownEntities)),
    more: Math.max(visible.length - maxShownEntities, 0)
  }
}

/** The values that the changes of one entity write. They are sorted, because JSON in PostgreSQL does not keep the order of its keys. */
const differencesOf = (kind: EntityKind, changes: ReadonlyArray<CatalogChange>, before: ReviewedEntity["values"]) =>
  changes.flatMap((change): ReadonlyArray<FieldDifference> => {
    if (!hasValues(change)) return []
    const isOverride = change._tag === "SetOverrides"
    const compare = compareFields(kind)
    return Object.entries(change.values)
      .toSorted(([left], [right]) => compare(left, right))
      .filter(([, after]) => change._tag !== "CreateEntity" || (after !== null && after !== ""))
      .map(([field, after]) => ({ field, before: isOverride ? null : (before[field] ?? null), after, isOverride }))
  })

/** The order in which the entities of a row are shown. */
const kindOrder: ReadonlyArray<EntityKind> = ["product", "collection", "variant", "media"]

/** Makes one page of a list. Entities that are created get the title that the import gives them. */
const rowsOf = (
  items: ReadonlyArray<{ readonly item: StagedItem; readonly own: ByEntity; readonly more: number }>,
  entities: ReadonlyMap<EntityId, ReviewedEntity>,
  isOpen: boolean
): ReadonlyArray<ReviewRow> =>
  items.map(({ item, more, own }) => {
    const changes = [...own].flatMap(([id, changes]): ReadonlyArray<ReviewedChange> => {
      const created = changes.find((change) => change._tag === "CreateEntity")
      const here = entities.get(id)
      const kind = created?.kind ?? here?.kind
      if (kind === undefined) return []
      return [
        {
          id,
          kind,
          title: here?.title ?? created?.values.title ?? created?.values.alt ?? "",
          product: here?.product ?? null,
          isNew: created !== undefined,
          differences: differencesOf(kind, changes, isOpen ? (here?.values ?? {}) : {}),
          others: [...new Set(changes.flatMap(({ _tag }) => (hasOther(_tag) ? [others[_tag]] : [])))]
        }
      ]
    })
    return {
      ordinal: item.ordinal,
      changes: changes.toSorted((one, other) => kindOrder.indexOf(one.kind) - kindOrder.indexOf(other.kind)),
      more,
      hasConflicts: item.changes.some(({ _tag }) => _tag === "Decided")
    }
  })

interface ListPlace {
  /** Only items that contain all of these. */
  readonly needles: ReadonlyArray<Needle>
  readonly after: number
  readonly limit: number
  readonly isOpen: boolean
}

/** Reads a page of a list of an import's review. `isOpen`: nothing is written yet, so the catalog still has the values before it. */
export const makeReadList =
  (repo: ImportsRepo["Type"]) =>
  (accountId: AccountId, id: ImportId, list: ReviewList, { after, isOpen, limit, needles }: ListPlace) =>
    Effect.gen(function* () {
      const items = yield* repo.listed(accountId, id, list, needles, after, limit)
      const grouped = items.map((item) => ({ item, ...groupChanges(item) }))
      const ids = new Set(grouped.flatMap(({ own }) => [...own.keys()]))
      const entities = new Map((yield* repo.entities(accountId, [...ids])).map((entity) => [entity.id, entity]))
      return rowsOf(grouped, entities, isOpen)
    })
