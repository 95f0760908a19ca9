import { Command, Options } from "@effect/cli"
import { Effect, Option, Redacted } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { nextSteps, type SetAside, type Webhook } from "../webhooks/Webhook.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { argument, textOption } from "./Flags.ts"
import { account, answer, byFlag, formatCount, hint, json, noSuch, Refused, seconds } from "./Output.ts"

const webhookId = argument("WEBHOOK_ID", "Id of the webhook, from `webhook list`.")

const missing = noSuch("webhook", "webhook list")

const lineOf = ({ id, last_seq, parked, position, state, url, waiting }: Webhook) =>
  [
    `${id}  ${state.padEnd(7)}  ${url}  ${formatCount(Math.max(0, last_seq - position))} to deliver`,
    ...(waiting > 0 ? [`${formatCount(waiting)} waiting`] : []),
    ...(parked > 0 ? [`${formatCount(parked)} parked`] : [])
  ].join(", ")

const linesOf = (webhook: Webhook) => {
  const { delivered_at, failing_since, next_attempt_at, problem, previous_secret_until, state, topics } = webhook
  const next = nextSteps[state]
  return [
    lineOf(webhook),
    `  receives ${topics.length === 0 ? "every change" : topics.join(", ")}`,
    `  last accepted delivery: ${delivered_at === null ? "none yet" : seconds(delivered_at)}`,
    ...(problem === null
      ? []
      : [`  ${failing_since === null ? "last failure" : `fails since ${seconds(failing_since)}`}: ${problem}`]),
    ...(problem === null || next_attempt_at === null ? [] : [`  next attempt: ${seconds(next_attempt_at)}`]),
    ...(previous_secret_until === null
      ? []
      : [`  is signed with the previous secret too until ${seconds(previous_secret_until)}`]),
    ...(next === undefined ? [] : [`  ${next}`])
  ]
}

const lineOfSetAside = ({ attempts, change, next_attempt_at, problem, seq, state }: SetAside) =>
  `  ${state} ${seq}: ${change.type} of ${change.entity.type} ${change.entity.id}, ${
    attempts === 0
      ? "waits for an earlier change of the same entity"
      : `${attempts} ${attempts === 1 ? "attempt" : "attempts"}. ${problem ?? ""}`
  }${next_attempt_at === null ? "" : ` Next attempt: ${seconds(next_attempt_at)}`}`

const shownOnce = (secret: Redacted.Redacted) => ["Its secret is shown only once:", Redacted.value(secret)]

const create = Command.make(
  "create",
  {
    account,
    url: textOption("url", "URL", "Where changes are sent by POST. It must be https at a public address."),
    topics: Options.withDefault(
      textOption("topics", "TOPICS", "Types of changes, separated by commas, such as entity.updated. Default: all."),
      ""
    ),
    json
  },
  ({ account, json, topics, url }) =>
    Effect.gen(function* () {
      const { secret, webhook } = yield* (yield* AdminClient).createWebhook({
        account,
        url,
        topics: topics === "" ? [] : topics.split(",")
      })
      yield* answer(json, { ...webhook, secret: Redacted.value(secret) }, [
        `Created the webhook ${webhook.id} to ${webhook.url}. It receives changes from now on.`,
        ...shownOnce(secret),
        `Next: ${hint(`webhook test ${webhook.id}`, account)}`
      ])
    }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Create a webhook, which sends the changes of the feed to an address."))

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const webhooks = yield* (yield* AdminClient).listWebhooks({ account })
    yield* answer(
      json,
      { webhooks },
      webhooks.length === 0
        ? [`There are no webhooks: create one with \`${hint("webhook create --url URL", account)}\`.`]
        : webhooks.map(lineOf)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List the webhooks of an account with their states."))

const show = Command.make("show", { id: webhookId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const { setAside, webhook } = yield* (yield* AdminClient).showWebhook({ account, id })
    yield* answer(json, { ...webhook, set_aside: setAside }, [...linesOf(webhook), ...setAside.map(lineOfSetAside)])
  }).pipe(Effect.catchTag("NotFound", missing(id)), withAdmin)
).pipe(Command.withDescription("Show a webhook with the first 100 changes that wait or are parked."))

const test = Command.make("test", { id: webhookId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const { millis, problem, url } = yield* (yield* AdminClient).testWebhook({ account, id })
    if (problem !== null)
      return yield* new Refused({
        message: `${url} did not accept the test message. ${problem}`,
        members: { url, millis }
      })
    yield* answer(json, { url, millis, accepted: true }, [`${url} accepted the test message after ${millis} ms.`])
  }).pipe(Effect.catchTag("NotFound", missing(id)), withAdmin)
).pipe(Command.withDescription("Send a signed message of the type webhook.test now, once."))

const replay = Command.make(
  "replay",
  {
    id: webhookId,
    account,
    from: Options.optional(
      textOption(
        "from",
        "PLACE",
        "oldest, latest, the number of a change (seq) or an RFC 3339 time. Default: the webhook's position, with all parked changes."
      )
    ),
    json
  },
  ({ account, from, id, json }) =>
    Effect.gen(function* () {
      const webhook = yield* (yield* AdminClient).replayWebhook({ account, id, from: Option.getOrUndefined(from) })
      yield* answer(json, webhook, [
        `The webhook continues with change ${webhook.position + 1} of ${webhook.last_seq}. A running server delivers the changes.`,
        ...linesOf(webhook)
      ])
    }).pipe(
      Effect.catchTags({ NotFound: missing(id), ValidationFailed: (error) => Effect.fail(byFlag(error)) }),
      withAdmin
    )
).pipe(Command.withDescription("Deliver changes again from a position of the feed, or continue a stopped webhook."))

const rotate = Command.make("rotate", { id: webhookId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const { secret, webhook } = yield* (yield* AdminClient).rotateWebhook({ account, id })
    yield* answer(json, { ...webhook, secret: Redacted.value(secret) }, [
      `The webhook ${webhook.id} has a new secret. ${
        webhook.previous_secret_until === null
          ? "SECRET_KEY does not decrypt the previous one, so messages are signed with the new one only."
          : "For 24 hours messages are signed with both secrets."
      }`,
      ...shownOnce(secret)
    ])
  }).pipe(
    Effect.catchTags({ NotFound: missing(id), ValidationFailed: (error) => Effect.fail(byFlag(error)) }),
    withAdmin
  )
).pipe(Command.withDescription("Replace the secret of a webhook. The previous secret stays valid for 24 hours."))

const remove = Command.make("delete", { id: webhookId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    yield* (yield* AdminClient).deleteWebhook({ account, id })
    yield* answer(json, { id, deleted: true }, [`Deleted the webhook ${id}, with the changes that waited.`])
  }).pipe(Effect.catchTag("NotFound", missing(id)), withAdmin)
).pipe(Command.withDescription("Delete a webhook."))

export const webhookCommand = Command.make("webhook").pipe(
  Command.withDescription("Signed messages to other programs about every change (Standard Webhooks)."),
  Command.withSubcommands([create, list, show, test, replay, rotate, remove])
)
