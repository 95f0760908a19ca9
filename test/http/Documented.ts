import type { IncomingHttpHeaders } from "node:http"
import { OpenApi } from "@effect/platform"
import { assert } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { type OpenApiDocument, openApiPath } from "../../src/api/openapi/OpenApiDocument.ts"
import { RestApi } from "../../src/api/RestApi.ts"
import { documentationPath } from "../../src/http/Documents.ts"

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Described {
  readonly headers?: { readonly [name: string]: { readonly $ref: string } }
  readonly content?: { readonly [type: string]: { readonly schema: object } }
}

interface Check {
  (value: unknown): boolean
  readonly errors?: unknown
}

/** The OpenAPI document as a client gets it. */
export const document: OpenApiDocument = JSON.parse(JSON.stringify(OpenApi.fromApi(RestApi)))

/** JSON Schema 2020-12, as OpenAPI 3.1 says. */
const validator = new Ajv2020({
  allErrors: true,
  strict: true,
  strictRequired: false,
  strictTypes: false,
  allowUnionTypes: true
})
addFormats.default(validator)
for (const annotation of ["example", "components"]) validator.addKeyword(annotation)

/** The document allows unknown members, because clients ignore them. The tests allow only members that it names. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== "object" || schema === null) return schema
  const within = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  return "properties" in schema ? { additionalProperties: false, ...within } : within
}

const components = { schemas: closed(document.components.schemas) }

const checks = new Map<string, Check>()
/** The validator of a schema in the document; references are resolved there. */
const checkOf = (key: string, schema: object): Check => {
  const known = checks.get(key)
  if (known !== undefined) return known
  const check: Check = validator.compile({ ...schema, components })
  checks.set(key, check)
  return check
}

const transport = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "date",
  "keep-alive",
  "transfer-encoding",
  "content-type"
])

const templates = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/?;#]+")}$`)
}))

const resolved = (response: unknown): Described => {
  const { $ref } = response as { readonly $ref?: string }
  return $ref === undefined
    ? (response as Described)
    : (document.components.responses[$ref.slice("#/components/responses/".length)] as Described)
}

/** The document's description of a response. Undefined: it has none, or the path belongs to another service. */
const described = (
  method: string,
  target: string,
  status: number
): { key: string; response: Described } | undefined => {
  const [path = ""] = target.split("?")
  const template = templates.find(({ pattern }) => pattern.test(path))
  const operation = template && document.paths[template.path]?.[method === "HEAD" ? "get" : method.toLowerCase()]
  const response = operation?.responses[status]
  return response === undefined
    ? undefined
    : { key: `${method} ${template?.path} ${status}`, response: resolved(response) }
}

/** Statuses of requests that match no operation: the path or the method is unknown. */
const ofNoOperation = new Set([400, 404, 405, 414, 429, 431])

const errorEnvelope = {
  type: "object",
  required: ["error"],
  additionalProperties: false,
  properties: {
    error: {
      type: "object",
      required: ["code", "message", "request_id"],
      additionalProperties: false,
      properties: {
        code: { type: "string" },
        message: { type: "string", minLength: 1 },
        request_id: { type: "string", pattern: "^req_[0-9a-f-]{36}$" },
        details: { type: "array" }
      }
    }
  }
}

const assertHeader = (where: string, name: string, value: unknown) => {
  const declared = document.components.headers[name as keyof typeof document.components.headers]
  assert.isDefined(value, `${where} lacks the header ${name}`)
  const read = declared.schema.type === "integer" && /^\d+$/.test(String(value)) ? Number(value) : value
  assert.isTrue(checkOf(`header ${name}`, declared.schema)(read), `${where}: ${name}: ${value}`)
}

/** Number of responses that were checked against the document, by operation and status. */
export const heldAgainst = new Map<string, number>()

/**
 * Checks that the document describes a response: its status, exactly its headers, and its body. Paths of test servers
 * and the documentation page are not in the document.
 */
export const assertDocumented = (method: string, target: string, { headers, status, text }: Answer): void => {
  const found = described(method, target, status)
  const where = `${method} ${target.slice(0, 100)} ${status}`
  if (found === undefined) {
    const [path = ""] = target.split("?")
    const isOperation = templates.some(
      (template) => template.pattern.test(path) && document.paths[template.path]?.[method.toLowerCase()] !== undefined
    )
    assert.isFalse(isOperation, `${where} is not in the document`)
    if (path.endsWith("/echo") || path === documentationPath || method === "HEAD") return
    assert.isTrue(ofNoOperation.has(status), `${where} has no operation`)
    assert.isTrue(checkOf("envelope", errorEnvelope)(JSON.parse(text)), where)
    return
  }
  const { key, response } = found
  heldAgainst.set(key, (heldAgainst.get(key) ?? 0) + 1)
  const names = Object.keys(response.headers ?? {})
  for (const name of names) assertHeader(where, name, headers[name.toLowerCase()])
  const undeclared = Object.keys(headers).filter(
    (name) => !transport.has(name) && !names.some((declared) => declared.toLowerCase() === name)
  )
  assert.deepStrictEqual(undeclared, [], where)
  const content = response.content?.["application/json"]
  if (content === undefined || method === "HEAD") {
    assert.strictEqual(text, "", where)
    return
  }
  assert.match(String(headers["content-type"]), /^application\/json(?:; charset=utf-8)?$/, where)
  // The document describes its own body only as an object.
  const check = checkOf(key, key.includes(openApiPath) ? content.schema : Object(closed(content.schema)))
  assert.isTrue(check(JSON.parse(text)), `${where}: ${JSON.stringify(check.errors)} ${text.slice(0, 300)}`)
}
