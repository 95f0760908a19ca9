import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { Sessions } from "../../src/access/Sessions.ts"
import { Authorization } from "../../src/connections/Authorization.ts"
import { layerServer, serverAnswers } from "../support/TestDatabase.ts"
import { aConnection, aUser, pagesServer } from "./PagesServer.ts"

describe.skipIf(!serverAnswers)("expired rows", () => {
  layer(pagesServer({}, layerServer), { excludeTestServices: true })((it) => {
    it.effect("are deleted, however many they are, except rows that another process has locked", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { accountId, cookie } = yield* aUser()
        yield* aConnection(cookie)
        const many = 2_500
        yield* sql`
          INSERT INTO oauth_token (account_id, hash, grant_id, kind, tier, expires_at)
          SELECT account_id, sha256(n::text::bytea), id, 'access', tier, app_now() - interval '1 day'
          FROM oauth_grant, generate_series(1, ${many}::int) n
          WHERE account_id = ${accountId}`
        yield* sql`
          INSERT INTO attempt (kind, subject, since)
          SELECT 'sign-in', sha256(n::text::bytea), app_now() - interval '1 day' FROM generate_series(1, ${many}::int) n`
        const first = (table: string) => sql`
          SELECT 1 FROM ${sql(table)} WHERE ${sql(table === "attempt" ? "subject" : "hash")} = sha256('1'::bytea) FOR UPDATE`
        const locked = yield* Deferred.make<void>()
        const done = yield* Deferred.make<void>()
        const other = yield* Effect.all([
          first("oauth_token"),
          first("attempt"),
          Deferred.succeed(locked, undefined),
          Deferred.await(done)
        ]).pipe(sql.withTransaction, Effect.fork)
        yield* Deferred.await(locked)
        assert.strictEqual(yield* (yield* Authorization).forget, many - 1)
        assert.strictEqual(yield* (yield* Sessions).forget, many - 1)
        yield* Deferred.succeed(done, undefined)
        yield* Fiber.join(other)
        assert.strictEqual(yield* (yield* Authorization).forget, 1)
        assert.strictEqual(yield* (yield* Sessions).forget, 1)
      })
    )
  })
})
