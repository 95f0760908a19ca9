import { afterAll, assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer, Logger, type LogLevel, Option, Redacted } from "effect"
import { readAppConfig } from "../../src/AppConfig.ts"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import { orHangs } from "../support/HangLimit.ts"
import { forget, freshAccount, openProxy, openRedis, redisAnswers, redisUrl } from "./BudgetRedis.ts"

type Take = typeof RateBudget.Service.take

const sizes = { perKey: 120, perAccount: 240 }

/** A budget over a proxy that can fail, and its log. */
const overProxy = Effect.gen(function* () {
  const proxy = yield* openProxy
  const lines: Array<readonly [LogLevel.LogLevel["label"], string]> = []
  const listening = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ logLevel, message }) => lines.push([logLevel.label, String(message)]))
  )
  const open = Effect.map(
    Layer.build(RateBudget.layerRedis({ url: proxy.url, sizes }).pipe(Layer.provideMerge(listening))),
    (context): Take =>
      (spender) =>
        Effect.flatMap(RateBudget, ({ take }) => take(spender)).pipe(Effect.provide(context), Effect.provide(listening))
  )
  const warnings = () => lines.filter(([level]) => level === "WARN")
  return { proxy, lines, warnings, open, place: new URL(Redacted.value(proxy.url)).host }
})

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.timed(effect), ([took, value]) => ({ millis: Duration.toMillis(took), value }))

const spentInRedis = (accountId: string) =>
  Effect.scoped(
    Effect.flatMap(openRedis, (redis) =>
      Effect.promise(async () => Number((await redis.hGet(`catalog:budget:{${accountId}}:account`, "spent")) ?? 0))
    )
  )

/** Uses the budget of a new account until a request is counted in Redis. */
const untilInRedis = (take: Take) =>
  Effect.gen(function* () {
    const accountId = freshAccount()
    yield* take({ accountId, credentialId: "probe" })
    return yield* spentInRedis(accountId)
  }).pipe(
    Effect.delay("50 millis"),
    Effect.repeat({ until: (spent) => spent > 0 }),
    orHangs(() => "No request was counted in Redis again.")
  )

afterAll(() => (redisAnswers ? Effect.runPromise(forget()) : undefined))

describe.skipIf(!redisAnswers)("Budgets while Redis", () => {
  it.scopedLive("is down are counted in the process, and in Redis again once it is back", () =>
    Effect.gen(function* () {
      const { lines, open, place, proxy, warnings } = yield* overProxy
      const take = yield* open
      const spender = { accountId: freshAccount(), credentialId: "a" }
      const before = yield* Effect.replicateEffect(take(spender), 40)
      assert.deepStrictEqual(
        before.map(({ rateStatus }) => rateStatus.remaining),
        Array.from({ length: 40 }, (_, place) => 119 - place)
      )
      assert.lengthOf(lines, 0)
      // 64 requests are under way when the connection is lost.
      const caught = Effect.forEach(Array.from({ length: 64 }), () => take({ ...spender, credentialId: "b" }), {
        concurrency: "unbounded"
      })
      yield* Effect.all([caught, proxy.cut], { concurrency: 2, discard: true })
      const during = yield* Effect.replicateEffect(take(spender), 150)
      assert.deepStrictEqual(
        during.map(({ refusal, rateStatus }) => (refusal === null ? rateStatus.remaining : -1)),
        Array.from({ length: 150 }, (_, place) => (place < 120 ? 119 - place : -1))
      )
      assert.strictEqual(during.at(-1)?.refusal?.scope, "key")
      // The client has failed to connect again when it tries for the second time.
      yield* proxy.reject
      yield* Effect.repeatN(proxy.nextConnection("close"), 1)
      yield* take(spender)
      assert.lengthOf(warnings(), 1)
      assert.match(
        String(lines[0]?.[1]),
        new RegExp(
          `^Redis at ${place} does not answer \\(.+\\): until it does, each process counts request budgets separately$`
        )
      )
      yield* proxy.repair
      yield* untilInRedis(take)
      assert.strictEqual((yield* take(spender)).rateStatus.remaining, 79)
      assert.deepStrictEqual(lines.slice(1), [
        ["INFO", `Redis at ${place} answers again: request budgets are shared by all processes`]
      ])
      assert.strictEqual(yield* proxy.connections, 1)
    })
  )

  it.scopedLive("hangs are counted in the process after 250 ms", () =>
    Effect.gen(function* () {
      const { lines, open, proxy, warnings } = yield* overProxy
      const take = yield* open
      const spender = { accountId: freshAccount(), credentialId: "a" }
      yield* Effect.replicateEffect(take(spender), 10)
      yield* proxy.hang(true)
      const first = yield* timed(
        Effect.forEach(Array.from({ length: 64 }), () => take(spender), { concurrency: "unbounded" })
      )
      assert.isAbove(first.millis, 240)
      const next = yield* Effect.replicateEffect(take(spender), 60)
      assert.deepStrictEqual(
        [...first.value, ...next].filter(({ refusal }) => refusal === null).map((one) => one.rateStatus.remaining),
        Array.from({ length: 120 }, (_, place) => 119 - place)
      )
      // It accepts connections but does not answer, so it does not count as back.
      yield* proxy.nextConnection("data")
      yield* take(spender)
      assert.deepStrictEqual(
        warnings().map(([, text]) => /\((.*)\)/.exec(text)?.[1]),
        ["no answer within 250 ms"]
      )
      yield* proxy.hang(false)
      yield* untilInRedis(take)
      assert.strictEqual((yield* take(spender)).rateStatus.remaining, 109)
      assert.lengthOf(lines, 2)
    })
  )

  it.scopedLive("is slow are counted in the process", () =>
    Effect.gen(function* () {
      const { open, proxy, warnings } = yield* overProxy
      const take = yield* open
      /** Takes one request while Redis answers, and one while it is slow. Returns what the second leaves. */
      const takeTwo = (spender: Parameters<typeof take>[0]) =>
        Effect.gen(function* () {
          yield* proxy.delay(0)
          assert.strictEqual((yield* take(spender)).rateStatus.remaining, 119)
          assert.lengthOf(warnings(), 0)
          yield* proxy.delay(400)
          return (yield* take(spender)).rateStatus.remaining
        })
      // A process that has no processor time for so long sees the answer and its deadline at once, and takes the answer: 118.
      const remaining = yield* Effect.suspend(() => takeTwo({ accountId: freshAccount(), credentialId: "a" })).pipe(
        Effect.repeat({ until: (remaining) => remaining !== 118, times: 20 })
      )
      assert.strictEqual(remaining, 119)
      const spender = { accountId: freshAccount(), credentialId: "a" }
      // The next connection is closed, because Redis is still too slow to be used: at the latest by a request, if a busy process keeps it.
      yield* Effect.raceFirst(proxy.nextConnection("close"), Effect.forever(Effect.delay(take(spender), "50 millis")))
      assert.lengthOf(warnings(), 1)
      yield* proxy.delay(0)
      yield* untilInRedis(take)
    })
  )

  it.scopedLive("answers while this process is stalled are counted in Redis", () =>
    Effect.gen(function* () {
      const { lines, open, proxy } = yield* overProxy
      const take = yield* open
      const spender = { accountId: freshAccount(), credentialId: "a" }
      yield* proxy.afterRequest(() => {
        const until = performance.now() + 600
        while (performance.now() < until) {
          // Blocks the process, so that it cannot read the answer.
        }
      })
      // The second request shows that the connection was kept.
      assert.strictEqual((yield* take(spender)).rateStatus.remaining, 119)
      assert.strictEqual((yield* take(spender)).rateStatus.remaining, 118)
      assert.strictEqual(yield* spentInRedis(spender.accountId), 2)
      assert.lengthOf(lines, 0)
    })
  )

  it.scopedLive("refuses to count are counted in the process", () =>
    Effect.gen(function* () {
      const { open, warnings } = yield* overProxy
      const take = yield* open
      const redis = yield* openRedis
      const spender = { accountId: freshAccount(), credentialId: "a" }
      // A value of another type under the account's name makes the script fail before it writes anything.
      yield* Effect.promise(() => redis.set(`catalog:budget:{${spender.accountId}}:account`, "spoiled", { EX: 60 }))
      assert.strictEqual((yield* take(spender)).rateStatus.remaining, 119)
      yield* Effect.repeat(Effect.sleep("10 millis"), { until: () => warnings().length > 0 }).pipe(
        orHangs(() => "No warning was logged.")
      )
      assert.match(String(warnings()[0]?.[1]), /WRONGTYPE/)
      assert.strictEqual(yield* Effect.promise(() => redis.exists(`catalog:budget:{${spender.accountId}}:key:a`)), 0)
      yield* untilInRedis(take)
    })
  )

  it.scopedLive("is down at the start are counted in the process until it is up", () =>
    Effect.gen(function* () {
      const { lines, open, proxy } = yield* overProxy
      yield* proxy.cut
      const take = yield* open
      const spender = { accountId: freshAccount(), credentialId: "a" }
      assert.deepStrictEqual(
        (yield* Effect.replicateEffect(take(spender), 121)).map(({ refusal }) => refusal === null),
        Array.from({ length: 121 }, (_, place) => place < 120)
      )
      assert.deepStrictEqual(
        lines.map(([level]) => level),
        ["WARN"]
      )
      yield* proxy.repair
      yield* untilInRedis(take)
      assert.strictEqual((yield* take(spender)).rateStatus.remaining, 119)
      assert.deepStrictEqual(
        lines.map(([level]) => level),
        ["WARN", "INFO"]
      )
    })
  )

  it.scopedLive("has another password are counted in the process, and no password is logged", () =>
    Effect.gen(function* () {
      const { lines, open, proxy } = yield* overProxy
      const url = new URL(Redacted.value(proxy.url))
      url.username = "nobody"
      url.password = "hunter2"
      const logged: Array<string> = []
      const budget = RateBudget.layerRedis({ url: Redacted.make(url.href), sizes }).pipe(
        Layer.provideMerge(
          Logger.replace(
            Logger.defaultLogger,
            Logger.make(({ message }) => logged.push(String(message)))
          )
        )
      )
      const accountId = freshAccount()
      const { rateStatus } = yield* Effect.flatMap(RateBudget, ({ take }) =>
        take({ accountId, credentialId: "a" })
      ).pipe(Effect.provide(budget))
      assert.strictEqual(rateStatus.remaining, 119)
      assert.strictEqual(yield* spentInRedis(accountId), 0)
      assert.lengthOf(logged, 1)
      assert.match(String(logged[0]), /WRONGPASS/)
      assert.notMatch(String(logged[0]), /hunter2|nobody/)
      yield* open
      assert.lengthOf(lines, 0)
    })
  )
})

describe("REDIS_URL", () => {
  const read = (value: string) =>
    Effect.withConfigProvider(readAppConfig, ConfigProvider.fromMap(new Map([["REDIS_URL", value]])))

  for (const value of [
    "redis://127.0.0.1",
    "redis://:secret@cache.internal:6380/2",
    "rediss://user:p%40ss@cache.internal/",
    Redacted.value(redisUrl)
  ])
    it.effect(`${value} is accepted`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(Option.map((yield* read(value)).redisUrl, Redacted.value), Option.some(value))
      })
    )

  for (const value of [
    "",
    "127.0.0.1:6379",
    "http://127.0.0.1:6379",
    "redis://",
    "redis:///2",
    "redis://127.0.0.1:70000",
    "redis://127.0.0.1/budgets",
    "redis://:%ff@127.0.0.1",
    "redis://:100%@127.0.0.1"
  ])
    it.effect(`${value} is refused: the message has the name of the setting, not the value`, () =>
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(read(value))
        assert.strictEqual(message, "REDIS_URL: must be a redis:// or rediss:// address")
      })
    )
})
