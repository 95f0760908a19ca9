import { Effect } from "effect"
import type { PublishError } from "../model/PublishState.ts"
import type { ClaimedPublication } from "./PublicationClaim.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"

/** Why an attempt failed, as it was saved, and the delay before the next one. Null: it was the last, and the publication has failed. */
export interface FailedAttempt {
  readonly error: PublishError
  readonly nextSeconds: number | null
}

/** Makes the function that logs a failed attempt. */
export const makeNoteFailure = Effect.map(
  PublicationsRepo,
  (repo) =>
    ({ accountId, attempts, entityId, id, storeId }: ClaimedPublication, { error, nextSeconds }: FailedAttempt) =>
      Effect.gen(function* () {
        // A claim does not have the domain, because only failures need it. Without it the line is still worth writing.
        const [record] = yield* Effect.catchAllCause(repo.find(accountId, [id]), () => Effect.succeed([]))
        const next =
          nextSeconds === null ? "the publish has failed" : `the next one is in ${Math.round(nextSeconds * 10) / 10} s`
        yield* Effect.annotateLogs(Effect.logWarning(`A publish attempt failed; ${next}`), {
          account: accountId,
          publication: id,
          entity: entityId,
          store: record?.storeDomain ?? storeId,
          attempt: attempts,
          error: error.code,
          reason: error.message
        })
      })
)
