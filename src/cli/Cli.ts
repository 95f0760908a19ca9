import { readFileSync } from "node:fs"
import { Command, ValidationError } from "@effect/cli"
import { Cause, Console, Effect, Exit, Option, Predicate } from "effect"
import { accountCommand } from "./AccountCommands.ts"
import { definitionCommand } from "./DefinitionCommands.ts"
import { demoCommand } from "./DemoCommand.ts"
import { draftCommand, storeVersionCommand } from "./DraftCommands.ts"
import { dropCommand } from "./DropCommands.ts"
import { healthCommand } from "./HealthCommands.ts"
import { asksForHelp, helpOf } from "./Help.ts"
import { historyCommand } from "./HistoryCommand.ts"
import { importCommand } from "./ImportCommands.ts"
import { keyCommand } from "./KeyCommands.ts"
import { migrateCommand } from "./MigrateCommand.ts"
import { reasonOf, tidyConsole } from "./Output.ts"
import { platformCommand } from "./PlatformCommands.ts"
import { publishCommand } from "./PublishCommand.ts"
import { serveCommand } from "./ServeCommand.ts"
import { storeCommand } from "./StoreCommands.ts"
import { userCommand } from "./UserCommands.ts"

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}

const command = Command.make("catalog").pipe(
  Command.withDescription("A product catalog per merchant account, mirrored on linked commerce stores."),
  Command.withSubcommands([
    serveCommand,
    migrateCommand,
    demoCommand,
    accountCommand,
    userCommand,
    keyCommand,
    storeCommand,
    platformCommand,
    importCommand,
    definitionCommand,
    draftCommand,
    storeVersionCommand,
    dropCommand,
    publishCommand,
    healthCommand,
    historyCommand
  ])
)

/** Ways in which a command ends: done, refused (one line on stderr), used wrongly. */
export const exitCodes = { done: 0, refused: 1, wrongUsage: 2 } as const

/** Runs the command line; never fails, answers the exit code. `argv`: as Node gives it. */
export const runCli = (argv: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const args = argv.slice(2)
    const page = helpOf(command, version, args)
    // A group of commands without one of them: its help is no answer, but says what is missing.
    let misused = false
    const explained = Command.transformHandler(command, (handler) =>
      Effect.catchSomeCause(handler, (cause) => {
        if (!Predicate.isTagged(Cause.squash(cause), "HelpRequested")) return Option.none()
        misused = true
        return Option.some(Effect.flatMap(page, Console.error))
      })
    )
    const run = asksForHelp(args)
      ? Effect.flatMap(page, Console.log)
      : Command.run(explained, { name: "catalog", version })(argv)
    const ran = run.pipe(
      Effect.map((): number => (misused ? exitCodes.wrongUsage : exitCodes.done)),
      Effect.catchAllCause((cause) => {
        const error = Cause.squash(cause)
        // The library has printed what was wrong.
        if (ValidationError.isValidationError(error)) return Effect.succeed(exitCodes.wrongUsage)
        return Effect.as(Console.error(reasonOf(error)), exitCodes.refused)
      })
    )
    return yield* Console.withConsole(ran, yield* tidyConsole)
  })

/**
 * The process ends with the exit code that the command line answers. A service that was told to stop has done its work; any
 * other command that was interrupted has not.
 */
export const teardown =
  (argv: ReadonlyArray<string>) =>
  (exit: Exit.Exit<unknown, unknown>, onExit: (code: number) => void): void => {
    if (Exit.isInterrupted(exit)) onExit(argv.includes("serve") ? exitCodes.done : exitCodes.refused)
    else onExit(Exit.isSuccess(exit) && typeof exit.value === "number" ? exit.value : exitCodes.refused)
  }
