import { Effect } from "effect"
import { Drops } from "../drops/Drops.ts"
import { DropId, nilUuid } from "../model/Ids.ts"
import { Stores } from "../stores/Stores.ts"
import { DropRpcs } from "./AdminRpcs.ts"
import { makeFindEntity, parseId } from "./FindByName.ts"

const dropId = parseId(DropId)

export const DropHandlers = DropRpcs.toLayer(
  Effect.gen(function* () {
    const drops = yield* Drops
    const findEntity = yield* makeFindEntity
    const stores = yield* Stores

    return {
      createDrop: ({ drop }) =>
        Effect.gen(function* () {
          const linked = yield* stores.list
          const storeId = (text: string) =>
            linked.find(({ domain, id }) => [domain, id as string].includes(text.trim().toLowerCase()))?.id ?? nilUuid
          const typed = [...new Set(drop.changes.map(({ entity_id }) => entity_id))]
          // The text of an unknown entity is passed on, so that `create` reports its path in the drop.
          const named = yield* Effect.forEach(typed, (text) =>
            Effect.map(
              Effect.catchTag(findEntity(text), "NotFound", () => Effect.succeed(text)),
              (id) => [text, id] as const
            )
          )
          const entityIds = new Map<string, string>(named)
          return yield* drops.create({
            ...drop,
            changes: drop.changes.map((change) => ({
              ...change,
              entity_id: entityIds.get(change.entity_id) ?? change.entity_id,
              store_id: change.store_id === null ? null : storeId(change.store_id)
            }))
          })
        }),
      listDrops: () => drops.list,
      showDrop: ({ id }) => Effect.flatMap(dropId(id), drops.get),
      cancelDrop: ({ id }) => Effect.flatMap(dropId(id), drops.cancel)
    }
  })
)
