import { Effect, PubSub, Queue, type Scope } from "effect"
import type { PublishingOptions } from "./PublishingOptions.ts"

/** Wakes fibers of this process that wait for publish requests or outcomes. Other processes learn of them by polling. */
export interface PublishSignal {
  /** Call this after a request was committed or an attempt has ended. */
  readonly notify: Effect.Effect<void>
  /** Subscribes to notifications. The returned effect waits for the next notification, but not longer than the poll interval. */
  readonly subscribe: Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
}

export const makePublishSignal = ({ pollEvery }: PublishingOptions): Effect.Effect<PublishSignal, never, Scope.Scope> =>
  Effect.map(Effect.acquireRelease(PubSub.sliding<void>(1), PubSub.shutdown), (pubsub) => ({
    notify: Effect.asVoid(PubSub.publish(pubsub, undefined)),
    subscribe: Effect.map(PubSub.subscribe(pubsub), (notifications) =>
      Effect.raceFirst(Queue.take(notifications), Effect.sleep(pollEvery))
    )
  }))
