import type { IncomingMessage } from "node:http"
import type { Headers, HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Option } from "effect"
import { PayloadTooLarge, UnsupportedMediaType } from "../api/RequestErrors.ts"
import { ValidationFailed } from "../domain/Errors.ts"
import { isNestedDeeper } from "../domain/JsonNesting.ts"

/** Deepest nesting of arrays and objects in a body. */
export const depthLimit = 32

const refuse = (message: string) => ValidationFailed.at("body", message)

/** Whether JSON text is nested deeper than a body may be. */
export const isTooDeep = (text: string) => isNestedDeeper(text, depthLimit)

/** Text that PostgreSQL would refuse or that UTF-8 cannot carry: found in the value, where escapes are resolved. */
const findBadText = (value: unknown): string | undefined => {
  if (typeof value === "string") {
    if (value.includes("\u0000")) return "text must not contain U+0000"
    return value.isWellFormed() ? undefined : "text must not contain lone surrogates"
  }
  if (typeof value !== "object" || value === null) return undefined
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__") return "an object must not have a member named __proto__"
    const found = findBadText(key) ?? findBadText(member)
    if (found !== undefined) return found
  }
  return undefined
}

/** Takes members that are null out of a value: they are absent. */
const dropNulls = (value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item)
    return
  }
  for (const [key, member] of Object.entries(value)) {
    if (member === null) Reflect.deleteProperty(value, key)
    else dropNulls(member)
  }
}

/** Of this type, in UTF-8, unless it says otherwise of itself. */
export const isOfType = (headers: Headers.Headers, expected: string) => {
  const [type = "", ...parameters] = (headers["content-type"] ?? "").toLowerCase().split(";")
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="))
  const encoding = headers["content-encoding"] ?? "identity"
  return (
    type.trim() === expected &&
    (charset === undefined || charset.slice("charset=".length).replaceAll('"', "") === "utf-8") &&
    encoding.toLowerCase() === "identity"
  )
}

const parse = (text: string) =>
  Effect.try({ try: () => JSON.parse(text) as unknown, catch: () => refuse("is not JSON") })

export const decodeUtf8 = (bytes: Uint8Array) =>
  Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes),
    catch: () => refuse("is not UTF-8")
  })

/**
 * The bytes of a body, none kept beyond the limit. What follows is read and dropped while the connection lasts: a client
 * that is still sending would not see an answer otherwise. (A stream of the library would end the connection unanswered.)
 */
export const readBytes = (source: IncomingMessage, limitBytes: number) =>
  Effect.async<Uint8Array<ArrayBuffer>, PayloadTooLarge | ValidationFailed>((resume) => {
    const chunks: Array<Uint8Array> = []
    let length = 0
    source.on("data", (chunk: Uint8Array) => {
      length += chunk.length
      if (length <= limitBytes) chunks.push(chunk)
      else resume(new PayloadTooLarge({ limitBytes }))
    })
    source.on("end", () => resume(Effect.succeed(Buffer.concat(chunks))))
    source.on("error", () => resume(refuse("could not be read")))
  })

type Unreadable = PayloadTooLarge | UnsupportedMediaType | ValidationFailed

/** The bytes of a body of this type: declared size, size as it comes in and type are checked in this order. */
const readOfType = (
  request: HttpServerRequest.HttpServerRequest,
  type: string,
  limitBytes: number
): Effect.Effect<Uint8Array<ArrayBuffer>, Unreadable> =>
  Effect.gen(function* () {
    if (Number(request.headers["content-length"] ?? 0) > limitBytes) return yield* new PayloadTooLarge({ limitBytes })
    const bytes = yield* readBytes(toIncomingMessage(request), limitBytes)
    return isOfType(request.headers, type) ? bytes : yield* new UnsupportedMediaType()
  })

/**
 * A request's body as a JSON value without members that are null: size, type, UTF-8, depth, syntax and text are checked in
 * this order, and the first that does not hold is the answer.
 */
export const readJson = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Effect.Effect<unknown, Unreadable> =>
  Effect.gen(function* () {
    const text = yield* decodeUtf8(yield* readOfType(request, "application/json", limitBytes))
    if (isTooDeep(text)) return yield* refuse(`is nested deeper than ${depthLimit} levels`)
    const value = yield* parse(text)
    const bad = findBadText(value)
    if (bad !== undefined) return yield* refuse(bad)
    dropNulls(value)
    return value
  })

/** A percent sign that starts no escape, or escapes that are no UTF-8, would be read as something else. */
const isDecodable = (text: string) => Option.isSome(Option.liftThrowable(decodeURIComponent)(text.replaceAll("+", " ")))

/** A request's body as the text of a form, in the same order. */
export const readForm = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Effect.Effect<string, Unreadable> =>
  Effect.gen(function* () {
    const text = yield* decodeUtf8(yield* readOfType(request, "application/x-www-form-urlencoded", limitBytes))
    return isDecodable(text) ? text : yield* refuse("is not percent-encoded UTF-8")
  })

/** A request's body as a form that brings files, in the same order. All of it is held in memory. */
export const readFormData = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Effect.Effect<FormData, Unreadable> =>
  Effect.flatMap(readOfType(request, "multipart/form-data", limitBytes), (bytes) =>
    Effect.tryPromise({
      try: () => new Response(bytes, { headers: { "content-type": request.headers["content-type"] ?? "" } }).formData(),
      catch: () => refuse("is not the form that it says it is")
    })
  )

/** The request whose `json` is a value that was read already: everything else is passed on. */
export const withJson = (
  request: HttpServerRequest.HttpServerRequest,
  value: unknown
): HttpServerRequest.HttpServerRequest =>
  new Proxy(request, {
    get: (target, property) => (property === "json" ? Effect.succeed(value) : Reflect.get(target, property, target))
  })
