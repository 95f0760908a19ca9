import type { ApiKey } from "../../access/ApiKey.ts"
import type { HistoryActor } from "../../drafts/History.ts"
import type { ApiKeyId } from "../../model/Ids.ts"
import type { Timestamp } from "../../model/Timestamp.ts"
import type { Visitor } from "../Browser.ts"
import { CopyText, Facts, FieldMisfit, fieldState, type Misfit, problemOfForm } from "../Field.tsx"
import { Frame, HiddenFields, Note, Refusal, Time } from "../Frame.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { actorName } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"

export interface KeyForm {
  readonly name: string
  readonly access: "read" | "write"
  /** A day, `YYYY-MM-DD`. Empty: the key never expires. */
  readonly expires: string
}

export const emptyKeyForm: KeyForm = { name: "", access: "read", expires: "" }

const stateWords = { revoked: "revoked", expired: "expired", active: "active" } as const satisfies Readonly<
  Record<string, Sentence>
>

const stateOf = (key: ApiKey, now: Timestamp): keyof typeof stateWords =>
  key.revokedAt !== null ? "revoked" : key.expiresAt !== null && key.expiresAt <= now ? "expired" : "active"

const readAndWrite: Sentence = "Read and write"
const read: Sentence = "Read"

const accessOf = ({ scopes }: ApiKey) => (scopes.includes("pim:write") ? readAndWrite : read)

/** A time, with the author of the change if it is known. */
const Done = ({ at, by }: { readonly at: Timestamp; readonly by: HistoryActor | null }) => {
  const t = useWords()
  return by === null ? (
    <Time at={at} />
  ) : (
    t.rich("{time} by {author}", { time: <Time at={at} />, author: <bdi>{actorName(t, by)}</bdi> })
  )
}

const Key = ({ apiKey, now }: { readonly apiKey: ApiKey; readonly now: Timestamp }) => {
  const t = useWords()

  const state = stateOf(apiKey, now)
  return (
    <li class="sheet">
      <div>
        <h3>{apiKey.name}</h3>
        <Facts
          of={[
            [t("Ends in"), <code>{apiKey.lastFour}</code>],
            [t("Permissions"), t(accessOf(apiKey))],
            [
              t("State"),
              apiKey.revokedAt === null
                ? t(stateWords[state])
                : t.rich("revoked since {time}", { time: <Done at={apiKey.revokedAt} by={apiKey.revokedBy} /> })
            ],
            [t("Created"), <Done at={apiKey.createdAt} by={apiKey.createdBy} />],
            [t("Last used"), apiKey.lastUsedAt === null ? t("never") : <Time at={apiKey.lastUsedAt} />],
            [t("Expires"), apiKey.expiresAt === null ? t("never") : <Time at={apiKey.expiresAt} />]
          ]}
        />
      </div>
      {state === "active" && (
        <form method="get" action={paths.revokeKey}>
          <input type="hidden" name="id" value={apiKey.id} />
          <button type="submit" class="danger" aria-label={t("Revoke the key {name}", { name: apiKey.name })}>
            {t("Revoke")}
          </button>
        </form>
      )}
    </li>
  )
}

const CreatedKey = ({ name, token }: { readonly name: string; readonly token: string }) => {
  const t = useWords()
  return (
    <Note>
      <p>
        {t.rich("Created the key {name}. Copy it now: it is shown only once.", {
          name: (
            <strong>
              <bdi>{name}</bdi>
            </strong>
          )
        })}
      </p>
      <CopyText id="new-key" label={t("Key (shown only once)")} text={token} />
    </Note>
  )
}

export interface KeysPageContent {
  readonly form: KeyForm
  /** The new key with its token. */
  readonly created?: { readonly name: string; readonly token: string }
  readonly misfit?: Misfit
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
  const t = useWords()
  return (
    <Frame title={t("API keys")} visitor={visitor} current={paths.keys}>
      {note !== undefined && <Note>{t.say(note)}</Note>}
      {created !== undefined && <CreatedKey {...created} />}
      <p>{t("Your programs send a key with every API request.")}</p>
      <section aria-labelledby="create">
        <h2 id="create">{t("Create a key")}</h2>
        <Refusal text={problemOfForm(misfit)} />
        <form method="post" action={paths.keys} class="sheet fields">
          <HiddenFields csrf={visitor.csrf} id={nextId} />
          <label>
            {t("Name")}
            <input type="text" name="name" value={form.name} required maxLength={200} {...fieldState(misfit, "name")} />
          </label>
          <FieldMisfit field="name" misfit={misfit} />
          <fieldset>
            <legend>{t("Permissions")}</legend>
            <label class="choice">
              <input type="radio" name="access" value="read" checked={form.access === "read"} />
              <strong>{t("Read")}</strong> <span class="quiet">{t("Read products, stores and data health.")}</span>
            </label>
            <label class="choice">
              <input type="radio" name="access" value="write" checked={form.access === "write"} />
              <strong>{t("Read and write")}</strong> <span class="quiet">{t("Also change them.")}</span>
            </label>
          </fieldset>
          <label>
            {t("Valid until the end of this day (UTC)")}
            <input type="date" name="expires" value={form.expires} {...fieldState(misfit, "expires", "expires-rule")} />
          </label>
          <FieldMisfit field="expires" misfit={misfit} />
          <p id="expires-rule" class="quiet">
            {t("Leave it empty for a key that never expires.")}
          </p>
          <div class="buttons">
            <button type="submit">{t("Create key")}</button>
          </div>
        </form>
      </section>
      <section aria-labelledby="keys">
        <h2 id="keys">{t("Your keys")}</h2>
        {keys.length === 0 ? (
          <p class="quiet">{t("There are no keys yet.")}</p>
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
