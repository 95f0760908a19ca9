import type { ChildProcess } from "node:child_process"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Effect, Layer, Redacted, Schedule } from "effect"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import { DropId } from "../../src/model/Ids.ts"
import { plusMicros, Timestamp } from "../../src/model/Timestamp.ts"
import type { FaultStep } from "../../src/runtime/FaultInjector.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, Stores } from "../../src/testing/index.ts"
import { setClock, stopClock } from "../support/TestClock.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { bundledProgram, startProgram } from "./BundledProgram.ts"
import { report } from "./Dice.ts"
import { judgeDrops, liveProducts } from "./DropsJudge.ts"
import { layerDatabase } from "./ServerServices.ts"

const program = bundledProgram("test/faults/DropsExecutor.ts")

/** Processes that are not killed. */
const survivors = 2
/** Drops start in this number of groups. All drops of a group start at one time and end at another. */
const groups = amount(2, 5)
const betweenGroups = 600
const millionMicros = 1_000_000

/** In the schema `fast`, app_now() is an hour ahead: a node whose own clock is wrong uses it. */
const stopClocks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* stopClock
  yield* sql.unsafe("CREATE SCHEMA fast")
  yield* sql.unsafe(
    `CREATE FUNCTION fast.app_now() RETURNS timestamptz LANGUAGE sql STABLE
     AS $$ SELECT public.app_now() + interval '1 hour' $$`
  )
})

/** Drops that change the titles of products on a demo store for a while. Each has `changes` products of its own. */
const schedule = (count: number, { accounts = 5, changes = 1 } = {}) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* setClock(0)
    const repo = yield* DropsRepo
    const start = Timestamp.make((yield* repo.now) as string)
    const after = (seconds: number) => plusMicros(start, seconds * millionMicros)
    const accountIds: Array<string> = []
    for (const place of Arr.range(1, accounts)) {
      const { accountId, actor } = yield* anAccount()
      accountIds.push(accountId)
      const { store } = yield* (yield* Stores)
        .link({ domain: `s${place}-${accountId.slice(0, 8)}.demo.example`, platform: "demo" })
        .pipe(actingAs(actor))
      const products = yield* liveProducts(store.id, (changes * count) / accounts).pipe(actingAs(actor))
      yield* Effect.forEach(
        Arr.chunksOf(products, changes),
        (own, index) =>
          Effect.flatMap(mintId(DropId), (dropId) =>
            repo.insert(
              accountId,
              dropId,
              {
                name: `Drop ${index}`,
                starts_at: after((1 + (index % groups)) * betweenGroups),
                ends_at: after((1 + groups + (index % groups)) * betweenGroups),
                timezone: "UTC",
                changes: own.map((id) => ({
                  entity_id: id,
                  entity_type: "product",
                  store_id: store.id,
                  field: "title",
                  value: `Sale ${index}`
                }))
              },
              actor
            )
          ),
        { discard: true }
      )
    }
    // A condition for the accounts of this run, so that it counts only its own drops.
    const mine = sql.in("account_id", accountIds)
    return { mine }
  })
type Scheduled = Effect.Effect.Success<ReturnType<typeof schedule>>

interface Death {
  readonly step: FaultStep
  readonly occurrence: number
}

const isAlive = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null

/** Due drops with a remaining step. */
const due = ({ mine }: Scheduled) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql`
        SELECT count(*) AS count FROM drop
        WHERE ${mine} AND (next_step IN ('settle_start', 'settle_end')
          OR next_step = 'start' AND starts_at <= app_now() OR next_step = 'end' AND ends_at <= app_now())`,
      ([row]) => Number(row?.count)
    )
  )

/**
 * Lets processes carry out the drops while the clock advances, one group at a time. One process is killed at each of the given
 * steps. Within a group the clock advances a little, so that leases of killed processes expire.
 * `inTurn`: the other processes start when these have been killed.
 * `patienceTicks`: after this many checks a group is left as it is, because with some planted faults it never ends.
 */
const race = (
  scheduled: Scheduled,
  deaths: ReadonlyArray<Death>,
  {
    inTurn = false,
    patienceTicks = Number.POSITIVE_INFINITY,
    planted,
    search
  }: { inTurn?: boolean; patienceTicks?: number; planted?: string; search?: string } = {}
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const url = new URL(Redacted.value(yield* TestDatabaseUrl))
      const environment = (index: number) => {
        const own = new URL(url)
        if (search !== undefined && index === deaths.length) own.searchParams.set("options", `-c search_path=${search}`)
        const death = deaths[index]
        return {
          DROPS_DATABASE_URL: own.href,
          DROPS_PLANTED: planted ?? "none",
          ...(death === undefined ? {} : { DROPS_STEP: death.step, DROPS_OCCURRENCE: String(death.occurrence) })
        }
      }
      const start = (index: number) => startProgram(program, environment(index))
      const doomed = yield* Effect.forEach(deaths, (_, index) => start(index))
      if (inTurn) {
        yield* setClock(betweenGroups)
        yield* Effect.repeat(Effect.void, {
          until: () => !doomed.some(isAlive),
          schedule: Schedule.spaced("100 millis")
        })
      }
      const others = yield* Effect.forEach(Arr.range(1, survivors), (_, index) => start(deaths.length + index))
      const children = [...doomed, ...others]
      /** Drops of earlier groups that never ended. */
      let stuck = 0
      for (const group of Arr.range(1, 2 * groups)) {
        let tick = 0
        let left = 0
        yield* Effect.suspend(() => setClock(group * betweenGroups + Math.min(tick++, betweenGroups - 10))).pipe(
          Effect.zipRight(due(scheduled)),
          Effect.repeat({
            until: (count) => {
              left = count
              return count <= stuck || !children.some(isAlive) || tick >= patienceTicks
            },
            schedule: Schedule.spaced("200 millis")
          })
        )
        stuck = left
      }
      return {
        killed: children.filter(({ signalCode }) => signalCode === "SIGKILL").length,
        alive: children.filter(isAlive).length
      }
    })
  )

const TestLayer = Services.pipe(
  Layer.provideMerge(RepositoriesOnDatabase),
  Layer.provideMerge(layerDatabase(4)),
  Layer.tap((context) => Effect.orDie(Effect.provide(stopClocks, context)))
)

describe.skipIf(!serverAnswers)("drops on several processes, of which one is killed at each step of a drop", () => {
  layer(TestLayer, { excludeTestServices: true })((it) => {
    const drops = amount(100, 3_000)
    const few = amount(50, 100)
    const longest = amount(3_000_000, 3_600_000)

    it.effect(
      "none is carried out early, twice, or not at all",
      () =>
        Effect.gen(function* () {
          const scheduled = yield* schedule(drops)
          const deaths: ReadonlyArray<Death> = [
            { step: "dropMoving", occurrence: amount(5, 40) },
            ...(["dropMoved", "dropSettling", "dropSettled"] as const).map((step) => ({ step, occurrence: 5 }))
          ]
          const processes = yield* race(scheduled, deaths)
          const judged = yield* judgeDrops(scheduled.mine)
          report("Drops", { ...judged, ...processes })
          assert.deepStrictEqual(processes, { killed: deaths.length, alive: survivors })
          assert.deepStrictEqual(judged, {
            changes: drops,
            effects: 2 * drops,
            early: 0,
            double: 0,
            missed: 0,
            reverted: drops,
            changed: 0
          })
        }),
      longest
    )

    it.effect(
      "a drop of two parts is carried out completely and once, although processes die in and between the parts",
      () =>
        Effect.gen(function* () {
          const changes = 60
          const scheduled = yield* schedule(1, { accounts: 1, changes })
          const deaths: ReadonlyArray<Death> = [
            { step: "dropMoving", occurrence: 1 },
            { step: "dropMoving", occurrence: 1 },
            // One only, so that a part of the start is left for the others.
            { step: "dropMoved", occurrence: 1 }
          ]
          const processes = yield* race(scheduled, deaths, { inTurn: true })
          const judged = yield* judgeDrops(scheduled.mine)
          report("A drop of two parts", { ...judged, ...processes })
          assert.deepStrictEqual(processes, { killed: deaths.length, alive: survivors })
          assert.deepStrictEqual(judged, {
            changes,
            effects: 2 * changes,
            early: 0,
            double: 0,
            missed: 0,
            reverted: 1,
            changed: 0
          })
        }),
      longest
    )

    it.effect.runIf(runsPlanted)(
      "a lock that ends before its step carries out drops twice (planted fault)",
      () =>
        Effect.gen(function* () {
          const scheduled = yield* schedule(few)
          yield* race(scheduled, [{ step: "dropMoving", occurrence: 1_000 }], { planted: "outside", patienceTicks: 60 })
          const judged = yield* judgeDrops(scheduled.mine)
          report("Drops, locked outside (planted fault)", judged)
          assert.isAtLeast(judged.double ?? 0, 1)
        }),
      longest
    )

    it.effect.runIf(runsPlanted)(
      "a start that ends after its first part misses changes (planted fault)",
      () =>
        Effect.gen(function* () {
          const scheduled = yield* schedule(1, { accounts: 1, changes: 60 })
          yield* race(scheduled, [], { planted: "halfway", patienceTicks: 60 })
          const judged = yield* judgeDrops(scheduled.mine)
          report("Drops, one part (planted fault)", judged)
          assert.isAtLeast(judged.missed ?? 0, 1)
        }),
      longest
    )

    it.effect.runIf(runsPlanted)(
      "a process that uses its own clock is early (planted fault)",
      () =>
        Effect.gen(function* () {
          const scheduled = yield* schedule(few)
          yield* race(scheduled, [{ step: "dropMoving", occurrence: 1_000 }], {
            search: "fast,public",
            patienceTicks: 30
          })
          const judged = yield* judgeDrops(scheduled.mine)
          report("Drops, by another clock (planted fault)", judged)
          assert.isAtLeast(judged.early ?? 0, 1)
        }),
      longest
    )
  })
})
