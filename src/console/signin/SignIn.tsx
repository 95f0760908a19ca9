import type { HttpServerRequest } from "@effect/platform"
import { Effect, Either, Option, Redacted } from "effect"
import { Sessions } from "../../access/Sessions.ts"
import { LinkUsedUp, SignIns } from "../../access/SignIns.ts"
import { type Parameters, parametersOf } from "../../connections/AuthorizationRequest.ts"
import { addressOf } from "../../http/ClientAddress.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import {
  csrfOf,
  deviceOf,
  dropSession,
  keepDevice,
  keepSession,
  localPath,
  PageRefused,
  type Visitor,
  visitorOf
} from "../Browser.ts"
import { fieldNames } from "../Fields.ts"
import { html, seeOther } from "../Html.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { makeVisits, page, queryOf, type Visits } from "../Visits.ts"
import { KeptFormPage } from "./KeptFormPage.tsx"
import { SetPasswordPage } from "./SetPasswordPage.tsx"
import { SignInPage } from "./SignInPage.tsx"

const routes = {
  showSignIn: ["GET", paths.signIn, refuseOnPage],
  signIn: ["POST", paths.signIn, refuseOnPage],
  signOut: ["POST", paths.signOut, refuseOnPage],
  showSetPassword: ["GET", paths.setPassword, refuseOnPage],
  setPassword: ["POST", paths.setPassword, refuseOnPage]
} as const

type Request = HttpServerRequest.HttpServerRequest

const usedUp = ({ message }: LinkUsedUp) => new PageRefused({ status: 400, title: "This link is used up", message })

const waiting = ({ retryAfterSeconds }: { readonly retryAfterSeconds: number }) => ({
  status: 429,
  headers: { "retry-after": String(retryAfterSeconds) }
})

/** Sign-in, sign-out, and the page of the one-time link that sets a password. */
export const signIn = ({ trustedProxies }: { readonly trustedProxies: number }): Surface<SignIns | Visits> =>
  surfaceOf(
    routes,
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const signIns = yield* SignIns
      const { baseUrl, withForm, withOpenForm } = yield* makeVisits

      /** Starts a session, and ends the session that the browser had before. */
      const start = (
        user: Pick<Visitor, "accountId"> & { readonly id: Visitor["userId"] },
        to: string,
        request: Request,
        kept?: Parameters
      ) =>
        Effect.gen(function* () {
          const before = yield* visitorOf(sessions, baseUrl, request)
          if (Option.isSome(before)) yield* sessions.end(before.value.accountId, before.value.sessionHash)
          const token = yield* sessions.start(user)
          const answer =
            kept === undefined ? seeOther(to) : html(<KeptFormPage csrf={csrfOf(Redacted.value(token))} kept={kept} />)
          const signedIn = keepSession(answer, baseUrl, token)
          return keepDevice(signedIn, baseUrl, yield* signIns.rememberDevice(user, deviceOf(baseUrl, request)))
        })

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
            return html(<SignInPage returnTo={returnTo} isUnsent={query.get(fieldNames.unsent) === "form"} />)
          }),
        signIn: withOpenForm((form, request) =>
          Effect.gen(function* () {
            const email = form.get("email") ?? ""
            const returnTo = localPath(form.get(fieldNames.returnTo), baseUrl)
            const found = yield* Effect.either(
              signIns.signIn(email, form.get("password") ?? "", {
                address: addressOf(request, trustedProxies),
                device: deviceOf(baseUrl, request)
              })
            )
            const kept = form.get(fieldNames.kept)
            if (Either.isRight(found)) {
              const fields = kept === undefined ? undefined : parametersOf(kept)
              return yield* start(found.right, returnTo ?? paths.home, request, fields)
            }
            const refused = found.left
            const again = <SignInPage email={email} returnTo={returnTo} refusal={refused.message} kept={kept} />
            return refused._tag === "SignInRefused" ? html(again, { status: 403 }) : html(again, waiting(refused))
          })
        ),
        signOut: (request) =>
          Effect.flatMap(visitorOf(sessions, baseUrl, request), (visitor) =>
            Option.isNone(visitor) ? Effect.succeed(dropSession(seeOther(paths.signIn), baseUrl)) : endSession(request)
          ),
        showSetPassword: page((request) => {
          const token = queryOf(request).get("token") ?? ""
          return Effect.mapBoth(signIns.findLink(token), {
            onFailure: usedUp,
            onSuccess: (email) => html(<SetPasswordPage email={email} token={token} />)
          })
        }),
        setPassword: withOpenForm((form, request) =>
          Effect.gen(function* () {
            const token = form.get("token") ?? ""
            const set = yield* Effect.either(signIns.setPassword(token, form.get("password") ?? ""))
            if (Either.isRight(set)) return yield* start(set.right, paths.home, request)
            if (set.left instanceof LinkUsedUp) return yield* usedUp(set.left)
            const email = yield* Effect.mapError(signIns.findLink(token), usedUp)
            const again = (refusal: string) => <SetPasswordPage email={email} token={token} refusal={refusal} />
            return set.left._tag === "SignInBusy"
              ? html(again(set.left.message), waiting(set.left))
              : html(again(`The password ${set.left.issues[0]?.message}.`), { status: 400 })
          })
        )
      }
    })
  )
