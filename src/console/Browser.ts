import { hash, timingSafeEqual } from "node:crypto"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Data, Duration, Effect, Option, Redacted } from "effect"
import { type Sessions, sessionLife } from "../access/Sessions.ts"
import { deviceSeconds } from "../access/SignIns.ts"
import type { SignedIn } from "../access/User.ts"
import { type Parameters, parametersOf } from "../connections/AuthorizationRequest.ts"
import { ownOrigins } from "../http/BaseUrl.ts"
import { readForm, readFormData } from "../http/Body.ts"
import type { SentFile } from "../imports/Imports.ts"
import { fileNameOf } from "../model/Name.ts"
import { fieldNames } from "./Fields.ts"
import { paths } from "./Paths.ts"

/** A page that a link leads to. */
export interface NextPage {
  readonly path: string
  readonly name: string
}

/** A request that a page does not answer with what was asked. `message`: for the person in front of it. */
export class PageRefused extends Data.TaggedError("PageRefused")<{
  readonly status: 400 | 403 | 404 | 413 | 429
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
const nameOn = (baseUrl: string, name: string) => (isSecure(baseUrl) ? `__Host-${name}` : name)
const cookieName = (baseUrl: string) => nameOn(baseUrl, "catalog_session")
const noteCookieName = (baseUrl: string) => nameOn(baseUrl, "catalog_note")
const deviceCookieName = (baseUrl: string) => nameOn(baseUrl, "catalog_device")

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

/** The address whose note this browser has not seen yet. */
export const unseenNoteOf = (baseUrl: string, request: Request): string | undefined =>
  request.cookies[noteCookieName(baseUrl)]

/** How long a browser has to follow a redirect to the page with its note. */
const noteSeconds = 60

/** Lets the browser show the note of this address once; undefined: it was shown. */
export const keepNote = (
  response: HttpServerResponse.HttpServerResponse,
  baseUrl: string,
  address: string | undefined
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeSetCookie(response, noteCookieName(baseUrl), address ?? "", {
    ...cookieOptions(baseUrl),
    maxAge: address === undefined ? Duration.zero : Duration.seconds(noteSeconds)
  })

/** The token by which a browser is known where somebody signed in before. */
export const deviceOf = (baseUrl: string, request: Request): string | undefined =>
  request.cookies[deviceCookieName(baseUrl)]

/** Lets the browser keep the token by which it is known at the next sign-in. */
export const keepDevice = (
  response: HttpServerResponse.HttpServerResponse,
  baseUrl: string,
  token: Redacted.Redacted
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeSetCookie(response, deviceCookieName(baseUrl), Redacted.value(token), {
    ...cookieOptions(baseUrl),
    maxAge: Duration.seconds(deviceSeconds)
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

/** Largest form with a file: Shopify's own pages take no larger exports. */
export const uploadMegabytes = 15
const uploadBytes = uploadMegabytes * 1_048_576

/** Refuses a form that cannot be from a page of this service: browsers say where a form comes from. */
const comeFromHere = ({ headers }: Request, baseUrl: string) => {
  const site = headers["sec-fetch-site"]
  const isForeign =
    (headers.origin !== undefined && !ownOrigins(baseUrl).has(headers.origin)) ||
    (site !== undefined && site !== "same-origin" && site !== "none")
  return isForeign ? Effect.fail(foreign) : Effect.void
}

/** The fields of a form, as `parametersOf` takes them. */
const fieldsOf = (text: string) => {
  const form = parametersOf(text)
  return form.repeated.length > 0 || form.unkeepable
    ? Effect.fail(
        new PageRefused({ status: 400, title: "Not understood", message: "A field of the form is not readable." })
      )
    : Effect.succeed(form)
}

/** The fields of a form, if it may be from a page of this service. */
export const formOf = (request: Request, baseUrl: string, limitBytes = openFormBytes) =>
  Effect.flatMap(Effect.zipRight(comeFromHere(request, baseUrl), readForm(request, limitBytes)), fieldsOf)

/** Whether a form is from a page that this visitor was shown. */
const isShownTo =
  ({ csrf }: Visitor) =>
  (form: Parameters) => {
    const given = Buffer.from(form.get(fieldNames.csrf) ?? "")
    const expected = Buffer.from(csrf)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }

/** The fields of a form from a page that this visitor was shown. */
export const ownFormOf = (request: Request, baseUrl: string, visitor: Visitor) =>
  Effect.filterOrFail(formOf(request, baseUrl, ownFormBytes), isShownTo(visitor), () => foreign)

/** A form with a file, which is empty where none was chosen. */
export interface Upload {
  readonly form: Parameters
  readonly file: SentFile
}

const tooLarge = new PageRefused({
  status: 413,
  title: "The file is too large",
  message: `This page takes files of up to ${uploadMegabytes} MB. Split the file, or ask whoever runs this service to import it.`,
  next: { path: paths.imports, name: "To the imports" }
})

const incomplete = new PageRefused({
  status: 400,
  title: "Not understood",
  message: "The file did not arrive whole: nothing was read of it. Send it again.",
  next: { path: paths.imports, name: "To the imports" }
})

/** A form with a file from a page that this visitor was shown. */
export const ownUploadOf = (request: Request, baseUrl: string, visitor: Visitor) =>
  Effect.gen(function* () {
    yield* comeFromHere(request, baseUrl)
    const given = yield* Effect.catchTags(readFormData(request, uploadBytes), {
      PayloadTooLarge: () => tooLarge,
      ValidationFailed: () => incomplete
    })
    const texts = new URLSearchParams()
    const files: Array<File> = []
    given.forEach((value, name) => {
      if (typeof value === "string") texts.append(name, value)
      else files.push(value)
    })
    const form = yield* Effect.filterOrFail(fieldsOf(`${texts}`), isShownTo(visitor), () => foreign)
    const [file = new File([], "")] = files
    const content = new Uint8Array(yield* Effect.promise(() => file.arrayBuffer()))
    return { form, file: { name: fileNameOf(file.name), content } }
  })

/**
 * A path of this service to go on at, as a browser will read it; anything else: undefined. Before the query, browsers take a
 * backslash for a slash; in it, they leave one as it is.
 */
export const localPath = (target: string | undefined, baseUrl: string): string | undefined => {
  if (target === undefined || !/^\/(?![/\\])[!->@-[\]-~]*(?:\?[!-~]*)?$/.test(target)) return undefined
  const { origin } = new URL(baseUrl)
  return URL.canParse(target, origin) && new URL(target, origin).origin === origin ? target : undefined
}
