import type { Connection, EndReason } from "../../connections/Connection.ts"
import { tierWords } from "../../connections/Tier.ts"
import { includesRole } from "../../model/Role.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, Note, Time } from "../Frame.tsx"
import { connectionPath, paths } from "../Paths.ts"

const endWords: Readonly<Record<EndReason, string>> = {
  disconnected: "It was disconnected here.",
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
export const Details = ({ connection }: { readonly connection: Connection }) => (
  <dl>
    <dt>Redirects to</dt>
    <dd>{connection.redirectHost}</dd>
    <dt>Permissions</dt>
    <dd>{tierWords[connection.tier].name}</dd>
    <dt>Stores</dt>
    <dd>{connection.storeDomains === null ? "all" : connection.storeDomains.join(", ")}</dd>
    {connection.confirmPublish && (
      <>
        <dt>Publishing</dt>
        <dd>asks you before each publish</dd>
      </>
    )}
    <dt>Allowed by</dt>
    <dd>{connection.userEmail}</dd>
    <dt>Created</dt>
    <dd>
      <Time at={connection.createdAt} />
    </dd>
    <dt>Last used</dt>
    <dd>{connection.lastUsedAt === null ? "never" : <Time at={connection.lastUsedAt} />}</dd>
    {connection.endedAt !== null && (
      <>
        <dt>Ended</dt>
        <dd>
          <Time at={connection.endedAt} />
        </dd>
      </>
    )}
    {connection.endReason !== null && (
      <>
        <dt>Why</dt>
        <dd>{endWords[connection.endReason]}</dd>
      </>
    )}
  </dl>
)

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
  const living = connections.filter(({ endedAt }) => endedAt === null)
  const ended = connections.filter(({ endedAt }) => endedAt !== null)
  return (
    <Frame title="Agents" visitor={visitor} current={paths.connections}>
      {note !== undefined && <Note>{note}</Note>}
      <p>
        Agents that can use this account. To connect an agent, add <code>{resource}</code> to the agent as an MCP
        server. The agent then sends you here to choose its permissions.
      </p>
      <section aria-labelledby="living">
        <h2 id="living">Connected</h2>
        {living.length === 0 ? (
          <p class="quiet">No agent is connected.</p>
        ) : (
          <ul class="records">
            {living.map((connection) => (
              <li class="sheet" key={connection.id}>
                <div>
                  <h3>{connection.clientName}</h3>
                  <Details connection={connection} />
                  <p>
                    <a href={connectionPath(connection.id)}>What {connection.clientName} changed</a>
                  </p>
                </div>
                {mayDisconnect(visitor, connection) && (
                  <form method="get" action={paths.disconnect}>
                    <input type="hidden" name="id" value={connection.id} />
                    <button type="submit" class="danger" aria-label={`Disconnect ${connection.clientName}`}>
                      Disconnect
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
          <h2 id="all">Revoke all</h2>
          <p>Every connection above ends at once. You stay signed in, and API keys keep working.</p>
          <form method="get" action={paths.disconnectAll}>
            <button type="submit" class="danger">
              Disconnect all
            </button>
          </form>
        </section>
      )}
      {ended.length > 0 && (
        <section aria-labelledby="ended">
          <h2 id="ended">Ended</h2>
          <ul class="records">
            {ended.map((connection) => (
              <li class="sheet" key={connection.id}>
                <div>
                  <h3>{connection.clientName}</h3>
                  <Details connection={connection} />
                  <p>
                    <a href={connectionPath(connection.id)}>What {connection.clientName} changed</a>
                  </p>
                </div>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Frame>
  )
}
