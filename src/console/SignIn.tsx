import { Effect, Either } from "effect"
import type { BaseUrl } from "../http/BaseUrl.ts"
import { type Surface, surfaceOf } from "../http/Surface.ts"
import { Sessions } from "../services/Sessions.ts"
import { LinkUsedUp, Users } from "../services/Users.ts"
import { dropSession, keepSession, localPath, PageRefused, type Visitor } from "./Browser.ts"
import { fieldNames } from "./Fields.ts"
import { html, seeOther } from "./Html.ts"
import { paths } from "./Paths.ts"
import { refuseOnPage } from "./Refusals.tsx"
import { SetPasswordPage } from "./SetPasswordPage.tsx"
import { SignInPage } from "./SignInPage.tsx"
import { makeVisits, page, queryOf } from "./Visits.ts"

const routes = {
  showSignIn: ["GET", paths.signIn, refuseOnPage],
  signIn: ["POST", paths.signIn, refuseOnPage],
  signOut: ["POST", paths.signOut, refuseOnPage],
  showSetPassword: ["GET", paths.setPassword, refuseOnPage],
  setPassword: ["POST", paths.setPassword, refuseOnPage]
} as const

const usedUp = ({ message }: LinkUsedUp) => new PageRefused({ status: 400, title: "This link is used up", message })

/** Sign in, sign out, and the one-time link by which a password is set. */
export const signIn: Surface<BaseUrl | Sessions | Users> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const users = yield* Users
    const { baseUrl, withForm, withOpenForm } = yield* makeVisits

    const start = (user: Pick<Visitor, "accountId"> & { readonly id: Visitor["userId"] }, to: string) =>
      Effect.map(sessions.start(user), (token) => keepSession(seeOther(to), baseUrl, token))

    return {
      showSignIn: (request) =>
        Effect.succeed(html(<SignInPage returnTo={localPath(queryOf(request).get(fieldNames.returnTo), baseUrl)} />)),
      signIn: withOpenForm((form) =>
        Effect.gen(function* () {
          const email = form.get("email") ?? ""
          const returnTo = localPath(form.get(fieldNames.returnTo), baseUrl)
          const found = yield* Effect.either(users.signIn(email, form.get("password") ?? ""))
          if (Either.isRight(found)) return yield* start(found.right, returnTo ?? paths.home)
          const refused = found.left
          const again = <SignInPage email={email} returnTo={returnTo} refusal={refused.message} />
          return refused._tag === "SignInDelayed"
            ? html(again, { status: 429, headers: { "retry-after": String(refused.retryAfterSeconds) } })
            : html(again, { status: 403 })
        })
      ),
      signOut: withForm((visitor, form) =>
        Effect.as(
          sessions.end(visitor.accountId, visitor.sessionHash),
          dropSession(seeOther(localPath(form.get(fieldNames.returnTo), baseUrl) ?? paths.signIn), baseUrl)
        )
      ),
      showSetPassword: page((request) => {
        const token = queryOf(request).get("token") ?? ""
        return Effect.mapBoth(users.findLink(token), {
          onFailure: usedUp,
          onSuccess: (email) => html(<SetPasswordPage email={email} token={token} />)
        })
      }),
      setPassword: withOpenForm((form) =>
        Effect.gen(function* () {
          const token = form.get("token") ?? ""
          const set = yield* Effect.either(users.setPassword(token, form.get("password") ?? ""))
          if (Either.isRight(set)) return yield* start(set.right, paths.home)
          if (set.left instanceof LinkUsedUp) return yield* usedUp(set.left)
          const email = yield* Effect.mapError(users.findLink(token), usedUp)
          const refusal = `The password ${set.left.issues[0]?.message}.`
          return html(<SetPasswordPage email={email} token={token} refusal={refusal} />, { status: 400 })
        })
      )
    }
  })
)
