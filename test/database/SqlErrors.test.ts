import { SqlClient } from "@effect/sql"
import { SqlError } from "@effect/sql/SqlError"
import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Logger, Option, Schema } from "effect"
import * as SqlErrors from "../../src/database/SqlErrors.ts"
import { NotFound, Unavailable } from "../../src/model/Errors.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

const withCode = (code: string) =>
  new SqlError({ cause: Object.assign(new Error("it failed"), { code }), message: "Failed to execute statement" })
const withMessage = (message: string) => new SqlError({ cause: new Error(message), message: "Connection error" })

/** PostgreSQL 18, appendix A: every error class of the table. */
const appendixA =
  "00 01 02 03 08 09 0A 0B 0F 0L 0P 0Z 10 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42 44 53 54 55 57 58 72 F0 HV P0 XX".split(
    " "
  )

const defectOf = <A, E>(exit: Exit.Exit<A, E>) =>
  Exit.isFailure(exit) ? Option.getOrUndefined(Cause.dieOption(exit.cause)) : undefined

const silent = Logger.remove(Logger.defaultLogger)

describe("SqlErrors.classify", () => {
  it("maps every class of appendix A, and nothing else", () => {
    assert.deepStrictEqual(Object.keys(SqlErrors.classBySqlStateClass).sort(), [...appendixA].sort())
    assert.isEmpty(Object.keys(SqlErrors.classBySqlState).filter((code) => !appendixA.includes(code.slice(0, 2))))
  })

  it.each([
    [
      "unavailable",
      ["08000", "08006", "53100", "53300", "57P01", "57P02", "57P03", "57P04", "57P05", "58000", "58030", "25006"]
    ],
    [
      "unavailable",
      [
        "28P01",
        "3D000",
        "42501",
        "55000",
        "57014",
        "ECONNREFUSED",
        "ECONNRESET",
        "ETIMEDOUT",
        "ENOTFOUND",
        "EPIPE",
        "EAI_AGAIN",
        "ENOENT"
      ]
    ],
    ["retry", ["40001", "40P01"]],
    ["invalid-text", ["22021", "22P05"]],
    ["defect", ["40000", "40002", "40003", "22012", "22P02", "23505", "25P02", "42601", "58P01", "XX000"]],
    ["defect", ["99999", "ERR_OUT_OF_RANGE", ""]]
  ] as const)("%s: %s", (expected, codes) => {
    for (const code of codes) {
      assert.strictEqual(SqlErrors.classify(withCode(code)), expected, code)
    }
  })

  it("an error that ended the session is unavailable, whatever its code", () => {
    const ended = (code: string, severity: string) =>
      new SqlError({ cause: Object.assign(new Error("could not write init file"), { code, severity }) })
    assert.strictEqual(SqlErrors.classify(ended("XX000", "FATAL")), "unavailable")
    assert.strictEqual(SqlErrors.classify(ended("XX000", "PANIC")), "unavailable")
    assert.strictEqual(SqlErrors.classify(ended("XX000", "ERROR")), "defect")
    assert.strictEqual(SqlErrors.classify(ended("40001", "FATAL")), "retry")
  })

  it("recognizes a lost connection by the message of pg", () => {
    for (const message of [
      "Connection terminated",
      "Connection terminated unexpectedly",
      "Connection terminated due to connection timeout",
      "timeout exceeded when trying to connect",
      "Client has encountered a connection error and is not queryable"
    ]) {
      assert.strictEqual(SqlErrors.classify(withMessage(message)), "unavailable", message)
    }
    assert.strictEqual(SqlErrors.classify(withMessage("Query values must be an array")), "defect")
    assert.strictEqual(SqlErrors.classify(new SqlError({})), "defect")
  })
})

it("reports a cluster node that is down as unavailable, although its code is that of an internal error", () => {
  const withMessage = (message: string) => new SqlError({ cause: Object.assign(new Error(message), { code: "XX000" }) })
  const lost = "could not commit transaction for shard 102043 on at least one active node"
  assert.strictEqual(SqlErrors.classify(withMessage(lost)), "unavailable")
  assert.strictEqual(SqlErrors.classify(withMessage("could not find a plan")), "defect")
})

it("repeats a transaction whose shard was split or moved, as test/faults/AccountIsolated meets it", () => {
  const failed = (code: string, message: string) =>
    new SqlError({ cause: Object.assign(new Error(message), { code }), message: "Failed to execute statement" })
  assert.strictEqual(SqlErrors.classify(failed("XX000", "could not find valid entry for shard 102043")), "retry")
  assert.strictEqual(SqlErrors.classify(failed("40001", "shard for the given value does not exist")), "retry")
})

describe("SqlErrors.orDie", () => {
  const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.exit(effect).pipe(Effect.provide(silent))

  it.effect("dies with Unavailable if the database is unavailable, and after a conflict outside a transaction", () =>
    Effect.gen(function* () {
      for (const code of ["57P01", "ECONNREFUSED", "40001", "40P01"]) {
        assert.instanceOf(defectOf(yield* run(SqlErrors.orDie(withCode(code)))), Unavailable, code)
      }
      const timedOut = defectOf(yield* run(SqlErrors.orDie(withCode("57014"))))
      assert.instanceOf(timedOut, SqlErrors.StatementTimedOut)
      assert.instanceOf(timedOut, Unavailable)
    })
  )

  it.effect("dies with the error itself if it is a defect", () =>
    Effect.gen(function* () {
      const error = withCode("42703")
      assert.strictEqual(defectOf(yield* run(SqlErrors.orDie(error))), error)
      const parse = yield* Effect.flip(Schema.decodeUnknown(Schema.Int)("x"))
      assert.strictEqual(defectOf(yield* run(SqlErrors.orDie(parse))), parse)
    })
  )

  it.effect("leaves domain errors and values unchanged", () =>
    Effect.gen(function* () {
      const program: Effect.Effect<number, NotFound | SqlError> = new NotFound()
      assert.instanceOf(yield* Effect.flip(SqlErrors.orDie(program)), NotFound)
      assert.strictEqual(yield* SqlErrors.orDie(Effect.succeed(1)), 1)
    })
  )
})

for (const engine of TestDatabase.engines) {
  describe.skipIf(engine.absent)(`SqlErrors on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("reports text that cannot be stored", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const zero = yield* Effect.flip(sql`SELECT ${"a\u0000b"}::text`)
          assert.strictEqual(SqlErrors.classify(zero), "invalid-text")
          const escaped = yield* Effect.flip(sql`SELECT ${JSON.stringify("\u0000")}::jsonb`)
          assert.strictEqual(SqlErrors.classify(escaped), "invalid-text")
        })
      )

      it.effect("describes a wrong statement in one line", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const error = yield* Effect.flip(sql`SELECT absent FROM account`)
          assert.strictEqual(SqlErrors.classify(error), "defect")
          assert.strictEqual(SqlErrors.describe(error), 'column "absent" does not exist (42703)')
        })
      )
    })
  })
}
