import { Effect, Queue, Stream } from "effect"

/** Takes what has happened so far. */
export type Report<Event> = (event: Event) => Effect.Effect<void>

/** Progress as it comes, the newest when the terminal is slow, then what the work ends with. */
export const reported = <Event, E>(work: (report: Report<Event>) => Effect.Effect<Event, E>): Stream.Stream<Event, E> =>
  Stream.unwrap(
    Effect.map(Queue.sliding<Event>(4), (events) =>
      Stream.merge(Stream.fromQueue(events), Stream.fromEffect(work((event) => Queue.offer(events, event))), {
        haltStrategy: "right"
      })
    )
  )
