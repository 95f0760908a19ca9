/**
 * Matches comments, strings, quoted names and function bodies, in which a semicolon does not end a statement; or any
 * other character.
 */
const statement = /(?:--[^\n]*|\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'|"[^"]*"|[^;])+/g

/** Splits a script into statements. Strings that escape a quote with a backslash are not supported. */
export const statementsOf = (script: string): ReadonlyArray<string> =>
  (script.match(statement) ?? []).filter((text) => text.replaceAll(/--[^\n]*/g, "").trim() !== "")
