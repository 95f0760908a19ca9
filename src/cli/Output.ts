import { Options } from "@effect/cli"
import { Console, Data, Effect, Option, Predicate } from "effect"
import type { Account } from "../repos/AccessRepo.ts"
import { Accounts } from "../services/Accounts.ts"

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

/** The account a command is about: the one that is named, or the only one. */
export const chooseAccount = (named: Option.Option<string>): Effect.Effect<Account, Refused, Accounts> =>
  Effect.gen(function* () {
    const accounts = yield* (yield* Accounts).list
    const list = accounts.map(({ id, name }) => `${id} (${name})`).join(", ")
    if (Option.isSome(named)) {
      const found = accounts.find(({ id }) => id === named.value.toLowerCase())
      return (
        found ?? (yield* new Refused({ message: `There is no account ${named.value}. Accounts: ${list || "none"}.` }))
      )
    }
    const [only, ...others] = accounts
    if (only === undefined)
      return yield* new Refused({ message: "There is no account yet: create one with `catalog account create`." })
    if (others.length > 0)
      return yield* new Refused({ message: `There are several accounts: name one with --account. Accounts: ${list}.` })
    return only
  })
