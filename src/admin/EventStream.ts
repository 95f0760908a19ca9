import { Deferred, Effect, Queue, Stream } from "effect"

/** Sends one event to the client. */
export type Report<Event> = (event: Event) => Effect.Effect<void>

/** How long an event may wait for a client that does not read. */
const patience = "5 seconds"

/**
 * Streams the events that the work reports (only the newest ones if the client is slow), then its result. `deliver` is a report that
 * waits until the client has the event, at most for 5 s.
 */
export const streamEvents = <Event, E, R>(
  work: (report: Report<Event>, deliver: Report<Event>) => Effect.Effect<Event, E, R>
): Stream.Stream<Event, E, R> =>
  Stream.unwrap(
    Effect.map(Queue.sliding<{ readonly event: Event; readonly received: Deferred.Deferred<void> }>(4), (events) => {
      const offer = (event: Event) =>
        Effect.tap(Deferred.make<void>(), (received) => Queue.offer(events, { event, received }))
      const deliver: Report<Event> = (event) =>
        Effect.flatMap(offer(event), Deferred.await).pipe(Effect.timeoutOption(patience), Effect.asVoid)
      // The second part is pulled when the client has acknowledged the first.
      const reported = Stream.flatMap(Stream.fromQueue(events, { maxChunkSize: 1 }), ({ event, received }) =>
        Stream.concat(Stream.make(event), Stream.drain(Stream.fromEffect(Deferred.succeed(received, undefined))))
      )
      return Stream.merge(reported, Stream.fromEffect(work((event) => Effect.asVoid(offer(event)), deliver)), {
        haltStrategy: "right"
      })
    })
  )
