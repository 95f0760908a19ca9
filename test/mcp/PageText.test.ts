import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { inConnector } from "../../src/api/Tool.ts"
import { toolsByName } from "../../src/mcp/Calls.ts"
import { makeRenamePage } from "../../src/mcp/PageText.ts"
import { JsonText } from "../../src/model/JsonText.ts"
import { makeConnectorPrograms } from "../../src/programs/ConnectorPrograms.ts"
import { Programs } from "../../src/programs/Programs.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { ample, connectorWith } from "./Connector.ts"

const hostile = [
  'x","id":"y',
  '{"type":"z"},\\n{"store_ids":[',
  'a\\","id":1',
  ',"id":',
  'line\u2028 and \u0085 tab\t quote" back\\slash \u007f',
  "山湖与燕鸥 😀",
  "\\"
]

const pageOf = (answer: unknown) => (answer instanceof JsonText ? answer : assert.fail("no JSON text"))

layer(connectorWith(ample), { excludeTestServices: true })("renaming members in the text of a page", (it) => {
  it.effect("gives the same JSON as parsing the page, renaming the members and writing it, for all values", () =>
    Effect.gen(function* () {
      const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
      const pages = yield* Effect.gen(function* () {
        const product = yield* anEntity("product", { title: "First" }, { on: stores })
        for (const title of hostile) {
          yield* anEntity("product", { title }, { on: stores })
          yield* anEntity("collection", { title }, { on: stores })
          yield* anEntity("variant", { title, sku: title }, { on: stores, of: product })
          yield* anEntity("media", { url: "https://cdn.example/a.png", alt: title }, { on: stores })
        }
        const { getMasterRelated, listMasters } = yield* makeConnectorPrograms
        const { listCollections, listProducts, listVariants } = yield* Programs
        const query = { urlParams: { limit: 100 } }
        return {
          list_masters_v1: yield* listMasters(query),
          list_products_v1: yield* listProducts(query),
          list_variants_v1: yield* listVariants(query),
          list_collections_v1: yield* listCollections(query),
          get_master_related_v1: yield* getMasterRelated({ path: { master_id: product }, ...query })
        }
      }).pipe(actingAs(actor), Effect.orDie)
      for (const [name, answer] of Object.entries(pages)) {
        const tool = toolsByName.get(name) ?? assert.fail(name)
        const page = pageOf(answer)
        const renamed = tool.renamePage?.(page.text)
        assert.strictEqual(renamed, JSON.stringify(tool.encode(page)), name)
        assert.isAtLeast(renamed?.match(/"master_id":/g)?.length ?? 0, hostile.length, name)
      }
    })
  )

  it.effect("parses the page if a value or the page is too long", () =>
    Effect.sync(() => {
      const { renamePage } = toolsByName.get("list_products_v1") ?? assert.fail("no such tool")
      const row = (title: string) => `{"id":"1","type":"product","title":"${title}"}`
      const pageWith = (...titles: ReadonlyArray<string>) =>
        `{"data":[${titles.map(row).join(",\n")}],"next_cursor":null}`
      assert.isDefined(renamePage?.(pageWith("a", "b".repeat(3_900))))
      assert.isUndefined(renamePage?.(pageWith("a", "b".repeat(4_000))))
      assert.isDefined(renamePage?.(pageWith(...Array.from({ length: 15 }, () => "b".repeat(3_800)))))
      assert.isUndefined(renamePage?.(pageWith(...Array.from({ length: 16 }, () => "b".repeat(3_800)))))
    })
  )
})

describe("makeRenamePage", () => {
  const named = Schema.String.pipe(inConnector("master_id"))

  it("declines if a name is renamed in one place only, or if more than names change", () => {
    const rows = (row: Schema.Schema.AnyNoContext) => makeRenamePage(Schema.Struct({ data: Schema.Array(row) }).ast)
    assert.isDefined(rows(Schema.Struct({ id: named, title: Schema.String })))
    assert.isUndefined(rows(Schema.Struct({ id: named, other: Schema.Struct({ id: Schema.String }) })))
    assert.isUndefined(rows(Schema.Struct({ id: named, list: Schema.Array(Schema.Unknown) })))
    assert.isUndefined(rows(Schema.Struct({ id: named, more: Schema.Record({ key: Schema.String, value: named }) })))
    assert.isUndefined(rows(Schema.Struct({ id: named, secret: Schema.String.pipe(inConnector({ omit: true })) })))
    assert.isUndefined(
      rows(Schema.Struct({ id: named, ids: Schema.Array(Schema.String).pipe(inConnector({ maxItems: 1 })) }))
    )
  })
})
