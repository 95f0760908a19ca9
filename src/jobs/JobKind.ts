import { Effect, Schema } from "effect"
import type { WorkloadName } from "../database/Deadlines.ts"
import type { CurrentActor } from "../model/Actor.ts"
import type { AccountId, JobId } from "../model/Ids.ts"
import type { DeletedEntity, JobCounts, JobError, JobKindName, JobStopped } from "./Job.ts"

/**
 * The result of one step.
 *
 * `Progress`: `cursor` is where the next step begins; null: the job is done. `done`: items of this step. `counts` are added to
 * the job's result, `errors` and `deleted` to its lists. `total`: the number of all items, if a step finds it out; then `done` counts the items of all steps. `Wait`: nothing was done and the step is repeated after `seconds` (default 5); `why` completes
 * "waits for". `isForPlatform`: it waits for a store's platform that does not answer. `Deleted`: the step deleted the job itself.
 */
export type StepResult<Cursor> =
  | {
      readonly _tag: "Progress"
      readonly cursor: Cursor | null
      readonly done: number
      readonly total?: number
      readonly counts?: JobCounts
      readonly errors?: ReadonlyArray<JobError>
      readonly deleted?: ReadonlyArray<DeletedEntity>
    }
  | { readonly _tag: "Wait"; readonly why: string; readonly seconds?: number; readonly isForPlatform?: boolean }
  | { readonly _tag: "Deleted" }

/** The result of a step that does not run during an import or its review. */
export const waitForImport: StepResult<never> = { _tag: "Wait", why: "the end of an import or of its review" }

/** `cursor` null: the first step. `size`: number of items that the step should do. */
export interface StepInput<Input, Cursor> {
  readonly accountId: AccountId
  readonly id: JobId
  readonly input: Input
  readonly cursor: Cursor | null
  readonly size: number
}

/**
 * A kind of job. `step` runs inside the transaction that also saves its cursor, so its effects in the database happen
 * exactly once. The size of a step is adapted to the time that steps take: see `JobRunner`.
 */
export interface JobKind<Input, InputJson, Cursor, CursorJson> {
  readonly name: JobKindName
  readonly input: Schema.Schema<Input, InputJson>
  readonly cursor: Schema.Schema<Cursor, CursorJson>
  /** Items of the first step, and the maximum. */
  readonly sizes: { readonly first: number; readonly max: number }
  /** Deadlines of the statements of a step. Default: those of background work. */
  readonly workload?: WorkloadName
  readonly step: (step: StepInput<Input, Cursor>) => Effect.Effect<StepResult<Cursor>, JobStopped, CurrentActor>
}

/** A kind whose input and cursor are JSON values. */
export type AnyJobKind = JobKind<unknown, unknown, unknown, unknown>

/** Hides the types of a kind behind its schemas. Dies if a stored value does not match them. */
export const anyKind = <Input, InputJson, Cursor, CursorJson>(
  kind: JobKind<Input, InputJson, Cursor, CursorJson>
): AnyJobKind => {
  const decodeInput = Schema.decodeUnknown(kind.input)
  const decodeCursor = Schema.decodeUnknown(kind.cursor)
  const encodeCursor = Schema.encode(kind.cursor)
  return {
    ...kind,
    input: Schema.Unknown,
    cursor: Schema.Unknown,
    step: ({ cursor, input, ...step }) =>
      Effect.gen(function* () {
        const result = yield* kind.step({
          ...step,
          input: yield* Effect.orDie(decodeInput(input)),
          cursor: cursor === null ? null : yield* Effect.orDie(decodeCursor(cursor))
        })
        return result._tag === "Progress" && result.cursor !== null
          ? { ...result, cursor: yield* Effect.orDie(encodeCursor(result.cursor)) }
          : result
      })
  }
}
