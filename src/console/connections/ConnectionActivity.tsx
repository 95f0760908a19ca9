import { Effect, Either, Option, Schema } from "effect"
import { Activity } from "../../connections/Activity.ts"
import { ChangePlace } from "../../connections/ActivityRecord.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { Connections } from "../../connections/Connections.ts"
import { firstPart, Undo } from "../../connections/Undo.ts"
import { parseSince, UndoWindow } from "../../connections/UndoRules.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { Imports } from "../../imports/Imports.ts"
import { ConnectionId, EntityId } from "../../model/Ids.ts"
import { Timestamp } from "../../model/Timestamp.ts"
import { PageRefused } from "../Browser.ts"
import { html } from "../Html.ts"
import { decoded, idInPath, idOf, makePageHandlers, type PageServices, queryOf } from "../PageHandlers.ts"
import { connectionPath, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { ConnectionPage } from "./ConnectionPage.tsx"
import { atTime, UndonePage, UndoReviewPage } from "./UndoPages.tsx"

const routes = {
  show: ["GET", paths.connection, refuseOnPage, "view"],
  review: ["GET", paths.undoConnection, refuseOnPage, "edit", "batch"],
  undo: ["POST", paths.undoConnection, refuseOnPage, "edit", "batch"]
} as const

const changesPerPage = 25
const entitiesPerReview = 20

const After = Schema.optionalWith(EntityId, { default: () => firstPart })
const ReviewPlace = Schema.Struct({ until: Schema.optional(Timestamp), after: After })
const ConfirmedPart = Schema.Struct({ ...UndoWindow.fields, after: After })

/** The start of the undo, from the form on the connection's page. The value of a `datetime-local` field is read as UTC. */
const startOf = (query: Parameters) => {
  const since = query.get("since") ?? ""
  const at = query.get("at") ?? ""
  return since === atTime ? (/T\d{2}:\d{2}$/.test(at) ? `${at}:00Z` : `${at}Z`) : since
}

const noStart = (id: ConnectionId) =>
  new PageRefused({
    status: 400,
    title: "Not understood",
    message:
      "Choose the time since which to undo: the last hour, today, seven days, or a date and a time such as 2027-01-31T09:30.",
    next: { path: connectionPath(id), name: "To the connection" }
  })

/** The page of a connection: its changes, and the forms that undo its writes. */
export const connectionActivity: Surface<Activity | Connections | Undo | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const activity = yield* Activity
    const connections = yield* Connections
    const imports = yield* Imports
    const undo = yield* Undo
    const { asVisitor, withForm } = yield* makePageHandlers

    return {
      show: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const connection = yield* connections.find(visitor.accountId, yield* idInPath(ConnectionId, request))
          const query = queryOf(request)
          const before =
            query.get("at") === undefined ? null : yield* decoded(ChangePlace, ["at", "sequence", "entityId"], query)
          const now = yield* undo.now
          const days = yield* activity.days(visitor.accountId, connection.id)
          // Reads one more than a page, to know whether more follow.
          const changes = yield* activity.changes(visitor.accountId, connection.id, before, changesPerPage + 1)
          return html(
            visitor,
            <ConnectionPage
              visitor={visitor}
              connection={connection}
              now={now}
              days={days}
              changes={changes.slice(0, changesPerPage)}
              hasOlder={changes.length > changesPerPage}
              isFirst={before === null}
            />
          )
        })
      ),
      review: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const connection = yield* connections.find(visitor.accountId, yield* idOf(ConnectionId, query))
          const place = yield* decoded(ReviewPlace, ["until", "after"], query)
          const until = place.until ?? (yield* undo.settledNow)
          const since = yield* Either.mapLeft(parseSince(startOf(query), until), () => noStart(connection.id))
          const window = { since, until }
          const total = yield* undo.count(connection.id, window, firstPart)
          const part = yield* undo.review(connection.id, window, place.after, entitiesPerReview)
          const isLocked = Option.isSome(yield* imports.holder)
          return html(
            visitor,
            <UndoReviewPage
              visitor={visitor}
              connection={connection}
              window={window}
              total={total}
              part={part}
              isLocked={isLocked}
            />
          )
        })
      ),
      undo: withForm((visitor, form) =>
        Effect.gen(function* () {
          const connection = yield* connections.find(visitor.accountId, yield* idOf(ConnectionId, form))
          const { after, ...window } = yield* decoded(ConfirmedPart, ["since", "until", "after"], form)
          const part = yield* undo.run(connection.id, window, after)
          const rest = part.next === null ? 0 : yield* undo.count(connection.id, window, part.next)
          return html(
            visitor,
            <UndonePage visitor={visitor} connection={connection} window={window} part={part} rest={rest} />
          )
        })
      )
    }
  })
)
