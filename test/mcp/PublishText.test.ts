import { assert, describe, it } from "@effect/vitest"
import { publishText } from "../../src/mcp/PublishText.ts"

const change = (key: string, live: string | null, value: string) => ({ key, live, new: value })

describe("a dry run as text", () => {
  it("shows values shortened, relationships by name, what is published together and what is not", () => {
    assert.strictEqual(
      publishText({
        stores: [
          {
            store_domain: "a.example",
            outcome: "would_publish",
            changes: [
              change("title", "Old", "New\n\ntitle"),
              change("vendor", "Tern", ""),
              change("variant_ids", "[]", '["x"]'),
              change("media_ids", "[]", "[]"),
              change("members", "[]", "[]")
            ],
            included: { count: 3, entity_ids: [] }
          } as never,
          { store_domain: "b.example", outcome: "refused", message: "b.example has no platform" } as never
        ],
        waiting: { count: 2 }
      }),
      [
        "a.example: publish",
        '- title: "Old" -> "New title"',
        '- vendor: "Tern" -> empty',
        "- order of variants: changed",
        "- gallery: changed",
        "- products: changed",
        "- together with 3 variants or media files",
        "b.example: refused (b.example has no platform)",
        "Not published: 2 related masters with drafts of their own."
      ].join("\n")
    )
    assert.strictEqual(
      publishText({ message: "The master is on no channel: nothing can be published.", stores: [] }),
      "The master is on no channel: nothing can be published."
    )
  })

  it("is limited to ten changes of a row", () => {
    const row = (title: string, count: number) =>
      ({
        title,
        outcome: "would_publish",
        changes: Array.from({ length: count }, (_, place) => change(`key.${place}`, "👟".repeat(200), "x".repeat(200)))
      }) as never
    const one = publishText({ masters: [row("Boots", 25)] }).split("\n")
    assert.lengthOf(one, 12)
    assert.strictEqual(one[1], `- key.0: "${"👟".repeat(79)}…" -> "${"x".repeat(79)}…"`)
    assert.strictEqual(one[11], "- and 15 more")
  })

  it("shows fewer changes of each row, so that it names all rows", () => {
    const rows = (length: number, changes: number) => ({
      masters: Array.from({ length }, (_, place) => ({
        title: `Boots ${place}`,
        outcome: "would_publish" as const,
        changes: Array.from({ length: changes }, (_, index) => change(`key.${index}`, "x".repeat(80), "y".repeat(80)))
      }))
    })
    assert.deepStrictEqual(publishText(rows(15, 5)).split("\n").slice(0, 6), [
      '"Boots 0": publish',
      ...["key.0", "key.1", "key.2"].map((key) => `- ${key}: "${"x".repeat(80)}" -> "${"y".repeat(80)}"`),
      "- and 2 more",
      '"Boots 1": publish'
    ])
    assert.strictEqual(
      publishText(rows(50, 25)),
      Array.from({ length: 50 }, (_, place) => `"Boots ${place}": publish\n- changed values: 25`).join("\n")
    )
    const [row] = rows(1, 25).masters
    const shortened = publishText({ masters: [{ outcome: "would_publish", ...row, truncated_keys: ["changes"] }] })
    assert.match(shortened, /\n- and at least 15 more$/)
    const refused = { outcome: "refused" as const, message: "👟".repeat(200) }
    const cut = publishText({ masters: Array.from({ length: 50 }, () => refused) })
    assert.lengthOf([...cut], 10_000)
    assert.isTrue(cut.isWellFormed() && cut.endsWith("…"))
  })
})
