import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Layer, Schedule } from "effect"
import type { StoreId } from "../../src/model/Ids.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { defaultPublishingOptions, Publishing, type PublishingOptions } from "../../src/publishing/Publishing.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { Dice, report, seed } from "./Dice.ts"
import { judgePublishing } from "./PublishJudge.ts"
import { layerServices } from "./ServerServices.ts"

const queued = 50

/** A publisher with these options, whose platform client is wrapped by `between`. */
const publisherOf = (
  options: Partial<PublishingOptions>,
  between: (client: PlatformClient["Type"]) => PlatformClient["Type"]
) =>
  Publishing.layerWith({ ...defaultPublishingOptions, pollEvery: Duration.millis(20), ...options }).pipe(
    Layer.provide(Layer.effect(PlatformClient, Effect.map(PlatformClient, between))),
    Layer.provide([StoreAccess.layer, FaultInjector.layer]),
    Layer.provide(RepositoriesOnDatabase)
  )

/** An account with a demo store and this number of media on it. */
const aMerchant = (count: number) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    return yield* Effect.gen(function* () {
      const { store } = yield* Effect.flatMap(Stores, ({ link }) =>
        link({ domain: `shop-${accountId.slice(0, 8)}.demo.example`, platform: "demo" })
      )
      const ids = yield* Effect.replicateEffect(
        anEntity("media", { url: "https://cdn.example/a.png" }, { on: [store] }),
        count
      )
      return { actor, store, ids }
    }).pipe(actingAs(actor), Effect.orDie)
  })

type Call = { readonly storeId: StoreId; readonly what: "begins" | "ends" }

/** The calls in the platform's order, when one account's store hangs and another account publishes. */
const raceHanging = (options: Partial<PublishingOptions>) =>
  Effect.gen(function* () {
    const hanging = yield* aMerchant(queued)
    const other = yield* aMerchant(1)
    const [otherId] = other.ids
    assert(otherId !== undefined)
    const calls: Array<Call> = []
    const repaired = yield* Deferred.make<void>()
    const Live = publisherOf(options, (client) => ({
      ...client,
      publish: (store, publication) =>
        Effect.gen(function* () {
          calls.push({ storeId: store.storeId, what: "begins" })
          if (store.storeId === hanging.store.id) yield* Deferred.await(repaired)
          const published = yield* client.publish(store, publication)
          calls.push({ storeId: store.storeId, what: "ends" })
          return published
        })
    }))
    return yield* Effect.gen(function* () {
      const publishing = yield* Publishing
      const begun = () => calls.filter(({ storeId }) => storeId === hanging.store.id).length
      const asked = yield* Effect.forEach(hanging.ids, (id) => publishing.request(id, hanging.store.id)).pipe(
        actingAs(hanging.actor)
      )
      yield* Effect.forkScoped(publishing.work)
      const most = Math.min(options.maxPerStore ?? defaultPublishingOptions.maxPerStore, queued)
      yield* Effect.repeat(Effect.sync(begun), {
        until: (count) => count === most,
        schedule: Schedule.spaced("5 millis")
      })
      const own = yield* Effect.flatMap(publishing.request(otherId, other.store.id), (answer) =>
        "publicationId" in answer ? publishing.find([answer.publicationId]) : Effect.succeed([])
      ).pipe(actingAs(other.actor))
      const [record] = own
      assert(record !== undefined)
      const stateOfOther = Effect.map(publishing.find([record.id]), ([now]) => now?.state).pipe(actingAs(other.actor))
      // Waits until the other publish is done, or until slots were claimed so often that it evidently waits.
      let looks = 0
      yield* Effect.repeat(
        Effect.tap(stateOfOther, () => Effect.sync(() => looks++)),
        { until: (state) => state === "published" || looks >= 200, schedule: Schedule.spaced("20 millis") }
      )
      yield* Deferred.succeed(repaired, undefined)
      const open = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT id FROM publication WHERE state = 'pending'`)
      yield* Effect.repeat(open, { until: (rows) => rows.length === 0, schedule: Schedule.spaced("20 millis") })
      assert.lengthOf(asked, queued)
      const begins = calls.findIndex(({ storeId }) => storeId === other.store.id)
      const firstEnd = calls.findIndex(({ storeId, what }) => storeId === hanging.store.id && what === "ends")
      assert.isAtLeast(begins, 0)
      assert.isAtLeast(firstEnd, 0)
      return { begins, firstEnd, calls: calls.length }
    }).pipe(Effect.provide(Live), Effect.scoped)
  })

describe.skipIf(!serverAnswers)("a store that hangs", () => {
  layer(layerServices(6), { excludeTestServices: true })("with 50 publishes queued", (it) => {
    it.effect("does not delay publishes of other accounts", () =>
      Effect.gen(function* () {
        const { begins, calls, firstEnd } = yield* raceHanging({ maxAtOnce: 8 })
        report("A hanging store", { begins, firstEnd, calls })
        assert.isBelow(begins, firstEnd)
        assert.strictEqual(calls, 2 * (queued + 1))
        const { duplicates, pending, volume } = yield* judgePublishing
        assert.deepStrictEqual([duplicates, pending, volume.published], [[], [], queued + 1])
      })
    )
  })

  layer(layerServices(6), { excludeTestServices: true })("if all stores share their slots (planted fault)", (it) => {
    it.effect.runIf(runsPlanted)("delays every publish", () =>
      Effect.gen(function* () {
        const { begins, firstEnd } = yield* raceHanging({ maxAtOnce: 8, maxPerStore: 8 })
        assert.isAbove(begins, firstEnd)
      })
    )
  })
})

const revisions = amount(30, 100)

/** One entity that is edited and published repeatedly while two publishers work; calls have different durations. */
const raceRevisions = Effect.gen(function* () {
  const { actor, ids, store } = yield* aMerchant(1)
  const [id] = ids
  assert(id !== undefined)
  const dice = new Dice("revisions")
  const Live = publisherOf({}, (client) => ({
    ...client,
    publish: (to, publication) => Effect.delay(client.publish(to, publication), Duration.millis(dice.below(60)))
  }))
  const publishers = yield* Effect.replicateEffect(Layer.build(Layer.fresh(Live)), 2)
  const ask = (from: number, end: number) =>
    Effect.gen(function* () {
      const { apply } = yield* CatalogChanges
      for (let revision = from; revision < end; revision++) {
        yield* apply([CatalogChange.SetAttributes({ entityId: id, values: { alt: `Revision ${revision}` } })])
        // Two clients at the same time share one publication.
        const [one, two] = yield* Effect.forEach(
          publishers,
          (each) => Effect.flatMap(Publishing, ({ request }) => request(id, store.id)).pipe(Effect.provide(each)),
          { concurrency: "unbounded" }
        )
        if (one !== undefined && two !== undefined && "publicationId" in one && "publicationId" in two)
          assert.strictEqual(one.publicationId, two.publicationId)
      }
    }).pipe(actingAs(actor))
  // Half of them wait when the publishers start, the others are requested while they work.
  yield* ask(0, revisions / 2)
  yield* Effect.forEach(publishers, (each) =>
    Effect.forkScoped(Effect.flatMap(Publishing, ({ work }) => work).pipe(Effect.provide(each)))
  )
  yield* ask(revisions / 2, revisions)
  const open = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT id FROM publication WHERE state = 'pending'`)
  yield* Effect.repeat(open, { until: (rows) => rows.length === 0, schedule: Schedule.spaced("20 millis") })
  return yield* judgePublishing
}).pipe(Effect.scoped)

describe.skipIf(!serverAnswers)("revisions of one entity", () => {
  layer(layerServices(6), { excludeTestServices: true })("that queue", (it) => {
    it.effect("reach the store in order", () =>
      Effect.gen(function* () {
        const { volume, ...wrong } = yield* raceRevisions
        report("Revisions", volume)
        assert.deepStrictEqual(
          wrong,
          { duplicates: [], failedButLive: [], publishedButNotLive: [], pending: [], overtaken: [], different: [] },
          `seed ${seed}`
        )
        assert.strictEqual(volume.publications, revisions)
      })
    )
  })

  layer(layerServices(6), { excludeTestServices: true })("that do not wait for each other (planted fault)", (it) => {
    it.effect.runIf(runsPlanted)("overtake each other", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.unsafe(`
          DO $$
          DECLARE name text;
          BEGIN
            FOR name IN SELECT conname FROM pg_constraint
              WHERE conrelid = 'publication'::regclass AND contype = 'c' AND pg_get_constraintdef(oid) LIKE '%brings%'
            LOOP EXECUTE format('ALTER TABLE publication DROP CONSTRAINT %I', name); END LOOP;
          END $$;
          CREATE FUNCTION bring_nothing() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN NEW.brings := '{}'; RETURN NEW; END $$;
          CREATE TRIGGER planted BEFORE INSERT ON publication FOR EACH ROW EXECUTE FUNCTION bring_nothing();`)
        const { overtaken } = yield* raceRevisions
        assert.isAbove(overtaken.length, 0, `seed ${seed}`)
      })
    )
  })
})
