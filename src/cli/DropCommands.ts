import { Command, Options } from "@effect/cli"
import { Effect, Either, Option, ParseResult, Schema } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { type Drop, NewDrop } from "../drops/Drop.ts"
import type { ValidationFailed } from "../model/Errors.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { assignment, readJson } from "./DraftCommands.ts"
import { argument, textOption } from "./Flags.ts"
import { account, answer, hint, joinIssues, json, noSuch, quoted, Refused, seconds } from "./Output.ts"

const dropId = argument("DROP_ID", "Id of the drop, from `drop list`.")

const missing = noSuch("drop", "drop list")

const flags: Readonly<Record<string, string>> = {
  name: "--name",
  starts_at: "--starts",
  ends_at: "--ends",
  timezone: "--timezone"
}

/** Turns issues into a refusal that names the path in the file, or the wrong flag or key. */
const refuseDrop =
  (isFromFile: boolean, keys: ReadonlyArray<string>) =>
  ({ issues }: ValidationFailed) => {
    const place = (path: string) => {
      if (isFromFile) return path
      const [, index, rest = ""] = /^changes\[(\d+)\](.*)$/.exec(path) ?? []
      if (index === undefined) return flags[path] ?? path
      if (rest === ".entity_id") return "--entity"
      return rest === ".store_id" ? "--store" : (keys[Number(index)] ?? path)
    }
    // An issue of the entity or the store is repeated for each field.
    const message = joinIssues(issues.map(({ message, path }) => `${place(path)}: ${message}`))
    return new Refused({ message, details: issues })
  }

const timeOf = ({ ends_at, starts_at }: Drop) =>
  ends_at === null ? `from ${seconds(starts_at)} on` : `${seconds(starts_at)} to ${seconds(ends_at)}`

const linesOf = (drop: Drop) => [
  `${drop.name} (${drop.id}): ${drop.status}, ${timeOf(drop)} (${drop.timezone})`,
  ...drop.changes.map(
    ({ deleted_name, entity_id, entity_type, error, field, outcome, store_id, value }) =>
      `  ${entity_type} ${entity_id}${deleted_name === null ? "" : ` (deleted, ${quoted(deleted_name)})`} on ${store_id ?? "every store"}: ${field} = ${quoted(value)}${outcome === null ? "" : `, ${outcome}`}${error === null ? "" : ` (${error.message})`}`
  )
]

const decodeFile = Schema.decodeUnknownEither(NewDrop)

/** Reads a drop from a JSON file. */
const readDrop = (path: string) =>
  Effect.flatMap(readJson(path), (value) =>
    Either.mapLeft(decodeFile(value), (error) => {
      const [first] = ParseResult.ArrayFormatter.formatErrorSync(error)
      const at = (first?.path ?? [])
        .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
        .join("")
      return new Refused({
        message: `--from: ${path} is not a drop${at === "" ? "" : ` at ${at.replace(/^\./, "")}`}: it must hold name, starts_at, ends_at or null, timezone, and changes of entity_id, store_id or null, field and value`
      })
    })
  )

const create = Command.make(
  "create",
  {
    assignments: assignment,
    from: Options.optional(
      textOption(
        "from",
        "FILE",
        'JSON file of the whole drop, instead of the other flags: {"name", "starts_at", "ends_at", "timezone", "changes": [{"entity_id", "store_id": id, domain or null, "field", "value"}]}.'
      )
    ),
    name: Options.optional(textOption("name", "NAME", "Name of the drop.")),
    starts: Options.optional(textOption("starts", "TIME", "When it starts, for example 2027-01-31T09:30:00Z.")),
    ends: Options.optional(
      textOption("ends", "TIME", "When the fields get their earlier values back. Without it the new values stay.")
    ),
    timezone: Options.optional(
      textOption("timezone", "ZONE", "IANA time zone for display, for example Europe/Berlin. Default: UTC.")
    ),
    entity: Options.optional(
      textOption("entity", "ENTITY", "Id, handle or SKU of the product, variant, collection or media file to change.")
    ),
    store: Options.optional(
      textOption("store", "DOMAIN", "Domain or id of a store. Default: all stores of the entity.")
    ),
    account,
    json
  },
  ({ account, assignments, ends, entity, from, json, name, starts, store, timezone }) =>
    Effect.gen(function* () {
      const requiredFlags = Option.all({ name, starts_at: starts, entity_id: entity })
      if (Option.isNone(from) && (Option.isNone(requiredFlags) || assignments.length === 0))
        return yield* new Refused({ message: "Give --name, --starts, --entity and KEY=VALUE, or --from FILE." })
      const flagged = [name, starts, ends, timezone, entity, store].some(Option.isSome) || assignments.length > 0
      if (Option.isSome(from) && flagged)
        return yield* new Refused({
          message: "--from cannot be combined with other flags, because the file describes the whole drop."
        })
      const drop: NewDrop = Option.isSome(from)
        ? yield* readDrop(from.value)
        : {
            name: Option.getOrElse(name, () => ""),
            starts_at: Option.getOrElse(starts, () => ""),
            ends_at: Option.getOrNull(ends),
            timezone: Option.getOrElse(timezone, () => "UTC"),
            changes: assignments.map(({ key, value }) => ({
              entity_id: Option.getOrElse(entity, () => ""),
              store_id: Option.getOrNull(store),
              field: key,
              value: value ?? ""
            }))
          }
      const keys = assignments.map(({ key }) => key)
      const created = yield* (yield* AdminClient)
        .createDrop({ account, drop })
        .pipe(Effect.catchTag("ValidationFailed", refuseDrop(Option.isSome(from), keys)))
      yield* answer(json, created, [
        `Scheduled ${linesOf(created).join("\n")}`,
        `Drops start and end only while the service is running. Next: ${hint(`drop show ${created.id}`, account)}`
      ])
    }).pipe(withAdmin)
).pipe(Command.withDescription("Schedule field changes with a start and, with --ends, an end."))

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const drops = yield* (yield* AdminClient).listDrops({ account })
    yield* answer(
      json,
      { drops },
      drops.length === 0
        ? [`No drops yet: schedule one with \`${hint("drop create", account)}\`.`]
        : drops.map((drop) => `${drop.id}  ${drop.status.padEnd(9)}  ${timeOf(drop)}  ${drop.name}`)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List drops in the order of their starts."))

const show = Command.make("show", { id: dropId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const drop = yield* (yield* AdminClient).showDrop({ account, id })
    yield* answer(json, drop, linesOf(drop))
  }).pipe(Effect.catchTag("NotFound", missing(id)), withAdmin)
).pipe(Command.withDescription("Show a drop with the outcome of each change."))

const cancel = Command.make("cancel", { id: dropId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const drop = yield* (yield* AdminClient).cancelDrop({ account, id })
    yield* answer(json, drop, [`Cancelled ${drop.name} (${drop.id}): nothing was changed.`])
  }).pipe(
    Effect.catchTags({
      NotFound: missing(id),
      ValidationFailed: ({ reasons }) => new Refused({ message: reasons })
    }),
    withAdmin
  )
).pipe(Command.withDescription("Cancel a drop that has not started."))

export const dropCommand = Command.make("drop").pipe(
  Command.withDescription("Scheduled field changes."),
  Command.withSubcommands([create, list, show, cancel])
)
