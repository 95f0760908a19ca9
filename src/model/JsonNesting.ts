/**
 * Whether JSON text nests arrays and objects deeper than `maxDepth`. It scans the text, because a parser would drop repeated
 * members, and without recursion, so that deep nesting does not overflow the stack.
 */
export const isNestedDeeper = (text: string, maxDepth: number): boolean => {
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
      if (depth > maxDepth) return true
    } else if (character === "]" || character === "}") depth -= 1
  }
  return false
}
