import { HttpApi } from "@effect/platform"
import { Context, Either, Option, ParseResult, Schema, SchemaAST } from "effect"
import { isRecord, type JsonSchema, type Schemas } from "../api/openapi/OpenApiSchemas.ts"
import { type BoundName, TimeBound } from "../api/TimeBound.ts"
import { defaultRows, Tool, type ToolDefinition, type ToolHints } from "../api/Tool.ts"
import { shortName } from "../connections/Tier.ts"
import { type Issue, ValidationFailed } from "../model/Errors.ts"
import { JsonText } from "../model/JsonText.ts"
import { AttributesArgument, FieldsArgument, RowsArgument } from "./Arguments.ts"
import {
  allowedAt,
  findWrongTypes,
  jsonSchemaOf,
  type ListedSchema,
  type ObjectSchema,
  outline,
  toListed,
  withoutNulls
} from "./JsonSchemas.ts"
import { makeRenamePage, type RenamePage } from "./PageText.ts"
import {
  fromConnector,
  isObject,
  type Misfit,
  membersOf,
  notKnown,
  ownMessage,
  pathOf,
  toConnector,
  toConnectorSchema,
  wire,
  wordsOf
} from "./Vocabulary.ts"

/** The input of an endpoint's program, as an HTTP handler would pass it. */
export interface ToolRequest {
  readonly path?: Readonly<Record<string, unknown>>
  readonly urlParams?: Readonly<Record<string, unknown>>
  readonly payload?: unknown
}

/** A decoded call. */
export interface Call {
  readonly request: ToolRequest
  /** Maximum rows of a page. */
  readonly limit: number
  /** The cursor, if the tool pages through whole lists itself (kind `bounded`). */
  readonly cursor: string | undefined
  /** Members of each row to return. */
  readonly fields: ReadonlyArray<string> | undefined
  /** Keys of the attributes to return. */
  readonly attributes: ReadonlyArray<string> | undefined
  /** If `attributes` has one key: the character of the value to begin at, in code points. */
  readonly valueOffset: number
}

/** A tool as `tools/list` shows it. */
export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ListedSchema
  readonly outputSchema: ListedSchema
  readonly annotations: ToolHints
}

/** A tool that was made from an endpoint. */
export interface DerivedTool {
  /** The name of the endpoint and of its program. */
  readonly endpoint: string
  readonly tool: ToolDefinition
  /** The time limit of a call. */
  readonly bound: BoundName
  readonly listed: ListedTool
  /** Decodes the arguments. ValidationFailed lists every argument that is missing, unknown or invalid, and what is allowed. */
  readonly decode: (args: unknown) => Either.Either<Call, ValidationFailed>
  /** Encodes the program's answer as JSON with the connector's names. */
  readonly encode: (answer: unknown) => Record<string, unknown>
  /** As `encode`, for a page that is JSON text already. Undefined: more than names changes, so `encode` must parse the page. */
  readonly renamePage: RenamePage | undefined
  /** Rewrites the service's issues with the connector's names. */
  readonly say: (issues: ReadonlyArray<Issue>) => ReadonlyArray<Issue>
  /** The whole schema of the arguments. `listed` has a shorter form that accepts the same values. */
  readonly input: ObjectSchema
  /** The whole schema of the answers. `listed` has an outline of it. */
  readonly output: ObjectSchema
  /** Effect schemas before renaming: of each part of the request (`inputs`), and of the answer (`success`). */
  readonly inputs: ReadonlyArray<SchemaAST.AST>
  readonly success: SchemaAST.AST
}

/** Whether the tool publishes to stores. The user may have to confirm its calls, and a client can follow their progress. */
export const isPublish = ({ tool }: DerivedTool): boolean => tool.tier === "pim:publish"

/** Whether the answers of the tool depend on nothing but the account's version, so that a replica may be read. */
export const readsVersion = ({ tool: { hints } }: DerivedTool): boolean => hints.readOnlyHint && !hints.openWorldHint

/** The part of an endpoint's reflection that tools use. */
interface Reflection {
  readonly endpoint: {
    readonly name: string
    readonly annotations: Context.Context<never>
    readonly pathSchema: Option.Option<Schema.Schema.All>
    readonly urlParamsSchema: Option.Option<Schema.Schema.All>
    readonly payloadSchema: Option.Option<Schema.Schema.All>
  }
  readonly successes: ReadonlyMap<number, { readonly ast: Option.Option<SchemaAST.AST> }>
}

type Part = "path" | "urlParams" | "payload"

const partsOf = ({ pathSchema, payloadSchema, urlParamsSchema }: Reflection["endpoint"]) =>
  (
    [
      ["path", pathSchema],
      ["urlParams", urlParamsSchema],
      ["payload", payloadSchema]
    ] as const
  ).flatMap(
    ([part, schema]): ReadonlyArray<readonly [Part, SchemaAST.AST]> =>
      Option.isSome(schema) ? [[part, withoutOmitted(schema.value.ast)]] : []
  )

/** The schema without the parameters that tools do not have. */
const withoutOmitted = (ast: SchemaAST.AST): SchemaAST.AST => {
  const omitted = membersOf(literalOf(ast)).filter(({ what }) => what.omit === true)
  return omitted.length === 0
    ? ast
    : Schema.make<Record<string, unknown>>(ast).pipe(Schema.omit(...omitted.map(({ rest }) => rest))).ast
}

const literalOf = (ast: SchemaAST.AST): SchemaAST.TypeLiteral => {
  const inner = wire(ast)
  if (inner._tag !== "TypeLiteral") throw new Error("the input of an endpoint must be an object")
  return inner
}

/** The arguments that the connector adds to an endpoint's own. */
const ownArguments = ({ answer }: ToolDefinition, members: ReadonlyArray<string>): SchemaAST.AST | undefined => {
  const fields =
    answer.fields === undefined
      ? {}
      : answer.fields === "members"
        ? FieldsArgument(members)
        : AttributesArgument(answer.kind === "record")
  const rows = answer.kind === "bounded" ? RowsArgument(answer.limited !== false) : {}
  const all = { ...rows, ...fields }
  return Object.keys(all).length === 0 ? undefined : Schema.Struct(all).ast
}

/** The schemas of the rows in an answer's lists. */
const rowSchemas = (output: ObjectSchema, rows: ReadonlyArray<string>): ReadonlyArray<JsonSchema> =>
  rows.flatMap((name) => {
    const list = output.properties[name]
    return isRecord(list) && isRecord(list.items) ? [list.items] : []
  })

const membersOfRows = (output: ObjectSchema, rows: ReadonlyArray<string>) => [
  ...new Set(
    rowSchemas(output, rows).flatMap(({ properties }) => (isRecord(properties) ? Object.keys(properties) : []))
  )
]

const truncatedKeys: JsonSchema = { type: "array", items: { type: "string" } }

const unsetKeys: JsonSchema = { type: "array", items: { type: "string" } }

const nextCursor: JsonSchema = { type: ["string", "null"] }

const withMembers = (schema: JsonSchema, members: Schemas): JsonSchema => ({
  ...schema,
  properties: { ...(isRecord(schema.properties) ? schema.properties : {}), ...members }
})

/** The answer's schema after cutting: with `truncated_keys` and cursors, and with members optional that `fields` can leave out. */
const outputOf = (derived: ObjectSchema, { answer }: ToolDefinition): ObjectSchema => {
  const rows = answer.rows ?? []
  const keys = answer.keys ?? []
  const row = (schema: JsonSchema): JsonSchema => ({
    ...withMembers(schema, { truncated_keys: truncatedKeys }),
    ...(answer.fields === "members" && {
      required: (Array.isArray(schema.required) ? schema.required : []).filter((name) => keys.includes(name))
    })
  })
  const lists = Object.fromEntries(
    rows.flatMap((name): ReadonlyArray<readonly [string, JsonSchema]> => {
      const list = derived.properties[name]
      return isRecord(list) && isRecord(list.items) && list.items.type === "object"
        ? [[name, { ...list, items: row(list.items) }]]
        : []
    })
  )
  const paged = answer.kind === "bounded"
  return {
    ...derived,
    properties: {
      ...derived.properties,
      ...lists,
      ...((answer.kind === "record" || paged) && !("data" in derived.properties) && { truncated_keys: truncatedKeys }),
      ...(answer.fields === "attributes" && { unset_keys: unsetKeys }),
      ...(answer.fields === "attributes" && answer.kind === "record" && { next_value_offset: { type: "integer" } }),
      ...(derived.properties.next_cursor !== undefined || paged ? { next_cursor: nextCursor } : {})
    },
    required: paged ? [...new Set([...derived.required, "next_cursor"])] : derived.required
  }
}

/** Joins the parts of a description. The read tier is not mentioned, because every connection has it. */
const describe = ({ description: { does, ids, never, usage }, tier }: ToolDefinition) =>
  [does, usage, ids, never, tier === "pim:read" ? "" : `Needs the ${shortName(tier)} tier.`]
    .filter((part) => part !== "")
    .join(" ")

const unique = (issues: ReadonlyArray<Issue>) => {
  const paths = new Set<string>()
  return issues.filter(({ path }) => !paths.has(path) && paths.add(path))
}

/** Whether a path equals `place` or is below it. */
const isWithin = (path: ReadonlyArray<PropertyKey>, place: ReadonlyArray<PropertyKey>) =>
  place.every((step, index) => path[index] === step)

/** Translates a path from REST's names to the connector's, as far as the schema describes it. */
const pathInConnector = (ast: SchemaAST.AST, path: ReadonlyArray<PropertyKey>): ReadonlyArray<PropertyKey> => {
  const [step, ...rest] = path
  if (step === undefined) return []
  const inner = wire(ast)
  switch (inner._tag) {
    case "TypeLiteral": {
      const member = membersOf(inner).find((each) => each.rest === step)
      return member === undefined ? path : [member.connector, ...pathInConnector(member.type, rest)]
    }
    case "TupleType": {
      const type = inner.elements[Number(step)]?.type ?? inner.rest[0]?.type
      return type === undefined ? path : [step, ...pathInConnector(type, rest)]
    }
    case "Union": {
      const objects = inner.types.filter((type) => ["TypeLiteral", "TupleType"].includes(wire(type)._tag))
      return objects[0] === undefined ? path : pathInConnector(objects[0], path)
    }
    default:
      return path
  }
}

/** Replaces REST's names in a text, if they contain an underscore. Others ("id", "type") are also ordinary words. */
const translator = (words: ReadonlyMap<string, string>) => {
  const restNames = [...words.keys()].filter((word) => word.includes("_"))
  if (restNames.length === 0) return (text: string) => text
  const pattern = new RegExp(`(?<![\\w.])(?:${restNames.join("|")})(?![\\w])`, "g")
  return (text: string) => text.replace(pattern, (word) => words.get(word) ?? word)
}

/** Earlier clients name attributes in `fields`, so `fields` is accepted as `attributes`. */
const withAttributes = (toolArguments: unknown): unknown => {
  if (!isObject(toolArguments) || toolArguments.fields === undefined || toolArguments.attributes !== undefined)
    return toolArguments
  const { fields, ...others } = toolArguments
  return { ...others, attributes: fields }
}

/** The schema of a tool's arguments: the members of all parts of the request. */
const inputSchemaOf = (parts: ReadonlyArray<SchemaAST.AST>, translate: (text: string) => string) => {
  const members = parts.flatMap((ast) => literalOf(toConnectorSchema(literalOf(ast))).propertySignatures)
  return {
    ...jsonSchemaOf(new SchemaAST.TypeLiteral(members, []), translate),
    additionalProperties: false as const
  }
}

/** Makes a tool of an endpoint. */
const derive = (endpoint: Reflection["endpoint"], tool: ToolDefinition, success: SchemaAST.AST): DerivedTool => {
  const parts = partsOf(endpoint)
  const derivedOutput = jsonSchemaOf(tool.answer.shape?.ast ?? toConnectorSchema(success))
  const members = membersOfRows(derivedOutput, tool.answer.rows ?? []).filter((name) => name !== "truncated_keys")
  const own = ownArguments(tool, members)
  const asts = [...parts.map(([, ast]) => ast), ...(own === undefined ? [] : [own])]
  const namesByAst = asts.map((ast) => membersOf(literalOf(ast)).map(({ connector }) => connector))
  const names = namesByAst.flat()
  const translate = translator(new Map(asts.flatMap((ast) => wordsOf(ast))))
  const inputSchema = inputSchemaOf(asts, translate)
  const output = outputOf(derivedOutput, tool)
  const map = toConnector(success)
  const encode = Schema.encodeUnknownSync(Schema.make<unknown>(success))
  const say = (issues: ReadonlyArray<Issue>) =>
    issues.map(({ message, path }) => ({ path: translate(path), message: translate(message) }))

  const issueOf = ({ message, path }: Misfit): Issue => ({
    path: pathOf(path),
    message:
      message === undefined
        ? (allowedAt(inputSchema, path) ?? "is not valid: see the tool's input schema")
        : translate(message)
  })

  const missing = (path: ReadonlyArray<PropertyKey>): Misfit => {
    const allowed = allowedAt(inputSchema, path)
    return { path, message: allowed === undefined ? "is missing" : `is missing; it ${allowed}` }
  }

  /** Makes a function that decodes one part of the request and collects its issues. */
  const takerOf = (ast: SchemaAST.AST) => {
    const decodePart = Schema.decodeUnknownEither(Schema.make<unknown>(ast), { errors: "all" })
    return (args: Readonly<Record<string, unknown>>) => {
      const { misfits, value } = fromConnector(ast, args)
      return Either.match(decodePart(value), {
        onLeft: (error) => ({
          value: undefined,
          misfits: [
            ...misfits,
            ...ParseResult.ArrayFormatter.formatErrorSync(error).map(({ _tag, message, path }): Misfit => {
              const at = pathInConnector(ast, path)
              return _tag === "Missing" ? missing(at) : { path: at, message: ownMessage(message) }
            })
          ]
        }),
        onRight: (decoded) => ({ value: decoded, misfits })
      })
    }
  }
  const takers = asts.map(takerOf)

  const decode = (toolArguments: unknown): Either.Either<Call, ValidationFailed> => {
    const namedArgs = tool.answer.fields === "attributes" ? withAttributes(toolArguments) : toolArguments
    const withValues = withoutNulls(inputSchema, namedArgs)
    const args: Record<string, unknown> = {
      ...(tool.answer.kind === "walk" && { limit: defaultRows }),
      ...(isObject(withValues) ? withValues : {})
    }
    const unknown = Object.keys(args).filter((name) => !names.includes(name))
    // Issues of the schema that agents read come first, because REST's schemas, which check the rest, speak of parameters.
    // Misshapen arguments are not decoded: REST's schemas would look at every item of a list of a million.
    const wrongTypes = findWrongTypes(inputSchema, isObject(withValues) ? withValues : {})
    const refused = new Set(wrongTypes.flatMap(([name, ...inside]) => (inside.length === 0 ? [name] : [])))
    const found = takers.map((take, index) =>
      take(
        Object.fromEntries(
          (namesByAst[index] ?? []).flatMap((name) =>
            Object.hasOwn(args, name) && !refused.has(name) ? [[name, args[name]]] : []
          )
        )
      )
    )
    const misfits: ReadonlyArray<Misfit> = [
      ...unknown.map((name) => notKnown(name, names)),
      ...wrongTypes.map((path) => ({ path, message: undefined })),
      ...found.flatMap((part) => part.misfits).filter(({ path }) => !wrongTypes.some((at) => isWithin(path, at)))
    ]
    // A misshapen argument was not decoded, so it is also reported as missing: only the first issue of a path counts.
    if (misfits.length > 0) return Either.left(new ValidationFailed({ issues: unique(misfits.map(issueOf)) }))
    const request: ToolRequest = Object.fromEntries(parts.map(([part], index) => [part, found[index]?.value]))
    const { value_offset = 0, ...extra } = (own === undefined ? {} : (found.at(-1)?.value ?? {})) as Partial<Call> & {
      readonly value_offset?: number
    }
    if (value_offset > 0 && extra.attributes?.length !== 1)
      return Either.left(ValidationFailed.at("value_offset", "needs exactly one key in `attributes`"))
    return Either.right({
      request,
      limit: extra.limit ?? Number(request.urlParams?.limit ?? defaultRows),
      cursor: extra.cursor,
      fields: extra.fields,
      attributes: extra.attributes,
      valueOffset: value_offset
    })
  }

  return {
    endpoint: endpoint.name,
    tool,
    bound: Option.getOrElse(Context.getOption(endpoint.annotations, TimeBound), () => "usual" as const),
    listed: {
      name: tool.name,
      title: tool.title,
      description: describe(tool),
      inputSchema: toListed(inputSchema) as ListedSchema,
      // One level less if the argument `fields` selects members, because that argument lists the members of a row already.
      outputSchema: outline(output, tool.answer.fields === "members" ? 1 : 2),
      annotations: tool.hints
    },
    decode,
    encode: (answer) =>
      map(answer instanceof JsonText ? JSON.parse(answer.text) : encode(answer)) as Record<string, unknown>,
    renamePage: tool.answer.kind === "walk" ? makeRenamePage(success) : undefined,
    say,
    input: inputSchema,
    output,
    inputs: asts,
    success
  }
}

/** The tools of an API: one for each endpoint with a `Tool` annotation, in the order of the definition. */
export const toolsOf = (api: HttpApi.HttpApi.Any): ReadonlyArray<DerivedTool> => {
  const found: Array<DerivedTool> = []
  HttpApi.reflect(api as HttpApi.HttpApi.AnyWithProps, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, successes }: Reflection) => {
      const tool = Context.getOption(endpoint.annotations, Tool)
      if (Option.isNone(tool)) return
      const success = [...successes.values()].map(({ ast }) => ast).find(Option.isSome)
      if (success === undefined) throw new Error(`the endpoint of ${tool.value.name} has no response body`)
      found.push(derive(endpoint, tool.value, tool.value.answer.success?.ast ?? success.value))
    }
  })
  return found
}
