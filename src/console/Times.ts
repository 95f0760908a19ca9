const formatters = new Map<string, Intl.DateTimeFormat>()

/** The Swedish form is that of ISO 8601: 2026-11-22 06:41. */
const formatterOf = (timeZone: string) => {
  const known = formatters.get(timeZone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    ...({ year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" } as const)
  })
  formatters.set(timeZone, made)
  return made
}

/** A time to the minute, with its zone. `timeZone` null: UTC. */
export const timeIn = (at: string, timeZone: string | null): string =>
  timeZone === null
    ? `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`
    : `${formatterOf(timeZone).format(new Date(at))} ${timeZone}`
