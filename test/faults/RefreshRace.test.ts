import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option, Ref } from "effect"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import { authorOf } from "../../src/drafts/History.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { ImportsRepo } from "../../src/imports/ImportsRepo.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { held } from "../support/ShopRecords.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { Dice, report, seed } from "./Dice.ts"
import { createTriggers, deadlocks, layerDatabase, layerPool, noticeDeadlocksSoon } from "./ServerServices.ts"

const writers = 4
const refreshes = amount(4, 60)
const deciders = 4
const rounds = amount(3, 12)
const products = 40
const domain = "race.example"
const quiet = () => Effect.void

/**
 * Runs a statement on a separate connection, outside the caller's transaction, so its locks are released when it
 * returns.
 */
const outside = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.mapInputContext(effect, (context: Context.Context<never>) =>
    Context.omit(SqlClient.TransactionConnection)(context as Context.Context<SqlClient.TransactionConnection>)
  )

/** A planted fault: writers of drafts check the import lock outside the transaction that writes. */
const lockSeenOutside = CatalogChanges.layer.pipe(
  Layer.provide(
    Layer.effect(
      ImportLockRepo,
      Effect.map(ImportLockRepo, (lock) => ({ ...lock, share: (accountId) => outside(lock.share(accountId)) }))
    )
  )
)

/** Whether writers write: from the end of the first comparison of a refresh to the end of its review. */
const gate = { isOpen: false, comparisons: 0 }

const Gated = Layer.succeed(FaultInjector, {
  at: (step) =>
    Effect.sync(() => {
      if (step === "created") Object.assign(gate, { isOpen: false, comparisons: 0 })
      if (step !== "staged") return
      gate.comparisons += 1
      gate.isOpen = true
    })
})

const right = Imports.layer.pipe(Layer.provide(Gated), Layer.provideMerge(Services))

/** A planted fault: a decision does not check the state of the import. */
const decidedAnyway = Layer.effect(
  Imports,
  Effect.gen(function* () {
    const imports = yield* Imports
    const repo = yield* ImportsRepo
    return {
      ...imports,
      decide: (id, which, decision) =>
        Effect.flatMap(CurrentActor, (actor) =>
          Effect.map(
            repo.decide(actor.accountId, { ...authorOf(actor), name: null }, id, which, decision),
            (done) => done.length
          )
        )
    }
  })
).pipe(Layer.provideMerge(right))

const repositories = RepositoriesOnDatabase.pipe(Layer.provideMerge(layerPool(2 * writers + 4)))

/** An account with a shop and its products, and functions for the writers and deciders. */
const aShop = (count: number) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    const { store } = yield* (yield* Stores).link({ domain, platform: "demo" }).pipe(actingAs(actor))
    const shops = yield* DemoShops
    const sell = (title: string) =>
      shops.put(
        { accountId, storeId: store.id },
        Array.from({ length: count }, (_, index) =>
          held("product", `product/${index}`, { title: `${title} ${index}`, handle: `p-${index}` })
        )
      )
    yield* sell("at first")
    const imports = yield* Imports
    yield* Effect.flatMap(imports.refresh(domain, quiet), ({ id }) => imports.accept(id, quiet)).pipe(actingAs(actor))
    const sql = yield* SqlClient.SqlClient
    const found = yield* sql`SELECT id FROM entity WHERE account_id = ${accountId} AND kind = 'product' ORDER BY id`
    return { accountId, actor, sell, ids: found.map(({ id }) => EntityId.make(String(id))) }
  })

const lingerMillis = 300

/** A writer's transaction stays open for a while after its writes; those of imports do not. */
const linger = createTriggers([
  `CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_sleep(${lingerMillis} / 1000.0);
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER linger AFTER UPDATE ON entity FOR EACH ROW
    WHEN (OLD.attributes -> 'vendor' IS DISTINCT FROM NEW.attributes -> 'vendor') EXECUTE FUNCTION linger()`
])

/** Refreshes begin and end while writers write. Returns the number of writes that became visible during a review. */
const raceWriters = (name: string, writing: typeof lockSeenOutside | null) =>
  Effect.gen(function* () {
    yield* noticeDeadlocksSoon
    yield* linger
    const result = yield* Effect.gen(function* () {
      const { accountId, actor, ids, sell } = yield* aShop(3)
      const imports = yield* Imports
      const right = yield* CatalogChanges
      const changes = writing === null ? right : Context.get(yield* Layer.build(Layer.fresh(writing)), CatalogChanges)
      const sql = yield* SqlClient.SqlClient
      const over = yield* Ref.make(false)
      const counts = { accepted: 0, locked: 0, writing: 0 }
      /** The number of ended writes of each writer. */
      const ended = Array.from({ length: writers }, () => 0)
      const version = Effect.map(sql`SELECT version FROM account_state WHERE account_id = ${accountId}`, ([row]) =>
        Number(row?.version)
      )
      const write = (writer: number, dice: Dice, turn: number) =>
        changes
          .apply([CatalogChange.SetAttributes({ entityId: dice.pick(ids), values: { vendor: `${writer}x${turn}` } })])
          .pipe(
            (work) =>
              Effect.acquireUseRelease(
                Effect.sync(() => counts.writing++),
                () => work,
                () => Effect.sync(() => counts.writing--)
              ),
            Effect.matchEffect({
              onSuccess: () => Effect.sync(() => counts.accepted++),
              onFailure: (error) =>
                error._tag === "PimLocked" ? Effect.sync(() => counts.locked++) : Effect.die(error)
            })
          )
      const writeAll = Effect.forEach(
        Array.from({ length: writers }, (_, writer) => writer),
        (writer) =>
          Effect.gen(function* () {
            const dice = new Dice(`${name}, writer ${writer}`)
            for (let turn = 0; !(yield* Ref.get(over)); turn++) {
              if (gate.isOpen) {
                yield* write(writer, dice, turn)
                ended[writer] = (ended[writer] ?? 0) + 1
              }
              yield* Effect.sleep(2)
            }
          }),
        { concurrency: "unbounded", discard: true }
      )
      const refreshAll = Effect.gen(function* () {
        let [done, inside, compared] = [0, 0, 0]
        // The planted fault has been detected.
        for (let turn = 0; done < refreshes && inside === 0; turn++) {
          // No writer is active when the first comparison begins; they start when it ends.
          gate.isOpen = false
          yield* Effect.repeat(Effect.sleep(5), { until: () => counts.writing === 0 })
          yield* sell(`turn ${turn}`)
          const run = yield* Effect.option(imports.refresh(domain, quiet))
          if (Option.isNone(run)) continue
          const before = yield* version
          // The first write of a writer may have begun before the review. The second one is tried during it.
          const enough = ended.map((count) => count + 2)
          yield* Effect.repeat(Effect.sleep(5), {
            until: () => enough.every((count, writer) => (ended[writer] ?? 0) >= count)
          })
          inside += (yield* version) - before
          yield* imports.accept(run.value.id, quiet, { rest: "take_store" })
          done += 1
          compared += gate.comparisons
        }
        return { refreshes: done, inside, compared }
      }).pipe(Effect.ensuring(Ref.set(over, true)))
      const [refreshed] = yield* Effect.all([refreshAll, writeAll], { concurrency: "unbounded" }).pipe(actingAs(actor))
      return { ...refreshed, ...counts }
    }).pipe(Effect.scoped, Effect.provide(right.pipe(Layer.provideMerge(repositories))))
    const record = { ...result, deadlocks: yield* deadlocks }
    report(name, record)
    return record
  })

/**
 * Deciders decide as long as the review is open, while somebody accepts the import. Returns the conflicts whose saved
 * decision was not applied.
 */
const raceDeciders = (name: string, services: typeof right) =>
  Effect.gen(function* () {
    const result = yield* Effect.gen(function* () {
      const { accountId, actor, ids, sell } = yield* aShop(products)
      const imports = yield* Imports
      const changes = yield* CatalogChanges
      const sql = yield* SqlClient.SqlClient
      let [conflicts, decisions, wrong] = [0, 0, 0]
      const play = Effect.gen(function* () {
        for (let round = 1; round <= rounds; round++) {
          yield* changes.apply(
            ids.map((entityId) => CatalogChange.SetAttributes({ entityId, values: { title: `ours ${round}` } }))
          )
          yield* sell(`theirs ${round}`)
          const { id } = yield* imports.refresh(domain, quiet)
          const over = yield* Ref.make(false)
          const decide = (decider: number) =>
            Effect.gen(function* () {
              const dice = new Dice(`${name}, round ${round}, decider ${decider}`)
              while (!(yield* Ref.get(over))) {
                const decision = dice.below(2) === 0 ? "keep_draft" : "take_store"
                const done = yield* Effect.option(imports.decide(id, [1 + dice.below(products)], decision))
                if (Option.isSome(done)) decisions += done.value
              }
            })
          const accept = Effect.zipRight(Effect.sleep(50), imports.accept(id, quiet, { rest: "take_store" })).pipe(
            Effect.ensuring(Ref.set(over, true))
          )
          yield* Effect.all([accept, ...Array.from({ length: deciders }, (_, decider) => decide(decider))], {
            concurrency: "unbounded"
          })
          for (const { decision, entity_id } of yield* imports.conflicts(id, 0, products)) {
            const [entity] = yield* sql`
            SELECT title FROM entity WHERE account_id = ${accountId} AND id = ${entity_id}`
            conflicts += 1
            if (String(entity?.title).startsWith("ours") !== (decision === "keep_draft")) wrong += 1
          }
        }
      })
      yield* play.pipe(actingAs(actor))
      return { conflicts, decisions, wrong }
    }).pipe(Effect.provide(services.pipe(Layer.provideMerge(repositories))))
    report(name, result)
    return result
  })

const TestLayer = Layer.provideMerge(RepositoriesOnDatabase, layerDatabase(1))

describe.skipIf(!serverAnswers)("while refreshes come and go", () => {
  layer(TestLayer, { excludeTestServices: true })("writers", (it) => {
    it.effect("write nothing between the start and the end of a review, without deadlocks", () =>
      Effect.gen(function* () {
        const record = yield* raceWriters("Refreshes and writers", null)
        assert.strictEqual(record.inside, 0, `seed ${seed}`)
        assert.strictEqual(record.refreshes, refreshes)
        // Some writes came before the lock, others were refused after it.
        assert.isAbove(record.compared, refreshes)
        assert.isAtLeast(record.accepted, refreshes)
        assert.isAtLeast(record.locked, refreshes)
        assert.strictEqual(record.deadlocks, 0, `seed ${seed}`)
      })
    )
  })

  layer(TestLayer, { excludeTestServices: true })(
    "writers that check the lock outside their transaction (planted fault)",
    (it) => {
      it.effect.runIf(runsPlanted)("write during the lock", () =>
        Effect.gen(function* () {
          const record = yield* raceWriters("Refreshes and writers, planted", lockSeenOutside)
          assert.isAbove(record.inside, 0, `seed ${seed}`)
        })
      )
    }
  )

  layer(TestLayer, { excludeTestServices: true })("deciders", (it) => {
    it.effect("make each decision in time, or learn that it is too late", () =>
      Effect.gen(function* () {
        const record = yield* raceDeciders("Deciders", right)
        assert.deepInclude(record, { conflicts: rounds * products, wrong: 0 }, `seed ${seed}`)
        assert.isAtLeast(record.decisions, rounds)
      })
    )
  })

  layer(TestLayer, { excludeTestServices: true })(
    "deciders that do not check whether it is too late (planted fault)",
    (it) => {
      it.effect.runIf(runsPlanted)("save decisions that have no effect", () =>
        Effect.gen(function* () {
          const record = yield* raceDeciders("Deciders, planted", decidedAnyway)
          assert.isAbove(record.wrong, 0, `seed ${seed}`)
        })
      )
    }
  )
})
