import { JSONSchema, type SchemaAST } from "effect"
import { isRecord, type JsonSchema, mapValues, type Schemas } from "../api/openapi/OpenApiSchemas.ts"

/** A JSON Schema of an object. A type, because an interface is not assignable to the record type JsonSchema. */
export type ObjectSchema = {
  readonly type: "object"
  readonly properties: Schemas
  readonly required: ReadonlyArray<string>
  readonly additionalProperties?: false
  readonly description?: string
}

/** A schema as `tools/list` shows it. */
export type ListedSchema = Omit<ObjectSchema, "required"> & { readonly required?: ReadonlyArray<string> }

const prefix = "#/$defs/"

/** Whether Effect generated a description ("a string matching the pattern ..."). Our own descriptions begin with a capital letter. */
const isMadeUp = (description: unknown) => typeof description === "string" && /^an? /.test(description)

/** Turns `anyOf` of a type and null into one schema with a list of types. */
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

/** Whether a schema allows anything, so that it can be left out. */
const isEmpty = (part: unknown) => isRecord(part) && Object.keys(part).length === 0

/** Rewrites a description of an argument in the connector's words. Undefined for answers, which have no descriptions. */
type Say = ((description: string) => string) | undefined

const plain = (part: unknown, definitions: Schemas, say: Say): unknown => {
  if (Array.isArray(part)) return part.map((member) => plain(member, definitions, say))
  if (!isRecord(part)) return part
  const { $ref, ...siblings } = part
  if (typeof $ref === "string")
    return plain({ ...definitions[$ref.slice(prefix.length)], ...siblings }, definitions, say)
  const schema = Object.fromEntries(
    Object.entries(part).flatMap(([keyword, value]): ReadonlyArray<readonly [string, unknown]> => {
      switch (keyword) {
        case "title":
        case "$schema":
        case "$id":
          return []
        // Only arguments keep their descriptions: agents see the answers themselves.
        case "description":
          return isMadeUp(value) || say === undefined ? [] : [[keyword, say(String(value))]]
        // Answers may gain members within v1, so their schemas allow others; unknown members of arguments are refused.
        case "additionalProperties": {
          const others = plain(value, definitions, say)
          return (others === false && say === undefined) || isEmpty(others) ? [] : [[keyword, others]]
        }
        case "properties":
          return [[keyword, mapValues(value as Schemas, (member) => plain(member, definitions, say))]]
        default:
          return [[keyword, plain(value, definitions, say)]]
      }
    })
  )
  return nullable(schema)
}

/**
 * The JSON Schema of a schema's encoded side. References are replaced by what they refer to, because the APIs of agents refuse
 * `$ref`. `say`: rewrites the descriptions of arguments.
 */
export const jsonSchemaOf = (ast: SchemaAST.AST, say?: (description: string) => string): ObjectSchema => {
  const definitions: Record<string, JSONSchema.JsonSchema7> = {}
  const schema = JSONSchema.fromAST(ast, {
    definitions,
    definitionPath: prefix,
    target: "jsonSchema2020-12",
    topLevelReferenceStrategy: "skip"
  })
  // A cast: the library has a type for each keyword, but here a schema is a plain record of keywords.
  return plain(schema, definitions as unknown as Schemas, say) as ObjectSchema
}

/** A schema reduced to its members and their types, `levels` objects deep. */
const outlineOf = (schema: JsonSchema, levels: number): JsonSchema => {
  const { anyOf, items, properties, type } = schema
  return {
    ...(type !== undefined && { type }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map((member) => outlineOf(member, levels)) }),
    ...(levels > 0 &&
      isRecord(properties) && {
        properties: mapValues(properties as Schemas, (member) =>
          outlineOf(member, member.type === "array" ? levels : levels - 1)
        )
      }),
    ...(isRecord(items) && { items: outlineOf(items, levels - 1) })
  }
}

/**
 * The schema of an answer as `tools/list` shows it: members and their types, `levels` objects deep. Agents see the details in
 * the answers, and the whole schema would double the size of the list.
 */
export const outline = (schema: ObjectSchema, levels: 1 | 2): ListedSchema =>
  toListed(outlineOf(schema, levels)) as ListedSchema

/** Keywords that apply to values of every type. */
const ofAnyType = ["description", "default", "enum"]

/** Turns a list of types, such as a type and null, into `anyOf`, because some clients refuse a list of types. */
const asChoice = (schema: JsonSchema): JsonSchema => {
  const { type, ...rest } = schema
  if (!Array.isArray(type)) return schema
  const own = Object.entries(rest).filter(([keyword]) => !ofAnyType.includes(keyword))
  return {
    anyOf: type.map((each) => (each === "null" ? { type: each } : { type: each, ...Object.fromEntries(own) })),
    ...Object.fromEntries(Object.entries(rest).filter(([keyword]) => ofAnyType.includes(keyword)))
  }
}

/** A schema as `tools/list` shows it. It accepts the same values, but has no lists of types and no empty `required`. */
export const toListed = (schema: JsonSchema): JsonSchema => {
  const { items, properties, required, ...rest } = schema
  return asChoice({
    ...rest,
    ...(Array.isArray(required) && required.length > 0 && { required }),
    ...(isRecord(properties) && { properties: mapValues(properties as Schemas, toListed) }),
    ...(isRecord(items) && { items: toListed(items) })
  })
}

/** The schema at a path of a value. */
const partAt = (schema: JsonSchema, path: ReadonlyArray<PropertyKey>): JsonSchema | undefined =>
  path.reduce<JsonSchema | undefined>((part, step) => {
    if (part === undefined) return undefined
    const next =
      typeof step === "number" ? part.items : isRecord(part.properties) ? part.properties[String(step)] : undefined
    return isRecord(next) ? next : undefined
  }, schema)

/** The allowed number of items of a list, in words. */
const lengthOf = ({ maxItems, minItems }: JsonSchema) => {
  if (maxItems === undefined) return minItems === undefined ? "" : ` of at least ${minItems}`
  return minItems === undefined ? ` of at most ${maxItems}` : ` of ${minItems} to ${maxItems}`
}

const rangeOf = ({ maximum, minimum }: JsonSchema) =>
  minimum !== undefined && maximum !== undefined ? ` from ${minimum} to ${maximum}` : ""

/** Says which values a schema allows, in words that follow the name of a value ("must be ..."). Undefined if the schema has no type. */
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
      return `must be a list${lengthOf(schema)}${items === undefined ? "" : `; each item: ${items}`}${orNull}`
    }
    case "object":
      return isRecord(schema.properties)
        ? `must be an object with ${Object.keys(schema.properties).join(", ")}${orNull}`
        : `must be an object${orNull}`
    default:
      return undefined
  }
}

/** Says which values the schema allows at a path of the arguments. */
export const allowedAt = (schema: ObjectSchema, path: ReadonlyArray<PropertyKey>): string | undefined => {
  const part = partAt(schema, path)
  return part === undefined ? undefined : allowedBy(part)
}

const typeOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)

const isOfType = (value: unknown, type: unknown): boolean =>
  type === "integer" ? Number.isInteger(value) : type === typeOf(value)

/** Whether a schema allows null. */
const describesNull = ({ anyOf, enum: values, type }: JsonSchema): boolean =>
  type === "null" ||
  (Array.isArray(type) && type.includes("null")) ||
  (Array.isArray(values) && values.includes(null)) ||
  (Array.isArray(anyOf) && anyOf.some((member) => isRecord(member) && describesNull(member)))

/**
 * Removes optional members that are null, because agents copy them from answers. A null stays if the schema allows it or the
 * member is required. Members that the schema does not name, and lists that are too long, are not searched.
 */
export const withoutNulls = (schema: JsonSchema, value: unknown): unknown => {
  if (Array.isArray(value)) {
    const { items } = schema
    return isRecord(items) && value.length <= Number(schema.maxItems ?? value.length)
      ? value.map((item) => withoutNulls(items, item))
      : value
  }
  const { properties, required } = schema
  if (!isRecord(value) || !isRecord(properties)) return value
  const changed: Record<string, unknown> = { ...value }
  for (const [name, member] of Object.entries(properties)) {
    if (!isRecord(member) || !Object.hasOwn(value, name)) continue
    const isOptional = !(Array.isArray(required) && required.includes(name))
    if (value[name] === null && isOptional && !describesNull(member)) delete changed[name]
    else changed[name] = withoutNulls(member, value[name])
  }
  return changed
}

/** The paths of arguments that have a wrong JSON type, or a wrong number of items. Does not search below such a path. */
export const findWrongTypes = (
  schema: JsonSchema,
  value: unknown,
  path: ReadonlyArray<PropertyKey> = []
): ReadonlyArray<ReadonlyArray<PropertyKey>> => {
  const types: ReadonlyArray<unknown> = Array.isArray(schema.type) ? schema.type : [schema.type]
  if (schema.type !== undefined && !types.some((type) => isOfType(value, type))) return [path]
  if (Array.isArray(value)) {
    if (value.length > Number(schema.maxItems ?? value.length) || value.length < Number(schema.minItems ?? 0))
      return [path]
    const { items } = schema
    return isRecord(items) ? value.flatMap((item, index) => findWrongTypes(items, item, [...path, index])) : []
  }
  const { properties } = schema
  if (!isRecord(value) || !isRecord(properties)) return []
  return Object.entries(properties).flatMap(([name, member]) =>
    isRecord(member) && Object.hasOwn(value, name) ? findWrongTypes(member, value[name], [...path, name]) : []
  )
}
