import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { replicaPauseMillis } from "../../src/database/Deadlines.ts"
import { CircuitBreaker } from "../../src/database/FallbackCircuit.ts"
import { Replica, type ReplicaPool, readingAt } from "../../src/database/Replica.ts"
import { NoConnectionFree } from "../../src/database/ServerPools.ts"

const accountId = "00000000-0000-0000-0000-000000000001"

const coded = (code: string) => Object.assign(new Error(code), { code })

/** What the replica does at the next read: the version that it has, or how it fails. */
type Next =
  | { readonly version: number | null; readonly follows?: boolean; readonly fails?: Error }
  | { readonly connect: Error }

/** A replica that does what `next` says, and a primary whose rows are `primary`. */
const scripted = (...next: ReadonlyArray<Next>) => {
  const script = [...next]
  const asked: Array<string> = []
  const changes: Array<string | undefined> = []
  let now = 0
  let open = 0
  const pool: ReplicaPool = {
    connect: (callback) => {
      const step = script.shift()
      if (step === undefined) return assert.fail("the replica was asked once more")
      if ("connect" in step) return callback(step.connect)
      open++
      const { fails, follows = true, version } = step
      callback(
        undefined,
        {
          begin: "BEGIN",
          deadlineMillis: 2_000,
          query: (text: string, ...rest: ReadonlyArray<unknown>) => {
            asked.push(text)
            const done = rest.at(-1) as (error: Error | undefined, result: unknown) => void
            if (text.startsWith("BEGIN"))
              done(undefined, [{ rows: [] }, { rows: [] }, { rows: [{ follows, version }] }])
            else done(text === "COMMIT" ? undefined : fails, { rows: [`replica ${version}`] })
          }
        },
        () => open--
      )
    }
  }
  const replica = new Replica({ pool, now: () => now, onChange: (reason) => changes.push(reason) })
  return {
    asked,
    changes,
    left: () => script.length,
    open: () => open,
    pass: (millis: number) => {
      now += millis
    },
    read: replica.orPrimary("SELECT 1", [1], Effect.succeed(["primary"]))
  }
}

const at = (version: number) => readingAt(accountId, version)

describe("reads from a replica", () => {
  it.effect("are answered by it only if it has the account's version, in one transaction with one snapshot", () =>
    Effect.gen(function* () {
      const { asked, left, open, read } = scripted({ version: 7 }, { version: 8 }, { version: 6 }, { version: null })
      assert.deepStrictEqual(yield* at(7)(read), ["replica 7"])
      assert.deepStrictEqual(asked, [
        `BEGIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT pg_is_in_recovery() AS follows, (SELECT version FROM account_state WHERE account_id = '${accountId}') AS version`,
        "SELECT 1",
        "COMMIT"
      ])
      assert.deepStrictEqual(yield* at(7)(read), ["replica 8"])
      assert.deepStrictEqual(yield* at(7)(read), ["primary"])
      assert.deepStrictEqual(yield* at(7)(read), ["primary"])
      // Without a version only the primary is asked.
      assert.deepStrictEqual(yield* read, ["primary"])
      assert.strictEqual(left(), 0)
      assert.strictEqual(open(), 0)
    })
  )

  it.effect("of one request never see less than an earlier one, whichever server answered it", () =>
    Effect.gen(function* () {
      const balanced = scripted({ version: 9 }, { version: 8 })
      assert.deepStrictEqual(yield* at(7)(Effect.all([balanced.read, balanced.read])), [["replica 9"], ["primary"]])
      // The replica catches up to the request's version, but not to what the primary has answered meanwhile.
      const late = scripted({ version: 6 }, { version: 7 })
      assert.deepStrictEqual(yield* at(7)(Effect.all([late.read, late.read])), [["primary"], ["primary"]])
      assert.strictEqual(late.left(), 1)
      // Requests that read by themselves would go back (planted).
      const apart = scripted({ version: 6 }, { version: 7 })
      assert.deepStrictEqual(yield* Effect.all([at(7)(apart.read), at(7)(apart.read)]), [["primary"], ["replica 7"]])
    })
  )

  it.effect("go to the primary after any failure; a server that does not answer is left alone, then tried once", () =>
    Effect.gen(function* () {
      const failures: ReadonlyArray<readonly [Next, rests: boolean]> = [
        [{ connect: coded("ECONNREFUSED") }, true],
        [{ connect: new NoConnectionFree("busy") }, false],
        [{ version: 7, fails: coded("ETIMEDOUT") }, true],
        [{ version: 7, fails: coded("57P01") }, true],
        [{ version: 7, fails: coded("40001") }, false],
        [{ version: 7, fails: coded("42703") }, false],
        [{ version: 7, follows: false }, true]
      ]
      for (const [failure, rests] of failures) {
        const { changes, left, open, pass, read } = scripted(failure, failure, { version: 7 })
        assert.deepStrictEqual(yield* at(7)(read), ["primary"], JSON.stringify(failure))
        assert.strictEqual(changes.length, rests ? 1 : 0)
        if (rests) {
          pass(replicaPauseMillis - 1)
          assert.deepStrictEqual(yield* at(7)(read), ["primary"])
          assert.strictEqual(left(), 2)
          pass(1)
        }
        assert.deepStrictEqual(yield* at(7)(read), ["primary"])
        assert.strictEqual(left(), 1)
        pass(replicaPauseMillis)
        assert.deepStrictEqual(yield* at(7)(read), ["replica 7"])
        // Two changes are reported: the replica is not used, and it is used again.
        assert.strictEqual(changes.length, rests ? 2 : 0)
        assert.isUndefined(changes[1])
        assert.strictEqual(open(), 0)
      }
    })
  )
})

describe("a circuit breaker", () => {
  it("rests after a failure, admits one call then, and all calls after that one has succeeded", () => {
    const circuit = new CircuitBreaker(5)
    assert.isTrue(circuit.admits(0) && circuit.admits(0))
    assert.isFalse(circuit.recordSuccess())
    assert.isTrue(circuit.recordFailure(0))
    assert.isFalse(circuit.recordFailure(1))
    assert.isFalse(circuit.admits(5))
    assert.isTrue(circuit.admits(6))
    assert.isFalse(circuit.admits(6))
    // The call found nothing out, so the next one is after another rest.
    circuit.recordUnknown(6)
    assert.isFalse(circuit.admits(10))
    assert.isTrue(circuit.admits(11))
    assert.isTrue(circuit.recordSuccess())
    assert.isTrue(circuit.admits(11) && circuit.admits(11))
    circuit.recordUnknown(11)
    assert.isTrue(circuit.admits(11))
  })
})
