import { readFileSync } from "node:fs"
import { constants } from "node:os"
import { stripVTControlCharacters } from "node:util"
import { Command, HelpDoc, ValidationError } from "@effect/cli"
import { Cause, Console, Effect, Exit, HashMap, Option, Predicate } from "effect"
import { errorCode } from "../model/ErrorCode.ts"
import { packageRoot } from "../PackageRoot.ts"
import { accountCommand, demoCommand } from "./AccountCommands.ts"
import { bulkCommand } from "./BulkCommands.ts"
import { connectionCommand } from "./ConnectionCommands.ts"
import { definitionCommand } from "./DefinitionCommands.ts"
import { draftCommand, historyCommand, storeVersionCommand } from "./DraftCommands.ts"
import { dropCommand } from "./DropCommands.ts"
import { exportCommand } from "./ExportCommands.ts"
import { type Failure, failureOf } from "./Failure.ts"
import { healthCommand } from "./HealthCommands.ts"
import { asksForHelp, helpOf, unknownCommand, withFlagValues, wrongChoice } from "./Help.ts"
import { importCommand } from "./ImportCommands.ts"
import { jobsCommand } from "./JobCommands.ts"
import { keyCommand } from "./KeyCommands.ts"
import { migrateCommand } from "./MigrateCommand.ts"
import { Refused, reasonOf, tidyConsole, withAccountOf } from "./Output.ts"
import { platformCommand } from "./PlatformCommands.ts"
import { publishCommand } from "./PublishCommand.ts"
import { secretCommand } from "./SecretCommands.ts"
import { statusCommand } from "./StatusCommand.ts"
import { storeCommand } from "./StoreCommands.ts"
import { userCommand } from "./UserCommands.ts"
import { webhookCommand } from "./WebhookCommands.ts"

/** Imported only when the command runs, so that other commands do not load the server. */
const run = Effect.flatten(Effect.promise(async () => (await import("./Serve.ts")).run))

const serveCommand = Command.make("serve", {}, () => run).pipe(
  Command.withDescription("Run the service until it is stopped.")
)

const { version } = JSON.parse(readFileSync(`${packageRoot}/package.json`, "utf8")) as {
  readonly version: string
}

const command = Command.make("catalog").pipe(
  Command.withDescription("A product catalog per merchant account, published to linked stores."),
  Command.withSubcommands([
    serveCommand,
    migrateCommand,
    statusCommand,
    demoCommand,
    accountCommand,
    userCommand,
    keyCommand,
    storeCommand,
    secretCommand,
    platformCommand,
    importCommand,
    exportCommand,
    definitionCommand,
    draftCommand,
    storeVersionCommand,
    bulkCommand,
    dropCommand,
    publishCommand,
    jobsCommand,
    connectionCommand,
    webhookCommand,
    healthCommand,
    historyCommand
  ])
)

/** Exit codes. For `refused`, stderr has one line. */
const exitCodes = { done: 0, refuse: 1, wrongUsage: 2 } as const

const misuse = { code: errorCode.ValidationFailed }

/** Runs the command line and returns its exit code. It never fails. `argv`: Node's `process.argv`. */
export const runCli = (argv: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const args = argv.slice(2)
    const page = helpOf(command, version, args)
    // A command group without a sub-command prints its help on stderr and exits with `wrongUsage`.
    let misused = false
    const explained = Command.transformHandler(command, (handler) =>
      Effect.catchSomeCause(handler, (cause) => {
        if (!Predicate.isTagged(Cause.squash(cause), "HelpRequested")) return Option.none()
        misused = true
        return Option.some(Effect.flatMap(page, Console.error))
      })
    )
    const argsBeforeDashes = args.includes("--") ? args.slice(0, args.indexOf("--")) : args
    const withAccount = withAccountOf(argsBeforeDashes)
    const asJson = argsBeforeDashes.includes("--json")
    /** With --json, a failure is also JSON on stdout. */
    const printFailure = (failure: Failure) =>
      asJson ? Console.log(withAccount(JSON.stringify({ error: failure }))) : Effect.void
    const misuseOf = Effect.flatMap(wrongChoice(command, argsBeforeDashes), (choice) =>
      choice === undefined ? unknownCommand(command, args) : Effect.succeed(choice)
    )
    const wrong = asksForHelp(args) ? undefined : yield* misuseOf
    const run = asksForHelp(args)
      ? Effect.flatMap(page, Console.log)
      : Command.run(explained, { name: "catalog", version })([
          ...argv.slice(0, 2),
          ...(yield* withFlagValues(command, args))
        ])
    const ran = run.pipe(
      Effect.flatMap(() =>
        misused
          ? Effect.as(printFailure({ ...misuse, message: "A command is missing: see --help." }), exitCodes.wrongUsage)
          : Effect.succeed<number>(exitCodes.done)
      ),
      Effect.catchAllCause((cause) => {
        const error = Cause.squash(cause)
        // The library has already printed the message.
        if (ValidationError.isValidationError(error))
          return Effect.as(
            printFailure({ ...misuse, message: stripVTControlCharacters(HelpDoc.toAnsiText(error.error)).trim() }),
            exitCodes.wrongUsage
          )
        const { isAnswered = false, lines } = error instanceof Refused ? error : {}
        const printError = Console.error(withAccount(lines === undefined ? reasonOf(error) : lines.join("\n")))
        return Effect.as(
          Effect.zipRight(printError, isAnswered ? Effect.void : printFailure(failureOf(error))),
          exitCodes.refuse
        )
      })
    )
    const refused = (message: string) =>
      Effect.as(Effect.zipRight(Console.error(message), printFailure({ ...misuse, message })), exitCodes.wrongUsage)
    return yield* Console.withConsole(wrong === undefined ? ran : refused(wrong), yield* tidyConsole)
  })

/** The exit code after a signal: 128 plus its number, as shells expect. 130 for SIGINT, 143 for SIGTERM. */
const exitCodeOf = (signal: NodeJS.Signals | undefined) =>
  signal === undefined ? exitCodes.refuse : 128 + constants.signals[signal]

/** The name of the command in the arguments. Only global options stand before it, and none of their values is the name of a command. */
const commandOf = (argv: ReadonlyArray<string>) =>
  argv.slice(2).find((word) => HashMap.has(Command.getSubcommands(command), word))

/**
 * Ends the process with the exit code of the command. An interrupted `serve` counts as success; any other interrupted command
 * ends with the code of the `signal`.
 */
export const teardown =
  (argv: ReadonlyArray<string>, signal: () => NodeJS.Signals | undefined = () => undefined) =>
  (exit: Exit.Exit<unknown, unknown>, onExit: (code: number) => void): void => {
    if (Exit.isInterrupted(exit)) onExit(commandOf(argv) === "serve" ? exitCodes.done : exitCodeOf(signal()))
    else onExit(Exit.isSuccess(exit) && typeof exit.value === "number" ? exit.value : exitCodes.refuse)
  }
