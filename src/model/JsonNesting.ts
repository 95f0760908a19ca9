/**
 * Whether JSON text nests arrays and objects deeper than `deepest`, brackets in strings left out. It looks at the text, not
 * at what is parsed: of members of the same name a parser keeps the last. One pass, so that a deep text costs no stack.
 */
export const isNestedDeeper = (text: string, deepest: number): boolean => {
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (inString) {
      if (character === "\\") index += 1
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === "[" || character === "{") {
      depth += 1
      if (depth > deepest) return true
    } else if (character === "]" || character === "}") depth -= 1
  }
  return false
}
