import { Context, Effect } from "effect"

/** Receives the progress of a publish of several entities. */
interface ProgressListener {
  /** How long the publish waits for the stores after its requests, in milliseconds. 0: not at all. */
  readonly waitMillis: number
  /** Called once per entity, when its outcome is known. `text`: a line such as `Boots: published`. */
  readonly report: (done: number, total: number, text: string) => Effect.Effect<void>
}

/** The listener of the current publish. By default, a publish reports nothing and does not wait. */
export class PublishProgress extends Context.Reference<PublishProgress>()("catalog/PublishProgress", {
  defaultValue: (): ProgressListener => ({ waitMillis: 0, report: () => Effect.void })
}) {}
