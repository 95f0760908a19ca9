/** Comments, texts, quoted names and bodies of functions, in which a semicolon ends no statement; or any other character. */
const statement = /(?:--[^\n]*|\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'|"[^"]*"|[^;])+/g

/** The statements of a script. A text with a backslash escape of its own quote is not understood. */
export const statementsOf = (script: string): ReadonlyArray<string> =>
  (script.match(statement) ?? []).filter((text) => text.replaceAll(/--[^\n]*/g, "").trim() !== "")
