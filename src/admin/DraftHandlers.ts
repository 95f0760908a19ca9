import { Effect, Option } from "effect"
import { Drafts } from "../drafts/Drafts.ts"
import { DraftRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { makeEntityNamed, makeStoreNamed } from "./Named.ts"

export const DraftHandlers = DraftRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const drafts = yield* Drafts
    const entityNamed = yield* makeEntityNamed
    const storeNamed = yield* makeStoreNamed

    const storeId = (domain: string) => Effect.map(storeNamed(domain), ({ id }) => id)
    const storeIdOrNull = Option.match({ onNone: () => Effect.succeed(null), onSome: storeId })

    return {
      showDraft: ({ account, entity, store }) =>
        forAccount(account)(
          Effect.flatMap(Effect.all([entityNamed(entity), storeIdOrNull(store)]), ([id, on]) => drafts.get(id, on))
        ),
      setDraft: ({ account, attributes, entity, revision, store }) =>
        Effect.all([entityNamed(entity), storeIdOrNull(store)]).pipe(
          Effect.flatMap(([id, on]) => {
            const update = { draft_revision: revision, attributes }
            return on === null ? drafts.updateAttributes(id, update) : drafts.updateVersionAttributes(id, on, update)
          }),
          forAccount(account)
        ),
      addStoreVersion: ({ account, entity, store }) =>
        forAccount(account)(
          Effect.flatMap(Effect.all([entityNamed(entity), storeId(store)]), ([id, on]) =>
            drafts.addStoreVersion(id, on)
          )
        ),
      showHistory: ({ account, entity, limit }) =>
        entityNamed(entity).pipe(
          Effect.flatMap((id) => Effect.map(drafts.history(id, limit), (history) => ({ entity_id: id, history }))),
          forAccount(account)
        )
    }
  })
)
