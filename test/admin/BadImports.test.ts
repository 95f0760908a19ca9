import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Stream } from "effect"
import { afterAll } from "vitest"
import { AdminClient } from "../../src/admin/AdminClient.ts"
import * as AdminInProcess from "../../src/admin/AdminInProcess.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, CatalogChanges } from "../../src/testing/index.ts"
import {
  asNobody,
  badExports,
  badPaths,
  changedMessage,
  databaseContent,
  disturbances,
  goodExport,
  inFolder,
  tellsReads,
  untilRead,
  writeLongExport
} from "../support/BadExports.ts"
import { catalog } from "../support/CommandLine.ts"
import { layerServer, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

// Other users may enter the directory, so only the file's own mode prevents them from reading it.
const folder = mkdtempSync(join(tmpdir(), "bad-imports-"))
chmodSync(folder, 0o755)
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const freePath = inFolder(folder)

const TestLayer = AdminInProcess.layer.pipe(
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(layerServer),
  Layer.orDie
)

/** An account with the products that the bad files name, and another account's store. */
const aMerchant = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount({ domains: ["us.example"], name: "Mine" })
  yield* anAccount({ domains: ["other.example"], name: "Another" })
  const path = freePath()
  writeFileSync(path, goodExport)
  const client = yield* AdminClient
  yield* Stream.runDrain(
    client.importCsv({
      account: Option.some(accountId),
      path,
      store: "us.example",
      accept: true,
      rest: null,
      remove: false
    })
  )
  return { accountId, actor }
})

/** Refused with this message, once; only the record of the import is written, and the account is not locked. */
const refuses = <E, R>(refusal: Effect.Effect<string, E, R>, message: string, recorded: boolean) =>
  Effect.gen(function* () {
    const before = yield* databaseContent
    assert.strictEqual(yield* refusal, message)
    const after = yield* databaseContent
    assert.deepStrictEqual(after.rows, before.rows)
    const records = after.imports.slice(before.imports.length)
    assert.deepStrictEqual(after.imports.slice(0, before.imports.length), before.imports)
    assert.deepStrictEqual(
      records.map(({ error, phase }) => [phase, error]),
      recorded ? [["failed", message]] : []
    )
    yield* (yield* CatalogChanges).apply([])
  })

type Refused = (
  account: string,
  path: string,
  store: string
) => Effect.Effect<string, unknown, AdminClient | TestDatabaseUrl>

const ways: Readonly<Record<string, Refused>> = {
  "the admin programs": (account, path, store) =>
    Effect.gen(function* () {
      const client = yield* AdminClient
      const error = yield* Effect.flip(
        Stream.runDrain(
          client.importCsv({ account: Option.some(account), path, store, accept: true, rest: null, remove: false })
        )
      )
      return error.message
    }),
  "the command line": (account, path, store) =>
    Effect.gen(function* () {
      const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
      const ended = yield* catalog(["import", "csv", path, "--store", store, "--accept", "--account", account], {
        DATABASE_URL
      })
      assert.deepStrictEqual([ended.code, ended.stdout], [1, ""])
      assert.isTrue(ended.stderr.endsWith("\n"))
      // The command line adds the account to the next command of a refusal.
      return ended.stderr.slice(0, -1).replaceAll(` --account ${account}`, "")
    })
}

for (const [name, refused] of Object.entries(ways))
  describe.skipIf(!serverAnswers)(`bad input through ${name}`, () => {
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("is refused with line and column, and nothing is written", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* aMerchant
          for (const { content, message } of badExports) {
            const path = freePath()
            writeFileSync(path, content)
            yield* refuses(refused(accountId, path, "us.example"), message, true).pipe(actingAs(actor))
          }
          for (const { make, message } of badPaths) {
            const path = freePath()
            make(path)
            yield* refuses(asNobody(refused(accountId, path, "us.example")), message(path), true).pipe(actingAs(actor))
          }
          for (const store of ["nowhere.example", "other.example"])
            yield* refuses(
              refused(accountId, join(folder, "bad-0.csv"), store),
              `store: no store ${store} is linked; see \`catalog store list\``,
              false
            ).pipe(actingAs(actor))
        })
      )

      it.effect.each(tellsReads ? disturbances : [])("a file that %s while it is read is refused", ([, disturb]) =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* aMerchant
          const path = freePath()
          writeLongExport(path)
          const disturbed = Effect.zipRight(
            untilRead(path),
            Effect.sync(() => disturb(path))
          )
          const refusal = Effect.map(
            Effect.all([refused(accountId, path, "us.example"), disturbed], { concurrency: 2 }),
            ([message]) => message
          )
          yield* refuses(refusal, changedMessage, true).pipe(actingAs(actor))
        })
      )
    })
  })
