import { type Duration, Effect, Option } from "effect"
import { PendingChanges, type WorkChanges } from "./WorkEvent.ts"

/** The changes of one account, for one open page. */
export interface EventStream {
  /** Waits until something has changed. None: the stream was closed. */
  readonly next: Effect.Effect<Option.Option<WorkChanges>>
  readonly close: () => void
}

export class OpenStream implements EventStream {
  readonly session: string
  private readonly pending = new PendingChanges()
  private readonly collect: Duration.DurationInput
  private readonly onClose: (stream: OpenStream) => void
  private isClosed = false
  private wake: (() => void) | undefined

  constructor(session: string, collect: Duration.DurationInput, onClose: (stream: OpenStream) => void) {
    this.session = session
    this.collect = collect
    this.onClose = onClose
  }

  readonly add: PendingChanges["add"] = (kind, id) => {
    this.pending.add(kind, id)
    this.wake?.()
  }

  readonly close = (): void => {
    if (this.isClosed) return
    this.isClosed = true
    this.onClose(this)
    this.wake?.()
  }

  private readonly woken = Effect.async<void>((resume) => {
    if (this.isClosed || !this.pending.isEmpty) return resume(Effect.void)
    this.wake = () => resume(Effect.void)
    return Effect.sync(() => {
      this.wake = undefined
    })
  })

  readonly next = this.woken.pipe(
    Effect.zipRight(Effect.suspend(() => (this.isClosed ? Effect.void : Effect.sleep(this.collect)))),
    Effect.map(() => (this.isClosed ? Option.none() : Option.some(this.pending.take())))
  )
}
