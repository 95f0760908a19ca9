const entriesOf = (record: object) => Object.entries(record).filter(([, member]) => member !== undefined)

/** Equal as JSON, in whatever order members come: that of attributes depends on where they were read from. */
export const sameJson = (before: unknown, after: unknown): boolean => {
  // What a change leaves alone is the same object.
  if (before === after) return true
  if (typeof before !== "object" || typeof after !== "object" || before === null || after === null) return false
  if (Array.isArray(before) !== Array.isArray(after)) return false
  const members = entriesOf(before)
  const others = new Map(entriesOf(after))
  return members.length === others.size && members.every(([key, member]) => sameJson(member, others.get(key)))
}
