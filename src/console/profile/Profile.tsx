import type { HttpServerRequest } from "@effect/platform"
import { Clock, Effect, Either, Option } from "effect"
import type { SignInDelayed } from "../../access/AttemptLimits.ts"
import { SecondFactors } from "../../access/SecondFactors.ts"
import { Sessions } from "../../access/Sessions.ts"
import { SignIns } from "../../access/SignIns.ts"
import { Users } from "../../access/Users.ts"
import { BaseUrl } from "../../http/BaseUrl.ts"
import { makeNoteRefusal, typedEmail } from "../../http/RefusalLog.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { CurrentActor } from "../../model/Actor.ts"
import { localPath, sessionTokenIn, type Visitor } from "../Browser.ts"
import { fieldNames } from "../Fields.ts"
import { html, seeOther } from "../Html.ts"
import type { Saying } from "../languages/Words.tsx"
import { enrolmentFor, makePageHandlers, noteOf, type Page, type PageServices, queryOf } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { timeIn } from "../Times.ts"
import { type ProfileContent, ProfilePage } from "./ProfilePage.tsx"
import { EnrolPage, RecoveryCodesPage, RequiredFactorPage } from "./SecondFactorPages.tsx"

const routes = {
  show: ["GET", paths.profile, refuseOnPage, "view"],
  save: ["POST", paths.profile, refuseOnPage, "view"],
  password: ["POST", paths.ownPassword, refuseOnPage, "view"],
  endSession: ["POST", paths.endSession, refuseOnPage, "view"],
  endOthers: ["POST", paths.endOtherSessions, refuseOnPage, "view"],
  enrol: ["GET", paths.secondFactor, refuseOnPage, "view"],
  begin: ["POST", paths.secondFactor, refuseOnPage, "view"],
  confirm: ["POST", paths.confirmSecondFactor, refuseOnPage, "view"],
  disable: ["POST", paths.disableSecondFactor, refuseOnPage, "view"],
  renewCodes: ["POST", paths.renewRecoveryCodes, refuseOnPage, "view"]
} as const

const notes: Readonly<Record<string, string>> = {
  saved: "Saved.",
  password: "The password is changed. Your other sessions are ended.",
  ended: "The session is ended.",
  others: "All other sessions are ended.",
  off: "The second factor is off."
}

const toProfile = (note: keyof typeof notes) => seeOther(`${paths.profile}?note=${note}`)

const keyOf = ({ accountId, userId }: Visitor) => ({ accountId, id: userId })

type Refused =
  | SignInDelayed
  | { readonly _tag: "PasswordRefused" | "SignInBusy" | "CodeRefused"; readonly message: string }

/** Why a form was refused. A wait names the time in the visitor's zone. */
const sayingOf = (refused: Refused, visitor: Visitor): Saying =>
  refused._tag === "SignInDelayed"
    ? {
        sentence: "Too many {counted}. Try again in {duration} (after {time}).",
        values: { ...refused.parts, time: timeIn(refused.until, visitor) }
      }
    : refused.message

/** The status of a refused form: 429 if it was refused because of earlier attempts. */
const statusOf = ({ _tag }: { readonly _tag: string }) =>
  _tag === "SignInDelayed" || _tag === "SignInBusy" ? 429 : _tag === "PasswordRefused" ? 403 : 400

type Show = (visitor: Visitor, content: ProfileContent, status: number) => Page<CurrentActor>

type Refuse = (visitor: Visitor, field: string, refused: Refused) => Page<CurrentActor>

/** Why a current password was refused, in the log. */
const logReasons: Readonly<Record<string, string>> = {
  PasswordRefused: "wrong",
  SignInDelayed: "delayed",
  SignInBusy: "busy"
}

/** Runs a check of the current password, and logs its refusal: somebody may guess the password in a session that was left open. */
const makeChecked = Effect.map(
  makeNoteRefusal,
  (noteRefusal) =>
    <E extends { readonly _tag: string }>(
      visitor: Visitor,
      request: HttpServerRequest.HttpServerRequest,
      check: Effect.Effect<void, E>
    ) =>
      Effect.tapError(check, ({ _tag }) => {
        const reason = logReasons[_tag]
        return reason === undefined
          ? Effect.void
          : noteRefusal("currentPassword", request, { email: typedEmail(visitor.email), reason })
      }).pipe(Effect.either)
)

/** The pages that set up a second factor. `show`: shows the profile. `refuse`: shows it with the reason at a field. */
const makeEnrolment = (
  { asVisitor, withForm }: Effect.Effect.Success<typeof makePageHandlers>,
  show: Show,
  refuse: Refuse
) =>
  Effect.gen(function* () {
    const baseUrl = yield* BaseUrl
    const checked = yield* makeChecked
    const signIns = yield* SignIns
    const secondFactors = yield* SecondFactors

    /** The page that was asked for before the second factor had to be set up. */
    const returnToOf = (parameters: { readonly get: (name: string) => string | undefined }) =>
      localPath(parameters.get(fieldNames.returnTo), baseUrl)

    const showEnrolment = (visitor: Visitor, returnTo: string | undefined, message?: Saying, status = 200) =>
      Effect.map(secondFactors.pending(keyOf(visitor), visitor.email), (pending) =>
        Option.match(pending, {
          onNone: () =>
            visitor.lacksFactor
              ? html(visitor, <RequiredFactorPage visitor={visitor} refusal={message} returnTo={returnTo} />, {
                  status
                })
              : seeOther(paths.profile),
          onSome: (enrolment) =>
            html(
              visitor,
              <EnrolPage
                visitor={visitor}
                enrolment={enrolment}
                returnTo={returnTo}
                misfit={message === undefined ? undefined : { field: "code", message }}
              />,
              { status }
            )
        })
      )

    return {
      enrol: asVisitor((visitor, request) => showEnrolment(visitor, returnToOf(queryOf(request)))),
      begin: withForm((visitor, form, request) =>
        Effect.gen(function* () {
          // A user who lacks the required factor has just signed in with the password.
          const password = visitor.lacksFactor
            ? Either.void
            : yield* checked(visitor, request, signIns.checkPassword(visitor, form.get("current") ?? ""))
          if (Either.isLeft(password)) return yield* refuse(visitor, "factor", password.left)
          const begun = yield* Effect.either(secondFactors.begin(keyOf(visitor)))
          if (Either.isRight(begun)) return seeOther(enrolmentFor(returnToOf(form)))
          const [issue] = begun.left.issues
          const message: Saying =
            issue?.path === ""
              ? `The second factor ${issue.message}.`
              : "The second factor cannot be set up, because the service has no key to encrypt secrets: ask its operator to set SECRET_KEY."
          return yield* visitor.lacksFactor
            ? showEnrolment(visitor, returnToOf(form), message, 409)
            : show(visitor, { misfit: { field: "factor", message } }, 409)
        })
      ),
      confirm: withForm((visitor, form, request) =>
        Effect.gen(function* () {
          const session = sessionTokenIn(request, baseUrl) ?? ""
          const confirmed = yield* Effect.either(secondFactors.confirm(keyOf(visitor), form.get("code") ?? "", session))
          if (Either.isRight(confirmed))
            return html(
              visitor,
              <RecoveryCodesPage visitor={visitor} codes={confirmed.right} returnTo={returnToOf(form)} />
            )
          const refused = confirmed.left
          return refused._tag === "ValidationFailed"
            ? seeOther(paths.profile)
            : yield* showEnrolment(visitor, returnToOf(form), sayingOf(refused, visitor), statusOf(refused))
        })
      )
    }
  })

/** The visitor's own profile: language and zone, password, second factor, sessions. */
export const profile: Surface<SecondFactors | Sessions | SignIns | Users | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const checked = yield* makeChecked
    const sessions = yield* Sessions
    const signIns = yield* SignIns
    const secondFactors = yield* SecondFactors
    const users = yield* Users
    const handlers = yield* makePageHandlers
    const { asVisitor, withForm } = handlers

    const show = (visitor: Visitor, content: ProfileContent, status = 200) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const factor = yield* secondFactors.state(keyOf(visitor))
        const isRequired = yield* users.requiresSecondFactor(visitor.accountId)
        const list = yield* sessions.list(visitor)
        return html(
          visitor,
          <ProfilePage visitor={visitor} sessions={list} factor={{ ...factor, isRequired }} now={now} {...content} />,
          {
            status
          }
        )
      })

    const refuse = (visitor: Visitor, field: string, refused: Refused) =>
      show(visitor, { misfit: { field, message: sayingOf(refused, visitor) } }, statusOf(refused))

    return {
      ...(yield* makeEnrolment(handlers, show, refuse)),
      show: asVisitor((visitor, request) => show(visitor, { note: noteOf(notes, queryOf(request).get("note")) })),
      save: withForm((visitor, form) =>
        Effect.gen(function* () {
          const saved = yield* Effect.either(
            users.setProfile(visitor, { language: form.get("language") ?? "", timeZone: form.get("time_zone") ?? "" })
          )
          if (Either.isRight(saved)) return toProfile("saved")
          const [issue] = saved.left.issues
          return yield* show(visitor, { misfit: { field: "", message: `The ${issue?.path} ${issue?.message}.` } }, 400)
        })
      ),
      password: withForm((visitor, form, request) =>
        Effect.gen(function* () {
          const changed = yield* checked(
            visitor,
            request,
            signIns.changePassword(visitor, form.get("current") ?? "", form.get("password") ?? "")
          )
          if (Either.isRight(changed)) return toProfile("password")
          const refused = changed.left
          const misfit =
            refused._tag === "ValidationFailed"
              ? { field: "password", message: `The new password ${refused.issues[0]?.message}.` }
              : { field: "current", message: sayingOf(refused, visitor) }
          return yield* show(visitor, { misfit }, statusOf(refused))
        })
      ),
      endSession: withForm((visitor, form) =>
        Effect.as(sessions.endOwn(visitor, form.get("session") ?? ""), toProfile("ended"))
      ),
      endOthers: withForm((visitor) => Effect.as(sessions.endOthers(visitor), toProfile("others"))),
      disable: withForm((visitor, form, request) =>
        Effect.gen(function* () {
          const password = yield* checked(visitor, request, signIns.checkPassword(visitor, form.get("current") ?? ""))
          if (Either.isLeft(password)) return yield* refuse(visitor, "factor", password.left)
          yield* secondFactors.remove(keyOf(visitor))
          return toProfile("off")
        })
      ),
      renewCodes: withForm((visitor, form, request) =>
        Effect.gen(function* () {
          const session = sessionTokenIn(request, handlers.baseUrl) ?? ""
          const code = form.get("code") ?? ""
          const renewed = yield* Effect.either(secondFactors.renewCodes(keyOf(visitor), code, session))
          if (Either.isLeft(renewed)) return yield* refuse(visitor, "code", renewed.left)
          return html(visitor, <RecoveryCodesPage visitor={visitor} codes={renewed.right} isRenewed />)
        })
      )
    }
  })
)
