import { Effect, Layer, Option, Ref, Stream } from "effect"
import { valueOf } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { Published } from "../Publication.ts"
import type { SameRecord } from "../UnreadRecord.ts"
import { type DemoEffect, type DemoRecord, effectOf, pullOrder, type SameKeys, sameKeysOf } from "./DemoRecords.ts"
import type { DemoFailure, DemoShop } from "./DemoShop.ts"
import { DemoShops } from "./DemoShops.ts"

/** The in-memory layer for unit tests. It passes the same contract suite as `layer`. */
export const layerDemoShopsMemory = Layer.effect(
  DemoShops,
  Effect.map(Ref.make<ReadonlyMap<string, MemoryShop>>(new Map()), (shops) => {
    const shopIn = (state: ReadonlyMap<string, MemoryShop>, shop: DemoShop) => state.get(nameOf(shop)) ?? emptyShop
    const read = <A>(shop: DemoShop, use: (state: MemoryShop) => A) =>
      Effect.map(Ref.get(shops), (state) => use(shopIn(state, shop)))
    const change = (shop: DemoShop, next: (state: MemoryShop) => MemoryShop) =>
      Ref.update(shops, (state) => new Map(state).set(nameOf(shop), next(shopIn(state, shop))))
    return {
      records: (shop) =>
        Stream.unwrap(
          read(shop, ({ records }) =>
            Stream.fromIterable([...records.values()].sort(pullOrder).map(({ position: _, ...record }) => record))
          )
        ),
      find: (shop, entityId) =>
        read(shop, ({ records }) => {
          const found = [...records.values()].filter((record) => record.entityId === entityId)
          const [first] = found.sort((left, right) => (left.platformId < right.platformId ? -1 : 1))
          return Option.map(Option.fromNullable(first), ({ position: _, ...record }) => record)
        }),
      same: (shop, publication) =>
        read(shop, ({ records }) => {
          const keys = sameKeysOf(publication)
          return keys === null ? [] : findSame([...records.values()], publication.entityId, keys)
        }),
      apply: (shop, publication) =>
        Ref.modify(shops, (state) => {
          const before = shopIn(state, shop)
          const applied = before.effects.get(publication.key)
          if (applied !== undefined) return [applied, state]
          const effect = effectOf(publication)
          return [effect.published, new Map(state).set(nameOf(shop), afterEffect(before, publication.key, effect))]
        }),
      applied: (shop, key) => read(shop, ({ effects }) => Option.fromNullable(effects.get(key))),
      effects: (shop) => read(shop, ({ effects }) => effects.size),
      put: (shop, records) =>
        change(shop, (state) => ({
          ...state,
          records: written(
            state.records,
            records.map((record) => ({ ...record, position: record.position ?? null }))
          )
        })),
      remove: (shop, platformId) =>
        change(shop, (state) => {
          const records = new Map(state.records)
          records.delete(platformId)
          return { ...state, records }
        }),
      putSections: (shop, sections) =>
        change(shop, (state) => ({ ...state, sections: new Map([...state.sections, ...Object.entries(sections)]) })),
      section: (shop, name) => read(shop, ({ sections }) => sections.get(name) ?? []),
      fail: (shop, failure) =>
        change(shop, (state) => ({ ...state, failures: new Map(state.failures).set(failure.kind, failure) })),
      repair: (shop) => change(shop, (state) => ({ ...state, failures: new Map() })),
      failures: (shop) =>
        read(shop, ({ failures }) => [...failures.values()].sort((a, b) => (a.kind < b.kind ? -1 : 1)))
    }
  })
)

interface MemoryShop {
  readonly records: ReadonlyMap<string, DemoRecord>
  readonly effects: ReadonlyMap<string, Published>
  readonly sections: ReadonlyMap<string, ReadonlyArray<unknown>>
  readonly failures: ReadonlyMap<string, DemoFailure>
}

const emptyShop: MemoryShop = { records: new Map(), effects: new Map(), sections: new Map(), failures: new Map() }

const nameOf = ({ accountId, storeId }: DemoShop) => `${accountId} ${storeId}`

const findSame = (
  records: ReadonlyArray<DemoRecord>,
  entityId: EntityId,
  { handle, kind, parentId, skus }: SameKeys
): ReadonlyArray<SameRecord> => {
  if (records.some((record) => record.entityId === entityId)) return []
  const ofStaff = records.filter((record) => record.entityId === null)
  const withSku = ofStaff.filter(
    (each) =>
      each.kind === "variant" &&
      skus.includes(valueOf(each.attributes, "sku")) &&
      (parentId === null || each.parentId === parentId)
  )
  const ids = new Set(withSku.map((each) => (kind === "product" ? each.parentId : each.platformId)))
  return ofStaff
    .filter((each) => each.kind === kind)
    .flatMap(({ attributes, platformId }) => {
      const hasHandle = handle !== "" && valueOf(attributes, "handle") === handle
      const name = valueOf(attributes, "title") || platformId
      return hasHandle || ids.has(platformId)
        ? [{ platformId, name, key: hasHandle ? ("handle" as const) : ("SKU" as const) }]
        : []
    })
    .sort((left, right) => (left.platformId < right.platformId ? -1 : 1))
}

const written = (records: ReadonlyMap<string, DemoRecord>, given: ReadonlyArray<DemoRecord>) => {
  const next = new Map(records)
  for (const record of given) {
    const { picture = null, position = null } = next.get(record.platformId) ?? {}
    next.set(record.platformId, { picture, ...record, position: record.position ?? position })
  }
  return next
}

const afterEffect = (
  shop: MemoryShop,
  key: string,
  { gallery, placed, published, written: whole }: DemoEffect
): MemoryShop => {
  const records = written(shop.records, whole)
  for (const record of placed) {
    const there = records.get(record.platformId)
    records.set(
      record.platformId,
      there === undefined ? { picture: null, ...record } : { ...there, position: record.position ?? there.position }
    )
  }
  for (const id of gallery?.variants ?? []) {
    const variant = records.get(id)
    if (variant !== undefined && !gallery?.media.includes(variant.picture ?? ""))
      records.set(id, { ...variant, picture: null })
  }
  return { ...shop, records, effects: new Map(shop.effects).set(key, published) }
}
