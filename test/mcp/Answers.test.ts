import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  cutBatch,
  cutPage,
  cutRecord,
  cutRows,
  longestSelectedValue,
  longestValue,
  maxBatchCharacters,
  maxCharacters
} from "../../src/mcp/Answers.ts"

const read = (json: string): Record<string, unknown> => JSON.parse(json)
const text = (length: number, of = "x") => of.repeat(length)
const attribute = (key: string, length: number) => ({ key, value: text(length), type: "html" })

describe("results that are too long", () => {
  it("a record keeps the values that fit; longer values are cut, and their keys listed", () => {
    const record = {
      master_id: "m",
      attributes: [attribute("title", 10), attribute("description_html", 4_001), attribute("care.washing", 4_000)]
    }
    const cut = read(cutRecord(record, longestValue))
    assert.deepStrictEqual(cut.truncated_keys, ["description_html"])
    assert.deepStrictEqual(cut.attributes, [
      attribute("title", 10),
      attribute("description_html", 4_000),
      attribute("care.washing", 4_000)
    ])
    assert.strictEqual(cutRecord({ master_id: "m" }, longestValue), `{"master_id":"m"}`)
  })

  it("a value requested by name is returned whole, up to the size limit of a result", () => {
    const asked = { attributes: [attribute("description_html", 49_000)] }
    assert.deepStrictEqual(read(cutRecord(asked, longestSelectedValue)), asked)
    const longer = cutRecord({ attributes: [attribute("description_html", 80_000)] }, longestSelectedValue)
    assert.deepStrictEqual(read(longer).truncated_keys, ["description_html"])
    assert.isAtLeast(longer.length, longestSelectedValue)
  })

  it("a text is never cut inside a character", () => {
    const record = read(cutRecord({ title: `x${"👟".repeat(3_000)}` }, longestValue))
    assert.isTrue(String(record.title).isWellFormed())
    assert.strictEqual(String(record.title).length, 3_999)
  })

  it("every record fits, whatever its values", () => {
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        fc.string({ maxLength: 50 }),
        fc.nat(70_000).map((length) => text(length, '"')),
        fc.array(tie("value"), { maxLength: 8 }),
        fc.nat(4_000).map((count) => Array.from({ length: count }, (_, index) => `0190b4f0-0000-7000-8000-${index}`)),
        fc.dictionary(fc.string({ maxLength: 20 }), tie("value"), { maxKeys: 6 })
      )
    })).value
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("a", "b", "c", "d"), json), fc.boolean(), (record, isAsked) => {
        assert.isAtMost(cutRecord(record, isAsked ? longestSelectedValue : longestValue).length, maxCharacters)
      }),
      { numRuns: 100 }
    )
  })

  it("a page keeps all its rows, with shorter values; rows are left out only if no values fit", () => {
    const rows = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        master_id: `0190b4f0-0000-7000-8000-${String(index).padStart(12, "0")}`,
        outcome: "would_publish",
        changes: Array.from({ length: 20 }, (_, key) => ({ key: `custom.key_${key}`, live: null, new: text(200) }))
      }))
    const written = cutPage({ masters: rows(50) }, ["masters"], longestValue)
    assert.isAtMost(written.length, maxCharacters)
    const { masters, truncated_keys } = read(written) as {
      readonly masters: ReadonlyArray<{ readonly master_id: string; readonly truncated_keys: ReadonlyArray<string> }>
      readonly truncated_keys: unknown
    }
    assert.deepStrictEqual(
      masters.map(({ master_id }) => master_id),
      rows(50).map(({ master_id }) => master_id)
    )
    assert.include(masters[49]?.truncated_keys ?? [], "changes")
    assert.isUndefined(truncated_keys)
    const most = cutPage({ channels: rows(400) }, ["channels"], longestValue)
    assert.isAtMost(most.length, maxCharacters)
    assert.include(read(most).truncated_keys as ReadonlyArray<string>, "channels")
  })

  it("lists are cut between rows, and their pages together are the whole list", () => {
    const rows = Array.from({ length: 90 }, (_, index) => ({
      id: index,
      text: text(index % 7 === 0 ? 3_000 : 300 * (index % 5))
    }))
    const answer = { locale: "en", first: rows.slice(0, 40), second: rows.slice(40), next_cursor: null }
    for (const limit of [7, 25, 1_000]) {
      const seen: Array<unknown> = []
      let pages = 0
      for (let from = 0, more = true; more; pages++) {
        const cut = cutRows(answer, ["first", "second"], { from, limit, longest: longestValue })
        const written = cut.written({ next_cursor: "c".repeat(300), more: cut.more })
        assert.isAtMost(written.length, maxCharacters)
        const part = read(written)
        assert.deepStrictEqual(Object.keys(part), ["locale", "first", "second", "next_cursor", "more"])
        assert.deepInclude(part, { locale: "en", next_cursor: "c".repeat(300), more: cut.more })
        assert.strictEqual(read(cut.written()).next_cursor, null)
        const { first, second } = part as { first: ReadonlyArray<unknown>; second: ReadonlyArray<unknown> }
        assert.isAtMost(first.length + second.length, limit)
        assert.strictEqual(first.length + second.length, cut.taken)
        assert.isAtLeast(cut.taken, 1)
        seen.push(...first, ...second)
        from += cut.taken
        more = cut.more
      }
      assert.deepStrictEqual(seen, rows)
      assert.isAtLeast(pages, 2)
    }
  })

  it("a single row that is too long is cut to fit, so that paging can go on", () => {
    const long = {
      id: "0190b4f0-0000-7000-8000-000000000001",
      changes: Array.from({ length: 5_000 }, (_, index) => ({ field: "price", value: `${index}` }))
    }
    const cut = cutRows({ data: [long, long] }, ["data"], { from: 0, limit: 25, longest: longestValue })
    assert.strictEqual(cut.taken, 1)
    assert.isTrue(cut.more)
    assert.isAtMost(cut.written().length, maxCharacters)
    const [row] = read(cut.written()).data as ReadonlyArray<typeof long & { truncated_keys: ReadonlyArray<string> }>
    assert.deepStrictEqual(row?.truncated_keys, ["changes"])
    assert.strictEqual(row?.id, long.id)
  })

  it("a numbered page keeps every row", () => {
    const rows = Array.from({ length: 50 }, (_, index) => ({
      master_id: `${index}`,
      title: text(2_000),
      fields: Array.from({ length: 40 }, () => text(300))
    }))
    const cut = cutPage({ data: rows, page: 1 }, ["data"], longestValue)
    assert.isAtMost(cut.length, maxCharacters)
    assert.strictEqual((read(cut).data as ReadonlyArray<unknown>).length, 50)
  })

  it("a batch returns a result for every operation, with a short reason for each failure", () => {
    const failed = (message: string, field = "title") => ({
      master_id: "0190b4f0-0000-7000-8000-000000000001",
      channel_id: "0190b4f0-0000-7000-8000-000000000002",
      field,
      ok: false,
      filled: false,
      error: { code: "validation_failed", message }
    })
    const results = Array.from({ length: 500 }, () => failed(text(1_000)))
    const cut = cutBatch({ filled: 0, results })
    const { results: said } = read(cut) as { results: ReadonlyArray<ReturnType<typeof failed>> }
    assert.strictEqual(said.length, 500)
    for (const { error } of said) {
      assert.isAtMost(error.message.length, 120)
      assert.match(error.message, /…$/)
    }
    assert.isAtMost(cut.length, maxBatchCharacters)
    const long = cutBatch({ results: results.map(() => failed(text(1_000), text(320))) })
    assert.isAtMost(long.length, maxBatchCharacters)
    assert.strictEqual((read(long).results as ReadonlyArray<unknown>).length, 500)
  })
})
