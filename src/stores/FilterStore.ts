import { Effect, Option } from "effect"
import type { StepResult } from "../jobs/JobKind.ts"
import { JobsRepo } from "../jobs/JobsRepo.ts"
import { NotFound } from "../model/Errors.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import { StoresRepo } from "./StoresRepo.ts"

/**
 * Makes the function that checks the store of a list's filters before a job walks along what they find. The list of an unlinked store
 * loses its entities, and that of a store that is linked again lacks those that its job has not reached: a walk would leave them out.
 * The step must hold the import lock, so that the store is not unlinked meanwhile. Undefined: the walk can go on. NotFound: the store is
 * not linked.
 */
export const makeAwaitFilterStore = Effect.gen(function* () {
  const jobs = yield* JobsRepo
  const stores = yield* StoresRepo

  return (accountId: AccountId, storeId: StoreId | undefined): Effect.Effect<StepResult<never> | undefined, NotFound> =>
    Effect.gen(function* () {
      if (storeId === undefined) return undefined
      if (Option.isNone(yield* stores.find(accountId, storeId))) return yield* new NotFound()
      const open = Option.getOrUndefined(yield* jobs.openOn(accountId, storeId))
      return open?.kind === "store_link"
        ? { _tag: "Wait", why: "the end of the job that links the store again" }
        : undefined
    })
})
