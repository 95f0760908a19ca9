import { editsBetween } from "./EditDistance.ts"

/** Most names that are given. */
const maxNames = 3

/** Most characters of a name that is compared: no key is longer than a namespace and a key together, most are far shorter. */
const maxCharacters = 100

const keyPart = (name: string) => name.slice(name.lastIndexOf(".") + 1)

/**
 * The names that somebody may have meant by another one, the nearest first, at most three: metafields of the same key in another
 * namespace, names a few letters away, and those that it begins or that begin it. Those much further than the first are left out.
 */
export const nearest = (given: string, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (given.length > maxCharacters) return []
  const meant = given.toLowerCase()
  const limit = meant.length < 4 ? 1 : meant.length < 9 ? 2 : 3
  const scored = names.flatMap((name) => {
    const known = name.toLowerCase()
    if (keyPart(known) === keyPart(meant)) return [{ name, score: 0 }]
    const byLetters = editsBetween(meant, known, limit)
    if (byLetters <= limit) return [{ name, score: byLetters }]
    return meant.length > 2 && (known.startsWith(meant) || meant.startsWith(known)) ? [{ name, score: limit }] : []
  })
  const best = Math.min(...scored.map(({ score }) => score))
  return scored
    .filter(({ score }) => score <= best + 1)
    .sort((left, right) => left.score - right.score || (left.name < right.name ? -1 : 1))
    .slice(0, maxNames)
    .map(({ name }) => name)
}
