import { Command, Options } from "@effect/cli"
import { Effect } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { toTriples } from "../model/Attribute.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { entity, missing } from "./DraftCommands.ts"
import { argument, integerOption, textOption } from "./Flags.ts"
import { account, answer, byFlag, hint, json, quoted, Refused, unread } from "./Output.ts"

const store = textOption("store", "DOMAIN", "Domain or id of the store.")

const countLine = (what: string, { length }: ReadonlyArray<string>) => (length === 0 ? [] : [`  ${what}: ${length}`])

const show = Command.make("show", { entity, store, account, json }, ({ account, entity, json, store: given }) =>
  Effect.gen(function* () {
    const { entityId, record, store } = yield* (yield* AdminClient).showPlatform({ account, entity, store: given })
    if (record === null)
      return yield* new Refused({
        message: `${store.domain} does not have ${entityId}: \`${hint(`publish ${entityId} --store ${store.domain}`)}\` publishes it there.`
      })
    const { kind, media, members, platformId } = record
    const attributes = toTriples(kind, record.attributes).filter(({ value }) => value !== "")
    yield* answer(
      json,
      {
        store: store.domain,
        platform: store.platform,
        entity_id: entityId,
        entity_type: kind,
        platform_id: platformId,
        attributes,
        media,
        members
      },
      [
        `${store.domain} has ${kind} ${entityId} as ${platformId}:`,
        ...attributes.map(({ key, value }) => `  ${key}: ${quoted(value)}`),
        ...countLine("media files", media),
        ...countLine("members", members)
      ]
    )
  }).pipe(
    Effect.catchTags({
      NotFound: () => missing(entity),
      PlatformRefused: unread,
      PlatformUnavailable: unread
    }),
    withAdmin
  )
).pipe(Command.withDescription("Show an entity as its store has it now, read from the store's platform."))

const fail = Command.make(
  "fail",
  {
    store,
    kind: Options.choice("kind", ["refuse", "error", "lost", "delay"]).pipe(
      Options.withDescription(
        "refuse: refuses the change; error: fails without a change; lost: makes the change, but the response is lost; delay: responds late."
      ),
      Options.withDefault("refuse")
    ),
    percent: Options.withDefault(integerOption("percent", "PERCENT", "Share of calls that fail, 1 to 100."), 100),
    delaySeconds: Options.withDefault(integerOption("delay", "SECONDS", "Delay, for --kind delay."), 30),
    account,
    json
  },
  ({ account, delaySeconds, json, kind, percent, store }) =>
    Effect.gen(function* () {
      const delayMillis = kind === "delay" ? delaySeconds * 1000 : 0
      yield* (yield* AdminClient).failPlatform({ account, store, kind, percent, delayMillis })
      yield* answer(json, { store, kind, percent }, [
        `The platform of ${store} now fails (${kind}, ${percent} %).`,
        `Next: ${hint(`platform repair --store ${store}`, account)}`
      ])
    }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Make the platform of a demo store fail."))

const repair = Command.make("repair", { store, account, json }, ({ account, json, store }) =>
  Effect.gen(function* () {
    yield* (yield* AdminClient).repairPlatform({ account, store })
    yield* answer(json, { store }, [`The platform of ${store} works again.`])
  }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Make the platform of a demo store work again."))

const edit = Command.make(
  "edit",
  {
    store,
    entity,
    key: argument("KEY", "A built-in key, or `namespace.key` of a metafield."),
    value: argument("VALUE", "The new value. An empty text clears it."),
    account,
    json
  },
  ({ account, entity, json, key, store, value }) =>
    Effect.gen(function* () {
      const { entityId, old } = yield* (yield* AdminClient).editPlatform({ account, store, entity, key, value })
      yield* answer(json, { store, entity_id: entityId, key, old, new: value }, [
        `In the shop of ${store}, ${key} of ${entityId} was ${quoted(old)} and is now ${quoted(value)}.`,
        `Next: ${hint(`import refresh --store ${store}`, account)}`
      ])
    }).pipe(
      Effect.catchTags({
        NotFound: () =>
          new Refused({
            code: errorCode.NotFound,
            message: `The shop of ${store} does not have ${entity}.`
          }),
        ValidationFailed: ({ issues }) =>
          new Refused({
            message: issues.map(({ message, path }) => `${path === "store" ? "--store" : key}: ${message}`).join("; ")
          })
      }),
      withAdmin
    )
).pipe(Command.withDescription("Change a value in the shop of a demo store, as its staff would."))

const list = Command.make("list", { json }, ({ json }) =>
  Effect.gen(function* () {
    const platforms = yield* (yield* AdminClient).listPlatforms()
    yield* answer(
      json,
      { platforms },
      platforms.flatMap(({ fields, label, name, options, summary }) => [
        `${name}  ${label}: ${summary}`,
        ...fields.map((field) => `  ${field.name}: ${field.label}${field.is_secret ? " (secret)" : ""}`),
        `  ${hint(`store link DOMAIN ${options}`)}`
      ])
    )
  }).pipe(withAdmin)
).pipe(
  Command.withDescription("List the platforms on which stores can be linked, and the fields that linking requires.")
)

export const platformCommand = Command.make("platform").pipe(
  Command.withDescription("The commerce platforms behind stores."),
  Command.withSubcommands([list, show, fail, repair, edit])
)
