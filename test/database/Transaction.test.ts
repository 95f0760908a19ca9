import { SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import { assert, describe, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Layer, Logger, Option, Ref } from "effect"
import { afterCommit } from "../../src/database/CommitHooks.ts"
import { insertAll } from "../../src/database/Inserts.ts"
import * as SqlErrors from "../../src/database/SqlErrors.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { NotFound, Unavailable } from "../../src/model/Errors.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

const silent = Logger.remove(Logger.defaultLogger)

const defectOf = <A, E>(exit: Exit.Exit<A, E>) =>
  Exit.isFailure(exit) ? Option.getOrUndefined(Cause.dieOption(exit.cause)) : undefined

const tables = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE note (id int PRIMARY KEY, text text NOT NULL)`
    yield* sql`CREATE TABLE pair (id int PRIMARY KEY, other int NOT NULL REFERENCES pair (id) DEFERRABLE INITIALLY DEFERRED)`
  })
)

/** Fails as a transaction does after a conflict with another one. */
const lose = (code: "40001" | "40P01") =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(`DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '${code}'; END $$`)
  )

const write = (id: number, text: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => SqlErrors.orDie(sql`INSERT INTO note VALUES (${id}, ${text})`))

const texts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT text FROM note ORDER BY id`
  yield* sql`DELETE FROM note`
  return rows.map((row) => row.text)
})

for (const engine of TestDatabase.engines) {
  describe.skipIf(engine.absent)(`Transaction on ${engine.name}`, () => {
    const TestLayer = Layer.mergeAll(Transaction.layer, tables, silent).pipe(Layer.provideMerge(engine.empty))

    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("commits all writes or none", () =>
        Effect.gen(function* () {
          const { run } = yield* Transaction
          yield* run(Effect.zip(write(1, "a"), write(2, "b")))
          assert.deepStrictEqual(yield* texts, ["a", "b"])
          const failed = yield* Effect.flip(run(Effect.zipRight(write(1, "a"), new NotFound())))
          assert.instanceOf(failed, NotFound)
          assert.deepStrictEqual(yield* texts, [])
        })
      )

      it.effect("reports a COMMIT that a cluster node did not confirm as unavailable, and keeps the connection", () =>
        Effect.gen(function* () {
          const { run } = yield* Transaction
          const sql = yield* SqlClient.SqlClient
          yield* sql.unsafe(`
            CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS
              $$ BEGIN RAISE WARNING 'failed to commit transaction on 127.0.0.1:5501'; RETURN NULL; END $$`)
          yield* sql`
            CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON note DEFERRABLE INITIALLY DEFERRED
              FOR EACH ROW EXECUTE FUNCTION warn()`
          const exit = yield* Effect.exit(run(write(1, "a")))
          yield* sql`DROP TRIGGER warn ON note`
          assert.instanceOf(defectOf(exit), Unavailable)
          yield* run(write(2, "b"))
          assert.deepStrictEqual(yield* texts, ["a", "b"])
        })
      )

      it.effect("runs effects of afterCommit once after the commit, and does not run them after a rollback", () =>
        Effect.gen(function* () {
          const { run } = yield* Transaction
          const seen = yield* Ref.make<ReadonlyArray<string>>([])
          const sql = yield* SqlClient.SqlClient
          const noted = (name: string) =>
            texts.pipe(
              Effect.flatMap((rows) => Ref.update(seen, (all) => [...all, name, ...rows.map(String)])),
              Effect.provideService(SqlClient.SqlClient, sql),
              Effect.orDie,
              afterCommit
            )
          const attempts = yield* Ref.make(0)
          yield* run(
            Effect.gen(function* () {
              yield* noted("outer")
              yield* write(1, "a")
              yield* run(noted("savepoint"))
              yield* Effect.ignore(run(Effect.zipRight(noted("rolled back savepoint"), new NotFound())))
              if ((yield* Ref.updateAndGet(attempts, (count) => count + 1)) === 1) yield* lose("40001")
            })
          )
          yield* Effect.ignore(run(Effect.zipRight(noted("rolled back"), new NotFound())))
          yield* noted("no transaction")
          assert.deepStrictEqual(yield* Ref.get(seen), ["outer", "a", "savepoint", "no transaction"])
        })
      )

      it.effect("repeats a transaction after a conflict, as an error and as a defect", () =>
        Effect.gen(function* () {
          const { run } = yield* Transaction
          const attempts = yield* Ref.make(0)
          yield* run(
            Effect.gen(function* () {
              const attempt = yield* Ref.updateAndGet(attempts, (n) => n + 1)
              yield* write(attempt, `attempt ${attempt}`)
              if (attempt === 1) {
                yield* lose("40001")
              }
              if (attempt === 2) {
                yield* SqlErrors.orDie(lose("40P01"))
              }
            })
          )
          assert.deepStrictEqual(yield* texts, ["attempt 3"])
        })
      )

      it.effect(
        "repeats a transaction whose INSERT did not find the row that it selects from, then fails as unavailable",
        () =>
          Effect.gen(function* () {
            const { run } = yield* Transaction
            const sql = yield* SqlClient.SqlClient
            const copyOfFirst = insertAll(sql`INSERT INTO note SELECT 2, text FROM note WHERE id = 1`, 1)
            const attempts = yield* Ref.make(0)
            yield* run(
              Effect.gen(function* () {
                if ((yield* Ref.updateAndGet(attempts, (count) => count + 1)) === 2) yield* write(1, "moved")
                yield* copyOfFirst
              })
            )
            assert.deepStrictEqual(yield* texts, ["moved", "moved"])
            assert.instanceOf(defectOf(yield* Effect.exit(run(copyOfFirst))), Unavailable)
          })
      )

      it.effect("fails with Unavailable after three repeats", () =>
        Effect.gen(function* () {
          const { run } = yield* Transaction
          const attempts = yield* Ref.make(0)
          const always = Effect.zipRight(
            Ref.update(attempts, (n) => n + 1),
            lose("40001")
          )
          assert.instanceOf(defectOf(yield* Effect.exit(run(SqlErrors.orDie(always)))), Unavailable)
          assert.strictEqual(yield* Ref.getAndSet(attempts, 0), 4)
          assert.instanceOf(defectOf(yield* Effect.exit(run(always))), Unavailable)
          assert.strictEqual(yield* Ref.get(attempts), 4)
        })
      )

      it.effect("does not repeat other failures", () =>
        Effect.gen(function* () {
          const { run } = yield* Transaction
          const sql = yield* SqlClient.SqlClient
          const attempts = yield* Ref.make(0)
          const counted = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
            run(
              Effect.zipRight(
                Ref.update(attempts, (n) => n + 1),
                effect
              )
            )
          const statement = defectOf(yield* Effect.exit(counted(sql`SELECT absent`))) as SqlError
          assert.strictEqual(SqlErrors.describe(statement), 'column "absent" does not exist (42703)')
          // The foreign key is checked at commit.
          const commit = defectOf(yield* Effect.exit(counted(sql`INSERT INTO pair VALUES (1, 2)`))) as SqlError
          assert.match(SqlErrors.describe(commit), /violates foreign key constraint .* \(23503\)$/)
          assert.instanceOf(yield* Effect.flip(counted(new NotFound())), NotFound)
          assert.strictEqual(yield* Ref.get(attempts), 3)
          assert.lengthOf(yield* sql`SELECT FROM pair`, 0)
        })
      )

      it.effect("is a savepoint inside another transaction: rolled back alone, repeated only as a whole", () =>
        Effect.gen(function* () {
          const { run } = yield* Transaction
          yield* run(
            Effect.gen(function* () {
              yield* write(1, "outer")
              yield* Effect.flip(run(Effect.zipRight(write(2, "inner"), new NotFound())))
            })
          )
          assert.deepStrictEqual(yield* texts, ["outer"])

          const outer = yield* Ref.make(0)
          const inner = yield* Ref.make(0)
          yield* run(
            Effect.gen(function* () {
              const attempt = yield* Ref.updateAndGet(outer, (n) => n + 1)
              yield* run(
                Effect.gen(function* () {
                  yield* Ref.update(inner, (n) => n + 1)
                  yield* attempt < 3 ? lose("40001") : Effect.void
                })
              )
            })
          )
          assert.deepStrictEqual([yield* Ref.get(outer), yield* Ref.get(inner)], [3, 3])
        })
      )
    })
  })
}

describe.skipIf(!TestDatabase.serverAnswers)("Transaction between two connections", () => {
  const TestLayer = Layer.mergeAll(Transaction.layer, tables, silent).pipe(
    Layer.provideMerge(TestDatabase.layerServerEmpty)
  )

  layer(TestLayer, { excludeTestServices: true })((it) => {
    it.effect("the victim of a deadlock is run again, and both commit", () =>
      Effect.gen(function* () {
        const { run } = yield* Transaction
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO note VALUES (1, ''), (2, '')`
        const attempts = yield* Ref.make(0)
        const latches = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
        const append = (id: number, text: string) =>
          SqlErrors.orDie(sql`UPDATE note SET text = text || ${text} WHERE id = ${id}`)
        const crossing = (text: string, first: number, second: number, mine: 0 | 1) =>
          run(
            Effect.gen(function* () {
              yield* Ref.update(attempts, (n) => n + 1)
              yield* append(first, text)
              // Both lock their first row before either requests the second.
              yield* Deferred.succeed(latches[mine], undefined)
              yield* Deferred.await(latches[mine === 0 ? 1 : 0])
              yield* append(second, text)
            })
          )
        yield* Effect.all([crossing("a", 1, 2, 0), crossing("b", 2, 1, 1)], { concurrency: 2 })
        // Usually 3. If both detect the deadlock at the same time, PostgreSQL may end both.
        assert.include([3, 4], yield* Ref.get(attempts))
        const both = yield* texts
        assert.strictEqual(both[0], both[1])
        assert.include(["ab", "ba"], both[0])
      })
    )

    it.effect("a connection lost in a transaction is Unavailable once, and the next transaction runs", () =>
      Effect.gen(function* () {
        const { run } = yield* Transaction
        const sql = yield* SqlClient.SqlClient
        const attempts = yield* Ref.make(0)
        const exit = yield* Effect.exit(
          run(
            Effect.gen(function* () {
              yield* Ref.update(attempts, (n) => n + 1)
              yield* write(1, "lost")
              yield* SqlErrors.orDie(sql`SELECT pg_terminate_backend(pg_backend_pid())`)
            })
          )
        )
        assert.instanceOf(defectOf(exit), Unavailable)
        assert.strictEqual(yield* Ref.get(attempts), 1)
        yield* run(write(2, "kept"))
        assert.deepStrictEqual(yield* texts, ["kept"])
      })
    )
  })
})
