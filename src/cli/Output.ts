import { Options } from "@effect/cli"
import { Config, Console, Data, Effect, Option, Predicate } from "effect"
import type { HistoryActor } from "../drafts/History.ts"
import { errorCode } from "../model/ErrorCode.ts"
import type { Issue, ValidationFailed } from "../model/Errors.ts"
import { type PlatformReadError, whyUnread } from "../platform/PlatformErrors.ts"
import { textOption } from "./Flags.ts"

/** The message of an error on one line. */
export const reasonOf = (error: unknown): string =>
  (Predicate.hasProperty(error, "message") && typeof error.message === "string"
    ? error.message
    : String(error)
  ).replaceAll(/\s*\n\s*/g, " ")

interface RefusedMembers {
  readonly message: string
  /** The error's code, as in REST. */
  readonly code?: string
  readonly details?: ReadonlyArray<Issue> | undefined
  /** Whether the command has printed its result, including the failure, on stdout already. */
  readonly isAnswered?: boolean
  /** Lines for people, printed instead of the message. */
  readonly lines?: ReadonlyArray<string>
  /** Additional members of the JSON output. */
  readonly members?: Readonly<Record<string, unknown>>
}

/** The failure of a command with a message for people, in one line. */
export class Refused extends Data.TaggedError("Refused")<RefusedMembers & { readonly code: string }> {
  constructor({ code = errorCode.ValidationFailed, ...rest }: RefusedMembers) {
    super({ code, ...rest })
  }
}

/** Makes the refusal for a record that the account does not have. `list`: the command that lists these records. */
export const noSuch = (noun: string, list: string) => (id: string) => () =>
  new Refused({ code: errorCode.NotFound, message: `The account has no ${noun} ${id}: see \`${hint(list)}\`.` })

/** A count with separators of thousands. */
export const formatCount = (count: number): string => count.toLocaleString("en")

/** Removes the fraction of a second from a timestamp. */
export const seconds = (time: string): string => time.replace(/\.\d+(?=Z$)/, "")

/** Maximum number of issues in a message: a request can have thousands. With --json, `details` has all of them. */
const maxShownIssues = 20

/** The issues of a message, each once. */
export const joinIssues = (lines: Iterable<string>): string => {
  const all = [...new Set(lines)]
  const more = all.length - maxShownIssues
  return [...all.slice(0, maxShownIssues), ...(more > 0 ? [`and ${formatCount(more)} more`] : [])].join("; ")
}

/** Turns issues into a refusal. `place`: translates an issue's path to a flag or key. An issue without a path has no place. */
export const byPlace =
  (place: (path: string) => string) =>
  ({ issues }: ValidationFailed) =>
    new Refused({
      message: joinIssues(issues.map(({ message, path }) => (path === "" ? message : `${place(path)}: ${message}`))),
      details: issues
    })

/** Turns issues into a refusal that names flags. A path in capitals is a setting, such as SECRET_KEY. */
export const byFlag = byPlace((path) => (/^[A-Z_]+$/.test(path) ? path : `--${path}`))

/** The refusal for a failed read from a store's platform. */
export const unread = (error: PlatformReadError) =>
  new Refused({ message: whyUnread(error), code: errorCode.LiveReadFailed })

/** Maximum number of characters of a value in a line of output. */
const maxShown = 100

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** A value on one line: shortened if it is long, and with control characters escaped. */
export const quoted = (value: string, maxCharacters = maxShown): string =>
  JSON.stringify(value.length > maxCharacters ? `${value.slice(0, maxCharacters)}…` : value).replaceAll(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    escaped
  )

export const json = Options.boolean("json").pipe(Options.withDescription("Print only one JSON object on stdout."))

/** Prints the result of a command: one object for programs, or lines for people. */
export const answer = (
  asJson: boolean,
  value: Readonly<Record<string, unknown>>,
  lines: ReadonlyArray<string>
): Effect.Effect<void> => Console.log(asJson ? JSON.stringify(value) : lines.join("\n"))

export const account = Options.optional(
  textOption("account", "ACCOUNT_ID", "Id of the account. Needed only if there are several.")
)

/** A suggested next command. It has --account if the current command has it. */
export const hint = (words: string, account: Option.Option<string> = Option.none()): string =>
  Option.match(account, { onNone: () => `catalog ${words}`, onSome: (id) => `catalog ${words} --account ${id}` })

/** A command in a message that does not name its account. The commands that are listed here have none. */
const commandWithoutAccount = /`(catalog (?!account |demo |migrate|secret |serve|status)(?![^`]*--account)[^`]+)`/g

/** Adds --account to the commands that a message of a failure suggests, if the failed command has it. */
export const withAccountOf = (args: ReadonlyArray<string>) => {
  const [, id] = /(?:^| )--account[ =]([0-9a-f-]{36})(?: |$)/i.exec(args.join(" ")) ?? []
  return (message: string): string =>
    id === undefined ? message : message.replaceAll(commandWithoutAccount, `\`$1 --account ${id}\``)
}

/** Colours are only for terminals, and not if NO_COLOR is set (https://no-color.org). */
const isPlain = (stream: { readonly isTTY?: boolean }) =>
  Effect.map(
    Effect.orDie(Config.string("NO_COLOR").pipe(Config.withDefault(""))),
    (noColor) => stream.isTTY !== true || noColor !== ""
  )

/** A colour, or a character that could control the terminal. Such characters come from titles, or from the header of a file. */
const controls = new RegExp(`(${"\u001b"}\\[[\\d;]*m)|(?![\\t\\n])[\\p{Cc}\\u202a-\\u202e\\u2066-\\u2069]`, "gu")

/**
 * Removes the empty line that the library prints at the end, and colours on plain streams. Escapes control characters except tabs and
 * line breaks.
 */
export const tidyConsole: Effect.Effect<Console.Console> = Effect.gen(function* () {
  const console = yield* Effect.console
  const tidy = (plain: boolean) => (word: unknown) =>
    typeof word === "string"
      ? word
          .replaceAll(controls, (control, colour?: string) =>
            colour === undefined ? escaped(control) : plain ? "" : colour
          )
          .replace(/\n+$/, "")
      : word
  const toStdout = tidy(yield* isPlain(process.stdout))
  const toStderr = tidy(yield* isPlain(process.stderr))
  return {
    ...console,
    log: (...words: ReadonlyArray<unknown>) => console.log(...words.map(toStdout)),
    error: (...words: ReadonlyArray<unknown>) => console.error(...words.map(toStderr))
  }
})

/** The author of a change, by the name at that time. */
export const authorText = ({ kind, name }: HistoryActor): string => (name === null ? kind : `${kind} ${quoted(name)}`)
