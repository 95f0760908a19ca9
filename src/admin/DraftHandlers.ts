import { Effect, Option } from "effect"
import { Drafts } from "../drafts/Drafts.ts"
import { DraftRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { makeFindEntity, makeFindStore } from "./FindByName.ts"

export const DraftHandlers = DraftRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const drafts = yield* Drafts
    const findEntity = yield* makeFindEntity
    const findStore = yield* makeFindStore

    const storeId = (domain: string) => Effect.map(findStore(domain), ({ id }) => id)
    const storeIdOrNull = Option.match({ onNone: () => Effect.succeed(null), onSome: storeId })

    return {
      showDraft: ({ account, entity, store }) =>
        forAccount(account)(
          Effect.flatMap(Effect.all([findEntity(entity), storeIdOrNull(store)]), ([id, on]) => drafts.get(id, on))
        ),
      setDraft: ({ account, attributes, entity, revision, store }) =>
        Effect.all([findEntity(entity), storeIdOrNull(store)]).pipe(
          Effect.flatMap(([id, on]) => {
            const update = { draft_revision: revision, attributes }
            return on === null ? drafts.updateAttributes(id, update) : drafts.updateVersionAttributes(id, on, update)
          }),
          forAccount(account)
        ),
      addStoreVersion: ({ account, entity, store }) =>
        forAccount(account)(
          Effect.flatMap(Effect.all([findEntity(entity), storeId(store)]), ([id, on]) => drafts.addStoreVersion(id, on))
        ),
      showHistory: ({ account, entity, limit }) =>
        findEntity(entity).pipe(
          Effect.flatMap((id) => Effect.map(drafts.history(id, limit), (history) => ({ entity_id: id, history }))),
          forAccount(account)
        )
    }
  })
)
