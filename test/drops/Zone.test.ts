import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { dayOf, instantsOf, localTimeOf } from "../../src/drops/Zone.ts"

const once = (at: string) => ({ _tag: "Once", at: `${at}:00.000000Z` })

describe("local times", () => {
  for (const [text, zone, expected] of [
    ["2026-12-05T00:00", "Europe/Berlin", once("2026-12-04T23:00")],
    ["2026-12-05T00:00", "UTC", once("2026-12-05T00:00")],
    ["2026-07-01T09:30", "Asia/Kathmandu", once("2026-07-01T03:45")],
    ["2026-12-31T23:59", "Pacific/Kiritimati", once("2026-12-31T09:59")],
    // The clocks are turned forward at 02:00 to 03:00.
    ["2026-03-29T01:59", "Europe/Berlin", once("2026-03-29T00:59")],
    ["2026-03-29T02:00", "Europe/Berlin", { _tag: "Never", from: "2026-03-29T02:00", to: "2026-03-29T03:00" }],
    ["2026-03-29T02:59", "Europe/Berlin", { _tag: "Never", from: "2026-03-29T02:00", to: "2026-03-29T03:00" }],
    ["2026-03-29T03:00", "Europe/Berlin", once("2026-03-29T01:00")],
    // And back at 03:00 to 02:00.
    [
      "2026-10-25T02:30",
      "Europe/Berlin",
      { _tag: "Twice", first: "2026-10-25T00:30:00.000000Z", second: "2026-10-25T01:30:00.000000Z" }
    ],
    ["2026-10-25T03:00", "Europe/Berlin", once("2026-10-25T02:00")],
    ["2026-03-08T02:30", "America/New_York", { _tag: "Never", from: "2026-03-08T02:00", to: "2026-03-08T03:00" }],
    // By half an hour.
    ["2026-10-04T02:15", "Australia/Lord_Howe", { _tag: "Never", from: "2026-10-04T02:00", to: "2026-10-04T02:30" }],
    // At midnight.
    ["2026-09-06T00:30", "America/Santiago", { _tag: "Never", from: "2026-09-06T00:00", to: "2026-09-06T01:00" }],
    // A whole day, when Samoa changed to the other side of the date line.
    ["2011-12-30T12:00", "Pacific/Apia", { _tag: "Never", from: "2011-12-30T00:00", to: "2011-12-31T00:00" }],
    ["2026-12-05T00:00:30", "Europe/Berlin", { _tag: "Once", at: "2026-12-04T23:00:30.000000Z" }],
    ...["", "soon", "2026-02-30T09:30", "2026-12-05", "2026-12-05T24:00", "0000-01-01T00:00", "9999-12-31T00:00"].map(
      (text) => [text, "Europe/Berlin", { _tag: "Unreadable" }] as const
    )
  ] as const)
    it(`${text === "" ? "nothing" : text} in ${zone}: ${expected._tag}`, () => {
      assert.deepStrictEqual<unknown>(instantsOf(text, zone), expected)
    })

  it("every instant is found again by its local time", () => {
    const zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca"]
    const [from, until] = [Date.parse("1980-01-01T00:00:00Z"), Date.parse("2037-01-01T00:00:00Z")]
    fc.assert(
      fc.property(
        fc.integer({ min: from / 60_000, max: until / 60_000 }),
        fc.constantFrom(...zones),
        (minute, zone) => {
          const at = new Date(minute * 60_000).toISOString().replace(".000Z", ".000000Z")
          const found = instantsOf(localTimeOf(minute * 60_000, zone).slice(0, 16), zone)
          const instants: ReadonlyArray<string> =
            found._tag === "Once" ? [found.at] : found._tag === "Twice" ? [found.first, found.second] : []
          assert.isTrue(instants.includes(at), `${at} in ${zone}`)
        }
      )
    )
  })

  it("the day of an instant depends on the zone", () => {
    const at = Date.parse("2026-12-04T23:00:00Z")
    assert.deepStrictEqual(
      ["UTC", "Europe/Berlin", "America/Los_Angeles"].map((zone) => dayOf(at, zone)),
      ["2026-12-04", "2026-12-05", "2026-12-04"]
    )
  })
})
