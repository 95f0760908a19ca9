import { Effect, Option } from "effect"
import { Drafts } from "../drafts/Drafts.ts"
import { DraftRpcs } from "./AdminRpcs.ts"
import { makeFindEntity, makeFindStore } from "./FindByName.ts"

export const DraftHandlers = DraftRpcs.toLayer(
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const findEntity = yield* makeFindEntity
    const findStore = yield* makeFindStore

    const storeId = (domain: string) => Effect.map(findStore(domain), ({ id }) => id)
    const storeIdOrNull = Option.match({ onNone: () => Effect.succeed(null), onSome: storeId })

    return {
      showDraft: ({ entity, store }) =>
        Effect.flatMap(Effect.all([findEntity(entity), storeIdOrNull(store)]), ([id, on]) => drafts.get(id, on)),
      setDraft: ({ attributes, entity, revision, store }) =>
        Effect.all([findEntity(entity), storeIdOrNull(store)]).pipe(
          Effect.flatMap(([id, on]) => {
            const update = { draft_revision: revision, attributes }
            return on === null ? drafts.updateAttributes(id, update) : drafts.updateVersionAttributes(id, on, update)
          })
        ),
      addStoreVersion: ({ entity, store }) =>
        Effect.flatMap(Effect.all([findEntity(entity), storeId(store)]), ([id, on]) => drafts.addStoreVersion(id, on)),
      showHistory: ({ entity, limit }) =>
        findEntity(entity).pipe(
          Effect.flatMap((id) => Effect.map(drafts.history(id, limit), (history) => ({ entity_id: id, history })))
        )
    }
  })
)
