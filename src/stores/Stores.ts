import { Array as Arr, Context, Effect, Either, Layer, Option, Redacted } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import { Transaction } from "../database/Transaction.ts"
import { emptyNote, joinNotes, noteOf } from "../drafts/ChangeNote.ts"
import { isEmpty, planDerivations } from "../drafts/ChangePlan.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { CurrentBounds, includes } from "../model/ConnectionBounds.ts"
import { PimLocked, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, StoreId } from "../model/Ids.ts"
import { nameMisfit } from "../model/Name.ts"
import type { PublishCounts } from "../model/PublishState.ts"
import { Platform, type Store } from "../model/Store.ts"
import { PlatformClient, type StoreFacts } from "../platform/PlatformClient.ts"
import { type PlatformReadError, PlatformUnavailable } from "../platform/PlatformErrors.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { SecretBox } from "./SecretBox.ts"
import { makeRotateSecrets, type Rotation } from "./SecretRotation.ts"
import { StoresRepo } from "./StoresRepo.ts"
import { UnlinkHook } from "./UnlinkHook.ts"

/**
 * A store to link. Members that are left out keep their value if the store was linked before, else they get the default. The
 * name, languages and currency of a Shopify store are read from the store.
 */
export interface NewStore {
  readonly domain: string
  /** If blank, the domain is the name. */
  readonly name?: string | undefined
  /** Default: `none`. */
  readonly platform?: string | undefined
  /** Default: `en`. */
  readonly primaryLocale?: string | undefined
  /** Default: `USD`. */
  readonly currency?: string | undefined
  /** An Admin API access token. Only for Shopify stores. */
  readonly token?: Redacted.Redacted | undefined
}

/** A store that was linked or unlinked. `entities`: number of entities that have a version on the store. */
export interface StoreChange {
  readonly store: Store
  readonly entities: number
}

/** Number of products and collections per step. The variants of the products are derived with them. */
const ownersAtOnce = 100

/** Derives roll-ups and search texts of a store's entities again. Returns the number of entities, and what changed. */
const makeDerive = (drafts: Context.Tag.Service<DraftsRepo>, repo: Context.Tag.Service<StoresRepo>) =>
  Effect.fnUntraced(function* (accountId: AccountId, id: StoreId) {
    const { entities, moved, stale } = yield* repo.refresh(accountId, id)
    const derived = yield* Effect.forEach(Arr.chunksOf(stale, ownersAtOnce), (owners) =>
      Effect.flatMap(drafts.lock(accountId, owners, []), (locked) => {
        const plan = planDerivations(locked)
        return isEmpty(plan)
          ? Effect.succeed(emptyNote)
          : Effect.as(drafts.save(accountId, plan), { ...noteOf(plan), moved: [] })
      })
    )
    return {
      entities,
      note: joinNotes([{ ...emptyNote, entities: moved.flatMap(({ ids }) => ids), moved }, ...derived])
    }
  })

/** The linked stores of the actor's account. */
export class Stores extends Context.Tag("catalog/Stores")<
  Stores,
  {
    /** Ordered by domain. If a connection is limited to some stores, only these. */
    readonly list: Effect.Effect<ReadonlyArray<Store>, never, CurrentActor>
    /** Counts the versions of each linked store by publish state. Stores without versions are left out. */
    readonly publishCounts: Effect.Effect<ReadonlyMap<StoreId, PublishCounts>, never, CurrentActor>
    /**
     * Links a store. If the store was linked before, it gets its former id and versions back. A Shopify store is first called with
     * its token: until it has answered, nothing is written and the caller does not learn which account has the store. If a Shopify
     * store is linked already, linking replaces its token. A linked store without a platform can become a Shopify store.
     *
     * ValidationFailed: an invalid domain, name, language or currency, a domain that is already linked or belongs to another
     * account, an unknown platform, or a token that is missing or cannot be saved (SECRET_KEY). PimLocked: the store was linked
     * before, and an import of the account is under review or being applied. PlatformRefused: the store does not accept the
     * token. PlatformUnavailable: the platform gave no usable answer.
     */
    readonly link: (
      store: NewStore
    ) => Effect.Effect<StoreChange, ValidationFailed | PimLocked | PlatformReadError, CurrentActor>
    /**
     * Removes a store from all answers at once: no reader sees only some of its versions. The versions are kept and come back
     * when the domain is linked again. No entity changes its place in lists. Other writes of the account wait meanwhile: some
     * seconds for 100,000 entities. Afterwards every dimension of data health that was scanned before is scanned again.
     *
     * ValidationFailed: no store of this domain is linked. PimLocked: an import of the account is under review or being
     * applied.
     */
    readonly unlink: (domain: string) => Effect.Effect<StoreChange, ValidationFailed | PimLocked, CurrentActor>
    /** Encrypts the saved tokens of an account with the current key. ValidationFailed: SECRET_KEY is not set. */
    readonly rotateSecrets: (accountId: AccountId) => Effect.Effect<Rotation, ValidationFailed>
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
      const derive = makeDerive(drafts, repo)
      const { onUnlinked } = yield* UnlinkHook

      /**
       * Runs a change in one transaction under the exclusive import lock, which all other writes of the account share. So no write
       * that read the store as linked commits after the unlinking. Readers see all versions of the store or none.
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
              const { entities, note } = hasVersions
                ? yield* derive(accountId, store.id)
                : { entities: 0, note: emptyNote }
              yield* drafts.raise(accountId, undefined, note)
              return { store, entities }
            })
          )
          .pipe(asBackground)

      /** Reads the store's name, languages and currency with its token, then links it. */
      const linkShopify = Effect.fnUntraced(function* (accountId: AccountId, given: NewStore, storeId: StoreId) {
        const token = yield* tokenOf(given)
        yield* secrets.ready
        const { domain } = given
        const facts = yield* platforms.verify({ accountId, storeId, domain, platform: "shopify", token })
        if (!isSensible(facts)) return yield* new PlatformUnavailable({ reason: "nonsense" })
        const own = canonical(facts.domain)
        if (own !== domain) return yield* ValidationFailed.at("domain", `is an alias of ${own}: link ${own} instead`)
        return yield* change(accountId, (isLocked) =>
          Effect.gen(function* () {
            const known = Option.getOrUndefined(yield* repo.findByDomain(accountId, domain))
            if (!(yield* repo.reserveShop(accountId, domain)))
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
        rotateSecrets: yield* makeRotateSecrets,
        ...readsOf(repo),
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
              if (known?.isLinked) return yield* ValidationFailed.at("domain", `${domain} is already linked`)
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

/** Reads of the actor: the stores that they can use, and publish states. */
const readsOf = ({ list, publishCounts }: Context.Tag.Service<StoresRepo>) => ({
  list: Effect.gen(function* () {
    const { accountId } = yield* CurrentActor
    const bounds = yield* CurrentBounds
    const all = yield* list(accountId)
    return all.filter(({ id }) => includes(bounds, id))
  }),
  publishCounts: Effect.flatMap(CurrentActor, ({ accountId }) => publishCounts(accountId))
})

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

/** The store with the given values. If a main language is given, it is the only language. */
const storeOf = (given: NewStore & { readonly platform: Store["platform"] | undefined }, before: Store): Store => ({
  ...before,
  name: given.name?.trim() || before.name,
  platform: given.platform ?? before.platform,
  primary_locale: given.primaryLocale ?? before.primary_locale,
  locales: given.primaryLocale === undefined ? before.locales : [given.primaryLocale],
  currency: given.currency ?? before.currency
})

/** A Shopify store with the name, languages and currency that were read from it. */
const shopOf = ({ currency, locales, name, primaryLocale }: StoreFacts, before: Store): Store => ({
  ...before,
  name: name.trim() || before.name,
  platform: "shopify",
  primary_locale: primaryLocale,
  locales,
  currency
})

/** Whether the database can store the values. */
const isSensible = ({ currency, domain, locales, name, primaryLocale }: StoreFacts) =>
  isDomain(canonical(domain)) &&
  [currency, name, primaryLocale, ...locales].every((text) => text.isWellFormed() && !text.includes("\u0000")) &&
  [currency, primaryLocale, ...locales].every((text) => text !== "")

/** Whether the domain is the address of a Shopify store's Admin API. The token is sent to no other address. */
const isShopify = (domain: string) => /^[a-z0-9][a-z0-9-]*\.myshopify\.com$/.test(domain)

const isPlatform = (text: string): text is Platform => Platform.literals.some((literal) => literal === text)

/** The given platform, else the platform that the store had before, else `none`. */
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
  if (token !== undefined) return refused("token", "is only for stores on the platform shopify")
  // Otherwise ids of demo records could be sent to Shopify when the store is linked as a Shopify store later.
  if (platform === "demo" && isShopify(domain))
    return refused("domain", "belongs to Shopify: a demo store needs another one")
  return Either.right(platform)
}

/** Checks the values that a person gives for a store. */
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

/** The token of a Shopify store. Name, language and currency must not be given, because they are read from the store. */
const tokenOf = ({ currency, name, primaryLocale, token }: NewStore) => {
  const refused = (path: string, message: string) => Either.left(ValidationFailed.at(path, message))
  const redundant = Object.entries({ name, locale: primaryLocale, currency }).find(([, value]) => value !== undefined)
  if (redundant !== undefined) return refused(redundant[0], "is read from the store itself: leave it out")
  if (token === undefined) return refused("token", "is required: an Admin API access token of the store")
  // The token is sent in an HTTP header, which allows only these characters.
  return /^[\x21-\x7e]{1,1024}$/.test(Redacted.value(token))
    ? Either.right(token)
    : refused("token", "must be one word of at most 1024 visible ASCII characters")
}

/** Whether the text is a host name: at least two labels of letters, digits and inner hyphens (RFC 1123). */
const isDomain = (text: string) =>
  text.length <= 253 &&
  text.split(".").length >= 2 &&
  text.split(".").every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))
