import { HttpApi, type OpenApi } from "@effect/platform"
import { Context, Option, Schema } from "effect"
import { type AnyScope, Scope } from "../../access/ApiKeyToken.ts"
import { RequiredScope } from "../Authentication.ts"
import { type ErrorTag, errorCodes } from "../ErrorCodes.ts"
import { envelopeOf } from "../ErrorEnvelope.ts"
import { errorExamples, exampleOf, listExample, requestIdExample } from "./OpenApiExamples.ts"
import { guide } from "./OpenApiGuide.ts"
import { headers, headersOf, ifNoneMatch } from "./OpenApiHeaders.ts"
import {
  isRecord,
  type JsonSchema,
  mapValues,
  namesIn,
  referencedName,
  type Schemas,
  tidySchema
} from "./OpenApiSchemas.ts"

export const openApiPath = "/api/v1/openapi.json"

interface Reference {
  readonly $ref: string
}

interface MediaType {
  readonly schema: JsonSchema
  readonly example?: unknown
}

interface Response {
  readonly description: string
  readonly headers: { readonly [name: string]: Reference }
  readonly content?: { readonly [contentType: string]: MediaType }
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description?: unknown
  /** False: a list of values is one parameter, with commas between the values. */
  readonly explode?: boolean
  readonly schema: JsonSchema
}

interface Operation {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary?: string | undefined
  readonly description?: string | undefined
  readonly deprecated?: boolean | undefined
  readonly security: ReadonlyArray<{ readonly [scheme: string]: ReadonlyArray<string> }>
  /** The required scope. An extension, because linters refuse scopes in `security` of a bearer scheme. */
  readonly "x-required-scope"?: AnyScope
  readonly parameters: ReadonlyArray<Parameter | Reference>
  readonly requestBody?: { readonly required: boolean; readonly content: { readonly [contentType: string]: MediaType } }
  readonly responses: { readonly [status: string]: Response | Reference }
}

/** The parts of OpenAPI 3.1 that this service uses. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description: string
    readonly contact: { readonly name: string }
    readonly license: { readonly name: string; readonly identifier: string }
  }
  readonly servers: ReadonlyArray<{ readonly url: string; readonly description: string }>
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description: string }>
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: {
    readonly securitySchemes: { readonly [name: string]: unknown }
    readonly parameters: { readonly [name: string]: Parameter }
    readonly headers: typeof headers
    readonly responses: { readonly [name: string]: Response }
    readonly schemas: Schemas
  }
}

const json = "application/json"
const serviceTag = "Service"
const ifNoneMatchReference: Reference = { $ref: "#/components/parameters/IfNoneMatch" }
const notModifiedReference: Reference = { $ref: "#/components/responses/NotModified" }

const notModified: Response = {
  description: "The body named by `If-None-Match` is still current; no body is sent.",
  headers: headersOf("304")
}

/** Error schemas that the library adds to every endpoint. This service never sends them. */
const libraryErrors = ["HttpApiDecodeError"]

/** The schema of a body without the library's errors. */
const ownSchema = (schema: JsonSchema): JsonSchema | undefined => {
  const alternatives = Array.isArray(schema.anyOf) ? (schema.anyOf as ReadonlyArray<JsonSchema>) : [schema]
  const own = alternatives.filter((alternative) => !libraryErrors.includes(referencedName(alternative) ?? ""))
  return own.length === alternatives.length ? schema : own.length > 1 ? { anyOf: own } : own[0]
}

/** The error to which a named envelope schema belongs. */
const errorOf = (schemaName: string | undefined): ErrorTag | undefined =>
  [schemaName, schemaName?.replace(/Error$/, "")].find(
    (name): name is ErrorTag => name !== undefined && Object.hasOwn(errorCodes, name)
  )

/** The example of a body: of its named schema, of the first schema of a union, or a list with the example of an item. */
const bodyExample = (schema: JsonSchema, path: string): unknown => {
  const name = referencedName(schema)
  if (name !== undefined) return exampleOf(name, path)
  if (Array.isArray(schema.anyOf) && isRecord(schema.anyOf[0])) return bodyExample(schema.anyOf[0], path)
  const { data, next_cursor: nextCursor, ...otherProperties } = isRecord(schema.properties) ? schema.properties : {}
  if (!isRecord(data) || !isRecord(data.items) || !isRecord(nextCursor)) return undefined
  const item = bodyExample(data.items, path)
  if (item === undefined) return undefined
  const required = Object.entries(otherProperties).filter(
    ([name]) => Array.isArray(schema.required) && schema.required.includes(name)
  )
  const others = mapValues(Object.fromEntries(required), (list) =>
    isRecord(list) && isRecord(list.items) ? [bodyExample(list.items, path)] : null
  )
  return { ...listExample(item, nextCursor.type === "null"), ...others }
}

const mediaType = (schema: JsonSchema, path: string): MediaType => {
  const example = bodyExample(schema, path)
  return example === undefined ? { schema } : { schema, example }
}

/** The response object of an error, which all operations share. */
const errorResponse = (tag: ErrorTag, schemaName: string, schemas: Schemas): Response => ({
  description: String(schemas[schemaName]?.description),
  headers: headersOf(String(errorCodes[tag].status)),
  content: {
    [json]: {
      schema: { $ref: `#/components/schemas/${schemaName}` },
      example: envelopeOf(errorExamples[tag], requestIdExample)
    }
  }
})

const isGrantable = Schema.is(Scope)

const routeKey = (method: string, path: string) => `${method.toLowerCase()} ${path.replace(/:(\w+)\??/g, "{$1}")}`

/** The scopes that endpoints require, by method and path. */
const scopesOf = (api: HttpApi.HttpApi.Any): ReadonlyMap<string, AnyScope> => {
  const scopes = new Map<string, AnyScope>()
  HttpApi.reflect(api as HttpApi.HttpApi.AnyWithProps, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, mergedAnnotations }) =>
      Option.map(Context.getOption(mergedAnnotations, RequiredScope), (scope) =>
        scopes.set(routeKey(endpoint.method, endpoint.path), scope)
      )
  })
  return scopes
}

/** Errors that every request can get. */
const anyRequest: ReadonlyArray<ErrorTag> = [
  "ValidationFailed",
  "RequestTimeout",
  "UriTooLong",
  "ExpectationFailed",
  "HeadersTooLarge",
  "InternalError",
  "Unavailable"
]

const referTo = (tags: ReadonlyArray<ErrorTag>) =>
  Object.fromEntries(tags.map((tag) => [errorCodes[tag].status, { $ref: `#/components/responses/${tag}` }]))

/** A documented operation that is not part of the API definition. It needs no key and uses no budget. */
const openOperation = (operation: {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly answer: string
  readonly body: MediaType
}): { readonly get: Operation } => ({
  get: {
    operationId: operation.operationId,
    tags: [serviceTag],
    summary: operation.summary,
    description: `${operation.description} It needs no key and uses no budget.`,
    security: [],
    parameters: [ifNoneMatchReference],
    responses: {
      200: { description: operation.answer, headers: headersOf("200"), content: { [json]: operation.body } },
      304: notModifiedReference,
      ...referTo(anyRequest)
    }
  }
})

const health = (status: string): MediaType => ({
  schema: {
    type: "object",
    required: ["status"],
    properties: { status: { type: "string", enum: [status] } }
  },
  example: { status }
})

const openPaths = {
  [openApiPath]: openOperation({
    operationId: "getOpenApi",
    summary: "Get this document",
    description: "The OpenAPI document of the service.",
    answer: "This document.",
    body: {
      schema: {
        type: "object",
        required: ["openapi", "info", "paths"],
        properties: { openapi: { type: "string" }, info: { type: "object" }, paths: { type: "object" } }
      }
    }
  }),
  "/healthz": openOperation({
    operationId: "getHealth",
    summary: "Check that the process answers",
    description: "For supervisors: restart a process that does not answer.",
    answer: "The process answers.",
    body: health("ok")
  }),
  "/readyz": openOperation({
    operationId: "getReadiness",
    summary: "Check that the service is ready",
    description:
      "For load balancers: 503 while the database does not answer, its schema is not current, or the service is shutting down.",
    answer: "The service is ready.",
    body: health("ready")
  })
}

/**
 * Makes the published document from the one that the library derives. Adds headers, 304 and scopes. Removes the library's own
 * errors, and success responses of operations that no credential may call.
 */
export const toPublished =
  (api: HttpApi.HttpApi.Any) =>
  (derived: Record<string, unknown>): OpenApiDocument => {
    const spec = derived as unknown as OpenApi.OpenAPISpec
    const scopes = scopesOf(api)
    const rawSchemas = spec.components.schemas as unknown as Schemas
    const tidy = tidySchema(rawSchemas)
    const schemas = mapValues(rawSchemas, tidy)
    const errors = new Map<ErrorTag, Response>()

    const publishResponse = (
      status: string,
      path: string,
      response: OpenApi.OpenApiSpecResponse
    ): Response | Reference => {
      const raw = response.content?.[json]?.schema as JsonSchema | undefined
      const own = raw && ownSchema(raw)
      const common = { description: response.description, headers: headersOf(status) }
      if (own === undefined) return common
      const schemaName = referencedName(own)
      const tag = errorOf(schemaName)
      if (schemaName === undefined || tag === undefined)
        return { ...common, content: { [json]: mediaType(tidy(own), path) } }
      errors.set(tag, errorResponse(tag, schemaName, schemas))
      return { $ref: `#/components/responses/${tag}` }
    }

    const publishOperation = (method: string, path: string, operation: OpenApi.OpenAPISpecOperation): Operation => {
      const scope = scopes.get(routeKey(method, path))
      const isReachable = scope === undefined || isGrantable(scope)
      const isConditional = method === "get"
      const responses = Object.entries(operation.responses as Record<string, OpenApi.OpenApiSpecResponse>)
      return {
        operationId: operation.operationId.slice(operation.operationId.lastIndexOf(".") + 1),
        tags: operation.tags,
        summary: operation.summary,
        description:
          scope !== undefined && isReachable
            ? `${operation.description}\n\nThe key needs the scope \`${scope}\`.`
            : operation.description,
        deprecated: operation.deprecated,
        security: operation.security,
        ...(scope !== undefined && { "x-required-scope": scope }),
        parameters: [
          ...operation.parameters.map((parameter) => {
            const { description, ...schema } = tidy(parameter.schema as unknown as JsonSchema)
            return {
              ...parameter,
              description: parameter.description ?? description,
              ...(schema.type === "array" && { explode: false }),
              schema
            }
          }),
          ...(isConditional ? [ifNoneMatchReference] : [])
        ],
        ...(operation.requestBody && {
          requestBody: {
            required: true,
            content: mapValues(operation.requestBody.content as Record<string, MediaType>, ({ schema }) =>
              mediaType(tidy(schema), path)
            )
          }
        }),
        responses: {
          ...Object.fromEntries(
            responses
              .filter(([status]) => isReachable || Number(status) >= 400)
              .map(([status, response]) => [status, publishResponse(status, path, response)])
          ),
          ...(isConditional && { 304: notModifiedReference })
        }
      }
    }

    const paths = {
      ...mapValues(spec.paths, (item, path) =>
        mapValues(item as Record<string, OpenApi.OpenAPISpecOperation>, (operation, method) =>
          publishOperation(method, path, operation)
        )
      ),
      ...openPaths
    }
    const responses = { NotModified: notModified, ...Object.fromEntries(errors) }
    const used = namesIn([paths, responses], schemas)
    return {
      openapi: spec.openapi,
      info: {
        title: spec.info.title,
        version: spec.info.version,
        description: guide,
        contact: { name: "The operator of this service" },
        license: { name: "MIT", identifier: "MIT" }
      },
      servers: [{ url: "/", description: "The server of this document." }],
      tags: [
        ...spec.tags.map(({ description, name }) => ({ name, description: description ?? name })),
        { name: serviceTag, description: "This document, and health checks." }
      ],
      paths,
      components: {
        securitySchemes: spec.components.securitySchemes,
        parameters: { IfNoneMatch: ifNoneMatch },
        headers,
        responses,
        schemas: Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
      }
    }
  }
