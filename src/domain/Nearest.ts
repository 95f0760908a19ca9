/** Most names that are given. */
const maxNames = 3

/** Most characters of a name that is compared: no key is longer than a namespace and a key together, most are far shorter. */
const maxCharacters = 100

/** How many insertions, deletions and replacements make one text the other; more than `limit` reads as `limit + 1`. */
const distance = (left: string, right: string, limit: number): number => {
  if (Math.abs(left.length - right.length) > limit) return limit + 1
  let before = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const now: Array<number> = new Array(right.length + 1).fill(limit + 1)
    if (row <= limit) now[0] = row
    // Cells further from the diagonal are beyond the limit.
    for (let column = Math.max(1, row - limit); column <= Math.min(right.length, row + limit); column++)
      now[column] = Math.min(
        (before[column] ?? limit) + 1,
        (now[column - 1] ?? limit) + 1,
        (before[column - 1] ?? limit) + (left[row - 1] === right[column - 1] ? 0 : 1)
      )
    before = now
  }
  return Math.min(before[right.length] ?? limit + 1, limit + 1)
}

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
    const byLetters = distance(meant, known, limit)
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
