import { Either, ParseResult, Schema, SchemaAST } from "effect"
import { type InConnector, inConnectorOf } from "../api/Tool.ts"

/** A member of an object, with its names in REST and in the connector. */
interface Member {
  readonly rest: string
  readonly connector: string
  readonly what: InConnector
  readonly type: SchemaAST.AST
  readonly isOptional: boolean
  /** Annotations of the member itself, not of its type. */
  readonly annotations: SchemaAST.Annotations
}

/** The schema of the JSON on the wire: without transformations, refinements and suspensions. */
export const wire = (ast: SchemaAST.AST): SchemaAST.AST => {
  switch (ast._tag) {
    case "Transformation":
    case "Refinement":
      return wire(ast.from)
    case "Suspend":
      return wire(ast.f())
    default:
      return ast
  }
}

/** The members that an object's schema names. */
export const membersOf = ({ propertySignatures }: SchemaAST.TypeLiteral): ReadonlyArray<Member> =>
  propertySignatures.map((property) => {
    const what = inConnectorOf(property) ?? inConnectorOf(property.type) ?? {}
    const rest = String(property.name)
    return {
      rest,
      connector: what.name ?? rest,
      what,
      type: property.type,
      isOptional: property.isOptional,
      annotations: property.annotations
    }
  })

/** Whether the connector changes anything in a schema. Most schemas are used unchanged. */
const isConcerned = (ast: SchemaAST.AST): boolean => {
  const inner = wire(ast)
  switch (inner._tag) {
    case "TypeLiteral":
      return (
        membersOf(inner).some(({ type, what }) => Object.keys(what).length > 0 || isConcerned(type)) ||
        inner.indexSignatures.some(({ type }) => isConcerned(type))
      )
    case "TupleType":
      return [...inner.elements, ...inner.rest].some(({ type }) => isConcerned(type))
    case "Union":
      return inner.types.some(isConcerned)
    default:
      return false
  }
}

/** Translates a schema to the connector's vocabulary, to make a tool's JSON Schema from it. */
export const toConnectorSchema = (ast: SchemaAST.AST): SchemaAST.AST => {
  if (!isConcerned(ast)) return ast
  // The refinement is kept only for its annotations: its filter never runs on the translated schema.
  if (ast._tag === "Refinement")
    return new SchemaAST.Refinement(toConnectorSchema(ast.from), ast.filter, ast.annotations)
  const inner = wire(ast)
  switch (inner._tag) {
    case "TypeLiteral":
      return new SchemaAST.TypeLiteral(
        membersOf(inner)
          .filter(({ what }) => what.omit !== true)
          .map(
            ({ annotations, connector, isOptional, type, what }) =>
              new SchemaAST.PropertySignature(
                connector,
                what.schema?.ast ?? toConnectorSchema(type),
                isOptional,
                true,
                annotations
              )
          ),
        inner.indexSignatures.map(
          ({ parameter, type }) => new SchemaAST.IndexSignature(parameter, toConnectorSchema(type), true)
        ),
        inner.annotations
      )
    case "TupleType":
      return new SchemaAST.TupleType(
        inner.elements.map(({ isOptional, type }) => new SchemaAST.OptionalType(toConnectorSchema(type), isOptional)),
        inner.rest.map(({ type }) => new SchemaAST.Type(toConnectorSchema(type))),
        true,
        inner.annotations
      )
    case "Union":
      return SchemaAST.Union.make(inner.types.map(toConnectorSchema), inner.annotations)
    default:
      return ast
  }
}

type JsonObject = { readonly [member: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The member of a union for a value: the only one of its JSON type, else the first whose schema accepts it. */
const chooseMember = (union: SchemaAST.Union, value: unknown): SchemaAST.AST | undefined => {
  const tag = Array.isArray(value) ? "TupleType" : isObject(value) ? "TypeLiteral" : undefined
  const candidates = union.types.filter((type) => wire(type)._tag === tag)
  return candidates.length <= 1
    ? candidates[0]
    : (candidates.find((type) => ParseResult.is(Schema.make(SchemaAST.encodedAST(type)))(value)) ?? candidates[0])
}

type MapValue = (value: unknown) => unknown

const unchanged: MapValue = (value) => value

/** Cuts a list or a text to the maximum in its annotation. */
const shortenBy = (map: MapValue, { maxCharacters, maxItems }: InConnector): MapValue =>
  maxItems === undefined && maxCharacters === undefined
    ? map
    : (value) => {
        const mapped = map(value)
        if (Array.isArray(mapped)) return mapped.slice(0, maxItems)
        return typeof mapped === "string" && maxCharacters !== undefined ? toSafeText(mapped, maxCharacters) : mapped
      }

/** Makes a function that translates encoded answers to the connector's vocabulary. Called once per schema. */
export const toConnector = (ast: SchemaAST.AST): MapValue => {
  if (!isConcerned(ast)) return unchanged
  const inner = wire(ast)
  switch (inner._tag) {
    case "TypeLiteral": {
      const members = membersOf(inner)
        .filter(({ what }) => what.omit !== true)
        .map(({ connector, rest, type, what }) => ({ connector, rest, map: shortenBy(toConnector(type), what) }))
      const [record] = inner.indexSignatures.map(({ type }) => toConnector(type))
      const names = new Set(membersOf(inner).map(({ rest }) => rest))
      return (value) => {
        if (!isObject(value)) return value
        const target: Record<string, unknown> = {}
        for (const { connector, map, rest } of members) {
          const member = value[rest]
          if (member !== undefined) target[connector] = map(member)
        }
        if (record !== undefined)
          for (const [key, member] of Object.entries(value)) if (!names.has(key)) target[key] = record(member)
        return target
      }
    }
    case "TupleType": {
      const elements = inner.elements.map(({ type }) => toConnector(type))
      const [rest = unchanged] = inner.rest.map(({ type }) => toConnector(type))
      return (value) => (Array.isArray(value) ? value.map((item, index) => (elements[index] ?? rest)(item)) : value)
    }
    case "Union": {
      const maps = new Map(inner.types.map((type) => [type, toConnector(type)]))
      return (value) => {
        const type = chooseMember(inner, value)
        return type === undefined ? value : (maps.get(type) ?? unchanged)(value)
      }
    }
    default:
      return unchanged
  }
}

/** An issue at a path of the arguments. Without a message, the issue is described from the argument's schema. */
export interface Misfit {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string | undefined
}

/** Arguments with REST's names, and their issues with the connector's names. */
interface DecodedArguments {
  readonly value: unknown
  readonly misfits: ReadonlyArray<Misfit>
}

export const pathOf = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>(
    (text, step) =>
      typeof step === "number" ? `${text}[${step}]` : text === "" ? String(step) : `${text}.${String(step)}`,
    ""
  )

/** Text from outside, made safe to repeat: well-formed, without U+0000, at most `maxCharacters` characters. */
export const toSafeText = (text: string, maxCharacters = 64) => {
  const short = text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1)}…`
  return short.toWellFormed().replaceAll("\u0000", "\ufffd")
}

/** Cuts a text to `maxCharacters` code points, so that no character is split. */
export const cutText = (text: string, maxCharacters: number): string => {
  const characters = [...text]
  return characters.length <= maxCharacters ? text : `${characters.slice(0, maxCharacters - 1).join("")}…`
}

/** Puts a merchant's text in one line: separators and invisible characters become spaces. */
export const inOneLine = (text: string): string => text.replace(/[\p{C}\p{Z}]+/gu, " ").trim()

/** A merchant's text in one line, cut to `maxCharacters` characters and quoted as JSON, so that it cannot end its quotes. */
export const quoted = (text: string, maxCharacters: number): string =>
  JSON.stringify(cutText(inOneLine(text).toWellFormed(), maxCharacters))

/** The issue of an unknown name. `path`: the object that has it; `knownNames`: the names that it could have. */
export const notKnown = (
  name: string,
  knownNames: ReadonlyArray<string>,
  path: ReadonlyArray<PropertyKey> = []
): Misfit => ({
  // An empty name is shown as two quotes.
  path: [...path, toSafeText(name) || '""'],
  message: `is unknown; allowed here: ${knownNames.length === 0 ? "nothing" : knownNames.join(", ")}`
})

/** Returns a message from one of our schemas. Undefined if Effect generated it, because such a message repeats the value. */
export const ownMessage = (message: string): string | undefined =>
  /^(?:Expected|is missing|is unexpected)\b/.test(message) || message === ""
    ? undefined
    : message.replace(/, actual .*$/s, "")

/** Why the database cannot store a text. Undefined: it can. */
const badText = (text: string): string | undefined =>
  text.includes("\u0000")
    ? "must not contain U+0000"
    : text.isWellFormed()
      ? undefined
      : "must not contain lone surrogates"

/**
 * Translates arguments to REST's names along the schema. Unknown members and text that cannot be stored are issues. A member
 * whose annotation has a schema of its own is decoded by that schema.
 */
export const fromConnector = (ast: SchemaAST.AST, toolArguments: unknown): DecodedArguments => {
  const misfits: Array<Misfit> = []
  const walk = (ast: SchemaAST.AST, value: unknown, path: ReadonlyArray<PropertyKey>): unknown => {
    const inner = wire(ast)
    if (typeof value === "string") {
      const bad = badText(value)
      if (bad !== undefined) misfits.push({ path, message: bad })
      return value
    }
    switch (inner._tag) {
      case "TypeLiteral": {
        if (!isObject(value)) return value
        const members = membersOf(inner)
        const target: Record<string, unknown> = {}
        for (const { connector, rest, type, what } of members) {
          if (!Object.hasOwn(value, connector)) continue
          const at = [...path, connector]
          if (what.schema === undefined) {
            target[rest] = walk(type, value[connector], at)
            continue
          }
          const before = misfits.length
          walk(what.schema.ast, value[connector], at)
          if (misfits.length > before) continue
          Either.match(Schema.decodeUnknownEither(what.schema)(value[connector]), {
            onLeft: (error) => {
              const [first] = ParseResult.ArrayFormatter.formatErrorSync(error)
              misfits.push({ path: at, message: ownMessage(first?.message ?? "") })
            },
            onRight: (decoded) => {
              target[rest] = decoded
            }
          })
        }
        const memberNames = members.map(({ connector }) => connector)
        for (const name of Object.keys(value)) {
          if (memberNames.includes(name)) continue
          if (inner.indexSignatures.length > 0) target[name] = value[name]
          else misfits.push(notKnown(name, memberNames, path))
        }
        return target
      }
      case "TupleType":
        return Array.isArray(value)
          ? value.map((item, index) =>
              walk(inner.elements[index]?.type ?? inner.rest[0]?.type ?? SchemaAST.unknownKeyword, item, [
                ...path,
                index
              ])
            )
          : value
      case "Union": {
        const type = chooseMember(inner, value)
        return type === undefined ? value : walk(type, value, path)
      }
      default:
        return value
    }
  }
  return { value: walk(ast, toolArguments, []), misfits }
}

/** The paths and names of members that the connector would rename to a name that their object already has. */
export const clashesOf = (ast: SchemaAST.AST, path = "$"): ReadonlyArray<string> => {
  const inner = wire(ast)
  switch (inner._tag) {
    case "TypeLiteral": {
      const members = membersOf(inner).filter(({ what }) => what.omit !== true)
      const names = members.map(({ connector }) => connector)
      return [
        ...names.filter((name, index) => names.indexOf(name) < index).map((name) => `${path}: ${name}`),
        ...members.flatMap(({ connector, type }) => clashesOf(type, `${path}.${connector}`)),
        ...inner.indexSignatures.flatMap(({ type }) => clashesOf(type, `${path}.*`))
      ]
    }
    case "TupleType":
      return [...inner.elements, ...inner.rest].flatMap(({ type }) => clashesOf(type, `${path}[]`))
    case "Union":
      return inner.types.flatMap((type) => clashesOf(type, path))
    default:
      return []
  }
}

/** The names in a schema that differ between REST and the connector, as pairs. */
export const wordsOf = (ast: SchemaAST.AST): ReadonlyArray<readonly [rest: string, connector: string]> => {
  const inner = wire(ast)
  switch (inner._tag) {
    case "TypeLiteral":
      return membersOf(inner).flatMap(({ connector, rest, type }) => [
        ...(connector === rest ? [] : [[rest, connector] as const]),
        ...wordsOf(type)
      ])
    case "TupleType":
      return [...inner.elements, ...inner.rest].flatMap(({ type }) => wordsOf(type))
    case "Union":
      return inner.types.flatMap(wordsOf)
    default:
      return []
  }
}

/** Keeps only `keys` in every list of values by key, and adds every key that it finds to `seen`. */
type ChooseKeyed = (value: unknown, keys: ReadonlySet<string>, seen: Set<string>) => unknown

/** Makes the function that selects attributes from answers in the connector's vocabulary. Called once per schema. */
export const chooseKeyed = (ast: SchemaAST.AST): ChooseKeyed => {
  const inner = wire(ast)
  switch (inner._tag) {
    case "TypeLiteral": {
      const members = membersOf(inner).map(({ connector, type, what }) => ({
        connector,
        choose: what.keyed === true ? keyedList : chooseKeyed(type)
      }))
      const chosenOnes = members.filter(({ choose }) => choose !== keepAll)
      if (chosenOnes.length === 0) return keepAll
      return (value, keys, seen) =>
        isObject(value)
          ? {
              ...value,
              ...Object.fromEntries(
                chosenOnes.flatMap(({ choose, connector }) =>
                  value[connector] === undefined ? [] : [[connector, choose(value[connector], keys, seen)]]
                )
              )
            }
          : value
    }
    case "TupleType": {
      const [rest] = inner.rest
      const choose = rest === undefined ? keepAll : chooseKeyed(rest.type)
      return choose === keepAll
        ? keepAll
        : (value, keys, seen) => (Array.isArray(value) ? value.map((item) => choose(item, keys, seen)) : value)
    }
    default:
      return keepAll
  }
}

const keepAll: ChooseKeyed = (value) => value

const keyedList: ChooseKeyed = (value, keys, seen) =>
  Array.isArray(value)
    ? value.filter((item) => {
        const key = isObject(item) ? String(item.key) : ""
        seen.add(key)
        return keys.has(key)
      })
    : value
