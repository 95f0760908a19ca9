import { Context, Effect, Either, Layer, Option } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import { Transaction } from "../database/Transaction.ts"
import { emptyNote } from "../drafts/ChangeNote.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { changesOfAll } from "../drafts/FeedChanges.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { endsWithLink, type Job } from "../jobs/Job.ts"
import { makeJobRunner } from "../jobs/JobRunner.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { CurrentBounds, includes } from "../model/ConnectionBounds.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, StoreId } from "../model/Ids.ts"
import type { PublishCounts } from "../model/PublishState.ts"
import { filesOnly, type Store } from "../model/Store.ts"
import type { PlatformDescription } from "../platform/PlatformAdapter.ts"
import { PlatformClient } from "../platform/PlatformClient.ts"
import { type PlatformReadError, PlatformUnavailable } from "../platform/PlatformErrors.ts"
import { PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { LinkHook } from "./LinkHook.ts"
import {
  canonical,
  checkStore,
  credentialsOf,
  isDomain,
  isValidStore,
  type NewStore,
  newStore,
  platformOf,
  storeOf,
  verifiedStoreOf
} from "./LinkRules.ts"
import { SecretBox } from "./SecretBox.ts"
import { makeRotateSecrets, type Rotation } from "./SecretRotation.ts"
import { StoreAccess } from "./StoreAccess.ts"
import { toText } from "./StoreCredentials.ts"
import { makeStoreJobKinds, type StoreJobInput } from "./StoreJobs.ts"
import { type CredentialTest, StoresRepo } from "./StoresRepo.ts"

/** A store that was linked or unlinked. `entities`: number of entities that have a version on the store. */
interface StoreChange {
  readonly store: Store
  readonly entities: number
}

/**
 * A store whose link was changed. `job` computes the derived fields of its entities again; null: the store has no
 * entities.
 */
export interface BegunChange {
  readonly store: Store
  readonly job: Job | null
  readonly change: "store.linked" | "store.unlinked" | "store.updated"
  /** The optional permissions that the credentials of a linked store lack. Undefined: none. */
  readonly missingPermissions?: ReadonlyArray<string>
}

type Refusal = ValidationFailed | PimLocked

/** The linked stores of the actor's account. */
export class Stores extends Context.Tag("catalog/Stores")<
  Stores,
  {
    /** Ordered by domain. If a connection is limited to some stores, only these. */
    readonly list: Effect.Effect<ReadonlyArray<Store>, never, CurrentActor>
    /** NotFound: no store of `list` has the id. */
    readonly find: (id: StoreId) => Effect.Effect<Store, NotFound, CurrentActor>
    /** The time zones in which times of the stores are entered, as far as they are known. */
    readonly timeZones: Effect.Effect<ReadonlyMap<StoreId, string>, never, CurrentActor>
    /** Keeps the time zone of a store. An unknown store keeps none. */
    readonly keepTimeZone: (id: StoreId, timeZone: string) => Effect.Effect<void, never, CurrentActor>
    /** Counts the versions of each linked store by publish state. Stores without versions are left out. */
    readonly publishCounts: Effect.Effect<ReadonlyMap<StoreId, PublishCounts>, never, CurrentActor>
    /**
     * Links a store. If the store was linked before, it gets its former id and versions back. If the platform's adapter
     * verifies stores, the store is first called with its credentials. Until it has answered, nothing is written and
     * the caller does not learn which account has the store. If such a store is linked already, linking replaces its
     * credentials. A linked store without a platform can get such a platform.
     *
     * The store is linked at once. Its earlier entities appear on it in lists when the job reaches them.
     *
     * ValidationFailed: an invalid domain, name, language or currency; a domain that is already linked or belongs to
     * another account; an unknown platform; credentials that are missing, invalid or cannot be saved (SECRET_KEY); or a
     * job that unlinks the store has not ended. PimLocked: the store was linked before, and an import locks the
     * account. PlatformRefused: the store does not accept the credentials. PlatformUnavailable:
     * the store gave no usable answer.
     */
    readonly beginLink: (store: NewStore) => Effect.Effect<BegunChange, Refusal | PlatformReadError, CurrentActor>
    /**
     * Unlinks a store. Immediately, lists of stores and details of entities no longer contain it, nothing is published
     * to it, and jobs that publish to it are cancelled. A job then removes the store from the rows of lists, and begins
     * a scan of data health at the end. A step of the job takes some hundred milliseconds; other writers of the account run
     * between steps. The store versions are kept and restored when the domain is linked again. No change_seq changes.
     *
     * ValidationFailed: no store of this domain is linked, or a job that links it has not ended. PimLocked: an import
     * locks the account.
     */
    readonly beginUnlink: (domain: string) => Effect.Effect<BegunChange, Refusal, CurrentActor>
    /** Like `beginLink`, but runs the job in this process and waits for its end. */
    readonly link: (store: NewStore) => Effect.Effect<StoreChange, Refusal | PlatformReadError, CurrentActor>
    /** Like `beginUnlink`, but runs the job in this process and waits for its end. */
    readonly unlink: (domain: string) => Effect.Effect<StoreChange, Refusal, CurrentActor>
    /** The last tests of the saved credentials of `list`, as far as they were tested. */
    readonly credentialTests: Effect.Effect<ReadonlyMap<StoreId, CredentialTest>, never, CurrentActor>
    /**
     * Calls a store with its saved credential and records the answer. Returns why the platform refuses the credential; null: it
     * accepts it. NotFound: no such store. PlatformUnavailable: the platform gave no usable answer, and nothing is recorded.
     */
    readonly testCredential: (id: StoreId) => Effect.Effect<string | null, NotFound | PlatformUnavailable, CurrentActor>
    /** Encrypts the saved tokens of an account with the current key. ValidationFailed: SECRET_KEY is not set. */
    readonly rotateSecrets: (accountId: AccountId) => Effect.Effect<Rotation, ValidationFailed>
  }
>() {
  static readonly layer = Layer.effect(
    Stores,
    Effect.gen(function* () {
      const repo = yield* StoresRepo
      const changes = yield* makeChanges
      const beginLink = yield* makeBeginLink(changes)
      const beginUnlink = yield* makeBeginUnlink(changes)
      return {
        rotateSecrets: yield* makeRotateSecrets,
        testCredential: yield* makeTestCredential,
        ...readsOf(repo),
        beginLink,
        beginUnlink,
        link: (store) => Effect.flatMap(beginLink(store), changes.finish),
        unlink: (domain) => Effect.flatMap(beginUnlink(domain), changes.finish)
      }
    })
  )
}

/** Runs the transaction that links or unlinks a store, and the job after it. */
const makeChanges = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const hook = yield* LinkHook
  const importLock = yield* ImportLockRepo
  const jobs = yield* Jobs
  const repo = yield* StoresRepo
  const runner = yield* makeJobRunner(yield* makeStoreJobKinds)
  const transaction = yield* Transaction

  const beginJob = (kind: "store_link" | "store_unlink", { domain, id }: Store) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      if (kind === "store_link") yield* hook.onLinkedAgain(accountId, id)
      return yield* jobs.begin({
        kind,
        title: `${kind === "store_link" ? "Link" : "Unlink"} ${domain}`,
        subject: id,
        input: { storeId: id } satisfies StoreJobInput,
        total: yield* repo.countVersions(accountId, id)
      })
    })

  /**
   * Runs one short transaction under the exclusive import lock, which every writer of the account shares. So no writer
   * can read the store as linked and write after it was unlinked, and two links of one domain wait for each other. `first` runs before
   * the lock is taken, in the same transaction.
   */
  const change = <E>(
    accountId: AccountId,
    decide: (isLocked: boolean) => Effect.Effect<BegunChange, E, CurrentActor>,
    first: Effect.Effect<void, never, CurrentActor> = Effect.void
  ) =>
    transaction
      .run(
        Effect.gen(function* () {
          yield* first
          const holder = yield* importLock.takeDuringImport(accountId)
          const begun = yield* decide(Option.isSome(holder))
          yield* drafts.raise(accountId, undefined, {
            ...emptyNote,
            changes: changesOfAll(begun.change, "store", [begun.store.id], begun.store.id)
          })
          return begun
        })
      )
      .pipe(asBackground)

  const finish = ({ job, store }: BegunChange) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      if (job === null) return { store, entities: 0 }
      const ended = Option.getOrUndefined(yield* runner.settle(accountId, job.id, () => Effect.void))
      if (ended?.state !== "done")
        return yield* Effect.dieMessage(`${job.title} (job ${job.id}) is ${ended?.state}: ${ended?.problem?.why}`)
      return { store, entities: ended.done }
    })

  return { beginJob, change, finish }
})

type Changes = Effect.Effect.Success<typeof makeChanges>

const makeBeginLink = ({ beginJob, change }: Changes) =>
  Effect.gen(function* () {
    const importLock = yield* ImportLockRepo
    const platforms = yield* PlatformClient
    const registry = yield* PlatformRegistry
    const repo = yield* StoresRepo
    const secrets = yield* SecretBox

    /** Reads the store's name, languages and currency with its credentials, then links it. */
    const linkVerified = Effect.fnUntraced(function* (
      accountId: AccountId,
      adapter: PlatformDescription,
      request: NewStore,
      storeId: StoreId
    ) {
      const credentials = yield* credentialsOf(adapter, request)
      if (adapter.fields.length > 0) yield* secrets.ready
      const { domain } = request
      const facts = yield* platforms.verify({ accountId, storeId, domain, platform: adapter.name, credentials })
      const { missingPermissions = [] } = facts
      if (!isValidStore(facts)) return yield* new PlatformUnavailable({ reason: "nonsense" })
      if (canonical(facts.domain) !== domain)
        return yield* ValidationFailed.at(
          "domain",
          `is an alias of ${canonical(facts.domain)}: link ${canonical(facts.domain)} instead`
        )
      return yield* change(accountId, (isLocked) =>
        Effect.gen(function* () {
          const existing = Option.getOrUndefined(yield* repo.findByDomain(accountId, domain))
          if (!(yield* repo.reserveShop(accountId, domain)))
            return yield* ValidationFailed.at("domain", `${domain} is linked to another account: unlink it there first`)
          const isRestored = existing !== undefined && !existing.isLinked
          if (isRestored && isLocked) return yield* new PimLocked()
          const store = verifiedStoreOf(adapter.name, facts, existing?.store ?? newStore(storeId, domain))
          yield* repo.link(accountId, store, true)
          if (adapter.fields.length > 0) {
            const sealed = yield* secrets.seal(toText(adapter, credentials), { accountId, storeId: store.id })
            yield* repo.keepCredential(accountId, store.id, sealed)
            yield* repo.recordCredentialTest(accountId, store.id, Option.some(sealed), null, missingPermissions)
          }
          return {
            store,
            missingPermissions,
            job: isRestored ? yield* beginJob("store_link", store) : null,
            change: existing?.isLinked ? ("store.updated" as const) : ("store.linked" as const)
          }
        })
      )
    })

    return Effect.fn("Stores.beginLink")(function* (request: NewStore) {
      const { accountId } = yield* CurrentActor
      const domain = canonical(request.domain)
      if (!isDomain(domain)) return yield* ValidationFailed.at("domain", "must be a host name such as shop.example.com")
      const before = Option.getOrUndefined(yield* repo.findByDomain(accountId, domain))
      // Before the transaction, which would wait for a transaction of the import.
      if (before?.isLinked === false && Option.isSome(yield* importLock.share(accountId))) return yield* new PimLocked()
      const adapter = yield* platformOf(registry, request, domain, before?.store)
      const id = before?.store.id ?? (yield* mintId(StoreId))
      if (adapter?.isVerified) return yield* linkVerified(accountId, adapter, { ...request, domain }, id)
      const credentials = adapter === null ? {} : yield* credentialsOf(adapter, request)
      const isSealed = Object.keys(credentials).length > 0
      if (isSealed) yield* secrets.ready
      yield* checkStore(request)
      const platform = adapter?.name ?? filesOnly
      return yield* change(accountId, (isLocked) =>
        Effect.gen(function* () {
          const existing = Option.getOrUndefined(yield* repo.findByDomain(accountId, domain))
          if (existing?.isLinked) return yield* ValidationFailed.at("domain", `${domain} is already linked`)
          if (existing !== undefined && isLocked) return yield* new PimLocked()
          const store = storeOf({ ...request, domain, platform }, existing?.store ?? newStore(id, domain))
          yield* repo.link(accountId, store)
          if (isSealed && adapter !== null) {
            const sealed = yield* secrets.seal(toText(adapter, credentials), { accountId, storeId: store.id })
            yield* repo.keepCredential(accountId, store.id, sealed)
          }
          return {
            store,
            job: existing === undefined ? null : yield* beginJob("store_link", store),
            change: "store.linked" as const
          }
        })
      )
    })
  })

const makeBeginUnlink = ({ beginJob, change }: Changes) =>
  Effect.gen(function* () {
    const importLock = yield* ImportLockRepo
    const jobs = yield* Jobs
    const repo = yield* StoresRepo

    /** Cancels the open job that publishes to the store, or cancels publishes to it. Its next step would be refused. */
    const cancelPublishing = (storeId: StoreId) =>
      Effect.gen(function* () {
        const job = Option.filter(yield* jobs.openOn(storeId), endsWithLink)
        if (Option.isSome(job)) yield* Effect.ignore(jobs.command("cancel", job.value.id))
      })

    return Effect.fn("Stores.beginUnlink")(function* (rawDomain: string) {
      const { accountId } = yield* CurrentActor
      const domain = canonical(rawDomain)
      const before = yield* repo.findByDomain(accountId, domain)
      if (Option.isSome(yield* importLock.share(accountId))) return yield* new PimLocked()
      // Before the import lock, because a step of such a job locks its job first and then waits for that lock.
      const first =
        Option.isSome(before) && before.value.isLinked ? cancelPublishing(before.value.store.id) : Effect.void
      const unlink = (isLocked: boolean) =>
        Effect.gen(function* () {
          const existing = yield* repo.findByDomain(accountId, domain)
          if (Option.isNone(existing) || !existing.value.isLinked)
            return yield* ValidationFailed.at("domain", `no store ${domain} is linked; see \`catalog store list\``)
          if (isLocked) return yield* new PimLocked()
          const { store } = existing.value
          yield* repo.unlink(accountId, store.id)
          return { store, job: yield* beginJob("store_unlink", store), change: "store.unlinked" as const }
        })
      return yield* change(accountId, unlink, first)
    })
  })

const makeTestCredential = Effect.gen(function* () {
  const access = yield* StoreAccess
  const platforms = yield* PlatformClient

  return Effect.fn("Stores.testCredential")(function* (id: StoreId) {
    const { accountId } = yield* CurrentActor
    const { open, record } = yield* access.read(accountId, id)
    const answer = yield* open.pipe(Effect.flatMap(platforms.verify), Effect.either)
    if (Either.isRight(answer)) yield* record(null, answer.right.missingPermissions)
    else if (answer.left._tag === "PlatformRefused") yield* record(answer.left.message)
    else return yield* answer.left
    return Either.isRight(answer) ? null : answer.left.message
  })
})

/** Reads for the actor: the stores that the actor can use, and their publish states. */
const readsOf = (repo: Context.Tag.Service<StoresRepo>) => {
  const list = Effect.gen(function* () {
    const { accountId } = yield* CurrentActor
    const bounds = yield* CurrentBounds
    const all = yield* repo.list(accountId)
    return all.filter(({ id }) => includes(bounds, id))
  })
  return {
    list,
    find: Effect.fnUntraced(function* (id: StoreId) {
      const store = (yield* list).find((each) => each.id === id)
      return store === undefined ? yield* new NotFound() : store
    }),
    credentialTests: withAccountId(repo.credentialTests),
    publishCounts: withAccountId(repo.publishCounts),
    timeZones: withAccountId(repo.timeZones),
    keepTimeZone: (id: StoreId, timeZone: string) =>
      withAccountId((accountId) => repo.keepTimeZone(accountId, id, timeZone))
  }
}
