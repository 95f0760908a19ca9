import { Effect, Either } from "effect"
import { Activity } from "../connections/Activity.ts"
import { Connections } from "../connections/Connections.ts"
import { firstPart, Undo } from "../connections/Undo.ts"
import { type FieldUndo, parseSince, type UndoWindow } from "../connections/UndoRules.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { ValidationFailed } from "../model/Errors.ts"
import { ConnectionId, type EntityId } from "../model/Ids.ts"
import { ConnectionRpcs, type UndoEvent } from "./AdminRpcs.ts"
import { type Report, streamEvents } from "./EventStream.ts"
import { parseId } from "./FindByName.ts"

const connectionId = parseId(ConnectionId)

const maxChanges = 25
/** Maximum entities per part of a dry run. */
const maxReviewed = 100
const maxListed = 1_000
const maxCharacters = 200

const shorten = (value: string | null) =>
  value !== null && value.length > maxCharacters ? `${value.slice(0, maxCharacters)}…` : value

const isWithout = ({ left }: FieldUndo) => left === "already_back"

interface Part {
  readonly entities: number
  readonly fields: number
  readonly leftAlone: number
  readonly listed: ReadonlyArray<FieldUndo>
  readonly next: EntityId | null
}

export const ConnectionHandlers = ConnectionRpcs.toLayer(
  Effect.gen(function* () {
    const activity = yield* Activity
    const connections = yield* Connections
    const undo = yield* Undo

    const connectionWith = (typed: string) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        return yield* connections.find(accountId, yield* connectionId(typed))
      })

    const reviewPart = (id: ConnectionId, window: UndoWindow, after: EntityId) =>
      Effect.map(undo.review(id, window, after, maxReviewed), ({ fields, next }): Part => {
        const back = fields.filter(({ left }) => left === null)
        const listed = fields.filter((field) => !isWithout(field))
        return {
          entities: new Set(back.map(({ entityId }) => entityId)).size,
          fields: back.length,
          leftAlone: listed.length - back.length,
          listed,
          next
        }
      })

    const undoPart = (id: ConnectionId, window: UndoWindow, after: EntityId) =>
      Effect.map(
        undo.run(id, window, after),
        ({ entities, fields, left, next }): Part => ({ entities, fields, leftAlone: left.length, listed: left, next })
      )

    return {
      listConnections: () => withAccountId(connections.list),
      showConnection: ({ id }) =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentActor
          const connection = yield* connectionWith(id)
          const days = yield* activity.days(accountId, connection.id)
          const changes = yield* activity.changes(accountId, connection.id, null, maxChanges)
          return { connection, days, changes }
        }),
      undoConnection: ({ dryRun, id: typed, since: text }) =>
        streamEvents((report: Report<UndoEvent>) =>
          Effect.gen(function* () {
            const { id } = yield* connectionWith(typed)
            const until = yield* undo.settledNow
            const since = yield* Either.mapLeft(parseSince(text, until), (rule) => ValidationFailed.at("since", rule))
            const window = { since, until }
            const total = yield* undo.count(id, window, firstPart)
            const runPart = dryRun ? reviewPart : undoPart
            const listed: Array<FieldUndo> = []
            let [entities, fields, leftAlone] = [0, 0, 0]
            let place: EntityId | null = firstPart
            while (place !== null) {
              const part: Part = yield* runPart(id, window, place)
              entities += part.entities
              fields += part.fields
              leftAlone += part.leftAlone
              for (const field of part.listed.slice(0, maxListed - listed.length))
                listed.push({ ...field, now: shorten(field.now), before: shorten(field.before) })
              place = part.next
              const rest = place === null ? 0 : yield* undo.count(id, window, place)
              yield* report({ _tag: "Progress", done: total - rest, total })
            }
            return {
              _tag: "Done" as const,
              connection_id: id,
              ...window,
              dry_run: dryRun,
              entities,
              fields,
              left_alone: leftAlone,
              listed
            }
          })
        )
    }
  })
)
