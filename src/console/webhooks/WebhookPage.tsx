import { nextSteps, type SetAside, type Webhook } from "../../webhooks/Webhook.ts"
import type { Visitor } from "../Browser.ts"
import { Facts, FieldMisfit, fieldState, type Misfit, problemOfForm } from "../Field.tsx"
import { Frame, Hidden, HiddenFields, Note, Refusal, Time } from "../Frame.tsx"
import type { Saying, Sentence } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { useWords } from "../Viewer.tsx"
import { NewSecret, WebhookStateOf } from "./WebhookWords.tsx"

/** The field of the form that rotates the secret, with the digest of the secret to replace. */
export const secretDigestField = "secret_digest"

export interface WebhookPageContent {
  /** The new secret after a rotation. */
  readonly secret?: string
  readonly refusal?: Saying
  /** The start of a replay as it was typed, and the reason why it is invalid. */
  readonly from?: string | undefined
  readonly misfit?: Misfit | undefined
  readonly note?: string | undefined
}

const Details = ({ webhook }: { readonly webhook: Webhook }) => {
  const t = useWords()
  const { delivered_at, last_seq, next_attempt_at, position, previous_secret_until, problem, state, topics } = webhook
  return (
    <Facts
      look="sheet"
      of={[
        [t("State"), <WebhookStateOf state={state} />],
        [t("Receives"), topics.length === 0 ? t("every change") : topics.join(t(", "))],
        [t("Delivered up to"), t("change {position, number} of {last, number}", { position, last: last_seq })],
        [t("Last accepted delivery"), delivered_at === null ? t("none yet") : <Time at={delivered_at} />],
        problem !== null && [t("Last failure"), problem],
        problem !== null && next_attempt_at !== null && [t("Next attempt"), <Time at={next_attempt_at} />],
        previous_secret_until !== null && [
          t("Previous secret"),
          t.rich("signs too until {time}", { time: <Time at={previous_secret_until} /> })
        ]
      ]}
    />
  )
}

const Action = ({
  button,
  hidden = [],
  path,
  visitor,
  webhook
}: {
  readonly button: Sentence
  readonly hidden?: ReadonlyArray<readonly [name: string, value: string]>
  readonly path: string
  readonly visitor: Visitor
  readonly webhook: Webhook
}) => {
  const t = useWords()
  return (
    <form method="post" action={path}>
      <HiddenFields csrf={visitor.csrf} id={webhook.id} />
      <Hidden of={hidden} />
      <button type="submit">{t(button)}</button>
    </form>
  )
}

const ReplayForm = ({
  from = "",
  misfit,
  visitor,
  webhook
}: Pick<WebhookPageContent, "from" | "misfit"> & { readonly visitor: Visitor; readonly webhook: Webhook }) => {
  const t = useWords()
  return (
    <form method="post" action={paths.replayWebhook} class="sheet fields">
      <HiddenFields csrf={visitor.csrf} id={webhook.id} />
      <label>
        {t("From")}
        <input type="text" name="from" value={from} maxLength={100} {...fieldState(misfit, "from", "from-rule")} />
      </label>
      <FieldMisfit field="from" misfit={misfit} />
      <p id="from-rule" class="quiet">
        {t.rich(
          "Empty: continue from the webhook's position, with all parked changes. Or <code>oldest</code>, <code>latest</code>, the number of a change, or a time such as 2027-01-31T09:30:00Z."
        )}
      </p>
      <div class="buttons">
        <button type="submit">{t("Replay")}</button>
      </div>
    </form>
  )
}

const setAsideWords: Readonly<Record<SetAside["state"], Sentence>> = { waiting: "waiting", parked: "parked" }

const SetAsideTable = ({ setAside }: { readonly setAside: ReadonlyArray<SetAside> }) => {
  const t = useWords()
  return (
    <section aria-labelledby="set-aside">
      <h2 id="set-aside">{t("Waiting and parked changes")}</h2>
      {setAside.length === 0 ? (
        <p class="quiet">{t("There are none.")}</p>
      ) : (
        <Table
          labelledBy="set-aside"
          columns={[t("Change"), t("State"), t("What"), t("Attempts"), t("Problem"), t("Next attempt")]}
          rows={setAside.map(({ attempts, change, next_attempt_at, problem, seq, state }) => ({
            key: String(seq),
            cells: [
              String(seq),
              t(setAsideWords[state]),
              t("{change} of {entity}", { change: change.type, entity: `${change.entity.type} ${change.entity.id}` }),
              String(attempts),
              problem ?? t("waits for an earlier change"),
              next_attempt_at === null ? t("none") : <Time at={next_attempt_at} />
            ]
          }))}
        />
      )}
    </section>
  )
}

/** A webhook, the first 100 of its changes that wait or are parked, and its actions. */
export const WebhookPage = ({
  from,
  misfit,
  note,
  refusal,
  secret,
  secretDigest,
  setAside,
  visitor,
  webhook
}: WebhookPageContent & {
  readonly secretDigest: string
  readonly visitor: Visitor
  readonly webhook: Webhook
  readonly setAside: ReadonlyArray<SetAside>
}) => {
  const t = useWords()
  const next = nextSteps[webhook.state]
  return (
    <Frame title={t("Webhook")} visitor={visitor} current={paths.webhooks}>
      {note !== undefined && <Note>{t.say(note)}</Note>}
      {secret !== undefined && (
        <Note>
          <p>
            {webhook.previous_secret_until === null
              ? t(
                  "The webhook has a new secret. The previous one cannot be decrypted, so messages are signed with the new one only."
                )
              : t("The webhook has a new secret. For 24 hours messages are signed with both secrets.")}
          </p>
          <NewSecret secret={secret} />
        </Note>
      )}
      <Refusal text={refusal ?? problemOfForm(misfit)} />
      <p>
        <bdi>{webhook.url}</bdi>
      </p>
      {next !== undefined && <p>{t.say(next)}</p>}
      <Details webhook={webhook} />
      <div class="buttons">
        <Action button="Send a test" path={paths.testWebhook} visitor={visitor} webhook={webhook} />
        <Action
          button="Rotate the secret"
          hidden={[[secretDigestField, secretDigest]]}
          path={paths.rotateWebhook}
          visitor={visitor}
          webhook={webhook}
        />
        <form method="get" action={paths.deleteWebhook}>
          <input type="hidden" name="id" value={webhook.id} />
          <button type="submit" class="danger">
            {t("Delete")}
          </button>
        </form>
      </div>
      <section aria-labelledby="replay">
        <h2 id="replay">{t("Replay")}</h2>
        <ReplayForm from={from} misfit={misfit} visitor={visitor} webhook={webhook} />
      </section>
      <SetAsideTable setAside={setAside} />
    </Frame>
  )
}
