import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, TestClock } from "effect"
import type { PlatformAdapter } from "../../src/platform/PlatformAdapter.ts"
import type { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { layerOf } from "../../src/platform/PlatformRegistry.ts"
import { plainshopAdapter } from "./example/PlainshopAdapter.ts"

/** The messages of a start with an adapter. The types of `make` are not certain, because a module may be JavaScript. */
const failureOf = (make: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const adapter = { ...plainshopAdapter, make: make as Effect.Effect<PlatformClient["Type"]> }
    const started = yield* Effect.fork(
      Effect.exit(Effect.scoped(Layer.build(layerOf<never>([adapter as PlatformAdapter<never>]))))
    )
    yield* TestClock.adjust("30 seconds")
    const exit = yield* Fiber.join(started)
    return Exit.isFailure(exit) ? Cause.prettyErrors(exit.cause).map(({ message }) => message) : []
  })

describe("an adapter that cannot be made ends the start with a line that names its platform", () => {
  it.effect.each([
    ["dies", Effect.die(new Error("no licence")), "no licence"],
    ["fails", Effect.fail("no licence"), "no licence"],
    ["gives no client", Effect.void, "`make` gives no client"],
    ["never ends", Effect.never, "`make` did not end within 30s"]
  ] as const)("%s", ([, make, reason]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* failureOf(make), [
        `The adapter of the platform plainshop cannot be made: ${reason}`
      ])
    })
  )
})
