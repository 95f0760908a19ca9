import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { boundsOf, daysOf, linesOf, parseMonth, shiftMonth, weeksOf } from "../../src/drops/Calendar.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"

const at = (text: string) => Timestamp.make(`${text}:00.000000Z`)

describe("months", () => {
  it("are read, and moved over the turn of the year", () => {
    assert.deepStrictEqual(
      ["2026-12", "2026-13", "2026-1", "1969-12", "9989-12", "9990-01", "2026-12-01", ""].map(parseMonth),
      ["2026-12", undefined, undefined, undefined, "9989-12", undefined, undefined, undefined]
    )
    assert.deepStrictEqual(
      [shiftMonth("2026-12", 1), shiftMonth("2026-01", -1), shiftMonth("2026-05", 14)],
      ["2027-01", "2025-12", "2027-07"]
    )
  })

  it("have whole weeks from Monday", () => {
    const weeks = weeksOf("2026-12")
    assert.deepStrictEqual(
      weeks.map((week) => [week[0], week[6]]),
      [
        ["2026-11-30", "2026-12-06"],
        ["2026-12-07", "2026-12-13"],
        ["2026-12-14", "2026-12-20"],
        ["2026-12-21", "2026-12-27"],
        ["2026-12-28", "2027-01-03"]
      ]
    )
    // A month of four weeks, and one of six.
    assert.deepStrictEqual([weeksOf("2027-02").length, weeksOf("2026-08").length], [4, 6])
    const { from, until } = boundsOf(weeks)
    assert.isTrue(from <= Date.parse("2026-11-30T00:00:00+14:00") && until >= Date.parse("2027-01-04T00:00:00-12:00"))
  })
})

describe("the days of a drop", () => {
  for (const [what, drop, expected] of [
    ["a weekend", ["2026-12-04T23:00", "2026-12-06T23:00", "Europe/Berlin"], ["2026-12-05", "2026-12-06"]],
    ["the same instants elsewhere", ["2026-12-04T23:00", "2026-12-06T23:00", "UTC"], ["2026-12-04", "2026-12-06"]],
    ["an end after midnight", ["2026-12-05T10:00", "2026-12-06T00:01", "UTC"], ["2026-12-05", "2026-12-06"]],
    ["no end", ["2026-12-05T10:00", null, "UTC"], ["2026-12-05", "2026-12-05"]]
  ] as const)
    it(what, () => {
      const [starts, ends, timezone] = drop
      const [first, last] = expected
      const times = { starts_at: at(starts), ends_at: ends === null ? null : at(ends), timezone }
      assert.deepStrictEqual(daysOf(times), { first, last })
    })
})

describe("the lines of drops in a week of the calendar", () => {
  const week = weeksOf("2026-12")[1] ?? []
  const span = (name: string, first: number, last: number) => {
    const day = (number: number) => new Date(Date.UTC(2026, 11, number)).toISOString().slice(0, 10)
    return { name, first: day(first), last: day(last) }
  }
  const shown = (items: ReadonlyArray<ReturnType<typeof span>>) =>
    linesOf(week, items).map((line) =>
      line.map(({ continues, days, isContinued, item }) =>
        [isContinued && "<", item?.name ?? "-", days, continues && ">"].filter((part) => part !== false).join("")
      )
    )

  it("hold drops beside and below each other", () => {
    assert.deepStrictEqual(
      shown([
        span("a", 1, 8),
        span("b", 9, 9),
        span("c", 8, 10),
        span("d", 13, 20),
        span("e", 14, 15),
        span("f", 1, 31)
      ]),
      [["<f7>"], ["<a2", "b1", "-3", "d1>"], ["-1", "c3", "-3"]]
    )
    assert.deepStrictEqual(shown([span("e", 14, 15)]), [])
  })

  it("have seven days each, and every drop of the week once", () => {
    const items = fc.array(
      fc.tuple(fc.integer({ min: -5, max: 25 }), fc.integer({ min: 0, max: 20 })).map(([first, length]) => ({
        ...span("x", first, first + length)
      })),
      { maxLength: 20 }
    )
    fc.assert(
      fc.property(items, (drops) => {
        const lines = linesOf(week, drops)
        for (const line of lines)
          assert.strictEqual(
            line.reduce((sum, { days }) => sum + days, 0),
            7
          )
        const placed = lines.flatMap((line) => line.flatMap(({ item }) => item ?? []))
        const own = drops.filter(({ first, last }) => first <= "2026-12-13" && last >= "2026-12-07")
        assert.strictEqual(new Set(placed).size, placed.length)
        assert.sameMembers(placed, own)
      })
    )
  })
})
