import { Clock, type Context, Effect, Ref } from "effect"
import { type MemoryAccount, type MemoryState, updateAccount } from "../database/MemoryStore.memory.ts"
import { isDelayed } from "../model/PublishState.ts"
import { filesOnly } from "../model/Store.ts"
import { hasEarlier, isOpen, type MemoryPublication, publicationsOf } from "./MemoryPublication.memory.ts"
import type { PublicationsRepo } from "./PublicationsRepo.ts"

/** Whether a publication to a platform that is meant can be attempted now. */
export const isDue = (
  account: MemoryAccount,
  publication: MemoryPublication,
  millis: number,
  isMeant: (platform: string) => boolean
) =>
  isOpen(publication) &&
  isMeant(account.stores.get(publication.storeId)?.platform ?? filesOnly) &&
  account.stores.has(publication.storeId) &&
  (account.outages.get(publication.storeId)?.until ?? 0) <= millis &&
  account.lockedBy === null &&
  publication.nextAttemptAt <= millis &&
  publication.leaseUntil <= millis &&
  !hasEarlier(account.publications, publication)

/** Finds publications that no process claims. */
export const makeUnclaimed = (
  store: Ref.Ref<MemoryState>
): Pick<Context.Tag.Service<PublicationsRepo>, "sayWhy" | "silent" | "unclaimed"> => ({
  unclaimed: (platforms) =>
    Effect.map(Effect.all([Ref.get(store), Clock.currentTimeMillis]), ([state, millis]) =>
      [...state.values()].flatMap((account) =>
        [...account.stores.values()].flatMap(({ domain, id: storeId, platform }) => {
          const own = account.publications.filter((each) => each.storeId === storeId)
          const first = own.find((each) => isDue(account, each, millis, () => !platforms.includes(platform)))
          if (first === undefined || own.some(({ leaseUntil }) => leaseUntil > millis)) return []
          const { attempts, id } = first
          return [{ accountId: account.id, storeId, domain, platform, id, attempts: attempts.length }]
        })
      )
    ),
  silent: (accountId, storeId, limit) =>
    Effect.map(Effect.all([publicationsOf(store, accountId), Clock.currentTimeMillis]), ([all, millis]) =>
      all
        .filter(
          (each) => isOpen(each) && each.storeId === storeId && each.leaseUntil <= millis && !isDelayed(each.error)
        )
        .slice(0, limit)
        .map(({ content, entityId, id }) => ({ id, entityId, content }))
    ),
  sayWhy: (accountId, id, error) =>
    Effect.gen(function* () {
      const millis = yield* Clock.currentTimeMillis
      const isMeant = (each: MemoryPublication) => each.id === id && isOpen(each) && each.leaseUntil <= millis
      if (!(yield* publicationsOf(store, accountId)).some(isMeant)) return false
      yield* updateAccount(store, accountId, (account) => ({
        ...account,
        publications: account.publications.map((each) => (isMeant(each) ? { ...each, error } : each))
      }))
      return true
    })
})
