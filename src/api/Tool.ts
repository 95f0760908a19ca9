import { Context, Schema, SchemaAST } from "effect"
import type { Tier } from "../connections/Tier.ts"

/** Rows per page of a tool: the default, and the maximum. */
export const defaultRows = 50
export const maxRows = 250

/** A whole number in the arguments of a tool, clamped to its bounds. It is converted to text, because REST's schema decodes text. */
export const numberArgument = (
  min: number,
  max: number,
  description: string,
  fallback = defaultRows
): Schema.Schema<string, number> =>
  Schema.transform(
    // Not `Schema.Int`, which refuses numbers beyond 2^53. Here any number beyond a bound becomes the bound.
    Schema.Number.pipe(
      Schema.filter((value) => Number.isInteger(value), {
        jsonSchema: { type: "integer", description, minimum: min, default: fallback }
      })
    ),
    Schema.String,
    { strict: true, decode: (value) => String(Math.min(Math.max(value, min), max)), encode: Number }
  )

/** MCP's tool annotations, all required here. */
export interface ToolHints {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

export const readOnly: ToolHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false
}

/** Hints of a tool that reads from a store's platform. */
export const liveRead: ToolHints = { ...readOnly, openWorldHint: true }

export const draftWrite: ToolHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: false
}

/** How a result that is too long is shortened, and which parts an agent can select. */
export interface ToolAnswer {
  /**
   * - `walk`: the endpoint itself pages by `limit` and `cursor`.
   * - `bounded`: the endpoint returns whole lists; the tool pages through their rows in order, by a cursor of its own.
   * - `pages`: the endpoint pages by number, or each row is an outcome: no row can be left out, so long rows are shortened.
   * - `batch`: one result per operation, all of them.
   * - `record`: one record.
   */
  readonly kind: "walk" | "bounded" | "pages" | "batch" | "record"
  /** Members of the result that are lists of rows, in the order of paging. */
  readonly rows?: ReadonlyArray<string>
  /** Members of a row that are always included, whatever `fields` says. */
  readonly keys?: ReadonlyArray<string>
  /** Only for `bounded`: whether the tool has the argument `limit`. If not, a page has as many rows as fit. */
  readonly limited?: boolean
  /**
   * The schema of the tool's results, if it differs from the endpoint's: some forms of a result need parameters that the tool does
   * not have.
   */
  readonly success?: Schema.Schema.AnyNoContext
  /** The output schema, if the endpoint's own schema is a union. */
  readonly shape?: Schema.Schema.AnyNoContext
  /** The parts of a result that agents can select: members of the rows (argument `fields`), or attributes by key (argument `attributes`). */
  readonly fields?: "members" | "attributes"
}

/** The definition of a tool, from which its entry in `tools/list` is made. */
export interface ToolDefinition {
  readonly name: `${string}_v1`
  readonly title: string
  readonly tier: Tier
  readonly hints: ToolHints
  /** The parts of the tool's description. */
  readonly description: {
    /** Says what the tool returns or changes. */
    readonly does: string
    /** When to use the tool, and which similar tool to use otherwise. */
    readonly usage: string
    /** The tools that return the ids for this tool's arguments. */
    readonly ids: string
    /** Says what the tool never does. If the description mentions channels, also says that a channel is a store. */
    readonly never: string
  }
  /** By argument: the tool that lists valid ids, to call if the argument's record is not found. */
  readonly idsFrom?: Readonly<Record<string, `${string}_v1`>>
  readonly answer: ToolAnswer
  /** The argument whose list sets the cost: one request per item. Absent: a call costs one request. */
  readonly costsPerItemOf?: string
}

/** The annotation that makes an endpoint a tool. */
export class Tool extends Context.Tag("catalog/Tool")<Tool, ToolDefinition>() {}

/** How the connector changes one place in a schema, usually a member of an object. */
export interface InConnector {
  /** The member's name in the connector. Absent: unchanged. */
  readonly name?: string
  /** The schema of the argument. Absent: unchanged. */
  readonly schema?: Schema.Schema.AnyNoContext
  /** Whether arguments and results leave the member out. */
  readonly omit?: boolean
  /** Maximum number of items of the list in results. */
  readonly maxItems?: number
  /** Maximum number of characters of the text in results. */
  readonly maxCharacters?: number
  /** Whether the member is a list of values by key, from which the argument `attributes` selects. */
  readonly keyed?: boolean
}

const InConnectorId = Symbol.for("catalog/InConnector")

/**
 * Annotates one place in a schema with its change in the connector. The annotation does not apply to other members of the same
 * name: each `store_id` that becomes `channel_id` is annotated.
 */
export const inConnector =
  (what: InConnector | string) =>
  <A, I, R>(schema: Schema.Schema<A, I, R>): Schema.Schema<A, I, R> =>
    schema.annotations({ [InConnectorId]: typeof what === "string" ? { name: what } : what })

/** Changes in the connector by member name. A text is a new name. */
type Positions<Name extends string> = Readonly<Record<Name, InConnector | string>>

const withNames = (ast: SchemaAST.AST, positions: Partial<Positions<string>>): SchemaAST.AST => {
  switch (ast._tag) {
    case "Refinement":
      return new SchemaAST.Refinement(withNames(ast.from, positions), ast.filter, ast.annotations)
    case "TypeLiteral":
      return new SchemaAST.TypeLiteral(
        ast.propertySignatures.map((property) => {
          const what = positions[String(property.name)]
          return what === undefined
            ? property
            : new SchemaAST.PropertySignature(property.name, property.type, property.isOptional, property.isReadonly, {
                ...property.annotations,
                [InConnectorId]: typeof what === "string" ? { name: what } : what
              })
        }),
        ast.indexSignatures,
        ast.annotations
      )
    default:
      throw new Error("members can be annotated only on an object")
  }
}

/** Annotates the members of an object with their changes in the connector. OpenAPI is unaffected. */
export const membersInConnector =
  <Name extends string>(positions: Positions<Name>) =>
  <A extends { readonly [Member in Name]?: unknown }, I, R>(schema: Schema.Schema<A, I, R>): Schema.Schema<A, I, R> =>
    Schema.make(withNames(schema.ast, positions))

export const inConnectorOf = (annotated: SchemaAST.Annotated): InConnector | undefined =>
  annotated.annotations[InConnectorId] as InConnector | undefined
