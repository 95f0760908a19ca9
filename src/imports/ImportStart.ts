import { Effect, Option, type Scope } from "effect"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { PimLocked } from "../model/Errors.ts"
import { type AccountId, ImportId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { mintId } from "../runtime/Identifiers.ts"
import type { ImportOrigin } from "./Import.ts"
import { describeSourceFailure, interruptedText, leaseExpired, summarizeProblems } from "./ImportFailures.ts"
import type { ImportLeases } from "./ImportLeases.ts"
import type { ImportRecovery } from "./ImportRecovery.ts"
import type { ImportReview } from "./ImportReview.ts"
import type { ReadSource } from "./ImportSources.ts"
import type { Compared } from "./ImportStaging.ts"
import { ImportsRepo } from "./ImportsRepo.ts"
import { traceImport } from "./ImportTraces.ts"

/** Maximum number of comparisons during which the account can be changed. Each change meanwhile makes a comparison useless. */
const maxOpenComparisons = 2

interface SourceName {
  readonly origin: ImportOrigin
  /** null: a refresh. */
  readonly fileName: string | null
}

export const refreshSource: SourceName = { origin: "refresh", fileName: null }

type Read<E1, E2> = Effect.Effect<{ readonly compare: Effect.Effect<Compared, E2> }, E1, Scope.Scope>

/** Creates imports and runs them until their review begins. */
export const makeImportStart = (
  { failReading, getRun, keepLease, refuseLocked, runInBackground, runTransaction }: ImportLeases,
  review: ImportReview,
  { resume }: ImportRecovery
) =>
  Effect.gen(function* () {
    const faults = yield* FaultInjector
    const history = yield* HistoryRepo
    const importLock = yield* ImportLockRepo
    const repo = yield* ImportsRepo

    const create = (store: Store, { fileName, origin }: SourceName) =>
      Effect.gen(function* () {
        const actor = yield* CurrentActor
        const id = yield* mintId(ImportId)
        const creator = yield* history.nameOf(actor)
        yield* repo.create(actor.accountId, { id, storeId: store.id, source: origin, fileName, actor: creator })
        return id
      })

    /**
     * Reads the source and compares it with the catalog. Repeats the comparison if the catalog changed meanwhile; the last one locks
     * the account, so that an account which is edited all the time can be compared too.
     */
    const prepare = <E1, E2>(accountId: AccountId, id: ImportId, origin: ImportOrigin, read: Read<E1, E2>) =>
      Effect.gen(function* () {
        const work = Effect.gen(function* () {
          yield* faults.at("created")
          const source = yield* traceImport("reading", accountId, id)(read)
          const compare = traceImport("comparison", accountId, id)(source.compare)
          for (let attempt = 0; attempt < maxOpenComparisons; attempt++)
            if (yield* review.enter(accountId, id, yield* compare)) return
          yield* review.lock(accountId, id)
          yield* faults.at("locked")
          yield* review.enter(accountId, id, yield* compare)
        }).pipe(Effect.scoped)
        const onLost = Effect.flatMap(Effect.orDie(getRun(accountId, id)), ({ phase }) =>
          phase === "reviewing" ? Effect.void : leaseExpired(origin)
        )
        const lease = { accountId, id, phase: "fetching", takeovers: 0 } as const
        yield* keepLease(lease, work, onLost).pipe(
          Effect.onError((cause) => failReading(lease, () => describeSourceFailure(cause), summarizeProblems(cause)))
        )
        yield* faults.at("reviewing")
        yield* repo.forgetUnneeded(accountId, id)
        return yield* Effect.orDie(getRun(accountId, id))
      })

    /** Creates an import and waits until it is under review. If interrupted, it ends the import. ValidationFailed: another import locks the account. */
    const run = <E1, E2>(
      accountId: AccountId,
      store: Store,
      source: SourceName,
      read: (id: ImportId) => Read<E1, E2>
    ) =>
      Effect.gen(function* () {
        yield* resume(Option.some(accountId))
        const id = yield* runTransaction(
          Effect.gen(function* () {
            const holder = yield* importLock.take(accountId)
            return Option.isSome(holder) ? yield* refuseLocked(accountId, holder.value) : yield* create(store, source)
          })
        )
        return yield* prepare(accountId, id, source.origin, read(id)).pipe(
          // A command that ends before it has shown the review says that nothing was written. A review that nobody knows would lock the account.
          Effect.onInterrupt(() => Effect.ignoreLogged(Effect.sandbox(review.discard(accountId, id, interruptedText))))
        )
      })

    /** Creates an import and returns at once. If one of the same store and origin is being read already, returns that one. */
    const start = (accountId: AccountId, store: Store, source: SourceName, read: (id: ImportId) => ReadSource) =>
      Effect.gen(function* () {
        // The lock makes concurrent requests wait for each other.
        const { id, isNew } = yield* runTransaction(
          Effect.gen(function* () {
            if (Option.isSome(yield* importLock.take(accountId))) return yield* new PimLocked()
            const before = (yield* repo.fetching(accountId)).find(
              (other) => other.source === source.origin && other.storeId === store.id
            )
            return before === undefined
              ? { id: yield* create(store, source), isNew: true }
              : { id: before.id, isNew: false }
          })
        )
        if (isNew) yield* runInBackground(id, prepare(accountId, id, source.origin, read(id)))
        return { run: yield* Effect.orDie(getRun(accountId, id)), isNew }
      })

    return { run, start }
  })
