import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Redacted, Runtime, Schedule } from "effect"
import { Demo } from "../../src/demo/Demo.ts"
import { actingAs, Catalog, TestServices } from "../../src/testing/index.ts"
import { catalog, catalogProcess, serveCatalog, startCatalog } from "../support/CommandLine.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { Dice, report } from "./Dice.ts"
import { layerDatabase } from "./ServerServices.ts"

const kinds = { products: "product", variants: "variant", collections: "collection", media: "media" } as const

interface Page {
  readonly data: ReadonlyArray<{ readonly title: string; readonly store_ids: ReadonlyArray<string> }>
  readonly next_cursor: string | null
}

type Rows = Readonly<Record<string, ReadonlyArray<string>>>

/** Titles of all entities of the demo, and the number of stores of each. */
const walked = async (
  pageAt: (path: keyof typeof kinds, cursor: string | undefined) => Promise<Page>
): Promise<Rows> => {
  const found: Record<string, ReadonlyArray<string>> = {}
  for (const path of ["products", "variants", "collections", "media"] as const) {
    const titles: Array<string> = []
    let cursor: string | undefined
    do {
      const page = await pageAt(path, cursor)
      titles.push(...page.data.map(({ store_ids, title }) => `${title} on ${store_ids.length}`))
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    found[path] = titles.sort()
  }
  return found
}

/** The same for a demo created in memory, without interruption. All tests share it. */
const undisturbed = Effect.gen(function* () {
  const { account } = yield* (yield* Demo).create
  const { list } = yield* Catalog
  const run = Runtime.runPromise(yield* Effect.runtime())
  return yield* Effect.promise(() =>
    walked((path, cursor) =>
      run(
        list(kinds[path], { limit: 250, cursor }).pipe(
          actingAs({ _tag: "Cli", accountId: account.id }),
          Effect.map(({ text }): Page => JSON.parse(text))
        )
      )
    )
  )
}).pipe(Effect.provide(TestServices), Effect.cached, Effect.runSync)

/** The demo as the service shows it to the owner of a key. */
const shownBy = (baseUrl: string, key: string) =>
  walked(async (path, cursor) => {
    const query = cursor === undefined ? "" : `&cursor=${cursor}`
    const answer = await fetch(`${baseUrl}/api/v1/${path}?limit=250${query}`, {
      headers: { authorization: `Bearer ${key}` }
    })
    return (await answer.json()) as Page
  })

const listOf = (what: "account" | "key", DATA_DIR: string) =>
  Effect.runPromise(catalog([what, "list", "--json"], { DATA_DIR }))

describe("a first start that is killed while it creates the demo", () => {
  it.scopedLive("is completed by the next one: one complete account whose key is shown", () =>
    Effect.gen(function* () {
      const DATA_DIR = yield* Effect.acquireRelease(
        Effect.sync(() => join(mkdtempSync(join(tmpdir(), "catalog-first-")), "data")),
        (path) => Effect.sync(() => rmSync(join(path, ".."), { recursive: true }))
      )
      const expected = yield* undisturbed
      const dice = new Dice("First start")
      // The first process also creates the database's files.
      const kills = 2
      yield* Effect.promise(async () => {
        for (let killed = 0, tries = 0; killed < kills; tries++) {
          assert.isBelow(tries, 6, "tries at a kill in the middle")
          const child = startCatalog(["serve"], { DATA_DIR, PORT: "0" })
          const gone = once(child, "exit")
          let shown = ""
          await new Promise<void>((resolve) => {
            let log = ""
            child.stderr?.on("data", (text) => {
              log += String(text)
              if (log.includes("creating the demo account")) resolve()
            })
            child.stdout?.on("data", (text) => {
              shown += String(text)
              resolve()
            })
            child.once("exit", () => resolve())
          })
          // The process creates the demo again, because the earlier kills left no account.
          assert.deepStrictEqual([child.exitCode, shown], [null, ""])
          await setTimeout(100 + dice.below(400))
          child.kill("SIGKILL")
          await gone
          if (shown === "") killed += 1
          // Killed too late: the demo was complete.
          else rmSync(DATA_DIR, { recursive: true })
        }
        const server = await serveCatalog({ DATA_DIR })
        try {
          assert.match(String(server.key), /^pk_live_[A-Za-z0-9]{38}$/)
          assert.deepStrictEqual(await shownBy(server.baseUrl, String(server.key)), expected)
          const accounts = await listOf("account", DATA_DIR)
          assert.lengthOf(JSON.parse(accounts.stdout).accounts, 1)
          const keys = await listOf("key", DATA_DIR)
          assert.lengthOf(JSON.parse(keys.stdout).keys, 1)
        } finally {
          await server.stop()
        }
      })
    })
  )
})

describe.skipIf(!serverAnswers)("catalog demo on a server", () => {
  layer(layerDatabase(2), { excludeTestServices: true })("demo", (it) => {
    it.scoped("if it is killed, it leaves nothing, and the next one creates one complete account", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const sql = yield* SqlClient.SqlClient
        const expected = yield* undisturbed
        const dice = new Dice("Demo on a server")
        const kills = amount(1, 3)
        const schedule = Schedule.spaced("5 millis")
        const writing = sql`
          SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()`
        for (let round = 0; round < kills; round++) {
          const child = startCatalog(["demo"], { DATABASE_URL })
          const gone = once(child, "exit")
          yield* writing.pipe(Effect.repeat({ until: (open) => open.length > 0, schedule }))
          yield* Effect.sleep(dice.below(60))
          child.kill("SIGKILL")
          yield* Effect.promise(() => gone)
          assert.strictEqual(child.signalCode, "SIGKILL")
          yield* writing.pipe(Effect.repeat({ until: (open) => open.length === 0, schedule }))
          const left = yield* sql`
            SELECT (SELECT count(*) FROM account) + (SELECT count(*) FROM entity) + (SELECT count(*) FROM store) AS rows`
          assert.strictEqual(Number(left[0]?.rows), 0)
        }
        const made = yield* Effect.promise(() => catalogProcess(["demo", "--json"], { DATABASE_URL }))
        const { key } = JSON.parse(made.stdout)
        const server = yield* Effect.acquireRelease(
          Effect.promise(() => serveCatalog({ DATABASE_URL })),
          ({ stop }) => Effect.promise(() => stop())
        )
        assert.deepStrictEqual(yield* Effect.promise(() => shownBy(server.baseUrl, key)), expected)
        assert.lengthOf(yield* sql`SELECT id FROM account`, 1)
        assert.lengthOf(yield* sql`SELECT id FROM api_key`, 1)
        report("Demo on a server", { kills })
      })
    )
  })
})
