import { isInvisible } from "./Text.ts"

/** Maximum characters of the name of an account or a key. */
const maxCharacters = 200

/**
 * Control characters could control the terminal that shows the name. U+FFFD is the replacement for bytes that are not UTF-8, and
 * lone surrogates would be replaced by it.
 */
const forbidden = /[\p{Cc}\p{Cs}\u2028\u2029\uFFFD]/u

/** Why a trimmed name is not accepted. Undefined: it is accepted. */
export const nameMisfit = (name: string): string | undefined => {
  const length = [...name].length
  if (length < 1 || length > maxCharacters) return `must have 1 to ${maxCharacters} characters`
  if (isInvisible(name)) return "must not be empty"
  return forbidden.test(name) ? "must be one line of valid text" : undefined
}

/** The name of an uploaded file, without folders and forbidden characters. */
export const fileNameOf = (path: string): string => {
  const characters = [...(path.split(/[\\/]/).at(-1) ?? "")].filter((character) => !forbidden.test(character))
  return characters.slice(0, maxCharacters).join("").trim() || "unnamed"
}
