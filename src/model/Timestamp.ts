import { Either, Option, ParseResult, Schema, type SchemaAST } from "effect"

const earliest = "0001-01-01T00:00:00.000000Z"
const latest = "9999-12-31T23:59:59.999999Z"
const earliestSecond = Date.parse("0001-01-01T00:00:00Z") / 1000
const latestSecond = Date.parse("9999-12-31T23:59:59Z") / 1000

/** Maximum digits of a fraction of a second, to limit the work of parsing. No clock has as many. */
const maxFractionDigits = 30

const example = "2026-01-31T09:30:00Z"
const jsonSchema = { type: "string", format: "date-time" }

/** Formats seconds since 1970 and microseconds (0 to 999999), limited to the years 0001 to 9999. */
const format = (second: number, micros: number): string => {
  if (second < earliestSecond) return earliest
  if (second > latestSecond) return latest
  return `${new Date(second * 1000).toISOString().slice(0, 19)}.${String(micros).padStart(6, "0")}Z`
}

// Accepts more than the grammar, to give better messages. Every repetition is bounded, so backtracking is cheap.
const dateTime = /^(\d{4})-(\d{2})-(\d{2})([Tt ])(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,64}))?(.{0,8})$/
const zone = /^(?:[Zz]|([+-])(\d{2}):(\d{2}))$/
const zoneWithBlank = /^ \d{2}:\d{2}$/
const maxLength = 100

const parse = (text: string): Either.Either<string, string> => {
  const refuse = (reason: string) => Either.left(`must be an RFC 3339 date-time with an offset: ${reason}`)
  const parts = text.length > maxLength ? null : dateTime.exec(text)
  if (parts === null) return Either.left(`must be an RFC 3339 date-time with an offset, such as ${example}`)
  const [, years = "", months = "", days = "", separator, hours = "", minutes = "", seconds = ""] = parts
  const fraction = parts[8] ?? ""
  const offset = parts[9] ?? ""
  if (separator === " ") return refuse(`write "T" between date and time, as in ${example}`)
  if (fraction.length > maxFractionDigits) {
    return refuse(`the fraction of the second has more than ${maxFractionDigits} digits`)
  }
  if (offset === "") return refuse(`the offset is missing; end with "Z" or one such as "+02:00"`)
  if (zoneWithBlank.test(offset)) {
    return refuse(`the "+" of the offset arrived as a blank; encode it as %2B in a URL, or use "Z"`)
  }
  const zoneParts = zone.exec(offset)
  if (zoneParts === null) return refuse(`the offset must be "Z" or one such as "+02:00"`)
  const [, sign, offsetHours = "0", offsetMinutes = "0"] = zoneParts

  const year = Number(years)
  const month = Number(months)
  const day = Number(days)
  // setUTCFullYear, because Date.UTC would read the years 0 to 99 as 1900 to 1999.
  const midnight = new Date(0).setUTCFullYear(year, month - 1, day)
  const calendar = new Date(midnight)
  if (calendar.getUTCMonth() !== month - 1 || calendar.getUTCDate() !== day) {
    return refuse("this date does not exist")
  }
  if (Number(hours) > 23) return refuse("the hour must be 00 to 23")
  if (Number(minutes) > 59) return refuse("the minute must be 00 to 59")
  if (Number(seconds) > 60) return refuse("the second must be 00 to 59 (60 only for a leap second at 23:59:60Z)")
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return refuse("the offset must be at most 23:59")

  const offsetSeconds = (sign === "-" ? -1 : 1) * (Number(offsetHours) * 3600 + Number(offsetMinutes) * 60)
  const second = midnight / 1000 + Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) - offsetSeconds
  // `second` counts 23:59:60Z as the next second, so a leap second must be a multiple of a day.
  if (seconds === "60" && second % 86_400 !== 0) return refuse("the second 60 exists only at 23:59:60Z")

  const micros = Number(fraction.slice(0, 6).padEnd(6, "0")) + (/[1-9]/.test(fraction.slice(6)) ? 1 : 0)
  return Either.right(micros === 1_000_000 ? format(second + 1, 0) : format(second, micros))
}

/**
 * A time as text: `YYYY-MM-DDTHH:MM:SS.ffffffZ`, always with six digits and in UTC, from year 0001 to 9999. The order of the texts
 * is the order in time.
 */
export const Timestamp = Schema.String.pipe(
  Schema.filter((text) => Option.contains(Either.getRight(parse(text)), text), {
    message: () => "must be a UTC date-time with six digits of fraction, such as 2026-01-31T09:30:00.000000Z",
    jsonSchema
  }),
  Schema.brand("Timestamp")
)
export type Timestamp = typeof Timestamp.Type

const unchecked = (text: string): Timestamp => Timestamp.make(text, { disableValidation: true })

const split = (timestamp: Timestamp) => ({
  second: Date.parse(`${timestamp.slice(0, 19)}Z`) / 1000,
  micros: Number(timestamp.slice(20, 26))
})

/**
 * Parses an RFC 3339 date-time with an offset, strictly. Left: a message for the client, without the text itself.
 *
 * A fraction finer than a microsecond is rounded up, so that an inclusive lower bound admits nothing earlier. Second 60 is
 * accepted only at 23:59:60 UTC (with any offset, as in RFC 3339 section 5.8) and read as the next second. A time outside the
 * years 0001 to 9999 becomes their first or last microsecond.
 */
export const fromRfc3339 = (text: string): Either.Either<Timestamp, string> => Either.map(parse(text), unchecked)

/** Converts milliseconds since 1970, rounded down to whole milliseconds, and limited to the years 0001 to 9999. */
export const fromMillis = (millis: number): Timestamp => {
  const whole = Math.floor(millis)
  const second = Math.floor(whole / 1000)
  return unchecked(format(second, (whole - second * 1000) * 1000))
}

/** Converts to milliseconds since 1970, rounded down. */
export const toMillis = (timestamp: Timestamp): number => {
  const { second, micros } = split(timestamp)
  return second * 1000 + Math.floor(micros / 1000)
}

/** Adds a whole number of microseconds, limited to the years 0001 to 9999. */
export const plusMicros = (timestamp: Timestamp, count: number): Timestamp => {
  const { second, micros } = split(timestamp)
  // Adds seconds and microseconds separately, because microseconds since 1970 exceed 2^53 in the year 2255.
  const sum = micros + count
  const rest = ((sum % 1_000_000) + 1_000_000) % 1_000_000
  return unchecked(format(second + (sum - rest) / 1_000_000, rest))
}

export const max = (a: Timestamp, b: Timestamp): Timestamp => (a > b ? a : b)

const toTimestamp = (text: string, _options: SchemaAST.ParseOptions, ast: SchemaAST.AST) =>
  Either.mapLeft(fromRfc3339(text), (message) => new ParseResult.Type(ast, text, message))

/**
 * A query parameter with an RFC 3339 date-time. Fails with the message of `fromRfc3339`. It is encoded from any such date-time too, so
 * programs that use the client need not write six digits.
 */
export const Rfc3339Parameter = Schema.transformOrFail(
  Schema.String.annotations({ jsonSchema }),
  // A cast: `toTimestamp` checks the text in both directions.
  Schema.String as unknown as Schema.Schema<Timestamp>,
  { strict: true, decode: toTimestamp, encode: toTimestamp }
).annotations({ jsonSchema })
