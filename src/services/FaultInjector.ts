import { Context, Effect, Layer } from "effect"

/**
 * Steps of an import after which it must be possible to lose the process. `written`, `marked` and `unlocked` lie inside a
 * transaction, the others behind the commit that they name.
 */
export type FaultStep =
  | "created"
  | "checked"
  | "staged"
  | "reviewing"
  | "applying"
  | "written"
  | "marked"
  | "committed"
  | "unlocked"
  | "applied"

/** Where a test ends the process, or holds it: live, nothing happens. */
export class FaultInjector extends Context.Tag("catalog/FaultInjector")<
  FaultInjector,
  { readonly at: (step: FaultStep) => Effect.Effect<void> }
>() {
  static readonly layer = Layer.succeed(FaultInjector, { at: () => Effect.void })
}
