import { nextSteps, type SetAside, type Webhook } from "../../webhooks/Webhook.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, HiddenFields, Note, Refusal, Time } from "../Frame.tsx"
import { paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { NewSecret, WebhookStateOf } from "./WebhookWords.tsx"

export interface WebhookPageContent {
  /** The new secret after a rotation. */
  readonly secret?: string
  readonly refusal?: string
  readonly note?: string | undefined
}

const Facts = ({ webhook }: { readonly webhook: Webhook }) => (
  <dl class="sheet">
    <dt>State</dt>
    <dd>
      <WebhookStateOf state={webhook.state} />
    </dd>
    <dt>Receives</dt>
    <dd>{webhook.topics.length === 0 ? "every change" : webhook.topics.join(", ")}</dd>
    <dt>Delivered up to</dt>
    <dd>{`change ${webhook.position.toLocaleString("en")} of ${webhook.last_seq.toLocaleString("en")}`}</dd>
    <dt>Last accepted delivery</dt>
    <dd>{webhook.delivered_at === null ? "none yet" : <Time at={webhook.delivered_at} />}</dd>
    {webhook.problem !== null && (
      <>
        <dt>Last failure</dt>
        <dd>{webhook.problem}</dd>
      </>
    )}
    {webhook.previous_secret_until !== null && (
      <>
        <dt>Previous secret</dt>
        <dd>
          {"signs too until "}
          <Time at={webhook.previous_secret_until} />
        </dd>
      </>
    )}
  </dl>
)

const Action = ({
  button,
  path,
  visitor,
  webhook
}: {
  readonly button: string
  readonly path: string
  readonly visitor: Visitor
  readonly webhook: Webhook
}) => (
  <form method="post" action={path}>
    <HiddenFields csrf={visitor.csrf} id={webhook.id} />
    <button type="submit">{button}</button>
  </form>
)

const ReplayForm = ({ visitor, webhook }: { readonly visitor: Visitor; readonly webhook: Webhook }) => (
  <form method="post" action={paths.replayWebhook} class="sheet fields">
    <HiddenFields csrf={visitor.csrf} id={webhook.id} />
    <label>
      From
      <input type="text" name="from" value="" maxLength={100} aria-describedby="from-rule" />
    </label>
    <p id="from-rule" class="quiet">
      Empty: continue from the webhook's position, with all parked changes. Or <code>oldest</code>, <code>latest</code>,
      the number of a change, or a time such as 2027-01-31T09:30:00Z.
    </p>
    <div class="buttons">
      <button type="submit">Replay</button>
    </div>
  </form>
)

const SetAsideTable = ({ setAside }: { readonly setAside: ReadonlyArray<SetAside> }) => (
  <section aria-labelledby="set-aside">
    <h2 id="set-aside">Waiting and parked changes</h2>
    {setAside.length === 0 ? (
      <p class="quiet">There are none.</p>
    ) : (
      <Table
        labelledBy="set-aside"
        columns={["Change", "State", "What", "Attempts", "Problem", "Next attempt"]}
        rows={setAside.map(({ attempts, change, next_attempt_at, problem, seq, state }) => ({
          key: String(seq),
          cells: [
            String(seq),
            state,
            `${change.type} of ${change.entity.type} ${change.entity.id}`,
            String(attempts),
            problem ?? "waits for an earlier change",
            next_attempt_at === null ? "none" : <Time at={next_attempt_at} />
          ]
        }))}
      />
    )}
  </section>
)

/** A webhook, the first 100 of its changes that wait or are parked, and its actions. */
export const WebhookPage = ({
  note,
  refusal,
  secret,
  setAside,
  visitor,
  webhook
}: WebhookPageContent & {
  readonly visitor: Visitor
  readonly webhook: Webhook
  readonly setAside: ReadonlyArray<SetAside>
}) => {
  const next = nextSteps[webhook.state]
  return (
    <Frame title="Webhook" visitor={visitor} current={paths.webhooks}>
      {note !== undefined && <Note>{note}</Note>}
      {secret !== undefined && (
        <Note>
          <p>The webhook has a new secret. For 24 hours messages are signed with both secrets.</p>
          <NewSecret secret={secret} />
        </Note>
      )}
      <Refusal text={refusal} />
      <p>
        <bdi>{webhook.url}</bdi>
      </p>
      {next !== undefined && <p>{next}</p>}
      <Facts webhook={webhook} />
      <div class="buttons">
        <Action button="Send a test" path={paths.testWebhook} visitor={visitor} webhook={webhook} />
        <Action button="Rotate the secret" path={paths.rotateWebhook} visitor={visitor} webhook={webhook} />
        <form method="get" action={paths.deleteWebhook}>
          <input type="hidden" name="id" value={webhook.id} />
          <button type="submit" class="danger">
            Delete
          </button>
        </form>
      </div>
      <section aria-labelledby="replay">
        <h2 id="replay">Replay</h2>
        <ReplayForm visitor={visitor} webhook={webhook} />
      </section>
      <SetAsideTable setAside={setAside} />
    </Frame>
  )
}
