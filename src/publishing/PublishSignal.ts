import { Effect, PubSub, Queue, type Scope } from "effect"
import type { PublishingOptions } from "./PublishingOptions.ts"

/** Wakes the fibers of this process that wait for publish requests or outcomes. Other processes only poll. */
export interface PublishSignal {
  /** A request was committed, or an attempt has ended. */
  readonly notify: Effect.Effect<void>
  /** Subscribes to notifications; the result waits for the next one, at most for the poll interval. */
  readonly subscribe: Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
}

export const makePublishSignal = ({ pollEvery }: PublishingOptions): Effect.Effect<PublishSignal, never, Scope.Scope> =>
  Effect.map(Effect.acquireRelease(PubSub.sliding<void>(1), PubSub.shutdown), (pubsub) => ({
    notify: Effect.asVoid(PubSub.publish(pubsub, undefined)),
    subscribe: Effect.map(PubSub.subscribe(pubsub), (notifications) =>
      Effect.raceFirst(Queue.take(notifications), Effect.sleep(pollEvery))
    )
  }))
