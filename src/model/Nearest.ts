import { editsBetween } from "./EditDistance.ts"

const maxNames = 3

/** Maximum characters of a name that is compared. Most keys are far shorter. */
const maxCharacters = 100

const keyPart = (name: string) => name.slice(name.lastIndexOf(".") + 1)

/**
 * Up to three names that are similar to `given`, the most similar first: metafields with the same key in another namespace, names
 * that differ in a few letters, and names that begin with `given` or are its beginning. Much less similar names are left out.
 */
export const nearest = (given: string, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (given.length > maxCharacters) return []
  const wanted = given.toLowerCase()
  const limit = wanted.length < 4 ? 1 : wanted.length < 9 ? 2 : 3
  const scored = names.flatMap((name) => {
    const candidate = name.toLowerCase()
    if (keyPart(candidate) === keyPart(wanted)) return [{ name, score: 0 }]
    const byLetters = editsBetween(wanted, candidate, limit)
    if (byLetters <= limit) return [{ name, score: byLetters }]
    return wanted.length > 2 && (candidate.startsWith(wanted) || wanted.startsWith(candidate))
      ? [{ name, score: limit }]
      : []
  })
  const best = Math.min(...scored.map(({ score }) => score))
  return scored
    .filter(({ score }) => score <= best + 1)
    .sort((left, right) => left.score - right.score || (left.name < right.name ? -1 : 1))
    .slice(0, maxNames)
    .map(({ name }) => name)
}
