import { Array as Arr, Context, Effect, Layer, Option } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { isEmpty, planDerivations } from "../domain/CatalogChange.ts"
import { PimLocked, ValidationFailed } from "../domain/Errors.ts"
import { type AccountId, StoreId } from "../domain/Ids.ts"
import type { Store } from "../domain/Store.ts"
import { DraftsRepo } from "../repos/DraftsRepo.ts"
import { ImportLockRepo } from "../repos/ImportLockRepo.ts"
import { StoresRepo } from "../repos/StoresRepo.ts"
import { mintId } from "./Identifiers.ts"

/** A store to be linked. What is not given is as it was when the store was linked before, else the default. */
export interface NewStore {
  readonly domain: string
  /** The domain when it is blank. */
  readonly name?: string | undefined
  /** `none` by default. */
  readonly platform?: string | undefined
  /** `en` by default. */
  readonly primaryLocale?: string | undefined
  /** `USD` by default. */
  readonly currency?: string | undefined
}

/** A store that was linked or unlinked, and how many entities have a version on it. */
export interface StoreChange {
  readonly store: Store
  readonly entities: number
}

/** Products and collections, with the variants of the former, that are derived together. */
const ownersAtOnce = 100

/** The stores linked to the account of whoever asks. */
export class Stores extends Context.Tag("catalog/Stores")<
  Stores,
  {
    /** By domain. */
    readonly list: Effect.Effect<ReadonlyArray<Store>, never, CurrentActor>
    /**
     * Links a store. One that was linked before has its id and its versions again, as they were left.
     *
     * ValidationFailed: a domain that is none or is linked already, a platform that cannot be linked. PimLocked: it was
     * linked before, and an import of the account is under review or being applied.
     */
    readonly link: (store: NewStore) => Effect.Effect<StoreChange, ValidationFailed | PimLocked, CurrentActor>
    /**
     * Takes a store out of every answer, as a whole: no reader sees some of its versions without the others. They are kept
     * for when its domain is linked again. No entity takes a new place in the change order. The account's writers wait
     * until it is done: some seconds for 100,000 entities.
     *
     * ValidationFailed: no store of this domain is linked. PimLocked: an import of the account is under review or being
     * applied.
     */
    readonly unlink: (domain: string) => Effect.Effect<StoreChange, ValidationFailed | PimLocked, CurrentActor>
  }
>() {
  static readonly layer = Layer.effect(
    Stores,
    Effect.gen(function* () {
      const repo = yield* StoresRepo
      const drafts = yield* DraftsRepo
      const importLock = yield* ImportLockRepo
      const transaction = yield* Transaction

      /** Brings what is derived of a store's entities up to date; answers how many there are. */
      const derive = Effect.fnUntraced(function* (accountId: AccountId, id: StoreId) {
        const { entities, stale } = yield* repo.refresh(accountId, id)
        yield* Effect.forEach(
          Arr.chunksOf(stale, ownersAtOnce),
          (owners) =>
            Effect.flatMap(drafts.lock(accountId, owners, []), (locked) => {
              const plan = planDerivations(locked)
              return isEmpty(plan) ? Effect.void : drafts.save(accountId, plan)
            }),
          { discard: true }
        )
        return entities
      })

      /**
       * One transaction, which holds the lock that every writer of the account shares: none of them reads the store as linked
       * and writes after it is not, and a reader sees the store whole or not at all. What dies with the process never was.
       */
      const change = <E>(
        accountId: AccountId,
        decide: (isLocked: boolean) => Effect.Effect<{ readonly store: Store; readonly hasVersions: boolean }, E>
      ) =>
        transaction.run(
          Effect.gen(function* () {
            const holder = yield* importLock.take(accountId)
            const { hasVersions, store } = yield* decide(Option.isSome(holder))
            const entities = hasVersions ? yield* derive(accountId, store.id) : 0
            yield* drafts.raise(accountId, { stamped: [], drafted: [] })
            return { store, entities }
          })
        )

      return {
        list: Effect.flatMap(CurrentActor, ({ accountId }) => repo.list(accountId)),
        link: Effect.fn("Stores.link")(function* (given) {
          const { accountId } = yield* CurrentActor
          const domain = canonical(given.domain)
          if (!isDomain(domain))
            return yield* ValidationFailed.at("domain", "must be a host name such as shop.example.com")
          if (given.platform === "shopify")
            return yield* ValidationFailed.at(
              "platform",
              "linking a Shopify store comes with publishing; link it as `none` and import its export"
            )
          const { platform } = given
          if (platform !== undefined && platform !== "none" && platform !== "demo")
            return yield* ValidationFailed.at("platform", "must be one of none, demo")
          const id = yield* mintId(StoreId)
          return yield* change(accountId, (isLocked) =>
            Effect.gen(function* () {
              const known = Option.getOrUndefined(yield* repo.findByDomain(accountId, domain))
              if (known?.isLinked) return yield* ValidationFailed.at("domain", `${domain} is linked already`)
              if (known !== undefined && isLocked) return yield* new PimLocked()
              const store = storeOf({ ...given, domain, platform }, known?.store ?? newStore(id, domain))
              yield* repo.link(accountId, store)
              return { store, hasVersions: known !== undefined }
            })
          )
        }),
        unlink: Effect.fn("Stores.unlink")(function* (given) {
          const { accountId } = yield* CurrentActor
          const domain = canonical(given)
          return yield* change(accountId, (isLocked) =>
            Effect.gen(function* () {
              const known = yield* repo.findByDomain(accountId, domain)
              if (Option.isNone(known) || !known.value.isLinked)
                return yield* ValidationFailed.at("domain", `no store ${domain} is linked; see \`catalog store list\``)
              if (isLocked) return yield* new PimLocked()
              yield* repo.unlink(accountId, known.value.store.id)
              return { store: known.value.store, hasVersions: true }
            })
          )
        })
      }
    })
  )
}

const canonical = (domain: string) => domain.trim().toLowerCase()

const newStore = (id: StoreId, domain: string): Store => ({
  id,
  domain,
  name: domain,
  platform: "none",
  status: "linked",
  primary_locale: "en",
  locales: ["en"],
  currency: "USD",
  last_imported_at: null
})

/** A store with what is given for it; its main language stands first among its languages. */
const storeOf = (given: NewStore & { readonly platform: Store["platform"] | undefined }, before: Store): Store => ({
  ...before,
  name: given.name?.trim() || before.name,
  platform: given.platform ?? before.platform,
  primary_locale: given.primaryLocale ?? before.primary_locale,
  locales: given.primaryLocale === undefined ? before.locales : [given.primaryLocale],
  currency: given.currency ?? before.currency
})

/** Labels of letters, digits and inner hyphens, two at least (RFC 1123). */
const isDomain = (text: string) =>
  text.length <= 253 &&
  text.split(".").length >= 2 &&
  text.split(".").every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))
