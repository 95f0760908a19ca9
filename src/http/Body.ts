import type { IncomingMessage } from "node:http"
import type { Headers, HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Option } from "effect"
import { PayloadTooLarge, UnsupportedMediaType } from "../api/RequestErrors.ts"
import { Unavailable, ValidationFailed } from "../model/Errors.ts"
import { JsonScan } from "../model/JsonScan.ts"
import { holdBytes } from "./BodiesInFlight.ts"

/** Deepest nesting of arrays and objects in a body. */
export const depthLimit = 32

/** Most members of one object. The widest that a definition knows has 20. */
export const memberLimit = 500

/** Most arrays, objects and members of a body. The largest that a definition takes, 500 operations, has some 3,000. */
export const partLimit = 10_000

const refuse = (message: string) => ValidationFailed.at("body", message)

/** Why JSON of this shape is not even parsed: to parse it, and to say what is wrong with it, would hold up all other requests. */
export const shapeMisfit = ({ deepest, parts, widest }: JsonScan): string | undefined => {
  if (deepest > depthLimit) return `is nested deeper than ${depthLimit} levels`
  if (widest > memberLimit) return `has an object of more than ${memberLimit} members`
  return parts > partLimit ? `has more than ${partLimit} arrays, objects and members` : undefined
}

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

/** Bodies up to this size are read as they come in. */
const pacedFrom = 65_536

/** Lets other connections have their turn: Node would read up to 2 MiB of one before it looks at the next. */
const takeTurns = (source: IncomingMessage) => {
  source.pause()
  setImmediate(() => source.resume())
}

/**
 * The bytes of a body, none kept beyond the limit. What follows is read and dropped while the connection lasts: a client
 * that is still sending would not see an answer otherwise. (A stream of the library would end the connection unanswered.)
 * `inspect` sees each piece as it comes in, and the length so far: what it returns ends the reading.
 */
export const readBytes = <E = never>(
  source: IncomingMessage,
  limitBytes: number,
  inspect?: (chunk: Uint8Array, length: number) => E | undefined
) =>
  Effect.async<Uint8Array<ArrayBuffer>, E | PayloadTooLarge | Unavailable | ValidationFailed>((resume) => {
    let chunks: Array<Uint8Array> | undefined = []
    let length = 0
    const stop = (error: E | PayloadTooLarge | Unavailable) => {
      chunks = undefined
      resume(Effect.fail(error))
    }
    source.on("data", (chunk: Uint8Array) => {
      length += chunk.length
      if (length > pacedFrom) takeTurns(source)
      if (chunks === undefined) return
      if (length > limitBytes) return stop(new PayloadTooLarge({ limitBytes }))
      if (!holdBytes(source, chunk.length))
        return stop(
          new Unavailable({
            reason: "Too many bytes of request bodies are held at once; retry with exponential backoff."
          })
        )
      chunks.push(chunk)
      const found = inspect?.(chunk, length)
      if (found !== undefined) stop(found)
    })
    source.on("end", () => resume(Effect.sync(() => Buffer.concat(chunks ?? []))))
    source.on("error", () => resume(refuse("could not be read")))
  })

type Unreadable = PayloadTooLarge | Unavailable | UnsupportedMediaType | ValidationFailed

/** The bytes of a body of this type: declared size, size as it comes in and type are checked in this order. */
const readOfType = (
  request: HttpServerRequest.HttpServerRequest,
  type: string,
  limitBytes: number,
  inspect?: (chunk: Uint8Array) => undefined
): Effect.Effect<Uint8Array<ArrayBuffer>, Unreadable> =>
  Effect.gen(function* () {
    if (Number(request.headers["content-length"] ?? 0) > limitBytes) return yield* new PayloadTooLarge({ limitBytes })
    const bytes = yield* readBytes<never>(toIncomingMessage(request), limitBytes, inspect)
    return isOfType(request.headers, type) ? bytes : yield* new UnsupportedMediaType()
  })

/**
 * A request's body as a JSON value without members that are null: size, type, UTF-8, shape, syntax and text are checked in
 * this order, and the first that does not hold is the answer.
 */
export const readJson = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Effect.Effect<unknown, Unreadable> =>
  Effect.gen(function* () {
    const scan = new JsonScan()
    const inspect = (chunk: Uint8Array) => {
      scan.read(chunk)
      return undefined
    }
    const text = yield* decodeUtf8(yield* readOfType(request, "application/json", limitBytes, inspect))
    const misfit = shapeMisfit(scan)
    if (misfit !== undefined) return yield* refuse(misfit)
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
