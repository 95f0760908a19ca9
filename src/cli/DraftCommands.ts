import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { Args, Command, HelpDoc, Options } from "@effect/cli"
import { Effect, Either, Option, Schema } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { DraftState } from "../drafts/DraftWrite.ts"
import type { HistoryEntry, ValueChange } from "../drafts/History.ts"
import type { AttributeEdit } from "../model/AttributeRules.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { cancelledCode } from "../model/PublishState.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { argument, integerOption, textOption } from "./Flags.ts"
import { calledFrom } from "./ImportCommands.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, authorText, byPlace, hint, json, quoted, Refused, seconds } from "./Output.ts"

export const entity = argument(
  "ENTITY",
  "Id of a product, variant, collection or media file, or its handle or SKU if that is unique."
)

const store = Options.optional(
  textOption("store", "DOMAIN", "Domain or id of a store: use its values instead of the canonical ones.")
)

/** The refusal for an entity that does not exist, or is not on the store. */
export const missing = (id: string, domain: Option.Option<string> = Option.none()): Refused =>
  new Refused({
    code: errorCode.NotFound,
    message: Option.match(domain, {
      onNone: () => `The account has no entity ${id}.`,
      onSome: (on) =>
        `The account has no entity ${id} on ${on}: \`${hint(`store-version add ${id} --store ${on}`)}\` adds it if it exists.`
    })
  })

const byKey = byPlace((path) => path.replace(/^attributes\./, ""))

/** One new value. */
export const oneAssignment = Args.text({ name: "KEY=VALUE" }).pipe(
  Args.withDescription("New values, each key once. Everything after `=` is the value; it may be empty."),
  Args.mapEffect((text): Effect.Effect<AttributeEdit, HelpDoc.HelpDoc> => {
    const end = text.indexOf("=")
    if (end < 1)
      return Effect.fail(HelpDoc.p(`Expected KEY=VALUE, for example title="New title"; received ${quoted(text)}`))
    // Node replaces bytes that are not UTF-8 by U+FFFD in arguments.
    if (text.includes("\uFFFD")) return Effect.fail(HelpDoc.p(`${quoted(text)} is not valid UTF-8; use --from FILE`))
    return Effect.succeed({ key: text.slice(0, end), value: text.slice(end + 1) })
  })
)

export const assignment = Args.repeated(oneAssignment)

const unset = Options.repeated(
  textOption("unset", "KEY", "Key to clear or, with --store, key of the override to remove. Can be repeated.")
)

const from = Options.optional(
  textOption("from", "FILE", 'JSON file with more values, {"key": "text", "other": null}; null means --unset.')
)

const parsed = Schema.decodeUnknownEither(Schema.parseJson())
const isText = (value: unknown) => typeof value === "string" || value === null

/** Reads and parses a JSON file. A relative path begins at the folder of the caller. */
export const readJson = (path: string) =>
  Effect.gen(function* () {
    const refuse = (rule: string) => new Refused({ message: `--from: ${path} ${rule}` })
    const file = resolve(yield* calledFrom, path)
    const bytes = yield* Effect.tryPromise({ try: () => readFile(file), catch: () => refuse("cannot be read") })
    const text = yield* Effect.try({
      try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
      catch: () => refuse("is not valid UTF-8")
    })
    return yield* Either.mapLeft(parsed(text), () => refuse("is not JSON"))
  })

/** Reads the values in a JSON file, in their order. Not decoded by a record schema, which would drop a key named __proto__. */
const readEdits = (path: string) =>
  Effect.gen(function* () {
    const refused = (rule: string) => new Refused({ message: `--from: ${path} ${rule}` })
    const value = yield* readJson(path)
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return yield* refused('must hold one object, {"key": "text", "other": null}')
    const wrong = Object.entries(value).find(([, member]) => !isText(member))
    if (wrong !== undefined) return yield* refused(`must have a text or null as the value of ${quoted(wrong[0])}`)
    return Object.entries(value).map(([key, member]): AttributeEdit => ({ key, value: member }))
  })

const linesOf = (state: DraftState, before: number) => [
  state.draft_revision === before
    ? `Nothing changed: the draft still has revision ${before}.`
    : `Saved ${state.entity_type} ${state.entity_id}: draft revision ${state.draft_revision}, ${state.pending_publish ? "waiting to be published" : "nothing to publish"}.`
]

const set = Command.make(
  "set",
  {
    entity,
    assignments: assignment,
    revision: integerOption(
      "revision",
      "REVISION",
      "The draft revision on which the values are based, from `draft show`."
    ),
    store,
    unset,
    from,
    account,
    json
  },
  ({ account, assignments, entity, from, json, revision, store, unset }) =>
    Effect.gen(function* () {
      const read = yield* Option.match(from, { onNone: () => Effect.succeed([]), onSome: readEdits })
      const attributes = [...read, ...assignments, ...unset.map((key) => ({ key, value: null }))]
      if (attributes.length === 0)
        return yield* new Refused({ message: "Nothing to set: give KEY=VALUE, --unset KEY or --from FILE." })
      const state = yield* (yield* AdminClient).setDraft({ account, entity, store, revision, attributes })
      yield* answer(json, state, linesOf(state, revision))
    }).pipe(
      Effect.catchTags({
        NotFound: () => missing(entity, store),
        ValidationFailed: byKey,
        PimLocked: () => lockedBy(account),
        RevisionConflict: ({ currentRevision }) =>
          new Refused({
            code: errorCode.RevisionConflict,
            message: `The entity was changed meanwhile: its draft revision is ${currentRevision}, not ${revision}. See \`${hint(`draft show ${entity}`)}\` and repeat with --revision ${currentRevision}.`
          })
      }),
      withAdmin
    )
).pipe(Command.withDescription("Write canonical values of a draft or, with --store, values of one store."))

const show = Command.make("show", { entity, store, account, json }, ({ account, entity, json, store }) =>
  Effect.gen(function* () {
    const draft = yield* (yield* AdminClient).showDraft({ account, entity, store })
    yield* answer(json, draft, [
      `${draft.entity_type} ${draft.entity_id}: draft revision ${draft.draft_revision}, ${draft.last_publish_status}${draft.pending_publish ? ", waiting to be published" : ""}`,
      ...draft.attributes
        .filter(({ key, value }) => value !== "" || draft.overridden.includes(key))
        .map(({ key, value }) => `  ${key}${draft.overridden.includes(key) ? " (this store's)" : ""}: ${quoted(value)}`)
    ])
  }).pipe(
    Effect.catchTag("NotFound", () => missing(entity, store)),
    withAdmin
  )
).pipe(Command.withDescription("Show the values of a draft and its revision."))

export const draftCommand = Command.make("draft").pipe(
  Command.withDescription("Drafts of products, variants, collections and media files."),
  Command.withSubcommands([set, show])
)

/** The differences between the command that adds an entity to a store and the one that takes it off. */
interface Move {
  readonly name: "add" | "remove"
  readonly description: string
  readonly ofStore: string
  readonly rpc: "addStoreVersion" | "removeStoreVersion"
  readonly done: (entity: string, store: string, revision: number) => string
  readonly notFound: (entity: string, store: string) => Refused
}

const moveCommand = ({ description, done, name, notFound, ofStore, rpc }: Move) =>
  Command.make(
    name,
    { entity, store: textOption("store", "DOMAIN", ofStore), account, json },
    ({ account, entity, json, store }) =>
      Effect.gen(function* () {
        const client = yield* AdminClient
        const state = yield* client[rpc]({ account, entity, store })
        yield* answer(json, state, [done(`${state.entity_type} ${state.entity_id}`, store, state.draft_revision)])
      }).pipe(
        Effect.catchTags({
          NotFound: () => notFound(entity, store),
          ValidationFailed: ({ reasons }) => new Refused({ message: `--store: ${reasons}` }),
          PimLocked: () => lockedBy(account)
        }),
        withAdmin
      )
  ).pipe(Command.withDescription(description))

const add = moveCommand({
  name: "add",
  description: "Add an entity to a store; a product is added with its variants and pictures.",
  ofStore: "Domain or id of the store to add it to.",
  rpc: "addStoreVersion",
  done: (entity, store, revision) =>
    `Added ${entity} to ${store}: draft revision ${revision}, waiting to be published.`,
  notFound: (entity) => missing(entity)
})

const remove = moveCommand({
  name: "remove",
  description:
    "Take an entity off a store that it was never published to; a product leaves with its variants and the pictures that no other gallery shows there.",
  ofStore: "Domain or id of the store to take it off.",
  rpc: "removeStoreVersion",
  done: (entity, store, revision) => `Took ${entity} off ${store}: draft revision ${revision}.`,
  notFound: (entity, store) =>
    new Refused({ code: errorCode.NotFound, message: `The account has no entity ${entity} on ${store}.` })
})

export const storeVersionCommand = Command.make("store-version").pipe(
  Command.withDescription("Versions of entities on stores."),
  Command.withSubcommands([add, remove])
)

const actorOf = ({ actor, drop, import_id, undo_of }: HistoryEntry) => {
  const name = authorText(actor)
  if (drop !== null) return `drop ${quoted(drop.name)} scheduled by ${name}`
  return [
    name,
    ...(import_id === null ? [] : [`by import ${import_id}`]),
    ...(undo_of === null ? [] : [`undoing connection ${undo_of.name === null ? undo_of.id : quoted(undo_of.name)}`])
  ].join(" ")
}

/** Descriptions of changes that have no values. */
export const actions: Readonly<Record<HistoryEntry["action"], string>> = {
  created: "created",
  attributes: "",
  added_to_store: "added to the store",
  removed_from_store: "removed from the store",
  gallery: "gallery changed",
  members: "members changed",
  variants: "variants changed",
  publish_asked: "publish requested",
  published: "published",
  publish_failed: "publish failed"
}

const valueText = (value: string | null, none: string) => (value === null ? none : quoted(value))

const changeOf = (none: string) => (change: ValueChange) =>
  `${change.key} ${valueText(change.old, none)} -> ${valueText(change.new, none)}`

export const historyLine = (entry: HistoryEntry) => {
  const where = entry.store_domain === null ? "" : `${entry.store_domain}: `
  const none = entry.store_id === null ? "empty" : "inherited"
  const why = entry.error === null ? "" : `: ${quoted(entry.error.message)} (${quoted(entry.error.code)})`
  const what =
    entry.action === "attributes"
      ? entry.changes.map(changeOf(none)).join(", ")
      : entry.error?.code === cancelledCode
        ? "publish cancelled"
        : actions[entry.action] + why
  return `${seconds(entry.at)}  revision ${entry.draft_revision}  ${actorOf(entry)}  ${where}${what}`
}

export const historyCommand = Command.make(
  "history",
  {
    entity,
    limit: Options.withDefault(integerOption("limit", "ROWS", "Number of changes to show, at most 250.", 1, 250), 50),
    account,
    json
  },
  ({ account, entity, json, limit }) =>
    Effect.gen(function* () {
      const found = yield* (yield* AdminClient).showHistory({ account, entity, limit })
      yield* answer(
        json,
        found,
        found.history.length === 0
          ? ["No changes are recorded: the entity was written before history began."]
          : found.history.map(historyLine)
      )
    }).pipe(
      Effect.catchTag("NotFound", () => missing(entity)),
      withAdmin
    )
).pipe(Command.withDescription("Show the changes and publishes of an entity with time and actor, newest first."))
