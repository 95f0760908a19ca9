import type { ApiKey } from "../../access/ApiKey.ts"
import type { ApiKeyId } from "../../model/Ids.ts"
import type { Timestamp } from "../../model/Timestamp.ts"
import type { Visitor } from "../Browser.ts"
import { Alert, Frame, HiddenFields, Note, Time } from "../Frame.tsx"
import { paths } from "../Paths.ts"

export interface KeyForm {
  readonly name: string
  readonly access: "read" | "write"
  /** A day, `YYYY-MM-DD`. Empty: the key never expires. */
  readonly expires: string
}

export const emptyKeyForm: KeyForm = { name: "", access: "read", expires: "" }

const stateOf = (key: ApiKey, now: Timestamp) =>
  key.revokedAt !== null ? "revoked" : key.expiresAt !== null && key.expiresAt <= now ? "expired" : "active"

const accessOf = ({ scopes }: ApiKey) => (scopes.includes("pim:write") ? "Read and write" : "Read")

const Key = ({ apiKey, now }: { readonly apiKey: ApiKey; readonly now: Timestamp }) => {
  const state = stateOf(apiKey, now)
  return (
    <li class="sheet">
      <div>
        <h3>{apiKey.name}</h3>
        <dl>
          <dt>Ends in</dt>
          <dd>
            <code>{apiKey.lastFour}</code>
          </dd>
          <dt>Permissions</dt>
          <dd>{accessOf(apiKey)}</dd>
          <dt>State</dt>
          <dd>
            {state}
            {apiKey.revokedAt !== null && (
              <>
                {" since "}
                <Time at={apiKey.revokedAt} />
              </>
            )}
          </dd>
          <dt>Created</dt>
          <dd>
            <Time at={apiKey.createdAt} />
          </dd>
          <dt>Last used</dt>
          <dd>{apiKey.lastUsedAt === null ? "never" : <Time at={apiKey.lastUsedAt} />}</dd>
          <dt>Expires</dt>
          <dd>{apiKey.expiresAt === null ? "never" : <Time at={apiKey.expiresAt} />}</dd>
        </dl>
      </div>
      {state === "active" && (
        <form method="get" action={paths.revokeKey}>
          <input type="hidden" name="id" value={apiKey.id} />
          <button type="submit" class="danger" aria-label={`Revoke the key ${apiKey.name}`}>
            Revoke
          </button>
        </form>
      )}
    </li>
  )
}

const CreatedKey = ({ name, token }: { readonly name: string; readonly token: string }) => (
  <Note>
    <p>
      Created the key{" "}
      <strong>
        <bdi>{name}</bdi>
      </strong>
      . Copy it now: it is shown only once.
    </p>
    <code class="secret">{token}</code>
  </Note>
)

export interface KeysPageContent {
  readonly form: KeyForm
  /** The new key with its token. */
  readonly created?: { readonly name: string; readonly token: string }
  /** The problem of the form, and the field that it concerns. */
  readonly misfit?: { readonly field: string; readonly message: string }
  readonly note?: string | undefined
}

/** `nextId`: the id for the next key. It makes the form repeatable: sending it twice creates one key. */
export const KeysPage = ({
  created,
  form,
  keys,
  misfit,
  nextId,
  note,
  now,
  visitor
}: KeysPageContent & {
  readonly visitor: Visitor
  readonly keys: ReadonlyArray<ApiKey>
  readonly nextId: ApiKeyId
  readonly now: Timestamp
}) => {
  /** ARIA attributes that connect a field with its problem and its rule. */
  const invalid = (field: string, rule?: string) => {
    const isMisfit = misfit?.field === field
    const described = [...(isMisfit ? ["misfit"] : []), ...(rule === undefined ? [] : [rule])].join(" ")
    return {
      ...(isMisfit && { "aria-invalid": "true" as const }),
      ...(described !== "" && { "aria-describedby": described })
    }
  }
  return (
    <Frame title="API keys" visitor={visitor} current={paths.keys}>
      {note !== undefined && <Note>{note}</Note>}
      {created !== undefined && <CreatedKey {...created} />}
      <p>Your programs send a key with every API request.</p>
      <section aria-labelledby="create">
        <h2 id="create">Create a key</h2>
        {misfit !== undefined && (
          <Alert>
            <p id="misfit">{misfit.message}</p>
          </Alert>
        )}
        <form method="post" action={paths.keys} class="sheet fields">
          <HiddenFields csrf={visitor.csrf} id={nextId} />
          <label>
            Name
            <input type="text" name="name" value={form.name} required maxLength={200} {...invalid("name")} />
          </label>
          <fieldset>
            <legend>Permissions</legend>
            <label class="choice">
              <input type="radio" name="access" value="read" checked={form.access === "read"} />
              <strong>Read</strong> <span class="quiet">Read products, stores and data health.</span>
            </label>
            <label class="choice">
              <input type="radio" name="access" value="write" checked={form.access === "write"} />
              <strong>Read and write</strong> <span class="quiet">Also change them.</span>
            </label>
          </fieldset>
          <label>
            Expires at the end of (UTC)
            <input type="date" name="expires" value={form.expires} {...invalid("expires", "expires-rule")} />
          </label>
          <p id="expires-rule" class="quiet">
            Leave it empty for a key that never expires.
          </p>
          <div class="buttons">
            <button type="submit">Create key</button>
          </div>
        </form>
      </section>
      <section aria-labelledby="keys">
        <h2 id="keys">Your keys</h2>
        {keys.length === 0 ? (
          <p class="quiet">There are no keys yet.</p>
        ) : (
          <ul class="records">
            {[...keys].reverse().map((apiKey) => (
              <Key key={apiKey.id} apiKey={apiKey} now={now} />
            ))}
          </ul>
        )}
      </section>
    </Frame>
  )
}
