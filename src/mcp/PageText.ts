import type { SchemaAST } from "effect"
import { longestValue, maxCharacters } from "./Answers.ts"
import { membersOf, wire } from "./Vocabulary.ts"

/**
 * The connector's names by REST's, if a member's name alone decides its new name wherever it stands. Undefined: the connector
 * changes more than names, or a part of the schema allows names that it does not list.
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

/** Whether every row is so short that no value in it is cut. The database begins each row on a new line. */
const hasShortRows = (text: string): boolean => {
  for (let from = 0; ; ) {
    const end = text.indexOf("\n", from)
    if ((end === -1 ? text.length : end) - from > longestValue) return false
    if (end === -1) return true
    from = end + 1
  }
}

/** A page in the connector's names, without reading it. Undefined: something in it has to be cut. */
export type RenamePage = (text: string) => string | undefined

/**
 * Renames the members of a page in its JSON text. The database writes compact JSON, where a quote after `{` or `,` begins a string
 * and inside of strings is escaped, so `,"id":` is a member's name wherever it stands. Reading a page of 50 rows, renaming its
 * objects and writing it again takes about 200 µs (`npm run bench -- tool-calls`); a test compares both. Undefined: names do not
 * decide, so pages of this schema are read.
 */
export const makeRenamePage = (success: SchemaAST.AST): RenamePage | undefined => {
  const names = newNames(success)
  if (names === undefined) return undefined
  const changes = [...names]
    .filter(([rest, connector]) => rest !== connector)
    .flatMap(([rest, connector]) =>
      ["{", ","].map((before) => [`${before}"${rest}":`, `${before}"${connector}":`] as const)
    )
  return (text) => {
    if (!hasShortRows(text)) return undefined
    const oneLine = text.replaceAll(",\n", ",")
    const renamed = changes.reduce((done, [rest, connector]) => done.replaceAll(rest, connector), oneLine)
    return renamed.length <= maxCharacters ? renamed : undefined
  }
}
