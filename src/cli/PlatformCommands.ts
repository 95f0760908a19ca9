import { Command, Options } from "@effect/cli"
import { Effect } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { account, answer, byFlag, json } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const store = Options.text("store").pipe(Options.withDescription("Domain of the store."))

const fail = Command.make(
  "fail",
  {
    store,
    kind: Options.choice("kind", ["refuse", "error", "lost", "delay"]).pipe(
      Options.withDescription(
        "refuse: it says no; error: it fails and does nothing; lost: it does what it was asked and the answer is lost; delay: it answers late."
      ),
      Options.withDefault("refuse")
    ),
    percent: Options.integer("percent").pipe(
      Options.withDescription("In how many calls of a hundred, 1 to 100."),
      Options.withDefault(100)
    ),
    delaySeconds: Options.integer("delay").pipe(
      Options.withDescription("Seconds, for --kind delay."),
      Options.withDefault(30)
    ),
    account,
    json
  },
  ({ account, delaySeconds, json, kind, percent, store }) =>
    Effect.gen(function* () {
      const delayMillis = kind === "delay" ? delaySeconds * 1000 : 0
      yield* (yield* AdminClient).failPlatform({ account, store, kind, percent, delayMillis })
      yield* answer(json, { store, kind, percent }, [
        `The platform of ${store} fails from now on (${kind}, ${percent} %).`,
        `Next: catalog platform mend --store ${store}`
      ])
    }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Break the platform of a demo store."))

const mend = Command.make("mend", { store, account, json }, ({ account, json, store }) =>
  Effect.gen(function* () {
    yield* (yield* AdminClient).mendPlatform({ account, store })
    yield* answer(json, { store }, [`The platform of ${store} works again.`])
  }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Mend the platform of a demo store."))

export const platformCommand = Command.make("platform").pipe(
  Command.withDescription("The commerce platforms behind stores."),
  Command.withSubcommands([fail, mend])
)
