import { assert, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { DefinitionsRepo } from "../../src/drafts/DefinitionsRepo.ts"
import { AccountId, ImportId, StoreId } from "../../src/model/Ids.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { PlatformUnavailable } from "../../src/platform/PlatformErrors.ts"
import { Mirror } from "../../src/storedata/Mirror.ts"
import { MirrorRepo } from "../../src/storedata/MirrorRepo.ts"
import { aMarket } from "../support/Mirrors.ts"

const accountId = AccountId.make("3f2a9c1b-7d4e-4b6a-9c2d-0a1b2c3d4e5f")
const importId = ImportId.make("5c1a2f0e-8d34-4f6b-8a77-1e90c3b45d21")
const storeId = StoreId.make("0b9f5d52-6f0e-4a7c-9b35-2f1f6f3d7a10")
const store = { accountId, storeId, domain: "a.example", platform: "shopify", credentials: {} } as const

/** A platform with this number of markets, which counts the records that were read. It fails after a given number. */
const staging = (count: number, failsAfter: number, handleOf = (n: number) => `market-${n}`) =>
  Effect.gen(function* () {
    const seen = { given: 0, kept: 0, most: 0, ahead: 0, forgotten: 0 }
    const nothing = () => Stream.empty
    const Client = Layer.mock(PlatformClient, {
      markets: () =>
        Stream.range(1, count).pipe(
          Stream.rechunk(1),
          Stream.mapEffect((n) =>
            n > failsAfter
              ? new PlatformUnavailable({ reason: "throttled" })
              : Effect.sync(() => {
                  seen.given++
                  seen.ahead = Math.max(seen.ahead, seen.given - seen.kept)
                  return aMarket(handleOf(n))
                })
          )
        ),
      metafieldDefinitions: nothing,
      metaobjectDefinitions: nothing,
      translations: nothing
    })
    const Repo = Layer.mock(MirrorRepo, {
      stage: (_account, _import, items) =>
        Effect.sync(() => {
          seen.kept += items.length
          seen.most = Math.max(seen.most, items.length)
        }),
      apply: () => Effect.succeed({ isChanged: false, isDefined: false, translated: [] }),
      define: () => Effect.void,
      forget: () => Effect.sync(() => void seen.forgotten++),
      forgetAbandoned: Effect.succeed(0)
    })
    const exit = yield* Effect.flatMap(Mirror, ({ stage }) => stage(accountId, importId, store)).pipe(
      Effect.provide(
        Mirror.layer.pipe(Layer.provide(Client), Layer.provide(Repo), Layer.provide(Layer.mock(DefinitionsRepo, {})))
      ),
      Effect.either
    )
    return { exit, seen }
  })

it.effect("data of a store is saved in batches of a hundred records, and memory holds only one batch", () =>
  Effect.gen(function* () {
    const { exit, seen } = yield* staging(2_050, Number.POSITIVE_INFINITY)
    assert.deepStrictEqual(exit._tag === "Right" && exit.right.markets, 2_050)
    assert.deepStrictEqual(seen, { given: 2_050, kept: 2_050, most: 100, ahead: 100, forgotten: 1 })
  })
)

it.effect("a failure of the platform during the read is reported", () =>
  Effect.gen(function* () {
    const { exit, seen } = yield* staging(2_050, 250)
    assert.deepInclude(exit._tag === "Left" ? exit.left : {}, { _tag: "PlatformUnavailable", reason: "throttled" })
    assert.isAtMost(seen.kept, 250)
  })
)

it.effect("a record that cannot be stored is named", () =>
  Effect.gen(function* () {
    const refused = (handle: string) =>
      Effect.map(
        staging(3, 3, (n) => (n === 2 ? handle : `market-${n}`)),
        ({ exit }) => (exit._tag === "Left" && exit.left._tag === "ValidationFailed" ? exit.left.issues : exit)
      )
    for (const [handle, name] of [
      ["", '""'],
      ["gulf\u0000", '"gulf\\u0000"'],
      ["gulf\ud800", '"gulf\\ud800"'],
      ["x".repeat(256), `"${"x".repeat(80)}"`]
    ] as const)
      assert.deepStrictEqual(yield* refused(handle), [
        { path: "store", message: `has a market that cannot be stored: ${name}` }
      ])
  })
)
