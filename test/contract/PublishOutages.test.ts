import { assert, describe, layer } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Function, Layer, Option } from "effect"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import type { EntityId, PublicationId } from "../../src/model/Ids.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { PlatformAnswers } from "../../src/platform/PlatformAnswers.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import {
  PlatformOutcomeUnknown,
  PlatformUnavailable,
  type PlatformWriteError
} from "../../src/platform/PlatformErrors.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { defaultPublishingOptions, Publishing } from "../../src/publishing/Publishing.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { publishingWith } from "../support/PublishingWith.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const quick = { firstDelay: Duration.millis(2), longestDelay: Duration.millis(4), pollEvery: Duration.millis(5) }

/** The service as in production, but with short delays before further attempts. */
const Quick = publishingWith(quick)

/** The same, but a publish that fails alone does not wait. */
const Impatient = publishingWith({ ...quick, aloneLimit: Duration.zero })

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
const settling = (ids: ReadonlyArray<PublicationId>, platform: ReturnType<typeof readable>, service = Quick) =>
  Effect.flatMap(Publishing, ({ settle }) => settle(ids, () => Effect.void)).pipe(
    Effect.provide(Layer.provide(service, platform)),
    Effect.fork
  )

const find = ({ accountId }: Shop, ids: ReadonlyArray<PublicationId>) =>
  Effect.flatMap(PublicationsRepo, (repo) => repo.find(accountId, ids))

/** Waits until a publish was tried this often, or has ended. */
const untilTried = (shop: Shop, id: PublicationId, attempts: number) =>
  find(shop, [id]).pipe(
    Effect.delay("5 millis"),
    Effect.repeat({ until: ([each]) => each === undefined || each.attempts >= attempts || each.state !== "pending" })
  )

const versionOf = ({ accountId, store }: Shop, entityId: EntityId) =>
  Effect.map(
    Effect.flatMap(DraftsRepo, (repo) => repo.lock(accountId, [entityId], [])),
    ({ aggregates }) => aggregates.get(entityId)?.versions.find(({ storeId }) => storeId === store.id)
  )

/** Claims a publication, as a process does that works on it. */
const claim = (id: PublicationId) =>
  Effect.flatMap(PublicationsRepo, (repo) =>
    Effect.repeat(Effect.delay(repo.claim({ limit: 9, maxPerStore: 9, leaseSeconds: 3_600, only: [id] }), "5 millis"), {
      until: (all) => all.length > 0
    })
  ).pipe(Effect.map(([each]) => each ?? assert.fail()))

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
              // Attempts of the record count only if the platform has taken another publish since the one before.
              assert.deepInclude(record, { state: "failed", error: givenUp(failure) })
              assert.isAtLeast(record?.attempts ?? 0, attemptsUntilFailed(failure))
            })
          )
        )
      }

      for (const kind of ["unavailable", "unknown"] as const)
        it.effect(`a publish that fails alone waits, and does not pause its store (${kind})`, () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, store } = shop
              const repo = yield* PublicationsRepo
              const failure = failures[kind]
              const { entityId, id } = yield* request(shop)
              let isDown = true
              const fiber = yield* settling(
                [id],
                readable(() => (isDown ? failure : undefined))
              )
              const [waiting] = yield* untilTried(shop, id, 3 * maxPushes)
              const error = {
                code: "PUBLISH_DELAYED",
                message: `${failure.message} The publish is tried again for up to 15 minutes.`
              }
              assert.deepInclude(waiting, { state: "pending", error })
              assert.deepStrictEqual(yield* repo.outage(accountId, store.id), Option.none())
              assert.deepInclude(yield* versionOf(shop, entityId), {
                lastPublishStatus: "pending",
                lastPublishError: error
              })
              isDown = false
              const [record] = yield* Fiber.join(fiber)
              assert.deepInclude(record, { state: "published", error: null })
              assert.deepInclude(yield* versionOf(shop, entityId), {
                lastPublishStatus: "published",
                lastPublishError: null
              })
            })
          )
        )

      it.effect(
        "a publication and its store say in a field whether only it waits; versions, pages and the API do not",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, store } = shop
              const repo = yield* PublicationsRepo
              const { entityId, id } = yield* request(shop)
              const fiber = yield* settling(
                [id],
                readable(() => failures.unavailable)
              )
              const [waiting] = yield* untilTried(shop, id, 3)
              yield* Fiber.interrupt(fiber)
              yield* repo.hasten(accountId, store.id, entityId)
              const alone = yield* claim(id)
              assert.deepStrictEqual<unknown>(alone.error, { ...waiting?.error, isAlone: true })
              assert.deepStrictEqual<unknown>((yield* versionOf(shop, entityId))?.lastPublishError, waiting?.error)
              assert.deepStrictEqual([...(yield* repo.delaysOf(accountId, entityId)).values()], [waiting?.error])

              // Another one fails too, so the whole store waits, and a request in the outage has the same field.
              const other = yield* request(shop)
              const error = { code: "PUBLISH_DELAYED", message: "It takes no writes.", isAlone: false }
              const { isAlone: _, ...shown } = error
              const met = { outcome: "unavailable", reason: "server" } as const
              assert.isTrue(yield* repo.meetOutage(alone, met, error, 3_600))
              assert.isTrue(yield* repo.meetOutage(yield* claim(other.id), met, error, 3_600))
              assert.deepStrictEqual(yield* repo.outage(accountId, store.id), Option.some(error))
              const late = yield* request(shop)
              assert.deepStrictEqual<unknown>((yield* versionOf(shop, late.entityId))?.lastPublishError, shown)
              assert.deepStrictEqual((yield* find(shop, [late.id]))[0]?.error, shown)
              yield* repo.hasten(accountId, store.id, late.entityId)
              assert.deepStrictEqual((yield* claim(late.id)).error, error)
            })
          )
      )

      it.effect("the wait for an outcome reports each reason why the publish waits, and its end", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const repo = yield* PublicationsRepo
            const { outcomes } = yield* Publishing
            const { id } = yield* request(shop)
            const told: Array<string | null> = []
            const isTold = (count: number) =>
              Effect.repeat(
                Effect.delay(
                  Effect.sync(() => told.length),
                  "5 millis"
                ),
                { until: (length) => length >= count }
              )
            const fiber = yield* Effect.fork(
              outcomes([id], (_, [record]) => Effect.sync(() => told.push(record?.error?.message ?? null)))
            )
            yield* isTold(1)
            const met = { outcome: "unavailable", reason: "server" } as const
            for (const [limit, count] of [
              ["15 minutes", 2],
              ["15 minutes", 2],
              ["24 hours", 3]
            ] as const) {
              const error = { code: "PUBLISH_DELAYED", message: `It is tried again for up to ${limit}.` }
              assert.isTrue(yield* repo.postpone(yield* claim(id), met, error, 0, { isCounted: false }))
              yield* isTold(count)
            }
            assert.isTrue(
              yield* repo.finish(yield* claim(id), { outcome: "published", reason: null }, "published", null)
            )
            yield* Fiber.join(fiber)
            assert.deepStrictEqual(told, [
              null,
              "It is tried again for up to 15 minutes.",
              "It is tried again for up to 24 hours.",
              null
            ])
          })
        )
      )

      it.effect("a publish that an earlier version delayed waits on, and its version says the new limit", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, store } = shop
            const repo = yield* PublicationsRepo
            const { entityId, id } = yield* request(shop)
            const former = { code: "PUBLISH_DELAYED", message: "It takes no writes. The publish is tried again." }
            const met = { outcome: "unavailable", reason: "server" } as const
            assert.isTrue(yield* repo.postpone(yield* claim(id), met, former, 0, { isCounted: false }))
            const claimed = yield* claim(id)
            assert.deepStrictEqual(claimed.error, former)
            // The first attempt that fails alone counts.
            assert.isTrue(Option.isSome(yield* repo.failsAlone(claimed)))
            yield* repo.giveBack(claimed)
            const fiber = yield* settling(
              [id],
              readable(() => failures.unavailable)
            )
            yield* untilTried(shop, id, 6)
            const message = `${failures.unavailable.message} The publish is tried again for up to 15 minutes.`
            assert.deepStrictEqual<unknown>((yield* versionOf(shop, entityId))?.lastPublishError, {
              code: "PUBLISH_DELAYED",
              message
            })
            yield* Fiber.interrupt(fiber)
            yield* repo.hasten(accountId, store.id, entityId)
            assert.deepInclude((yield* claim(id)).error, { message, isAlone: true })
          })
        )
      )

      it.effect("a publish that fails alone fails after its attempts when its time is over", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { entityId, id } = yield* request(shop)
            const [record] = yield* Fiber.join(
              yield* settling(
                [id],
                readable(() => failures.unavailable),
                Impatient
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
                readable(() => failures.unavailable),
                Impatient
              )
            )
            assert.deepInclude(repeated, { state: "failed", attempts: maxPushes, error })
            assert.deepStrictEqual(yield* outage(shop.accountId, shop.store.id), Option.none())
          })
        )
      )

      it.effect(
        "a publish that fails alone and is cancelled is forgotten: the next one of its record fails alone too",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, store } = shop
              const repo = yield* PublicationsRepo
              const publishing = yield* Publishing
              const { entityId, id } = yield* request(shop)
              const first = yield* claim(id)
              assert.isTrue(Option.isSome(yield* repo.failsAlone(first)))
              const ended = { outcome: "unavailable", reason: "server" } as const
              const error = { code: "PUBLISH_DELAYED", message: "It takes no writes." }
              assert.isTrue(yield* repo.postpone(first, ended, error, 3_600, { isCounted: false }))
              assert.isFalse((yield* publishing.cancel(entityId, store.id)).isAlready)
              const again = yield* publishing.request(entityId, store.id)
              assert(again.outcome === "requested")
              const next = yield* claim(again.publicationId)
              assert.isTrue(Option.isSome(yield* repo.failsAlone(next)))
              // An outage of the whole platform goes on: two publishes met it, and the platform has not answered since.
              const other = yield* claim((yield* request(shop)).id)
              assert.isTrue(yield* repo.meetOutage(other, ended, error, 0))
              assert.isTrue(yield* repo.postpone(next, ended, error, 3_600, { isCounted: false }))
              yield* publishing.cancel(other.entityId, store.id)
              const last = yield* Effect.zipRight(repo.hasten(accountId, store.id, entityId), claim(next.id))
              assert.isTrue(Option.isNone(yield* repo.failsAlone(last)))
            })
          )
      )

      it.effect("a publish of a drop that fails alone is not sent after the end of the drop", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { store } = shop
            const publishing = yield* Publishing
            const { entityId, id } = yield* request(shop)
            yield* publishing.settle([id], () => Effect.void)
            const endsAt = fromMillis(yield* Clock.currentTimeMillis)
            const publish = (alt: string, platform: ReturnType<typeof readable>) =>
              Effect.gen(function* () {
                const asked = yield* publishing.requestValues(entityId, store.id, { alt }, { endsAt })
                assert(asked.outcome === "requested")
                return yield* Fiber.join(yield* settling([asked.publicationId], platform))
              })
            // A start that is late for another reason is sent.
            const [sent] = yield* publish("Late", readable(Function.constUndefined))
            assert.deepInclude(sent, { state: "published", attempts: 1 })
            let attempts = 0
            const [record] = yield* publish(
              "Later",
              readable(() => (attempts++ === 0 ? failures.unavailable : undefined))
            )
            assert.deepInclude(record, {
              state: "failed",
              attempts: 2,
              error: { code: "DROP_ENDED", message: "The drop ended before the store could take its values." }
            })
            assert.strictEqual(attempts, 1)
          })
        )
      )

      it.effect("says why a publish waits that no attempt has tried: behind another one, or in an outage", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { store } = shop
            const repo = yield* PublicationsRepo
            const error = { code: "PUBLISH_DELAYED", message: "It takes no writes." }
            const ended = { outcome: "unavailable", reason: "server" } as const
            const why = new Map([[store.id, error]])
            const none = new Map()
            const delaysOf = (id: EntityId) => Effect.flatMap(Publishing, (publishing) => publishing.delaysOf(id))
            const picture = yield* request(shop)
            const product = yield* anEntity("product", { title: "Tent" }, { on: [store] })
            const { apply } = yield* CatalogChanges
            yield* apply([
              CatalogChange.SetGallery({
                entityId: product,
                entries: [{ mediaId: picture.entityId, storeIds: [store.id] }]
              })
            ])
            const ask = Effect.flatMap(Publishing, (publishing) => publishing.request(product, store.id))
            assert.strictEqual((yield* ask).outcome, "requested")
            // The newer request of the product waits behind the older one.
            yield* apply([CatalogChange.SetAttributes({ entityId: product, values: { title: "Tent 2" } })])
            assert.strictEqual((yield* ask).outcome, "requested")
            assert.deepStrictEqual(yield* delaysOf(product), none)
            const first = yield* claim(picture.id)
            assert.isTrue(yield* repo.postpone(first, ended, error, 3_600, { isCounted: false }))
            const other = yield* request(shop)
            for (const id of [picture.entityId, product]) assert.deepStrictEqual(yield* delaysOf(id), why)
            assert.deepStrictEqual(yield* delaysOf(other.entityId), none)
            const { actor } = yield* anAccount()
            assert.deepStrictEqual(yield* actingAs(actor)(delaysOf(product)), none)

            const [one, two] = [yield* request(shop), yield* request(shop)]
            const [met, alsoMet] = [yield* claim(one.id), yield* claim(two.id)]
            assert.isTrue(yield* repo.meetOutage(met, ended, error, 0))
            assert.deepStrictEqual(yield* delaysOf(other.entityId), none, "one publish is no outage")
            assert.isTrue(yield* repo.meetOutage(alsoMet, ended, error, 0))
            assert.deepStrictEqual(yield* delaysOf(other.entityId), why)
            const last = yield* claim(other.id)
            assert.isTrue(yield* repo.finish(last, { outcome: "published", reason: null }, "published", null))
            assert.deepStrictEqual(yield* delaysOf((yield* request(shop)).entityId), none)
          })
        )
      )

      it.effect("publishes behind one that fails alone have its reason, whether they are older or newer than it", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { store } = shop
            const { apply } = yield* CatalogChanges
            const publishing = yield* Publishing
            const ask = (id: EntityId) =>
              Effect.map(publishing.request(id, store.id), (asked) =>
                asked.outcome === "requested" ? asked.publicationId : assert.fail(asked.outcome)
              )
            const edit = (entityId: EntityId, title: string) =>
              apply([CatalogChange.SetAttributes({ entityId, values: { title } })])
            const product = yield* anEntity("product", { title: "Tent" }, { on: [store] })
            const variants = yield* Effect.replicateEffect(
              anEntity("variant", { title: "Small" }, { on: [store], of: product }),
              2
            )
            const others = yield* Effect.replicateEffect(anEntity("product", { title: "Lamp" }, { on: [store] }), 2)
            yield* publishing.settle([yield* ask(product)], () => Effect.void)
            const picture = yield* request(shop)
            yield* apply([
              CatalogChange.SetGallery({
                entityId: product,
                entries: [{ mediaId: picture.entityId, storeIds: [store.id] }]
              })
            ])
            // The variants depend on the product, and only the product on the picture.
            const older = [yield* ask(product)]
            for (const id of variants) {
              yield* edit(id, "Small 2")
              older.push(yield* ask(id))
            }
            let isDown = true
            const platform = readable((id) => (isDown && id === picture.entityId ? failures.unavailable : undefined))
            const fiber = yield* settling([picture.id, ...older], platform)
            yield* untilTried(shop, picture.id, 4)
            const error = {
              code: "PUBLISH_DELAYED",
              message: `${failures.unavailable.message} The publish is tried again for up to 15 minutes.`
            }
            const statesOf = (ids: ReadonlyArray<EntityId>) =>
              Effect.forEach(ids, (id) =>
                Effect.map(versionOf(shop, id), (version) => [version?.lastPublishStatus, version?.lastPublishError])
              )
            const waiting = [picture.entityId, product, ...variants]
            yield* Effect.repeat(Effect.delay(find(shop, older), "5 millis"), {
              until: (all) => all.every(({ attempts, error: why }) => attempts === 0 && why?.message === error.message)
            })
            assert.deepStrictEqual<unknown>(
              yield* statesOf(waiting),
              waiting.map(() => ["pending", error])
            )
            // A newer request has the reason from its begin on, and another entity has none.
            yield* edit(product, "Tent 2")
            const newer = yield* ask(product)
            assert.deepStrictEqual<unknown>((yield* find(shop, [newer]))[0]?.error, error)
            assert.deepStrictEqual<unknown>(yield* statesOf([product]), [["pending", error]])
            for (const id of others) yield* ask(id)
            assert.deepStrictEqual<unknown>(
              yield* statesOf(others),
              others.map(() => ["pending", null])
            )
            isDown = false
            yield* Fiber.join(fiber)
            yield* Fiber.join(yield* settling([newer], platform))
            assert.deepStrictEqual<unknown>(
              yield* statesOf(waiting),
              waiting.map(() => ["published", null])
            )
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
            const error = { code: "PUBLISH_DELAYED", message: "It takes no writes." }
            const ended = { outcome: "unknown", reason: "server" } as const
            const [one, two, three, four, five] = yield* Effect.forEach([1, 2, 3, 4, 5], () =>
              Effect.flatMap(request(shop), ({ id }) => claim(id))
            )
            assert(one && two && three && four && five)
            assert.isTrue(Option.isSome(yield* repo.failsAlone(one)))
            assert.isTrue(Option.isSome(yield* repo.failsAlone(one)))
            assert.isTrue(Option.isNone(yield* repo.failsAlone(two)))
            assert.deepStrictEqual(yield* repo.outage(accountId, store.id), Option.none())
            assert.isTrue(yield* repo.finish(three, { outcome: "published", reason: null }, "published", null))
            assert.isTrue(Option.isSome(yield* repo.failsAlone(two)))
            assert.isTrue(Option.isNone(yield* repo.failsAlone(one)))
            assert.isTrue(yield* repo.meetOutage(one, ended, error, 3_600))
            assert.deepStrictEqual(yield* repo.outage(accountId, store.id), Option.some(error))
            assert.deepStrictEqual(yield* outcomesOf(one.id), ["unknown server"])
            // Also if the same one fails again and again, until the platform has answered.
            assert.isTrue(yield* repo.meetOutage(two, ended, error, 0))
            const again = yield* Effect.zipRight(repo.hasten(accountId, store.id, four.entityId), claim(two.id))
            assert.isTrue(Option.isNone(yield* repo.failsAlone(again)))
            const unavailable = { outcome: "unavailable", reason: "server" } as const
            assert.isTrue(yield* repo.finish(again, unavailable, "failed", error))
            assert.isTrue(Option.isNone(yield* repo.failsAlone(four)))
            assert.isTrue(yield* repo.finish(four, { outcome: "refused", reason: "NO" }, "failed", error))
            assert.isTrue(Option.isSome(yield* repo.failsAlone(five)))
            // Attempts that have lost their claim say nothing about the platform.
            assert.isTrue(Option.isNone(yield* repo.failsAlone(four)))
            assert.isTrue(yield* repo.finish(five, unavailable, "failed", error))
            assert.isTrue(Option.isNone(yield* repo.failsAlone(five)))
          })
        )
      )
    })
  })
}
