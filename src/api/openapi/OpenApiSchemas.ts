/** A JSON Schema in a document. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Named schemas of a document. */
export type Schemas = { readonly [name: string]: JsonSchema }

const prefix = "#/components/schemas/"

export const isRecord = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const mapValues = <A, B>(record: { readonly [key: string]: A }, f: (value: A, key: string) => B) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, f(value, key)]))

/** The name of the schema that a reference points to. */
export const referencedName = (schema: JsonSchema): string | undefined =>
  typeof schema.$ref === "string" && schema.$ref.startsWith(prefix) ? schema.$ref.slice(prefix.length) : undefined

/** Whether a named schema is a scalar of the library, such as "Int". These are inlined, which is clearer. */
const isScalar = (schema: JsonSchema) =>
  ["string", "number", "integer", "boolean"].includes(String(schema.type)) && schema.enum === undefined

/** Whether the library generated a description ("a string matching the pattern ..."). Our own begin with a capital letter. */
const isMadeUp = (description: unknown) => typeof description === "string" && /^an? /.test(description)

const isNoise = (keyword: string, value: unknown) =>
  keyword === "title" ||
  (keyword === "description" && isMadeUp(value)) ||
  (keyword === "additionalProperties" && value === false)

const tidyPart = (part: unknown, tidy: (schema: JsonSchema) => JsonSchema): unknown =>
  Array.isArray(part) ? part.map((member) => tidyPart(member, tidy)) : isRecord(part) ? tidy(part) : part

/**
 * Removes generated titles and descriptions, and allows additional members, because responses may gain members within v1 and
 * unknown members of a request body are ignored.
 */
export const tidySchema = (schemas: Schemas) => {
  const tidy = (schema: JsonSchema): JsonSchema => {
    const target = schemas[referencedName(schema) ?? ""]
    if (target !== undefined && isScalar(target)) return tidy(target)
    return Object.fromEntries(
      Object.entries(schema)
        .filter(([keyword, value]) => !isNoise(keyword, value))
        .map(([keyword, value]) => {
          switch (keyword) {
            case "properties":
            case "patternProperties":
              return [keyword, mapValues(value as Schemas, tidy)]
            case "items":
            case "additionalProperties":
            case "anyOf":
            case "oneOf":
            case "allOf":
              return [keyword, tidyPart(value, tidy)]
            default:
              return [keyword, value]
          }
        })
    )
  }
  return tidy
}

/** The names of all schemas that a part of the document refers to. */
export const namesIn = (part: unknown, schemas: Schemas): ReadonlySet<string> => {
  const names = new Set<string>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit)
    if (!isRecord(value)) return
    const name = referencedName(value)
    if (name !== undefined && !names.has(name)) {
      names.add(name)
      visit(schemas[name])
    }
    Object.values(value).forEach(visit)
  }
  visit(part)
  return names
}
