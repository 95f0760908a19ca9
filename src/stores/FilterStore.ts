import { Effect, Option } from "effect"
import type { StepResult } from "../jobs/JobKind.ts"
import { JobsRepo } from "../jobs/JobsRepo.ts"
import { NotFound } from "../model/Errors.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import { StoresRepo } from "./StoresRepo.ts"

const failedLink = "the end of the job that links the store again, which has failed: resume it"

/**
 * Makes the function that checks the store of a list's filters before a job walks along what they find. The list of an unlinked store
 * loses its entities, and that of a store that is linked again lacks those that its job has not reached: a walk would leave them out.
 * The step must hold the import lock, so that the store is not unlinked meanwhile. A job of the link that has failed is waited for too,
 * because it can be resumed. Undefined: the walk can go on. NotFound: the store is not linked.
 */
export const makeAwaitFilterStore = Effect.gen(function* () {
  const jobs = yield* JobsRepo
  const stores = yield* StoresRepo

  return (accountId: AccountId, storeId: StoreId | undefined): Effect.Effect<StepResult<never> | undefined, NotFound> =>
    Effect.gen(function* () {
      if (storeId === undefined) return undefined
      if (Option.isNone(yield* stores.find(accountId, storeId))) return yield* new NotFound()
      const newest = Option.getOrUndefined(yield* jobs.newestOn(accountId, storeId, ["store_link", "store_unlink"]))
      if (newest?.kind !== "store_link" || newest.state === "done") return undefined
      return {
        _tag: "Wait",
        why: newest.state === "failed" ? failedLink : "the end of the job that links the store again"
      }
    })
})
