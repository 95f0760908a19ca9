/** Most characters of a name that a person gives to an account or a key. */
const mostCharacters = 200

/**
 * Control characters would speak to the terminal that lists the name; U+FFFD stands where text was not UTF-8, as it would for
 * a lone surrogate.
 */
const unspeakable = /[\p{Cc}\p{Cs}\u2028\u2029\uFFFD]/u

/** What is wrong with a name, already trimmed; undefined: nothing. */
export const misnomerOf = (name: string): string | undefined => {
  const length = [...name].length
  if (length < 1 || length > mostCharacters) return `must have 1 to ${mostCharacters} characters`
  return unspeakable.test(name) ? "must be one line of valid text" : undefined
}

/** A name that came with a file, without the folders before it and whatever a terminal or a page should not show. */
export const fileNameOf = (given: string): string => {
  const characters = [...(given.split(/[\\/]/).at(-1) ?? "")].filter((character) => !unspeakable.test(character))
  return characters.slice(0, mostCharacters).join("").trim() || "unnamed"
}
