import { Effect, Either, Redacted } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { ValidationFailed } from "../../model/Errors.ts"
import { WebhookId } from "../../model/Ids.ts"
import { mintId } from "../../runtime/Identifiers.ts"
import { Webhooks } from "../../webhooks/Webhooks.ts"
import type { Visitor } from "../Browser.ts"
import { ConfirmPage } from "../ConfirmPage.tsx"
import type { Misfit } from "../Field.tsx"
import { html, seeOther } from "../Html.ts"
import { type Sentence, type Words, wordsIn } from "../languages/Words.tsx"
import { idInPath, idOf, makePageHandlers, noteOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { paths, webhookPath } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { secretDigestField, WebhookPage, type WebhookPageContent } from "./WebhookPage.tsx"
import {
  emptyWebhookForm,
  topicField,
  type WebhookForm,
  WebhooksPage,
  type WebhooksPageContent
} from "./WebhooksPage.tsx"

const routes = {
  list: ["GET", paths.webhooks, refuseOnPage, "admin"],
  create: ["POST", paths.webhooks, refuseOnPage, "admin", "batch"],
  show: ["GET", paths.webhook, refuseOnPage, "admin"],
  test: ["POST", paths.testWebhook, refuseOnPage, "admin", "batch"],
  replay: ["POST", paths.replayWebhook, refuseOnPage, "admin"],
  rotate: ["POST", paths.rotateWebhook, refuseOnPage, "admin"],
  askDelete: ["GET", paths.deleteWebhook, refuseOnPage, "admin"],
  delete: ["POST", paths.deleteWebhook, refuseOnPage, "admin"]
} as const

const notes: Readonly<Record<string, string>> = {
  accepted: "The receiver accepted the test message.",
  replayed: "The webhook delivers the changes from that position on.",
  deleted: "The webhook is deleted."
}

const formOfWebhook = (parameters: Parameters): WebhookForm => {
  const prefix = topicField("")
  return {
    url: parameters.get("url") ?? "",
    topics: parameters.names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
  }
}

const labels: Readonly<Record<string, Sentence>> = { url: "Address", from: "From", topics: "Changes" }

const refusalOf = (t: Words, { issues }: ValidationFailed) =>
  issues
    .map(({ message, path }) => {
      const label = labels[path]
      const problem = t.say(message.endsWith(".") ? message : `${message}.`)
      return label === undefined ? problem : `${t(label)}: ${problem}`
    })
    .join(" ")

/** Where a form shows its problem: at its text field (`field`) if that is wrong, otherwise above the form. */
const misfitOf = (t: Words, error: ValidationFailed, field: string): Misfit => ({
  field: error.issues.some(({ path }) => path === field) ? field : "",
  message: refusalOf(t, error)
})

/** The error if the form is sent a second time. Only the first answer shows the secret. */
const createdBefore: Misfit = {
  field: "",
  message:
    "This form has created its webhook already, and the secret was shown only once. If you do not have it, rotate the secret of the webhook below."
}

/** The refusal of a rotation that is sent a second time, for example by reloading the page that shows the secret. */
const rotatedBefore: Sentence =
  "The secret was rotated after this page was opened, and the new secret was shown only once. If you do not have it, rotate the secret again."

/** The webhooks of an account: the list with the form that creates one, and the page of each with its actions. */
export const webhookList: Surface<Webhooks | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const webhooks = yield* Webhooks
    const { asVisitor, withForm } = yield* makePageHandlers

    const showAll = (visitor: Visitor, content: WebhooksPageContent, status = 200) =>
      Effect.gen(function* () {
        const list = yield* webhooks.list
        const nextId = yield* mintId(WebhookId)
        return html(visitor, <WebhooksPage visitor={visitor} webhooks={list} nextId={nextId} {...content} />, {
          status
        })
      })

    const showOne = (visitor: Visitor, id: WebhookId, content: WebhookPageContent, status = 200) =>
      Effect.gen(function* () {
        const webhook = yield* webhooks.get(id)
        const state = { setAside: yield* webhooks.setAside(id), secretDigest: yield* webhooks.secretDigest(id) }
        return html(visitor, <WebhookPage visitor={visitor} webhook={webhook} {...state} {...content} />, { status })
      })

    return {
      list: asVisitor((visitor, request) =>
        showAll(visitor, { form: emptyWebhookForm, note: noteOf(notes, queryOf(request).get("note")) })
      ),
      create: withForm((visitor, parameters) =>
        Effect.gen(function* () {
          const form = formOfWebhook(parameters)
          const created = yield* Effect.orElse(idOf(WebhookId, parameters), () =>
            ValidationFailed.at("", "The form is from an older page; send it again.")
          ).pipe(
            Effect.flatMap((id) => webhooks.create(id, form)),
            Effect.either
          )
          if (Either.isRight(created)) {
            const { secret, webhook } = created.right
            return yield* showAll(visitor, {
              form: emptyWebhookForm,
              created: { url: webhook.url, secret: Redacted.value(secret) }
            })
          }
          return created.left._tag === "WebhookExists"
            ? yield* showAll(visitor, { form: emptyWebhookForm, misfit: createdBefore }, 409)
            : yield* showAll(
                visitor,
                { form, misfit: misfitOf(wordsIn(visitor.pageLanguage), created.left, "url") },
                400
              )
        })
      ),
      show: asVisitor((visitor, request) =>
        Effect.flatMap(idInPath(WebhookId, request), (id) =>
          showOne(visitor, id, { note: noteOf(notes, queryOf(request).get("note")) })
        )
      ),
      test: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(WebhookId, form)
          const { problem } = yield* webhooks.test(id)
          return problem === null
            ? seeOther(`${webhookPath(id)}?note=accepted`)
            : yield* showOne(visitor, id, {
                refusal: { sentence: "The receiver did not accept the test message. {problem}", values: { problem } }
              })
        })
      ),
      replay: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(WebhookId, form)
          const from = form.get("from")
          return yield* webhooks.replay(id, from).pipe(
            Effect.as(seeOther(`${webhookPath(id)}?note=replayed`)),
            Effect.catchTag("ValidationFailed", (error) =>
              showOne(visitor, id, { from, misfit: misfitOf(wordsIn(visitor.pageLanguage), error, "from") }, 400)
            )
          )
        })
      ),
      rotate: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(WebhookId, form)
          // A form without the digest is from an older page, which may show a secret that is no longer the current one.
          return yield* webhooks.rotate(id, form.get(secretDigestField) ?? "").pipe(
            Effect.flatMap(({ secret }) => showOne(visitor, id, { secret: Redacted.value(secret) })),
            Effect.catchTags({
              SecretRotated: () => showOne(visitor, id, { refusal: rotatedBefore }, 409),
              ValidationFailed: (error) =>
                showOne(visitor, id, { refusal: refusalOf(wordsIn(visitor.pageLanguage), error) }, 400)
            })
          )
        })
      ),
      askDelete: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const t = wordsIn(visitor.pageLanguage)
          const { id, url } = yield* webhooks.get(yield* idOf(WebhookId, queryOf(request)))
          return html(
            visitor,
            <ConfirmPage
              visitor={visitor}
              section={paths.webhooks}
              title={t("Delete the webhook?")}
              question={t(
                "{address} receives nothing more, and the changes that wait for it are deleted. This cannot be undone.",
                { address: url }
              )}
              action={paths.deleteWebhook}
              id={id}
              button={t("Delete the webhook")}
            />
          )
        })
      ),
      delete: withForm((_, form) =>
        Effect.gen(function* () {
          yield* webhooks.delete(yield* idOf(WebhookId, form))
          return seeOther(`${paths.webhooks}?note=deleted`)
        })
      )
    }
  })
)
