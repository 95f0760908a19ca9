import { hash, timingSafeEqual } from "node:crypto"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Data, Duration, Effect, Option, Redacted } from "effect"
import { type Parameters, parametersOf } from "../domain/AuthorizationRequest.ts"
import type { SignedIn } from "../domain/User.ts"
import { ownOrigins } from "../http/BaseUrl.ts"
import { readForm } from "../http/Body.ts"
import { type Sessions, sessionLife } from "../services/Sessions.ts"
import { fieldNames } from "./Fields.ts"

/** A page that a link leads to. */
export interface NextPage {
  readonly path: string
  readonly name: string
}

/** A request that a page does not answer with what was asked. `message`: for the person in front of it. */
export class PageRefused extends Data.TaggedError("PageRefused")<{
  readonly status: 400 | 403 | 404 | 429
  readonly title: string
  readonly message: string
  /** Where it goes on; the start page if nothing is said. */
  readonly next?: NextPage
}> {}

/** Who is signed in, and the proof that forms of their pages carry. */
export interface Visitor extends SignedIn {
  readonly csrf: string
}

const isSecure = (baseUrl: string) => baseUrl.startsWith("https:")

/** A name that a browser takes over https only from this host itself. */
const cookieName = (baseUrl: string) => (isSecure(baseUrl) ? "__Host-catalog_session" : "catalog_session")

/** As unknown to anybody else as the cookie it is made of, and not the one that is kept of it. */
const csrfOf = (token: string) => hash("sha256", `form ${token}`, "base64url")

type Request = HttpServerRequest.HttpServerRequest

/** Who is signed in in the browser that asks. */
export const visitorOf = (
  sessions: Sessions["Type"],
  baseUrl: string,
  request: Request
): Effect.Effect<Option.Option<Visitor>> => {
  const token = request.cookies[cookieName(baseUrl)]
  return token === undefined
    ? Effect.succeedNone
    : Effect.map(
        sessions.find(token),
        Option.map((signedIn): Visitor => ({ ...signedIn, csrf: csrfOf(token) }))
      )
}

const cookieOptions = (baseUrl: string) => ({
  httpOnly: true,
  sameSite: "lax" as const,
  path: "/",
  secure: isSecure(baseUrl)
})

/** Lets the browser keep its session; what it had before is no longer known. */
export const keepSession = (
  response: HttpServerResponse.HttpServerResponse,
  baseUrl: string,
  token: Redacted.Redacted
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeSetCookie(response, cookieName(baseUrl), Redacted.value(token), {
    ...cookieOptions(baseUrl),
    maxAge: Duration.seconds(sessionLife.wholeSeconds)
  })

export const dropSession = (
  response: HttpServerResponse.HttpServerResponse,
  baseUrl: string
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeSetCookie(response, cookieName(baseUrl), "", {
    ...cookieOptions(baseUrl),
    maxAge: Duration.zero
  })

const foreign = new PageRefused({
  status: 403,
  title: "Not accepted",
  message: "This form did not come from a page of this service. Open the page again and repeat it there."
})

/** Largest form of anybody, in bytes: a request to authorize travels in one. */
const openFormBytes = 65_536
/** Largest form of who is signed in: a long text is a value, and percent-encoded a letter of some scripts is nine bytes. */
const ownFormBytes = 1_048_576

/** The fields of a form, if it may be from a page of this service: browsers say where a form comes from. */
export const formOf = (request: Request, baseUrl: string, limitBytes = openFormBytes) =>
  Effect.gen(function* () {
    const { origin } = request.headers
    const site = request.headers["sec-fetch-site"]
    if (origin !== undefined && !ownOrigins(baseUrl).has(origin)) return yield* foreign
    if (site !== undefined && site !== "same-origin" && site !== "none") return yield* foreign
    const form = parametersOf(yield* readForm(request, limitBytes))
    const bad = form.repeated.length > 0 || form.unkeepable
    return bad
      ? yield* new PageRefused({
          status: 400,
          title: "Not understood",
          message: "A field of the form is not readable."
        })
      : form
  })

/** The fields of a form from a page that this visitor was shown. */
export const ownFormOf = (request: Request, baseUrl: string, { csrf }: Visitor) =>
  Effect.filterOrFail(
    formOf(request, baseUrl, ownFormBytes),
    (form: Parameters) => {
      const given = Buffer.from(form.get(fieldNames.csrf) ?? "")
      const expected = Buffer.from(csrf)
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
    () => foreign
  )

/** A path of this service to go on at, as a browser will read it; anything else: undefined. */
export const localPath = (target: string | undefined, baseUrl: string): string | undefined => {
  if (target === undefined || !/^\/(?![/\\])[!-[\]-~]*$/.test(target)) return undefined
  const { origin } = new URL(baseUrl)
  return URL.canParse(target, origin) && new URL(target, origin).origin === origin ? target : undefined
}
