import { Options } from "@effect/cli"
import { Console, Data, type Effect, Predicate } from "effect"

/** What an error says, on one line. */
export const reasonOf = (error: unknown): string =>
  (Predicate.hasProperty(error, "message") && typeof error.message === "string"
    ? error.message
    : String(error)
  ).replaceAll(/\s*\n\s*/g, " ")

/** A command that was refused. `message` is the one line that a person reads. */
export class Refused extends Data.TaggedError("Refused")<{ readonly message: string }> {}

export const json = Options.boolean("json").pipe(
  Options.withDescription("Print one JSON object on stdout, and nothing else there.")
)

/** What a command answers: one object for programs, lines for people. */
export const answer = (
  asJson: boolean,
  value: Readonly<Record<string, unknown>>,
  lines: ReadonlyArray<string>
): Effect.Effect<void> => Console.log(asJson ? JSON.stringify(value) : lines.join("\n"))

export const account = Options.text("account").pipe(
  Options.withDescription("Id of the account; needed only when there are several."),
  Options.optional
)
