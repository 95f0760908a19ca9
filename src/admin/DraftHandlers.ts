import { Effect, Option, Schema } from "effect"
import { CurrentActor } from "../domain/Actor.ts"
import { NotFound } from "../domain/Errors.ts"
import { EntityId } from "../domain/Ids.ts"
import { Accounts } from "../services/Accounts.ts"
import { Drafts } from "../services/Drafts.ts"
import { Stores } from "../services/Stores.ts"
import { DraftRpcs, Refusal } from "./AdminRpcs.ts"
import { chooseAccount } from "./ChosenAccount.ts"

const entityId = (text: string) => Effect.mapError(Schema.decode(EntityId)(text.toLowerCase()), () => new NotFound())

export const DraftHandlers = DraftRpcs.toLayer(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const drafts = yield* Drafts
    const stores = yield* Stores

    const forAccount =
      (named: Option.Option<string>) =>
      <A, E>(work: Effect.Effect<A, E, CurrentActor>): Effect.Effect<A, E | Refusal> =>
        Effect.flatMap(chooseAccount(accounts, named), (accountId) =>
          Effect.provideService(work, CurrentActor, { _tag: "Cli", accountId })
        )

    const storeId = (domain: string) =>
      Effect.flatMap(stores.list, (linked) => {
        const store = linked.find((store) => store.domain === domain.toLowerCase())
        return store === undefined
          ? new Refusal({ message: `No store ${domain} is linked: see \`catalog store list\`.` })
          : Effect.succeed(store.id)
      })
    const storeIdOrNull = Option.match({ onNone: () => Effect.succeed(null), onSome: storeId })

    return {
      showDraft: ({ account, entity, store }) =>
        forAccount(account)(
          Effect.flatMap(Effect.all([entityId(entity), storeIdOrNull(store)]), ([id, on]) => drafts.get(id, on))
        ),
      setDraft: ({ account, attributes, entity, revision, store }) =>
        Effect.all([entityId(entity), storeIdOrNull(store)]).pipe(
          Effect.flatMap(([id, on]) => {
            const update = { draft_revision: revision, attributes }
            return on === null ? drafts.updateAttributes(id, update) : drafts.updateVersionAttributes(id, on, update)
          }),
          forAccount(account)
        ),
      addStoreVersion: ({ account, entity, store }) =>
        forAccount(account)(
          Effect.flatMap(Effect.all([entityId(entity), storeId(store)]), ([id, on]) => drafts.addStoreVersion(id, on))
        ),
      showHistory: ({ account, entity, limit }) =>
        entityId(entity).pipe(
          Effect.flatMap((id) => Effect.map(drafts.history(id, limit), (history) => ({ entity_id: id, history }))),
          forAccount(account)
        )
    }
  })
)
