import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Database from "../../src/database/Database.ts"
import { commandsWith } from "../support/Commands.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

describe.skipIf(!serverAnswers)("the platform's commands", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("break the shop of a demo store for every process, and mend it", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabaseUrl
        const { run, refusal } = commandsWith({ DATABASE_URL: Redacted.value(url) })
        const failures = Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`SELECT kind, percent, delay_millis FROM demo_shop_failure ORDER BY kind`
        ).pipe(Effect.provide(Database.layerServer({ url })))

        yield* run("account", "create", "--name", "Mine")
        yield* run("store", "link", "tern.demo.example", "--platform", "demo")
        yield* run("store", "link", "files.example")

        assert.deepStrictEqual(yield* run("platform", "fail", "--store", "Tern.demo.example", "--percent", "10"), {
          code: 0,
          stdout:
            "The platform of Tern.demo.example fails from now on (refuse, 10 %).\nNext: catalog platform mend --store Tern.demo.example\n",
          stderr: ""
        })
        yield* run("platform", "fail", "--store", "tern.demo.example", "--kind", "delay", "--delay", "7")
        assert.deepStrictEqual(yield* failures, [
          { kind: "delay", percent: 100, delay_millis: 7_000 },
          { kind: "refuse", percent: 10, delay_millis: 0 }
        ])
        assert.deepStrictEqual(yield* run("platform", "mend", "--store", "tern.demo.example", "--json"), {
          code: 0,
          stdout: '{"store":"tern.demo.example"}\n',
          stderr: ""
        })
        assert.deepStrictEqual(yield* failures, [])

        assert.strictEqual(
          yield* refusal("platform", "fail", "--store", "nowhere.example"),
          "--store: nowhere.example is not linked; see `catalog store list`"
        )
        assert.strictEqual(
          yield* refusal("platform", "mend", "--store", "files.example"),
          "--store: files.example is on platform none; only demo stores fail when they are told to"
        )
        assert.strictEqual(
          yield* refusal("platform", "fail", "--store", "tern.demo.example", "--percent", "101"),
          "--percent: must be a whole number, 1 to 100"
        )
        assert.strictEqual(
          yield* refusal("platform", "fail", "--store", "tern.demo.example", "--kind", "delay", "--delay", "3601"),
          "--delay: must be 0 to 3600 seconds"
        )
        assert.deepStrictEqual(yield* failures, [])
      })
    )
  })
})
