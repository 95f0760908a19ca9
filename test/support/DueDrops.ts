import { Effect, Schedule } from "effect"
import type { Drop } from "../../src/drops/Drop.ts"
import { Drops } from "../../src/drops/Drops.ts"
import type { DropId, EntityId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { demoPlatformId } from "../../src/platform/demo/DemoRecords.ts"
import { CatalogChange } from "../../src/testing/index.ts"

/** Creates a product that these stores have accepted. */
export const acceptedProduct = (id: EntityId, stores: ReadonlyArray<Store>): ReadonlyArray<CatalogChange> => [
  CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "Tent", vendor: "Fell" } }),
  ...stores.flatMap(({ id: storeId }) => [
    CatalogChange.AddToStore({ entityId: id, storeId }),
    CatalogChange.AcceptPublish({ entityId: id, storeId }),
    CatalogChange.Identify({ entityId: id, storeId, platformId: demoPlatformId("product", id) })
  ])
]

/** Runs due steps until the drop has this status. Returns the drop. */
export const untilDrop = (id: DropId, status: Drop["status"]) =>
  Effect.gen(function* () {
    const { get, runDue } = yield* Drops
    yield* Effect.repeat(Effect.zipRight(runDue, get(id)), {
      until: (drop) => drop.status === status,
      schedule: Schedule.spaced("10 millis")
    })
    return yield* get(id)
  })
