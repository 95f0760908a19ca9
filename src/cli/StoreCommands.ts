import { Args, Command, Options } from "@effect/cli"
import { Effect } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { account, answer, json } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const link = Command.make(
  "link",
  {
    domain: Args.text({ name: "DOMAIN" }).pipe(
      Args.withDescription("Host name of the store, for example shop.example.com.")
    ),
    name: Options.text("name").pipe(Options.withDescription("What the store is called."), Options.withDefault("")),
    platform: Options.text("platform").pipe(
      Options.withDescription("none: known by its files alone; demo: a shop of our own making."),
      Options.withDefault("none")
    ),
    primaryLocale: Options.text("locale").pipe(
      Options.withDescription("Its main language."),
      Options.withDefault("en")
    ),
    currency: Options.text("currency").pipe(Options.withDescription("ISO 4217."), Options.withDefault("USD")),
    account,
    json
  },
  ({ json, ...given }) =>
    Effect.gen(function* () {
      const store = yield* (yield* AdminClient).linkStore(given)
      yield* answer(json, { store_id: store.id, domain: store.domain, platform: store.platform }, [
        `Linked ${store.domain} (${store.id}).`,
        `Next: catalog import csv FILE --store ${store.domain}`
      ])
    }).pipe(withAdmin)
).pipe(Command.withDescription("Link a store to an account."))

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const stores = yield* (yield* AdminClient).listStores({ account })
    yield* answer(
      json,
      { stores },
      stores.length === 0
        ? ["No stores yet: link one with `catalog store link DOMAIN`."]
        : stores.map(({ domain, id, name, platform }) => `${id}  ${platform.padEnd(7)}  ${domain}  ${name}`)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List the stores of an account."))

export const storeCommand = Command.make("store").pipe(
  Command.withDescription("Linked stores."),
  Command.withSubcommands([link, list])
)
