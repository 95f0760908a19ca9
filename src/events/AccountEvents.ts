import { hash } from "node:crypto"
import { Context, Data, type Duration, Effect, FiberSet, Layer, Option, Schedule } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import type { AccountId } from "../model/Ids.ts"
import { metrics, readBeforeExport } from "../telemetry/Metrics.ts"
import { AccountEventsRepo, type WorkState } from "./AccountEventsRepo.ts"
import { defaultEventBounds, type EventBounds } from "./EventBounds.ts"
import { PendingChanges, parseNotification, type WorkChanges, workKinds } from "./WorkEvent.ts"

export interface EventTimes {
  /** Interval of looks for changes while nothing announces them. */
  readonly look: Duration.DurationInput
  /** Changes that come within this time after the first are sent with it. */
  readonly collect: Duration.DurationInput
  /** Pause before the database is listened to again. */
  readonly retry: Duration.DurationInput
  /** Interval at which a stream is looked after while nothing changes. */
  readonly heartbeat: Duration.DurationInput
}

export const defaultEventTimes: EventTimes = {
  look: "2 seconds",
  collect: "300 millis",
  retry: "1 second",
  heartbeat: "15 seconds"
}

/** Too many streams are open, of this account or session. */
export class TooManyStreams extends Data.TaggedError("TooManyStreams")<{
  readonly of: "account" | "session"
  readonly max: number
}> {}

/** The changes of one account, for one open page. */
export interface EventStream {
  /** Waits until something has changed. None: the stream was closed. */
  readonly next: Effect.Effect<Option.Option<WorkChanges>>
  readonly close: () => void
}

/** The PostgreSQL channel of the triggers in 0026_events.sql. */
const channel = "catalog_events"

class Stream implements EventStream {
  readonly session: string
  private readonly pending = new PendingChanges()
  private readonly collect: Duration.DurationInput
  private readonly onClose: (stream: Stream) => void
  private isClosed = false
  private wake: (() => void) | undefined

  constructor(session: string, collect: Duration.DurationInput, onClose: (stream: Stream) => void) {
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

/** An account with open streams. `state`: the state of its work when it was last read. */
interface Watched {
  readonly streams: Set<Stream>
  state: WorkState | undefined
}

const textOf = (state: WorkState | undefined) =>
  state === undefined ? "" : hash("sha256", workKinds.map((kind) => state[kind]).join("|"), "hex").slice(0, 16)

/**
 * Adds the kinds of work that differ between two states to all streams of an account. Without a state before, the streams are
 * being opened, and `open` compares with the state of their pages.
 */
const addDifferences = ({ state: before, streams }: Watched, after: WorkState) => {
  if (before === undefined) return
  for (const kind of workKinds)
    if (before[kind] !== after[kind]) for (const stream of streams) stream.add(kind, undefined)
}

/**
 * Tells open pages which work of their account has changed, in whatever process. One connection of the process listens to the
 * database, from the first stream on. While nothing listens, the accounts with open streams are looked at instead.
 */
export class AccountEvents extends Context.Tag("catalog/AccountEvents")<
  AccountEvents,
  {
    readonly heartbeat: Duration.DurationInput
    /** The state of an account's work, to be read before a page is rendered and given to `open` by that page. */
    readonly stateOf: (accountId: AccountId) => Effect.Effect<string>
    /**
     * Opens a stream. If the account's work has changed since `state` was read, all kinds count as changed.
     * TooManyStreams: the account or the session has too many open streams in this process.
     */
    readonly open: (
      accountId: AccountId,
      session: string,
      state: string | undefined
    ) => Effect.Effect<EventStream, TooManyStreams>
  }
>() {
  /** `catchesUp` false: changes during a lost connection stay unheard. Only for a test that shows the difference. */
  static readonly layer = (
    bounds: EventBounds = defaultEventBounds,
    { collect, heartbeat, look, retry }: EventTimes = defaultEventTimes,
    catchesUp = true
  ) =>
    Layer.scoped(
      AccountEvents,
      Effect.gen(function* () {
        const { listen, read } = yield* AccountEventsRepo
        const run = yield* FiberSet.makeRuntime<never>()
        const accounts = new Map<string, Watched>()
        let isListening = false
        let hasBegun = false

        const stateOf = (accountId: AccountId) => Effect.map(read(accountId), textOf)

        const removeFrom = (accountId: AccountId) => (stream: Stream) => {
          const watched = accounts.get(accountId)
          watched?.streams.delete(stream)
          if (watched?.streams.size === 0) accounts.delete(accountId)
        }

        const hear = (payload: string) => {
          const notification = parseNotification(payload)
          if (notification === undefined) return
          const { accountId, id, kind } = notification
          for (const stream of accounts.get(accountId)?.streams ?? []) stream.add(kind, id)
        }

        const lookAt = (accountId: AccountId, watched: Watched) =>
          Effect.map(read(accountId), (state) => {
            if (state === undefined) return
            addDifferences(watched, state)
            watched.state = state
          })

        const lookAtAll = Effect.suspend(() =>
          Effect.forEach([...accounts], ([id, watched]) => lookAt(id as AccountId, watched), { discard: true })
        ).pipe(
          asBackground,
          Effect.catchAllCause((cause) => Effect.logDebug("Changes of work could not be looked for", cause))
        )

        /** Also finds what changed while nothing listened. */
        const onListening = Effect.suspend(() => {
          isListening = true
          return catchesUp ? lookAtAll : Effect.void
        })

        const listening =
          listen === undefined
            ? Effect.void
            : listen(channel, hear, onListening).pipe(
                Effect.catchTag("ListeningLost", ({ reason }) =>
                  Effect.suspend(() => {
                    const wasListening = isListening
                    isListening = false
                    metrics.eventListenerLosses.of().add(1)
                    return (wasListening ? Effect.logWarning : Effect.logDebug)(
                      `The connection that hears changes is lost, so they are looked for: ${reason}`
                    )
                  })
                ),
                Effect.repeat(Schedule.spaced(retry))
              )

        const looking = Effect.suspend(() => (isListening ? Effect.void : lookAtAll)).pipe(
          Effect.repeat(Schedule.spaced(look))
        )

        const begin = () => {
          if (hasBegun) return
          hasBegun = true
          run(listening)
          run(looking)
        }

        const refuseOver = (watched: Watched | undefined, session: string) => {
          const streams = watched === undefined ? [] : [...watched.streams]
          const ofSession = streams.filter((stream) => stream.session === session).length
          if (ofSession >= bounds.perSession) return new TooManyStreams({ of: "session", max: bounds.perSession })
          if (streams.length >= bounds.perAccount) return new TooManyStreams({ of: "account", max: bounds.perAccount })
          return undefined
        }

        const open = (accountId: AccountId, session: string, state: string | undefined) =>
          Effect.gen(function* () {
            const refusal = refuseOver(accounts.get(accountId), session)
            if (refusal !== undefined) {
              metrics.eventStreamRefusals.of(refusal.of).add(1)
              return yield* refusal
            }
            const watched = accounts.get(accountId) ?? { streams: new Set(), state: undefined }
            accounts.set(accountId, watched)
            const stream = new Stream(session, collect, removeFrom(accountId))
            watched.streams.add(stream)
            begin()
            // After the stream was added, so that a change is either heard or in this state.
            const now = yield* Effect.onError(read(accountId), () => Effect.sync(stream.close))
            watched.state ??= now
            if (textOf(now) !== state) for (const kind of workKinds) stream.add(kind, undefined)
            return stream satisfies EventStream
          })

        yield* Effect.acquireRelease(
          Effect.sync(() =>
            readBeforeExport(() => {
              let streams = 0
              for (const watched of accounts.values()) streams += watched.streams.size
              metrics.eventStreams.of().add(streams)
              metrics.eventListening.of().add(isListening ? 1 : 0)
            })
          ),
          (stop) => Effect.sync(stop)
        )

        return { heartbeat, stateOf, open }
      })
    )
}
