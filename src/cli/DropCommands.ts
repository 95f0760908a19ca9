import { Args, Command, Options } from "@effect/cli"
import { Effect, Either, Option, ParseResult, Schema } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { type Drop, NewDrop } from "../drops/Drop.ts"
import { errorCode } from "../model/ErrorCode.ts"
import type { ValidationFailed } from "../model/Errors.ts"
import { assignment, readJson } from "./DraftCommands.ts"
import { account, answer, hint, json, quoted, Refused, seconds } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const dropId = Args.text({ name: "DROP_ID" }).pipe(Args.withDescription("Id of the drop, as `drop list` shows it."))

const missing = (account: Option.Option<string>, id: string) =>
  new Refused({
    code: errorCode.NotFound,
    message: `The account has no drop ${id}: see \`${hint("drop list", account)}\`.`
  })

const flags: Readonly<Record<string, string>> = {
  name: "--name",
  starts_at: "--starts",
  ends_at: "--ends",
  timezone: "--timezone"
}

/** Each thing that does not fit, by its place in the file, or by the flag or the key that gave it. */
const told =
  (isFromFile: boolean, keys: ReadonlyArray<string>) =>
  ({ issues }: ValidationFailed) => {
    const place = (path: string) => {
      if (isFromFile) return path
      const [, index, rest = ""] = /^changes\[(\d+)\](.*)$/.exec(path) ?? []
      if (index === undefined) return flags[path] ?? path
      if (rest === ".entity_id") return "--entity"
      return rest === ".store_id" ? "--store" : (keys[Number(index)] ?? path)
    }
    // What is said of the entity or the store would be said for each of its fields.
    const lines = new Set(issues.map(({ message, path }) => `${place(path)}: ${message}`))
    return new Refused({ message: [...lines].join("; "), details: issues })
  }

const timeOf = ({ ends_at, starts_at }: Drop) =>
  ends_at === null ? `${seconds(starts_at)} for good` : `${seconds(starts_at)} to ${seconds(ends_at)}`

const linesOf = (drop: Drop) => [
  `${drop.name} (${drop.id}): ${drop.status}, ${timeOf(drop)} (${drop.timezone})`,
  ...drop.changes.map(
    ({ entity_id, entity_type, error, field, outcome, store_id, value }) =>
      `  ${entity_type} ${entity_id} on ${store_id ?? "every store"}: ${field} = ${quoted(value)}${outcome === null ? "" : `, ${outcome}`}${error === null ? "" : ` (${error.message})`}`
  )
]

const decodeFile = Schema.decodeUnknownEither(NewDrop)

/** A drop as a JSON file says it. */
const readDrop = (path: string) =>
  Effect.flatMap(readJson(path), (value) =>
    Either.mapLeft(decodeFile(value), (error) => {
      const [first] = ParseResult.ArrayFormatter.formatErrorSync(error)
      const at = (first?.path ?? [])
        .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
        .join("")
      return new Refused({
        message: `--from: ${path} is no drop${at === "" ? "" : ` at ${at.replace(/^\./, "")}`}: it must hold name, starts_at, ends_at or null, timezone, and changes of entity_id, store_id or null, field and value`
      })
    })
  )

const create = Command.make(
  "create",
  {
    assignments: assignment,
    from: Options.text("from").pipe(
      Options.withPseudoName("FILE"),
      Options.withDescription(
        'JSON file of the whole drop, in place of the other flags: {"name", "starts_at", "ends_at", "timezone", "changes": [{"entity_id", "store_id": id, domain or null, "field", "value"}]}.'
      ),
      Options.optional
    ),
    name: Options.text("name").pipe(
      Options.withPseudoName("NAME"),
      Options.withDescription("What the drop is called."),
      Options.optional
    ),
    starts: Options.text("starts").pipe(
      Options.withPseudoName("TIME"),
      Options.withDescription("When it comes, for example 2027-01-31T09:30:00Z."),
      Options.optional
    ),
    ends: Options.text("ends").pipe(
      Options.withPseudoName("TIME"),
      Options.withDescription("When the fields return to what they were; without it the new values stay."),
      Options.optional
    ),
    timezone: Options.text("timezone").pipe(
      Options.withPseudoName("ZONE"),
      Options.withDescription("IANA time zone in which it is shown, for example Europe/Berlin."),
      Options.withDefault("UTC")
    ),
    entity: Options.text("entity").pipe(
      Options.withPseudoName("ENTITY"),
      Options.withDescription("The product, variant, collection or media file that changes: id, handle or SKU."),
      Options.optional
    ),
    store: Options.text("store").pipe(
      Options.withPseudoName("DOMAIN"),
      Options.withDescription("Domain or id of a store; every store that it lives on when there is none."),
      Options.optional
    ),
    account,
    json
  },
  ({ account, assignments, ends, entity, from, json, name, starts, store, timezone }) =>
    Effect.gen(function* () {
      const given = Option.all({ name, starts_at: starts, entity_id: entity })
      if (Option.isNone(from) && (Option.isNone(given) || assignments.length === 0))
        return yield* new Refused({ message: "Give --name, --starts, --entity and KEY=VALUE, or --from FILE." })
      const flagged = [name, starts, ends, entity, store].some(Option.isSome) || assignments.length > 0
      if (Option.isSome(from) && flagged)
        return yield* new Refused({ message: "--from: the file holds the whole drop: leave the other flags out." })
      const drop: NewDrop = Option.isSome(from)
        ? yield* readDrop(from.value)
        : {
            name: Option.getOrElse(name, () => ""),
            starts_at: Option.getOrElse(starts, () => ""),
            ends_at: Option.getOrNull(ends),
            timezone,
            changes: assignments.map(({ key, value }) => ({
              entity_id: Option.getOrElse(entity, () => ""),
              store_id: Option.getOrNull(store),
              field: key,
              value: value ?? ""
            }))
          }
      const keys = assignments.map(({ key }) => key)
      const made = yield* (yield* AdminClient)
        .createDrop({ account, drop })
        .pipe(Effect.catchTag("ValidationFailed", told(Option.isSome(from), keys)))
      yield* answer(json, made, [
        `Scheduled ${linesOf(made).join("\n")}`,
        `It comes and goes while a server runs. Next: ${hint(`drop show ${made.id}`, account)}`
      ])
    }).pipe(withAdmin)
).pipe(Command.withDescription("Schedule field changes: they come at one time and, with --ends, go at another."))

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const drops = yield* (yield* AdminClient).listDrops({ account })
    yield* answer(
      json,
      { drops },
      drops.length === 0
        ? [`No drops yet: \`${hint("drop create", account)}\`.`]
        : drops.map((drop) => `${drop.id}  ${drop.status.padEnd(9)}  ${timeOf(drop)}  ${drop.name}`)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List drops, by their start."))

const show = Command.make("show", { id: dropId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const drop = yield* (yield* AdminClient).showDrop({ account, id })
    yield* answer(json, drop, linesOf(drop))
  }).pipe(
    Effect.catchTag("NotFound", () => missing(account, id)),
    withAdmin
  )
).pipe(Command.withDescription("Show a drop, and what has become of each of its changes."))

const cancel = Command.make("cancel", { id: dropId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const drop = yield* (yield* AdminClient).cancelDrop({ account, id })
    yield* answer(json, drop, [`Cancelled ${drop.name} (${drop.id}): nothing was changed.`])
  }).pipe(
    Effect.catchTags({
      NotFound: () => missing(account, id),
      ValidationFailed: ({ issues }) => new Refused({ message: issues.map(({ message }) => message).join("; ") })
    }),
    withAdmin
  )
).pipe(Command.withDescription("Cancel a drop that has not started."))

export const dropCommand = Command.make("drop").pipe(
  Command.withDescription("Scheduled field changes."),
  Command.withSubcommands([create, list, show, cancel])
)
