import type { ApiKey } from "../../access/ApiKey.ts"
import type { ApiKeyId } from "../../model/Ids.ts"
import type { Timestamp } from "../../model/Timestamp.ts"
import type { Visitor } from "../Browser.ts"
import { Alert, CsrfField, Frame, Note, Time } from "../Frame.tsx"
import { paths } from "../Paths.ts"

/** What the form for a new key was filled with. */
export interface KeyForm {
  readonly name: string
  readonly access: "read" | "write"
  /** A day, `YYYY-MM-DD`; empty: the key never expires. */
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
          <dt>May</dt>
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

const Created = ({ name, token }: { readonly name: string; readonly token: string }) => (
  <Note>
    <p>
      Created the key{" "}
      <strong>
        <bdi>{name}</bdi>
      </strong>
      . Copy it now: it is shown this once and kept nowhere.
    </p>
    <code class="secret">{token}</code>
  </Note>
)

/** What a keys page shows beside the list. */
export interface KeysPageContent {
  readonly form: KeyForm
  /** The key that was made just now, with its token. */
  readonly created?: { readonly name: string; readonly token: string }
  /** What is wrong with the form, and at which field. */
  readonly misfit?: { readonly field: string; readonly message: string }
  readonly note?: string | undefined
}

/** `nextId`: of the key that the form will create, so that sending it twice creates one. */
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
  /** What a field says of itself; `rule`: the id of what is said beside it anyway. */
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
      {created !== undefined && <Created {...created} />}
      <p>Programs of yours send a key with every request to the API.</p>
      <section aria-labelledby="create">
        <h2 id="create">Create a key</h2>
        {misfit !== undefined && (
          <Alert>
            <p id="misfit">{misfit.message}</p>
          </Alert>
        )}
        <form method="post" action={paths.keys} class="sheet fields">
          <CsrfField csrf={visitor.csrf} />
          <input type="hidden" name="id" value={nextId} />
          <label>
            Name
            <input type="text" name="name" value={form.name} required maxLength={200} {...invalid("name")} />
          </label>
          <fieldset>
            <legend>What it may do</legend>
            <label class="choice">
              <input type="radio" name="access" value="read" checked={form.access === "read"} />
              <strong>Read</strong> <span class="quiet">Products, stores, data health. Changes nothing.</span>
            </label>
            <label class="choice">
              <input type="radio" name="access" value="write" checked={form.access === "write"} />
              <strong>Read and write</strong> <span class="quiet">Also the requests that change something.</span>
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
          <p class="quiet">There is none yet.</p>
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
