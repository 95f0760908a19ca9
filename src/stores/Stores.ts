import { Array as Arr, Context, Effect, Either, Layer, Option, Redacted } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import { Transaction } from "../database/Transaction.ts"
import { isEmpty, planDerivations } from "../drafts/ChangePlan.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { PimLocked, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, StoreId } from "../model/Ids.ts"
import { nameMisfit } from "../model/Name.ts"
import type { PublishCounts } from "../model/PublishState.ts"
import { Platform, type Store } from "../model/Store.ts"
import { PlatformClient, type StoreFacts } from "../platform/PlatformClient.ts"
import { type PlatformReadError, PlatformUnavailable } from "../platform/PlatformErrors.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { SecretBox } from "./SecretBox.ts"
import { StoresRepo } from "./StoresRepo.ts"
import { UnlinkHook } from "./UnlinkHook.ts"

/**
 * A store to be linked. What is not given is as it was when the store was linked before, else the default; a Shopify store
 * says itself what it is called, and its languages and currency.
 */
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
  /** An Admin API access token, of a Shopify store and no other. */
  readonly token?: Redacted.Redacted | undefined
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
    /** How many versions of each linked store stand where with its publishes; of a store without one nothing. */
    readonly publishCounts: Effect.Effect<ReadonlyMap<StoreId, PublishCounts>, never, CurrentActor>
    /**
     * Links a store. One that was linked before has its id and its versions again, as they were left. A Shopify store is
     * asked first, with its token: nothing is written, and nothing told of who has it, before it has answered. Linking one
     * that is linked replaces its token, or makes of a store known by its files one that is asked.
     *
     * ValidationFailed: a domain, name, language or currency that is none, a domain that is linked already, or is another account's, a platform that cannot be linked,
     * a token that is missing or cannot be kept (SECRET_KEY). PimLocked: it was linked before, and an import of the account is
     * under review or being applied. PlatformRefused: the store does not accept the token. PlatformUnavailable: it gave no
     * usable answer.
     */
    readonly link: (
      store: NewStore
    ) => Effect.Effect<StoreChange, ValidationFailed | PimLocked | PlatformReadError, CurrentActor>
    /**
     * Takes a store out of every answer, as a whole: no reader sees some of its versions without the others. They are kept
     * for when its domain is linked again. No entity takes a new place in the change order. The account's writers wait
     * until it is done: some seconds for 100,000 entities. Then dimensions of data health that were scanned are scanned again
     * without it.
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
      const platforms = yield* PlatformClient
      const secrets = yield* SecretBox
      const transaction = yield* Transaction
      const { onUnlinked } = yield* UnlinkHook

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
        decide: (isLocked: boolean) => Effect.Effect<
          {
            readonly store: Store
            readonly hasVersions: boolean
          },
          E
        >
      ) =>
        transaction
          .run(
            Effect.gen(function* () {
              const holder = yield* importLock.take(accountId)
              const { hasVersions, store } = yield* decide(Option.isSome(holder))
              const entities = hasVersions ? yield* derive(accountId, store.id) : 0
              yield* drafts.raise(accountId)
              return { store, entities }
            })
          )
          .pipe(asBackground)

      /** Asks the store with its token, then links it under what it says of itself. */
      const linkShopify = Effect.fnUntraced(function* (accountId: AccountId, given: NewStore, storeId: StoreId) {
        const token = yield* tokenOf(given)
        yield* secrets.ready
        const { domain } = given
        const facts = yield* platforms.verify({ accountId, storeId, domain, platform: "shopify", token })
        if (!isSensible(facts)) return yield* new PlatformUnavailable({ reason: "nonsense" })
        if (canonical(facts.domain) !== domain)
          return yield* ValidationFailed.at("domain", `is another name of ${canonical(facts.domain)}: link that one`)
        return yield* change(accountId, (isLocked) =>
          Effect.gen(function* () {
            const known = Option.getOrUndefined(yield* repo.findByDomain(accountId, domain))
            if (yield* repo.isLinkedElsewhere(accountId, domain))
              return yield* ValidationFailed.at(
                "domain",
                `${domain} is linked to another account: unlink it there first`
              )
            const isRestored = known !== undefined && !known.isLinked
            if (isRestored && isLocked) return yield* new PimLocked()
            const store = shopOf(facts, known?.store ?? newStore(storeId, domain))
            yield* repo.link(accountId, store)
            const sealed = yield* secrets.seal(token, { accountId, storeId: store.id })
            yield* repo.keepCredential(accountId, store.id, sealed)
            return { store, hasVersions: isRestored }
          })
        )
      })

      return {
        list: Effect.flatMap(CurrentActor, ({ accountId }) => repo.list(accountId)),
        publishCounts: Effect.flatMap(CurrentActor, ({ accountId }) => repo.publishCounts(accountId)),
        link: Effect.fn("Stores.link")(function* (given) {
          const { accountId } = yield* CurrentActor
          const domain = canonical(given.domain)
          if (!isDomain(domain))
            return yield* ValidationFailed.at("domain", "must be a host name such as shop.example.com")
          const before = Option.getOrUndefined(yield* repo.findByDomain(accountId, domain))
          const platform = yield* platformOf(given, domain, before?.store)
          const id = before?.store.id ?? (yield* mintId(StoreId))
          if (platform === "shopify") return yield* linkShopify(accountId, { ...given, domain }, id)
          yield* sensible(given)
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
          const unlink = (isLocked: boolean) =>
            Effect.gen(function* () {
              const known = yield* repo.findByDomain(accountId, domain)
              if (Option.isNone(known) || !known.value.isLinked)
                return yield* ValidationFailed.at("domain", `no store ${domain} is linked; see \`catalog store list\``)
              if (isLocked) return yield* new PimLocked()
              const { store } = known.value
              yield* repo.unlink(accountId, store.id)
              yield* onUnlinked(accountId, store.id)
              return { store, hasVersions: true }
            })
          return yield* change(accountId, unlink)
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

/** A Shopify store with what it says about itself. */
const shopOf = ({ currency, locales, name, primaryLocale }: StoreFacts, before: Store): Store => ({
  ...before,
  name: name.trim() || before.name,
  platform: "shopify",
  primary_locale: primaryLocale,
  locales,
  currency
})

/** Text that a database can hold. */
const isSensible = ({ currency, domain, locales, name, primaryLocale }: StoreFacts) =>
  isDomain(canonical(domain)) &&
  [currency, name, primaryLocale, ...locales].every((text) => text.isWellFormed() && !text.includes("\u0000")) &&
  [currency, primaryLocale, ...locales].every((text) => text !== "")

/** The one address of a Shopify store that its Admin API answers at, and the only one that may get its token. */
const isShopify = (domain: string) => /^[a-z0-9][a-z0-9-]*\.myshopify\.com$/.test(domain)

const isPlatform = (text: string): text is Platform => Platform.literals.some((literal) => literal === text)

/** The platform that a store is to be linked on: the one that is given, else the one that it had. */
const platformOf = (
  { platform: given, token }: NewStore,
  domain: string,
  before: Store | undefined
): Either.Either<Platform, ValidationFailed> => {
  const platform = given ?? before?.platform ?? "none"
  const refused = (path: string, message: string) => Either.left(ValidationFailed.at(path, message))
  if (!isPlatform(platform)) return refused("platform", `must be one of ${Platform.literals.join(", ")}`)
  if (platform === "shopify")
    return isShopify(domain)
      ? Either.right(platform)
      : refused("domain", "must be the store's address on Shopify, such as tarn-and-tern.myshopify.com")
  if (token !== undefined) return refused("token", "opens only a store that is linked on the platform shopify")
  // What the demo calls its records must never be asked of Shopify.
  if (platform === "demo" && isShopify(domain)) return refused("domain", "is Shopify's: a demo store needs another")
  return Either.right(platform)
}

/** What a person says of a store, where it can be so. */
const sensible = ({ currency, name, primaryLocale }: NewStore): Either.Either<void, ValidationFailed> => {
  const misnomer = name === undefined || name.trim() === "" ? undefined : nameMisfit(name.trim())
  const issues = [
    ...(misnomer === undefined ? [] : [{ path: "name", message: misnomer }]),
    ...(primaryLocale === undefined || /^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/.test(primaryLocale)
      ? []
      : [{ path: "locale", message: "must be a language such as en, pt-BR or zh-Hans" }]),
    ...(currency === undefined || /^[A-Z]{3}$/.test(currency)
      ? []
      : [{ path: "currency", message: "must be an ISO 4217 code such as EUR" }])
  ]
  return issues.length === 0 ? Either.void : Either.left(new ValidationFailed({ issues }))
}

/** The token of a Shopify store, of which nothing else is to be given. */
const tokenOf = ({ currency, name, primaryLocale, token }: NewStore) => {
  const refused = (path: string, message: string) => Either.left(ValidationFailed.at(path, message))
  const told = Object.entries({ name, locale: primaryLocale, currency }).find(([, value]) => value !== undefined)
  if (told !== undefined) return refused(told[0], "comes from the shop itself: leave it out")
  if (token === undefined) return refused("token", "is needed: an Admin API access token of the store")
  // It goes out as a header.
  return /^[\x21-\x7e]{1,1024}$/.test(Redacted.value(token))
    ? Either.right(token)
    : refused("token", "must be one word of at most 1024 visible ASCII characters")
}

/** Labels of letters, digits and inner hyphens, two at least (RFC 1123). */
const isDomain = (text: string) =>
  text.length <= 253 &&
  text.split(".").length >= 2 &&
  text.split(".").every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))
