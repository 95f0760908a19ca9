import { Effect, Queue, Stream } from "effect"

/** Sends one event to the client. */
export type Report<Event> = (event: Event) => Effect.Effect<void>

/** Streams the events that the work reports (only the newest ones if the client is slow), then its result. */
export const streamEvents = <Event, E, R>(
  work: (report: Report<Event>) => Effect.Effect<Event, E, R>
): Stream.Stream<Event, E, R> =>
  Stream.unwrap(
    Effect.map(Queue.sliding<Event>(4), (events) =>
      Stream.merge(Stream.fromQueue(events), Stream.fromEffect(work((event) => Queue.offer(events, event))), {
        haltStrategy: "right"
      })
    )
  )
