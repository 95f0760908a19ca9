import { createReadStream } from "node:fs"
import { resolve } from "node:path"
import { Command, HelpDoc, Options, ValidationError } from "@effect/cli"
import { Effect, Option, Redacted } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { Job } from "../jobs/Job.ts"
import { filesOnly } from "../model/Store.ts"
import { goneOf, type SalesChannel } from "../platform/SalesChannel.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { argument, textOption } from "./Flags.ts"
import { calledFrom } from "./ImportCommands.ts"
import { followJob } from "./JobCommands.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, byPlace, hint, json, Refused } from "./Output.ts"

const domain = argument("DOMAIN", "Host name of the store, for example shop.example.com.")

/** Maximum bytes of a file with a token or another secret. */
const maxSecretBytes = 16_384

const readSecret = (open: () => NodeJS.ReadableStream) => async () => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of open()) {
    const piece = Buffer.from(chunk)
    bytes += piece.length
    if (bytes > maxSecretBytes) return null
    chunks.push(piece)
  }
  return Redacted.make(Buffer.concat(chunks).toString("utf8").trim())
}

/** Reads a secret from a file or stdin. Not from an argument, because every user of the machine can see arguments. */
const secretIn = (flag: string, path: string) =>
  Effect.gen(function* () {
    const isPiped = path === "-"
    const place = isPiped ? "stdin" : path
    const file = resolve(yield* calledFrom, path)
    const secret = yield* Effect.tryPromise({
      try: readSecret(() => (isPiped ? process.stdin : createReadStream(file))),
      catch: () => new Refused({ message: `${flag}: ${place} cannot be read` })
    })
    if (secret === null) return yield* new Refused({ message: `${flag}: ${place} is too large to be a token` })
    return secret
  })

/** Splits NAME=VALUE. */
const pairIn = (flag: string, value: string, text: string) => {
  const place = text.indexOf("=")
  return place < 1
    ? new Refused({ message: `${flag}: must be NAME=${value}, not ${text}` })
    : Effect.succeed([text.slice(0, place), text.slice(place + 1)] as const)
}

/** The values of a platform's fields, by field. */
const credentialsIn = (options: {
  readonly field: ReadonlyArray<string>
  readonly secretFile: ReadonlyArray<string>
  readonly tokenFile: Option.Option<string>
}) =>
  Effect.gen(function* () {
    const fields = yield* Effect.forEach(options.field, (text) =>
      Effect.map(pairIn("--field", "VALUE", text), ([name, value]) => [name, Redacted.make(value)] as const)
    )
    const secrets = yield* Effect.forEach(options.secretFile, (text) =>
      Effect.flatMap(pairIn("--secret-file", "FILE", text), ([name, path]) =>
        Effect.map(secretIn("--secret-file", path), (value) => [name, value] as const)
      )
    )
    const token = yield* Effect.transposeMapOption(options.tokenFile, (path) => secretIn("--token-file", path))
    const all = [
      ...fields,
      ...secrets,
      ...Option.match(token, { onNone: () => [], onSome: (value) => [["token", value] as const] })
    ]
    return all.length === 0 ? undefined : Object.fromEntries(all)
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
const waitForEntities = (account: Option.Option<string>, job: Job | null) =>
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
        "none (default): its data comes only from imported files; shopify: its Admin API is used, with a token; demo: a built-in shop. `catalog platform list` shows all platforms and their fields."
      )
    ),
    primaryLocale: Options.optional(textOption("locale", "LOCALE", "Primary language. Default: en.")),
    currency: Options.optional(textOption("currency", "CODE", "ISO 4217 currency code. Default: USD.")),
    tokenFile: Options.optional(
      textOption(
        "token-file",
        "FILE",
        "File with the access token of the store, for example of Shopify's Admin API; - for stdin. The token is tested, then stored encrypted. To replace it, link the store again with a new one."
      )
    ),
    field: Options.repeated(
      textOption("field", "NAME=VALUE", "A field that the platform requires. Repeat for several.")
    ),
    secretFile: Options.repeated(
      textOption(
        "secret-file",
        "NAME=FILE",
        "A secret field of the platform, read from a file; - for stdin. Repeat for several."
      )
    ),
    account,
    json
  },
  ({ account, currency, domain, json, name, platform, primaryLocale, ...fields }) =>
    Effect.gen(function* () {
      const credentials = yield* credentialsIn(fields)
      const { isVerified, job, missing, store } = yield* (yield* AdminClient).linkStore({
        account,
        domain,
        name: Option.getOrUndefined(name),
        platform: Option.getOrUndefined(platform),
        primaryLocale: Option.getOrUndefined(primaryLocale),
        currency: Option.getOrUndefined(currency),
        credentials
      })
      const entities = yield* waitForEntities(account, job)
      const warnings = missing.length > 0 ? { missing_permissions: missing.map(({ name }) => name) } : {}
      yield* answer(json, { store_id: store.id, domain: store.domain, platform: store.platform, ...warnings }, [
        entities === 0
          ? `Linked ${store.domain} (${store.id}).`
          : `Linked ${store.domain} (${store.id}) again: ${countText(entities)} their versions on it again.`,
        ...missing.map(({ name, without }) => `The token lacks the permission ${name}: ${without}.`),
        // The shop of a demo store is empty until it is published to, so its first data can only come from a file.
        isVerified || (entities > 0 && store.platform !== filesOnly)
          ? `Next: ${hint(`import refresh --store ${store.domain}`, account)}`
          : `Next: ${hint(`import csv FILE --store ${store.domain}`, account)}`
      ])
    }).pipe(Effect.catchTags({ PimLocked: () => lockedBy(account), ValidationFailed: byFlag }), withAdmin)
).pipe(Command.withDescription("Link a store to an account, or link an unlinked store again."))

const unlink = Command.make("unlink", { domain, account, json }, ({ account, domain, json }) =>
  Effect.gen(function* () {
    const { job, options, store } = yield* (yield* AdminClient).unlinkStore({ account, domain })
    const entities = yield* waitForEntities(account, job)
    const again = ["store", "link", store.domain, ...(options === "" ? [] : [options])].join(" ")
    yield* answer(json, { store_id: store.id, domain: store.domain, entities }, [
      `Unlinked ${store.domain} (${store.id}): ${countText(entities)} no version on it any more.`,
      `Only a saved token or saved credentials are deleted: \`${hint(again, account)}\` restores all versions.`
    ])
  }).pipe(
    Effect.catchTag("PimLocked", () => lockedBy(account)),
    withAdmin
  )
).pipe(Command.withDescription("Unlink a store from its account. Linking its domain again restores its versions."))

const countText = (entities: number) => (entities === 1 ? "1 entity has" : `${entities} entities have`)

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

/** The channels that a flag names. Null: the platform's default. */
const channelsIn = (text: string): ReadonlyArray<string> | null =>
  text === "default"
    ? null
    : text === "none"
      ? []
      : text
          .split(",")
          .map((id) => id.trim())
          .filter((id) => id !== "")

/** What publishes do with the records that they create. */
export const linesOfChannels = (
  chosen: ReadonlyArray<string> | null,
  channels: ReadonlyArray<Pick<SalesChannel, "id" | "name">>
): ReadonlyArray<string> => {
  const gone = goneOf(chosen, channels)
  const count = (chosen?.length ?? 0) - gone.length
  return [
    ...channels.map(({ id, name }) => `${id}  ${name}${chosen?.includes(id) === true ? "  (new records)" : ""}`),
    chosen === null
      ? "New products and collections are put on the platform's default."
      : count === 0
        ? "New products and collections are put on no sales channel."
        : `New products and collections are put on ${count} of them.`,
    ...(gone.length === 0
      ? []
      : [
          `${gone.length === 1 ? "1 chosen channel is" : `${gone.length} chosen channels are`} gone from the store: ${gone.join(", ")}. Choose again without ${gone.length === 1 ? "it" : "them"}.`
        ])
  ]
}

const channels = Command.make(
  "channels",
  {
    domain,
    forNew: Options.optional(
      Options.mapEffect(
        textOption(
          "for-new",
          "CHANNELS",
          "Where publishes put new products and collections: ids of sales channels, separated by commas; none; or default, which is the Online Store on Shopify. Records that the store has stay where they are."
        ),
        (text) => {
          const chosen = channelsIn(text)
          // An empty variable of a script must not mean `none`.
          return chosen?.length === 0 && text !== "none"
            ? Effect.fail(
                ValidationError.invalidValue(HelpDoc.p("--for-new: give ids of sales channels, none or default"))
              )
            : Effect.succeed(chosen)
        }
      )
    ),
    account,
    json
  },
  ({ account, domain, forNew, json }) =>
    Effect.gen(function* () {
      const { channels, chosen, store } = yield* (yield* AdminClient).storeChannels({
        account,
        store: domain,
        ...(Option.isSome(forNew) && { choose: forNew.value })
      })
      yield* answer(
        json,
        {
          store_id: store.id,
          domain: store.domain,
          channels,
          for_new: chosen ?? "default",
          gone: goneOf(chosen, channels)
        },
        linesOfChannels(chosen, channels)
      )
    }).pipe(Effect.catchTags({ ValidationFailed: byPlace(() => "--for-new") }), withAdmin)
).pipe(
  Command.withDescription("List the sales channels of a store, and choose those for new products and collections.")
)

export const storeCommand = Command.make("store").pipe(
  Command.withDescription("Linked stores."),
  Command.withSubcommands([link, unlink, list, channels])
)
