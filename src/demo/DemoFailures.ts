import { Context, Effect, Layer } from "effect"
import { CurrentActor } from "../model/Actor.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { DemoFailure } from "../platform/demo/DemoShop.ts"
import { DemoShops } from "../platform/demo/DemoShops.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"

const make = Effect.gen(function* () {
  const shops = yield* DemoShops
  const stores = yield* StoresRepo

  const shopOf = demoShopOf(stores, "can simulate failures")

  return {
    /** Sets a failure of the store's shop. ValidationFailed: there is no such store, or it is not on the demo platform. */
    fail: Effect.fn("DemoFailures.fail")(function* (domain: string, failure: DemoFailure) {
      if (failure.percent < 1 || failure.percent > 100)
        return yield* ValidationFailed.at("percent", "must be a whole number, 1 to 100")
      if (failure.delayMillis < 0 || failure.delayMillis > maxDelayMillis)
        return yield* ValidationFailed.at("delay", "must be 0 to 3600 seconds")
      yield* shops.fail(yield* shopOf(domain), failure)
    }),
    /** Ends all simulated failures of the store's shop. ValidationFailed: as for `fail`. */
    repair: Effect.fn("DemoFailures.repair")(function* (domain: string) {
      yield* shops.repair(yield* shopOf(domain))
    })
  }
})

/** Makes the shops of demo stores fail, to show how publishing handles failures. */
export class DemoFailures extends Context.Tag("catalog/DemoFailures")<
  DemoFailures,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(DemoFailures, make)
}

/** Finds the shop of a demo store by its domain. ValidationFailed: as for `fail`. `what` completes the message. */
export const demoShopOf = (stores: StoresRepo["Type"], what: string) => (rawDomain: string) =>
  Effect.gen(function* () {
    const { accountId } = yield* CurrentActor
    const domain = rawDomain.trim().toLowerCase()
    const store = (yield* stores.list(accountId)).find((one) => one.domain === domain)
    if (store === undefined)
      return yield* ValidationFailed.at("store", `${domain} is not linked; see \`catalog store list\``)
    if (store.platform !== "demo")
      return yield* ValidationFailed.at("store", `${domain} is on platform ${store.platform}; only demo stores ${what}`)
    return { accountId, storeId: store.id }
  })

const maxDelayMillis = 3_600_000
