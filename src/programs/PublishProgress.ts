import { Context, Effect } from "effect"

/** Who follows a publish of several entities while it runs. */
export interface ProgressListener {
  /** How long the publish waits for the stores after its requests, in milliseconds. 0: not at all. */
  readonly waitMillis: number
  /** Is called once for each entity whose outcome is known. `text`: a line such as `Boots: published`. */
  readonly report: (done: number, total: number, text: string) => Effect.Effect<void>
}

/** The listener of the current publish. By default nobody listens, and no publish waits. */
export class PublishProgress extends Context.Reference<PublishProgress>()("catalog/PublishProgress", {
  defaultValue: (): ProgressListener => ({ waitMillis: 0, report: () => Effect.void })
}) {}
