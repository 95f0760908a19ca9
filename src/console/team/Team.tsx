import type { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Clock, Effect, Either, Redacted, Schema } from "effect"
import { Mailer } from "../../access/Mailer.ts"
import { type User, userState } from "../../access/User.ts"
import { type FormLink, type LinkFormKey, linkDays, Users } from "../../access/Users.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { NotFound, ValidationFailed } from "../../model/Errors.ts"
import { UserId } from "../../model/Ids.ts"
import { Role, roleWords } from "../../model/Role.ts"
import { sessionTokenIn, type Visitor } from "../Browser.ts"
import { ConfirmPage } from "../ConfirmPage.tsx"
import { html, seeOther } from "../Html.ts"
import { type Sentence, type Words, wordsIn } from "../languages/Words.tsx"
import { linkMail, makeMailTeamLink } from "../Mails.ts"
import { idOf, makePageHandlers, noteOf, numberOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { paths, setPasswordLink } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { newInvite, type TeamContent, TeamPage } from "./TeamPage.tsx"

const routes = {
  show: ["GET", paths.team, refuseOnPage, "admin"],
  invite: ["POST", paths.team, refuseOnPage, "admin", "batch"],
  role: ["POST", paths.teamRole, refuseOnPage, "admin"],
  link: ["POST", paths.teamLink, refuseOnPage, "admin", "batch"],
  askCancel: ["GET", paths.cancelInvitation, refuseOnPage, "admin"],
  cancel: ["POST", paths.cancelInvitation, refuseOnPage, "admin"],
  askDisable: ["GET", paths.disableUser, refuseOnPage, "admin"],
  disable: ["POST", paths.disableUser, refuseOnPage, "admin"],
  enable: ["POST", paths.enableUser, refuseOnPage, "admin"],
  askReset: ["GET", paths.resetSecondFactor, refuseOnPage, "admin"],
  reset: ["POST", paths.resetSecondFactor, refuseOnPage, "admin"],
  askRequire: ["GET", paths.requireSecondFactor, refuseOnPage, "admin"],
  require: ["POST", paths.requireSecondFactor, refuseOnPage, "admin"],
  askRelease: ["GET", paths.releaseSecondFactor, refuseOnPage, "admin"],
  release: ["POST", paths.releaseSecondFactor, refuseOnPage, "admin"]
} as const

const notes: Readonly<Record<string, string>> = {
  role: "The role is changed. It applies from the next click on.",
  cancelled: "The invitation is cancelled. Its link is refused.",
  disabled: "The user is signed out and cannot sign in any more. The user's agents are disconnected.",
  enabled: "The user can sign in again, with the same password and role.",
  reset: "The second factor is off. The user signs in with the password alone, and can set up a new one.",
  required: "A second factor is required. Users without one are signed out and set it up when they sign in again.",
  released: "A second factor is no longer required. Users who have one keep it."
}

/** The number of changes of the team on a page. */
const changesPerPage = 50

const isRole = Schema.is(Role)

/** The role of an invitation: by default the one that may do least. */
const invitedRoleOf = (form: Parameters): Role => {
  const role = form.get("role")
  return isRole(role) ? role : "view"
}

const unknownRole = ValidationFailed.at(
  "role",
  `keeps the role: choose one of ${Role.literals.map((role) => roleWords[role].name).join(", ")}`
)

// An open session alone must not change how its administrator signs in: the profile asks for the password.
const ownSecondFactor = ValidationFailed.at(
  "",
  "is your own address: switch your second factor off on your profile, with your password"
)
const ownPassword = ValidationFailed.at(
  "",
  "is your own address: change your password on your profile, with the current one"
)

const wordsOf = ({ issues: [issue] }: ValidationFailed, subject: string) =>
  `${subject} ${issue?.message ?? "is wrong"}.`

/** The texts of the page that asks for confirmation before a user is disabled. */
const disableWords = (t: Words, { email, role }: User) => ({
  title: t("Disable {user}?", { user: email }),
  question: t(
    "They are signed out (role {role}) and cannot sign in until you enable them again. The agents that they connected are disconnected for good.",
    { role: t.say(roleWords[role].name) }
  ),
  button: "Disable the user"
})

/** Shows the page *Team*. `before`: the id of the change after which its record continues. */
type Show = (
  visitor: Visitor,
  content: Partial<TeamContent>,
  status?: number,
  before?: number
) => Effect.Effect<HttpServerResponse.HttpServerResponse>

interface RequirementWords {
  readonly title: Sentence
  readonly question: Sentence
  readonly button: Sentence
}

const requireWords: RequirementWords = {
  title: "Require a second factor of all users?",
  question:
    "Users without one are signed out now, and lose what they have not saved. They set it up when they sign in again, before they can do anything else. Agents and API keys go on working.",
  button: "Require a second factor"
}

const releaseWords: RequirementWords = {
  title: "No longer require a second factor?",
  question: "Users can then switch theirs off, and new users can work without one. Users who have one keep it.",
  button: "No longer require it"
}

/** The forms that require a second factor of all users, or no longer, and the pages that ask before. */
const makeRequirementForms = (show: Show) =>
  Effect.gen(function* () {
    const users = yield* Users
    const { asVisitor, withForm } = yield* makePageHandlers

    const asking = (action: string, words: RequirementWords) =>
      asVisitor((visitor) =>
        Effect.succeed(html(visitor, <ConfirmPage visitor={visitor} section={paths.team} action={action} {...words} />))
      )

    const changing = (isRequired: boolean, note: keyof typeof notes) =>
      withForm((visitor) =>
        Effect.gen(function* () {
          const changed = yield* Effect.either(users.requireSecondFactor(visitor.accountId, isRequired))
          return Either.isRight(changed)
            ? seeOther(`${paths.team}?note=${note}`)
            : yield* show(visitor, { refusal: wordsOf(changed.left, "The second factor") }, 409)
        })
      )

    return {
      askRequire: asking(paths.requireSecondFactor, requireWords),
      require: changing(true, "required"),
      askRelease: asking(paths.releaseSecondFactor, releaseWords),
      release: changing(false, "released")
    }
  })

/** Finds the user that a form or a query names. NotFound: the account has no such user. */
const makeUserIn = (users: Users["Type"]) => (visitor: Visitor, parameters: Parameters) =>
  Effect.gen(function* () {
    const id = yield* idOf(UserId, parameters)
    const user = (yield* users.list(visitor.accountId)).find((each) => each.id === id)
    return user ?? (yield* new NotFound())
  })

/** Mails a new link, and shows it on the page. */
const makeShowLink = (show: Show) =>
  Effect.gen(function* () {
    const mailLink = yield* makeMailTeamLink
    const { baseUrl } = yield* makePageHandlers
    const { isSet: canMail } = yield* Mailer

    return (visitor: Visitor, made: FormLink, days: number, isInvitation: boolean) =>
      Effect.gen(function* () {
        const url = setPasswordLink(baseUrl, Redacted.value(made.token))
        const mail =
          made.isRepeated && canMail
            ? ({ state: "repeated" } as const)
            : yield* mailLink(made, visitor, baseUrl, linkMail(visitor, isInvitation))
        return yield* show(visitor, { link: { email: made.email, days, url, mail } })
      })
  })

/** By what a form that makes a link is recognised when it is sent twice. */
const makeKeyOf =
  (baseUrl: string) =>
  (form: Parameters, request: HttpServerRequest.HttpServerRequest): LinkFormKey | undefined => {
    const [id, session] = [form.get("form"), sessionTokenIn(request, baseUrl)]
    return id === undefined || session === undefined ? undefined : { id, session }
  }

/** The users of an account: the list, invitations, roles, and forms that disable users. Only administrators see it. */
export const team: Surface<Mailer | Users | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const users = yield* Users
    const { asVisitor, baseUrl, withForm } = yield* makePageHandlers

    const show: Show = (visitor, content, status = 200, before) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const list = yield* users.list(visitor.accountId)
        // Reads one more than a page, to know whether more follow.
        const read = yield* users.log(visitor.accountId, changesPerPage + 1, before)
        const log = { changes: read.slice(0, changesPerPage), hasOlder: read.length > changesPerPage, before }
        const lastEvents = yield* users.lastEvents(visitor.accountId)
        const isFactorRequired = yield* users.requiresSecondFactor(visitor.accountId)
        const props = { visitor, users: list, lastEvents, isFactorRequired, now, log, form: newInvite(), ...content }
        return html(visitor, <TeamPage {...props} />, { status })
      })

    const userIn = makeUserIn(users)

    const showLink = yield* makeShowLink(show)
    const keyOf = makeKeyOf(baseUrl)

    /** Handles a form that changes one user. A refusal is shown on the page. */
    const changing = (
      note: string,
      change: (visitor: Visitor, user: User, form: Parameters) => Effect.Effect<void, NotFound | ValidationFailed>
    ) =>
      withForm((visitor, form) =>
        Effect.gen(function* () {
          const user = yield* userIn(visitor, form)
          const changed = yield* Effect.either(change(visitor, user, form))
          if (Either.isRight(changed)) {
            const isStillAdministrator = note !== "role" || user.id !== visitor.userId || form.get("role") === "admin"
            return seeOther(isStillAdministrator ? `${paths.team}?note=${note}` : paths.home)
          }
          if (changed.left._tag === "NotFound") return yield* changed.left
          return yield* show(visitor, { refusal: wordsOf(changed.left, user.email) }, 409)
        })
      )

    /** A page that asks for confirmation before a user is changed. */
    const asking = (
      action: string,
      words: (t: Words, user: User) => { title: string; question: string; button: string }
    ) =>
      asVisitor((visitor, request) =>
        Effect.map(userIn(visitor, queryOf(request)), (user) =>
          html(
            visitor,
            <ConfirmPage
              visitor={visitor}
              section={paths.team}
              action={action}
              id={user.id}
              {...words(wordsIn(visitor.pageLanguage), user)}
            />
          )
        )
      )

    return {
      ...(yield* makeRequirementForms(show)),
      show: asVisitor((visitor, request) => {
        const query = queryOf(request)
        const before = numberOf(query.get("before"))
        return show(visitor, { note: noteOf(notes, query.get("note")) }, 200, before === 0 ? undefined : before)
      }),
      invite: withForm((visitor, parameters, request) =>
        Effect.gen(function* () {
          const email = (parameters.get("email") ?? "").trim()
          const form = { ...newInvite(), email, role: invitedRoleOf(parameters) }
          const invited = yield* Effect.either(
            users.inviteNew(visitor.accountId, form.email, form.role, keyOf(parameters, request))
          )
          return yield* Either.match(invited, {
            onLeft: (error) =>
              show(visitor, { form, misfit: { field: "email", message: wordsOf(error, "The e-mail address") } }, 400),
            onRight: (made) => showLink(visitor, made, linkDays.invitation, true)
          })
        })
      ),
      role: changing("role", ({ accountId }, { email }, form) => {
        const role = form.get("role")
        return isRole(role) ? users.setRole(accountId, email, role) : unknownRole
      }),
      link: withForm((visitor, form, request) =>
        Effect.gen(function* () {
          const user = yield* userIn(visitor, form)
          const isInvitation = userState(user) === "invited"
          const days = isInvitation ? linkDays.invitation : linkDays.password
          const allowed = user.id === visitor.userId ? ownPassword : Effect.void
          const renewed = users.renewLink(visitor.accountId, user.email, days, keyOf(form, request))
          return yield* Effect.zipRight(allowed, renewed).pipe(
            Effect.flatMap((link) => showLink(visitor, link, days, isInvitation)),
            Effect.catchTag("ValidationFailed", (error) => show(visitor, { refusal: wordsOf(error, user.email) }, 409))
          )
        })
      ),
      askCancel: asking(paths.cancelInvitation, (t, { email }) => ({
        title: t("Cancel the invitation of {user}?", { user: email }),
        question: "The link that they have is refused from then on. You can invite them again.",
        button: "Cancel the invitation"
      })),
      cancel: changing("cancelled", ({ accountId }, { email }) => users.cancelInvitation(accountId, email)),
      askDisable: asking(paths.disableUser, disableWords),
      disable: changing("disabled", ({ accountId }, { email }) => users.disable(accountId, email)),
      enable: changing("enabled", ({ accountId }, { email }) => users.enable(accountId, email)),
      askReset: asking(paths.resetSecondFactor, (t, { email }) => ({
        title: t("Reset the second factor of {user}?", { user: email }),
        question:
          "Their authenticator app and recovery codes are refused from then on, and they sign in with the password alone. Make sure that the request really comes from them.",
        button: "Reset the second factor"
      })),
      reset: changing("reset", ({ accountId, userId }, { email, id }) =>
        id === userId ? ownSecondFactor : Effect.asVoid(users.resetSecondFactor(accountId, email))
      )
    }
  })
)
