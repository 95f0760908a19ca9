import { Context, Data, type Duration, Effect, FiberSet, Layer, Schedule } from "effect"
import type { AccountId } from "../model/Ids.ts"
import { metrics, readBeforeExport } from "../telemetry/Metrics.ts"
import { AccountEventsRepo } from "./AccountEventsRepo.ts"
import { defaultEventBounds, type EventBounds } from "./EventBounds.ts"
import { type EventStream, OpenStream } from "./EventStream.ts"
import { textOf, WatchedAccounts } from "./WatchedAccounts.ts"
import { parseNotification, workKinds } from "./WorkEvent.ts"

export interface EventTimes {
  /** Interval between checks for changes that may not have been announced. */
  readonly pollInterval: Duration.DurationInput
  /** Changes that come within this time after the first are sent with it. */
  readonly collect: Duration.DurationInput
  /** Pause before the process listens to the database again. */
  readonly retry: Duration.DurationInput
  /** Interval at which a stream is checked while nothing changes. */
  readonly heartbeat: Duration.DurationInput
  /**
   * Interval between renewals of the mark of an account with open streams. It is shorter than a minute, the shortest
   * time for which a mark is valid.
   */
  readonly renew: Duration.DurationInput
  /**
   * A stream ends about this long after it was opened, and its page opens a new one. This limits streams whose browser
   * has disappeared.
   */
  readonly lifetime: Duration.DurationInput
}

export const defaultEventTimes: EventTimes = {
  pollInterval: "2 seconds",
  collect: "300 millis",
  retry: "1 second",
  heartbeat: "15 seconds",
  renew: "15 seconds",
  lifetime: "5 minutes"
}

/** Too many streams are open, of this account or session. */
export class TooManyStreams extends Data.TaggedError("TooManyStreams")<{
  readonly of: "account" | "session"
  readonly max: number
}> {}

/** The PostgreSQL channel of the triggers in 0012_data_out.sql. */
const channel = "catalog_events"

/**
 * Tells open pages which work of their account has changed, in any process. After the first stream is opened, one
 * connection of the process listens to the database. `WatchedAccounts` finds changes that may not be announced.
 */
export class AccountEvents extends Context.Tag("catalog/AccountEvents")<
  AccountEvents,
  {
    readonly heartbeat: Duration.DurationInput
    readonly lifetime: Duration.DurationInput
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
  /**
   * `catchesUp` false: changes that no transaction announced to this process are missed. Only for a test that shows the
   * difference.
   */
  static readonly layer = (
    bounds: EventBounds = defaultEventBounds,
    { collect, heartbeat, lifetime, pollInterval, renew, retry }: EventTimes = defaultEventTimes,
    catchesUp = true
  ) =>
    Layer.scoped(
      AccountEvents,
      Effect.gen(function* () {
        const repo = yield* AccountEventsRepo
        const run = yield* FiberSet.makeRuntime<never>()
        const accounts = new WatchedAccounts(repo, renew, catchesUp)
        let hasBegun = false
        /** Whether the log has the reason why the process does not listen. */
        let isNoted = false

        const stateOf = (accountId: AccountId) => Effect.map(repo.read(accountId), textOf)

        const onNotification = (payload: string) => {
          const notification = parseNotification(payload)
          if (notification === undefined) return
          const { accountId, id, kind } = notification
          for (const stream of accounts.streamsOf(accountId)) stream.add(kind, id)
        }

        const onListening = Effect.suspend(() => {
          isNoted = false
          return accounts.onListening
        })

        const listening =
          repo.listen === undefined
            ? Effect.void
            : repo.listen(channel, onNotification, onListening).pipe(
                Effect.catchTag("ListeningLost", ({ reason }) =>
                  Effect.suspend(() => {
                    const what = accounts.isListening ? "is lost" : "cannot be opened"
                    const log = isNoted ? Effect.logDebug : Effect.logWarning
                    accounts.isListening = false
                    isNoted = true
                    metrics.eventListenerLosses.of().add(1)
                    return log(
                      `The connection that listens for changes ${what}, so the process polls for changes: ${reason}`
                    )
                  })
                ),
                Effect.repeat(Schedule.spaced(retry))
              )

        const begin = () => {
          if (hasBegun) return
          hasBegun = true
          run(listening)
          run(Effect.repeat(accounts.poll, Schedule.spaced(pollInterval)))
        }

        const refuseOver = (accountId: AccountId, session: string) => {
          const streams = [...accounts.streamsOf(accountId)]
          const ofSession = streams.filter((stream) => stream.session === session).length
          if (ofSession >= bounds.perSession) return new TooManyStreams({ of: "session", max: bounds.perSession })
          if (streams.length >= bounds.perAccount) return new TooManyStreams({ of: "account", max: bounds.perAccount })
          return undefined
        }

        const open = (accountId: AccountId, session: string, state: string | undefined) =>
          Effect.gen(function* () {
            const refusal = refuseOver(accountId, session)
            if (refusal !== undefined) {
              metrics.eventStreamRefusals.of(refusal.of).add(1)
              return yield* refusal
            }
            const stream = new OpenStream(session, collect, (closed) => accounts.remove(accountId, closed))
            const added = accounts.add(accountId, stream)
            begin()
            const now = yield* Effect.onError(added, () => Effect.sync(stream.close))
            if (textOf(now) !== state) for (const kind of workKinds) stream.add(kind, undefined)
            return stream satisfies EventStream
          })

        yield* Effect.acquireRelease(
          Effect.sync(() =>
            readBeforeExport(() => {
              metrics.eventStreams.of().add(accounts.streamCount)
              metrics.eventListening.of().add(accounts.isListening ? 1 : 0)
            })
          ),
          (stop) => Effect.sync(stop)
        )

        return { heartbeat, lifetime, stateOf, open }
      })
    )
}
