import { Context, Schema, SchemaAST } from "effect"
import type { Tier } from "../connections/Tier.ts"

/** Rows of a page that nobody asked the size of, and the most that a tool gives at once. */
export const defaultRows = 25
export const mostRows = 100

/** A whole number as a tool takes it, brought between two bounds, where REST reads it from text. */
export const numberArgument = (
  least: number,
  most: number,
  description: string,
  fallback = defaultRows
): Schema.Schema<string, number> =>
  Schema.transform(
    // However large: what is beyond a bound becomes the bound, and `Int` ends where numbers are no longer exact.
    Schema.Number.pipe(
      Schema.filter((value) => Number.isInteger(value), {
        jsonSchema: { type: "integer", description, minimum: least, default: fallback }
      })
    ),
    Schema.String,
    { strict: true, decode: (value) => String(Math.min(Math.max(value, least), most)), encode: Number }
  )

/** The hints of the protocol, all of them said. */
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

/** A read that asks a store's platform. */
export const liveRead: ToolHints = { ...readOnly, openWorldHint: true }

/** Writes drafts over drafts. */
export const draftWrite: ToolHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: false
}

/** How an answer that does not fit is cut, and what an agent may leave out of it. */
export interface ToolAnswer {
  /**
   * - `walk`: the endpoint pages by `limit` and `cursor` itself.
   * - `bounded`: the endpoint gives whole lists; the tool pages through their rows, in order, by a cursor of its own.
   * - `pages`: the endpoint pages by number: no row may be left out, so long ones are cut.
   * - `batch`: one result an operation, all of them.
   * - `record`: one record.
   */
  readonly kind: "walk" | "bounded" | "pages" | "batch" | "record"
  /** Members of the answer that are lists of rows, in the order in which a cursor passes them. */
  readonly rows?: ReadonlyArray<string>
  /** Members of a row that are always given, whatever `fields` says. */
  readonly keys?: ReadonlyArray<string>
  /** `bounded` alone: whether `limit` is taken. What belongs to one record is given as far as it fits. */
  readonly limited?: boolean
  /** What the answer is promised to look like, where the endpoint's own schema is a choice of several. */
  readonly shape?: Schema.Schema.AnyNoContext
  /** What the argument `fields` chooses: members of the rows, or attributes by their key. Absent: there is no such argument. */
  readonly fields?: "members" | "attributes"
}

/** A tool, as agents see it. */
export interface ToolDefinition {
  readonly name: `${string}_v1`
  readonly title: string
  readonly tier: Tier
  readonly hints: ToolHints
  /** The description, in the order in which it is read. */
  readonly description: {
    /** What it returns or changes. */
    readonly does: string
    /** When to use it rather than its neighbour, by name. */
    readonly rather: string
    /** Which tool gives the ids it takes. */
    readonly ids: string
    /** What it never does; where it says channel, that a channel is a store. */
    readonly never: string
  }
  /** By argument, the tool to call when what it names is not found. */
  readonly idsFrom?: Readonly<Record<string, `${string}_v1`>>
  readonly answer: ToolAnswer
}

/** Offers an endpoint to agents as a tool. */
export class Tool extends Context.Tag("catalog/Tool")<Tool, ToolDefinition>() {}

/** What the connector makes of the position in a schema. */
export interface InConnector {
  /** The name of the member there; absent: the one it has. */
  readonly name?: string
  /** What an argument there is decoded by; absent: the schema itself. */
  readonly schema?: Schema.Schema.AnyNoContext
  /** Answers are given without it. */
  readonly omit?: boolean
  /** Answers have so many items of the list at most. */
  readonly most?: number
  /** A list of values by key: what `fields` chooses from where a tool takes attributes. */
  readonly keyed?: boolean
}

const InConnectorId = Symbol.for("catalog/InConnector")

/**
 * What the connector makes of this position. It belongs to the position, not to the name of the member: `store_id` is
 * `channel_id` where a definition says so, and nowhere else.
 */
export const inConnector =
  (what: InConnector | string) =>
  <A, I, R>(schema: Schema.Schema<A, I, R>): Schema.Schema<A, I, R> =>
    schema.annotations({ [InConnectorId]: typeof what === "string" ? { name: what } : what })

/** What the connector makes of members, by their names. */
type Positions<Name extends string> = Readonly<Record<Name, InConnector | string>>

const named = (ast: SchemaAST.AST, positions: Partial<Positions<string>>): SchemaAST.AST => {
  switch (ast._tag) {
    case "Refinement":
      return new SchemaAST.Refinement(named(ast.from, positions), ast.filter, ast.annotations)
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
      throw new Error("only the members of an object have positions")
  }
}

/** The same object, with what the connector makes of its members. What OpenAPI says of it stays. */
export const membersInConnector =
  <Name extends string>(positions: Positions<Name>) =>
  <A extends { readonly [Member in Name]?: unknown }, I, R>(schema: Schema.Schema<A, I, R>): Schema.Schema<A, I, R> =>
    Schema.make(named(schema.ast, positions))

export const inConnectorOf = (annotated: SchemaAST.Annotated): InConnector | undefined =>
  annotated.annotations[InConnectorId] as InConnector | undefined
