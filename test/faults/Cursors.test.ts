import { execFile, spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Option, Redacted } from "effect"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import * as Database from "../../src/database/Database.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { ask, serverWith } from "../http/Exchange.ts"
import { prepareDataDirectory } from "../support/CommandLine.ts"
import { layerServerUrl, layerServerUrlEmpty, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const silent = Logger.remove(Logger.defaultLogger)

/** A node of the service on a database, with pools, keys and a cursor codec of its own, as in a process of its own. */
const nodeOn = (database: Parameters<typeof Database.layer>[0]) =>
  serverWith().pipe(
    Layer.provideMerge(RateBudget.layerProcess({ perKey: 1_000, perAccount: 1_000 })),
    Layer.provideMerge(ServicesOnDatabase),
    Layer.provide(Database.layer(database)),
    Layer.orDie,
    Layer.fresh
  )

interface Page {
  readonly data: ReadonlyArray<{ readonly id: string; readonly title: string }>
  readonly next_cursor: string | null
}

const pageAt = (token: string, cursor: string | null) =>
  Effect.map(
    ask(`/api/v1/products?limit=3&search=boots${cursor === null ? "" : `&cursor=${cursor}`}`, { token }),
    ({ status, text }) => {
      assert.strictEqual(status, 200, text)
      return JSON.parse(text) as Page
    }
  )

const titlesOf = ({ data }: Page) => data.map(({ title }) => title)

/** Creates ten products, and reads the first page of a walk over them. */
const begun = Effect.gen(function* () {
  const { actor, token } = yield* anAccount()
  for (let place = 1; place <= 10; place++)
    yield* anEntity("product", { title: `Boots ${place}` }).pipe(actingAs(actor))
  const first = yield* pageAt(token, null)
  assert.deepStrictEqual(titlesOf(first), ["Boots 1", "Boots 2", "Boots 3"])
  return { token, cursor: String(first.next_cursor) }
})

/** The first page gives the same cursor again, and the walk continues from it to the end. */
const goesOn = ({ cursor, token }: { readonly cursor: string; readonly token: string }) =>
  Effect.gen(function* () {
    assert.strictEqual((yield* pageAt(token, null)).next_cursor, cursor)
    const titles: Array<string> = []
    let next: string | null = cursor
    while (next !== null) {
      const page: Page = yield* pageAt(token, next)
      titles.push(...titlesOf(page))
      next = page.next_cursor
    }
    assert.deepStrictEqual(
      titles,
      [4, 5, 6, 7, 8, 9, 10].map((place) => `Boots ${place}`)
    )
  })

/** A database that was created again has another secret, so it refuses cursors of the old one. */
const isRefused = (cursor: string) =>
  Effect.gen(function* () {
    const { token } = yield* anAccount()
    const answer = yield* ask(`/api/v1/products?limit=3&search=boots&cursor=${cursor}`, { token })
    assert.strictEqual(answer.status, 400)
  })

const run = promisify(execFile)

const missing = ["pg_dump", "psql"].filter((program) => spawnSync(program, ["--version"]).status !== 0)
if (missing.length > 0) console.warn(`The suite of cursors after a restore is SKIPPED: ${missing.join(", ")} not found`)

describe.skipIf(!serverAnswers || missing.length > 0)("a cursor of a database on the server", () => {
  it.scopedLive("is valid on another node, and after dump and restore", () =>
    Effect.gen(function* () {
      const urlOf = (database: Layer.Layer<TestDatabaseUrl>) =>
        Effect.map(Layer.build(Layer.fresh(database)), (context) =>
          Redacted.value(Context.get(context, TestDatabaseUrl))
        )
      const source = yield* urlOf(layerServerUrl)
      const [restored, other] = [yield* urlOf(layerServerUrlEmpty), yield* urlOf(layerServerUrlEmpty)]
      const on = (url: string) => nodeOn({ url: Option.some(Redacted.make(url)), dataDirectory: "" })
      const walk = yield* Effect.provide(begun, on(source))
      yield* Effect.provide(goesOn(walk), on(source))

      const directory = mkdtempSync(join(tmpdir(), "catalog-dump-"))
      const file = join(directory, "dump.sql")
      yield* Effect.promise(async () => {
        await run("pg_dump", ["--no-owner", "--file", file, source])
        await run("psql", ["--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--file", file, restored])
        rmSync(directory, { recursive: true })
      })
      yield* Effect.provide(goesOn(walk), on(restored))
      yield* Effect.provide(isRefused(walk.cursor), on(other))
    }).pipe(Effect.provide(silent))
  )
})

describe("a cursor of an embedded database", () => {
  it.scopedLive("is valid in a copy of its directory", () =>
    Effect.gen(function* () {
      const directory = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-copy-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      const on = (name: string) => nodeOn({ url: Option.none(), dataDirectory: join(directory, name) })
      prepareDataDirectory(join(directory, "one"))
      const walk = yield* Effect.provide(begun, on("one"))
      yield* Effect.sync(() => cpSync(join(directory, "one"), join(directory, "two"), { recursive: true }))
      yield* Effect.provide(goesOn(walk), on("two"))
      yield* Effect.provide(goesOn(walk), on("one"))
    }).pipe(Effect.provide(silent))
  )
})
