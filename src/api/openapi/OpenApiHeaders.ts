import { entityTagExample, requestIdExample } from "./OpenApiExamples.ts"

/** Every header that an answer may carry, as the document describes it. */
export const headers = {
  "X-RateLimit-Limit": {
    description: "Size of the budget for the current window, in requests.",
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 120
  },
  "X-RateLimit-Remaining": {
    description: "Requests left in the window.",
    required: true,
    schema: { type: "integer", minimum: 0 },
    example: 119
  },
  "X-RateLimit-Reset": {
    description: "When the window ends, in unix seconds, rounded up.",
    required: true,
    schema: { type: "integer" },
    example: 1770136920
  },
  "X-RateLimit-Scope": {
    description: "Which budget is the tighter one: the key's own, or that of all keys of the account.",
    required: true,
    schema: { type: "string", enum: ["key", "account"] },
    example: "key"
  },
  "X-Request-Id": {
    description: "Names this request. The `request_id` of an error equals it.",
    required: true,
    schema: { type: "string" },
    example: requestIdExample
  },
  "Cache-Control": {
    description: "A private cache may keep the answer and asks again before it uses it.",
    required: true,
    schema: { type: "string", enum: ["private, no-cache"] },
    example: "private, no-cache"
  },
  Vary: {
    description: "Answers differ by credential.",
    required: true,
    schema: { type: "string", enum: ["Authorization"] },
    example: "Authorization"
  },
  ETag: {
    description: "Strong tag of the body: send it as `If-None-Match`.",
    required: true,
    schema: { type: "string" },
    example: entityTagExample
  },
  "Retry-After": {
    description: "Seconds to wait before the next request.",
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 17
  },
  "WWW-Authenticate": {
    description: "The scheme to authenticate with.",
    required: true,
    schema: { type: "string", enum: ["Bearer"] },
    example: "Bearer"
  }
}

type HeaderName = keyof typeof headers

const onEvery: ReadonlyArray<HeaderName> = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-RateLimit-Scope",
  "X-Request-Id",
  "Cache-Control",
  "Vary"
]

const ofStatus: { readonly [status: string]: ReadonlyArray<HeaderName> } = {
  200: ["ETag"],
  304: ["ETag"],
  401: ["WWW-Authenticate"],
  429: ["Retry-After"]
}

/** The headers of an answer by its status, as references. */
export const headersOf = (status: string): { readonly [name: string]: { readonly $ref: string } } =>
  Object.fromEntries(
    [...onEvery, ...(ofStatus[status] ?? [])].map((name) => [name, { $ref: `#/components/headers/${name}` }])
  )

/** What makes a read conditional. */
export const ifNoneMatch = {
  name: "If-None-Match",
  in: "header",
  required: false,
  description:
    "Tags of bodies at hand, as `ETag` gave them; `*` names any. While one of them is current, the answer is 304.",
  schema: { type: "string" },
  example: entityTagExample
}
