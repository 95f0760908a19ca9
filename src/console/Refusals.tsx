import type { ApiError } from "../api/ErrorCodes.ts"
import { errorCodes } from "../api/ErrorCodes.ts"
import { headersOf } from "../http/Envelope.ts"
import type { Refuse } from "../http/Passage.ts"
import type { PageRefused } from "./Browser.ts"
import { ErrorPage } from "./ErrorPage.tsx"
import { html } from "./Html.ts"
import { paths } from "./Paths.ts"

const titleOf = (error: ApiError): string => {
  switch (error._tag) {
    case "NotFound":
      return "Not there"
    case "PimLocked":
      return "An import comes first"
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
      return "There is no such record. It may have been removed meanwhile."
    case "PimLocked":
      return "An import of this account is under review or being applied, and nothing else is changed meanwhile. Accept or discard it, then try again."
    case "UnsupportedMediaType":
      return "This page takes forms only."
    case "PayloadTooLarge":
      return "The form is too long, so nothing came of it. Go back, make it shorter and send it again."
    case "Unavailable":
      return "The service cannot reach its database at the moment. Try again in a minute."
    case "InternalError":
      return "Something went wrong on our side. Whoever runs this service finds the cause in its log under this number."
    default:
      return error.message
  }
}

/** How pages say that a request failed. */
export const refuseOnPage: Refuse = (error, requestId) => {
  const { status } = errorCodes[error._tag]
  const page = (
    <ErrorPage
      title={titleOf(error)}
      message={messageOf(error)}
      requestId={error._tag === "InternalError" ? requestId : undefined}
      next={error._tag === "PimLocked" ? { path: paths.imports, name: "To the imports" } : undefined}
    />
  )
  return html(page, { status, headers: headersOf(error) })
}

/** How a browser is told that an address leads nowhere. */
export const refuseAddress: Refuse = (error, requestId) =>
  error._tag === "NotFound"
    ? html(
        <ErrorPage
          title="There is no such page"
          message="This address leads nowhere: it may be mistyped, or from an older version."
          withSections
        />,
        { status: errorCodes.NotFound.status }
      )
    : refuseOnPage(error, requestId)

/** A page's own refusal. */
export const refusedPage = ({ message, next, status, title }: PageRefused) =>
  html(<ErrorPage title={title} message={message} next={next} />, { status })
