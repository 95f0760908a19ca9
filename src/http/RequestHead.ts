import type { HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { HeadersTooLarge, UriTooLong } from "../api/RequestErrors.ts"
import { ValidationFailed } from "../domain/Errors.ts"

/** In bytes. */
export const targetLimit = 8_192
export const headLimit = 16_384

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

export const notOriginForm = ValidationFailed.at(
  "",
  "The request target must be a path: an absolute address is for proxies."
)

/** What must hold of a request before anything of it is believed; undefined when it does. */
export const misfitOf = (
  request: HttpServerRequest.HttpServerRequest
): ValidationFailed | UriTooLong | HeadersTooLarge | undefined => {
  const target = request.originalUrl
  if (target.length > targetLimit) return new UriTooLong({ limitBytes: targetLimit })
  const { httpVersion, rawHeaders } = toIncomingMessage(request)
  let headBytes = `${request.method} ${target} HTTP/1.1\r\n\r\n`.length
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ""
    headBytes += name.length + (rawHeaders[index + 1]?.length ?? 0) + ": \r\n".length
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1
  }
  if (headBytes > headLimit) return new HeadersTooLarge({ limitBytes: headLimit })
  if (!target.startsWith("/")) return notOriginForm
  // HTTP/1.0 knew no Host.
  if (hosts === 0 && httpVersion !== "1.0") return ValidationFailed.at("Host", "is missing")
  if (hosts > 1) return ValidationFailed.at("Host", "is given more than once")
  if (!isDecodable(splitTarget(target).query))
    return ValidationFailed.at("query", "is not percent-encoded UTF-8: encode a percent sign itself as %25")
  return undefined
}
