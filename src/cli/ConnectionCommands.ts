import { Command, Options } from "@effect/cli"
import { Effect, type Stream } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { UndoEvent } from "../admin/AdminRpcs.ts"
import type { ActivityDay, ConnectionChange } from "../connections/ActivityRecord.ts"
import type { Connection } from "../connections/Connection.ts"
import { type FieldUndo, isAddition, type NotUndoneReason } from "../connections/UndoRules.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { actions } from "./DraftCommands.ts"
import { argument, textOption } from "./Flags.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, byFlag, json, noSuch, quoted, seconds } from "./Output.ts"
import { followEvents } from "./ProgressLine.ts"

const connectionId = argument("CONNECTION_ID", "Id of the connection, from `connection list`.")

const missing = noSuch("connection", "connection list")

const toJson = (connection: Connection) => ({
  connection_id: connection.id,
  client_name: connection.clientName,
  redirect_host: connection.redirectHost,
  tier: connection.tier,
  store_domains: connection.storeDomains,
  confirm_publish: connection.confirmPublish,
  user_email: connection.userEmail,
  created_at: connection.createdAt,
  last_used_at: connection.lastUsedAt,
  ended_at: connection.endedAt,
  end_reason: connection.endReason
})

const lineOf = (connection: Connection) => {
  const { clientName, confirmPublish, endReason, id, lastUsedAt, redirectHost, storeDomains, tier } = connection
  const state = endReason ?? (lastUsedAt === null ? "never used" : `used ${seconds(lastUsedAt)}`)
  const limits = [
    ...(storeDomains === null ? [] : [`only ${storeDomains.join(", ")}`]),
    ...(confirmPublish ? ["publishes are confirmed"] : [])
  ]
  return [id, `${quoted(clientName)} (${redirectHost})`, tier, ...limits, state].join("  ")
}

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const connections = yield* (yield* AdminClient).listConnections({ account })
    yield* answer(
      json,
      { connections: connections.map(toJson) },
      connections.length === 0 ? ["There are no connections."] : connections.map(lineOf)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List connections of agents, also ended ones, newest first."))

const dayLine = ({ calls, day, publishes, writes }: ActivityDay) =>
  `${day}  calls ${calls}, writes ${writes}, publishes ${publishes}`

const changeLine = ({ action, at, entityId, keys, kind, publishedOn, storeDomain }: ConnectionChange) => {
  const what = action === "attributes" ? keys.join(", ") : actions[action]
  const state = publishedOn.length === 0 ? "draft" : `published since on ${publishedOn.join(", ")}`
  return `${seconds(at)}  ${kind} ${entityId}  ${storeDomain === null ? "" : `${storeDomain}: `}${what}  (${state})`
}

const changeJson = (change: ConnectionChange) => ({
  at: change.at,
  entity_id: change.entityId,
  entity_type: change.kind,
  title: change.title,
  store_id: change.storeId,
  store_domain: change.storeDomain,
  action: change.action,
  fields: change.keys,
  published_on: change.publishedOn
})

const show = Command.make("show", { id: connectionId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const { changes, connection, days } = yield* (yield* AdminClient).showConnection({ account, id })
    yield* answer(json, { ...toJson(connection), days, changes: changes.map(changeJson) }, [
      lineOf(connection),
      ...(days.length === 0
        ? ["No activity in the last 30 days (UTC)."]
        : ["Last 30 days (UTC):", ...days.map(dayLine)]),
      ...(changes.length === 0
        ? ["This connection has not changed any draft."]
        : ["Newest changes of drafts:", ...changes.map(changeLine)])
    ])
  }).pipe(Effect.catchTag("NotFound", missing(id)), withAdmin)
).pipe(Command.withDescription("Show a connection, its calls, writes and publishes by day, and its newest changes."))

const reasons: Readonly<Record<Exclude<NotUndoneReason, "edited_since">, string>> = {
  already_back: "has its earlier value already",
  not_on_store: "the entity is no longer on the store, or the store is not linked",
  misfit: "the earlier value no longer fits the rules of the field",
  kept_on_store: "it was published to the store, is being published, or a gallery there shows it",
  not_a_value: "only changes of values and additions to stores can be undone"
}

const valueText = (value: string | null, none: string) => (value === null ? none : quoted(value))

const fieldLine = ({ action, before, entityId, key, kind, laterActor, left, now, storeDomain, storeId }: FieldUndo) => {
  const none = storeId === null ? "empty" : "inherited"
  const field = action === "attributes" ? key : actions[action]
  const place = `  ${kind} ${entityId}  ${storeDomain === null ? "" : `${storeDomain}: `}${field}`
  if (left === null && isAddition({ action })) return `${place} -> taken off the store`
  if (left === null) return `${place} ${valueText(now, none)} -> ${valueText(before, none)}`
  const by = laterActor?.name ?? laterActor?.kind ?? "somebody else"
  return `${place} is not undone: ${left === "edited_since" ? `edited since by ${by}` : reasons[left]}`
}

const fieldJson = (field: FieldUndo) => ({
  entity_id: field.entityId,
  entity_type: field.kind,
  store_id: field.storeId,
  store_domain: field.storeDomain,
  action: field.action,
  field: field.key === "" ? null : field.key,
  now: field.now,
  before: field.before,
  left_alone: field.left
})

type Done = Extract<UndoEvent, { readonly _tag: "Done" }>

const followUndo = <E, R>(events: Stream.Stream<UndoEvent, E, R>) =>
  followEvents(events, {
    progress: ({ done, total }) => `${done} of ${total} entities`,
    interrupted: () => "Interrupted. Changes undone so far remain undone; run the same command again for the rest.",
    unknown: "Changes undone so far remain undone; run the same command again for the rest."
  })

const summaryOf = ({ dry_run, entities, fields, left_alone }: Done) => {
  const left = left_alone === 0 ? "" : ` ${left_alone} left alone.`
  const back = `${fields} ${fields === 1 ? "change" : "changes"} of ${entities} ${entities === 1 ? "entity" : "entities"}`
  return dry_run ? `Would undo ${back}.${left} Nothing was changed.` : `Undone: ${back}.${left}`
}

const undo = Command.make(
  "undo",
  {
    id: connectionId,
    since: textOption(
      "since",
      "TIME",
      "Start time, for example 2027-01-31T09:30:00Z, or one of hour, today (UTC), week (seven days)."
    ),
    dryRun: Options.boolean("dry-run").pipe(Options.withDescription("Only show what would change.")),
    account,
    json
  },
  ({ account, dryRun, id, json, since }) =>
    Effect.gen(function* () {
      const done = yield* followUndo((yield* AdminClient).undoConnection({ account, id, since, dryRun }))
      const { _tag, listed, ...result } = done
      const total = done.left_alone + (dryRun ? done.fields : 0)
      yield* answer(json, { ...result, listed: listed.map(fieldJson) }, [
        ...listed.map(fieldLine),
        ...(total > listed.length ? [`  and ${total - listed.length} more`] : []),
        summaryOf(done),
        ...(!dryRun && done.fields > 0 ? ["These are drafts: published values stay live until the next publish."] : [])
      ])
    }).pipe(
      Effect.catchTags({
        NotFound: missing(id),
        ValidationFailed: byFlag,
        PimLocked: () => lockedBy(account)
      }),
      withAdmin
    )
).pipe(
  Command.withDescription(
    "Undo the changes that a connection made to drafts since a time, except fields that somebody has edited since."
  )
)

export const connectionCommand = Command.make("connection").pipe(
  Command.withDescription("Connections of agents: list them, show their activity, undo their changes."),
  Command.withSubcommands([list, show, undo])
)
