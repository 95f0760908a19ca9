/**
 * A process that serves REST with a limiter that is wrong for several processes: it reads both windows from Redis and
 * then writes the new counts. BUDGETS_DATABASE_URL and BUDGETS_REDIS_URL are its database and Redis; it prints its
 * address on stdout.
 */
import { HttpServer } from "@effect/platform"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Clock, Config, Console, Effect, Layer, Option, Redacted } from "effect"
import { createClient } from "redis"
import * as Database from "../../src/database/Database.ts"
import { Readiness } from "../../src/http/Health.ts"
import * as Http from "../../src/http/Http.ts"
import { RateLimited } from "../../src/model/Errors.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { RateBudget } from "../../src/testing/index.ts"

const windowSeconds = 60
const sizes = { perKey: 120, perAccount: 240 }

const readThenWrite = Layer.scoped(
  RateBudget,
  Effect.gen(function* () {
    const { peek, takeMessage, fullBudget } = yield* RateBudget
    const url = Redacted.value(yield* Config.redacted("BUDGETS_REDIS_URL"))
    const redis = yield* Effect.acquireRelease(
      Effect.promise(() => createClient({ url }).connect()),
      (client) => Effect.promise(() => client.close())
    )
    return {
      peek,
      takeMessage,
      fullBudget,
      take: ({ accountId, credentialId }) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const keys = [`catalog:budget:{${accountId}}:key:${credentialId}`, `catalog:budget:{${accountId}}:account`]
          const [key = 0, account = 0] = (yield* Effect.promise(() => redis.mGet(keys))).map(Number)
          const refused = key >= sizes.perKey || account >= sizes.perAccount
          if (!refused)
            yield* Effect.promise(() =>
              Promise.all(
                [key, account].map((spent, index) =>
                  redis.set(keys[index] ?? "", spent + 1, { expiration: { type: "EX", value: windowSeconds } })
                )
              )
            )
          const scope = "key" as const
          return {
            rateStatus: {
              limit: sizes.perKey,
              remaining: Math.max(0, sizes.perKey - key - 1),
              resetAtSeconds: Math.ceil(now / 1_000) + windowSeconds,
              scope
            },
            refusal: refused ? new RateLimited({ scope, retryAfterSeconds: windowSeconds }) : null
          }
        })
    }
  })
)

const DatabaseLive = Layer.unwrapEffect(
  Effect.map(Config.redacted("BUDGETS_DATABASE_URL"), (url) =>
    Database.layer({ url: Option.some(url), dataDirectory: "unused" })
  )
)

const Greeting = Layer.effectDiscard(
  HttpServer.addressFormattedWith((address) => Console.log(`The planted limiter is served at ${address}`))
)

NodeRuntime.runMain(
  Layer.launch(
    Greeting.pipe(
      Layer.provide(Http.layer({ host: "127.0.0.1", port: 0 })),
      Layer.provide(Readiness.layer(Effect.void)),
      Layer.provide(readThenWrite.pipe(Layer.provide(RateBudget.layerProcess(sizes)))),
      Layer.provide(ServicesOnDatabase),
      Layer.provide(DatabaseLive)
    )
  )
)
