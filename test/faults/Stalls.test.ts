import { existsSync, readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Effect, Redacted } from "effect"
import { defaultPoolSizes } from "../../src/database/Deadlines.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { layerServices } from "./ServerServices.ts"
import {
  aTenant,
  client,
  openClient,
  openProxy,
  paced,
  type Seen,
  serving,
  type Tenant,
  tally,
  untilLockWaits,
  withoutDeadlines
} from "./Stalls.ts"

/** Whether PostgreSQL's processes run on this machine and the test may stop them. */
const isOurs = (pid: number) => {
  const path = `/proc/${pid}/cmdline`
  if (process.getuid?.() !== 0 || !existsSync(path)) return false
  return readFileSync(path, "utf8").includes("postgres")
}

const database = Effect.map(TestDatabaseUrl, Redacted.value)

describe.skipIf(!serverAnswers)("a server process that hangs", () => {
  layer(layerServices(4), { excludeTestServices: true })((it) => {
    it.scoped("delays only the requests whose statements it runs", (context) =>
      Effect.gen(function* () {
        const url = yield* database
        const [one, other] = yield* Effect.all([aTenant(5), aTenant(5)])
        const { baseUrl } = yield* serving(url)
        const watcher = yield* openClient(url)
        const { read } = client(baseUrl)
        const reads = amount(150, 4_000)
        const both = (place: number) => read(place % 2 === 0 ? one : other)
        const quiet = tally("Stopped backend, quiet", yield* Effect.promise(() => paced(reads, 10, both)))
        assert.deepStrictEqual(quiet, { requests: reads, ok: reads, unavailable: 0, unanswered: 0 })

        // A request that only looks up a key.
        yield* Effect.promise(() => client(baseUrl).get("/api/v1/ping", one.token))
        const { rows } = yield* Effect.promise(() =>
          watcher.query<{ pid: number }>(
            `SELECT pid FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'catalog' AND query LIKE '%api_key.hash%'
               AND pid <> pg_backend_pid()
             ORDER BY query_start DESC LIMIT 1`
          )
        )
        const pid = rows[0]?.pid
        assert.isDefined(pid)
        if (pid === undefined || !isOurs(pid)) return context.skip("the server's processes are not ours to stop")
        yield* Effect.acquireRelease(
          Effect.sync(() => process.kill(pid, "SIGSTOP")),
          () => Effect.sync(() => process.kill(pid, "SIGCONT"))
        )
        const beside = tally("Stopped backend, beside it", yield* Effect.promise(() => paced(reads, 10, both)))
        assert.strictEqual(beside.requests, reads)
        assert.strictEqual(beside.unanswered, 0)
        // The look-up on it is repeated on another connection; at most one page was using it.
        assert.isAtMost(beside.unavailable, 1)
        assert.strictEqual(beside.ok + beside.unavailable, reads)
        assert.strictEqual((yield* Effect.promise(() => client(baseUrl).get("/readyz"))).status, 200)
      })
    )
  })
})

/**
 * Nine of ten connections of a process stop answering, as behind a firewall that dropped them. Returns the process's
 * responses from then on.
 */
const blackHole = (during: number, afterwards: number, settings: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const proxy = yield* openProxy(yield* TestDatabaseUrl)
    const [one, other] = yield* Effect.all([aTenant(5), aTenant(5)])
    const { baseUrl } = yield* serving(proxy.url, settings)
    const { fill, get, read } = client(baseUrl)
    const both = (place: number) => {
      const tenant = place % 2 === 0 ? one : other
      const id = tenant.ids[place % 5]
      return place % 10 > 1 || id === undefined ? read(tenant) : fill(tenant, id, "Text")
    }
    // Each account may use half of the pool, so two accounts fill it.
    for (let rounds = 0; proxy.count() < 10 && rounds < 50; rounds++)
      yield* Effect.promise(() => Promise.all(Arr.makeBy(80, both)))
    const hung = proxy.hang(1)
    assert.isAtLeast(hung, 9)
    const seen = yield* Effect.promise(() => paced(during, 20, both))
    const after = yield* Effect.promise(() => paced(afterwards, 5, both))
    const ready = yield* Effect.promise(() => get("/readyz"))
    return { seen, after, ready }
  })

describe.skipIf(!serverAnswers)("nine of ten connections that stop answering", () => {
  layer(layerServices(4), { excludeTestServices: true })((it) => {
    it.scoped("are closed within seconds, and every request gets a response", () =>
      Effect.gen(function* () {
        const requests = amount(160, 3_000)
        const { after, ready, seen } = yield* blackHole(requests, 100)
        const counts = tally("Black hole, during", seen)
        assert.strictEqual(counts.requests, requests)
        assert.strictEqual(counts.unanswered, 0)
        assert.strictEqual(counts.ok + counts.unavailable, counts.requests)
        assert.isAbove(counts.ok, counts.requests / 2)
        assert.deepStrictEqual(tally("Black hole, after", after), {
          requests: 100,
          ok: 100,
          unavailable: 0,
          unanswered: 0
        })
        assert.strictEqual(ready.status, 200)
      })
    )

    it.scoped.runIf(runsPlanted)("planted fault: without deadlines some requests get no response", () =>
      Effect.gen(function* () {
        const { seen } = yield* blackHole(60, 0, withoutDeadlines)
        assert.isAbove(tally("Black hole, planted", seen).unanswered, 0)
      })
    )
  })
})

/**
 * The responses to other accounts while 25 writes wait for an account's row, and the results of these writes. `connections`: the number
 * of connections that they hold.
 */
const besideLock = (settings: Readonly<Record<string, string>>, connections = 2, maxWaiting?: number) =>
  Effect.gen(function* () {
    const url = yield* database
    const each = amount(60, 300)
    const locked = yield* aTenant(25)
    const other = yield* aTenant(2 * each)
    const { baseUrl, output } = yield* serving(url, settings)
    const { fill, read } = client(baseUrl)
    const mixed = (place: number) => {
      const id = other.ids[place]
      return place % 2 === 0 || id === undefined ? read(other) : fill(other, id, `Text ${place}`)
    }
    const quiet = yield* Effect.promise(() => paced(each, 40, mixed, maxWaiting))
    const locker = yield* openClient(url)
    yield* Effect.promise(() => locker.query("BEGIN"))
    yield* Effect.promise(() =>
      locker.query("SELECT FROM account_state WHERE account_id = $1 FOR UPDATE", [locked.accountId])
    )
    const writes = Promise.all(locked.ids.map((id) => fill(locked, id, "Text")))
    yield* untilLockWaits(locker, connections)
    const beside = yield* Effect.promise(() => paced(each, 40, (place) => mixed(each + place), maxWaiting))
    const own = yield* Effect.promise(() => writes)
    yield* Effect.promise(() => locker.query("ROLLBACK"))
    const [first] = locked.ids
    if (first === undefined) return assert.fail("no product")
    const then = yield* Effect.promise(() => fill(locked, first, "Text"))
    return { each, quiet, beside, own, then, log: output.stderr }
  })

describe.skipIf(!serverAnswers)("an account whose row is locked", () => {
  layer(layerServices(4), { excludeTestServices: true })((it) => {
    it.scoped("delays only its own writes", () =>
      Effect.gen(function* () {
        const { beside, each, own, quiet, then } = yield* besideLock({})
        assert.deepStrictEqual(tally("Locked account, quiet", quiet), {
          requests: each,
          ok: each,
          unavailable: 0,
          unanswered: 0
        })
        assert.deepStrictEqual(tally("Locked account, another tenant", beside), {
          requests: each,
          ok: each,
          unavailable: 0,
          unanswered: 0
        })
        assert.deepStrictEqual(tally("Locked account, its own writes", own), {
          requests: 25,
          ok: 0,
          unavailable: 25,
          unanswered: 0
        })
        assert.strictEqual(then.status, 200)
      })
    )

    it.scoped("has excess writes refused at once", () =>
      Effect.gen(function* () {
        const { beside, each, log, own } = yield* besideLock({ CONNECTION_QUEUE_PER_ACCOUNT: "3" }, 2, 4)
        assert.strictEqual(tally("Short queue, another tenant", beside).ok, each)
        assert.strictEqual(tally("Short queue, its own writes", own).unavailable, 25)
        // Two hold connections, three wait.
        assert.lengthOf(log.split("too many statements of this account wait for a connection"), 1 + 25 - 2 - 3)
      })
    )

    it.scoped.runIf(runsPlanted)("planted fault: one account occupies the whole pool, and others are refused", () =>
      Effect.gen(function* () {
        const settings = { CONNECTION_SHARE_PER_ACCOUNT: "100", CONNECTION_SHARE_PER_KEY: "100" }
        const { beside } = yield* besideLock(settings, defaultPoolSizes.writes)
        assert.isAbove(tally("Locked account, planted", beside).unavailable, 0)
      })
    )
  })
})

/** A process is stopped inside a write of an account. Returns the responses of another process meanwhile. */
const besideStopped = (idleMillis: string) =>
  Effect.gen(function* () {
    const url = yield* database
    const each = amount(60, 300)
    const held = yield* aTenant(2)
    const other = yield* aTenant(each)
    const stopped = yield* serving(url, { IDLE_TRANSACTION_TIMEOUT_MS: idleMillis })
    const { baseUrl } = yield* serving(url, { LOCK_TIMEOUT_MS: "1000" })
    const { pid } = stopped
    const [first, second] = held.ids
    if (pid === undefined || first === undefined || second === undefined) return assert.fail("nothing to stop")
    const locker = yield* openClient(url)
    yield* Effect.promise(() => locker.query("BEGIN"))
    yield* Effect.promise(() =>
      locker.query("SELECT FROM account_state WHERE account_id = $1 FOR UPDATE", [held.accountId])
    )
    // The account's process is stopped during the whole observation.
    const cut = client(stopped.baseUrl, 0).fill(held, first, "Text")
    // When it waits for the test's lock, it is inside its transaction. Stopped there, it gets the lock and keeps it.
    yield* untilLockWaits(locker, 1)
    process.kill(pid, "SIGSTOP")
    yield* Effect.promise(() => locker.query("ROLLBACK"))
    const { fill, read } = client(baseUrl)
    const writesOf = (tenant: Tenant, id: Tenant["ids"][number]) => (place: number) => fill(tenant, id, `Text ${place}`)
    const own: Array<Seen> = []
    const ownWrites = (async () => {
      for (let tries = 0; tries < 8 && own.at(-1)?.status !== 200; tries++) {
        own.push(await writesOf(held, second)(tries))
        await sleep(100)
      }
    })()
    const beside = yield* Effect.promise(() =>
      paced(each, 40, (place) => {
        const id = other.ids[place]
        return place % 2 === 0 || id === undefined ? read(other) : fill(other, id, `Text ${place}`)
      })
    )
    yield* Effect.promise(() => ownWrites)
    process.kill(pid, "SIGCONT")
    const cutOff = yield* Effect.promise(() => cut)
    const again = yield* Effect.promise(() => client(stopped.baseUrl).read(held))
    return { each, beside, own, cutOff, again }
  })

describe.skipIf(!serverAnswers)("a process that hangs inside a write", () => {
  layer(layerServices(4), { excludeTestServices: true })((it) => {
    it.scoped("blocks only that account, until its idle transaction is ended", () =>
      Effect.gen(function* () {
        const { again, beside, cutOff, each, own } = yield* besideStopped("2000")
        assert.deepStrictEqual(tally("Stopped process, another tenant", beside), {
          requests: each,
          ok: each,
          unavailable: 0,
          unanswered: 0
        })
        const counts = tally("Stopped process, the account elsewhere", own)
        assert.strictEqual(own.at(-1)?.status, 200)
        assert.strictEqual(counts.ok + counts.unavailable, counts.requests)
        assert.strictEqual(cutOff.status, 503)
        assert.strictEqual(again.status, 200)
      })
    )

    it.scoped.runIf(runsPlanted)("planted fault: without that limit the account stays blocked", () =>
      Effect.gen(function* () {
        const { beside, each, own } = yield* besideStopped("99999999")
        assert.strictEqual(tally("Stopped process, planted, another tenant", beside).ok, each)
        const counts = tally("Stopped process, planted, the account elsewhere", own)
        assert.strictEqual(counts.requests, 8)
        assert.strictEqual(counts.ok, 0)
      })
    )
  })
})

describe.skipIf(!serverAnswers)("look-ups that fail while a new connection works", () => {
  layer(layerServices(2), { excludeTestServices: true })((it) => {
    it.scoped("make readiness fail, and end the process so that its supervisor restarts it", () =>
      Effect.gen(function* () {
        const url = yield* database
        const { baseUrl, ended, output } = yield* serving(url, { LOOKUP_FAILURE_EXIT_S: "1" })
        const { get } = client(baseUrl)
        assert.strictEqual((yield* Effect.promise(() => get("/readyz"))).status, 200)
        const saboteur = yield* openClient(url)
        yield* Effect.promise(() => saboteur.query("ALTER TABLE api_key RENAME TO api_key_away"))
        assert.strictEqual((yield* Effect.promise(() => get("/readyz"))).status, 503)
        const [code] = yield* Effect.promise(() => ended)
        assert.strictEqual(code, 1)
        assert.match(output.stderr, /level=ERROR .*Look-ups of API keys have failed for \d+ s while a new connection/)
      })
    )
  })
})
