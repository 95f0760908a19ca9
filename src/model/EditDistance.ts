/**
 * Edit distance of two sequences. `insertion`: the cost of an item that only one of them has; `substitution`: the cost of
 * replacing an item. If the distance exceeds `limit`, the result is some number greater than `limit`.
 */
export const distance = <Item>(
  left: ArrayLike<Item>,
  right: ArrayLike<Item>,
  insertion: (item: Item) => number,
  substitution: (left: Item, right: Item) => number,
  limit = Number.POSITIVE_INFINITY
): number => {
  let above = [0]
  for (let column = 0; column < right.length; column++)
    above.push((above[column] ?? 0) + insertion(right[column] as Item))
  for (let row = 0; row < left.length; row++) {
    const item = left[row] as Item
    const current = [(above[0] ?? 0) + insertion(item)]
    for (let column = 0; column < right.length; column++) {
      const other = right[column] as Item
      current.push(
        Math.min(
          (above[column + 1] ?? 0) + insertion(item),
          (current[column] ?? 0) + insertion(other),
          (above[column] ?? 0) + substitution(item, other)
        )
      )
    }
    above = current
    if (limit < Number.POSITIVE_INFINITY && Math.min(...current) > limit) return Math.min(...current)
  }
  return above.at(-1) ?? 0
}

/** Number of edits between two words. If it exceeds `limit`, the result is some number greater than `limit`. */
export const editsBetween = (left: string, right: string, limit = Number.POSITIVE_INFINITY): number =>
  Math.abs(left.length - right.length) > limit
    ? Math.abs(left.length - right.length)
    : distance(
        left,
        right,
        () => 1,
        (one, other) => (one === other ? 0 : 1),
        limit
      )

const maxNames = 3

/** Maximum characters of a name that is compared. Most keys are far shorter. */
const maxCharacters = 100

const keyPart = (name: string) => name.slice(name.lastIndexOf(".") + 1)

/**
 * Up to three names that are similar to `word`, the most similar first: metafields with the same key in another namespace, names
 * that differ in a few letters, and names that begin with `word` or are its beginning. Much less similar names are left out.
 */
export const nearest = (word: string, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (word.length > maxCharacters) return []
  const wanted = word.toLowerCase()
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
