import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger } from "effect"
import * as Migrations from "../../src/database/Migrations.ts"
import { workUntilNewer } from "../../src/programs/WorkUntilNewer.ts"
import { anyDatabase } from "../support/TestDatabase.ts"

describe("background work", () => {
  it.live("ends when the schema becomes newer than the code, and does not begin if the schema is newer already", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const events: Array<string> = []
      const begun = yield* Deferred.make<void>()
      const workers = Layer.scopedDiscard(
        Effect.acquireRelease(
          Effect.zipRight(
            Effect.sync(() => events.push("begun")),
            Deferred.succeed(begun, undefined)
          ),
          () => Effect.sync(() => events.push("ended"))
        )
      )
      const logger = Logger.make(({ message }) => events.push(String(message)))
      const work = workUntilNewer(workers, "10 millis").pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )
      const working = yield* Effect.fork(work)
      yield* Deferred.await(begun)
      yield* sql`INSERT INTO catalog_migration (migration_id, name) VALUES (9999, 'of_tomorrow')`
      yield* Fiber.join(working)
      const told =
        "No background work in this process: The database schema is newer than this version of the service (9999_of_tomorrow): run the version that created it."
      assert.deepStrictEqual(events, ["begun", "ended", told])
      yield* work
      assert.deepStrictEqual(events, ["begun", "ended", told, told])
    }).pipe(Effect.provide(anyDatabase))
  )

  it.live("goes on while the schema cannot be read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`ALTER TABLE catalog_migration RENAME COLUMN name TO unreadable`
      assert.isUndefined(yield* Migrations.newer)
    }).pipe(Effect.provide(anyDatabase))
  )
})
