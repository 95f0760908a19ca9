import { Args, Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, json } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const domain = Args.text({ name: "DOMAIN" }).pipe(
  Args.withDescription("Host name of the store, for example shop.example.com.")
)

const link = Command.make(
  "link",
  {
    domain,
    name: Options.text("name").pipe(
      Options.withDescription("What the store is called; its domain by default."),
      Options.optional
    ),
    platform: Options.text("platform").pipe(
      Options.withDescription("none (the default): known by its files alone; demo: a shop of our own making."),
      Options.optional
    ),
    primaryLocale: Options.text("locale").pipe(
      Options.withDescription("Its main language; en by default."),
      Options.optional
    ),
    currency: Options.text("currency").pipe(Options.withDescription("ISO 4217; USD by default."), Options.optional),
    account,
    json
  },
  ({ account, currency, domain, json, name, platform, primaryLocale }) =>
    Effect.gen(function* () {
      const { entities, store } = yield* (yield* AdminClient).linkStore({
        account,
        domain,
        name: Option.getOrUndefined(name),
        platform: Option.getOrUndefined(platform),
        primaryLocale: Option.getOrUndefined(primaryLocale),
        currency: Option.getOrUndefined(currency)
      })
      yield* answer(json, { store_id: store.id, domain: store.domain, platform: store.platform }, [
        entities === 0
          ? `Linked ${store.domain} (${store.id}).`
          : `Linked ${store.domain} (${store.id}) again: ${counted(entities)} their versions on it back.`,
        `Next: catalog import csv FILE --store ${store.domain}`
      ])
    }).pipe(
      Effect.catchTag("PimLocked", () => lockedBy(account)),
      withAdmin
    )
).pipe(Command.withDescription("Link a store to an account, or link one again that was unlinked."))

const unlink = Command.make("unlink", { domain, account, json }, ({ account, domain, json }) =>
  Effect.gen(function* () {
    const { entities, store } = yield* (yield* AdminClient).unlinkStore({ account, domain })
    yield* answer(json, { store_id: store.id, domain: store.domain, entities }, [
      `Unlinked ${store.domain} (${store.id}): ${counted(entities)} no version on it any more.`,
      `Nothing is lost: \`catalog store link ${store.domain}\` restores every version as it was.`
    ])
  }).pipe(
    Effect.catchTag("PimLocked", () => lockedBy(account)),
    withAdmin
  )
).pipe(Command.withDescription("Take a store out of an account; linking its domain again restores its versions."))

const counted = (entities: number) => (entities === 1 ? "1 entity has" : `${entities} entities have`)

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
  Command.withSubcommands([link, unlink, list])
)
