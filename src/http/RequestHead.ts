import type { HttpServerRequest } from "@effect/platform"
import { Effect } from "effect"
import { HeadersTooLarge, UriTooLong } from "../api/RequestErrors.ts"
import { ValidationFailed } from "../domain/Errors.ts"

/** In bytes. */
export const targetLimit = 8_192
export const headLimit = 16_384

const refuse = (path: string, message: string) => new ValidationFailed({ issues: [{ path, message }] })

/** A percent sign that starts no escape, or escapes that are no UTF-8. */
const isDecodable = (text: string) => {
  if (!text.includes("%")) return true
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** The raw path and query of a target. */
export const splitTarget = (target: string): { readonly path: string; readonly query: string } => {
  const mark = target.indexOf("?")
  return mark === -1 ? { path: target, query: "" } : { path: target.slice(0, mark), query: target.slice(mark + 1) }
}

/** What must hold of a request before anything of it is believed. */
export const checkHead = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<void, ValidationFailed | UriTooLong | HeadersTooLarge> => {
  const target = request.originalUrl
  if (target.length > targetLimit) return new UriTooLong({ limitBytes: targetLimit })
  let headBytes = target.length
  for (const name in request.headers) headBytes += name.length + (request.headers[name]?.length ?? 0) + ": \r\n".length
  if (headBytes > headLimit) return new HeadersTooLarge({ limitBytes: headLimit })
  if (!target.startsWith("/"))
    return refuse("", "The request target must be a path: an absolute address is for proxies.")
  if (request.headers.host === undefined) return refuse("Host", "is missing")
  if (!isDecodable(splitTarget(target).query))
    return refuse("query", "is not percent-encoded UTF-8: encode a percent sign itself as %25")
  return Effect.void
}
