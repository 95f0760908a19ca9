import { Effect } from "effect"
import { resourceOf } from "../../connections/AuthorizationRequest.ts"
import { Connections } from "../../connections/Connections.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { ConnectionId } from "../../model/Ids.ts"
import { PageRefused } from "../Browser.ts"
import { ConfirmPage } from "../ConfirmPage.tsx"
import { html, seeOther } from "../Html.ts"
import { wordsIn } from "../languages/Words.tsx"
import { idOf, makePageHandlers, noteOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { ConnectionsPage, mayDisconnect } from "./ConnectionsPage.tsx"

const routes = {
  show: ["GET", paths.connections, refuseOnPage, "view"],
  askDisconnect: ["GET", paths.disconnect, refuseOnPage, "view"],
  disconnect: ["POST", paths.disconnect, refuseOnPage, "view"],
  askDisconnectAll: ["GET", paths.disconnectAll, refuseOnPage, "admin"],
  disconnectAll: ["POST", paths.disconnectAll, refuseOnPage, "admin"]
} as const

const notes: Readonly<Record<string, string>> = {
  one: "The connection is ended. Its next call is refused.",
  all: "All connections are ended. Their next calls are refused."
}

const notYours = new PageRefused({
  status: 403,
  title: "Not allowed",
  message: "Somebody else allowed this agent. Only they and administrators of the account can disconnect it.",
  next: { path: paths.connections, name: "To the agents" }
})

/** The connections of an account: the list, and the forms that end one or all of them. */
export const connectionList: Surface<Connections | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const connections = yield* Connections
    const { asVisitor, baseUrl, withForm } = yield* makePageHandlers
    return {
      show: asVisitor((visitor, request) =>
        Effect.map(connections.list(visitor.accountId), (list) =>
          html(
            visitor,
            <ConnectionsPage
              visitor={visitor}
              connections={list}
              resource={resourceOf(baseUrl)}
              note={noteOf(notes, queryOf(request).get("ended"))}
            />
          )
        )
      ),
      askDisconnect: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const t = wordsIn(visitor.pageLanguage)
          const id = yield* idOf(ConnectionId, queryOf(request))
          const connection = yield* connections.find(visitor.accountId, id)
          if (!mayDisconnect(visitor, connection)) return yield* notYours
          if (connection.endedAt !== null) return seeOther(paths.connections)
          return html(
            visitor,
            <ConfirmPage
              visitor={visitor}
              section={paths.connections}
              title={t("Disconnect {agent}?", { agent: connection.clientName })}
              question={t("Its next call is refused. To connect it again, {agent} has to ask you again.", {
                agent: connection.clientName
              })}
              action={paths.disconnect}
              id={connection.id}
              button={t("Disconnect")}
            />
          )
        })
      ),
      askDisconnectAll: asVisitor((visitor) =>
        Effect.sync(() => {
          const t = wordsIn(visitor.pageLanguage)
          return html(
            visitor,
            <ConfirmPage
              visitor={visitor}
              section={paths.connections}
              title={t("Disconnect every connection?")}
              question={t(
                "The next call of each connection is refused. You stay signed in, and API keys keep working."
              )}
              action={paths.disconnectAll}
              button={t("Disconnect all")}
            />
          )
        })
      ),
      disconnect: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(ConnectionId, form)
          if (!mayDisconnect(visitor, yield* connections.find(visitor.accountId, id))) return yield* notYours
          yield* connections.disconnect(visitor.accountId, id)
          return seeOther(`${paths.connections}?ended=one`)
        })
      ),
      disconnectAll: withForm((visitor) =>
        Effect.as(connections.disconnectAll(visitor.accountId), seeOther(`${paths.connections}?ended=all`))
      )
    }
  })
)
