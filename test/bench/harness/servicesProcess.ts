/**
 * Starts services with different settings in one process. The argument is a JSON array with the settings of each. A message says
 * whether metrics are measured from now on, which is a switch of the process, and is answered when it is set.
 */
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { ConfigProvider, Effect } from "effect"
import { run } from "../../../src/cli/Serve.ts"
import { measuring } from "../../../src/telemetry/Metrics.ts"

const services: ReadonlyArray<Readonly<Record<string, string>>> = JSON.parse(process.argv[2] ?? "[]")

process.on("message", (isMeasured: boolean) => {
  measuring.isOn = isMeasured
  process.send?.(isMeasured)
})

const start = (settings: Readonly<Record<string, string>>) =>
  Effect.withConfigProvider(run, ConfigProvider.fromJson({ ...process.env, ...settings }))

NodeRuntime.runMain(
  Effect.provide(Effect.forEach(services, start, { concurrency: "unbounded", discard: true }), NodeContext.layer)
)
