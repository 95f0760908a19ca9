import { Effect } from "effect"
import { DropId, nilUuid } from "../domain/Ids.ts"
import { Drops } from "../services/Drops.ts"
import { Stores } from "../services/Stores.ts"
import { DropRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { idOf } from "./Named.ts"

const dropId = idOf(DropId)

export const DropHandlers = DropRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const drops = yield* Drops
    const stores = yield* Stores

    return {
      createDrop: ({ account, drop }) =>
        Effect.flatMap(stores.list, (linked) => {
          const storeId = (text: string) =>
            linked.find(({ domain, id }) => [domain, id as string].includes(text.trim().toLowerCase()))?.id ?? nilUuid
          return drops.create({
            ...drop,
            changes: drop.changes.map((change) => ({
              ...change,
              store_id: change.store_id === null ? null : storeId(change.store_id)
            }))
          })
        }).pipe(forAccount(account)),
      listDrops: ({ account }) => forAccount(account)(drops.list),
      showDrop: ({ account, id }) => forAccount(account)(Effect.flatMap(dropId(id), drops.get)),
      cancelDrop: ({ account, id }) => forAccount(account)(Effect.flatMap(dropId(id), drops.cancel))
    }
  })
)
