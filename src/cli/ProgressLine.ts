import { Console, Effect, Option, Predicate, Stream } from "effect"
import { Refused } from "./Output.ts"

/** Replaces a line of progress on stderr if it is a terminal. */
export const draw = (text: string) =>
  Effect.sync(() => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  })

type Tagged<Tag extends string> = { readonly _tag: Tag }

interface Texts<Event> {
  readonly progress: (event: Event & Tagged<"Progress">) => string
  /** How to continue after an interruption. */
  readonly interrupted: () => string
  /** The refusal if the events end before `Done`. */
  readonly incomplete: string
}

/** Draws the progress of a command, and returns its last event, `Done`. */
export const followEvents = <Event extends Tagged<"Done" | "Progress">, E, R>(
  events: Stream.Stream<Event, E, R>,
  { incomplete, interrupted, progress }: Texts<Event>
) =>
  Stream.runFoldEffect(events, Option.none<Event & Tagged<"Done">>(), (last, event) =>
    Effect.gen(function* () {
      if (Predicate.isTagged(event, "Progress")) yield* draw(progress(event))
      return Predicate.isTagged(event, "Done") ? Option.some(event) : last
    })
  ).pipe(
    Effect.ensuring(draw("")),
    Effect.onInterrupt(() => Console.error(interrupted())),
    Effect.flatMap(Effect.mapError(() => new Refused({ message: incomplete })))
  )
