import { spawn } from "node:child_process"
import { once } from "node:events"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { request } from "undici"
import { ApiKeys, anAccount } from "../../src/testing/index.ts"
import { forget, openProxy, redisAnswers, redisUrl } from "../budgets/BudgetRedis.ts"
import { serveCatalog } from "../support/CommandLine.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { runsPlanted } from "../support/Volume.ts"
import { hammer } from "./BudgetsHammer.ts"
import { bundledProgram } from "./BundledProgram.ts"
import { report, seed } from "./Dice.ts"
import { layerServices } from "./ServerServices.ts"

/** The warning of a process that counts by itself. */
const fallback = /level=WARN .*counts request budgets separately/

const planted = bundledProgram("test/faults/BudgetsPlanted.ts")

const perKey = 120
const perAccount = 240

/** One process of the service on the suite's database. */
const serving = (redis: Redacted.Redacted) =>
  Effect.flatMap(TestDatabaseUrl, (database) =>
    Effect.acquireRelease(
      Effect.promise(() =>
        serveCatalog({
          DATABASE_URL: Redacted.value(database),
          REDIS_URL: Redacted.value(redis),
          LOG_FORMAT: "logfmt",
          RATE_LIMIT_PER_KEY: String(perKey),
          RATE_LIMIT_PER_ACCOUNT: String(perAccount)
        })
      ),
      (server) => Effect.promise(() => server.stop())
    )
  )

/** One process with the faulty limiter. */
const servingPlanted = Effect.flatMap(TestDatabaseUrl, (database) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, [planted], {
        env: {
          ...process.env,
          BUDGETS_DATABASE_URL: Redacted.value(database),
          BUDGETS_REDIS_URL: Redacted.value(redisUrl)
        },
        stdio: ["ignore", "pipe", "inherit"]
      })
      const closed = once(child, "close")
      const baseUrl = new Promise<string>((resolve, reject) => {
        child.stdout.setEncoding("utf8").on("data", (text: string) => {
          const found = /served at (\S+)/.exec(text)?.[1]
          if (found !== undefined) resolve(found)
        })
        child.once("close", (code) => reject(new Error(`the planted server ended with ${code}`)))
      })
      return { baseUrl: await baseUrl, child, closed }
    }),
    ({ child, closed }) =>
      Effect.promise(() => {
        child.kill("SIGTERM")
        return closed
      })
  )
)

/** An account with this number of keys. Its windows are deleted from Redis afterwards. */
const accountWithKeys = (count: number) =>
  Effect.gen(function* () {
    const { accountId, token } = yield* Effect.acquireRelease(anAccount(), ({ accountId }) => forget([accountId]))
    const keys = yield* ApiKeys
    const others = yield* Effect.replicateEffect(
      Effect.map(keys.create(accountId, { name: "Other", scopes: ["pim:read"], expiresAt: null }), (key) =>
        Redacted.value(key.token)
      ),
      count - 1
    )
    return { token, tokens: [token, ...others] }
  })

/** Sends requests one after the other. Returns the status and the duration of each. */
const ping = (baseUrl: string, token: string, count: number) =>
  Effect.promise(async () => {
    const answers = []
    for (let place = 0; place < count; place += 1) {
      const since = performance.now()
      const { body, headers, statusCode } = await request(`${baseUrl}/api/v1/ping`, {
        headers: { authorization: `Bearer ${token}` }
      })
      await body.dump()
      answers.push({
        status: statusCode,
        remaining: Number(headers["x-ratelimit-remaining"]),
        millis: performance.now() - since
      })
    }
    return answers
  })

const countDown = (from: number, count: number) =>
  Array.from({ length: count }, (_, place) => Math.max(0, from - place))

describe.skipIf(!serverAnswers || !redisAnswers)("64 parallel clients over two processes", () => {
  layer(layerServices(4), { excludeTestServices: true })((it) => {
    it.scoped("get exactly 120 responses with a key, and 240 with the three keys of an account", () =>
      Effect.gen(function* () {
        const servers = yield* Effect.all([serving(redisUrl), serving(redisUrl)], { concurrency: 2 })
        const [one, two] = servers
        const urls = [one.baseUrl, two.baseUrl] as const

        const single = yield* accountWithKeys(1)
        const ofOne = yield* hammer("Budgets across processes, one key", urls, 10, () => single.token)
        assert.strictEqual(ofOne.all.length, 640)
        assert.deepStrictEqual(ofOne.byStatus, { 200: perKey, 429: 640 - perKey }, `seed ${seed}`)
        assert.lengthOf(ofOne.resets, 1)
        assert.deepStrictEqual(
          ofOne.admitted.map(({ remaining }) => Number(remaining)).sort((left, right) => left - right),
          Array.from({ length: perKey }, (_, place) => place)
        )
        assert.deepStrictEqual(ofOne.answeredBy, [320, 320])

        const { token, tokens } = yield* accountWithKeys(3)
        const ofThree = yield* hammer("Budgets across processes, three keys", urls, 14, (dice) =>
          dice.below(2) === 0 ? token : dice.pick(tokens)
        )
        assert.strictEqual(ofThree.all.length, 896)
        assert.deepStrictEqual(ofThree.byStatus, { 200: perAccount, 429: 896 - perAccount }, `seed ${seed}`)
        const ofKey = tokens.map((each) => ofThree.admitted.filter((answer) => answer.token === each))
        report(
          "Budgets across processes, three keys, admitted of each",
          ofKey.map(({ length }) => length)
        )
        for (const answers of ofKey) {
          assert.isAtMost(answers.length, perKey, `seed ${seed}`)
          assert.isAbove(answers.length, 0)
          assert.lengthOf([...new Set(answers.map(({ reset }) => reset))], 1)
        }
        assert.deepStrictEqual(ofThree.answeredBy, [448, 448])
        // Redis counted all of them.
        for (const { output } of servers) assert.notMatch(output.stderr, fallback)
      })
    )

    it.scoped.runIf(runsPlanted)(
      "get more than 120 from a limiter that reads from Redis and then writes (planted fault)",
      () =>
        Effect.gen(function* () {
          const [one, two] = yield* Effect.all([servingPlanted, servingPlanted], { concurrency: 2 })
          const { token } = yield* accountWithKeys(1)
          const { admitted, all } = yield* hammer(
            "Budgets across processes, planted",
            [one.baseUrl, two.baseUrl],
            10,
            () => token
          )
          assert.strictEqual(all.length, 640)
          assert.isAbove(admitted.length, perKey, `seed ${seed}`)
        })
    )

    it.scoped("are counted by the process while Redis is cut off or hangs", () =>
      Effect.gen(function* () {
        // On a busy machine Redis may answer too late, and the process then counts by itself. That would be the fault before its time.
        const { a, b, baseUrl, before, output, proxy } = yield* Effect.gen(function* () {
          const proxy = yield* openProxy
          const { baseUrl, output } = yield* serving(proxy.url)
          const { tokens } = yield* accountWithKeys(2)
          const [a = "", b = ""] = tokens
          return { a, b, baseUrl, before: yield* ping(baseUrl, a, 30), output, proxy }
        }).pipe(Effect.repeat({ until: ({ output }) => !fallback.test(output.stderr) }))
        const logged = (what: RegExp) => output.stderr.split("\n").filter((line) => what.test(line))
        const backInRedis = (token: string, remaining: number) =>
          ping(baseUrl, token, 1).pipe(
            Effect.delay("200 millis"),
            Effect.repeat({ until: (answers) => answers.every((answer) => answer.remaining === remaining) })
          )

        assert.deepStrictEqual(
          before.map(({ remaining }) => remaining),
          countDown(119, 30)
        )
        yield* proxy.cut
        const during = yield* ping(baseUrl, a, 150)
        assert.deepStrictEqual(
          during.map(({ status }) => status),
          Array.from({ length: 150 }, (_, place) => (place < perKey ? 200 : 429))
        )
        assert.deepStrictEqual(
          during.map(({ remaining }) => remaining),
          countDown(119, 150)
        )
        const ready = yield* Effect.promise(() => request(`${baseUrl}/readyz`))
        assert.strictEqual(ready.statusCode, 200)
        yield* Effect.promise(() => ready.body.dump())
        assert.lengthOf(logged(fallback), 1)
        yield* proxy.repair
        // 30 requests were counted in Redis' window; the refused ones here do not count.
        yield* backInRedis(a, 89)
        assert.lengthOf(logged(/answers again/), 1)

        yield* ping(baseUrl, b, 1)
        yield* proxy.hang(true)
        const hung = yield* ping(baseUrl, b, 20)
        assert.isTrue(hung.every(({ status }) => status === 200))
        assert.deepStrictEqual(
          hung.map(({ remaining }) => remaining),
          countDown(119, 20)
        )
        const [first = 0, ...rest] = hung.map(({ millis }) => millis)
        report("Budgets across processes, Redis cut and hung", {
          cutRequests: during.length,
          slowestWhileCut: Math.round(Math.max(...during.map(({ millis }) => millis))),
          firstWhileHung: Math.round(first),
          slowestAfterIt: Math.round(Math.max(...rest))
        })
        // Only the first request waits for Redis; the others skip it.
        assert.strictEqual(yield* proxy.requestsWhileHung, 1)
        // Within the same minute the message is not logged again.
        assert.lengthOf(logged(fallback), 1)
        yield* proxy.hang(false)
        yield* backInRedis(b, 118)
      })
    )
  })
})
