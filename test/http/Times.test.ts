import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { afterAll } from "vitest"
import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { Imports } from "../../src/imports/Imports.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { actingAs } from "../../src/testing/index.ts"
import { aMerchant } from "../console/Merchant.ts"
import { ask, PagesServer } from "../oauth/PagesServer.ts"

const folder = mkdtempSync(join(tmpdir(), "times-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, "export.csv")
writeFileSync(
  file,
  `Handle,Title,Variant SKU,Variant Price,Image Src\n${Array.from({ length: 300 }, (_, n) => `hat-${n},Hat ${n},H-${n},5.00,https://cdn.example/${n}.jpg`).join("\n")}\n`
)

interface Detail {
  readonly created_at: string
  readonly updated_at: string
  readonly stores: ReadonlyArray<{ readonly published_at: string | null }>
}

/**
 * Reads all entities of an account over REST. Returns the number of published versions, and the entities whose times
 * are not in order.
 */
const timesOf = (accountId: AccountId) =>
  Effect.gen(function* () {
    const { token } = yield* (yield* ApiKeys).create(accountId, {
      name: "Times",
      scopes: ["pim:read"],
      expiresAt: null
    })
    const headers = { authorization: `Bearer ${Redacted.value(token)}` }
    const read = (path: string) =>
      Effect.map(ask(`/api/v1${path}`, { headers }), (answer) => {
        assert.strictEqual(answer.status, 200, answer.text)
        return JSON.parse(answer.text)
      })
    let published = 0
    const wrong: Array<unknown> = []
    for (const list of ["products", "variants", "collections", "media"]) {
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page: { readonly data: ReadonlyArray<{ readonly id: string }>; readonly next_cursor: string | null } =
          yield* read(`/${list}?limit=40${cursor === "" ? "" : `&cursor=${cursor}`}`)
        cursor = page.next_cursor
        for (const { id } of page.data) {
          const { created_at, stores, updated_at }: Detail = yield* read(`/${list}/${id}`)
          const times = stores.flatMap(({ published_at }) => published_at ?? [])
          published += times.length
          if (created_at > updated_at || times.some((time) => time < updated_at))
            wrong.push({ list, id, created_at, updated_at, times })
        }
        // The first pages represent a large catalog.
        if (published > 150) break
      }
    }
    return { published, wrong }
  })

layer(PagesServer, { excludeTestServices: true })("times of entities over REST", (it) => {
  it.effect("are in the order created, changed, published, for everything that an import or a refresh creates", () =>
    Effect.gen(function* () {
      const { accountId, actor, files } = yield* aMerchant
      const imports = yield* Imports
      yield* Effect.flatMap(
        imports.csv(file, files.domain, () => Effect.void),
        ({ id }) => imports.accept(id, () => Effect.void)
      ).pipe(actingAs(actor))
      const { published, wrong } = yield* timesOf(accountId)
      assert.deepStrictEqual(wrong, [])
      assert.isAtLeast(published, 150)
      // Checks every row in the database; rows of one transaction have the same times.
      const sql = yield* SqlClient.SqlClient
      const [counted] = yield* sql`
        SELECT count(*)::integer AS all, count(DISTINCT e.created_at)::integer AS moments,
               count(*) FILTER (WHERE e.created_at > e.canonical_changed_at OR v.published_at < e.canonical_changed_at)::integer AS wrong
        FROM entity e JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id
        WHERE v.account_id = ${accountId} AND v.store_id = ${files.id}`
      assert.deepInclude(counted, { all: 900, moments: 1, wrong: 0 })
    })
  )
})
