import type { SchemaAST } from "effect"
import { longestValue, maxCharacters } from "./Answers.ts"
import { membersOf, wire } from "./Vocabulary.ts"

/**
 * Maps REST's member names to the connector's, if each REST name has one new name throughout the schema. Undefined: it has
 * several, the connector changes more than names, or the schema allows names that it does not list.
 */
const newNames = (ast: SchemaAST.AST, found = new Map<string, string>()): Map<string, string> | undefined => {
  const all = (types: ReadonlyArray<SchemaAST.AST>) =>
    types.every((type) => newNames(type, found)) ? found : undefined
  const inner = wire(ast)
  switch (inner._tag) {
    case "StringKeyword":
    case "NumberKeyword":
    case "BooleanKeyword":
    case "Literal":
      return found
    case "TupleType":
      return all([...inner.elements, ...inner.rest].map(({ type }) => type))
    case "Union":
      return all(inner.types)
    case "TypeLiteral": {
      if (inner.indexSignatures.length > 0) return undefined
      const members = membersOf(inner)
      for (const { connector, rest, what } of members) {
        const changesMore = Object.keys(what).some((change) => change !== "name")
        if (changesMore || (found.get(rest) ?? connector) !== connector) return undefined
        found.set(rest, connector)
      }
      return all(members.map(({ type }) => type))
    }
    default:
      return undefined
  }
}

/** Whether every row is too short for a value that must be cut. The database begins each row on a new line. */
const hasShortRows = (text: string): boolean => {
  for (let from = 0; ; ) {
    const end = text.indexOf("\n", from)
    if ((end === -1 ? text.length : end) - from > longestValue) return false
    if (end === -1) return true
    from = end + 1
  }
}

/** Renames the members of a page without parsing it. Undefined: the page may have to be cut, so it must be parsed. */
export type RenamePage = (text: string) => string | undefined

/**
 * Renames the members of a page in its JSON text. The database writes compact JSON, a quote inside a string is escaped, and only
 * the name of a member is followed by a colon, so `"id":` is always a name. (A name that ends in `\\"id` would be another one, but
 * the schema lists all names.) Parsing a page of 50 rows, renaming its objects and serializing it would take about 200 µs
 * (`npm run bench -- tool-calls`). A test compares both ways.
 */
export const makeRenamePage = (success: SchemaAST.AST): RenamePage | undefined => {
  const names = newNames(success)
  if (names === undefined) return undefined
  const changes = [...names]
    .filter(([rest, connector]) => rest !== connector)
    .map(([rest, connector]) => [`"${rest}":`, `"${connector}":`] as const)
  return (text) => {
    if (!hasShortRows(text)) return undefined
    const oneLine = text.replaceAll(",\n", ",")
    const renamed = changes.reduce((done, [rest, connector]) => done.replaceAll(rest, connector), oneLine)
    return renamed.length <= maxCharacters ? renamed : undefined
  }
}
