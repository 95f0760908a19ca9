import type { HttpServerRequest } from "@effect/platform"
import { Effect, Either, Option, Redacted } from "effect"
import { readEmail } from "../../access/Email.ts"
import { Mailer } from "../../access/Mailer.ts"
import { SecondFactors } from "../../access/SecondFactors.ts"
import type { SessionUser } from "../../access/Sessions.sql.ts"
import { Sessions } from "../../access/Sessions.ts"
import { type EmailTaken, type LinkUsedUp, type SignInRefused, SignIns } from "../../access/SignIns.ts"
import type { Identity } from "../../access/User.ts"
import type { Users } from "../../access/Users.ts"
import { type Parameters, parametersOf } from "../../connections/AuthorizationRequest.ts"
import { addressOf } from "../../http/ClientAddress.ts"
import { makeNoteRefusal, typedEmail } from "../../http/RefusalLog.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import {
  csrfOf,
  deviceOf,
  dropSession,
  keepDevice,
  keepSession,
  localPath,
  PageRefused,
  pageLanguageOf,
  visitorOf
} from "../Browser.ts"
import { fieldNames } from "../Fields.ts"
import { html, seeOther } from "../Html.ts"
import type { Saying } from "../languages/Words.tsx"
import { forgottenMail, makeMailLink } from "../Mails.ts"
import { makePageHandlers, type PageServices, page, queryOf } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { anonymousViewer } from "../Viewer.tsx"
import { CodePage, ForgotPasswordPage, KeptFormPage, SetPasswordPage, SignInPage } from "./SignInPages.tsx"

const routes = {
  showSignIn: ["GET", paths.signIn, refuseOnPage, "open"],
  signIn: ["POST", paths.signIn, refuseOnPage, "open"],
  code: ["POST", paths.signInCode, refuseOnPage, "open"],
  noCode: ["GET", paths.signInCode, refuseOnPage, "open"],
  forgot: ["GET", paths.forgotPassword, refuseOnPage, "open"],
  sendLink: ["POST", paths.forgotPassword, refuseOnPage, "open"],
  signOut: ["POST", paths.signOut, refuseOnPage, "open"],
  showSetPassword: ["GET", paths.setPassword, refuseOnPage, "open"],
  setPassword: ["POST", paths.setPassword, refuseOnPage, "open"]
} as const

type Request = HttpServerRequest.HttpServerRequest

/** Nobody is signed in on these pages. */
const viewerOf = (request: Request) => anonymousViewer(pageLanguageOf(request))

const refusedLink = ({ _tag, message }: LinkUsedUp | EmailTaken) =>
  _tag === "LinkUsedUp"
    ? new PageRefused({ status: 400, title: "This link is used up", message })
    : new PageRefused({ status: 400, title: "This e-mail address is in use", message })

const tooManyAttempts = ({ retryAfterSeconds }: { readonly retryAfterSeconds: number }) => ({
  status: 429,
  headers: { "retry-after": String(retryAfterSeconds) }
})

/** Why a sign-in was refused, in the log. */
const logReasons = {
  SignInRefused: "wrong",
  SignInDelayed: "delayed",
  SignInBusy: "busy",
  CodeRefused: "code",
  CodeTooLate: "late"
} as const

/** Logs a refused sign-in. */
const makeNoteSignIn = Effect.map(
  makeNoteRefusal,
  (noteRefusal) =>
    (request: Request, email: string) =>
    ({ _tag }: { readonly _tag: keyof typeof logReasons }) =>
      noteRefusal("signIn", request, { email: typedEmail(email), reason: logReasons[_tag] })
)

/** The answer to a user who has changed since their sign-in was checked. */
const refusedNow =
  (returnTo: string, request: Request) =>
  ({ message }: SignInRefused) =>
    Effect.succeed(html(viewerOf(request), <SignInPage returnTo={returnTo} refusal={message} />, { status: 403 }))

/**
 * Requests of a new password. The mail is made and sent in the background, so that the response does not reveal whether
 * the user exists.
 */
const makeForgotPassword = ({ trustedProxies }: { readonly trustedProxies: number }) =>
  Effect.gen(function* () {
    const mailer = yield* Mailer
    const signIns = yield* SignIns
    const { baseUrl, withOpenForm } = yield* makePageHandlers
    const mailLink = yield* makeMailLink
    const noteRefusal = yield* makeNoteRefusal
    const canMail = mailer.isSet
    return {
      forgot: (request: Request) =>
        Effect.sync(() => html(viewerOf(request), <ForgotPasswordPage canMail={canMail} />)),
      sendLink: withOpenForm((form, request) =>
        Effect.gen(function* () {
          if (!canMail) return html(viewerOf(request), <ForgotPasswordPage canMail={false} />)
          const email = form.get("email") ?? ""
          const read = readEmail(email)
          if (Either.isLeft(read))
            return html(
              viewerOf(request),
              <ForgotPasswordPage canMail email={email} refusal={`The e-mail address ${read.left}.`} />,
              { status: 400 }
            )
          const counted = yield* Effect.either(signIns.requestLink(email, addressOf(request, trustedProxies)))
          const about = { email: typedEmail(email), ...(Either.isLeft(counted) && { reason: "delayed" }) }
          yield* noteRefusal(Either.isLeft(counted) ? "newPassword" : "newPasswordAsked", request, about)
          if (Either.isLeft(counted))
            return html(
              viewerOf(request),
              <ForgotPasswordPage canMail email={email} refusal={counted.left.message} />,
              tooManyAttempts(counted.left)
            )
          const sender = { pageLanguage: pageLanguageOf(request), timeZone: null }
          yield* counted.right.makeLink.pipe(
            Effect.flatMap(
              Option.match({
                onNone: () => Effect.void,
                onSome: (link) => mailLink(link, sender, baseUrl, forgottenMail)
              })
            ),
            Effect.catchAllCause((cause) => Effect.logWarning("A link for a new password could not be made", cause)),
            Effect.forkDaemon
          )
          return html(viewerOf(request), <ForgotPasswordPage canMail isSent />)
        })
      )
    }
  })

/** The steps after a correct password, code or link. */
const makeEnter = Effect.gen(function* () {
  const sessions = yield* Sessions
  const signIns = yield* SignIns
  const secondFactors = yield* SecondFactors
  const { baseUrl } = yield* makePageHandlers

  /** Starts a session, and ends the session that the browser had before. */
  const start = (user: SessionUser, to: string, request: Request, keptForm?: Parameters) =>
    Effect.gen(function* () {
      const before = yield* visitorOf(sessions, baseUrl, request)
      if (Option.isSome(before)) yield* sessions.end(before.value.accountId, before.value.sessionHash)
      const token = yield* sessions.start(user, request.headers["user-agent"])
      const answer =
        keptForm === undefined
          ? seeOther(to)
          : html(viewerOf(request), <KeptFormPage csrf={csrfOf(Redacted.value(token))} kept={keptForm} />)
      const signedIn = keepSession(answer, baseUrl, token)
      return keepDevice(signedIn, baseUrl, yield* signIns.rememberDevice(user, deviceOf(baseUrl, request)))
    }).pipe(Effect.catchTag("SignInRefused", refusedNow(to, request)))

  /** After a correct password or a link: asks for the code of the second factor if the user has one, else starts a session. */
  const enter = (user: Identity, to: string | undefined, request: Request, keptForm?: string) =>
    Effect.gen(function* () {
      if (!user.hasSecondFactor)
        return yield* start(
          user,
          to ?? paths.home,
          request,
          keptForm === undefined ? undefined : parametersOf(keptForm)
        )
      const token = Redacted.value(yield* secondFactors.await(user))
      return html(viewerOf(request), <CodePage token={token} returnTo={to} kept={keptForm} />)
    }).pipe(Effect.catchTag("SignInRefused", refusedNow(to ?? paths.home, request)))

  return { enter, start }
})

/** The second step of a sign-in. */
const makeCode = Effect.gen(function* () {
  const secondFactors = yield* SecondFactors
  const noteRefused = yield* makeNoteSignIn
  const { baseUrl, withOpenForm } = yield* makePageHandlers
  const { start } = yield* makeEnter
  return {
    code: withOpenForm((form, request) =>
      Effect.gen(function* () {
        const step = {
          token: form.get("token") ?? "",
          returnTo: localPath(form.get(fieldNames.returnTo), baseUrl),
          kept: form.get(fieldNames.kept)
        }
        const finished = yield* Effect.either(
          secondFactors.finish(step.token, form.get("code") ?? "", deviceOf(baseUrl, request))
        )
        if (Either.isRight(finished)) {
          const unsent = step.kept === undefined ? undefined : parametersOf(step.kept)
          return yield* start(
            { ...finished.right, hasSecondFactor: true },
            step.returnTo ?? paths.home,
            request,
            unsent
          )
        }
        const { _tag, message } = finished.left
        yield* noteRefused(request, yield* secondFactors.emailOfSignIn(step.token))(finished.left)
        if (_tag === "CodeTooLate")
          return html(viewerOf(request), <SignInPage returnTo={step.returnTo} refusal={message} kept={step.kept} />, {
            status: 403
          })
        const again = <CodePage {...step} refusal={message} />
        return _tag === "CodeRefused"
          ? html(viewerOf(request), again, { status: 403 })
          : html(viewerOf(request), again, tooManyAttempts(finished.left))
      })
    )
  }
})

/** Sign-in in one or two steps, sign-out, and the pages that set a new password. */
export const signIn = ({
  trustedProxies
}: {
  readonly trustedProxies: number
}): Surface<Mailer | SecondFactors | SignIns | Users | PageServices> =>
  surfaceOf(
    routes,
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const signIns = yield* SignIns
      const { baseUrl, withForm, withOpenForm } = yield* makePageHandlers

      const { enter } = yield* makeEnter
      const noteRefused = yield* makeNoteSignIn

      /** Checks an e-mail with its password, and logs a refusal. */
      const checked = (request: Request, email: string, password: string) => {
        const origin = { address: addressOf(request, trustedProxies), device: deviceOf(baseUrl, request) }
        return Effect.tapError(signIns.signIn(email, password, origin), noteRefused(request, email))
      }

      const endSession = withForm((visitor, form) =>
        Effect.as(
          sessions.end(visitor.accountId, visitor.sessionHash),
          dropSession(seeOther(localPath(form.get(fieldNames.returnTo), baseUrl) ?? paths.signIn), baseUrl)
        )
      )

      return {
        showSignIn: (request) =>
          Effect.sync(() => {
            const query = queryOf(request)
            const returnTo = localPath(query.get(fieldNames.returnTo), baseUrl)
            return html(
              viewerOf(request),
              <SignInPage returnTo={returnTo} isUnsent={query.get(fieldNames.unsent) === "form"} />
            )
          }),
        signIn: withOpenForm((form, request) =>
          Effect.gen(function* () {
            const email = form.get("email") ?? ""
            const returnTo = localPath(form.get(fieldNames.returnTo), baseUrl)
            const found = yield* Effect.either(checked(request, email, form.get("password") ?? ""))
            const unsent = form.get(fieldNames.kept)
            if (Either.isRight(found)) return yield* enter(found.right, returnTo, request, unsent)
            const refused = found.left
            const again = <SignInPage email={email} returnTo={returnTo} refusal={refused.message} kept={unsent} />
            return refused._tag === "SignInRefused"
              ? html(viewerOf(request), again, { status: 403 })
              : html(viewerOf(request), again, tooManyAttempts(refused))
          })
        ),
        ...(yield* makeCode),
        noCode: () => Effect.succeed(seeOther(paths.signIn)),
        ...(yield* makeForgotPassword({ trustedProxies })),
        signOut: (request) =>
          Effect.flatMap(visitorOf(sessions, baseUrl, request), (visitor) =>
            Option.isNone(visitor) ? Effect.succeed(dropSession(seeOther(paths.signIn), baseUrl)) : endSession(request)
          ),
        showSetPassword: page((request) => {
          const token = queryOf(request).get("token") ?? ""
          return Effect.mapBoth(signIns.findLink(token), {
            onFailure: refusedLink,
            onSuccess: (email) => html(viewerOf(request), <SetPasswordPage email={email} token={token} />)
          })
        }),
        setPassword: withOpenForm((form, request) =>
          Effect.gen(function* () {
            const token = form.get("token") ?? ""
            const password = form.get("password") ?? ""
            const set = yield* Effect.either(signIns.setPassword(token, password))
            if (Either.isRight(set)) return yield* enter(set.right, paths.home, request)
            if (set.left._tag === "LinkUsedUp") {
              // If the form was sent twice, the first has used the link and set this password.
              const found = yield* Effect.option(checked(request, form.get("email") ?? "", password))
              if (Option.isSome(found)) return yield* enter(found.value, paths.home, request)
            }
            if (set.left._tag === "LinkUsedUp" || set.left._tag === "EmailTaken") return yield* refusedLink(set.left)
            const email = yield* Effect.mapError(signIns.findLink(token), refusedLink)
            const again = (refusal: Saying) => <SetPasswordPage email={email} token={token} refusal={refusal} />
            return set.left._tag === "SignInBusy"
              ? html(viewerOf(request), again(set.left.message), tooManyAttempts(set.left))
              : html(viewerOf(request), again(`The password ${set.left.issues[0]?.message}.`), {
                  status: 400
                })
          })
        )
      }
    })
  )
