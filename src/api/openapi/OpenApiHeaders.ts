import { entityTagExample, requestIdExample } from "./OpenApiExamples.ts"

/** All response headers. */
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
    description: "The budget with fewer requests left: `key`, or `account`, which all keys of the account share.",
    required: true,
    schema: { type: "string", enum: ["key", "account"] },
    example: "key"
  },
  "X-Request-Id": {
    description: "Id of this request, equal to `request_id` in errors.",
    required: true,
    schema: { type: "string" },
    example: requestIdExample
  },
  "Cache-Control": {
    description: "A private cache may store the response, and must revalidate it before use.",
    required: true,
    schema: { type: "string", enum: ["private, no-cache"] },
    example: "private, no-cache"
  },
  Vary: {
    description: "Responses differ by credential and by the requested content coding.",
    required: true,
    schema: { type: "string", enum: ["Authorization, Accept-Encoding"] },
    example: "Authorization, Accept-Encoding"
  },
  ETag: {
    description: "Tag of the body: send it as `If-None-Match`. It is weak (`W/`) if the body is compressed.",
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

/** References to the headers of responses with a status. */
export const headersOf = (status: string): { readonly [name: string]: { readonly $ref: string } } =>
  Object.fromEntries(
    [...onEvery, ...(ofStatus[status] ?? [])].map((name) => [name, { $ref: `#/components/headers/${name}` }])
  )

export const ifNoneMatch = {
  name: "If-None-Match",
  in: "header",
  required: false,
  description:
    "`ETag` values of stored responses, or `*` for any. If one of them is still current, the response is 304.",
  schema: { type: "string" },
  example: entityTagExample
}
