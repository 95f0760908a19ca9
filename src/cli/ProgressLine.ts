import { Clock, Console, Effect, Option, Predicate, Stream } from "effect"
import { minutesLeft } from "../runtime/TimeLeft.ts"
import { orLost } from "./CommandRuntime.ts"
import { formatCount, Refused } from "./Output.ts"

/** Replaces a line of progress on stderr if it is a terminal. */
export const draw = (text: string) =>
  Effect.sync(() => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  })

const barWidth = 30

/** A step of work under way. */
interface StepProgress {
  readonly step: string
  readonly done: number
  /** 0: unknown. */
  readonly total: number
  /** The noun of the counted items, such as "rows". Null: the line shows the percentage without counts. */
  readonly items: string | null
}

/**
 * Makes a function that shows the progress of work, whose steps follow each other: a bar, the numbers, and the time left. The time
 * that is left in a step is estimated from what was done since the first progress of the step. `now`: in milliseconds.
 */
export const makeProgressText = (): ((progress: StepProgress, now: number) => string) => {
  let begun = { step: "", at: 0, from: 0 }
  return ({ done, items, step, total }, now) => {
    if (step !== begun.step) begun = { step, at: now, from: done }
    const name = step.padEnd(9)
    if (total === 0) return `${name} ${formatCount(done)}${items === null ? "" : ` ${items}`}`
    const part = Math.min(1, done / total)
    const bar = "█".repeat(Math.round(part * barWidth)).padEnd(barWidth, "░")
    const minutes = minutesLeft({ done, total, from: begun.from, seconds: (now - begun.at) / 1_000 })
    const counts = items === null ? [] : [`${formatCount(Math.min(done, total))} of ${formatCount(total)} ${items}`]
    const left =
      minutes === undefined
        ? []
        : [minutes === 0 ? "less than a minute left" : `about ${minutes} ${minutes === 1 ? "minute" : "minutes"} left`]
    return [`${name} ${bar} ${String(Math.floor(part * 100)).padStart(3)} %`, ...counts, ...left].join(", ")
  }
}

type Tagged<Tag extends string> = { readonly _tag: Tag }

interface Texts<Event> {
  /** `now`: in milliseconds. */
  readonly progress: (event: Event & Tagged<"Progress">, now: number) => string
  /** How to continue after an interruption. */
  readonly interrupted: () => string
  /** What to do if the result never arrives. */
  readonly unknown: string
}

/** Draws the progress of a command, and returns its last event, `Done`. */
export const followEvents = <Event extends Tagged<"Done" | "Progress">, E, R>(
  events: Stream.Stream<Event, E, R>,
  { interrupted, progress, unknown }: Texts<Event>
) =>
  Stream.runFoldEffect(events, Option.none<Event & Tagged<"Done">>(), (last, event) =>
    Effect.gen(function* () {
      if (Predicate.isTagged(event, "Progress")) yield* draw(progress(event, yield* Clock.currentTimeMillis))
      return Predicate.isTagged(event, "Done") ? Option.some(event) : last
    })
  ).pipe(
    Effect.ensuring(draw("")),
    // First, because the end of the process that runs the command arrives as an interruption too.
    orLost(unknown),
    Effect.onInterrupt(() => Console.error(interrupted())),
    Effect.flatMap(Effect.mapError(() => new Refused({ message: `The command ended without a result. ${unknown}` })))
  )
