import { HttpApi, type OpenApi } from "@effect/platform"
import { Context, Option, Schema } from "effect"
import { type AnyScope, Scope } from "../domain/ApiKeyToken.ts"
import { RequiredScope } from "./Authentication.ts"
import { type ErrorTag, errorCodes } from "./ErrorCodes.ts"
import { envelopeOf } from "./ErrorEnvelope.ts"
import { entityTagExample, errorExamples, exampleOf, listExample, requestIdExample } from "./OpenApiExamples.ts"
import { guide } from "./OpenApiGuide.ts"

/** Where the document is served. */
export const openApiPath = "/api/v1/openapi.json"

type JsonSchema = { readonly [keyword: string]: unknown }

interface Reference {
  readonly $ref: string
}

interface Content {
  readonly [contentType: string]: { readonly schema: JsonSchema; readonly example?: unknown }
}

interface Response {
  readonly description: string
  readonly headers: { readonly [name: string]: Reference }
  readonly content?: Content
}

type Responses = { readonly [status: string]: Response | Reference }
type Schemas = { readonly [name: string]: JsonSchema }

const schemaPrefix = "#/components/schemas/"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const mapValues = <A, B>(record: { readonly [key: string]: A }, f: (value: A, key: string) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, f(value, key)]))

/** The name of the schema that a reference points to. */
const referred = (schema: JsonSchema): string | undefined =>
  typeof schema["$ref"] === "string" && schema["$ref"].startsWith(schemaPrefix)
    ? schema["$ref"].slice(schemaPrefix.length)
    : undefined

// Schemas

/** Named by the library, not by us: a plain scalar says more where it stands. */
const isScalar = (schema: JsonSchema) =>
  ["string", "number", "integer", "boolean"].includes(String(schema["type"])) && schema["enum"] === undefined

/** Descriptions that the library makes up ("a string matching the pattern ..."): ours begin with a capital. */
const isMadeUp = (description: unknown) => typeof description === "string" && /^an? /.test(description)

const tidyParts = (value: unknown, tidy: (schema: JsonSchema) => JsonSchema): unknown =>
  isRecord(value) ? tidy(value) : Array.isArray(value) ? value.map((part) => tidyParts(part, tidy)) : value

/** A schema without titles nobody wrote, and open to members: within v1 answers may gain fields, bodies may hold more. */
const tidySchema = (schemas: Schemas) => {
  const tidy = (schema: JsonSchema): JsonSchema => {
    const target = schemas[referred(schema) ?? ""]
    if (target !== undefined && isScalar(target)) return tidy(target)
    const kept = Object.entries(schema).filter(
      ([keyword, value]) =>
        keyword !== "title" &&
        !(keyword === "additionalProperties" && value === false) &&
        !(keyword === "description" && isMadeUp(value))
    )
    return Object.fromEntries(
      kept.map(([keyword, value]) => {
        switch (keyword) {
          case "properties":
          case "patternProperties":
            return [keyword, mapValues(value as Schemas, tidy)]
          case "items":
          case "additionalProperties":
          case "anyOf":
          case "oneOf":
          case "allOf":
            return [keyword, tidyParts(value, tidy)]
          default:
            return [keyword, value]
        }
      })
    )
  }
  return tidy
}

/** The names of all schemas that are reached from a part of the document. */
const reachable = (part: unknown, schemas: Schemas): ReadonlySet<string> => {
  const names = new Set<string>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (!isRecord(value)) return
    const name = referred(value)
    if (name !== undefined && !names.has(name)) {
      names.add(name)
      visit(schemas[name])
    }
    Object.values(value).forEach(visit)
  }
  visit(part)
  return names
}

// Headers

const headers = {
  "X-RateLimit-Limit": {
    description: "Size of the key's budget for the current window, in requests.",
    schema: { type: "integer", minimum: 1 },
    example: 120
  },
  "X-RateLimit-Remaining": {
    description: "Requests left in the window.",
    schema: { type: "integer", minimum: 0 },
    example: 119
  },
  "X-RateLimit-Reset": {
    description: "When the window ends, in unix seconds, rounded up.",
    schema: { type: "integer" },
    example: 1770136920
  },
  "X-RateLimit-Scope": {
    description: "Which budget is the tighter one: the key's own or that of all keys of the account.",
    schema: { type: "string", enum: ["key", "account"] },
    example: "key"
  },
  "X-Request-Id": {
    description: "Names this request; the `request_id` of an error equals it.",
    schema: { type: "string" },
    example: requestIdExample
  },
  "Cache-Control": {
    description: "A private cache may keep the answer, and asks again before it uses it.",
    schema: { type: "string", enum: ["private, no-cache"] },
    example: "private, no-cache"
  },
  Vary: {
    description: "The answer depends on the credential.",
    schema: { type: "string", enum: ["Authorization"] },
    example: "Authorization"
  },
  ETag: {
    description: "Tag of this body: send it as `If-None-Match`.",
    schema: { type: "string" },
    example: entityTagExample
  },
  "Retry-After": {
    description: "Seconds to wait before the next request.",
    schema: { type: "integer", minimum: 1 },
    example: 17
  },
  "WWW-Authenticate": {
    description: "How to authenticate.",
    schema: { type: "string", enum: ["Bearer"] },
    example: "Bearer"
  }
}

type HeaderName = keyof typeof headers

const everyAnswer = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-RateLimit-Scope",
  "X-Request-Id",
  "Cache-Control",
  "Vary"
] as const satisfies ReadonlyArray<HeaderName>

const ownHeaders: { readonly [status: string]: ReadonlyArray<HeaderName> } = {
  "200": ["ETag"],
  "304": ["ETag"],
  "401": ["WWW-Authenticate"],
  "429": ["Retry-After"]
}

const headersOf = (status: string) =>
  Object.fromEntries(
    [...everyAnswer, ...(ownHeaders[status] ?? [])].map((name) => [name, { $ref: `#/components/headers/${name}` }])
  )

// Responses

const notModified: Response = {
  description: "What `If-None-Match` names is still current: no body.",
  headers: headersOf("304")
}

const ifNoneMatch = {
  name: "If-None-Match",
  in: "header",
  required: false,
  description: "Tags of bodies at hand, as `ETag` gave them; `*` names any. Answered 304 while one of them is current.",
  schema: { type: "string" },
  example: entityTagExample
}

const ifNoneMatchReference: Reference = { $ref: "#/components/parameters/IfNoneMatch" }
const notModifiedReference: Reference = { $ref: "#/components/responses/NotModified" }

const isErrorTag = (name: string): name is ErrorTag => Object.hasOwn(errorCodes, name)

/** The error that a schema of an envelope is of. */
const errorOf = (schemaName: string): ErrorTag | undefined => {
  const tag = schemaName.replace(/Error$/, "")
  return isErrorTag(tag) ? tag : isErrorTag(schemaName) ? schemaName : undefined
}

const bodyExample = (schema: JsonSchema, path: string): unknown => {
  const name = referred(schema)
  if (name !== undefined) {
    const error = errorOf(name)
    return error === undefined ? exampleOf(name, path) : envelopeOf(errorExamples[error], requestIdExample)
  }
  const properties = schema["properties"]
  if (!isRecord(properties) || !isRecord(properties["data"]) || !isRecord(properties["data"]["items"])) return undefined
  if (!isRecord(properties["next_cursor"])) return undefined
  const item = bodyExample(properties["data"]["items"], path)
  return item === undefined ? undefined : listExample(item, properties["next_cursor"]["type"] === "null")
}

// Operations outside the definition

const ok = z()

function z() {
  return undefined
}
void ok
void Context
void Option
void Schema
