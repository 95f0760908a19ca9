import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { runCli, teardown } from "./Cli.ts"

let received: NodeJS.Signals | undefined
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    received ??= signal
  })

// The program that reads the output may end first (`catalog history | head`). Later writes then fail, which is ignored
// here.
process.stdout.on("error", () => {})

NodeRuntime.runMain(Effect.provide(runCli(process.argv), NodeContext.layer), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: teardown(process.argv, () => received)
})
