import { Context, Effect, Layer } from "effect"

/**
 * Steps of an import, and of a batch of remedies, after which it must be possible to lose the process. `written`, `marked`,
 * `unlocked`, `batchBegun` and `batchWritten` lie inside a transaction, the others behind the commit that they name.
 */
type ImportStep =
  | "created"
  | "checked"
  | "pulled"
  | "fetched"
  | "staged"
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
 * The same of a publish: `asking` and `settling` lie inside the transactions of the ask and of the outcome; `pushing` before
 * the platform is asked, `pushed` behind its answer.
 */
type PublishStep =
  | "asking"
  | "asked"
  | "claimed"
  | "readBack"
  | "pushing"
  | "pushed"
  | "settling"
  | "settled"
  | "postponed"

/** The same of a drop: the first two lie inside the transactions of its ends, the others behind their commits. */
type DropStep = "dropMoving" | "dropSettling" | "dropMoved" | "dropSettled"

export type FaultStep = ImportStep | PublishStep | DropStep

/** Where a test ends the process, or holds it: live, nothing happens. */
export class FaultInjector extends Context.Tag("catalog/FaultInjector")<
  FaultInjector,
  { readonly at: (step: FaultStep) => Effect.Effect<void> }
>() {
  static readonly layer = Layer.succeed(FaultInjector, { at: () => Effect.void })
}
