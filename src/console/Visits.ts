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

/** The note that an address names; undefined: it names none of these. */
export const noteOf = (notes: Readonly<Record<string, string>>, name: string | undefined): string | undefined =>
  name !== undefined && Object.hasOwn(notes, name) ? notes[name] : undefined

/** A number from an address or a form; 0 if there is none. */
export const numberOf = (text: string | undefined): number =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0

/** Runs the effect as the visitor. */
const actingAs = ({ accountId, userId }: Visitor) =>
  Effect.provideService(CurrentActor, { _tag: "User", accountId, userId })

/** An id from a form or a query. A malformed id is NotFound. */
export const idOf = <A>(id: Schema.Schema<A, string>, form: Parameters, name = "id"): Effect.Effect<A, NotFound> =>
  Effect.mapError(Schema.decode(id)(form.get(name) ?? ""), () => new NotFound())

/** The id at the end of a path, as `idOf`. */
export const idInPath = <A>(id: Schema.Schema<A, string>, request: Request): Effect.Effect<A, NotFound> =>
  Effect.mapError(
    Schema.decode(id)(splitTarget(request.originalUrl).path.split("/").at(-1)?.toLowerCase() ?? ""),
    () => new NotFound()
  )

/** Decodes these parameters by the rules of the API. Empty parameters count as left out. */
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
    // The first problem of each field: the others are of alternatives that nobody chose.
    const problems = new Map<string, string>()
    for (const { message, path } of ParseResult.ArrayFormatter.formatErrorSync(error)) {
      const field = path.join(".")
      if (!problems.has(field)) problems.set(field, `${field} ${message}`)
    }
    return new PageRefused({ status: 400, title: "Not understood", message: `${[...problems.values()].join("; ")}.` })
  })
}

/** The page of this service that a form was sent from, by its referrer; without one, the start page. */
const sentFrom = ({ headers: { referer } }: Request, baseUrl: string) => {
  const page = referer !== undefined && URL.canParse(referer) ? new URL(referer) : undefined
  const isOwn = page !== undefined && ownOrigins(baseUrl).has(page.origin)
  return (isOwn ? localPath(`${page.pathname}${page.search}`, baseUrl) : undefined) ?? paths.home
}

/**
 * Redirects to the sign-in page, which continues with the requested page afterwards. A form is not repeated: the sign-in page
 * says that it was not saved, and continues with the page of the form.
 */
const toSignIn = (request: Request, baseUrl: string) => {
  const { method, originalUrl } = request
  const isForm = method !== "GET" && method !== "HEAD"
  const query = isForm
    ? { [fieldNames.returnTo]: sentFrom(request, baseUrl), [fieldNames.unsent]: "form" }
    : { [fieldNames.returnTo]: originalUrl }
  return seeOther(`${paths.signIn}?${new URLSearchParams(query)}`)
}

/** An address without its notes; undefined: it has none. */
const withoutNote = (address: string): string | undefined => {
  const { path, query } = splitTarget(address)
  const parameters = new URLSearchParams(query)
  if (!noteNames.some((name) => parameters.has(name))) return undefined
  for (const name of noteNames) parameters.delete(name)
  return parameters.size === 0 ? path : `${path}?${parameters}`
}

/** Lets the page that a form redirects to show its note. */
const leavingNote = (response: HttpServerResponse.HttpServerResponse, baseUrl: string) => {
  const [address = ""] = (response.headers.location ?? "").split("#")
  return withoutNote(address) === undefined ? response : keepNote(response, baseUrl, address)
}

/** Shows the note of an address once. Afterwards it could be outdated, so the address redirects to the one without it. */
const showingNoteOnce = <R>(request: Request, baseUrl: string, answer: Page<R>): Page<R> => {
  const plain = withoutNote(request.originalUrl)
  if (plain === undefined) return answer
  return unseenNoteOf(baseUrl, request) === request.originalUrl
    ? Effect.map(answer, (response) => keepNote(response, baseUrl, undefined))
    : Effect.succeed(seeOther(plain))
}

/** A handler whose PageRefused is answered with a page. */
export const page =
  (answer: (request: Request) => Page): Handler =>
  (request) =>
    Effect.catchAll(answer(request), (error) =>
      error instanceof PageRefused ? Effect.succeed(refusedPage(error)) : Effect.fail(error)
    )

/** Maximum number of uploads that are read at once: each is held in memory. */
const maxUploads = 2

/** Handlers of pages and forms that know the visitor; services act as the visitor. */
export const makeVisits = Effect.gen(function* () {
  const baseUrl = yield* BaseUrl
  const sessions = yield* Sessions
  const uploads = yield* Effect.makeSemaphore(maxUploads)

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
    /** A page for signed-in visitors. Others sign in first and come back. */
    asVisitor,
    /** A form of such a page. It must have the visitor's own CSRF token. */
    withForm: (answer: (visitor: Visitor, form: Parameters) => Page<CurrentActor>): Handler =>
      asVisitor((visitor, request) =>
        Effect.flatMap(ownFormOf(request, baseUrl, visitor), (form) => answer(visitor, form))
      ),
    /** As `withForm`, with a file. */
    withUpload: (answer: (visitor: Visitor, upload: Upload) => Page<CurrentActor>): Handler =>
      asVisitor((visitor, request) =>
        Effect.flatMap(ownUploadOf(request, baseUrl, visitor).pipe(uploads.withPermits(1)), (upload) =>
          answer(visitor, upload)
        )
      ),
    /** A form of a page that needs no sign-in. */
    withOpenForm: (answer: (form: Parameters, request: Request) => Page): Handler =>
      page((request) => Effect.flatMap(formOf(request, baseUrl), (form) => answer(form, request)))
  }
})
