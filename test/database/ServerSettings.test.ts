import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { checkServerSettings, settingWarnings } from "../../src/database/ServerSettings.ts"
import { warningLog } from "../support/ErrorLog.ts"
import { engines } from "../support/TestDatabase.ts"

const lost =
  "The database server has synchronous_commit = off: a crash of the server can lose changes that were answered as saved. Set it to on."

describe("warnings about settings of the database server", () => {
  it("name each setting that is off, and what happens", () => {
    const off = ["autovacuum", "fsync", "full_page_writes", "synchronous_commit", "track_counts"]
    assert.deepStrictEqual(settingWarnings(off.map((name) => ({ name, value: "off" }))), [
      "The database server has autovacuum = off: the tables grow and statements become slower with each change. Set it to on.",
      "The database server has fsync = off: a crash of its machine can destroy the catalog. Set it to on.",
      "The database server has full_page_writes = off: a crash of its machine can destroy the catalog. Set it to on.",
      lost,
      "The database server has track_counts = off: autovacuum finds nothing to do, so the tables grow and statements become slower with each change. Set it to on."
    ])
    assert.deepStrictEqual(settingWarnings(off.map((name) => ({ name, value: "on" }))), [])
    // With these values a server still saves a change before it answers.
    for (const value of ["local", "remote_write", "remote_apply"])
      assert.deepStrictEqual(settingWarnings([{ name: "synchronous_commit", value }]), [])
  })
})

for (const { absent, layer: database, name } of engines.filter(({ name }) => name === "server"))
  describe.skipIf(absent)(`warnings of a start, ${name}`, () => {
    layer(database, { excludeTestServices: true })((it) => {
      it.effect("tell what the server has", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const warningsWith = (value: string) => {
            const log = warningLog()
            return sql.withTransaction(
              sql`SELECT set_config('synchronous_commit', ${value}, true)`.pipe(
                Effect.zipRight(checkServerSettings),
                Effect.provide(log.layer),
                Effect.as(log.warnings)
              )
            )
          }
          assert.include(yield* warningsWith("off"), lost)
          assert.notInclude(yield* warningsWith("on"), lost)
        })
      )
    })
  })
