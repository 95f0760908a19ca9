import { Either, Option, ParseResult, Schema } from "effect"

const earliest = "0001-01-01T00:00:00.000000Z"
const latest = "9999-12-31T23:59:59.999999Z"
const earliestSecond = Date.parse("0001-01-01T00:00:00Z") / 1000
const latestSecond = Date.parse("9999-12-31T23:59:59Z") / 1000

/** More digits than any clock has; a bound so that no client decides how much we parse. */
const maximumFractionDigits = 30

const example = "2026-01-31T09:30:00Z"
const jsonSchema = { type: "string", format: "date-time" }

/** Whole seconds since 1970 and microseconds (0 to 999999) as text, held within the years 0001 to 9999. */
const format = (second: number, micros: number): string => {
  if (second < earliestSecond) return earliest
  if (second > latestSecond) return latest
  return `${new Date(second * 1000).toISOString().slice(0, 19)}.${String(micros).padStart(6, "0")}Z`
}

// Looser than the grammar where that allows a better sentence. Every repetition is bounded: backtracking costs nothing.
const dateTime = /^(\d{4})-(\d{2})-(\d{2})([Tt ])(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,64}))?(.{0,8})$/
const zone = /^(?:[Zz]|([+-])(\d{2}):(\d{2}))$/
const zoneWithBlank = /^ \d{2}:\d{2}$/
const longestText = 100

const parse = (text: string): Either.Either<string, string> => {
  const refuse = (reason: string) => Either.left(`must be an RFC 3339 date-time with an offset: ${reason}`)
  const parts = text.length > longestText ? null : dateTime.exec(text)
  if (parts === null) return Either.left(`must be an RFC 3339 date-time with an offset, such as ${example}`)
  const [, years = "", months = "", days = "", separator, hours = "", minutes = "", seconds = ""] = parts
  const fraction = parts[8] ?? ""
  const offset = parts[9] ?? ""
  if (separator === " ") return refuse(`write "T" between date and time, as in ${example}`)
  if (fraction.length > maximumFractionDigits) {
    return refuse(`the fraction of the second has more than ${maximumFractionDigits} digits`)
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
  // setUTCFullYear, because Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const midnight = new Date(0).setUTCFullYear(year, month - 1, day)
  const calendar = new Date(midnight)
  if (calendar.getUTCMonth() !== month - 1 || calendar.getUTCDate() !== day) {
    return refuse("that day is not in the calendar")
  }
  if (Number(hours) > 23) return refuse("the hour must be 00 to 23")
  if (Number(minutes) > 59) return refuse("the minute must be 00 to 59")
  if (Number(seconds) > 60) return refuse("the second must be 00 to 59, or 60 at 23:59:60Z")
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return refuse("the offset must be at most 23:59")

  const offsetSeconds = (sign === "-" ? -1 : 1) * (Number(offsetHours) * 3600 + Number(offsetMinutes) * 60)
  const second = midnight / 1000 + Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) - offsetSeconds
  // The sum has already read 23:59:60Z as the next second: a leap second is right where that is a UTC midnight.
  if (seconds === "60" && second % 86_400 !== 0) return refuse("the second 60 exists only at 23:59:60Z")

  const micros = Number(fraction.slice(0, 6).padEnd(6, "0")) + (/[1-9]/.test(fraction.slice(6)) ? 1 : 0)
  return Either.right(micros === 1_000_000 ? format(second + 1, 0) : format(second, micros))
}

/**
 * An instant as text: `YYYY-MM-DDTHH:MM:SS.ffffffZ`, always six digits and UTC, from year 0001 to 9999. Being of one
 * form, the order of the texts is the order in time.
 */
export const Timestamp = Schema.String.pipe(
  Schema.filter((text) => Option.contains(Either.getRight(parse(text)), text), {
    message: () => "must be a UTC date-time with six digits of fraction, such as 2026-01-31T09:30:00.000000Z",
    jsonSchema
  }),
  Schema.brand("Timestamp")
)
export type Timestamp = typeof Timestamp.Type

const trusted = (text: string): Timestamp => Timestamp.make(text, { disableValidation: true })

const split = (timestamp: Timestamp) => ({
  second: Date.parse(`${timestamp.slice(0, 19)}Z`) / 1000,
  micros: Number(timestamp.slice(20, 26))
})

/**
 * Reads an RFC 3339 date-time with an offset, strictly; Left is a sentence for whoever wrote it, without the text itself.
 *
 * A fraction finer than a microsecond is rounded up, so that an inclusive lower bound admits nothing earlier. Second 60
 * is taken only where it is 23:59:60 in UTC (also written with another offset, as in RFC 3339 section 5.8) and read as
 * the next second. A time that falls outside the years 0001 to 9999 becomes the first or last instant of them.
 */
export const fromRfc3339 = (text: string): Either.Either<Timestamp, string> => Either.map(parse(text), trusted)

/** From milliseconds since 1970 (what Clock gives; a part of a millisecond is dropped), held within 0001 to 9999. */
export const fromMillis = (millis: number): Timestamp => {
  const whole = Math.floor(millis)
  const second = Math.floor(whole / 1000)
  return trusted(format(second, (whole - second * 1000) * 1000))
}

/** Milliseconds since 1970, the microseconds dropped (rounded towards the past). */
export const toMillis = (timestamp: Timestamp): number => {
  const { second, micros } = split(timestamp)
  return second * 1000 + Math.floor(micros / 1000)
}

/** The instant a whole number of microseconds later (earlier, if negative), held within the years 0001 to 9999. */
export const plusMicros = (timestamp: Timestamp, count: number): Timestamp => {
  const { second, micros } = split(timestamp)
  // Seconds apart from the rest: microseconds since 1970 pass 2^53 in the year 2255.
  const sum = micros + count
  const rest = ((sum % 1_000_000) + 1_000_000) % 1_000_000
  return trusted(format(second + (sum - rest) / 1_000_000, rest))
}

/** The later of two. */
export const max = (a: Timestamp, b: Timestamp): Timestamp => (a > b ? a : b)

/** A query parameter that holds an RFC 3339 date-time; its failure is the sentence of `fromRfc3339`. */
export const Rfc3339Parameter = Schema.transformOrFail(
  Schema.String.annotations({ jsonSchema }),
  Schema.typeSchema(Timestamp),
  {
    strict: true,
    decode: (text, _options, ast) =>
      Either.mapLeft(fromRfc3339(text), (message) => new ParseResult.Type(ast, text, message)),
    encode: (timestamp) => ParseResult.succeed(timestamp)
  }
).annotations({ jsonSchema })
