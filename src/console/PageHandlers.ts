import type { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Option, ParseResult, Schema } from "effect"
import { Sessions } from "../access/Sessions.ts"
import type { ApiError } from "../api/ErrorCodes.ts"
import { type Parameters, parametersOf } from "../connections/AuthorizationRequest.ts"
import { AccountEvents } from "../events/AccountEvents.ts"
import { BaseUrl } from "../http/BaseUrl.ts"
import { chargeTo } from "../http/BodiesInFlight.ts"
import { splitTarget } from "../http/RequestHead.ts"
import { CurrentNeed, type Handler } from "../http/Surface.ts"
import { Imports } from "../imports/Imports.ts"
import { CurrentActor } from "../model/Actor.ts"
import { NotFound } from "../model/Errors.ts"
import { nilUuid } from "../model/Ids.ts"
import { includesRole, type Role, roleWords } from "../model/Role.ts"
import {
  formOf,
  isLiveUpdate,
  keepNote,
  keptFormOf,
  ownFormOf,
  ownUploadOf,
  PageRefused,
  pageLanguageOf,
  sentFrom,
  typedIn,
  type Upload,
  unseenNoteOf,
  type Visitor,
  visitorOf
} from "./Browser.ts"
import { fieldNames, noteNames } from "./Fields.ts"
import { html, seeOther } from "./Html.ts"
import { wordsIn } from "./languages/Words.tsx"
import { paths } from "./Paths.ts"
import { refusedPage } from "./Refusals.tsx"
import { signInPage } from "./signin/SignInPages.tsx"
import { anonymousViewer } from "./Viewer.tsx"

type Request = HttpServerRequest.HttpServerRequest
export type Page<R = never> = Effect.Effect<HttpServerResponse.HttpServerResponse, ApiError | PageRefused, R>

export const queryOf = (request: Request): Parameters => parametersOf(splitTarget(request.originalUrl).query)

/** The flash message that a query parameter names. Undefined: it names none of these. */
export const noteOf = (notes: Readonly<Record<string, string>>, name: string | undefined): string | undefined =>
  name !== undefined && Object.hasOwn(notes, name) ? notes[name] : undefined

/** A number from a query or a form; 0 if it is missing or malformed. */
export const numberOf = (text: string | undefined): number =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0

/** The error page for somebody whose role is too low. */
export const roleRefusal = (visitor: Visitor, needed: Role) => {
  const t = wordsIn(visitor.pageLanguage)
  return {
    status: 403,
    title: "Your role does not allow this",
    message:
      "This needs the role {needed}. Yours is {own}. An administrator of the account can change it on the page Team.",
    values: { needed: t.say(roleWords[needed].name), own: t.say(roleWords[visitor.role].name) }
  } as const
}

/** Refuses a page or form that needs a higher role. What was typed into a form is shown again. */
const refuseRole = (visitor: Visitor, needed: Role, request: Request, baseUrl: string): Page => {
  const refusal = roleRefusal(visitor, needed)
  if (request.method !== "POST") return new PageRefused(refusal)
  const next = { path: sentFrom(request, baseUrl), name: "Back to the page" }
  return Effect.flatMap(
    Effect.option(ownFormOf(request, baseUrl, visitor)),
    (form) => new PageRefused({ ...refusal, next, ...(Option.isSome(form) && { typed: typedIn(form.value) }) })
  )
}

/** The page that sets up a second factor. A page to show afterwards is in its address. */
export const enrolmentFor = (returnTo: string | undefined) =>
  returnTo === undefined
    ? paths.secondFactor
    : `${paths.secondFactor}?${new URLSearchParams({ [fieldNames.returnTo]: returnTo })}`

/** The pages of a visitor who must set up a second factor first. */
const enrolmentPaths: ReadonlyArray<string> = [paths.secondFactor, paths.confirmSecondFactor, paths.theme]

const mustEnrolFirst = ({ lacksFactor }: Visitor, request: Request) =>
  lacksFactor && !enrolmentPaths.includes(splitTarget(request.originalUrl).path)

/** Leads to the page that sets up a second factor. What was typed into a form is shown again. */
const leadToEnrolment = (visitor: Visitor, request: Request, baseUrl: string): Page =>
  request.method === "POST"
    ? Effect.flatMap(Effect.option(ownFormOf(request, baseUrl, visitor)), (form) =>
        enrolFirst(Option.getOrUndefined(form))
      )
    : Effect.succeed(seeOther(enrolmentFor(request.originalUrl)))

/** The error page for a form of somebody who must set up a second factor first. */
export const enrolFirst = (form?: Parameters) =>
  new PageRefused({
    status: 403,
    title: "Set up a second factor first",
    message: "Your account requires a second factor of all its users. Nothing was saved.",
    next: { path: paths.secondFactor, name: "Set up an authenticator app" },
    ...(form !== undefined && { typed: typedIn(form) })
  })

/** Runs the effect with the visitor as actor. */
const actingAs = ({ accountId, userId }: Visitor) =>
  Effect.provideService(CurrentActor, { _tag: "User", accountId, userId })

/** An id from a form or a query. NotFound: it is malformed, or the nil UUID, which a form could otherwise give to a new entity. */
export const idOf = <A>(id: Schema.Schema<A, string>, form: Parameters, name = "id"): Effect.Effect<A, NotFound> => {
  const text = form.get(name) ?? ""
  return text === nilUuid ? new NotFound() : Effect.mapError(Schema.decode(id)(text), () => new NotFound())
}

/** The ids of a form's fields whose names begin with the prefix, for example of its checkboxes. A malformed id is NotFound. */
export const idsOf = <A>(
  id: Schema.Schema<A, string>,
  form: Parameters,
  prefix: string
): Effect.Effect<ReadonlyArray<A>, NotFound> =>
  Effect.mapError(
    Effect.forEach(
      form.names.filter((name) => name.startsWith(prefix)),
      (name) => Schema.decode(id)(name.slice(prefix.length))
    ),
    () => new NotFound()
  )

/** The id at the end of a path. A malformed id is NotFound. */
export const idInPath = <A>(id: Schema.Schema<A, string>, request: Request): Effect.Effect<A, NotFound> =>
  Effect.mapError(
    Schema.decode(id)(splitTarget(request.originalUrl).path.split("/").at(-1)?.toLowerCase() ?? ""),
    () => new NotFound()
  )

/** Decodes these parameters by the schemas of the API. An empty parameter counts as missing. */
export const decoded = <A, I>(
  schema: Schema.Schema<A, I>,
  names: ReadonlyArray<string>,
  parameters: Parameters
): Effect.Effect<A, PageRefused> => {
  const present = names.flatMap((name) => {
    const value = parameters.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return Effect.mapError(Schema.decodeUnknown(schema)(Object.fromEntries(present)), (error) => {
    // Only the first problem of each field: the others concern alternatives of a union that the visitor did not use.
    const problems = new Map<string, string>()
    for (const { message, path } of ParseResult.ArrayFormatter.formatErrorSync(error)) {
      const field = path.join(".")
      if (!problems.has(field)) problems.set(field, `${field} ${message}`)
    }
    return new PageRefused({
      status: 400,
      title: "Not understood",
      message: `${[...problems.values()].join("; ")}.`
    })
  })
}

/**
 * Redirects to the sign-in page, which shows the requested page afterwards. A form cannot be sent again automatically: the sign-in
 * page says that it was not saved, and then shows the page of the form.
 */
const toSignIn = (request: Request, baseUrl: string) => {
  const { method, originalUrl } = request
  const isForm = method !== "GET" && method !== "HEAD"
  const query = isForm
    ? { [fieldNames.returnTo]: sentFrom(request, baseUrl), [fieldNames.unsent]: "form" }
    : { [fieldNames.returnTo]: originalUrl }
  return seeOther(`${paths.signIn}?${new URLSearchParams(query)}`)
}

/** A URL without the parameters of a flash message. Undefined: it has no such parameters. */
const withoutNote = (address: string): string | undefined => {
  const { path, query } = splitTarget(address)
  const parameters = new URLSearchParams(query)
  if (!noteNames.some((name) => parameters.has(name))) return undefined
  for (const name of noteNames) parameters.delete(name)
  return parameters.size === 0 ? path : `${path}?${parameters}`
}

/** Lets the page to which a form redirects show its flash message. */
const leavingNote = (response: HttpServerResponse.HttpServerResponse, baseUrl: string) => {
  const [address = ""] = (response.headers.location ?? "").split("#")
  return withoutNote(address) === undefined ? response : keepNote(response, baseUrl, address)
}

/**
 * Shows the flash message of a URL once. Later it may be outdated, so the URL then redirects to the URL without the message. A live
 * update of the page keeps the message, because the page is still open.
 */
const showingNoteOnce = <R>(request: Request, baseUrl: string, answer: Page<R>): Page<R> => {
  const plain = withoutNote(request.originalUrl)
  if (plain === undefined || isLiveUpdate(request)) return answer
  return unseenNoteOf(baseUrl, request) === request.originalUrl
    ? Effect.map(answer, (response) => keepNote(response, baseUrl, undefined))
    : Effect.succeed(seeOther(plain))
}

/** Makes a handler that answers PageRefused with an error page. */
export const page =
  (answer: (request: Request) => Page): Handler =>
  (request) =>
    Effect.catchAll(answer(request), (error) =>
      error instanceof PageRefused ? Effect.succeed(refusedPage(error, request)) : Effect.fail(error)
    )

/** The services of every page: they find its visitor, and the import that locks the account. */
export type PageServices = AccountEvents | BaseUrl | Imports | Sessions

/**
 * Makes handlers for pages and forms. They find the signed-in visitor and check the role that the route needs. Services run with the
 * visitor as actor.
 */
export const makePageHandlers = Effect.gen(function* () {
  const baseUrl = yield* BaseUrl
  const events = yield* AccountEvents
  const imports = yield* Imports
  const sessions = yield* Sessions

  const asVisitor = (answer: (visitor: Visitor, request: Request) => Page<CurrentActor>): Handler =>
    page((request) =>
      Effect.flatMap(
        visitorOf(sessions, baseUrl, request),
        Option.match({
          onNone: () => Effect.succeed(toSignIn(request, baseUrl)),
          onSome: (visitor) => {
            chargeTo(toIncomingMessage(request), visitor.userId)
            const answered = Effect.flatMap(CurrentNeed, (needed) => {
              if (needed !== "open" && mustEnrolFirst(visitor, request))
                return leadToEnrolment(visitor, request, baseUrl)
              return needed === "open" || includesRole(visitor.role, needed)
                ? Effect.flatMap(imports.holder, (holder) =>
                    answer({ ...visitor, lock: Option.getOrUndefined(holder) }, request)
                  )
                : refuseRole(visitor, needed, request, baseUrl)
            }).pipe(actingAs(visitor))
            return request.method === "GET"
              ? showingNoteOnce(request, baseUrl, answered)
              : Effect.map(answered, (response) => leavingNote(response, baseUrl))
          }
        })
      )
    )

  const withForm = (answer: (visitor: Visitor, form: Parameters, request: Request) => Page<CurrentActor>): Handler =>
    asVisitor((visitor, request) =>
      Effect.flatMap(ownFormOf(request, baseUrl, visitor), (form) => answer(visitor, form, request))
    )

  /** As `asVisitor`, for a page with `Live` parts: the browser updates them when work of the account changes. */
  const asWatcher = (answer: (visitor: Visitor, request: Request) => Page<CurrentActor>): Handler =>
    asVisitor((visitor, request) =>
      // Read before the page, so that a change while it is rendered is noticed.
      Effect.flatMap(events.stateOf(visitor.accountId), (workState) => answer({ ...visitor, workState }, request))
    )

  return {
    baseUrl,
    asWatcher,
    /** A page for signed-in visitors. Other visitors sign in first and are then sent back to the page. */
    asVisitor,
    /** A form for signed-in visitors. It must contain the CSRF token of the visitor's session. */
    withForm,
    /** As `withForm`. If the session has expired, sign-in keeps the form and offers it afterwards. Only for the form of a cell. */
    withKeptForm: (answer: (visitor: Visitor, form: Parameters, request: Request) => Page<CurrentActor>): Handler => {
      const signedIn = withForm(answer)
      return page((request) =>
        Effect.flatMap(
          visitorOf(sessions, baseUrl, request),
          (visitor): Page =>
            Option.isSome(visitor)
              ? signedIn(request)
              : Effect.map(keptFormOf(request, baseUrl), (keptForm) =>
                  keptForm === undefined
                    ? toSignIn(request, baseUrl)
                    : html(
                        anonymousViewer(pageLanguageOf(request)),
                        signInPage({ kept: keptForm, returnTo: sentFrom(request, baseUrl) }),
                        { status: 403 }
                      )
                )
        )
      )
    },
    /** As `withForm`, for a form with a file. */
    withUpload: (answer: (visitor: Visitor, upload: Upload) => Page<CurrentActor>): Handler =>
      asVisitor((visitor, request) =>
        Effect.flatMap(ownUploadOf(request, baseUrl, visitor), (upload) => answer(visitor, upload))
      ),
    /** A form that needs no sign-in. */
    withOpenForm: (answer: (form: Parameters, request: Request) => Page): Handler =>
      page((request) => Effect.flatMap(formOf(request, baseUrl), (form) => answer(form, request)))
  }
})
