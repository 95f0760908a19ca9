import { ChangeType } from "../../drafts/FeedChanges.ts"
import type { WebhookId } from "../../model/Ids.ts"
import type { Webhook } from "../../webhooks/Webhook.ts"
import type { Visitor } from "../Browser.ts"
import { FieldMisfit, fieldState, type Misfit, problemOfForm } from "../Field.tsx"
import { Frame, HiddenFields, Note, Refusal, Time } from "../Frame.tsx"
import { paths, webhookPath } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { useWords } from "../Viewer.tsx"
import { NewSecret, WebhookStateOf } from "./WebhookWords.tsx"

/** Name of the checkbox of a topic. */
export const topicField = (topic: string) => `topic:${topic}`

export interface WebhookForm {
  readonly url: string
  readonly topics: ReadonlyArray<string>
}

const exampleAddress = "https://hooks.example.com/catalog"
const maxShown = 100

/** The page of the webhook shows the whole address. */
const shorten = (url: string) => (url.length > maxShown ? `${url.slice(0, maxShown)}…` : url)

export const emptyWebhookForm: WebhookForm = { url: "", topics: [] }

export interface WebhooksPageContent {
  readonly form: WebhookForm
  /** The new webhook with its secret. */
  readonly created?: { readonly url: string; readonly secret: string }
  readonly misfit?: Misfit
  readonly note?: string | undefined
}

const CreateForm = ({
  form,
  misfit,
  nextId,
  visitor
}: {
  readonly form: WebhookForm
  readonly misfit: Misfit | undefined
  readonly nextId: WebhookId
  readonly visitor: Visitor
}) => {
  const t = useWords()
  return (
    <form method="post" action={paths.webhooks} class="sheet fields">
      <HiddenFields csrf={visitor.csrf} id={nextId} />
      <label>
        {t("Address")}
        <input
          type="url"
          name="url"
          value={form.url}
          required
          maxLength={2_048}
          placeholder={exampleAddress}
          {...fieldState(misfit, "url", "url-rule")}
        />
      </label>
      <FieldMisfit field="url" misfit={misfit} />
      <p id="url-rule" class="quiet">
        {t("It must begin with https:// and lead to the public internet.")}
      </p>
      <fieldset>
        <legend>{t("Changes (none chosen: all)")}</legend>
        {ChangeType.literals.map((topic) => (
          <label class="choice" key={topic}>
            <input type="checkbox" name={topicField(topic)} value="on" checked={form.topics.includes(topic)} />
            <code>{topic}</code>
          </label>
        ))}
      </fieldset>
      <div class="buttons">
        <button type="submit">{t("Create webhook")}</button>
      </div>
    </form>
  )
}

/** `nextId`: the id for the next webhook. It makes the form repeatable: sending it twice creates one webhook. */
export const WebhooksPage = ({
  created,
  form,
  misfit,
  nextId,
  note,
  visitor,
  webhooks
}: WebhooksPageContent & {
  readonly visitor: Visitor
  readonly webhooks: ReadonlyArray<Webhook>
  readonly nextId: WebhookId
}) => {
  const t = useWords()
  return (
    <Frame title={t("Webhooks")} visitor={visitor} current={paths.webhooks}>
      {note !== undefined && <Note>{t.say(note)}</Note>}
      {created !== undefined && (
        <Note>
          <p>
            {t.rich("Created the webhook to {address}. It receives changes from now on.", {
              address: <bdi>{created.url}</bdi>
            })}
          </p>
          <NewSecret secret={created.secret} />
        </Note>
      )}
      <p>
        {t("A webhook sends every change of the catalog to another program, signed according to Standard Webhooks.")}
      </p>
      <section aria-labelledby="create">
        <h2 id="create">{t("Create a webhook")}</h2>
        <Refusal text={problemOfForm(misfit)} />
        <CreateForm form={form} misfit={misfit} nextId={nextId} visitor={visitor} />
      </section>
      <section aria-labelledby="webhooks">
        <h2 id="webhooks">{t("Your webhooks")}</h2>
        {webhooks.length === 0 ? (
          <p class="quiet">{t("There are no webhooks yet.")}</p>
        ) : (
          <Table
            labelledBy="webhooks"
            columns={[
              t("Address"),
              t("State"),
              t("To deliver"),
              t("Waiting changes"),
              t("Parked changes"),
              t("Last delivery")
            ]}
            rows={webhooks.map(({ delivered_at, id, last_seq, parked, position, state, url, waiting }) => ({
              key: id,
              cells: [
                <a href={webhookPath(id)}>
                  <bdi>{shorten(url)}</bdi>
                </a>,
                <WebhookStateOf state={state} />,
                t.number(Math.max(0, last_seq - position)),
                t.number(waiting),
                t.number(parked),
                delivered_at === null ? t("none yet") : <Time at={delivered_at} />
              ]
            }))}
          />
        )}
      </section>
    </Frame>
  )
}
