import { createReadStream } from "node:fs"
import { resolve } from "node:path"
import { Args, Command, Options } from "@effect/cli"
import { Effect, Option, Redacted } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { ValidationFailed } from "../model/Errors.ts"
import { calledFrom } from "./ImportCommands.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, hint, json, Refused } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const domain = Args.text({ name: "DOMAIN" }).pipe(
  Args.withDescription("Host name of the store, for example shop.example.com.")
)

/** No token is longer: what is, is some other file. */
const mostTokenBytes = 16_384

const readToken = (open: () => NodeJS.ReadableStream) => async () => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of open()) {
    const piece = Buffer.from(chunk)
    bytes += piece.length
    if (bytes > mostTokenBytes) return null
    chunks.push(piece)
  }
  return Redacted.make(Buffer.concat(chunks).toString("utf8").trim())
}

/** A token out of a file, or from stdin: the arguments of a process are seen by everybody on its machine. */
const tokenIn = (path: string) =>
  Effect.gen(function* () {
    const isPiped = path === "-"
    const place = isPiped ? "stdin" : path
    const file = resolve(yield* calledFrom, path)
    const token = yield* Effect.tryPromise({
      try: readToken(() => (isPiped ? process.stdin : createReadStream(file))),
      catch: () => new Refused({ message: `--token-file: ${place} cannot be read` })
    })
    if (token === null) return yield* new Refused({ message: `--token-file: ${place} holds more than a token` })
    return token
  })

const flags: Readonly<Record<string, string>> = {
  token: "--token-file",
  platform: "--platform",
  name: "--name",
  locale: "--locale",
  currency: "--currency"
}

/** What does not fit, by the flags that gave it where one did. */
const byFlag = ({ issues }: ValidationFailed) =>
  new Refused({
    message: issues.map(({ message, path }) => `${flags[path] ?? path}: ${message}`).join("; "),
    details: issues
  })

const link = Command.make(
  "link",
  {
    domain,
    name: Options.text("name").pipe(
      Options.withPseudoName("NAME"),
      Options.withDescription("What the store is called; its domain by default."),
      Options.optional
    ),
    platform: Options.text("platform").pipe(
      Options.withPseudoName("PLATFORM"),
      Options.withDescription(
        "none (the default): known by its files alone; shopify: asked with a token of its own; demo: a shop of our own making."
      ),
      Options.optional
    ),
    primaryLocale: Options.text("locale").pipe(
      Options.withPseudoName("LOCALE"),
      Options.withDescription("Its main language; en by default."),
      Options.optional
    ),
    currency: Options.text("currency").pipe(
      Options.withPseudoName("CODE"),
      Options.withDescription("ISO 4217; USD by default."),
      Options.optional
    ),
    tokenFile: Options.text("token-file").pipe(
      Options.withPseudoName("FILE"),
      Options.withDescription(
        "File with the Admin API access token of a Shopify store, - for stdin. The store is asked with it first; it is kept encrypted. Linking again with a new token replaces it."
      ),
      Options.optional
    ),
    account,
    json
  },
  ({ account, currency, domain, json, name, platform, primaryLocale, tokenFile }) =>
    Effect.gen(function* () {
      const token = yield* Effect.transposeMapOption(tokenFile, tokenIn)
      const { entities, store } = yield* (yield* AdminClient).linkStore({
        account,
        domain,
        name: Option.getOrUndefined(name),
        platform: Option.getOrUndefined(platform),
        primaryLocale: Option.getOrUndefined(primaryLocale),
        currency: Option.getOrUndefined(currency),
        token: Option.getOrUndefined(token)
      })
      yield* answer(json, { store_id: store.id, domain: store.domain, platform: store.platform }, [
        entities === 0
          ? `Linked ${store.domain} (${store.id}).`
          : `Linked ${store.domain} (${store.id}) again: ${counted(entities)} their versions on it back.`,
        store.platform === "shopify"
          ? `Next: ${hint(`import refresh --store ${store.domain}`, account)}`
          : `Next: ${hint(`import csv FILE --store ${store.domain}`, account)}`
      ])
    }).pipe(Effect.catchTags({ PimLocked: () => lockedBy(account), ValidationFailed: byFlag }), withAdmin)
).pipe(Command.withDescription("Link a store to an account, or link one again that was unlinked."))

const unlink = Command.make("unlink", { domain, account, json }, ({ account, domain, json }) =>
  Effect.gen(function* () {
    const { entities, store } = yield* (yield* AdminClient).unlinkStore({ account, domain })
    const again = `store link ${store.domain}${store.platform === "shopify" ? " --token-file FILE" : ""}`
    yield* answer(json, { store_id: store.id, domain: store.domain, entities }, [
      `Unlinked ${store.domain} (${store.id}): ${counted(entities)} no version on it any more.`,
      `Nothing is lost: \`${hint(again, account)}\` restores every version as it was.`
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
        ? [`No stores yet: link one with \`${hint("store link DOMAIN", account)}\`.`]
        : stores.map(({ domain, id, name, platform }) => `${id}  ${platform.padEnd(7)}  ${domain}  ${name}`)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List the stores of an account."))

export const storeCommand = Command.make("store").pipe(
  Command.withDescription("Linked stores."),
  Command.withSubcommands([link, unlink, list])
)
