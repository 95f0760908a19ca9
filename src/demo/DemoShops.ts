import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option, type Stream } from "effect"
import { Transaction } from "../database/Transaction.ts"
import type { EntityId } from "../model/Ids.ts"
import type { PlatformRecord } from "../platform/PlatformRecord.ts"
import type { Publication, Published } from "../platform/Publication.ts"
import { makeDemoRecordReads } from "./DemoRecords.sql.ts"
import type { DemoFailure, DemoShop } from "./DemoShop.ts"
import { makeDemoEffects, makeDemoFailures, makeDemoSections } from "./DemoShops.sql.ts"

/** The shops of the demo platform. They are in the database, so all processes see the same shops. */
export class DemoShops extends Context.Tag("catalog/DemoShops")<
  DemoShops,
  {
    /** All records in the order of a pull, read a page at a time. */
    readonly records: (shop: DemoShop) => Stream.Stream<PlatformRecord>
    /** The record that was published from an entity; if there are several, the first by id. */
    readonly find: (shop: DemoShop, entityId: EntityId) => Effect.Effect<Option.Option<PlatformRecord>>
    /** Applies a publication. If its key was applied before, nothing changes and the earlier result is returned. */
    readonly apply: (shop: DemoShop, publication: Publication) => Effect.Effect<Published>
    /** The result of the publication with this key; none: it was not applied. */
    readonly applied: (shop: DemoShop, key: string) => Effect.Effect<Option.Option<Published>>
    /** The number of applied publications. */
    readonly effects: (shop: DemoShop) => Effect.Effect<number>
    /** Writes records, as an edit in the shop itself. A variant without a position keeps its place. */
    readonly put: (
      shop: DemoShop,
      records: ReadonlyArray<PlatformRecord & { readonly position?: number | null }>
    ) => Effect.Effect<void>
    /** Replaces the items of a section, a part of the shop beside its catalog. */
    readonly putSection: (shop: DemoShop, section: string, items: ReadonlyArray<unknown>) => Effect.Effect<void>
    readonly section: (shop: DemoShop, section: string) => Effect.Effect<ReadonlyArray<unknown>>
    readonly fail: (shop: DemoShop, failure: DemoFailure) => Effect.Effect<void>
    readonly mend: (shop: DemoShop) => Effect.Effect<void>
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
