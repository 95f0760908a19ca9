import { HttpServer } from "@effect/platform"
import { assert, describe, layer } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import { Readiness } from "../../src/http/Health.ts"
import * as Http from "../../src/http/Http.ts"
import { RateLimited } from "../../src/model/Errors.ts"
import { ApiKeys, anAccount, RateBudget } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { runsPlanted } from "../support/Volume.ts"
import { hammer } from "./BudgetsHammer.ts"
import { type Dice, report, seed } from "./Dice.ts"
import { layerServices } from "./ServerServices.ts"

const perKey = 120
const perAccount = 240
const windowSeconds = 60

/** The planted fault: reads the count, lets other requests read it, and then writes the new count. */
const readThenWrite = Layer.effect(
  RateBudget,
  Effect.gen(function* () {
    const sound = yield* RateBudget
    const windows = new Map<string, { readonly spent: number; readonly endsAt: number }>()
    return {
      ...sound,
      take: ({ accountId, credentialId }) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const look = (owner: string) => windows.get(owner) ?? { spent: 0, endsAt: now + windowSeconds * 1_000 }
          const [key, account] = [look(credentialId), look(accountId)]
          yield* Effect.sleep(0)
          const refused = key.spent >= perKey || account.spent >= perAccount
          if (!refused) {
            windows.set(credentialId, { ...key, spent: key.spent + 1 })
            windows.set(accountId, { ...account, spent: account.spent + 1 })
          }
          const scope = "key" as const
          return {
            rateStatus: {
              limit: perKey,
              remaining: Math.max(0, perKey - key.spent - 1),
              resetAtSeconds: Math.ceil(key.endsAt / 1_000),
              scope
            },
            refusal: refused ? new RateLimited({ scope, retryAfterSeconds: windowSeconds }) : null
          }
        })
    }
  })
)

const sound = RateBudget.layerProcess({ perKey, perAccount })

const serving = (budget: Layer.Layer<RateBudget>) =>
  Http.layer({ host: "127.0.0.1", port: 0 }).pipe(
    Layer.provide(Readiness.layer(Effect.void)),
    Layer.provide(budget),
    Layer.provideMerge(layerServices(10)),
    Layer.orDie
  )

const hammerHere = (name: string, requestsEach: number, tokenFor: (dice: Dice) => string) =>
  HttpServer.addressFormattedWith((address) => hammer(name, [address], requestsEach, tokenFor))

describe.skipIf(!serverAnswers)("64 parallel clients", () => {
  layer(serving(sound), { excludeTestServices: true })((it) => {
    it.scoped("with one key get exactly 120 responses in its window", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const { admitted, all, byStatus, resets } = yield* hammerHere("Budgets, one key", 10, () => token)
        assert.strictEqual(all.length, 640)
        assert.deepStrictEqual(byStatus, { 200: perKey, 429: 640 - perKey }, `seed ${seed}`)
        // All in one window, which did not end meanwhile.
        assert.lengthOf(resets, 1)
        // Each response has a different remaining count.
        assert.deepStrictEqual(
          admitted.map(({ remaining }) => Number(remaining)).sort((left, right) => left - right),
          Array.from({ length: perKey }, (_, place) => place)
        )
        assert.isTrue(all.every(({ remaining, status }) => status === 200 || remaining === "0"))
      })
    )

    it.scoped("with three keys of an account get exactly 240 responses together, and at most 120 with each key", () =>
      Effect.gen(function* () {
        const { accountId, token } = yield* anAccount()
        const keys = yield* ApiKeys
        const others = yield* Effect.replicateEffect(
          Effect.map(keys.create(accountId, { name: "Other", scopes: ["pim:read"], expiresAt: null }), (key) =>
            Redacted.value(key.token)
          ),
          2
        )
        const tokens = [token, ...others]
        // The first key reaches its own limit; the others reach the limit of the account.
        const { admitted, all, byStatus } = yield* hammerHere("Budgets, three keys", 14, (dice) =>
          dice.below(2) === 0 ? token : dice.pick(tokens)
        )
        assert.strictEqual(all.length, 896)
        assert.deepStrictEqual(byStatus, { 200: perAccount, 429: 896 - perAccount }, `seed ${seed}`)
        const ofKey = tokens.map((each) => admitted.filter((answer) => answer.token === each).length)
        report("Budgets, three keys, admitted of each", ofKey)
        assert.isAtMost(Math.max(...ofKey), perKey, `seed ${seed}`)
        assert.isAbove(Math.min(...ofKey), 0)
        // The end of each key's window, which did not change. A refusal for the account has the end of the account's
        // window.
        for (const each of tokens)
          assert.lengthOf(
            [...new Set(admitted.filter((answer) => answer.token === each).map((answer) => answer.reset))],
            1
          )
      })
    )
  })

  layer(serving(readThenWrite.pipe(Layer.provide(sound))), { excludeTestServices: true })((it) => {
    it.scoped.runIf(runsPlanted)("get more than 120 from a limiter that reads and then writes (planted fault)", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const { admitted, all } = yield* hammerHere("Budgets, planted", 10, () => token)
        assert.strictEqual(all.length, 640)
        assert.isAbove(admitted.length, perKey, `seed ${seed}`)
      })
    )
  })
})
