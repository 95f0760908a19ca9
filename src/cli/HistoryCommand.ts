import { Command, Options } from "@effect/cli"
import { Effect } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { HistoryEntry, ValueChange } from "../drafts/History.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { entity, missing } from "./DraftCommands.ts"
import { integerOption } from "./Flags.ts"
import { account, answer, json, quoted, seconds } from "./Output.ts"

const actorOf = ({ actor, drop, import_id, undo_of }: HistoryEntry) => {
  const name = actor.name === null ? actor.kind : `${actor.kind} ${quoted(actor.name)}`
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
    entry.action === "attributes" ? entry.changes.map(changeOf(none)).join(", ") : actions[entry.action] + why
  return `${seconds(entry.at)}  revision ${entry.draft_revision}  ${actorOf(entry)}  ${where}${what}`
}

export const historyCommand = Command.make(
  "history",
  {
    entity,
    limit: Options.withDefault(integerOption("limit", "ROWS", "Number of changes to show, at most 250."), 50),
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
      Effect.catchTag("NotFound", () => missing(account, entity)),
      withAdmin
    )
).pipe(Command.withDescription("Show the changes and publishes of an entity with time and actor, newest first."))
