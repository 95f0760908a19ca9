import { createReadStream } from "node:fs"
import { resolve } from "node:path"
import { Command, Options } from "@effect/cli"
import { Effect, Option, Redacted } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { Job } from "../jobs/Job.ts"
import { argument, textOption } from "./Flags.ts"
import { calledFrom } from "./ImportCommands.ts"
import { followJob } from "./JobCommands.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, byPlace, hint, json, Refused } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const domain = argument("DOMAIN", "Host name of the store, for example shop.example.com.")

/** Maximum bytes of a token file. A larger file cannot be a token. */
const maxTokenBytes = 16_384

const readToken = (open: () => NodeJS.ReadableStream) => async () => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of open()) {
    const piece = Buffer.from(chunk)
    bytes += piece.length
    if (bytes > maxTokenBytes) return null
    chunks.push(piece)
  }
  return Redacted.make(Buffer.concat(chunks).toString("utf8").trim())
}

/** Reads a token from a file or stdin. Not from an argument, because every user of the machine can see arguments. */
const tokenIn = (path: string) =>
  Effect.gen(function* () {
    const isPiped = path === "-"
    const place = isPiped ? "stdin" : path
    const file = resolve(yield* calledFrom, path)
    const token = yield* Effect.tryPromise({
      try: readToken(() => (isPiped ? process.stdin : createReadStream(file))),
      catch: () => new Refused({ message: `--token-file: ${place} cannot be read` })
    })
    if (token === null) return yield* new Refused({ message: `--token-file: ${place} is too large to be a token` })
    return token
  })

const flags: Readonly<Record<string, string>> = {
  token: "--token-file",
  platform: "--platform",
  name: "--name",
  locale: "--locale",
  currency: "--currency"
}

const byFlag = byPlace((path) => flags[path] ?? path)

/** Waits for the end of a job. Returns the number of its entities. */
const followed = (account: Option.Option<string>, job: Job | null) =>
  job === null ? Effect.succeed(0) : Effect.map(followJob(account, job), ({ done }) => done)

const link = Command.make(
  "link",
  {
    domain,
    name: Options.optional(textOption("name", "NAME", "Name of the store. Default: its domain.")),
    platform: Options.optional(
      textOption(
        "platform",
        "PLATFORM",
        "none (default): its data comes only from imported files; shopify: its Admin API is used, with a token; demo: a built-in shop."
      )
    ),
    primaryLocale: Options.optional(textOption("locale", "LOCALE", "Primary language. Default: en.")),
    currency: Options.optional(textOption("currency", "CODE", "ISO 4217 currency code. Default: USD.")),
    tokenFile: Options.optional(
      textOption(
        "token-file",
        "FILE",
        "File with the Admin API access token of a Shopify store; - for stdin. The token is tested, then stored encrypted. To replace it, link the store again with a new one."
      )
    ),
    account,
    json
  },
  ({ account, currency, domain, json, name, platform, primaryLocale, tokenFile }) =>
    Effect.gen(function* () {
      const token = yield* Effect.transposeMapOption(tokenFile, tokenIn)
      const { job, store } = yield* (yield* AdminClient).linkStore({
        account,
        domain,
        name: Option.getOrUndefined(name),
        platform: Option.getOrUndefined(platform),
        primaryLocale: Option.getOrUndefined(primaryLocale),
        currency: Option.getOrUndefined(currency),
        token: Option.getOrUndefined(token)
      })
      const entities = yield* followed(account, job)
      yield* answer(json, { store_id: store.id, domain: store.domain, platform: store.platform }, [
        entities === 0
          ? `Linked ${store.domain} (${store.id}).`
          : `Linked ${store.domain} (${store.id}) again: ${counted(entities)} their versions on it again.`,
        store.platform === "shopify"
          ? `Next: ${hint(`import refresh --store ${store.domain}`, account)}`
          : `Next: ${hint(`import csv FILE --store ${store.domain}`, account)}`
      ])
    }).pipe(Effect.catchTags({ PimLocked: () => lockedBy(account), ValidationFailed: byFlag }), withAdmin)
).pipe(Command.withDescription("Link a store to an account, or link an unlinked store again."))

const unlink = Command.make("unlink", { domain, account, json }, ({ account, domain, json }) =>
  Effect.gen(function* () {
    const { job, store } = yield* (yield* AdminClient).unlinkStore({ account, domain })
    const entities = yield* followed(account, job)
    const again = `store link ${store.domain}${store.platform === "shopify" ? " --token-file FILE" : ""}`
    yield* answer(json, { store_id: store.id, domain: store.domain, entities }, [
      `Unlinked ${store.domain} (${store.id}): ${counted(entities)} no version on it any more.`,
      `Nothing is lost: \`${hint(again, account)}\` restores all versions.`
    ])
  }).pipe(
    Effect.catchTag("PimLocked", () => lockedBy(account)),
    withAdmin
  )
).pipe(Command.withDescription("Unlink a store from its account. Linking its domain again restores its versions."))

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
