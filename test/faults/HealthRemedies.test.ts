import { once } from "node:events"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Cause, Context, Effect, Exit, Layer, Option, Redacted, Ref } from "effect"
import type pg from "pg"
import { CatalogChange, type LockedCatalog } from "../../src/drafts/CatalogChange.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { MetafieldDefinitions } from "../../src/drafts/MetafieldDefinitions.ts"
import { Remediation } from "../../src/health/Remediation.ts"
import type { CurrentActor } from "../../src/model/Actor.ts"
import type { PimLocked } from "../../src/model/Errors.ts"
import { EntityId, type StoreId } from "../../src/model/Ids.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { SecretBox } from "../../src/stores/SecretBox.ts"
import { Accounts, ApiKeys, actingAs, anAccount, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { layerStores } from "../support/LayerStores.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { bundledProgram, startProgram } from "./BundledProgram.ts"
import { Dice, report, seed } from "./Dice.ts"
import { countingLocks, LockCalls } from "./LockCalls.ts"
import { deadlocks, dwell, layerDatabase, layerPool, noticeDeadlocksSoon, untilQuiet } from "./ServerServices.ts"

/** Products on two stores, all with the same values, in changes of at most 1,000 entities. */
const products = (stores: ReadonlyArray<{ readonly id: StoreId }>, count: number) =>
  Effect.gen(function* () {
    const ids = yield* Effect.replicateEffect(mintId(EntityId), count)
    const { apply } = yield* CatalogChanges
    yield* Effect.forEach(
      Arr.chunksOf(ids, 250),
      (some) =>
        apply(
          some.flatMap((id) => [
            CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "Tent" } }),
            ...stores.map((store) => CatalogChange.AddToStore({ entityId: id, storeId: store.id }))
          ])
        ),
      { discard: true }
    )
    return ids
  }).pipe(Effect.orDie)

const aShop = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [a, b] = stores
  return { accountId, actor, stores, a: a.id, b: b.id }
})

/**
 * Runs a statement on a separate connection, outside the caller's transaction, so its locks are released when it
 * returns.
 */
const outside = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.mapInputContext(effect, (context: Context.Context<never>) =>
    Context.omit(SqlClient.TransactionConnection)(context as Context.Context<SqlClient.TransactionConnection>)
  )

/** A planted fault: values are read and then written, without a lock in between. */
const selectThenUpdate = Layer.effect(
  DraftsRepo,
  Effect.map(DraftsRepo, (drafts) => ({ ...drafts, lock: (...request) => outside(drafts.lock(...request)) }))
).pipe(Layer.provide(DraftsRepo.layer))

const counted = countingLocks.pipe(Layer.provide(DraftsRepo.layer))

/** A planted fault: rows are locked one by one, in the order of the operations. */
const inGivenOrder = Layer.effect(
  DraftsRepo,
  Effect.map(DraftsRepo, (drafts) => ({
    ...drafts,
    lock: (accountId, owners, references, others) =>
      Effect.map(
        Effect.forEach(owners, (id) => drafts.lock(accountId, [id], references, others)),
        (each): LockedCatalog => {
          const [first] = each
          if (first === undefined) throw new Error("nothing to lock")
          return {
            ...first,
            aggregates: new Map(each.flatMap(({ aggregates }) => [...aggregates])),
            revisions: new Map(each.flatMap(({ revisions }) => [...revisions]))
          }
        }
      )
  }))
).pipe(Layer.provide(counted))

const servicesOn = <R>(
  drafts: Layer.Layer<DraftsRepo, never, R>,
  connections: number,
  faults: Layer.Layer<FaultInjector> = FaultInjector.layer
) =>
  Layer.mergeAll(Drafts.layer, Remediation.layer).pipe(
    Layer.provideMerge(MetafieldDefinitions.layer),
    Layer.provide(faults),
    Layer.provideMerge(Layer.mergeAll(Accounts.layer, ApiKeys.layer, CatalogChanges.layer, layerStores)),
    Layer.provide(SecretBox.layer),
    Layer.provideMerge(drafts),
    Layer.provideMerge(RepositoriesOnDatabase),
    Layer.provide(layerPool(connections))
  )

const races = amount(500, 3_000)
const racesAtOnce = 50
const humans = 6

/** A person and a batch write the same empty field at the same time. */
const race = (name: string, rounds: number) =>
  Effect.gen(function* () {
    const { a, actor, stores } = yield* aShop
    return yield* raceIn(name, rounds, a, stores).pipe(actingAs(actor))
  })

const raceIn = (name: string, rounds: number, a: StoreId, stores: ReadonlyArray<{ readonly id: StoreId }>) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const remediation = yield* Remediation
    const dice = new Dice(name)
    const tally = { races: 0, batchWon: 0, personWon: 0 }
    const wrong: Array<string> = []
    for (let round = 0; round < rounds; round++) {
      const ids = yield* products(stores, racesAtOnce)
      const batch = Effect.sleep(`${dice.below(60)} millis`).pipe(
        Effect.zipRight(
          remediation.fill(
            "product",
            dice.shuffle(ids).map((entity_id) => ({ entity_id, store_id: a, field: "vendor", value: "by the batch" }))
          )
        )
      )
      const edit = (id: EntityId) =>
        drafts
          .updateVersionAttributes(id, a, {
            draft_revision: 1,
            attributes: [{ key: "vendor", value: "by a person" }]
          })
          .pipe(
            Effect.as([id, true] as const),
            Effect.catchTag("RevisionConflict", () => Effect.succeed([id, false] as const))
          )
      const [{ filled, results }, edits] = yield* Effect.all(
        [batch, Effect.forEach(dice.shuffle(ids), edit, { concurrency: humans })],
        { concurrency: "unbounded" }
      )
      const wasAccepted = new Map(edits)
      for (const { entity_id, filled, ok } of results) {
        tally.races += 1
        const accepted = wasAccepted.get(entity_id)
        if (filled) tally.batchWon += 1
        if (accepted) tally.personWon += 1
        const { attributes } = yield* drafts.get(entity_id, a)
        const value = attributes.find(({ key }) => key === "vendor")?.value
        if (!ok) wrong.push(`${entity_id} failed`)
        if (filled === accepted) wrong.push(`${entity_id}: filled ${filled}, and the person ${accepted}`)
        if (accepted && value !== "by a person") wrong.push(`${entity_id}: a person's value was replaced`)
        if (filled && value !== "by the batch" && !accepted) wrong.push(`${entity_id}: filled, and it is ${value}`)
      }
      if (filled !== results.filter((result) => result.filled).length) wrong.push("other count")
    }
    report(name, { ...tally, wrong: wrong.length })
    return { ...tally, wrong }
  })

const Database = layerDatabase(2)

describe.skipIf(!serverAnswers)("a batch of fills and people who edit the same fields", () => {
  layer(Database, { excludeTestServices: true })((it) => {
    it.effect("only one of them wins each field and is told so, and no person's value is replaced", () =>
      Effect.gen(function* () {
        yield* dwell({ writeMillis: 2, commitMillis: 1 })
        const { batchWon, personWon, races: raced, wrong } = yield* race("Remedies", races / racesAtOnce)
        assert.deepStrictEqual(wrong.slice(0, 5), [], `seed ${seed}`)
        assert.strictEqual(raced, races)
        assert.strictEqual(batchWon + personWon, races)
        assert.isAtLeast(batchWon, races / 20)
        assert.isAtLeast(personWon, races / 20)
      }).pipe(Effect.provide(servicesOn(DraftsRepo.layer, humans + 4)))
    )
  })

  layer(Database, { excludeTestServices: true })((it) => {
    it.effect.runIf(runsPlanted)("lose values if rows are read and then written (planted fault)", () =>
      Effect.gen(function* () {
        yield* dwell({ writeMillis: 5, commitMillis: 2 })
        // Two writers of one revision also collide in the key of the history, which stops the race with a defect.
        const exit = yield* Effect.exit(race("Remedies, planted", 6))
        const isFound = Exit.match(exit, {
          onFailure: (cause) =>
            Option.exists(
              Cause.dieOption(cause),
              (defect) => (defect as { cause?: pg.DatabaseError }).cause?.constraint === "entity_history_pkey"
            ),
          onSuccess: ({ wrong }) => wrong.length > 0
        })
        assert.isTrue(isFound, `seed ${seed}`)
      }).pipe(Effect.provide(servicesOn(selectThenUpdate, 2 * humans + 6)))
    )
  })
})

describe.skipIf(!serverAnswers)("overlapping batches of 500 operations", () => {
  const batches = 16

  const overlap = (name: string, count: number, operationsEach: number) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* noticeDeadlocksSoon
      const { a, actor, b, stores } = yield* aShop
      const ids = yield* products(stores, 600).pipe(actingAs(actor))
      const calls = yield* LockCalls
      yield* Ref.set(calls, 0)
      const remediation = yield* Remediation
      const outcomes = yield* Effect.forEach(
        Array.from({ length: count }, (_, batch) => batch),
        (batch) => {
          const dice = new Dice(`${name}, batch ${batch}`)
          const chosen = dice.shuffle(ids).slice(0, operationsEach)
          return Effect.exit<unknown, PimLocked, CurrentActor>(
            batch % 2 === 0
              ? remediation.fill(
                  "product",
                  chosen.map((entity_id) => ({
                    entity_id,
                    store_id: dice.pick([a, b]),
                    field: "vendor",
                    value: `${batch}`
                  }))
                )
              : remediation.reconcile(
                  "product",
                  chosen.map((entity_id) => ({ entity_id, field: "vendor", winner_store_id: dice.pick([a, b]) }))
                )
          )
        },
        { concurrency: "unbounded" }
      ).pipe(actingAs(actor))
      const [row] = yield* sql`SELECT count(*) AS revisions FROM entity WHERE draft_revision > 1`
      return {
        failures: outcomes.filter(({ _tag }) => _tag === "Failure"),
        lockCalls: yield* Ref.get(calls),
        written: Number(row?.revisions)
      }
    })

  const Counted = Layer.provideMerge(Database, Layer.effect(LockCalls, Ref.make(0)))

  layer(Counted, { excludeTestServices: true })((it) => {
    it.effect("never deadlock, and none of them is retried", () =>
      Effect.gen(function* () {
        const { failures, lockCalls, written } = yield* overlap("Overlap", batches, 500).pipe(
          Effect.provide(servicesOn(counted, batches))
        )
        const record = { batches, failures: failures.length, lockCalls, written, deadlocks: yield* deadlocks }
        report("Overlap", record)
        assert.deepStrictEqual(record, { batches, failures: 0, lockCalls: batches, written: 600, deadlocks: 0 })
      })
    )
  })

  layer(Counted, { excludeTestServices: true })((it) => {
    it.effect.runIf(runsPlanted)("deadlock if rows are locked in the order of the operations (planted fault)", () =>
      Effect.gen(function* () {
        yield* overlap("Overlap, planted", 6, 60).pipe(Effect.provide(servicesOn(inGivenOrder, batches)))
        const seen = yield* deadlocks
        report("Overlap, planted", { deadlocks: seen })
        assert.isAbove(seen, 0, `seed ${seed}`)
      })
    )
  })
})

describe.skipIf(!serverAnswers)("a fill of canonical fields and then of stores", () => {
  type Both = Parameters<Context.Tag.Service<Remediation>["fillCanonicalThenStores"]>

  /** Interrupts a fill after its second batch is written. Returns the number of products whose canonical value is filled. */
  const filledOf = (fillBoth: (...both: Both) => Effect.Effect<unknown, PimLocked, CurrentActor | Remediation>) => {
    let batches = 0
    const Failing = Layer.succeed(FaultInjector, {
      at: (step) =>
        Effect.suspend(() => (step === "batchWritten" && ++batches === 2 ? Effect.die("planted") : Effect.void))
    })
    return Effect.gen(function* () {
      const { a, actor, stores } = yield* aShop
      return yield* Effect.gen(function* () {
        const ids = yield* products(stores, 3)
        const canonical = ids.map((entity_id) => ({ entity_id, field: "vendor", value: "Tern" }))
        const onStores = canonical.map((each) => ({ ...each, store_id: a }))
        assert.strictEqual((yield* Effect.exit(fillBoth("product", canonical, onStores)))._tag, "Failure")
        assert.strictEqual(batches, 2)
        const drafts = yield* Effect.forEach(ids, (id) => Effect.flatMap(Drafts, ({ get }) => get(id, null)))
        return drafts.filter(({ attributes }) => attributes.some(({ value }) => value === "Tern")).length
      }).pipe(actingAs(actor))
    }).pipe(Effect.provide(servicesOn(DraftsRepo.layer, 4, Failing)))
  }

  layer(Database, { excludeTestServices: true })((it) => {
    it.effect("writes both batches or none", () =>
      Effect.gen(function* () {
        const filled = yield* filledOf((...both) =>
          Effect.flatMap(Remediation, ({ fillCanonicalThenStores }) => fillCanonicalThenStores(...both))
        )
        assert.strictEqual(filled, 0)
      })
    )

    it.effect.runIf(runsPlanted)("leaves the first batch if each is its own transaction (planted fault)", () =>
      Effect.gen(function* () {
        const filled = yield* filledOf((kind, canonical, onStores) =>
          Effect.flatMap(Remediation, ({ fill }) => Effect.all([fill(kind, canonical), fill(kind, onStores)]))
        )
        assert.strictEqual(filled, 3)
      })
    )
  })
})

const program = bundledProgram("test/faults/CrashRemedier.ts")

/** Steps at which a process dies, and whether its batch is written then. */
const deaths: Readonly<Record<string, boolean>> = {
  batchBegun: false,
  locked: false,
  saved: false,
  recorded: false,
  raised: false,
  batchWritten: false,
  batchCommitted: true
}

describe.skipIf(!serverAnswers)("a batch whose process is killed", () => {
  const operations = 60

  /** The values of each entity that the batch would change. */
  const stateOf = (ids: ReadonlyArray<EntityId>) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`
        SELECT (SELECT count(*) FROM store_version v
                WHERE v.account_id = e.account_id AND v.entity_id = e.id AND v.overrides #>> '{vendor,value}' = 'by the batch') AS filled,
               e.draft_revision - 1 AS revisions,
               (SELECT count(*) FROM entity_history h
                WHERE h.account_id = e.account_id AND h.entity_id = e.id AND h.draft_revision > 1) AS recorded
        FROM entity e WHERE e.id = ANY(${ids}::uuid[])`
      return rows.map(({ filled, recorded, revisions }) => `${filled} ${revisions} ${recorded}`)
    })

  interface Death {
    readonly kind: "fill" | "reconcile"
    readonly step: string
  }

  const aBatch = ({ kind, step }: Death) =>
    Effect.gen(function* () {
      const { a, accountId, actor, b, stores } = yield* aShop
      const ids = yield* products(stores, operations).pipe(actingAs(actor))
      if (kind === "reconcile")
        yield* (yield* CatalogChanges)
          .apply(
            ids.map((entityId) =>
              CatalogChange.SetOverrides({ entityId, storeId: b, values: { vendor: "by the batch" } })
            )
          )
          .pipe(actingAs(actor))
      return { kind, step, occurrence: 1, accountId, storeId: a, winnerStoreId: b, ids }
    })

  /** Runs batches in one process, which dies when each has come to its step. */
  const die = (deaths: ReadonlyArray<Death>, more: Readonly<Record<string, string>> = {}) =>
    Effect.gen(function* () {
      const batches = yield* Effect.forEach(deaths, aBatch)
      const states = Effect.forEach(batches, ({ ids }) => stateOf(ids))
      const before = yield* states
      yield* Effect.scoped(
        Effect.gen(function* () {
          const child = yield* startProgram(program, {
            REMEDY_DATABASE_URL: Redacted.value(yield* TestDatabaseUrl),
            REMEDY_DEATHS: JSON.stringify(batches),
            ...more
          })
          if (child.exitCode === null && child.signalCode === null) yield* Effect.promise(() => once(child, "exit"))
          assert.strictEqual(child.signalCode, "SIGKILL", "a batch came past its step")
        })
      )
      yield* untilQuiet
      return Arr.zipWith(before, yield* states, (earlier, later) => {
        assert.strictEqual(new Set(earlier).size, 1)
        return { isNothing: later.every((state) => state === earlier[0]), states: new Set(later) }
      })
    })

  layer(
    CatalogChanges.layer.pipe(
      Layer.provideMerge(Layer.mergeAll(Accounts.layer, ApiKeys.layer, layerStores)),
      Layer.provide(SecretBox.layer),
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(layerDatabase(4))
    ),
    { excludeTestServices: true }
  )((it) => {
    it.effect("is written completely or not at all, at whatever step it is killed", () =>
      Effect.gen(function* () {
        const all = Object.entries(deaths).flatMap(([step, isDone]) =>
          (["fill", "reconcile"] as const).map((kind) => ({ step, kind, isDone }))
        )
        const found = Arr.zipWith(all, yield* die(all), ({ isDone, kind, step }, { isNothing, states }) => {
          assert.strictEqual(isNothing, !isDone, `${kind} at ${step}`)
          if (isDone) assert.deepStrictEqual([...states], [kind === "fill" ? "1 1 1" : "2 2 2"])
          return `${kind} ${step} ${isNothing ? "nothing" : [...states].join(" | ")}`
        })
        report("Remedies killed", found)
        assert.lengthOf(found, 14)
      })
    )

    it.effect.runIf(runsPlanted)("is written partly if it has no transaction (planted fault)", () =>
      Effect.gen(function* () {
        const [found] = yield* die([{ kind: "fill", step: "saved" }], { REMEDY_CARELESS: "true" })
        const { isNothing, states } = found ?? assert.fail("no batch")
        report("Remedies killed, planted", [...states])
        assert.isFalse(isNothing)
        assert.deepStrictEqual([...states], ["1 0 0"])
      })
    )
  })
})
