import { Command } from "@effect/cli"
import { Effect } from "effect"

/** Loaded by this command only. */
const run = Effect.flatten(Effect.promise(async () => (await import("./Serve.ts")).run))

export const serveCommand = Command.make("serve", {}, () => run).pipe(
  Command.withDescription("Run the service until it is stopped.")
)
