import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ask, PagesServer } from "../oauth/PagesServer.ts"
import { aMerchant, assertPage } from "./Merchant.ts"

layer(PagesServer, { excludeTestServices: true })("downloads of the catalog", (it) => {
  it.effect("are linked on the page of stores, and need a sign-in", () =>
    Effect.gen(function* () {
      const { cookie, tent } = yield* aMerchant
      assert.include((yield* assertPage("/stores", cookie)).text, `<a href="/exports/catalog.jsonl" download`)
      const file = yield* ask("/exports/catalog.jsonl", { headers: { cookie } })
      assert.deepStrictEqual(
        [file.status, file.headers.get("content-type"), file.headers.get("content-disposition")],
        [200, "application/jsonl; charset=utf-8", 'attachment; filename="catalog.jsonl"']
      )
      const lines = file.text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.include(
        lines.map(({ id }) => id),
        tent
      )
      assert.deepStrictEqual(lines.at(-1), { type: "end", entities: lines.length - 4 })
      const foreign = yield* ask("/exports/catalog.jsonl")
      assert.deepStrictEqual(
        [foreign.status, foreign.headers.get("location")],
        [303, "/sign-in?return_to=%2Fexports%2Fcatalog.jsonl"]
      )
    })
  )
})
