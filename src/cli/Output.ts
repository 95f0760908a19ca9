import { stripVTControlCharacters } from "node:util"
import { Options } from "@effect/cli"
import { Config, Console, Data, Effect, Option, Predicate } from "effect"
import { errorCode } from "../model/ErrorCode.ts"
import type { Issue, ValidationFailed } from "../model/Errors.ts"
import { type PlatformReadError, whyUnread } from "../platform/PlatformErrors.ts"

/** What an error says, on one line. */
export const reasonOf = (error: unknown): string =>
  (Predicate.hasProperty(error, "message") && typeof error.message === "string"
    ? error.message
    : String(error)
  ).replaceAll(/\s*\n\s*/g, " ")

/** A command that was refused. `message` is the one line that a person reads. */
export class Refused extends Data.TaggedError("Refused")<{
  readonly message: string
  /** As REST would say it. */
  readonly code: string
  readonly details?: ReadonlyArray<Issue> | undefined
  /** Whether stdout has an answer already that says what failed. */
  readonly isAnswered?: boolean
  /** What a person reads in place of the message. */
  readonly lines?: ReadonlyArray<string>
  /** What programs read beside code, message and details. */
  readonly members?: Readonly<Record<string, unknown>>
}> {
  constructor({
    code = errorCode.ValidationFailed,
    ...said
  }: {
    readonly message: string
    readonly code?: string
    readonly details?: ReadonlyArray<Issue>
    readonly isAnswered?: boolean
    readonly lines?: ReadonlyArray<string>
    readonly members?: Readonly<Record<string, unknown>>
  }) {
    super({ code, ...said })
  }
}

/** A time as a table shows it, in whole seconds. */
export const seconds = (time: string): string => time.replace(/\.\d+(?=Z$)/, "")

/** What does not fit, by the flags that gave it. */
export const byFlag = ({ issues }: ValidationFailed) =>
  new Refused({ message: issues.map(({ message, path }) => `--${path}: ${message}`).join("; "), details: issues })

/** A store whose platform gave no usable answer. */
export const unread = (error: PlatformReadError) =>
  new Refused({ message: whyUnread(error), code: errorCode.LiveReadFailed })

/** Most characters of a value that a line shows. */
const mostShown = 100

/** A value on one line, cut where it is long, without what would speak to a terminal. */
export const quoted = (value: string, most = mostShown): string =>
  JSON.stringify(value.length > most ? `${value.slice(0, most)}…` : value).replaceAll(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

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
  Options.withPseudoName("ACCOUNT_ID"),
  Options.withDescription("Id of the account; needed only when there are several."),
  Options.optional
)

/** A command to give next. It is about the same account: where one had to be named, the next one needs its name too. */
export const hint = (words: string, account: Option.Option<string> = Option.none()): string =>
  Option.match(account, { onNone: () => `catalog ${words}`, onSome: (id) => `catalog ${words} --account ${id}` })

/** Colours are for a terminal, unless whoever sits there wants none (https://no-color.org). */
const isPlain = (stream: { readonly isTTY?: boolean }) =>
  Effect.map(
    Effect.orDie(Config.string("NO_COLOR").pipe(Config.withDefault(""))),
    (noColor) => stream.isTTY !== true || noColor !== ""
  )

/** The library ends what it prints with an empty line and knows no stream without colours. */
export const tidyConsole: Effect.Effect<Console.Console> = Effect.gen(function* () {
  const console = yield* Effect.console
  const tidy = (plain: boolean) => (word: unknown) =>
    typeof word === "string" ? (plain ? stripVTControlCharacters(word) : word).replace(/\n+$/, "") : word
  const toStdout = tidy(yield* isPlain(process.stdout))
  const toStderr = tidy(yield* isPlain(process.stderr))
  return {
    ...console,
    log: (...words: ReadonlyArray<unknown>) => console.log(...words.map(toStdout)),
    error: (...words: ReadonlyArray<unknown>) => console.error(...words.map(toStderr))
  }
})
