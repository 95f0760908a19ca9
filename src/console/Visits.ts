import type { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Option, ParseResult, Schema } from "effect"
import { Sessions } from "../access/Sessions.ts"
import type { ApiError } from "../api/ErrorCodes.ts"
import { type Parameters, parametersOf } from "../connections/AuthorizationRequest.ts"
import { BaseUrl, ownOrigins } from "../http/BaseUrl.ts"
import { chargeTo } from "../http/BodiesInFlight.ts"
import { splitTarget } from "../http/RequestHead.ts"
import type { Handler } from "../http/Surface.ts"
import { CurrentActor } from "../model/Actor.ts"
import { NotFound } from "../model/Errors.ts"
import {
  formOf,
  keepNote,
  localPath,
  ownFormOf,
  ownUploadOf,
  PageRefused,
  type Upload,
  unseenNoteOf,
  type Visitor,
  visitorOf
} from "./Browser.ts"
import { fieldNames, noteNames } from "./Fields.ts"
import { seeOther } from "./Html.ts"
import { paths } from "./Paths.ts"
import { refusedPage } from "./Refusals.tsx"

type Request = HttpServerRequest.HttpServerRequest
type Page<R = never> = Effect.Effect<HttpServerResponse.HttpServerResponse, ApiError | PageRefused, R>

export const queryOf = (request: Request): Parameters => parametersOf(splitTarget(request.originalUrl).query)

/** Does what a page is asked for as the user in front of it. */
const actingAs = ({ accountId, userId }: Visitor) =>
  Effect.provideService(CurrentActor, { _tag: "User", accountId, userId })

/** The id that a form or a query names; what is no id is that of no record. */
export const idOf = <A>(id: Schema.Schema<A, string>, form: Parameters, name = "id"): Effect.Effect<A, NotFound> =>
  Effect.mapError(Schema.decode(id)(form.get(name) ?? ""), () => new NotFound())

/** The id at the end of a page's path, as `idOf`. */
export const idInPath = <A>(id: Schema.Schema<A, string>, request: Request): Effect.Effect<A, NotFound> =>
  Effect.mapError(
    Schema.decode(id)(splitTarget(request.originalUrl).path.split("/").at(-1)?.toLowerCase() ?? ""),
    () => new NotFound()
  )

/** Parameters of these names, by the rules of the API; those that are empty were left out. */
export const decoded = <A, I>(
  schema: Schema.Schema<A, I>,
  names: ReadonlyArray<string>,
  given: Parameters
): Effect.Effect<A, PageRefused> => {
  const present = names.flatMap((name) => {
    const value = given.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return Effect.mapError(Schema.decodeUnknown(schema)(Object.fromEntries(present)), (error) => {
    const said = ParseResult.ArrayFormatter.formatErrorSync(error).map(
      ({ message, path }) => `${path.join(".")} ${message}`
    )
    return new PageRefused({ status: 400, title: "Not understood", message: `${said.join("; ")}.` })
  })
}

/** The page of this service that a form was sent from, as browsers say; the start page where they say nothing. */
const sentFrom = ({ headers: { referer } }: Request, baseUrl: string) => {
  const page = referer !== undefined && URL.canParse(referer) ? new URL(referer) : undefined
  const isOwn = page !== undefined && ownOrigins(baseUrl).has(page.origin)
  return (isOwn ? localPath(`${page.pathname}${page.search}`, baseUrl) : undefined) ?? paths.home
}

/**
 * Where somebody signs in who is not, and goes on with what they asked for. A form is not repeated: it is said that nothing
 * came of it, and its page is opened again.
 */
const toSignIn = (request: Request, baseUrl: string) => {
  const { method, originalUrl } = request
  const isForm = method !== "GET" && method !== "HEAD"
  const query = isForm
    ? { [fieldNames.returnTo]: sentFrom(request, baseUrl), [fieldNames.unsent]: "form" }
    : { [fieldNames.returnTo]: originalUrl }
  return seeOther(`${paths.signIn}?${new URLSearchParams(query)}`)
}

/** An address without what came of a form before; undefined: it says nothing of that. */
const withoutNote = (address: string): string | undefined => {
  const { path, query } = splitTarget(address)
  const parameters = new URLSearchParams(query)
  if (!noteNames.some((name) => parameters.has(name))) return undefined
  for (const name of noteNames) parameters.delete(name)
  return parameters.size === 0 ? path : `${path}?${parameters}`
}

/** After a form, the page that it leads to may say what came of it. */
const leavingNote = (response: HttpServerResponse.HttpServerResponse, baseUrl: string) => {
  const [address = ""] = (response.headers.location ?? "").split("#")
  return withoutNote(address) === undefined ? response : keepNote(response, baseUrl, address)
}

/** A page says once what came of a form: opened again, it may be over, so its address is left for the one without. */
const showingNoteOnce = <R>(request: Request, baseUrl: string, answer: Page<R>): Page<R> => {
  const plain = withoutNote(request.originalUrl)
  if (plain === undefined) return answer
  return unseenNoteOf(baseUrl, request) === request.originalUrl
    ? Effect.map(answer, (response) => keepNote(response, baseUrl, undefined))
    : Effect.succeed(seeOther(plain))
}

/** A page whose own refusals are pages too. */
export const page =
  (answer: (request: Request) => Page): Handler =>
  (request) =>
    Effect.catchAll(answer(request), (error) =>
      error instanceof PageRefused ? Effect.succeed(refusedPage(error)) : Effect.fail(error)
    )

/** Forms with a file that are read at once: each is held in memory. */
const uploadsAtOnce = 2

/** How pages learn who asks, and for whom services act. */
export const makeVisits = Effect.gen(function* () {
  const baseUrl = yield* BaseUrl
  const sessions = yield* Sessions
  const uploads = yield* Effect.makeSemaphore(uploadsAtOnce)

  const asVisitor = (answer: (visitor: Visitor, request: Request) => Page<CurrentActor>): Handler =>
    page((request) =>
      Effect.flatMap(
        visitorOf(sessions, baseUrl, request),
        Option.match({
          onNone: () => Effect.succeed(toSignIn(request, baseUrl)),
          onSome: (visitor) => {
            chargeTo(toIncomingMessage(request), visitor.userId)
            const answered = actingAs(visitor)(answer(visitor, request))
            return request.method === "GET"
              ? showingNoteOnce(request, baseUrl, answered)
              : Effect.map(answered, (response) => leavingNote(response, baseUrl))
          }
        })
      )
    )

  return {
    baseUrl,
    /** A page for who is signed in; whoever is not is asked to, and comes back. */
    asVisitor,
    /** A form of such a page: it must be the visitor's own. */
    withForm: (answer: (visitor: Visitor, form: Parameters) => Page<CurrentActor>): Handler =>
      asVisitor((visitor, request) =>
        Effect.flatMap(ownFormOf(request, baseUrl, visitor), (form) => answer(visitor, form))
      ),
    /** The same of a form with a file. */
    withUpload: (answer: (visitor: Visitor, upload: Upload) => Page<CurrentActor>): Handler =>
      asVisitor((visitor, request) =>
        Effect.flatMap(ownUploadOf(request, baseUrl, visitor).pipe(uploads.withPermits(1)), (upload) =>
          answer(visitor, upload)
        )
      ),
    /** A form of a page that asks nobody to sign in. */
    withOpenForm: (answer: (form: Parameters, request: Request) => Page): Handler =>
      page((request) => Effect.flatMap(formOf(request, baseUrl), (form) => answer(form, request)))
  }
})
