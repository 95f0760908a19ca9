import { Deferred, Effect, Layer } from "effect"
import type { StoreId } from "../../src/model/Ids.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { PlatformRefused } from "../../src/platform/PlatformErrors.ts"

interface Hold {
  readonly storeId: StoreId
  readonly haveArrived: Deferred.Deferred<void>
  readonly answer: Deferred.Deferred<void, PlatformRefused>
  missing: number
}

/** Holds publishes before they reach their platform. `layer`: the gate, which belongs between the services and the repositories. */
export const makeHeldPublishes = () => {
  let hold: Hold | null = null
  const layer = Layer.effect(
    PlatformClient,
    Effect.map(PlatformClient, (client) => ({
      ...client,
      publish: (store, publication) =>
        Effect.suspend(() => {
          if (hold?.storeId !== store.storeId) return client.publish(store, publication)
          const { answer, haveArrived } = hold
          if (--hold.missing === 0) hold = null
          return Effect.zipRight(
            hold === null ? Deferred.succeed(haveArrived, undefined) : Effect.void,
            Effect.zipRight(Deferred.await(answer), client.publish(store, publication))
          )
        })
    }))
  )
  /** Holds the next `count` publishes to a store, until `goOn`, or `refuse`, as the platform would. `haveArrived`: waits for them. */
  const holdPublishes = (storeId: StoreId, count: number) =>
    Effect.gen(function* () {
      const haveArrived = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<void, PlatformRefused>()
      hold = { storeId, haveArrived, answer, missing: count }
      const refusal = new PlatformRefused({ code: "HELD", message: "Refused by the test.", field: null })
      return {
        haveArrived: Deferred.await(haveArrived),
        goOn: Deferred.succeed(answer, undefined),
        refuse: Deferred.fail(answer, refusal)
      }
    })
  return { layer, holdPublishes }
}
