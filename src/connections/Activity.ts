import { Context, Duration, Effect, Layer } from "effect"
import type { AccountId, ConnectionId } from "../model/Ids.ts"
import { ActivityRepo, type CallCount } from "./ActivityRepo.ts"

/** How often a process writes its call counts. A killed process loses the counts since its last write. */
const betweenWrites = Duration.seconds(5)

/** Number of days that pages and commands show. */
export const shownDays = 30

const make = Effect.gen(function* () {
  const repo = yield* ActivityRepo
  const counted = new Map<ConnectionId, CallCount>()
  /** Open while calls are not written, so that an idle process does not wake up. */
  const hasCalls = yield* Effect.makeLatch()

  const add = ({ accountId, calls, connectionId }: CallCount) => {
    counted.set(connectionId, {
      accountId,
      connectionId,
      calls: calls + (counted.get(connectionId)?.calls ?? 0)
    })
    hasCalls.unsafeOpen()
  }

  const writeCalls = Effect.suspend(() => {
    const counts = [...counted.values()]
    counted.clear()
    hasCalls.unsafeClose()
    return counts.length === 0
      ? Effect.void
      : repo.addCalls(counts).pipe(
          Effect.onError(() => Effect.sync(() => counts.forEach(add))),
          Effect.catchAllCause((cause) => Effect.logWarning("Calls of connections could not be counted", cause))
        )
  })

  // Writes the last counts after the loop below has ended, because finalizers run in reverse order.
  yield* Effect.addFinalizer(() => writeCalls)
  yield* Effect.forkScoped(Effect.forever(Effect.zipRight(hasCalls.await, Effect.delay(writeCalls, betweenWrites))))

  return {
    /** Counts a tool call. Writes nothing. */
    countCall: (call: Omit<CallCount, "calls">) => Effect.sync(() => add({ ...call, calls: 1 })),
    // Writes the counts of this process first, so that the answer includes them.
    /** The last `shownDays` UTC days, newest first. Days without activity are left out. */
    days: (accountId: AccountId, id: ConnectionId) => Effect.zipRight(writeCalls, repo.days(accountId, id, shownDays)),
    /** Changes of drafts by the connection, newest first; with `before`, only older ones. */
    changes: repo.changes,
    /** Writes the counted calls. If that fails, they stay counted, and a warning is logged. */
    writeCalls,
    /** Deletes old call counts. Returns their number. */
    forget: repo.forget
  }
})

/**
 * The activity of connections. Writes and publishes are counted from the history, so they are exact. Calls are counted in memory
 * and written every few seconds and at shutdown, so a killed process loses its last seconds. A call belongs to the day on which
 * its count is written.
 */
export class Activity extends Context.Tag("catalog/Activity")<Activity, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.scoped(Activity, make)
}
