import { Context, Effect } from "effect"

/**
 * Notes that the platform has answered a call of the current attempt to publish (`noteWrite`: a call that writes). So a later failure of the
 * attempt says nothing about the whole platform. An adapter whose publish or read-back makes several calls notes each answer. Default:
 * nothing is noted.
 */
export class PlatformAnswers extends Context.Reference<PlatformAnswers>()("catalog/PlatformAnswers", {
  defaultValue: (): { readonly note: Effect.Effect<void>; readonly noteWrite: Effect.Effect<void> } => ({
    note: Effect.void,
    noteWrite: Effect.void
  })
}) {}
