import { HttpServerResponse } from "@effect/platform"
import { Effect, Option } from "effect"
import { splitTarget } from "../../http/RequestHead.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { NotFound } from "../../model/Errors.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { picturePath } from "./PictureAddresses.ts"
import { Pictures } from "./Pictures.ts"

/** A neutral picture, in place of one that cannot be read. */
const placeholder = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="80" height="80" fill="none" stroke="#8b8d92"><path d="M7 17l4-5 3 3 2-2 3 4z"/><circle cx="9" cy="8.5" r="1.2"/></svg>'
)

/** The policy of a picture that is opened as a page: it may load and run nothing. */
const pictureHeaders = {
  "content-security-policy": "default-src 'none'; sandbox",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin"
}

/** Pictures of media for the pages. Their addresses are signed, so they need no session. */
export const pictureRoutes: Surface<Pictures> = surfaceOf(
  { show: ["GET", picturePath, refuseOnPage, "open"] },
  Effect.map(Pictures, ({ read }) => ({
    show: (request) =>
      read(splitTarget(request.originalUrl).path).pipe(
        Effect.mapError(() => new NotFound()),
        Effect.map(
          Option.match({
            onNone: () =>
              HttpServerResponse.uint8Array(placeholder, {
                contentType: "image/svg+xml",
                headers: { ...pictureHeaders, "cache-control": "private, max-age=300" }
              }),
            onSome: ({ bytes, type }) =>
              HttpServerResponse.uint8Array(bytes, {
                contentType: type,
                headers: { ...pictureHeaders, "cache-control": "private, max-age=604800, immutable" }
              })
          })
        )
      )
  }))
)
