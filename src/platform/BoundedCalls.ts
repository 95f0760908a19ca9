import { Cause, Duration, Effect, Exit, Fiber, Option, Stream } from "effect"
import type { PlatformClient } from "./PlatformClient.ts"
import { type PlatformFailure, PlatformOutcomeUnknown, PlatformUnavailable } from "./PlatformErrors.ts"

/** The longest duration of a call, as that of a whole attempt to publish. Most adapters have shorter limits of their own. */
const callLimit = Duration.minutes(5)
/** The longest wait for the next records of a stream. A platform may have many pages without one. */
const streamLimit = Duration.minutes(30)
/** How long a call that is interrupted may go on before it is left behind. */
const interruptLimit = Duration.seconds(1)

/**
 * Runs a call of an adapter in a fiber of its own, so that one that cannot be interrupted keeps nobody waiting. If it dies, does not end in
 * time, or interrupts itself, it fails with `failure`, and the log has the cause.
 */
const bounded = <A, E>(
  name: string,
  limit: Duration.Duration,
  call: () => Effect.Effect<A, E>,
  failure: (reason: PlatformFailure) => E
): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkDaemon(Effect.interruptible(Effect.suspend(call)))
      const stop = Fiber.interrupt(fiber).pipe(Effect.interruptible, Effect.timeout(interruptLimit), Effect.ignore)
      const ended = yield* restore(Fiber.await(fiber)).pipe(
        Effect.timeoutOption(limit),
        Effect.onInterrupt(() => stop)
      )
      if (Option.isNone(ended)) {
        yield* Fiber.interruptFork(fiber)
        yield* Effect.logWarning(`The call ${name} of an adapter did not end within ${Duration.format(limit)}`)
        return yield* Effect.fail(failure("timeout"))
      }
      const exit = ended.value
      if (Exit.isSuccess(exit) || Cause.isFailure(exit.cause)) return yield* exit
      yield* Effect.logError(`The call ${name} of an adapter failed unexpectedly`, exit.cause)
      return yield* Effect.fail(failure("defect"))
    })
  )

const unavailable = (reason: PlatformFailure) => new PlatformUnavailable({ reason })
const unknown = (reason: PlatformFailure) => new PlatformOutcomeUnknown({ reason })

/** The client of a platform, each of whose calls ends, and fails only with an error of `PlatformErrors`. */
export const boundCalls = (platform: string, client: PlatformClient["Type"]): PlatformClient["Type"] => {
  const read = <A, E>(name: keyof PlatformClient["Type"], call: () => Effect.Effect<A, E | PlatformUnavailable>) =>
    bounded<A, E | PlatformUnavailable>(`${platform}.${name}`, callLimit, call, unavailable)
  const stream = <A, E>(name: keyof PlatformClient["Type"], call: () => Stream.Stream<A, E | PlatformUnavailable>) =>
    Stream.unwrapScoped(
      Effect.map(Stream.toPull(Stream.suspend(call)), (pull) =>
        Stream.repeatEffectChunkOption(
          bounded(
            `${platform}.${name}`,
            streamLimit,
            () => pull,
            (reason) => Option.some(unavailable(reason))
          )
        )
      )
    )
  return {
    verify: (store) => read("verify", () => client.verify(store)),
    pull: (store) => stream("pull", () => client.pull(store)),
    publish: (store, publication) =>
      bounded(`${platform}.publish`, callLimit, () => client.publish(store, publication), unknown),
    readBack: (store, publication) => read("readBack", () => client.readBack(store, publication)),
    find: (store, kind, entity) => read("find", () => client.find(store, kind, entity)),
    salesChannels: (store) => read("salesChannels", () => client.salesChannels(store)),
    entityChannels: (store, platformId) => read("entityChannels", () => client.entityChannels(store, platformId)),
    markets: (store) => stream("markets", () => client.markets(store)),
    metafieldDefinitions: (store, ownerType) =>
      stream("metafieldDefinitions", () => client.metafieldDefinitions(store, ownerType)),
    metaobjectDefinitions: (store) => stream("metaobjectDefinitions", () => client.metaobjectDefinitions(store)),
    metaobjectEntries: (store, type) => stream("metaobjectEntries", () => client.metaobjectEntries(store, type)),
    translations: (store, kind) => stream("translations", () => client.translations(store, kind))
  }
}
