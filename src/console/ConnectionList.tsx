import { Effect } from "effect"
import { resourceOf } from "../domain/AuthorizationRequest.ts"
import { ConnectionId } from "../domain/Ids.ts"
import type { BaseUrl } from "../http/BaseUrl.ts"
import { type Surface, surfaceOf } from "../http/Surface.ts"
import { Connections } from "../services/Connections.ts"
import type { Sessions } from "../services/Sessions.ts"
import { ConnectionsPage } from "./ConnectionsPage.tsx"
import { html, seeOther } from "./Html.ts"
import { paths } from "./Paths.ts"
import { refuseOnPage } from "./Refusals.tsx"
import { idOf, makeVisits, queryOf } from "./Visits.ts"

const routes = {
  show: ["GET", paths.connections, refuseOnPage],
  disconnect: ["POST", paths.disconnect, refuseOnPage],
  disconnectAll: ["POST", paths.disconnectAll, refuseOnPage]
} as const

/** Said after a form of our own, whatever the address asks for. */
const notes: Readonly<Record<string, string>> = {
  one: "The connection is ended: its next call is refused.",
  all: "Every connection is ended: their next calls are refused."
}

const noteOf = (name: string | undefined) =>
  name !== undefined && Object.hasOwn(notes, name) ? notes[name] : undefined

/** The connections of an account: listed, and ended one by one or all at once. */
export const connectionList: Surface<BaseUrl | Sessions | Connections> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const connections = yield* Connections
    const { asVisitor, baseUrl, withForm } = yield* makeVisits
    return {
      show: asVisitor((visitor, request) =>
        Effect.map(connections.list(visitor.accountId), (list) =>
          html(
            <ConnectionsPage
              visitor={visitor}
              connections={list}
              resource={resourceOf(baseUrl)}
              note={noteOf(queryOf(request).get("ended"))}
            />
          )
        )
      ),
      disconnect: withForm((visitor, form) =>
        Effect.gen(function* () {
          yield* connections.disconnect(visitor.accountId, yield* idOf(ConnectionId, form))
          return seeOther(`${paths.connections}?ended=one`)
        })
      ),
      disconnectAll: withForm((visitor) =>
        Effect.as(connections.disconnectAll(visitor.accountId), seeOther(`${paths.connections}?ended=all`))
      )
    }
  })
)
