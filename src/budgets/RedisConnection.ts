import { Clock, Data, Deferred, Effect, Exit, Option, Redacted, type Scope } from "effect"

/** Time limit of one call, in milliseconds. Requests wait for the call. */
export const defaultCallMillis = 250
const connectMillis = 2_000
const retryMillis = 1_000
const warningMillis = 60_000

/** Redis did not answer, or its answer does not have the expected form. */
export class NoRedis extends Data.TaggedError("NoRedis")<{ readonly reason: string }> {}

export const noRedis = (cause: unknown): NoRedis => {
  if (cause instanceof NoRedis) return cause
  const parts = cause instanceof AggregateError ? cause.errors : [cause]
  return new NoRedis({ reason: parts.map((part) => (part instanceof Error ? part.message : String(part))).join("; ") })
}

const tooSlow = (callMillis: number) => new NoRedis({ reason: `no answer within ${callMillis} ms` })

/** Opens a connection on which calls fail at once while it is down: it queues no calls, and does not reconnect. */
const openClient = (url: Redacted.Redacted, onBroken: (cause: unknown) => void) =>
  Effect.gen(function* () {
    // Loaded only if Redis is configured: loading the library takes longer than most commands of the CLI.
    const { createClient } = yield* Effect.promise(() => import("redis"))
    const client = yield* Effect.acquireRelease(
      Effect.try({
        try: () =>
          createClient({
            url: Redacted.value(url),
            // The replies to our commands are the same in RESP 2 and 3, and every proxy supports 2.
            RESP: 2,
            disableOfflineQueue: true,
            commandOptions: { timeout: 0 },
            socket: { connectTimeout: connectMillis, reconnectStrategy: false }
          }),
        catch: noRedis
      }),
      (client) =>
        Effect.sync(() => {
          client.destroy()
          // A client that was destroyed while it was connecting would otherwise keep the socket that it gets.
          client.on("connect", () => client.destroy())
        })
    )
    client.on("error", onBroken)
    yield* Effect.tryPromise({ try: () => client.connect(), catch: noRedis }).pipe(
      Effect.timeoutFail({
        duration: connectMillis,
        onTimeout: () => new NoRedis({ reason: `no connection within ${connectMillis} ms` })
      })
    )
    return client
  })

export type RedisClient = Effect.Effect.Success<ReturnType<typeof openClient>>

/** The start times of unanswered calls, oldest first. */
type PendingCalls = Set<{ since: number }>

/** Fails when a call takes too long. All calls share one timer, because a timer per call would cost more than the call. */
const watchCalls = (pending: PendingCalls, callMillis: number): Effect.Effect<never, NoRedis> => {
  const checkMillis = callMillis / 5
  return Effect.gen(function* () {
    const before = performance.now()
    yield* Effect.sleep(checkMillis)
    const now = performance.now()
    // Does not count time in which the process was stalled, because it could not read answers then.
    const stalledMillis = now - before - checkMillis
    if (stalledMillis > checkMillis) for (const call of pending) call.since = Math.min(call.since + stalledMillis, now)
    const [oldest] = pending
    if (oldest !== undefined && now - oldest.since >= callMillis) return yield* tooSlow(callMillis)
  }).pipe(Effect.forever)
}

/** Warns once a minute while Redis does not answer, and logs when it answers again. */
const makeOutageLog = (url: Redacted.Redacted) => {
  const place = URL.canParse(Redacted.value(url)) ? `Redis at ${new URL(Redacted.value(url)).host}` : "Redis"
  let lastWarning = Number.NEGATIVE_INFINITY
  let isOut = false

  const recovered = Effect.suspend(() => {
    isOut = false
    return Effect.logInfo(`${place} answers again: request budgets are shared by all processes`)
  })

  return {
    warn: ({ reason }: NoRedis) =>
      Effect.suspend(() => {
        const now = performance.now()
        if (now - lastWarning < warningMillis) return Effect.void
        lastWarning = now
        isOut = true
        return Effect.logWarning(
          `${place} does not answer (${reason}): until it does, each process counts request budgets separately`
        )
      }),
    answered: <Answer>(answer: Answer) => (isOut ? Effect.as(recovered, answer) : Effect.succeed(answer))
  }
}

interface Connection {
  readonly client: RedisClient
  readonly breakOff: (cause: unknown) => void
}

/** Runs a command on the open connection. None, within about 300 ms: Redis does not answer. */
type RunOnRedis = <Answer>(
  command: (client: RedisClient) => Effect.Effect<Answer, NoRedis>
) => Effect.Effect<Option.Option<Answer>>

/**
 * Connects in the background, and again one second after each failure, until the scope closes. Returns after the first
 * attempt, whether it succeeded or failed. `callMillis`: time limit of one call.
 */
export const makeRedisConnection = (
  url: Redacted.Redacted,
  callMillis: number
): Effect.Effect<RunOnRedis, never, Scope.Scope> =>
  Effect.gen(function* () {
    const outages = makeOutageLog(url)
    const pending: PendingCalls = new Set()
    const firstAttempt = yield* Deferred.make<void>()
    let current: Connection | undefined

    /** Connects and waits until the connection ends, which is always a failure. */
    const connect = Effect.gen(function* () {
      const broken = yield* Deferred.make<never, NoRedis>()
      const breakOff = (cause: unknown) => {
        if (current?.breakOff === breakOff) current = undefined
        Deferred.unsafeDone(broken, Exit.fail(noRedis(cause)))
      }
      const client = yield* openClient(url, breakOff)
      yield* Effect.raceFirst(
        Effect.tryPromise({ try: () => client.ping(), catch: noRedis }),
        watchCalls(new Set([{ since: performance.now() }]), callMillis)
      )
      current = { client, breakOff }
      yield* Deferred.succeed(firstAttempt, undefined)
      // The scope closes next. It destroys the client, so that pending calls fail.
      return yield* Effect.raceFirst(Deferred.await(broken), watchCalls(pending, callMillis)).pipe(
        Effect.ensuring(Effect.sync(() => breakOff(tooSlow(callMillis))))
      )
    })

    yield* Effect.scoped(connect).pipe(
      Effect.catchAll(outages.warn),
      Effect.zipRight(Deferred.succeed(firstAttempt, undefined)),
      Effect.zipRight(Effect.sleep(retryMillis)),
      Effect.forever,
      // The real clock, because Redis takes real time even if a test replaced the clock.
      Effect.withClock(Clock.make()),
      Effect.forkScoped
    )
    yield* Deferred.await(firstAttempt)

    return (command) =>
      Effect.suspend(() => {
        if (current === undefined) return Effect.succeedNone
        const { breakOff, client } = current
        const call = { since: performance.now() }
        pending.add(call)
        return command(client).pipe(
          Effect.ensuring(Effect.sync(() => pending.delete(call))),
          Effect.matchEffect({
            onFailure: (failure) => {
              breakOff(failure)
              return Effect.succeedNone
            },
            onSuccess: (answer) => outages.answered(Option.some(answer))
          })
        )
      })
  })
