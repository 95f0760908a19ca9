import { Clock, type Context, Effect, Option, Ref } from "effect"
import { type MemoryAccount, type MemoryState, updateAccount } from "../database/MemoryStore.memory.ts"
import { isDelayed } from "../model/PublishState.ts"
import { filesOnly } from "../model/Store.ts"
import { earlierOf, isOpen, type MemoryPublication, publicationsOf } from "./MemoryPublication.memory.ts"
import { toShownError } from "./PublicationRecord.ts"
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
  earlierOf(account.publications, publication).length === 0

/** Finds publications that no process claims, and the reasons why publications wait. */
export const makeUnclaimed = (
  store: Ref.Ref<MemoryState>
): Pick<Context.Tag.Service<PublicationsRepo>, "delayAhead" | "sayWhy" | "silent" | "unclaimed"> => ({
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
  delayAhead: (accountId, storeId, ids) =>
    Effect.map(publicationsOf(store, accountId), (all) =>
      Option.fromNullable(
        all.find(
          (each) =>
            isOpen(each) &&
            each.storeId === storeId &&
            isDelayed(each.error) &&
            each.entityIds.some((id) => ids.includes(id))
        )?.error
      ).pipe(Option.map(toShownError))
    ),
  silent: (accountId, storeId, limit, ahead) =>
    Effect.map(Effect.all([publicationsOf(store, accountId), Clock.currentTimeMillis]), ([all, millis]) =>
      all
        .filter(
          (each) =>
            isOpen(each) &&
            each.storeId === storeId &&
            each.leaseUntil <= millis &&
            !isDelayed(each.error) &&
            (ahead === undefined || (each.dropId === null && earlierOf(all, each).some(({ id }) => ahead.includes(id))))
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
