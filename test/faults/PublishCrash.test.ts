import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted, Schedule } from "effect"
import { type AccountId, type EntityId, PublicationId, type StoreId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import type { FaultStep } from "../../src/runtime/FaultInjector.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Publishing,
  Stores
} from "../../src/testing/index.ts"
import { setClock, stopClock } from "../support/TestClock.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { bundledProgram, startProgram } from "./BundledProgram.ts"
import { Dice, report, seed } from "./Dice.ts"
import { judgePublishing } from "./PublishJudge.ts"
import { layerServices, untilQuiet } from "./ServerServices.ts"

const program = bundledProgram("test/faults/CrashPublisher.ts")

/**
 * Two accounts with two stores each, each product on both stores and requested twice: eight publications for each
 * product.
 */
const products = amount(25, 125)
const publications = 8 * products
/** How many processes die at each step. */
const rounds = amount(1, 4)
/**
 * Short, because many processes die. A slow process can lose its lease to another one, which must not matter either.
 */
const leaseMillis = 3_000

interface Ask {
  readonly accountId: AccountId
  readonly entityId: EntityId
  readonly storeId: StoreId
}

/** A merchant before anything is published: products with a variant and a picture each, on shops that fail at times. */
const merchants = (count: number, failures: ReadonlyArray<"lost" | "error">, percent: number) =>
  Effect.forEach([1, 2], (number) =>
    Effect.gen(function* () {
      const { accountId, actor } = yield* anAccount()
      const shops = yield* DemoShops
      return yield* Effect.gen(function* () {
        const stores = yield* Effect.forEach(["a", "b"], (name) =>
          Effect.map(
            Effect.flatMap(Stores, ({ link }) => link({ domain: `${name}${number}.demo.example`, platform: "demo" })),
            ({ store }) => store
          )
        )
        for (const { id } of stores)
          for (const kind of failures) yield* shops.fail({ accountId, storeId: id }, { kind, percent, delayMillis: 0 })
        const { apply } = yield* CatalogChanges
        return yield* Effect.forEach(Array.from({ length: count }), (_, index) =>
          Effect.gen(function* () {
            const product = yield* anEntity("product", { title: `Product ${index}` }, { on: stores })
            yield* anEntity("variant", { sku: `S-${index}` }, { on: stores, of: product })
            const picture = yield* anEntity("media", { url: `https://cdn.example/${index}.png` }, { on: stores })
            const storeIds = stores.map(({ id }) => id)
            yield* apply([CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: picture, storeIds }] })])
            return storeIds.map((storeId): Ask => ({ accountId, entityId: product, storeId }))
          })
        )
      }).pipe(actingAs(actor), Effect.orDie)
    })
  ).pipe(Effect.map((all) => all.flat(2)))

const edit = ({ accountId, entityId }: Ask, title: string) =>
  Effect.flatMap(CatalogChanges, ({ apply }) =>
    apply([CatalogChange.SetAttributes({ entityId, values: { title } })])
  ).pipe(actingAs({ _tag: "Cli", accountId }))

interface Told {
  readonly entityId: string
  readonly publicationId?: string
}

/** The results that a process printed before it ended. */
const toldBy = (child: ChildProcess) => {
  const told: Array<Told> = []
  let rest = ""
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n")
    rest = lines.pop() ?? ""
    told.push(...lines.map((line) => JSON.parse(line) as Told))
  })
  return told
}

/** Runs a publishing process. Returns its output and the signal that ended it. */
const publisher = (more: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const url = Redacted.value(yield* TestDatabaseUrl)
    const child = yield* startProgram(program, { PUBLISH_DATABASE_URL: url, ...more })
    const closed = once(child, "close")
    const ended = Effect.map(
      Effect.promise(() => closed),
      () => child.signalCode
    )
    return { child, ended }
  })

const short = { PUBLISH_LEASE_MILLIS: String(leaseMillis) }

/** Requests all publishes with processes, some of which die meanwhile; requests without a result are repeated. */
const askAll = (
  asks: ReadonlyArray<Ask>,
  deaths: ReadonlyArray<{ readonly step: FaultStep; readonly occurrence: number }>
) =>
  Effect.gen(function* () {
    const answers: Array<Told> = []
    let kills = 0
    for (const death of [...deaths, undefined]) {
      const open = asks.slice(answers.length)
      const { child, ended } = yield* publisher({
        ...short,
        PUBLISH_ASK: JSON.stringify(open),
        ...(death === undefined ? {} : { PUBLISH_STEP: death.step, PUBLISH_OCCURRENCE: String(death.occurrence) })
      })
      const told = toldBy(child)
      if ((yield* ended) === "SIGKILL") kills++
      answers.push(...told)
    }
    assert.lengthOf(answers, asks.length)
    assert.strictEqual(kills, deaths.length)
    return { answers, kills }
  }).pipe(Effect.scoped)

const left = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT id FROM publication WHERE state = 'pending'`)

/** Two processes that are not killed work until nothing is left. */
const recover = (more: Readonly<Record<string, string>>) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* publisher({ ...short, ...more })
      yield* publisher({ ...short, ...more })
      yield* Effect.repeat(left, { until: (open) => open.length === 0, schedule: Schedule.spaced("100 millis") })
    })
  ).pipe(Effect.zipRight(untilQuiet))

const workSteps: ReadonlyArray<FaultStep> = [
  "claimed",
  "readBack",
  "pushing",
  "pushed",
  "settling",
  "settled",
  "postponed"
]

describe.skipIf(!serverAnswers)("publishers that are killed", () => {
  layer(layerServices(6), { excludeTestServices: true })("at each step, two at a time on one queue", (it) => {
    it.effect("lose nothing, repeat nothing, and record the live values", () =>
      Effect.gen(function* () {
        const dice = new Dice("publishers")
        const asks = yield* merchants(products, ["lost", "error"], 10)
        const first = yield* askAll(dice.shuffle(asks), [
          { step: "requesting", occurrence: 1 + dice.below(products) },
          { step: "requested", occurrence: 1 + dice.below(products) }
        ])
        let kills = 0
        const deaths = dice.shuffle(Array.from({ length: rounds }, () => workSteps).flat())
        /** Two processes at a time; when one is dead, the next one starts. */
        const killing = Effect.forEach(
          deaths,
          (step) =>
            Effect.scoped(
              Effect.gen(function* () {
                const occurrence = step === "readBack" || step === "postponed" ? 1 : 1 + dice.below(4)
                const { ended } = yield* publisher({
                  ...short,
                  PUBLISH_STEP: step,
                  PUBLISH_OCCURRENCE: String(occurrence)
                })
                assert.strictEqual(yield* ended, "SIGKILL")
                kills++
              })
            ),
          { concurrency: 2 }
        )
        for (const ask of asks) yield* edit(ask, `Newer ${ask.entityId}`)
        const second = yield* askAll(dice.shuffle(asks), [
          { step: "requested", occurrence: 1 + dice.below(products) },
          { step: "requesting", occurrence: 1 + dice.below(products) }
        ])
        yield* killing
        assert.isAbove((yield* left).length, 0, "nothing was left to recover: it was no crash that this test saw")
        yield* recover({})
        const verdict = yield* judgePublishing
        const { volume, ...wrong } = verdict
        report("Publishers killed", { ...volume, kills: kills + first.kills + second.kills })
        assert.deepStrictEqual(
          wrong,
          { duplicates: [], failedButLive: [], publishedButNotLive: [], pending: [], overtaken: [], different: [] },
          `seed ${seed}`
        )
        const sql = yield* SqlClient.SqlClient
        const known = new Set((yield* sql`SELECT id FROM publication`).map(({ id }) => String(id)))
        const answered = [...first.answers, ...second.answers].map(({ publicationId }) => String(publicationId))
        assert.deepStrictEqual(
          answered.filter((id) => !known.has(id)),
          []
        )
        assert.strictEqual(new Set(answered).size, publications)
        assert.deepInclude(volume, { publications, published: publications, failed: 0 })
        assert.strictEqual(kills, 7 * rounds)
        assert.isAtLeast(volume.attempts.lost ?? 0, 7)
        // A lost answer is read back within the same attempt; failures of the platform are retried.
        assert.isAtLeast(volume.attempts.unavailable ?? 0, publications / 50)
        assert.strictEqual(volume.attempts.open ?? 0, 0)
      })
    )
  })

  layer(layerServices(6), { excludeTestServices: true })("with a new key for each attempt", (it) => {
    it.effect.runIf(runsPlanted)("publish twice (planted fault)", () =>
      Effect.gen(function* () {
        const asks = yield* merchants(5, ["lost"], 50)
        yield* askAll(asks, [])
        // The careless processes may never come to an end.
        const enough = Effect.repeat(judgePublishing, {
          until: ({ duplicates }) => duplicates.length > asks.length,
          schedule: Schedule.spaced("500 millis")
        })
        yield* Effect.raceFirst(recover({ PUBLISH_CARELESS: "true" }), enough)
        const { duplicates } = yield* judgePublishing
        report("Publishers with a key for each attempt", { duplicates: duplicates.length })
        assert.isAbove(duplicates.length, asks.length, `seed ${seed}`)
      })
    )
  })

  layer(layerServices(6), { excludeTestServices: true })("with the service's own lease", (it) => {
    it.effect("lose their publications to another process when the lease has expired, and not before", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* stopClock
        const [ask] = yield* merchants(1, [], 0)
        assert(ask !== undefined)
        yield* askAll([ask], [])
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { ended } = yield* publisher({ PUBLISH_STEP: "pushed", PUBLISH_OCCURRENCE: "1" })
            assert.strictEqual(yield* ended, "SIGKILL")
          })
        )
        yield* untilQuiet
        const repo = yield* PublicationsRepo
        const claim = repo.claim({ limit: 9, maxPerStore: 9, leaseSeconds: 0, only: null })
        yield* setClock(29)
        assert.deepStrictEqual(yield* claim, [])
        yield* setClock(30)
        const [record] = yield* Effect.flatMap(Publishing, ({ settle }) =>
          Effect.flatMap(sql`SELECT id FROM publication`, ([row]) =>
            settle([PublicationId.make(String(row?.id))], () => Effect.void)
          )
        ).pipe(actingAs({ _tag: "Cli", accountId: ask.accountId }))
        assert.deepInclude(record, { state: "published", attempts: 2 })
        assert.deepStrictEqual((yield* judgePublishing).duplicates, [])
      })
    )
  })
})
