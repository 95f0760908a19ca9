import { Either, ParseResult, Schema, SchemaAST } from "effect"
import { type InConnector, inConnectorOf } from "../api/Tool.ts"

/** A member of an object, as both sides name it. */
export interface Member {
  readonly rest: string
  readonly connector: string
  readonly what: InConnector
  readonly type: SchemaAST.AST
  readonly isOptional: boolean
  /** What is said of the position beside its schema. */
  readonly annotations: SchemaAST.Annotations
}

/** The schema of what is on the wire: what JSON holds before anything is made of it. */
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

/** Whether the connector makes anything of a schema: of most it does not, and they are left as they are. */
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

/** The schema of the same in the connector's vocabulary; JSON Schemas of tools come from it. */
export const renamed = (ast: SchemaAST.AST): SchemaAST.AST => {
  if (!isConcerned(ast)) return ast
  // What a filter says of itself is kept; it is never run.
  if (ast._tag === "Refinement") return new SchemaAST.Refinement(renamed(ast.from), ast.filter, ast.annotations)
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
                what.schema?.ast ?? renamed(type),
                isOptional,
                true,
                annotations
              )
          ),
        inner.indexSignatures.map(
          ({ parameter, type }) => new SchemaAST.IndexSignature(parameter, renamed(type), true)
        ),
        inner.annotations
      )
    case "TupleType":
      return new SchemaAST.TupleType(
        inner.elements.map(({ isOptional, type }) => new SchemaAST.OptionalType(renamed(type), isOptional)),
        inner.rest.map(({ type }) => new SchemaAST.Type(renamed(type))),
        true,
        inner.annotations
      )
    case "Union":
      return SchemaAST.Union.make(inner.types.map(renamed), inner.annotations)
    default:
      return ast
  }
}

type JsonObject = { readonly [member: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The member of a union that a value is of: the only one that could be, else the first that it fits. */
const chosen = (union: SchemaAST.Union, value: unknown): SchemaAST.AST | undefined => {
  const tag = Array.isArray(value) ? "TupleType" : isObject(value) ? "TypeLiteral" : undefined
  const candidates = union.types.filter((type) => wire(type)._tag === tag)
  return candidates.length <= 1
    ? candidates[0]
    : (candidates.find((type) => ParseResult.is(Schema.make(SchemaAST.encodedAST(type)))(value)) ?? candidates[0])
}

type Mapped = (value: unknown) => unknown

const same: Mapped = (value) => value

/** Cuts a list or a text to what its position allows. */
const shortened = (map: Mapped, { maxCharacters, most }: InConnector): Mapped =>
  most === undefined && maxCharacters === undefined
    ? map
    : (value) => {
        const mapped = map(value)
        if (Array.isArray(mapped)) return mapped.slice(0, most)
        return typeof mapped === "string" && maxCharacters !== undefined ? shown(mapped, maxCharacters) : mapped
      }

/** Takes an encoded answer into the connector's vocabulary, along its schema. Worked out once a schema. */
export const toConnector = (ast: SchemaAST.AST): Mapped => {
  if (!isConcerned(ast)) return same
  const inner = wire(ast)
  switch (inner._tag) {
    case "TypeLiteral": {
      const members = membersOf(inner)
        .filter(({ what }) => what.omit !== true)
        .map(({ connector, rest, type, what }) => ({ connector, rest, map: shortened(toConnector(type), what) }))
      const [record] = inner.indexSignatures.map(({ type }) => toConnector(type))
      const named = new Set(membersOf(inner).map(({ rest }) => rest))
      return (value) => {
        if (!isObject(value)) return value
        const target: Record<string, unknown> = {}
        for (const { connector, map, rest } of members) {
          const member = value[rest]
          if (member !== undefined) target[connector] = map(member)
        }
        if (record !== undefined)
          for (const [key, member] of Object.entries(value)) if (!named.has(key)) target[key] = record(member)
        return target
      }
    }
    case "TupleType": {
      const elements = inner.elements.map(({ type }) => toConnector(type))
      const [rest = same] = inner.rest.map(({ type }) => toConnector(type))
      return (value) => (Array.isArray(value) ? value.map((item, index) => (elements[index] ?? rest)(item)) : value)
    }
    case "Union": {
      const maps = new Map(inner.types.map((type) => [type, toConnector(type)]))
      return (value) => {
        const type = chosen(inner, value)
        return type === undefined ? value : (maps.get(type) ?? same)(value)
      }
    }
    default:
      return same
  }
}

/** What is wrong at a place in the arguments; without a message: it is not what its schema says. */
export interface Misfit {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string | undefined
}

/** Arguments in REST's names, and what is wrong with them in the connector's. */
export interface Taken {
  readonly value: unknown
  readonly misfits: ReadonlyArray<Misfit>
}

export const pathOf = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>(
    (text, step) =>
      typeof step === "number" ? `${text}[${step}]` : text === "" ? String(step) : `${text}.${String(step)}`,
    ""
  )

/** Text that came from outside, sound enough to be repeated, and of at most so many characters. */
export const shown = (text: string, most = 64) => {
  const short = text.length <= most ? text : `${text.slice(0, most - 1)}…`
  return short.toWellFormed().replaceAll("\u0000", "\ufffd")
}

/** At most so many characters of a text. None is cut in two. */
export const cutText = (text: string, most: number): string => {
  const characters = [...text]
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`
}

/** Text of a merchant in one line: separators and characters that are not visible become blanks. */
export const inOneLine = (text: string): string => text.replace(/[\p{C}\p{Z}]+/gu, " ").trim()

/** The same as JSON, of at most so many characters: a text in quotes cannot end them. */
export const quoted = (text: string, most: number): string =>
  JSON.stringify(cutText(inOneLine(text).toWellFormed(), most))

/** What is wrong with a name that nothing has, at the end of a path. */
export const notKnown = (
  name: string,
  known: ReadonlyArray<string>,
  path: ReadonlyArray<PropertyKey> = []
): Misfit => ({
  // A name without a character is shown as what it is.
  path: [...path, shown(name) || '""'],
  message: `is not known here; known: ${known.length === 0 ? "nothing" : known.join(", ")}`
})

/** A message that somebody wrote; undefined for one that the library made up, which repeats the value. */
export const ownMessage = (message: string): string | undefined =>
  /^(?:Expected|is missing|is unexpected)\b/.test(message) || message === ""
    ? undefined
    : message.replace(/, actual .*$/s, "")

/** What is wrong with text that the database cannot hold. */
const badText = (text: string): string | undefined =>
  text.includes("\u0000")
    ? "must not contain U+0000"
    : text.isWellFormed()
      ? undefined
      : "must not contain lone surrogates"

/**
 * Takes arguments to REST's names, along the schema: members that it does not name are issues, text that cannot be stored
 * is, and what a position has a schema of its own for is decoded by that.
 */
export const fromConnector = (ast: SchemaAST.AST, given: unknown): Taken => {
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
        const known = members.map(({ connector }) => connector)
        for (const name of Object.keys(value)) {
          if (known.includes(name)) continue
          if (inner.indexSignatures.length > 0) target[name] = value[name]
          else misfits.push(notKnown(name, known, path))
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
        const type = chosen(inner, value)
        return type === undefined ? value : walk(type, value, path)
      }
      default:
        return value
    }
  }
  return { value: walk(ast, given, []), misfits }
}

/** Every object of a schema whose members the connector would give the same name twice, by the path to it. */
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

/** Every name that a schema has in REST and the one that the connector has for it, where they differ. */
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

/** Leaves of every list of values by key the asked ones, and tells which keys there were. */
export type ChooseKeyed = (value: unknown, keys: ReadonlySet<string>, seen: Set<string>) => unknown

/** Chooses from an answer in the connector's vocabulary, along its schema. Worked out once a schema. */
export const chooseKeyed = (ast: SchemaAST.AST): ChooseKeyed => {
  const inner = wire(ast)
  switch (inner._tag) {
    case "TypeLiteral": {
      const members = membersOf(inner).map(({ connector, type, what }) => ({
        connector,
        choose: what.keyed === true ? keyedList : chooseKeyed(type)
      }))
      const chosenOnes = members.filter(({ choose }) => choose !== all)
      if (chosenOnes.length === 0) return all
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
      const choose = rest === undefined ? all : chooseKeyed(rest.type)
      return choose === all
        ? all
        : (value, keys, seen) => (Array.isArray(value) ? value.map((item) => choose(item, keys, seen)) : value)
    }
    default:
      return all
  }
}

const all: ChooseKeyed = (value) => value

const keyedList: ChooseKeyed = (value, keys, seen) =>
  Array.isArray(value)
    ? value.filter((item) => {
        const key = isObject(item) ? String(item.key) : ""
        seen.add(key)
        return keys.has(key)
      })
    : value
