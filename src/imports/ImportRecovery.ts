import { Effect, Option } from "effect"
import type { AccountId } from "../model/Ids.ts"
import type { ApplyImport } from "./ImportApply.ts"
import { describeInterruptions, describeStoppedReading } from "./ImportFailures.ts"
import type { ImportLeases } from "./ImportLeases.ts"
import type { ReportProgress } from "./ImportStaging.ts"
import { ImportsRepo } from "./ImportsRepo.ts"
import type { TakenRun } from "./StagedImport.ts"

const maxTakeovers = 3

/** Continues imports whose process stopped. */
export const makeImportRecovery = ({ fail, failReading, getRun }: ImportLeases, apply: ApplyImport) =>
  Effect.gen(function* () {
    const repo = yield* ImportsRepo

    /**
     * Continues to apply an import. Fails the import if its source was still being read, or after too many takeovers.
     */
    const continueImport = (lease: TakenRun, report: ReportProgress) =>
      Effect.gen(function* () {
        const { accountId, id, interruptions, phase } = lease
        if (phase === "fetching") return yield* failReading(lease, describeStoppedReading)
        const run = yield* Effect.orDie(getRun(accountId, id))
        if (interruptions <= maxTakeovers) return yield* apply(lease, run, report)
        yield* fail(lease, (last) => describeInterruptions(last, interruptions))
      })

    /** Takes over all imports whose lease expired, of one account or of all. Returns the number of imports. */
    const resume = (accountId: Option.Option<AccountId>) =>
      Effect.gen(function* () {
        const leases: Array<TakenRun> = []
        for (;;) {
          const next = yield* repo.takeOver({ accountId: Option.getOrNull(accountId), id: null })
          if (Option.isNone(next)) break
          leases.push(next.value)
        }
        // In parallel: all leases run out at the same time, and no account should wait for another account's import.
        yield* Effect.forEach(
          leases,
          (lease) =>
            continueImport(lease, () => Effect.void).pipe(
              Effect.catchAllCause((cause) => Effect.logWarning(`Import ${lease.id} could not be completed`, cause))
            ),
          { concurrency: "unbounded", discard: true }
        )
        return leases.length
      })

    return { continueImport, resume }
  })

export type ImportRecovery = Effect.Effect.Success<ReturnType<typeof makeImportRecovery>>
