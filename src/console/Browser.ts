import { hash, timingSafeEqual } from "node:crypto"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Data, Duration, Effect, Option, Redacted } from "effect"
import { type Sessions, sessionLife } from "../access/Sessions.ts"
import { deviceSeconds } from "../access/SignIns.ts"
import type { SignedIn } from "../access/User.ts"
import { type Parameters, parametersOf } from "../connections/AuthorizationRequest.ts"
import { ownOrigins } from "../http/BaseUrl.ts"
import { readForm, readFormData } from "../http/Body.ts"
import { requestStateOf } from "../http/RequestState.ts"
import type { ImportRun } from "../imports/Import.ts"
import type { SentFile } from "../imports/Imports.ts"
import { fileNameOf } from "../model/Name.ts"
import { fieldNames, isSecretName } from "./Fields.ts"
import { acceptedLanguage, type Language, languageOf } from "./languages/Language.ts"
import type { Values } from "./languages/Words.tsx"
import { paths } from "./Paths.ts"
import { type Theme, themeOf } from "./Theme.ts"

export interface NextPage {
  readonly path: string
  readonly name: string
}

/** An error that is answered with an error page. */
export class PageRefused extends Data.TaggedError("PageRefused")<{
  readonly status: 400 | 403 | 404 | 413 | 429
  readonly title: string
  readonly message: string
  /** The values of the placeholders in the message. */
  readonly values?: Values
  /** The link on the error page; by default it leads to the start page. */
  readonly next?: NextPage
  /** The fields of the refused form and what the visitor typed, so that nothing is lost. */
  readonly typed?: ReadonlyArray<readonly [name: string, value: string]>
}> {}

/** Makes the refusal of an action that a store does not support. `message`: has the placeholder `{store}`. */
export const refusedStore =
  (words: Pick<PageRefused, "title" | "message">) =>
  ({ domain }: { readonly domain: string }) =>
    new PageRefused({
      status: 400,
      ...words,
      values: { store: domain },
      next: { path: paths.stores, name: "To the stores" }
    })

/** A signed-in user, with the CSRF token of the session and what the frame of the page shows. */
export interface Visitor extends SignedIn {
  readonly csrf: string
  readonly theme: Theme
  /** The language of the pages: the one that the user has chosen, or else the one that the browser prefers. */
  readonly pageLanguage: Language
  /** The import that locks the account. */
  readonly lock: ImportRun | undefined
  /** The state of the account's work before the page was rendered (`AccountEvents`). Undefined: the page is not updated live. */
  readonly workState: string | undefined
}

const isSecure = (baseUrl: string) => baseUrl.startsWith("https:")

/** Over https, the `__Host-` prefix makes browsers accept the cookie from this host only. */
const nameOn = (baseUrl: string, name: string) => (isSecure(baseUrl) ? `__Host-${name}` : name)
const cookieName = (baseUrl: string) => nameOn(baseUrl, "catalog_session")
const noteCookieName = (baseUrl: string) => nameOn(baseUrl, "catalog_note")
const deviceCookieName = (baseUrl: string) => nameOn(baseUrl, "catalog_device")
const themeCookieName = "catalog_theme"
const stepsCookieName = "catalog_steps"

/** The CSRF token. It is derived from the session token, but differs from the hash of the session token in the database. */
export const csrfOf = (token: string) => hash("sha256", `form ${token}`, "base64url")

type Request = HttpServerRequest.HttpServerRequest

/** The colours that this browser has chosen. */
export const themeIn = (request: Request): Theme => themeOf(request.cookies[themeCookieName])

/** The language of the pages for a request: of its signed-in user, or else the one that the browser prefers. */
export const pageLanguageOf = (request: Request): Language =>
  languageOf(requestStateOf(request).pageLanguage ?? "") ?? acceptedLanguage(request.headers["accept-language"])

/** Whether the browser sends a session cookie. It may have expired. */
export const mayBeSignedIn = ({ cookies }: Request): boolean =>
  cookies[cookieName("http:")] !== undefined || cookies[cookieName("https:")] !== undefined

/** The session token of the browser. It may have expired. */
export const sessionTokenIn = ({ cookies }: Request, baseUrl: string): string | undefined =>
  cookies[cookieName(baseUrl)]

/** Whether the script of a page made the request by itself, to update the page. */
export const isLiveUpdate = ({ headers }: Request): boolean => headers["x-live-update"] !== undefined

/** Finds the signed-in user. `isUse`: whether a person made the request, so that it prolongs the session. */
export const visitorOf = (
  sessions: Sessions["Type"],
  baseUrl: string,
  request: Request,
  isUse = !isLiveUpdate(request)
): Effect.Effect<Option.Option<Visitor>> => {
  const token = sessionTokenIn(request, baseUrl)
  return token === undefined
    ? Effect.succeedNone
    : Effect.map(
        sessions.find(token, isUse),
        Option.map((signedIn): Visitor => {
          const { accountId, userId } = signedIn
          const state = requestStateOf(request)
          state.caller = { _tag: "User", accountId, userId }
          state.pageLanguage = signedIn.language ?? undefined
          const page = { theme: themeIn(request), pageLanguage: pageLanguageOf(request) }
          return { ...signedIn, ...page, csrf: csrfOf(token), lock: undefined, workState: undefined }
        })
      )
}

const cookieOptions = (baseUrl: string) => ({
  httpOnly: true,
  sameSite: "lax" as const,
  path: "/",
  secure: isSecure(baseUrl)
})

/** Sets the session cookie. */
export const keepSession = (
  response: HttpServerResponse.HttpServerResponse,
  baseUrl: string,
  token: Redacted.Redacted
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeSetCookie(response, cookieName(baseUrl), Redacted.value(token), {
    ...cookieOptions(baseUrl),
    maxAge: Duration.seconds(sessionLife.wholeSeconds)
  })

/** The URL whose flash message (note) this browser has not shown yet. */
export const unseenNoteOf = (baseUrl: string, request: Request): string | undefined =>
  request.cookies[noteCookieName(baseUrl)]

/** Lifetime of the cookie in seconds: the time that a browser has to follow a redirect to the page with the flash message. */
const noteSeconds = 60

/** Lets the browser show the flash message of this URL once. Undefined: it was shown, so the cookie is deleted. */
export const keepNote = (
  response: HttpServerResponse.HttpServerResponse,
  baseUrl: string,
  address: string | undefined
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeSetCookie(response, noteCookieName(baseUrl), address ?? "", {
    ...cookieOptions(baseUrl),
    maxAge: address === undefined ? Duration.zero : Duration.seconds(noteSeconds)
  })

/** Sets the colours of this browser, for a year. */
export const keepTheme = (
  response: HttpServerResponse.HttpServerResponse,
  baseUrl: string,
  theme: Theme
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeSetCookie(response, themeCookieName, theme, {
    ...cookieOptions(baseUrl),
    maxAge: Duration.days(365)
  })

/** Whether this browser hides the first steps of the account. */
export const hidesFirstSteps = (request: Request, accountId: string): boolean =>
  request.cookies[stepsCookieName] === accountId

/** Hides the first steps of an account in this browser, for a year. */
export const hideFirstSteps = (
  response: HttpServerResponse.HttpServerResponse,
  baseUrl: string,
  accountId: string
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeSetCookie(response, stepsCookieName, accountId, {
    ...cookieOptions(baseUrl),
    maxAge: Duration.days(365)
  })

/** The device token. A browser has one if a user has signed in with it before. */
export const deviceOf = (baseUrl: string, request: Request): string | undefined =>
  request.cookies[deviceCookieName(baseUrl)]

/** Sets the device token, which the next sign-in of this browser sends. */
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

/** Maximum bytes of a form that needs no sign-in. The sign-in form is the largest: it may include a request to authorize. */
const openFormBytes = 65_536
/** Maximum bytes of a form of a signed-in user. Values can be long texts, and percent-encoding may need nine bytes for one letter. */
const ownFormBytes = 1_048_576

/** Maximum size of an upload in megabytes. Shopify's own pages have the same maximum. */
export const uploadMegabytes = 15
const uploadBytes = uploadMegabytes * 1_048_576

/** Whether a request was sent from another site. Browsers tell the site in the headers `origin` and `sec-fetch-site`. */
export const isForeign = ({ headers }: Request, baseUrl: string): boolean => {
  const site = headers["sec-fetch-site"]
  return (
    (headers.origin !== undefined && !ownOrigins(baseUrl).has(headers.origin)) ||
    (site !== undefined && site !== "same-origin" && site !== "none")
  )
}

/**
 * Returns the target of a redirect if it is a path of this service, else undefined, so that nobody is redirected to another site.
 * Browsers read a backslash before the query as a slash.
 */
export const localPath = (target: string | undefined, baseUrl: string): string | undefined => {
  if (target === undefined || !/^\/(?![/\\])[!->@-[\]-~]*(?:\?[!-~]*)?$/.test(target)) return undefined
  const { origin } = new URL(baseUrl)
  return URL.canParse(target, origin) && new URL(target, origin).origin === origin ? target : undefined
}

/** The page from which a form was sent, by the Referer header. The start page, if it is missing or of another site. */
export const sentFrom = ({ headers: { referer } }: Request, baseUrl: string) => {
  const page = referer !== undefined && URL.canParse(referer) ? new URL(referer) : undefined
  const isOwn = page !== undefined && ownOrigins(baseUrl).has(page.origin)
  return (isOwn ? localPath(`${page.pathname}${page.search}`, baseUrl) : undefined) ?? paths.home
}

/** Values that nobody typed, because the form itself contains them: ids, digests, numbers, and ids with the words of a button (`ID up`). */
const ownValue = /^(?:[0-9a-f-]{32,64}(?: [\w-]+)*|\d*|pim_\w{2}_[\w-]+|[\w-]{43})$/i

/** The fields of a form as the visitor filled them in, without secrets. */
export const typedIn = (form: Parameters) =>
  form.names
    .filter((name) => name !== fieldNames.csrf && !isSecretName(name))
    .map((name) => [name, form.get(name) ?? ""] as const)
    .filter(([, value]) => !ownValue.test(value))

/** Refuses a form that was sent from another site. */
const requireOwnOrigin = (request: Request, baseUrl: string) =>
  isForeign(request, baseUrl) ? Effect.fail(foreign) : Effect.void

const fieldsOf = (text: string) => {
  const form = parametersOf(text)
  return form.repeated.length > 0 || form.hasNul
    ? Effect.fail(
        new PageRefused({
          status: 400,
          title: "Not understood",
          message: "A field of the form occurs twice or has characters that cannot be stored."
        })
      )
    : Effect.succeed(form)
}

/** Reads the fields of a form. PageRefused: the form was sent from another site, or a field is not readable. */
export const formOf = (request: Request, baseUrl: string, limitBytes = openFormBytes) =>
  Effect.flatMap(Effect.zipRight(requireOwnOrigin(request, baseUrl), readForm(request, limitBytes)), fieldsOf)

/** The header in which a script sends the CSRF token. */
export const csrfHeader = "x-csrf-token"

/** Whether a text is the CSRF token of the visitor's session. */
export const isCsrfOf = ({ csrf }: Visitor, text = ""): boolean => {
  const actual = Buffer.from(text)
  const expected = Buffer.from(csrf)
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

/**
 * Refuses a form without the CSRF token of the visitor's session. A page that was opened before the last sign-in has the token of
 * another session. What was typed there is shown again, if the browser says that the form is of this service.
 */
const requireCsrf = (request: Request, baseUrl: string, visitor: Visitor) => (form: Parameters) => {
  if (isCsrfOf(visitor, form.get(fieldNames.csrf))) return Effect.succeed(form)
  const { headers } = request
  const isOwn = headers.origin !== undefined || headers["sec-fetch-site"] === "same-origin"
  if (!isOwn || form.get(fieldNames.csrf) === undefined) return Effect.fail(foreign)
  return Effect.fail(
    new PageRefused({
      status: 403,
      title: "You have signed in again",
      message:
        "This form is of a page that was opened before your last sign-in, so it was not saved. Open the page again and repeat it there.",
      next: { path: sentFrom(request, baseUrl), name: "Back to the page" },
      typed: typedIn(form)
    })
  )
}

/** Maximum characters of a form that sign-in keeps: encoded again, it must fit into the form of the sign-in. */
const maxKept = 36_000

/** A form of a session that has expired, without its CSRF token. Undefined: it is too long to be kept. */
export const keptFormOf = (request: Request, baseUrl: string) =>
  Effect.map(formOf(request, baseUrl, ownFormBytes), (form) => {
    const names = form.names.filter((name) => name !== fieldNames.csrf)
    const fields = `${new URLSearchParams(names.map((name) => [name, form.get(name) ?? ""]))}`
    return fields.length > maxKept ? undefined : fields
  })

/** Reads the fields of a form. PageRefused: as for `formOf`, or the CSRF token of the visitor's session is missing or is of another session. */
export const ownFormOf = (request: Request, baseUrl: string, visitor: Visitor) =>
  Effect.flatMap(formOf(request, baseUrl, ownFormBytes), requireCsrf(request, baseUrl, visitor))

/** A form with a file. The file is empty if none was chosen. */
export interface Upload {
  readonly form: Parameters
  readonly file: SentFile
}

const tooLarge = new PageRefused({
  status: 413,
  title: "The file is too large",
  message: "Files can have up to {megabytes, number} MB. Split the file, or ask the administrator to import it.",
  values: { megabytes: uploadMegabytes },
  next: { path: paths.imports, name: "To the imports" }
})

const incomplete = new PageRefused({
  status: 400,
  title: "Not understood",
  message: "The upload was incomplete, so nothing was read. Send the file again.",
  next: { path: paths.imports, name: "To the imports" }
})

/** Reads a form with a file. PageRefused: as for `ownFormOf`, or the upload is too large or incomplete. */
export const ownUploadOf = (request: Request, baseUrl: string, visitor: Visitor) =>
  Effect.gen(function* () {
    yield* requireOwnOrigin(request, baseUrl)
    const data = yield* Effect.catchTags(readFormData(request, uploadBytes), {
      PayloadTooLarge: () => tooLarge,
      ValidationFailed: () => incomplete
    })
    const texts = new URLSearchParams()
    const files: Array<File> = []
    data.forEach((value, name) => {
      if (typeof value === "string") texts.append(name, value)
      else files.push(value)
    })
    const form = yield* Effect.flatMap(fieldsOf(`${texts}`), requireCsrf(request, baseUrl, visitor))
    const [file = new File([], "")] = files
    const content = new Uint8Array(yield* Effect.promise(() => file.arrayBuffer()))
    return { form, file: { name: fileNameOf(file.name), content } }
  })
