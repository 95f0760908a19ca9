const entriesOf = (record: object) => Object.entries(record).filter(([, member]) => member !== undefined)

/**
 * Whether two values are equal as JSON. The order of members is ignored, because it differs between sources of
 * attributes.
 */
export const sameJson = (before: unknown, after: unknown): boolean => {
  // Unchanged parts are the same object, which makes the comparison fast.
  if (before === after) return true
  if (typeof before !== "object" || typeof after !== "object" || before === null || after === null) return false
  if (Array.isArray(before) && Array.isArray(after))
    return before.length === after.length && before.every((member, index) => sameJson(member, after[index]))
  if (Array.isArray(before) || Array.isArray(after)) return false
  const members = entriesOf(before)
  const others = new Map(entriesOf(after))
  return members.length === others.size && members.every(([key, member]) => sameJson(member, others.get(key)))
}
