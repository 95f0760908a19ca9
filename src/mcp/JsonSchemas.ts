import { JSONSchema, type SchemaAST } from "effect"
import { isRecord, type JsonSchema, mapValues, type Schemas } from "../api/openapi/OpenApiSchemas.ts"

/** A JSON Schema of an object. A type, no interface: so it is a record of keywords too. */
export type ObjectSchema = {
  readonly type: "object"
  readonly properties: Schemas
  readonly required: ReadonlyArray<string>
  readonly additionalProperties?: false
  readonly description?: string
}

const prefix = "#/$defs/"

/** Descriptions that the library makes up ("a string matching the pattern ..."): ours begin with a capital. */
const isMadeUp = (description: unknown) => typeof description === "string" && /^an? /.test(description)

/** `anyOf` a type and null is that type or null. */
const nullable = (schema: JsonSchema): JsonSchema => {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const other = anyOf.find((member) => member.type !== "null")
  if (other === undefined || !anyOf.some((member) => member.type === "null")) return schema
  if (typeof other.type !== "string") return schema
  const { enum: values, ...merged } = { ...other, ...rest }
  return {
    ...merged,
    type: [other.type, "null"],
    ...(Array.isArray(values) && { enum: [...values, null] })
  }
}

/** A schema that allows anything: the same as none. */
const isEmpty = (part: unknown) => isRecord(part) && Object.keys(part).length === 0

const plain = (part: unknown, definitions: Schemas, isInput: boolean): unknown => {
  if (Array.isArray(part)) return part.map((member) => plain(member, definitions, isInput))
  if (!isRecord(part)) return part
  const { $ref, ...beside } = part
  if (typeof $ref === "string")
    return plain({ ...definitions[$ref.slice(prefix.length)], ...beside }, definitions, isInput)
  const schema = Object.fromEntries(
    Object.entries(part).flatMap(([keyword, value]): ReadonlyArray<readonly [string, unknown]> => {
      switch (keyword) {
        case "title":
        case "$schema":
        case "$id":
          return []
        // Agents read what a tool takes; what it answers, they see.
        case "description":
          return isMadeUp(value) || !isInput ? [] : [[keyword, value]]
        // Within v1 answers may gain members; what an argument does not know is refused.
        case "additionalProperties": {
          const others = plain(value, definitions, isInput)
          return (others === false && !isInput) || isEmpty(others) ? [] : [[keyword, others]]
        }
        case "properties":
          return [[keyword, mapValues(value as Schemas, (member) => plain(member, definitions, isInput))]]
        default:
          return [[keyword, plain(value, definitions, isInput)]]
      }
    })
  )
  return nullable(schema)
}

/** The JSON Schema of a schema's encoded side, everything in its place: agents' APIs refuse references. */
export const jsonSchemaOf = (ast: SchemaAST.AST, side: "input" | "output"): ObjectSchema => {
  const definitions: Record<string, JSONSchema.JsonSchema7> = {}
  const schema = JSONSchema.fromAST(ast, {
    definitions,
    definitionPath: prefix,
    target: "jsonSchema2020-12",
    topLevelReferenceStrategy: "skip"
  })
  // The library types each keyword on its own; here a schema is a record of keywords.
  return plain(schema, definitions as unknown as Schemas, side === "input") as ObjectSchema
}

/** The part of a schema that a path leads to. */
const partAt = (schema: JsonSchema, path: ReadonlyArray<PropertyKey>): JsonSchema | undefined =>
  path.reduce<JsonSchema | undefined>((part, step) => {
    if (part === undefined) return undefined
    const next =
      typeof step === "number" ? part.items : isRecord(part.properties) ? part.properties[String(step)] : undefined
    return isRecord(next) ? next : undefined
  }, schema)

const rangeOf = ({ maximum, minimum }: JsonSchema) =>
  minimum !== undefined && maximum !== undefined ? ` from ${minimum} to ${maximum}` : ""

/** What a schema allows, as the rest of a sentence; undefined where it says nothing of use. */
const allowedBy = (schema: JsonSchema): string | undefined => {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  const orNull = types.includes("null") ? " or null" : ""
  if (Array.isArray(schema.enum))
    return `must be one of ${schema.enum.filter((value) => value !== null).join(", ")}${orNull}`
  switch (types.find((type) => type !== "null")) {
    case "integer":
      return `must be a whole number${rangeOf(schema)}${orNull}`
    case "number":
      return `must be a number${rangeOf(schema)}${orNull}`
    case "boolean":
      return `must be true or false${orNull}`
    case "string":
      switch (schema.format) {
        case "uuid":
          return `must be a UUID${orNull}`
        case "date-time":
          return `must be an RFC 3339 date-time with an offset, such as 2026-01-31T09:30:00Z${orNull}`
        default:
          return `must be text${schema.maxLength === undefined ? "" : ` of at most ${schema.maxLength} characters`}${orNull}`
      }
    case "array": {
      const items = isRecord(schema.items) ? allowedBy(schema.items)?.replace(/^must be /, "") : undefined
      const most = schema.maxItems === undefined ? "" : ` of at most ${schema.maxItems}`
      return `must be a list${most}${items === undefined ? "" : `; each item: ${items}`}${orNull}`
    }
    case "object":
      return isRecord(schema.properties)
        ? `must be an object with ${Object.keys(schema.properties).join(", ")}${orNull}`
        : `must be an object${orNull}`
    default:
      return undefined
  }
}

/** What is allowed at a path of the arguments. */
export const allowedAt = (schema: ObjectSchema, path: ReadonlyArray<PropertyKey>): string | undefined => {
  const part = partAt(schema, path)
  return part === undefined ? undefined : allowedBy(part)
}
