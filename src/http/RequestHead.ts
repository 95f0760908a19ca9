import type { IncomingMessage } from "node:http"
import type { HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { HeadersTooLarge, UriTooLong } from "../api/RequestErrors.ts"
import { ValidationFailed } from "../model/Errors.ts"

/** Maximum bytes of a request's target, which may name 250 ids, and of its whole head. */
export const targetLimit = 12_288
export const headLimit = 16_384

/** Whether all percent escapes of a text are complete and UTF-8. */
const isDecodable = (text: string) => {
  if (!text.includes("%")) return true
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** Splits a target into its path and its query, without decoding them. */
export const splitTarget = (target: string): { readonly path: string; readonly query: string } => {
  const mark = target.indexOf("?")
  return mark === -1 ? { path: target, query: "" } : { path: target.slice(0, mark), query: target.slice(mark + 1) }
}

/** Whether a query parameter has no value, or only white space. Its escapes must be valid. */
const isBlank = (parameter: string) => {
  const mark = parameter.indexOf("=")
  if (mark === -1 || mark === parameter.length - 1) return true
  const value = parameter.slice(mark + 1)
  return /^[+%]/.test(value) && decodeURIComponent(value.replaceAll("+", " ")).trim() === ""
}

/** Removes the blank parameters of a target, because blank means absent. */
export const withoutBlanks = (target: string): string => {
  const { path, query } = splitTarget(target)
  if (query === "") return target
  const parameters = query.split("&")
  const nonBlank = parameters.filter((parameter) => !isBlank(parameter))
  return nonBlank.length === parameters.length
    ? target
    : `${path}${nonBlank.length === 0 ? "" : `?${nonBlank.join("&")}`}`
}

const absoluteForm = /^https?:\/\/([^\s/?#@]+)([/?].*)?$/i

/** Replaces an absolute request target by its path, and the Host header by the target's authority (RFC 9112, 3.2.2). */
export const toOriginForm = (request: IncomingMessage): void => {
  if (request.url?.startsWith("/") !== false) return
  const [, authority, rest = "/"] = absoluteForm.exec(request.url) ?? []
  if (authority === undefined) return
  request.url = rest.startsWith("/") ? rest : `/${rest}`
  request.headers.host = authority
}

export const notOriginForm = ValidationFailed.at(
  "",
  "The request target must be a path, or an absolute http or https address."
)

/** Why the head of a request is refused. Undefined: it is fine. */
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
  // HTTP/1.0 requests need no Host header.
  if (hosts === 0 && httpVersion !== "1.0") return ValidationFailed.at("Host", "is missing")
  if (hosts > 1) return ValidationFailed.at("Host", "is given more than once")
  if (!isDecodable(splitTarget(target).query))
    return ValidationFailed.at("query", "is not percent-encoded UTF-8: encode a percent sign itself as %25")
  return undefined
}
