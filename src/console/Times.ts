import { localeOf } from "./languages/Language.ts"
import type { ViewerOf } from "./Viewer.tsx"

const formatters = new Map<string, Intl.DateTimeFormat>()

/** A formatter of this language and zone. Making one takes longer than its use, and there are few of both. */
const formatterOf = (name: string, locale: string, options: Intl.DateTimeFormatOptions) => {
  const key = `${name} ${locale} ${options.timeZone}`
  const formatter = formatters.get(key) ?? new Intl.DateTimeFormat(locale, options)
  formatters.set(key, formatter)
  return formatter
}

const day = { year: "numeric", month: "short", day: "numeric" } as const
const minute = { ...day, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const

type Reader = Pick<ViewerOf, "pageLanguage" | "timeZone">

/** A time to the minute, with its zone. */
export const timeIn = (at: string, { pageLanguage, timeZone }: Reader): string => {
  const zone = timeZone ?? "UTC"
  return `${formatterOf("minute", localeOf(pageLanguage), { ...minute, timeZone: zone }).format(Date.parse(at))} ${zone}`
}

/** The day of a time in the reader's zone. */
export const dayIn = (at: string, { pageLanguage, timeZone }: Reader): string =>
  formatterOf("day", localeOf(pageLanguage), { ...day, timeZone: timeZone ?? "UTC" }).format(Date.parse(at))
