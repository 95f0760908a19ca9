import { Command } from "@effect/cli"
import { Effect } from "effect"

/** Imported only when the command runs, so that other commands do not load the server. */
const run = Effect.flatten(Effect.promise(async () => (await import("./Serve.ts")).run))

export const serveCommand = Command.make("serve", {}, () => run).pipe(
  Command.withDescription("Run the service until it is stopped.")
)
