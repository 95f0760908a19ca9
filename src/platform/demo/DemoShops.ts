import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option, type Stream } from "effect"
import { Transaction } from "../../database/Transaction.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { PlatformRecord } from "../PlatformRecord.ts"
import type { Publication, Published } from "../Publication.ts"
import type { SameRecord } from "../UnreadRecord.ts"
import { makeDemoRecordReads } from "./DemoRecords.sql.ts"
import type { DemoFailure, DemoShop } from "./DemoShop.ts"
import { makeDemoEffects, makeDemoFailures, makeDemoSections } from "./DemoShops.sql.ts"

/** The shops of the demo platform. They are stored in the database, so all processes see the same shops. */
export class DemoShops extends Context.Tag("catalog/DemoShops")<
  DemoShops,
  {
    /** All records in the order of a pull, read a page at a time. */
    readonly records: (shop: DemoShop) => Stream.Stream<PlatformRecord>
    /** The record that was published from an entity. If there are several, the first by platform id. */
    readonly find: (shop: DemoShop, entityId: EntityId) => Effect.Effect<Option.Option<PlatformRecord>>
    /** Records of the shop's staff with the handle or a SKU of a publication, in the order of their ids. Empty if the shop has the entity. */
    readonly same: (shop: DemoShop, publication: Publication) => Effect.Effect<ReadonlyArray<SameRecord>>
    /** Applies a publication. If its key was applied before, nothing changes, and the result of that time is returned. */
    readonly apply: (shop: DemoShop, publication: Publication) => Effect.Effect<Published>
    /** The result of the publication with this key. None: the publication was not applied. */
    readonly applied: (shop: DemoShop, key: string) => Effect.Effect<Option.Option<Published>>
    /** The number of publications that were applied. */
    readonly effects: (shop: DemoShop) => Effect.Effect<number>
    /** Writes records, like an edit in the shop itself. A variant without a position keeps its position. */
    readonly put: (
      shop: DemoShop,
      records: ReadonlyArray<PlatformRecord & { readonly position?: number | null }>
    ) => Effect.Effect<void>
    /** Deletes a record, as staff in the shop would. */
    readonly remove: (shop: DemoShop, platformId: string) => Effect.Effect<void>
    /** Replaces the items of sections, by name. A section is a part of the shop's data outside its catalog, such as its markets. */
    readonly putSections: (
      shop: DemoShop,
      sections: Readonly<Record<string, ReadonlyArray<unknown>>>
    ) => Effect.Effect<void>
    readonly section: (shop: DemoShop, section: string) => Effect.Effect<ReadonlyArray<unknown>>
    readonly fail: (shop: DemoShop, failure: DemoFailure) => Effect.Effect<void>
    readonly repair: (shop: DemoShop) => Effect.Effect<void>
    readonly failures: (shop: DemoShop) => Effect.Effect<ReadonlyArray<DemoFailure>>
  }
>() {
  static readonly layer = Layer.effect(
    DemoShops,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const transaction = yield* Transaction
      return {
        ...makeDemoRecordReads(sql),
        ...makeDemoEffects(sql, transaction),
        ...makeDemoSections(sql, transaction),
        ...makeDemoFailures(sql)
      }
    })
  )
}
