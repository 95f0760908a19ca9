import { Args, Command, Options } from "@effect/cli"
import { Effect } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { listed } from "../model/Attribute.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { entity, missing } from "./DraftCommands.ts"
import { account, answer, byFlag, hint, json, quoted, Refused, unread } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const store = Options.text("store").pipe(
  Options.withPseudoName("DOMAIN"),
  Options.withDescription("Domain or id of the store.")
)

/** How many of what a store keeps in order: a gallery, the members of a collection. */
const counted = (what: string, { length }: ReadonlyArray<string>) => (length === 0 ? [] : [`  ${what}: ${length}`])

const show = Command.make("show", { entity, store, account, json }, ({ account, entity, json, store: given }) =>
  Effect.gen(function* () {
    const { entityId, record, store } = yield* (yield* AdminClient).showPlatform({ account, entity, store: given })
    if (record === null)
      return yield* new Refused({
        message: `${store.domain} does not have ${entityId}: \`${hint(`publish ${entityId} --store ${store.domain}`, account)}\` brings it there.`
      })
    const { kind, media, members, platformId } = record
    const attributes = listed(kind, record.attributes).filter(({ value }) => value !== "")
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
        ...counted("media files", media),
        ...counted("members", members)
      ]
    )
  }).pipe(
    Effect.catchTags({
      NotFound: () => missing(account, entity),
      PlatformRefused: unread,
      PlatformUnavailable: unread
    }),
    withAdmin
  )
).pipe(Command.withDescription("Show what a store itself holds of an entity now: its platform is asked."))

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
      Options.withPseudoName("PERCENT"),
      Options.withDescription("In how many calls of a hundred, 1 to 100."),
      Options.withDefault(100)
    ),
    delaySeconds: Options.integer("delay").pipe(
      Options.withPseudoName("SECONDS"),
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
        `Next: ${hint(`platform mend --store ${store}`, account)}`
      ])
    }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Break the platform of a demo store."))

const mend = Command.make("mend", { store, account, json }, ({ account, json, store }) =>
  Effect.gen(function* () {
    yield* (yield* AdminClient).mendPlatform({ account, store })
    yield* answer(json, { store }, [`The platform of ${store} works again.`])
  }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Mend the platform of a demo store."))

const edit = Command.make(
  "edit",
  {
    store,
    entity,
    key: Args.text({ name: "KEY" }).pipe(Args.withDescription("A built-in key, or `namespace.key` of a metafield.")),
    value: Args.text({ name: "VALUE" }).pipe(Args.withDescription("Its new value; nothing at all empties it.")),
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
            message: `The shop of ${store} holds no record of ${entity}.`
          }),
        ValidationFailed: ({ issues }) =>
          new Refused({
            message: issues.map(({ message, path }) => `${path === "store" ? "--store" : key}: ${message}`).join("; ")
          })
      }),
      withAdmin
    )
).pipe(Command.withDescription("Change a value in the shop of a demo store, as somebody would who works there."))

export const platformCommand = Command.make("platform").pipe(
  Command.withDescription("The commerce platforms behind stores."),
  Command.withSubcommands([show, fail, mend, edit])
)
