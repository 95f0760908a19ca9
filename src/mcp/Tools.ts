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
  jsonSchemaOf,
  type ListedSchema,
  misshapenIn,
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
  renamed,
  toConnector,
  wire,
  wordsOf
} from "./Vocabulary.ts"

/** What an endpoint's program takes: what a handler would give it. */
export interface ToolRequest {
  readonly path?: Readonly<Record<string, unknown>>
  readonly urlParams?: Readonly<Record<string, unknown>>
  readonly payload?: unknown
}

/** A call, understood. */
export interface Asked {
  readonly request: ToolRequest
  /** Rows of a page at most. */
  readonly limit: number
  /** Where a page begins whose tool has a cursor of its own. */
  readonly cursor: string | undefined
  /** Members of rows to give. */
  readonly fields: ReadonlyArray<string> | undefined
  /** Keys of attributes to give. */
  readonly attributes: ReadonlyArray<string> | undefined
  /** The character at which the value of the only key begins. */
  readonly valueOffset: number
}

/** A tool as a list of tools shows it. */
export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ListedSchema
  readonly outputSchema: ListedSchema
  readonly annotations: ToolHints
}

/** An endpoint as a tool. */
export interface DerivedTool {
  /** The endpoint's name, and that of its program. */
  readonly endpoint: string
  readonly tool: ToolDefinition
  /** How long a call may take. */
  readonly bound: BoundName
  readonly listed: ListedTool
  /** ValidationFailed names every argument that is missing, unknown or does not fit, and what is allowed. */
  readonly decode: (args: unknown) => Either.Either<Asked, ValidationFailed>
  /** What the program answered, as the wire and the connector's vocabulary have it. */
  readonly encode: (answer: unknown) => Record<string, unknown>
  /** The same for a page that is JSON text already, if names are all that differs. */
  readonly renamePage: RenamePage | undefined
  /** What the service says of a request, in the connector's words. */
  readonly say: (issues: ReadonlyArray<Issue>) => ReadonlyArray<Issue>
  /** The schema of its arguments; the list of tools shows the same in fewer words. */
  readonly input: ObjectSchema
  /** The schema of its answers, whole; the list of tools shows an outline of it. */
  readonly output: ObjectSchema
  /** The schemas that are renamed: of each part of the request, and of the answer. */
  readonly inputs: ReadonlyArray<SchemaAST.AST>
  readonly success: SchemaAST.AST
}

/** Whether calls reach stores: their user may have to be asked, and a client can follow them. */
export const isPublish = ({ tool }: DerivedTool): boolean => tool.tier === "pim:publish"

/** What reflection tells of an endpoint, as far as a tool needs it. */
interface Reflected {
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

const partsOf = ({ pathSchema, payloadSchema, urlParamsSchema }: Reflected["endpoint"]) =>
  (
    [
      ["path", pathSchema],
      ["urlParams", urlParamsSchema],
      ["payload", payloadSchema]
    ] as const
  ).flatMap(
    ([part, schema]): ReadonlyArray<readonly [Part, SchemaAST.AST]> =>
      Option.isSome(schema) ? [[part, schema.value.ast]] : []
  )

const literalOf = (ast: SchemaAST.AST): SchemaAST.TypeLiteral => {
  const inner = wire(ast)
  if (inner._tag !== "TypeLiteral") throw new Error("what an endpoint takes is an object")
  return inner
}

/** The arguments that the connector adds to those of an endpoint. */
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

/** The schemas of the rows that an answer's lists hold. */
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

/** The answer's schema with what the connector's cutting adds to it and may leave out. */
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

/** A description is read in this order, and nobody reads it twice. Every connection has the read tier: it is not named. */
const describe = ({ description: { does, ids, never, rather }, tier }: ToolDefinition) =>
  [does, rather, ids, never, tier === "pim:read" ? "" : `Needs the ${shortName(tier)} tier.`]
    .filter((part) => part !== "")
    .join(" ")

const unique = (issues: ReadonlyArray<Issue>) => {
  const seen = new Set<string>()
  return issues.filter(({ path }) => !seen.has(path) && seen.add(path))
}

/** Whether a path leads to a place or below it. */
const isWithin = (path: ReadonlyArray<PropertyKey>, place: ReadonlyArray<PropertyKey>) =>
  place.every((step, index) => path[index] === step)

/** A path in REST's names, in the connector's: along the schema, as far as it goes. */
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

/** Replaces whole words of several parts: those of one ("id", "type") mean other things too. */
const translator = (words: ReadonlyMap<string, string>) => {
  const known = [...words.keys()].filter((word) => word.includes("_"))
  if (known.length === 0) return (text: string) => text
  const pattern = new RegExp(`(?<![\\w.])(?:${known.join("|")})(?![\\w])`, "g")
  return (text: string) => text.replace(pattern, (word) => words.get(word) ?? word)
}

/** Earlier clients name attributes in `fields`. */
const withAttributes = (given: unknown): unknown => {
  if (!isObject(given) || given.fields === undefined || given.attributes !== undefined) return given
  const { fields, ...others } = given
  return { ...others, attributes: fields }
}

/** The schema of a tool's arguments: the members of all parts of the request. */
const inputSchemaOf = (parts: ReadonlyArray<SchemaAST.AST>, translate: (text: string) => string) => {
  const members = parts.flatMap((ast) => literalOf(renamed(literalOf(ast))).propertySignatures)
  return {
    ...jsonSchemaOf(new SchemaAST.TypeLiteral(members, []), translate),
    additionalProperties: false as const
  }
}

/** An endpoint that is offered to agents, as a tool. */
const derive = (endpoint: Reflected["endpoint"], tool: ToolDefinition, success: SchemaAST.AST): DerivedTool => {
  const parts = partsOf(endpoint)
  const derivedOutput = jsonSchemaOf(tool.answer.shape?.ast ?? renamed(success))
  const members = membersOfRows(derivedOutput, tool.answer.rows ?? []).filter((name) => name !== "truncated_keys")
  const own = ownArguments(tool, members)
  const asts = [...parts.map(([, ast]) => ast), ...(own === undefined ? [] : [own])]
  const taken = asts.map((ast) => membersOf(literalOf(ast)).map(({ connector }) => connector))
  const names = taken.flat()
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
      message === undefined ? (allowedAt(inputSchema, path) ?? "does not fit its description") : translate(message)
  })

  const missing = (path: ReadonlyArray<PropertyKey>): Misfit => {
    const allowed = allowedAt(inputSchema, path)
    return { path, message: allowed === undefined ? "is missing" : `is missing; it ${allowed}` }
  }

  /** A part of the request as its own schema decodes it, with what is wrong with it. */
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

  const decode = (given: unknown): Either.Either<Asked, ValidationFailed> => {
    const named = tool.answer.fields === "attributes" ? withAttributes(given) : given
    const sent = withoutNulls(inputSchema, named)
    const args: Record<string, unknown> = {
      ...(tool.answer.kind === "walk" && { limit: defaultRows }),
      ...(isObject(sent) ? sent : {})
    }
    const unknown = Object.keys(args).filter((name) => !names.includes(name))
    // What the schema that agents read says is said in its words; REST's own schemas, which judge the rest, speak of
    // parameters. They are not asked of an argument that is no list or too long a one: they would look at a million items.
    const misshapen = misshapenIn(inputSchema, isObject(sent) ? sent : {})
    const refused = new Set(misshapen.flatMap(([name, ...inside]) => (inside.length === 0 ? [name] : [])))
    const found = takers.map((take, index) =>
      take(
        Object.fromEntries(
          (taken[index] ?? []).flatMap((name) =>
            Object.hasOwn(args, name) && !refused.has(name) ? [[name, args[name]]] : []
          )
        )
      )
    )
    const misfits: ReadonlyArray<Misfit> = [
      ...unknown.map((name) => notKnown(name, names)),
      ...misshapen.map((path) => ({ path, message: undefined })),
      ...found.flatMap((part) => part.misfits).filter(({ path }) => !misshapen.some((at) => isWithin(path, at)))
    ]
    // An argument that was refused already is missing from what is decoded after: the first complaint of a place counts.
    if (misfits.length > 0) return Either.left(new ValidationFailed({ issues: unique(misfits.map(issueOf)) }))
    const request: ToolRequest = Object.fromEntries(parts.map(([part], index) => [part, found[index]?.value]))
    const { value_offset = 0, ...extra } = (own === undefined ? {} : (found.at(-1)?.value ?? {})) as Partial<Asked> & {
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
      // The argument `fields` names the members of a row already.
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

/** The tools of an API: one for each endpoint that carries the annotation, in the order of the definition. */
export const toolsOf = (api: HttpApi.HttpApi.Any): ReadonlyArray<DerivedTool> => {
  const found: Array<DerivedTool> = []
  HttpApi.reflect(api as HttpApi.HttpApi.AnyWithProps, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, successes }: Reflected) => {
      const tool = Context.getOption(endpoint.annotations, Tool)
      if (Option.isNone(tool)) return
      const success = [...successes.values()].map(({ ast }) => ast).find(Option.isSome)
      if (success === undefined) throw new Error(`${tool.value.name} answers nothing`)
      found.push(derive(endpoint, tool.value, success.value))
    }
  })
  return found
}
