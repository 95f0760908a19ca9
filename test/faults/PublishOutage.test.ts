import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Exit, identity, Layer, Schedule, Scope } from "effect"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { type EntityId, ImportId, nilUuid, type StoreId } from "../../src/model/Ids.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"
import { PlatformAnswers } from "../../src/platform/PlatformAnswers.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { PlatformOutcomeUnknown, PlatformUnavailable } from "../../src/platform/PlatformErrors.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { defaultPublishingOptions, firstPlace, Publishing } from "../../src/publishing/Publishing.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { Dice, report, seed } from "./Dice.ts"
import { judgePublishing } from "./PublishJudge.ts"
import { layerServices } from "./ServerServices.ts"

const domain = "tern.demo.example"

/** An account whose products share a picture and are in a collection, on two stores. */
const aCatalog = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { link } = yield* Stores
    const { store } = yield* link({ domain, platform: "demo" })
    const { store: other } = yield* link({ domain: "other.demo.example", platform: "demo" })
    const on = [store, other]
    const picture = yield* anEntity("media", { url: "https://cdn.example/a.png", alt: "A" }, { on })
    const products: Array<EntityId> = []
    const variants: Array<EntityId> = []
    for (const title of ["Tent", "Stove", "Lamp"]) {
      const product = yield* anEntity("product", { title }, { on })
      products.push(product)
      for (const size of ["S", "L"])
        variants.push(yield* anEntity("variant", { sku: `${title}-${size}`, title: size }, { on, of: product }))
    }
    const collection = yield* anEntity("collection", { title: "All" }, { on })
    yield* (yield* CatalogChanges).apply([
      ...products.map((entityId) =>
        CatalogChange.SetGallery({
          entityId,
          entries: [{ mediaId: picture, storeIds: on.map(({ id }) => id) }]
        })
      ),
      CatalogChange.SetMembers({ collectionId: collection, productIds: products })
    ])
    return { accountId, actor, storeIds: on.map(({ id }) => id), ids: [picture, ...products, ...variants, collection] }
  }).pipe(actingAs(actor), Effect.orDie)
})
type Catalog = Effect.Effect.Success<typeof aCatalog>

const reasons = ["suspended", "throttled", "transport", "server", "timeout"] as const

/** A repository with a planted fault: no failure belongs to the platform. */
const Unsuspecting = Layer.effect(
  PublicationsRepo,
  Effect.map(PublicationsRepo, (repo) => ({
    ...repo,
    failsAlone: () => Effect.succeedSome(Timestamp.make("2000-01-01T00:00:00.000000Z"))
  }))
)

/** The stores whose platforms fail: those in `down` do not answer, those in `mute` can be read but take no writes. */
interface Failing {
  readonly down: Set<StoreId>
  readonly mute: Set<StoreId>
}

const noteAnswer = Effect.flatMap(PlatformAnswers, ({ note }) => note)

const muted = (dice: Dice): Effect.Effect<never, PlatformOutcomeUnknown | PlatformUnavailable> => {
  const reason = dice.pick(["server", "timeout"] as const)
  return dice.below(2) === 0 ? new PlatformOutcomeUnknown({ reason }) : new PlatformUnavailable({ reason })
}

/** A process that publishes. Now and then an answer is lost. */
const publisherOf = ({ down, mute }: Failing, dice: Dice, planted: typeof Unsuspecting | undefined) =>
  Publishing.layerWith({
    ...defaultPublishingOptions,
    firstDelay: Duration.millis(2),
    longestDelay: Duration.millis(10),
    pollEvery: Duration.millis(10)
  }).pipe(
    Layer.provide(
      Layer.effect(
        PlatformClient,
        Effect.map(PlatformClient, (client) => {
          const orDown = <A, E, R>(storeId: StoreId, call: Effect.Effect<A, E, R>) =>
            Effect.suspend(
              (): Effect.Effect<A, E | PlatformUnavailable, R> =>
                down.has(storeId) ? new PlatformUnavailable({ reason: dice.pick(reasons) }) : call
            )
          return {
            ...client,
            publish: (store, publication) =>
              orDown(
                store.storeId,
                mute.has(store.storeId)
                  ? Effect.zipRight(noteAnswer, muted(dice))
                  : Effect.tap(client.publish(store, publication), () =>
                      dice.below(20) === 0 ? new PlatformOutcomeUnknown({ reason: "timeout" }) : Effect.void
                    )
              ),
            readBack: (store, publication) => orDown(store.storeId, client.readBack(store, publication))
          }
        })
      )
    ),
    Layer.provide([StoreAccess.layer, FaultInjector.layer]),
    planted === undefined ? identity : Layer.provide(planted),
    Layer.provide(RepositoriesOnDatabase)
  )

const aFailing = (): Failing => ({ down: new Set(), mute: new Set() })

const start = (failing: Failing, dice: Dice, planted?: typeof Unsuspecting) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Effect.flatMap(Publishing, ({ work }) => work).pipe(
      Effect.provide(Layer.fresh(publisherOf(failing, dice, planted))),
      Effect.forkIn(scope)
    )
    return scope
  })

/** Random writes of a merchant beside outages, an import that locks the account, unlinked stores, and processes that stop or die. */
const disturb = ({ accountId, ids, storeIds }: Catalog, failing: Failing, dice: Dice, steps: number) =>
  Effect.gen(function* () {
    const { apply } = yield* CatalogChanges
    const importLock = yield* ImportLockRepo
    const publishing = yield* Publishing
    const repo = yield* PublicationsRepo
    const stores = yield* Stores
    let process = yield* start(failing, dice)
    const publish = Effect.suspend(() => publishing.request(dice.pick(ids), dice.pick(storeIds)))
    for (let step = 0; step < steps; step++) {
      const id = dice.pick(ids)
      switch (dice.below(12)) {
        case 0:
        case 1: {
          const values = { title: `Title ${step}` }
          yield* Effect.ignore(apply([CatalogChange.SetAttributes({ entityId: id, values })]))
          break
        }
        case 2:
          failing.down.add(dice.pick(storeIds))
          break
        case 3:
          failing.down.delete(dice.pick(storeIds))
          break
        case 4:
          yield* importLock.keep(accountId, ImportId.make(nilUuid))
          yield* Effect.ignore(publish)
          yield* Effect.sleep(Duration.millis(dice.below(30)))
          yield* importLock.keep(accountId, null)
          break
        case 5:
          yield* Effect.ignore(stores.unlink(domain))
          yield* Effect.ignore(publish)
          yield* Effect.sleep(Duration.millis(dice.below(30)))
          yield* Effect.ignore(stores.link({ domain }))
          break
        case 6:
          yield* Scope.close(process, Exit.void)
          process = yield* start(failing, dice)
          break
        case 7:
          // A process that dies after it has claimed publications.
          yield* repo.claim({ limit: 2, maxPerStore: 4, leaseSeconds: 0.05, only: null })
          break
        case 8:
          yield* Effect.ignore(publishing.requestPending(dice.pick(storeIds), firstPlace, 200))
          break
        default:
          yield* Effect.ignore(publish)
          yield* Effect.sleep(Duration.millis(dice.below(10)))
      }
    }
    return process
  })

const steps = amount(150, 1_500)

const rounds = amount(2, 30)

/** Many more than a publish has that fails. */
const manyAttempts = 40

/**
 * In each round, a platform takes no writes until one of five publishes was tried many times. Two processes publish; one of them stops and
 * starts again. Returns the messages of publishes that failed.
 */
const muteAgainAndAgain = (planted?: typeof Unsuspecting) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { actor } = yield* anAccount()
    const failing = aFailing()
    const dice = new Dice("writes")
    const untilTried = (attempts: number) =>
      Effect.repeat(sql`SELECT max(p.attempts)::integer AS attempts FROM publication p WHERE p.state = 'pending'`, {
        until: ([row]) => row?.attempts === null || Number(row?.attempts) >= attempts,
        schedule: Schedule.spaced("20 millis")
      })
    yield* Effect.gen(function* () {
      const { store } = yield* (yield* Stores).link({ domain, platform: "demo" })
      const files = yield* Effect.replicateEffect(
        anEntity("media", { url: "https://cdn.example/a.png", alt: "A" }, { on: [store] }),
        5
      )
      const lasting = yield* start(failing, dice, planted)
      let process = yield* start(failing, dice, planted)
      for (let round = 0; round < rounds; round++) {
        failing.mute.add(store.id)
        yield* (yield* CatalogChanges).apply(
          files.map((entityId) => CatalogChange.SetAttributes({ entityId, values: { alt: `Round ${round}` } }))
        )
        for (const id of files) yield* (yield* Publishing).request(id, store.id)
        yield* untilTried(manyAttempts / 2)
        yield* Scope.close(process, Exit.void)
        process = yield* start(failing, dice, planted)
        yield* untilTried(manyAttempts)
        failing.mute.clear()
        yield* untilTried(Number.POSITIVE_INFINITY)
      }
      for (const scope of [lasting, process]) yield* Scope.close(scope, Exit.void)
    }).pipe(actingAs(actor))
    return yield* sql`SELECT error ->> 'message' AS message FROM publication WHERE state = 'failed'`
  })

const cancels = amount(60, 600)

/**
 * Cancels publishes while two processes claim and send them. `planted`: the repository of the service that cancels. `wrong`: publications that were
 * sent although they were cancelled, or whose version differs.
 */
const cancelAndClaim = (planted: (repo: PublicationsRepo["Type"]) => PublicationsRepo["Type"] = identity) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { actor } = yield* anAccount()
    const dice = new Dice("cancels")
    const scopes: Array<Scope.CloseableScope> = []
    const cancelled = yield* Effect.gen(function* () {
      const { store } = yield* (yield* Stores).link({ domain, platform: "demo" })
      const files = yield* Effect.replicateEffect(
        anEntity("media", { url: "https://cdn.example/a.png" }, { on: [store] }),
        cancels
      )
      for (const id of files) yield* (yield* Publishing).request(id, store.id)
      for (let count = 0; count < 2; count++) scopes.push(yield* start(aFailing(), dice))
      const canceller = Publishing.layer.pipe(
        Layer.provide([StoreAccess.layer, FaultInjector.layer]),
        Layer.provide(Layer.effect(PublicationsRepo, Effect.map(PublicationsRepo, planted)))
      )
      return yield* Effect.filter(
        files,
        (id) => Effect.isSuccess(Effect.flatMap(Publishing, ({ cancel }) => cancel(id, store.id))),
        { concurrency: 4 }
      ).pipe(Effect.provide(Layer.fresh(canceller)))
    }).pipe(actingAs(actor))
    yield* Effect.repeat(sql`SELECT id FROM publication WHERE state = 'pending'`, {
      until: (rows) => rows.length === 0,
      schedule: Schedule.spaced("20 millis")
    })
    for (const scope of scopes) yield* Scope.close(scope, Exit.void)
    const wrong = yield* sql`
      SELECT p.id, p.state, v.last_publish_status FROM publication p
      JOIN store_version v ON v.account_id = p.account_id AND v.entity_id = p.entity_id AND v.store_id = p.store_id
      WHERE concat_ws(' ', p.state, p.error ->> 'code', v.last_publish_status) <>
        CASE WHEN p.entity_id = ANY(${cancelled}::uuid[])
          THEN 'failed PUBLISH_CANCELLED never_published' ELSE 'published published' END`
    const sent = cancels - cancelled.length
    return { publications: { cancelled: cancelled.length, sent }, wrong }
  })

describe.skipIf(!serverAnswers)("publishes in outages", () => {
  layer(layerServices(8), { excludeTestServices: true })("beside everything else", (it) => {
    it.effect("all reach their store, once and in order, and nothing says afterwards that they wait", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const catalog = yield* aCatalog
        const dice = new Dice("outages")
        const failing = aFailing()
        const second = yield* start(failing, dice)
        const first = yield* disturb(catalog, failing, dice, steps).pipe(actingAs(catalog.actor))
        failing.down.clear()
        yield* Effect.repeat(sql`SELECT id FROM publication WHERE state = 'pending'`, {
          until: (rows) => rows.length === 0,
          schedule: Schedule.spaced("20 millis")
        })
        for (const scope of [first, second]) yield* Scope.close(scope, Exit.void)
        const { volume, ...wrong } = yield* judgePublishing
        const said = yield* sql`SELECT entity_id FROM store_version WHERE last_publish_error IS NOT NULL`
        const failed = yield* sql`SELECT error ->> 'message' AS message FROM publication WHERE state = 'failed'`
        const [kept] = yield* sql`SELECT sum(given_back)::int AS "givenBack" FROM publication`
        report("Outages", { ...volume, ...kept })
        assert.deepStrictEqual(
          { ...wrong, said, failed },
          {
            duplicates: [],
            failedButLive: [],
            publishedButNotLive: [],
            pending: [],
            overtaken: [],
            different: [],
            said: [],
            failed: []
          },
          `seed ${seed}`
        )
        assert.isAbove(Number(kept?.givenBack), 0)
      })
    )
  })

  layer(layerServices(8), { excludeTestServices: true })("to a platform that takes no writes", (it) => {
    it.effect("wait until it takes them again, once and in order", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* muteAgainAndAgain(), [], `seed ${seed}`)
        const { volume, ...wrong } = yield* judgePublishing
        report("Writes", volume)
        assert.deepStrictEqual(wrong, {
          duplicates: [],
          failedButLive: [],
          publishedButNotLive: [],
          pending: [],
          overtaken: [],
          different: []
        })
      })
    )
  })

  layer(layerServices(8), { excludeTestServices: true })(
    "to a platform that takes no writes, with a planted fault",
    (it) => {
      it.effect("fail", () =>
        Effect.gen(function* () {
          assert.isAbove((yield* muteAgainAndAgain(Unsuspecting)).length, 0)
        })
      )
    }
  )

  layer(layerServices(12), { excludeTestServices: true })("that somebody cancels while processes claim them", (it) => {
    it.effect("are either sent or cancelled", () =>
      Effect.gen(function* () {
        const { publications, wrong } = yield* cancelAndClaim()
        report("Cancelled", publications)
        assert.deepStrictEqual(wrong, [], `seed ${seed}`)
        const { volume, ...verdict } = yield* judgePublishing
        assert.deepStrictEqual(verdict, {
          duplicates: [],
          failedButLive: [],
          publishedButNotLive: [],
          pending: [],
          overtaken: [],
          different: []
        })
        for (const count of Object.values(publications)) assert.isAbove(count, 0)
      })
    )
  })

  layer(layerServices(12), { excludeTestServices: true })("that are cancelled with a planted fault", (it) => {
    it.effect("are sent although they are cancelled", () =>
      Effect.gen(function* () {
        const { wrong } = yield* cancelAndClaim((repo) => ({
          ...repo,
          lockOpen: (...request) =>
            Effect.map(repo.lockOpen(...request), (open) =>
              open.map((each) => ({ ...each, isClaimed: false, outcomes: [] }))
            )
        }))
        assert.isAbove(wrong.length, 0)
      })
    )
  })
})
