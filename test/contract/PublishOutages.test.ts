import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Option } from "effect"
import type { EntityId, PublicationId } from "../../src/model/Ids.ts"
import { PlatformAnswers } from "../../src/platform/PlatformAnswers.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import {
  PlatformOutcomeUnknown,
  PlatformUnavailable,
  type PlatformWriteError
} from "../../src/platform/PlatformErrors.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { defaultPublishingOptions, Publishing } from "../../src/publishing/Publishing.ts"
import { actingAs, anAccount, anEntity, Stores } from "../../src/testing/index.ts"
import { publishingWith } from "../support/PublishingWith.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

/** The service as in production, but with short delays before further attempts. */
const Quick = publishingWith({
  firstDelay: Duration.millis(2),
  longestDelay: Duration.millis(4),
  pollEvery: Duration.millis(5)
})

const { maxPushes } = defaultPublishingOptions

/** An account with a demo store. */
const aShop = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  const { store } = yield* Effect.flatMap(Stores, ({ link }) =>
    link({ domain: "tern.demo.example", platform: "demo" })
  ).pipe(actingAs(actor), Effect.orDie)
  return { accountId, actor, store }
})
type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

const aFile = ({ store }: Shop) => anEntity("media", { url: "https://cdn.example/a.png" }, { on: [store] })

/** Requests a publish of a new file. */
const request = (shop: Shop) =>
  Effect.gen(function* () {
    const entityId = yield* aFile(shop)
    const asked = yield* (yield* Publishing).request(entityId, shop.store.id)
    assert(asked.outcome === "requested")
    return { entityId, id: asked.publicationId }
  })

/**
 * A platform that answers each read. `failureOf`: of a write; undefined: the write is taken. `hasWritten`: it has answered another write
 * of the attempt.
 */
const readable = (failureOf: (id: EntityId) => PlatformWriteError | undefined, hasWritten = false) =>
  Layer.effect(
    PlatformClient,
    Effect.map(PlatformClient, (platform) => ({
      ...platform,
      publish: (store, publication) =>
        Effect.gen(function* () {
          const { note, noteWrite } = yield* PlatformAnswers
          yield* hasWritten ? noteWrite : note
          const failure = failureOf(publication.entityId)
          return failure === undefined ? yield* platform.publish(store, publication) : yield* failure
        })
    }))
  )

/** Runs publications by this platform, in the background. */
const settling = (ids: ReadonlyArray<PublicationId>, platform: ReturnType<typeof readable>) =>
  Effect.flatMap(Publishing, ({ settle }) => settle(ids, () => Effect.void)).pipe(
    Effect.provide(Layer.provide(Quick, platform)),
    Effect.fork
  )

const find = ({ accountId }: Shop, ids: ReadonlyArray<PublicationId>) =>
  Effect.flatMap(PublicationsRepo, (repo) => repo.find(accountId, ids))

const outcomesOf = (id: PublicationId) =>
  Effect.map(
    Effect.flatMap(Publishing, ({ attempts }) => attempts(id)),
    (attempts) => [...new Set(attempts.map(({ outcome, reason }) => `${outcome} ${reason}`))]
  )

const failures = {
  unavailable: new PlatformUnavailable({ reason: "server" }),
  unknown: new PlatformOutcomeUnknown({ reason: "timeout" })
} as const

/** The number of attempts until a publish fails. If the outcome of the last one is not known, one more only reads the store back. */
const attemptsUntilFailed = ({ _tag }: PlatformWriteError) =>
  _tag === "PlatformUnavailable" ? maxPushes : maxPushes + 1

const givenUp = (failure: PlatformWriteError) => ({
  code: failure._tag === "PlatformUnavailable" ? "PLATFORM_UNAVAILABLE" : "OUTCOME_UNKNOWN",
  message: `${failure.message} Tried ${attemptsUntilFailed(failure)} times.`
})

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`publishes to a platform that takes no writes on ${engine.name}`, () => {
    layer(Quick.pipe(Layer.provideMerge(engine.layer)), { excludeTestServices: true })((it) => {
      for (const kind of ["unavailable", "unknown"] as const) {
        const failure = failures[kind]

        it.effect(`publishes wait until it takes writes again (${kind})`, () =>
          inShop((shop) =>
            Effect.gen(function* () {
              let isDown = true
              const asked = yield* Effect.replicateEffect(request(shop), 3)
              const ids = asked.map(({ id }) => id)
              const fiber = yield* settling(
                ids,
                readable(() => (isDown ? failure : undefined))
              )
              const records = yield* find(shop, ids).pipe(
                Effect.delay("5 millis"),
                Effect.repeat({
                  until: (all) => all.every(({ attempts, state }) => attempts > 2 * maxPushes || state !== "pending")
                })
              )
              const error = {
                code: "PUBLISH_DELAYED",
                message: `${failure.message} The publish is tried again for up to 24 hours.`
              }
              assert.deepStrictEqual<unknown>(
                records.map((record) => [record.state, record.error]),
                ids.map(() => ["pending", error])
              )
              for (const id of ids)
                assert.includeMembers(
                  [kind === "unknown" ? "unknown timeout" : "unavailable server", "null null"],
                  yield* outcomesOf(id)
                )
              isDown = false
              assert.deepStrictEqual<unknown>(
                (yield* Fiber.join(fiber)).map((record) => [record.state, record.error]),
                ids.map(() => ["published", null])
              )
            })
          )
        )

        it.effect(`one record for which it always fails ends its publish, beside others that it takes (${kind})`, () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, store } = shop
              const repo = yield* PublicationsRepo
              const bad = yield* request(shop)
              const platform = readable((id) => (id === bad.entityId ? failure : undefined))
              const fiber = yield* settling([bad.id], platform)
              let count = 0
              while ((yield* find(shop, [bad.id]))[0]?.state === "pending") {
                const { id } = yield* request(shop)
                const [other] = yield* Fiber.join(yield* settling([id], platform))
                assert.deepInclude(other, { state: "published", attempts: 1 })
                assert.deepStrictEqual(yield* repo.outage(accountId, store.id), Option.none())
                count++
              }
              assert.isAbove(count, 0)
              const [record] = yield* Fiber.join(fiber)
              assert.deepInclude(record, {
                state: "failed",
                attempts: attemptsUntilFailed(failure),
                error: givenUp(failure)
              })
            })
          )
        )
      }

      it.effect("a publish that fails alone does not pause its store, and fails after its attempts", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { entityId, id } = yield* request(shop)
            const [record] = yield* Fiber.join(
              yield* settling(
                [id],
                readable(() => failures.unavailable)
              )
            )
            const error = givenUp(failures.unavailable)
            assert.deepInclude(record, { state: "failed", attempts: maxPushes, error })
            const { outage } = yield* PublicationsRepo
            assert.deepStrictEqual(yield* outage(shop.accountId, shop.store.id), Option.none())
            // The next request of the same record is another publication, which fails as alone as the one before.
            const again = yield* (yield* Publishing).request(entityId, shop.store.id)
            assert(again.outcome === "requested")
            const [repeated] = yield* Fiber.join(
              yield* settling(
                [again.publicationId],
                readable(() => failures.unavailable)
              )
            )
            assert.deepInclude(repeated, { state: "failed", attempts: maxPushes, error })
            assert.deepStrictEqual(yield* outage(shop.accountId, shop.store.id), Option.none())
          })
        )
      )

      it.effect("attempts count if the platform has taken another write of the same attempt", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const ids = (yield* Effect.replicateEffect(request(shop), 3)).map(({ id }) => id)
            const records = yield* Fiber.join(
              yield* settling(
                ids,
                readable(() => failures.unknown, true)
              )
            )
            assert.deepStrictEqual<unknown>(
              records.map(({ error, state }) => [state, error]),
              ids.map(() => ["failed", givenUp(failures.unknown)])
            )
          })
        )
      )

      it.effect("of many records for which it always fails, none keeps a newer publish from the store", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const bad = yield* Effect.replicateEffect(request(shop), 3 * defaultPublishingOptions.maxPerStore)
            const badIds = new Set<EntityId>(bad.map(({ entityId }) => entityId))
            const platform = readable((id) => (badIds.has(id) ? failures.unavailable : undefined))
            const ids = bad.map(({ id }) => id)
            const fiber = yield* settling(ids, platform)
            yield* find(shop, ids).pipe(
              Effect.delay("5 millis"),
              Effect.repeat({ until: (all) => all.filter(({ error }) => error?.code === "PUBLISH_DELAYED").length > 4 })
            )
            const { id } = yield* request(shop)
            const [record] = yield* Fiber.join(yield* settling([...ids, id], platform)).pipe(
              Effect.map((all) => all.filter((each) => each.id === id)),
              Effect.race(
                Effect.repeat(Effect.delay(find(shop, [id]), "5 millis"), {
                  until: ([each]) => each?.state !== "pending"
                })
              )
            )
            assert.deepInclude(record, { state: "published", attempts: 1 })
            yield* Fiber.interrupt(fiber)
          })
        )
      )

      it.effect("a failure belongs to the platform if another publish failed last, and none succeeded since", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, store } = shop
            const repo = yield* PublicationsRepo
            const claim = (id: PublicationId) =>
              Effect.repeat(
                Effect.delay(repo.claim({ limit: 9, maxPerStore: 9, leaseSeconds: 3_600, only: [id] }), "5 millis"),
                { until: (all) => all.length > 0 }
              ).pipe(Effect.map(([each]) => each ?? assert.fail()))
            const error = { code: "PUBLISH_DELAYED", message: "It takes no writes." }
            const ended = { outcome: "unknown", reason: "server" } as const
            const [one, two, three, four, five] = yield* Effect.forEach([1, 2, 3, 4, 5], () =>
              Effect.flatMap(request(shop), ({ id }) => claim(id))
            )
            assert(one && two && three && four && five)
            assert.isTrue(yield* repo.failsAlone(one))
            assert.isTrue(yield* repo.failsAlone(one))
            assert.isFalse(yield* repo.failsAlone(two))
            assert.deepStrictEqual(yield* repo.outage(accountId, store.id), Option.none())
            assert.isTrue(yield* repo.finish(three, { outcome: "published", reason: null }, "published", null))
            assert.isTrue(yield* repo.failsAlone(two))
            assert.isFalse(yield* repo.failsAlone(one))
            assert.isTrue(yield* repo.meetOutage(one, ended, error, 3_600))
            assert.deepStrictEqual(yield* repo.outage(accountId, store.id), Option.some(error))
            assert.deepStrictEqual(yield* outcomesOf(one.id), ["unknown server"])
            // Also if the same one fails again and again, until the platform has answered.
            assert.isTrue(yield* repo.meetOutage(two, ended, error, 0))
            const again = yield* Effect.zipRight(repo.hasten(accountId, store.id, four.entityId), claim(two.id))
            assert.isFalse(yield* repo.failsAlone(again))
            const unavailable = { outcome: "unavailable", reason: "server" } as const
            assert.isTrue(yield* repo.finish(again, unavailable, "failed", error))
            assert.isFalse(yield* repo.failsAlone(four))
            assert.isTrue(yield* repo.finish(four, { outcome: "refused", reason: "NO" }, "failed", error))
            assert.isTrue(yield* repo.failsAlone(five))
            // Attempts that have lost their claim say nothing about the platform.
            assert.isFalse(yield* repo.failsAlone(four))
            assert.isTrue(yield* repo.finish(five, unavailable, "failed", error))
            assert.isFalse(yield* repo.failsAlone(five))
          })
        )
      )
    })
  })
}
