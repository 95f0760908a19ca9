import type { HttpServerRequest } from "@effect/platform"
import type { ApiError } from "../api/ErrorCodes.ts"
import { errorCodes } from "../api/ErrorCodes.ts"
import { headersOf } from "../http/Envelope.ts"
import type { Refuse } from "../http/RequestState.ts"
import { mayBeSignedIn, type PageRefused, pageLanguageOf, themeIn } from "./Browser.ts"
import { ErrorPage } from "./ErrorPage.tsx"
import { html } from "./Html.ts"
import { paths } from "./Paths.ts"
import { anonymousViewer } from "./Viewer.tsx"

/**
 * The frame of an error page. The visitor is unknown, so the cookies tell whether to show the navigation, and in which
 * colours.
 */
const frameFor = (request: HttpServerRequest.HttpServerRequest) => ({
  withSections: mayBeSignedIn(request),
  theme: themeIn(request)
})

const viewerOf = (request: HttpServerRequest.HttpServerRequest) => anonymousViewer(pageLanguageOf(request))

const titleOf = (error: ApiError): string => {
  switch (error._tag) {
    case "NotFound":
      return "Not found"
    case "PimLocked":
      return "An import is in progress"
    case "Unavailable":
      return "Not available at the moment"
    case "InternalError":
      return "Something went wrong"
    default:
      return "Not accepted"
  }
}

const messageOf = (error: ApiError): string => {
  switch (error._tag) {
    case "NotFound":
      return "There is no such record. It may have been removed."
    case "PimLocked":
      return "An import has locked the catalog, which cannot be changed until the import has ended. Accept or discard the import, then try again."
    case "UnsupportedMediaType":
      return "This page accepts only forms."
    case "PayloadTooLarge":
      return "The form is too long and was not saved. Go back, shorten it and send it again."
    case "Unavailable":
      return "The service cannot answer at the moment. Try again in a minute."
    case "InternalError":
      return "Something went wrong on our side. The administrator finds the cause in the log under this number."
    default:
      return error.message
  }
}

/** The error page of a failed request. */
export const refuseOnPage: Refuse = (error, requestId, request) => {
  const { status } = errorCodes[error._tag]
  const page = (
    <ErrorPage
      {...frameFor(request)}
      title={titleOf(error)}
      message={messageOf(error)}
      requestId={error._tag === "InternalError" ? requestId : undefined}
      next={error._tag === "PimLocked" ? { path: paths.imports, name: "To the imports" } : undefined}
    />
  )
  return html(viewerOf(request), page, { status, headers: headersOf(error) })
}

const noPage = {
  title: "Page not found",
  message: "There is no page at this address. It may be mistyped or outdated."
} as const

/** The error page of a URL that has no page. */
export const refuseAddress: Refuse = (error, requestId, request) =>
  error._tag === "NotFound"
    ? html(viewerOf(request), <ErrorPage {...frameFor(request)} {...noPage} withSections />, {
        status: errorCodes.NotFound.status
      })
    : refuseOnPage(error, requestId, request)

/** The response for a PageRefused. */
export const refusedPage = (
  { message, next, status, title, typed, values }: PageRefused,
  request: HttpServerRequest.HttpServerRequest
) =>
  html(
    viewerOf(request),
    <ErrorPage {...frameFor(request)} title={title} message={message} values={values} next={next} typed={typed} />,
    { status }
  )
