import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { runCli, teardown } from "./Cli.ts"
import { cannotWrite } from "./ExportFile.ts"

let received: NodeJS.Signals | undefined
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    received ??= signal
  })

// The program that reads the output may end first (`catalog history | head`). Later writes then fail, which is ignored
// here. If they fail for another reason, such as a full disk, a part of the result is lost.
let lost: NodeJS.ErrnoException | undefined
process.stderr.on("error", () => {})
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") lost ??= error
})
process.once("exit", (code) => {
  // A command that was interrupted or has failed says so already, and a server ends with 0 after a signal.
  if (lost === undefined || code !== 0 || received !== undefined) return
  process.exitCode = 1
  console.error(cannotWrite("stdout", lost).message)
})

NodeRuntime.runMain(Effect.provide(runCli(process.argv), NodeContext.layer), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: teardown(process.argv, () => received)
})
