import { Clock, Effect, Either, Redacted } from "effect"
import { ApiKeys } from "../../access/ApiKeys.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { NotFound, ValidationFailed } from "../../model/Errors.ts"
import { ApiKeyId } from "../../model/Ids.ts"
import { fromMillis, fromRfc3339, type Timestamp } from "../../model/Timestamp.ts"
import { mintId } from "../../runtime/Identifiers.ts"
import type { Visitor } from "../Browser.ts"
import { ConfirmPage } from "../ConfirmPage.tsx"
import { html, seeOther } from "../Html.ts"
import { type Sentence, type Words, wordsIn } from "../languages/Words.tsx"
import { idOf, makePageHandlers, noteOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { emptyKeyForm, type KeyForm, KeysPage, type KeysPageContent } from "./KeysPage.tsx"

const routes = {
  show: ["GET", paths.keys, refuseOnPage, "admin"],
  create: ["POST", paths.keys, refuseOnPage, "admin"],
  askRevoke: ["GET", paths.revokeKey, refuseOnPage, "admin"],
  revoke: ["POST", paths.revokeKey, refuseOnPage, "admin"]
} as const

const formOfKey = (form: Parameters): KeyForm => ({
  name: form.get("name") ?? "",
  access: form.get("access") === "write" ? "write" : "read",
  expires: form.get("expires") ?? ""
})

/** The end of a day in UTC. */
const expiryOf = (day: string): Either.Either<Timestamp | null, ValidationFailed> =>
  day === ""
    ? Either.right(null)
    : Either.mapLeft(fromRfc3339(`${day}T23:59:59Z`), () =>
        ValidationFailed.at("expires", "must be a date, such as 2027-01-31")
      )

const labels: Readonly<Record<string, Sentence>> = { name: "Name", expires: "Expires" }

/** The error if the form is sent a second time. Only the first answer shows the key. */
const createdBefore = {
  field: "",
  message:
    "This form has created its key already, and the key was shown only once. If you do not have it, revoke it below and create another."
}

const misfitOf = ({ issues: [issue] }: ValidationFailed, t: Words) => ({
  field: issue?.path ?? "",
  message: t("{field}: {problem}.", {
    field: t(labels[issue?.path ?? ""] ?? "The form"),
    problem: issue?.message ?? t("is not right")
  })
})

/** The API keys of an account: the list, and the forms that create and revoke keys. */
export const keys: Surface<ApiKeys | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const apiKeys = yield* ApiKeys
    const { asVisitor, withForm } = yield* makePageHandlers

    const show = (visitor: Visitor, content: KeysPageContent, status = 200) =>
      Effect.gen(function* () {
        const now = fromMillis(yield* Clock.currentTimeMillis)
        const list = yield* apiKeys.list(visitor.accountId)
        const nextId = yield* mintId(ApiKeyId)
        return html(visitor, <KeysPage visitor={visitor} keys={list} now={now} nextId={nextId} {...content} />, {
          status
        })
      })

    return {
      show: asVisitor((visitor, request) =>
        show(visitor, {
          form: emptyKeyForm,
          note: noteOf({ revoked: "The key is revoked." }, queryOf(request).get("note"))
        })
      ),
      create: withForm((visitor, parameters) =>
        Effect.gen(function* () {
          const form = formOfKey(parameters)
          const created = yield* Effect.gen(function* () {
            const id = yield* Effect.orElse(idOf(ApiKeyId, parameters), () =>
              ValidationFailed.at("", "is from an older page; send it again")
            )
            const expiresAt = yield* expiryOf(form.expires)
            const scopes = form.access === "write" ? ["pim:read", "pim:write"] : ["pim:read"]
            return yield* apiKeys.createOnce(visitor.accountId, id, { name: form.name, scopes, expiresAt })
          }).pipe(Effect.either)
          return yield* Either.match(created, {
            onLeft: (error) =>
              error._tag === "AlreadyCreated"
                ? show(visitor, { form: emptyKeyForm, misfit: createdBefore }, 409)
                : show(visitor, { form, misfit: misfitOf(error, wordsIn(visitor.pageLanguage)) }, 400),
            onRight: ({ name, token }) =>
              show(visitor, { form: emptyKeyForm, created: { name, token: Redacted.value(token) } })
          })
        })
      ),
      askRevoke: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const t = wordsIn(visitor.pageLanguage)
          const id = yield* idOf(ApiKeyId, queryOf(request))
          const key = (yield* apiKeys.list(visitor.accountId)).find((each) => each.id === id)
          if (key === undefined) return yield* new NotFound()
          if (key.revokedAt !== null) return seeOther(paths.keys)
          return html(
            visitor,
            <ConfirmPage
              visitor={visitor}
              section={paths.keys}
              title={t("Revoke the key {name}?", { name: key.name })}
              question={t(
                "Programs that use the key ending in {ending} are refused from then on. This cannot be undone.",
                {
                  ending: key.lastFour
                }
              )}
              action={paths.revokeKey}
              id={key.id}
              button={t("Revoke the key")}
            />
          )
        })
      ),
      revoke: withForm((visitor, form) =>
        Effect.gen(function* () {
          yield* apiKeys.revoke(visitor.accountId, yield* idOf(ApiKeyId, form))
          return seeOther(`${paths.keys}?note=revoked`)
        })
      )
    }
  })
)
