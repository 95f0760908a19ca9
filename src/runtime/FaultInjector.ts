import { Context, Effect, Layer } from "effect"

/**
 * Steps of an import, and of a batch of fills or reconciles. A crash of the process at any of them must do no harm. `written`,
 * `marked`, `unlocked`, `batchBegun` and `batchWritten` are inside a transaction, the others after the commit that they name.
 */
type ImportStep =
  | "created"
  | "checked"
  | "pulled"
  | "fetched"
  | "staged"
  | "locked"
  | "reviewing"
  | "applying"
  | "written"
  | "marked"
  | "committed"
  | "unlocked"
  | "askingStore"
  | "storeAnswered"
  | "applied"
  | "batchBegun"
  | "batchWritten"
  | "batchCommitted"

/**
 * Steps of a publish. `requesting` and `settling` are inside the transactions that save the request and the outcome. `pushing` is
 * before the call to the platform, `pushed` after its answer.
 */
type PublishStep =
  | "requesting"
  | "requested"
  | "claimed"
  | "readBack"
  | "pushing"
  | "pushed"
  | "settling"
  | "settled"
  | "postponed"

/** Steps of a drop. The first two are inside transactions, the others after their commits. */
type DropStep = "dropMoving" | "dropSettling" | "dropMoved" | "dropSettled"

/** The step after each commit of an undo. */
type UndoStep = "undone"

/** Before and after the commit of a step of a job. */
type JobStep = "jobStepping" | "jobStepped"

export type FaultStep = ImportStep | PublishStep | DropStep | UndoStep | JobStep

/** Lets tests kill or pause the process at these steps. In production it does nothing. */
export class FaultInjector extends Context.Tag("catalog/FaultInjector")<
  FaultInjector,
  { readonly at: (step: FaultStep) => Effect.Effect<void> }
>() {
  static readonly layer = Layer.succeed(FaultInjector, { at: () => Effect.void })
}
