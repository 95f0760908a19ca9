import { assert, describe, it } from "@effect/vitest"
import { Either, JSONSchema, ParseResult, Schema } from "effect"
import fc from "fast-check"
import {
  fromMillis,
  fromRfc3339,
  max,
  plusMicros,
  Rfc3339Parameter,
  Timestamp,
  toMillis
} from "../../src/model/Timestamp.ts"

const read = (text: string): string => Either.merge(fromRfc3339(text))
const timestamp = (text: string): Timestamp => Timestamp.make(text)
const refused = (reason: string) => `must be an RFC 3339 date-time with an offset: ${reason}`
const notADateTime = "must be an RFC 3339 date-time with an offset, such as 2026-01-31T09:30:00Z"

const first = timestamp("0001-01-01T00:00:00.000000Z")
const last = timestamp("9999-12-31T23:59:59.999999Z")

/** Any instant of the years 0001 to 9999, with its microseconds since 1970. */
const instants = fc
  .tuple(
    fc.integer({ min: toMillis(first) / 1000, max: Math.floor(toMillis(last) / 1000) }),
    fc.integer({ min: 0, max: 999_999 })
  )
  .map(([second, micros]) => ({
    micros: BigInt(second) * 1_000_000n + BigInt(micros),
    text: plusMicros(fromMillis(second * 1000), micros)
  }))

const pad = (value: number, width = 2) => String(value).padStart(width, "0")

describe("fromRfc3339", () => {
  it.each([
    ["UTC", "2026-01-31T09:30:00Z", "2026-01-31T09:30:00.000000Z"],
    ["lower-case t and z", "2026-01-31t09:30:00z", "2026-01-31T09:30:00.000000Z"],
    ["an offset east", "2026-01-01T01:30:00+02:00", "2025-12-31T23:30:00.000000Z"],
    ["an offset west", "2025-12-31T23:30:00-00:45", "2026-01-01T00:15:00.000000Z"],
    ["the unknown local offset", "2026-01-01T00:00:00-00:00", "2026-01-01T00:00:00.000000Z"],
    ["the largest offset", "2026-01-02T00:00:00+23:59", "2026-01-01T00:01:00.000000Z"],
    ["the smallest offset", "2026-01-01T00:00:00-23:59", "2026-01-01T23:59:00.000000Z"],
    ["one digit of fraction", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.500000Z"],
    ["six digits", "2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00.123456Z"],
    ["finer than a microsecond: up", "2026-01-01T00:00:00.1234560001Z", "2026-01-01T00:00:00.123457Z"],
    ["trailing zeros are nothing", "2026-01-01T00:00:00.123456000Z", "2026-01-01T00:00:00.123456Z"],
    ["up into the next year", "2025-12-31T23:59:59.9999991Z", "2026-01-01T00:00:00.000000Z"],
    ["thirty digits", `2026-01-01T00:00:00.${"0".repeat(29)}1Z`, "2026-01-01T00:00:00.000001Z"],
    ["a leap day", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z"],
    ["a leap day of a 400th year", "2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000Z"],
    ["a leap second", "2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000000Z"],
    ["a leap second with a fraction", "2016-12-31T23:59:60.25Z", "2017-01-01T00:00:00.250000Z"],
    ["a leap second elsewhere (RFC 3339, 5.8)", "1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00.000000Z"],
    ["a two-digit century is not 19xx", "0099-03-01T00:00:00Z", "0099-03-01T00:00:00.000000Z"],
    ["year 0", "0000-06-01T00:00:00Z", first],
    ["before year 0", "0000-01-01T00:00:00+01:00", first],
    ["before year 1 by its offset", "0001-01-01T00:00:00+00:01", first],
    ["after year 9999 by its offset", "9999-12-31T23:59:59-00:01", last],
    ["after year 9999 by its fraction", "9999-12-31T23:59:59.9999999Z", last],
    ["after year 9999 by a leap second", "9999-12-31T23:59:60Z", last]
  ])("reads %s: %s", (_, text, expected) => {
    assert.deepStrictEqual(fromRfc3339(text), Either.right(timestamp(expected)))
  })

  it.each([
    ["", notADateTime],
    ["yesterday", notADateTime],
    ["1767225600", notADateTime],
    ["2026-01-31", notADateTime],
    ["2026-1-31T09:30:00Z", notADateTime],
    ["2026-01-31T09:30Z", notADateTime],
    ["20260131T093000Z", notADateTime],
    ["+002026-01-31T09:30:00Z", notADateTime],
    ["-2026-01-31T09:30:00Z", notADateTime],
    [" 2026-01-31T09:30:00Z", notADateTime],
    ["2026-01-31_09:30:00Z", notADateTime],
    ["٢٠٢٦-01-31T09:30:00Z", notADateTime],
    ["2026-01-31T09:30:00Z\n", notADateTime],
    [`2026-01-31T09:30:00.${"0".repeat(100_000)}Z`, notADateTime],
    ["2026-01-31 09:30:00Z", refused('write "T" between date and time, as in 2026-01-31T09:30:00Z')],
    ["2026-01-31T09:30:00", refused('the offset is missing; end with "Z" or one such as "+02:00"')],
    ["2026-01-31T09:30:00.5", refused('the offset is missing; end with "Z" or one such as "+02:00"')],
    [
      "2026-01-01T00:00:00 02:00",
      refused('the "+" of the offset arrived as a blank; encode it as %2B in a URL, or use "Z"')
    ],
    [
      "2026-01-01T00:00:00.25 02:00",
      refused('the "+" of the offset arrived as a blank; encode it as %2B in a URL, or use "Z"')
    ],
    ["2026-01-01T00:00:00+0200", refused('the offset must be "Z" or one such as "+02:00"')],
    ["2026-01-01T00:00:00+02", refused('the offset must be "Z" or one such as "+02:00"')],
    ["2026-01-01T00:00:00−02:00", refused('the offset must be "Z" or one such as "+02:00"')],
    ["2026-01-01T00:00:00UTC", refused('the offset must be "Z" or one such as "+02:00"')],
    ["2026-01-01T00:00:00Z ", refused('the offset must be "Z" or one such as "+02:00"')],
    ["2026-01-01T00:00:00.Z", refused('the offset must be "Z" or one such as "+02:00"')],
    ["2026-01-01T00:00:00,5Z", refused('the offset must be "Z" or one such as "+02:00"')],
    ["2026-01-01T00:00:00+24:00", refused("the offset must be at most 23:59")],
    ["2026-01-01T00:00:00-01:60", refused("the offset must be at most 23:59")],
    ["2026-02-30T00:00:00Z", refused("this date does not exist")],
    ["2026-02-29T00:00:00Z", refused("this date does not exist")],
    ["1900-02-29T00:00:00Z", refused("this date does not exist")],
    ["2026-04-31T00:00:00Z", refused("this date does not exist")],
    ["2026-00-01T00:00:00Z", refused("this date does not exist")],
    ["2026-13-01T00:00:00Z", refused("this date does not exist")],
    ["2026-01-00T00:00:00Z", refused("this date does not exist")],
    ["2026-01-01T24:00:00Z", refused("the hour must be 00 to 23")],
    ["2026-01-01T00:60:00Z", refused("the minute must be 00 to 59")],
    ["2026-01-01T00:00:61Z", refused("the second must be 00 to 59 (60 only for a leap second at 23:59:60Z)")],
    ["2026-01-01T00:00:60Z", refused("the second 60 exists only at 23:59:60Z")],
    ["2016-12-31T23:59:60+01:00", refused("the second 60 exists only at 23:59:60Z")],
    [`2026-01-01T00:00:00.${"0".repeat(31)}Z`, refused("the fraction of the second has more than 30 digits")],
    [`2026-01-01T00:00:00.${"0".repeat(70)}Z`, refused("the fraction of the second has more than 30 digits")]
  ])("refuses %j", (text, message) => {
    assert.deepStrictEqual(fromRfc3339(text), Either.left(message))
  })

  it("agrees with the calendar for every day of four centuries and the days after each month", () => {
    let real = 0
    for (let year = 1800; year < 2200; year++) {
      for (let month = 1; month <= 12; month++) {
        for (let day = 28; day <= 32; day++) {
          const exists = day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
          if (exists) real++
          assert.strictEqual(Either.isRight(fromRfc3339(`${year}-${pad(month)}-${pad(day)}T00:00:00Z`)), exists)
        }
      }
    }
    assert.strictEqual(real, 146_097 - 400 * 12 * 27)
  })

  it("agrees with Date on whole milliseconds, with any offset", () => {
    const offsets = fc.tuple(fc.constantFrom("+", "-"), fc.nat(23), fc.nat(59))
    fc.assert(
      fc.property(instants, offsets, fc.nat(999), ({ text }, [sign, hours, minutes], millis) => {
        const written = `${text.slice(0, 19)}.${pad(millis, 3)}${sign}${pad(hours)}:${pad(minutes)}`
        assert.strictEqual(read(written), fromMillis(Date.parse(written)))
      })
    )
  })

  it("rounds up to the next microsecond", () => {
    const digits = fc.array(fc.nat(9), { minLength: 1, maxLength: 30 }).map((all) => all.join(""))
    fc.assert(
      fc.property(digits, (fraction) => {
        const exact = BigInt(fraction.padEnd(30, "0"))
        const expected = (exact + 10n ** 24n - 1n) / 10n ** 24n
        const start = timestamp("2026-01-01T00:00:00.000000Z")
        assert.strictEqual(read(`2026-01-01T00:00:00.${fraction}Z`), plusMicros(start, Number(expected)))
      })
    )
  })

  it("reads its own form unchanged, and returns no other form", () => {
    fc.assert(
      fc.property(instants, ({ text }) => {
        assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
        assert.deepStrictEqual(fromRfc3339(text), Either.right(text))
      })
    )
  })

  it("returns a timestamp or a message for any text, and does not repeat the text", () => {
    const almost = fc.string({ unit: fc.constantFrom(..."0123456789-+:.TtZz é"), maxLength: 40 })
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), almost, fc.date().map(String)), (text) => {
        const result = fromRfc3339(text)
        if (Either.isRight(result)) assert.isTrue(Schema.is(Timestamp)(result.right))
        else {
          assert.isTrue(result.left.startsWith("must be an RFC 3339 date-time with an offset"))
          if (text.length > 10) assert.notInclude(result.left, text)
        }
      }),
      { examples: [["2026-01-01T00:00:00.000000Z"]] }
    )
  })
})

describe("Timestamp", () => {
  it.each([
    ["2026-01-31T09:30:00.000000Z", true],
    ["2026-01-31T09:30:00Z", false],
    ["2026-01-31T09:30:00.0000000Z", false],
    ["2026-01-31t09:30:00.000000z", false],
    ["2026-01-31T09:30:00.000000+00:00", false],
    ["2026-02-30T09:30:00.000000Z", false],
    ["2016-12-31T23:59:60.000000Z", false],
    ["0000-01-01T00:00:00.000000Z", false],
    ["infinity", false]
  ])("%s: %s", (text, expected) => {
    assert.strictEqual(Schema.is(Timestamp)(text), expected)
  })

  it("is documented as a date-time", () => {
    const { $schema, ...schema } = JSONSchema.make(Timestamp)
    assert.deepStrictEqual<unknown>(schema, { type: "string", format: "date-time" })
  })

  it("has the same order as text and as time", () => {
    fc.assert(
      fc.property(instants, instants, (a, b) => {
        assert.strictEqual(a.text < b.text, a.micros < b.micros)
        assert.strictEqual(max(a.text, b.text), a.micros > b.micros ? a.text : b.text)
        assert.strictEqual(max(a.text, b.text), max(b.text, a.text))
      })
    )
  })

  it("converts from and to milliseconds", () => {
    assert.strictEqual(fromMillis(0), "1970-01-01T00:00:00.000000Z")
    assert.strictEqual(fromMillis(-1), "1969-12-31T23:59:59.999000Z")
    assert.strictEqual(fromMillis(1.9), "1970-01-01T00:00:00.001000Z")
    assert.strictEqual(fromMillis(Number.MAX_SAFE_INTEGER), last)
    assert.strictEqual(fromMillis(Number.MIN_SAFE_INTEGER), first)
    assert.strictEqual(toMillis(timestamp("1969-12-31T23:59:59.999999Z")), -1)
    assert.strictEqual(toMillis(timestamp("1970-01-01T00:00:00.001999Z")), 1)
    fc.assert(
      fc.property(instants, ({ micros, text }) => {
        const millis = toMillis(text)
        assert.strictEqual(fromMillis(millis), `${text.slice(0, 23)}000Z`)
        assert.strictEqual(millis, Number((micros - BigInt(text.slice(23, 26))) / 1000n))
      })
    )
  })

  it("adds microseconds", () => {
    const moves: ReadonlyArray<readonly [string, number, string]> = [
      ["2026-01-01T00:00:00.000000Z", 1, "2026-01-01T00:00:00.000001Z"],
      ["2025-12-31T23:59:59.999999Z", 1, "2026-01-01T00:00:00.000000Z"],
      ["2026-01-01T00:00:00.000000Z", -1, "2025-12-31T23:59:59.999999Z"],
      ["2026-01-01T00:00:00.000000Z", 86_400_000_000, "2026-01-02T00:00:00.000000Z"],
      ["2026-01-01T00:00:00.000000Z", -86_400_000_001, "2025-12-30T23:59:59.999999Z"],
      ["9000-01-01T00:00:00.000001Z", 0, "9000-01-01T00:00:00.000001Z"],
      [last, 1, last],
      [first, -1, first]
    ]
    for (const [from, count, to] of moves) assert.strictEqual(plusMicros(timestamp(from), count), to)
    fc.assert(
      fc.property(instants, fc.integer({ min: -(2 ** 52), max: 2 ** 52 }), ({ micros, text }, count) => {
        const moved = plusMicros(text, count)
        const expected = micros + BigInt(count)
        const held = expected >= BigInt(toMillis(first)) * 1000n && expected <= BigInt(toMillis(last)) * 1000n + 999n
        assert.strictEqual(
          moved,
          held
            ? plusMicros(fromMillis(Number(expected / 1000n) - 1), Number(expected % 1000n) + 1000)
            : moved < text
              ? first
              : last
        )
      })
    )
  })
})

describe("Rfc3339Parameter", () => {
  const decode = Schema.decodeUnknownEither(Rfc3339Parameter)

  it("decodes to a timestamp and encodes it unchanged", () => {
    const decoded = decode("2026-01-01T01:30:00+02:00")
    assert.deepStrictEqual(decoded, Either.right(timestamp("2025-12-31T23:30:00.000000Z")))
    assert.strictEqual(Schema.encodeSync(Rfc3339Parameter)(first), first)
  })

  it.each(["tomorrow", "2026-01-01T00:00:00 02:00"])("fails on %j with only the message", (text) => {
    const issues = Either.mapLeft(decode(text), ParseResult.ArrayFormatter.formatErrorSync)
    assert.deepStrictEqual(
      Either.mapLeft(issues, (all) => all.map((issue) => issue.message)),
      Either.left([read(text)])
    )
  })

  it("is documented as a date-time, in place", () => {
    const { properties } = JSONSchema.make(Schema.Struct({ updated_since: Schema.optional(Rfc3339Parameter) })) as {
      readonly properties?: unknown
    }
    assert.deepStrictEqual<unknown>(properties, { updated_since: { type: "string", format: "date-time" } })
  })
})
