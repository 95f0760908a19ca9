import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Context, Option, Schema } from "effect"
import { Authentication, RequiredScope } from "../../src/api/Authentication.ts"
import { errorCodes } from "../../src/api/ErrorCodes.ts"
import { type OpenApiDocument, openApiPath, toPublished } from "../../src/api/openapi/OpenApiDocument.ts"
import { headers } from "../../src/api/openapi/OpenApiHeaders.ts"
import { RestApi } from "../../src/api/RestApi.ts"
import { documentationPath, documentRoutes } from "../../src/http/Documents.ts"
import { healthRoutes } from "../../src/http/Health.ts"

/** Every status that an answer may have, and its error code. No other pairs are allowed. */
const closedTable = [
  "400 validation_failed",
  "401 unauthorized",
  "403 forbidden",
  "404 not_found",
  "405 method_not_allowed",
  "408 request_timeout",
  "409 revision_conflict",
  "410 cursor_expired",
  "413 payload_too_large",
  "414 uri_too_long",
  "415 unsupported_media_type",
  "417 expectation_failed",
  "423 pim_locked",
  "429 rate_limited",
  "431 headers_too_large",
  "500 internal_error",
  "502 platform_unavailable",
  "503 unavailable"
]

const everyHeader = [
  "Cache-Control",
  "Vary",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-RateLimit-Scope",
  "X-Request-Id"
]

const headersByStatus: Readonly<Record<string, ReadonlyArray<string>>> = {
  200: ["ETag"],
  304: ["ETag"],
  401: ["WWW-Authenticate"],
  429: ["Retry-After"]
}

type Document = OpenApiDocument
type Operation = Document["paths"][string][string]

/** The document as a client gets it. */
const documentOf = (api: HttpApi.HttpApi.Any): Document =>
  JSON.parse(JSON.stringify(OpenApi.fromApi(api as HttpApi.HttpApi<string, never, never, never>)))

/** The target of a reference; undefined if it is broken, which the linters report. */
const resolve = (document: Document, part: object): Record<string, unknown> =>
  "$ref" in part
    ? String(part.$ref)
        .slice("#/".length)
        .split("/")
        .reduce(
          (place, name) => (place[name] ?? {}) as Record<string, unknown>,
          document as unknown as Record<string, unknown>
        )
    : (part as Record<string, unknown>)

interface ErrorMember {
  readonly required?: ReadonlyArray<string>
  readonly properties?: { readonly code?: { readonly enum?: ReadonlyArray<string> } }
}

/** A row of the error table: the status and the `code` in the envelope. */
const codesOf = (document: Document, status: string, response: object): ReadonlyArray<string> => {
  const { content } = resolve(document, response) as {
    readonly content?: Record<string, { readonly schema: { readonly anyOf?: ReadonlyArray<object> } }>
  }
  const schema = content?.["application/json"]?.schema ?? {}
  return (schema.anyOf ?? [schema]).map((alternative) => {
    const { properties } = resolve(document, alternative) as { readonly properties?: { readonly error?: ErrorMember } }
    const error = properties?.error
    const isEnvelope = ["code", "message", "request_id"].every((member) => error?.required?.includes(member))
    return `${status} ${isEnvelope ? error?.properties?.code?.enum?.join() : "no envelope"}`
  })
}

const operationsOf = (document: Document) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation }))
  )

/** The problems of an operation in the document. */
const faultsOfOperation = (document: Document, method: string, operation: Operation): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const parameters = operation.parameters.map((parameter) => resolve(document, parameter))
  for (const { description, name } of parameters) {
    if (typeof description !== "string" || description === "") faults.push(`parameter ${name}: no description`)
  }
  if (parameters.some(({ name }) => name === "If-None-Match") !== (method === "get")) faults.push("If-None-Match")
  if ("304" in operation.responses !== (method === "get")) faults.push("304")
  for (const [status, response] of Object.entries(operation.responses)) {
    const expected = [...everyHeader, ...(headersByStatus[status] ?? [])].sort()
    const carried = Object.keys((resolve(document, response).headers as object | undefined) ?? {}).sort()
    if (expected.join() !== carried.join()) faults.push(`${status}: headers ${carried.join()}`)
    if (status === "200" || status === "304") continue
    for (const line of codesOf(document, status, response)) {
      if (!closedTable.includes(line)) faults.push(`not in the table: ${line}`)
    }
  }
  return faults
}

/** The problems of an API, each beginning with its position. */
const faultsOf = (api: HttpApi.HttpApi.Any): ReadonlyArray<string> => {
  const document = documentOf(api)
  const faults = operationsOf(document).flatMap(({ method, operation, path }) =>
    faultsOfOperation(document, method, operation).map((fault) => `${method} ${path}: ${fault}`)
  )
  HttpApi.reflect(api as HttpApi.HttpApi.AnyWithProps, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors, mergedAnnotations, middleware, payloads }) => {
      const method = endpoint.method.toLowerCase()
      const path = endpoint.path.replace(/:(\w+)/g, "{$1}")
      const operation = document.paths[path]?.[method]
      const unless = (holds: boolean, fault: string) => {
        if (!holds) faults.push(`${method} ${path}: ${fault}`)
      }
      const isSaid = <I>(tag: Context.Tag<I, string>) =>
        Option.getOrElse(Context.getOption(endpoint.annotations, tag), () => "") !== ""
      unless(isSaid(OpenApi.Summary), "no summary")
      unless(isSaid(OpenApi.Description), "no description")
      unless(
        [...middleware].some(({ key }) => key === Authentication.key),
        "answers without a key"
      )
      const scope = Option.getOrUndefined(Context.getOption(mergedAnnotations, RequiredScope))
      const expected = endpoint.name === "ping" ? undefined : "pim:read"
      if (method === "get") unless(scope === expected, `a GET with the scope ${scope}`)
      else unless(scope === "pim:write" || scope === "pim:delete", `writes with the scope ${scope}`)
      unless(errors.has(401), "401 is not declared")
      unless(errors.has(403) === (scope !== undefined), "403 where no scope is required, or no 403 where one is")
      unless(errors.has(404) || !path.includes("{"), "an id in the path and no 404")
      unless(payloads.size === 0 || (errors.has(413) && errors.has(415)), "takes a body and has no 413 or 415")

      const statuses = Object.keys(operation?.responses ?? {})
      const declared = [...errors.keys()].map(String).sort()
      const listed = statuses.filter((status) => Number(status) >= 400)
      unless(declared.join() === listed.join(), `lists ${listed}, declares ${declared}`)
      unless(statuses.includes("200") === (scope !== "pim:delete"), "a success nobody can reach, or none at all")
      unless(operation?.["x-required-scope"] === scope, "the document has another scope")
      unless(operation?.security.length === 1, "the document asks for no key")
    }
  })
  return faults
}

describe("the definition", () => {
  it("has all errors of the error table", () => {
    const lines = Object.values(errorCodes).map(({ code, status }) => `${status} ${code}`)
    assert.deepStrictEqual(
      lines.filter((line) => !closedTable.includes(line)),
      []
    )
    assert.deepStrictEqual(
      closedTable.filter((line) => !lines.includes(line)),
      []
    )
    assert.strictEqual(new Set(lines).size, lines.length)
  })

  it("describes and guards every endpoint, and agrees with the document", () => {
    assert.deepStrictEqual(faultsOf(RestApi), [])
  })

  it("fails the check if it does not", () => {
    const Teapot = Schema.Struct({ error: Schema.String }).annotations(HttpApiSchema.annotations({ status: 418 }))
    const bare = HttpApi.make("planted").add(
      HttpApiGroup.make("group").add(
        HttpApiEndpoint.get("bare")`/bare/${HttpApiSchema.param("id", Schema.String)}`
          .addSuccess(Schema.String)
          .addError(Teapot)
      )
    )
    assert.sameMembers(
      [...faultsOf(bare.annotate(OpenApi.Transform, toPublished(bare)))].filter((fault) => fault.includes("/bare")),
      [
        "get /bare/{id}: parameter id: no description",
        "get /bare/{id}: not in the table: 400 no envelope",
        "get /bare/{id}: not in the table: 418 no envelope",
        "get /bare/{id}: no summary",
        "get /bare/{id}: no description",
        "get /bare/{id}: answers without a key",
        "get /bare/{id}: a GET with the scope undefined",
        "get /bare/{id}: 401 is not declared",
        "get /bare/{id}: an id in the path and no 404",
        "get /bare/{id}: the document asks for no key"
      ]
    )
  })
})

describe("the document", () => {
  const document = documentOf(RestApi)
  const text = JSON.stringify(document)

  it("is OpenAPI 3.1", () => {
    assert.match(document.openapi, /^3\.1\.\d$/)
  })

  it("has every endpoint once, and the routes outside the definition", () => {
    const defined: Array<string> = []
    HttpApi.reflect(RestApi as unknown as HttpApi.HttpApi.AnyWithProps, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        defined.push(endpoint.path.replace(/:(\w+)/g, "{$1}"))
      }
    })
    const beside = [...documentRoutes, ...healthRoutes].map(({ path }) => path)
    assert.include(beside, openApiPath)
    assert.sameMembers(Object.keys(document.paths), [
      ...new Set(defined),
      ...beside.filter((path) => path !== documentationPath)
    ])
    for (const path of beside) assert.include(document.info.description, path)
    const ids = operationsOf(document).map(({ operation }) => operation.operationId)
    assert.strictEqual(new Set(ids).size, ids.length)
  })

  it("requires no key outside the definition, and lists no response to a bad key there", () => {
    for (const { path } of [...documentRoutes, ...healthRoutes].filter(({ path }) => path !== documentationPath)) {
      const operation = document.paths[path]?.get
      assert.deepStrictEqual(operation?.security, [])
      assert.notIncludeMembers(Object.keys(operation?.responses ?? {}), ["401", "403", "429"])
    }
  })

  it("names every code of the table in its guide", () => {
    for (const { code } of Object.values(errorCodes)) assert.include(document.info.description, `\`${code}\``)
  })

  it("describes exactly the headers that it refers to", () => {
    const carried = new Set(Object.values(headersByStatus).flat().concat(everyHeader))
    assert.sameMembers(Object.keys(document.components.headers), [...carried])
    assert.sameMembers(Object.keys(headers), [...carried])
  })

  it("contains no names of the library", () => {
    for (const noise of ["HttpApiDecodeError", "PropertyKey", "a string matching", '"additionalProperties":false']) {
      assert.notInclude(text, noise)
    }
    assert.notMatch(text, /"title":"(int|nonEmptyString|[a-z]+\(.*?)"/i)
    for (const name of Object.keys(document.components.schemas)) assert.match(name, /^[A-Z][A-Za-z]+$/)
  })

  it("has an example of every catalog response", () => {
    const without = operationsOf(document)
      .filter(({ operation }) =>
        ["Catalog", "Stores", "Store data", "Sales channels", "Drops"].some((tag) => operation.tags.includes(tag))
      )
      .filter(({ operation }) => {
        const response = operation.responses["200"]
        const content = response && "content" in response ? response.content : undefined
        return content?.["application/json"]?.example === undefined
      })
    assert.deepStrictEqual(without, [])
  })
})
