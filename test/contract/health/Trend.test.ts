import { assert, describe, layer } from "@effect/vitest"
import { Clock, Effect, Layer, Schema } from "effect"
import { HealthDimension, HealthOverview } from "../../../src/health/Health.ts"
import { HealthRepo } from "../../../src/health/HealthRepo.ts"
import { keptDays, overallScore } from "../../../src/health/HealthTrend.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import {
  type Accounts,
  type ApiKeys,
  actingAs,
  anAccount,
  anEntity,
  type CatalogChanges,
  DataHealth,
  Remediation,
  type Stores,
  TestServices
} from "../../../src/testing/index.ts"
import { Dice, seed } from "../../faults/Dice.ts"
import { advance, layerMovableClock, layerStarted } from "../../support/MovableClock.ts"
import { engines } from "../../support/TestDatabase.ts"

const dayMillis = 86_400_000
const fields = ["vendor", "product_type", "description_html"] as const

const overall = Effect.gen(function* () {
  const { text } = yield* Effect.flatMap(DataHealth, (health) => health.overview())
  const { dimensions } = yield* Schema.decode(Schema.parseJson(HealthOverview))(text)
  return overallScore(
    new Map(dimensions.flatMap((each) => (each.scanned ? [[each.dimension, each.result] as const] : [])))
  )
}).pipe(Effect.orDie)

const scanAll = Effect.flatMap(DataHealth, ({ scan }) =>
  Effect.forEach(HealthDimension.literals, (dimension) => scan(dimension), { discard: true })
).pipe(Effect.orDie)

type Needed = Accounts | ApiKeys | CatalogChanges | DataHealth | HealthRepo | Remediation | Stores

const all: ReadonlyArray<{ readonly name: string; readonly absent: boolean; readonly layer: Layer.Layer<Needed> }> = [
  { name: "memory", absent: false, layer: TestServices },
  ...engines.map(({ absent, layer, name }) => ({
    name,
    absent,
    layer: Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provideMerge(layer), Layer.orDie)
  }))
]

for (const engine of all) {
  const TestLayer = layerStarted.pipe(Layer.provideMerge(engine.layer), Layer.provideMerge(layerMovableClock))

  describe.skipIf(engine.absent)(`the trend of data health on ${engine.name}`, () => {
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("has one row per day and dimension, from the last scan of the whole account, for a limited time", () =>
        Effect.gen(function* () {
          const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
          const repo = yield* HealthRepo
          const health = yield* DataHealth
          const days = Effect.map(repo.days(accountId), (rows) =>
            rows.map(({ affected, checked, dimension }) => [dimension, checked, affected])
          )
          yield* Effect.gen(function* () {
            assert.deepStrictEqual(yield* health.trend, [])
            // From midnight on, so that no day ends during the test.
            yield* advance(dayMillis - ((yield* Clock.currentTimeMillis) % dayMillis))
            yield* anEntity("product", { title: "Tent" }, { on: stores })
            yield* health.scan("completeness")
            assert.deepStrictEqual(yield* days, [["completeness", 1, 1]])
            yield* anEntity("product", { title: "Stove" }, { on: stores })
            // A scan of one store does not count as a scan of the account.
            yield* health.scan("completeness", stores[0].id)
            assert.deepStrictEqual(yield* days, [["completeness", 1, 1]])
            yield* health.scan("completeness")
            assert.deepStrictEqual(yield* days, [["completeness", 2, 2]])
            yield* health.scan("media")
            const [first, ...others] = yield* health.trend
            assert.deepStrictEqual(others, [])
            assert.match(String(first?.day), /^\d{4}-\d\d-\d\d$/)
            assert.strictEqual(first?.score, yield* overall)

            yield* advance(dayMillis)
            yield* health.scan("media")
            assert.deepStrictEqual(yield* days, [
              ["completeness", 2, 2],
              ["media", 2, 2],
              ["media", 2, 2]
            ])
            const trend = yield* health.trend
            assert.lengthOf(trend, 2)
            assert.strictEqual(Date.parse(trend[1]?.day ?? "") - Date.parse(trend[0]?.day ?? ""), dayMillis)

            yield* advance((keptDays + 1) * dayMillis)
            yield* health.scan("media")
            assert.deepStrictEqual(yield* days, [
              ["completeness", 2, 2],
              ["media", 2, 2]
            ])
          }).pipe(actingAs(actor), Effect.orDie)
          const stranger = yield* anAccount()
          assert.deepStrictEqual(yield* repo.days(stranger.accountId), [])
        })
      )

      it.effect("the overall score of a random catalog never falls while its empty fields are filled", () =>
        Effect.gen(function* () {
          const dice = new Dice("Trend")
          const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
          yield* Effect.gen(function* () {
            const remediation = yield* Remediation
            const gaps: Array<{ readonly entity_id: string; readonly field: string }> = []
            for (let count = 0; count < 12; count++) {
              const empty = fields.filter(() => dice.below(2) === 0)
              const values = Object.fromEntries(
                fields.filter((each) => !empty.includes(each)).map((each) => [each, "x"])
              )
              const id = yield* anEntity("product", { title: `Tent ${count}`, ...values }, { on: stores })
              gaps.push(...empty.map((field) => ({ entity_id: id, field })))
            }
            yield* scanAll
            const scores = [yield* overall]
            for (const gap of dice.shuffle(gaps)) {
              const { filled } = yield* remediation.fill("product", [{ ...gap, value: "filled" } as never])
              assert.strictEqual(filled, 1)
              yield* scanAll
              scores.push(yield* overall)
            }
            assert.isAtLeast(scores.length, 5, `seed ${seed}`)
            assert.deepStrictEqual(
              scores,
              [...scores].sort((one = 0, other = 0) => one - other),
              `seed ${seed}`
            )
            assert.isAbove(Number(scores.at(-1)), Number(scores[0]), `seed ${seed}`)
          }).pipe(actingAs(actor), Effect.orDie)
        })
      )
    })
  })
}
