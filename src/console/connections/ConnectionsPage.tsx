import type { Connection, EndReason } from "../../connections/Connection.ts"
import { tierWords } from "../../connections/Tier.ts"
import { includesRole } from "../../model/Role.ts"
import type { Visitor } from "../Browser.ts"
import { CopyText, Facts } from "../Field.tsx"
import { Frame, Note, Time } from "../Frame.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { connectionPath, paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"

const endWords: Readonly<Record<EndReason, Sentence>> = {
  disconnected: "A user or the operator disconnected it.",
  revoked: "The agent revoked it.",
  token_replayed:
    "A refresh token was used a second time, so somebody else may have had a copy. The connection was ended to be safe.",
  code_replayed:
    "The code of its sign-in was used a second time, so somebody else may have had a copy. The connection was ended to be safe.",
  expired: "The agent did not use it for 30 days, or it was 180 days old.",
  user_disabled: "The user who allowed it was disabled."
}

/** Users end the connections that they allowed; administrators end any. */
export const mayDisconnect = ({ email, role }: Visitor, { userEmail }: Connection): boolean =>
  userEmail === email || includesRole(role, "admin")

/** The details of a connection. */
export const Details = ({ connection }: { readonly connection: Connection }) => {
  const t = useWords()
  return (
    <Facts
      of={[
        [t("Redirects to"), connection.redirectHost],
        [t("Permissions"), t.say(tierWords[connection.tier].name)],
        [t("Stores"), connection.storeDomains === null ? t("all") : connection.storeDomains.join(t(", "))],
        connection.confirmPublish && [t("Publishing"), t("asks you before each publish")],
        [t("Allowed by"), connection.userEmail],
        [t("Created"), <Time at={connection.createdAt} />],
        [t("Last used"), connection.lastUsedAt === null ? t("never") : <Time at={connection.lastUsedAt} />],
        connection.endedAt !== null && [t("Ended"), <Time at={connection.endedAt} />],
        connection.endReason !== null && [t("Why"), t(endWords[connection.endReason])]
      ]}
    />
  )
}

/** A connection in a list, with the link to what its agent changed. */
const Summary = ({ connection }: { readonly connection: Connection }) => {
  const t = useWords()
  return (
    <div>
      <h3>{connection.clientName}</h3>
      <Details connection={connection} />
      <p>
        <a href={connectionPath(connection.id)}>{t("What {agent} changed", { agent: connection.clientName })}</a>
      </p>
    </div>
  )
}

/** `resource`: the URL of the MCP server. */
export const ConnectionsPage = ({
  connections,
  note,
  resource,
  visitor
}: {
  readonly visitor: Visitor
  readonly connections: ReadonlyArray<Connection>
  readonly resource: string
  readonly note?: string | undefined
}) => {
  const t = useWords()

  const living = connections.filter(({ endedAt }) => endedAt === null)
  const ended = connections.filter(({ endedAt }) => endedAt !== null)
  return (
    <Frame title={t("Agents")} visitor={visitor} current={paths.connections}>
      {note !== undefined && <Note>{t.say(note)}</Note>}
      <p>
        {t(
          "Agents that can use this account. To connect an agent, add this address to the agent as an MCP server. The agent then sends you here to choose its permissions."
        )}
      </p>
      <CopyText id="address" label={t("Address for agents")} text={resource} />
      <section aria-labelledby="living">
        <h2 id="living">{t("Connected")}</h2>
        {living.length === 0 ? (
          <p class="quiet">{t("No agent is connected.")}</p>
        ) : (
          <ul class="records">
            {living.map((connection) => (
              <li class="sheet" key={connection.id}>
                <Summary connection={connection} />
                {mayDisconnect(visitor, connection) && (
                  <form method="get" action={paths.disconnect}>
                    <input type="hidden" name="id" value={connection.id} />
                    <button
                      type="submit"
                      class="danger"
                      aria-label={t("Disconnect {agent}", { agent: connection.clientName })}
                    >
                      {t("Disconnect")}
                    </button>
                  </form>
                )}
              </li>
            ))}
          </ul>
        )}
      </section>
      {living.length > 0 && includesRole(visitor.role, "admin") && (
        <section aria-labelledby="all">
          <h2 id="all">{t("Revoke all")}</h2>
          <p>{t("Every connection above ends at once. You stay signed in, and API keys keep working.")}</p>
          <form method="get" action={paths.disconnectAll}>
            <button type="submit" class="danger">
              {t("Disconnect all")}
            </button>
          </form>
        </section>
      )}
      {ended.length > 0 && (
        <section aria-labelledby="ended">
          <h2 id="ended">{t("Ended")}</h2>
          <ul class="records">
            {ended.map((connection) => (
              <li class="sheet" key={connection.id}>
                <Summary connection={connection} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </Frame>
  )
}
