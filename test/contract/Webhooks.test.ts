import { setTimeout as sleep } from "node:timers/promises"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Either, Fiber, Layer, Option, Redacted, Ref, Runtime } from "effect"
import { OutsideNetwork } from "../../src/connections/OutsideRequest.ts"
import { ChangeType } from "../../src/drafts/FeedChanges.ts"
import { ChangeFeed } from "../../src/feed/ChangeFeed.ts"
import { NotFound } from "../../src/model/Errors.ts"
import { type AccountId, EntityId, WebhookId } from "../../src/model/Ids.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { SecretBox, SecretKeySource } from "../../src/stores/SecretBox.ts"
import {
  type Accounts,
  type ApiKeys,
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  type Stores,
  TestServices
} from "../../src/testing/index.ts"
import { maxConnections, PrivateReceivers } from "../../src/webhooks/Addresses.ts"
import { delayAfter, maxFailures, maxWebhooks } from "../../src/webhooks/Webhook.ts"
import { Webhooks } from "../../src/webhooks/Webhooks.ts"
import { WebhooksRepo } from "../../src/webhooks/WebhooksRepo.ts"
import { WebhookWorker } from "../../src/webhooks/WebhookWorker.ts"
import { makeDocumentHost } from "../oauth/DocumentHost.ts"
import { advance, ahead, layerMovableClock, layerStarted, unsafeSetAhead } from "../support/MovableClock.ts"
import { type Arrival, isVerified, layerReceiver, outOfOrder, Receiver } from "../support/Receiver.ts"
import { featureEngines } from "../support/TestDatabase.ts"

const hour = 3_600_000
const day = 24 * hour

/** The services that the tests need, with repositories in memory or on a database. */
type Needed = Accounts | ApiKeys | CatalogChanges | ChangeFeed | Stores | Webhooks | WebhooksRepo | WebhookWorker

const all: ReadonlyArray<{ readonly name: string; readonly absent: boolean; readonly layer: Layer.Layer<Needed> }> = [
  { name: "memory", absent: false, layer: TestServices },
  ...featureEngines.map(({ absent, layer, name }) => ({
    name,
    absent,
    layer: Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provideMerge(layer), Layer.orDie)
  }))
]

const retitle = (entityId: EntityId, title: string) =>
  Effect.flatMap(CatalogChanges, ({ apply }) => apply([CatalogChange.SetAttributes({ entityId, values: { title } })]))

const create = (url: string, topics: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    return yield* (yield* Webhooks).create(yield* mintId(WebhookId), { url, topics })
  })

const get = (id: WebhookId) => Effect.flatMap(Webhooks, (webhooks) => webhooks.get(id))
const setAside = (id: WebhookId) => Effect.flatMap(Webhooks, (webhooks) => webhooks.setAside(id))
const replay = (id: WebhookId, from?: string) => Effect.flatMap(Webhooks, (webhooks) => webhooks.replay(id, from))

/** On a cluster, an account whose changes were delivered is asked again two seconds later. Here it is asked at once. */
const hintsAreDue = Effect.flatMap(
  Effect.serviceOption(SqlClient.SqlClient),
  Option.match({
    onNone: () => Effect.void,
    onSome: (sql) => Effect.orDie(sql`UPDATE work_hint SET due_at = app_now() WHERE kind = 'webhook'`)
  })
)
const runDue = Effect.zipRight(
  hintsAreDue,
  Effect.flatMap(WebhookWorker, (worker) => worker.runDue)
)

/** Runs the due webhooks. Before each read of the account's feed, the effect runs with the number of the read, from 1 on. */
const runDueReading = <E, R>(accountId: AccountId, beforeRead: (read: number) => Effect.Effect<unknown, E, R>) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<R>()
    const feed = yield* ChangeFeed
    let reads = 0
    const read: typeof feed.read = (of, after, limit) =>
      Effect.suspend(() => (of === accountId ? beforeRead(++reads) : Effect.void)).pipe(
        Effect.provide(context),
        Effect.orDie,
        Effect.zipRight(feed.read(of, after, limit))
      )
    const Reading = WebhookWorker.layer.pipe(
      Layer.provide([SecretBox.layer, Layer.succeed(ChangeFeed, { ...feed, read })]),
      Layer.fresh
    )
    yield* runDue.pipe(Effect.provide(Reading))
  })

const refusal = <A, R>(refused: Effect.Effect<A, { readonly _tag: string }, R>) =>
  Effect.map(Effect.flip(refused), (error) => ("issues" in error ? error.issues : assert.fail(error._tag)))

/** An account with a webhook that has a path of its own, and the messages that arrive there. */
const aWebhook = (path: string, topics: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    const receiver = yield* Receiver
    receiver.arrivals.length = 0
    receiver.behaviour.answer = () => 204
    receiver.behaviour.connections = "kept"
    const { secret, webhook } = yield* create(receiver.url(path), topics).pipe(actingAs(actor))
    const arrived = () => receiver.arrivals.filter((each) => each.path === path)
    return { accountId, actor, arrived, id: webhook.id, receiver, secret, webhook }
  })

const numbers = (arrivals: ReadonlyArray<Arrival>) => arrivals.map(({ message }) => message.data.seq)

for (const engine of all) {
  describe.skipIf(engine.absent)(`webhooks on ${engine.name}`, () => {
    const TestLayer = layerStarted.pipe(
      Layer.provideMerge(engine.layer),
      Layer.provideMerge(layerMovableClock),
      Layer.provideMerge(layerReceiver)
    )
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("every change is delivered once, signed, with a stable id", () =>
        Effect.gen(function* () {
          const { accountId, actor, arrived, id, receiver, secret, webhook } = yield* aWebhook("/once")
          assert.match(Redacted.value(secret), /^whsec_[A-Za-z0-9+/]{43}=$/)
          assert.deepStrictEqual(
            [webhook.state, webhook.position, webhook.last_seq, webhook.waiting, webhook.parked, webhook.topics],
            ["active", 0, 0, 0, 0, []]
          )
          yield* Effect.gen(function* () {
            const other = yield* create(receiver.url("/topics"), ["entity.updated"])
            const products: Array<EntityId> = []
            for (const title of ["1", "2", "3"]) products.push(yield* anEntity("product", { title }))
            for (const product of products) yield* retitle(product, "again")
            assert.isAtLeast(yield* runDue, 2)
            assert.strictEqual(yield* runDue, 0)
            const { changes } = yield* (yield* ChangeFeed).read(accountId, 0, 100)
            assert.lengthOf(changes, 6)
            assert.sameMembers(numbers(arrived()), [1, 2, 3, 4, 5, 6])
            assert.deepStrictEqual(outOfOrder(arrived()), [])
            for (const arrival of arrived()) {
              const { body, headers, message } = arrival
              const change = changes[message.data.seq - 1]
              assert.deepStrictEqual(JSON.parse(body), {
                type: change?.type,
                timestamp: change?.at,
                data: { seq: change?.seq, entity: change?.entity, what: change?.what }
              })
              assert.strictEqual(headers["content-type"], "application/json")
              assert.strictEqual(headers["webhook-id"], `chg_${accountId.replaceAll("-", "")}_${message.data.seq}`)
            }
            const topics = receiver.arrivals.filter(({ path }) => path === "/topics")
            assert.deepStrictEqual(
              topics.map(({ message }) => message.type),
              Array(3).fill("entity.updated")
            )
            for (const found of [yield* get(id), yield* get(other.webhook.id)])
              assert.deepStrictEqual([found.state, found.position, found.last_seq], ["active", 6, 6])
            assert.isNotNull((yield* get(id)).delivered_at)
            yield* (yield* Webhooks).delete(id)
            assert.instanceOf(yield* Effect.flip((yield* Webhooks).delete(id)), NotFound)
            yield* retitle(products[0] ?? assert.fail("no product"), "unseen")
            yield* runDue
            assert.lengthOf(arrived(), 6)
          }).pipe(actingAs(actor))
        })
      )

      it.effect(
        "a failed change is retried before later changes of its entity while others continue, then parked and listed",
        () =>
          Effect.gen(function* () {
            const { actor, arrived, id, receiver } = yield* aWebhook("/one-fails")
            yield* Effect.gen(function* () {
              const bad = yield* anEntity("product", { title: "bad" })
              const good = yield* anEntity("product", { title: "good" })
              yield* runDue
              const begun = arrived().length
              receiver.behaviour.answer = ({ message }) => (message.data.entity.id === bad ? 500 : 204)
              for (const title of ["1", "2"]) for (const product of [bad, good]) yield* retitle(product, title)
              yield* runDue
              const [first, second] = yield* setAside(id)
              assert.deepStrictEqual(
                [first?.state, first?.attempts, first?.problem, second?.attempts, second?.next_attempt_at],
                ["waiting", 1, "It answered 500.", 0, null]
              )
              assert.deepStrictEqual(numbers(arrived().slice(begun)).sort(), [3, 4, 6])
              const { next_attempt_at, position, state, waiting } = yield* get(id)
              assert.deepStrictEqual([position, waiting, state], [6, 2, "active"], "one failure does not throttle it")
              assert.isNotNull(next_attempt_at)
              assert.strictEqual(next_attempt_at, first?.next_attempt_at)
              // It is not tried before its delay has passed.
              yield* advance(delayAfter(1) * 500)
              assert.strictEqual(yield* runDue, 0)
              for (let attempt = 1; attempt <= 6; attempt++) {
                yield* advance(delayAfter(attempt) * 1_000)
                yield* runDue
                assert.strictEqual((yield* setAside(id))[0]?.attempts, attempt + 1)
              }
              const tried = arrived().filter(({ message }) => message.data.seq === 3)
              assert.lengthOf(tried, 7)
              assert.lengthOf(new Set(tried.map(({ headers }) => headers["webhook-id"])), 1)
              assert.notInclude(numbers(arrived()), 5)
              // Newer changes of the entity wait. Three days after it was set aside, the first change is parked.
              yield* retitle(bad, "3")
              yield* runDue
              yield* advance(3 * day)
              yield* runDue
              assert.deepStrictEqual(
                (yield* setAside(id)).map(({ seq, state }) => [seq, state]),
                [3, 5, 7].map((seq) => [seq, "parked"])
              )
              assert.include(numbers(arrived()), 5, "the next change is tried when the one before is parked")
              receiver.behaviour.answer = () => 204
              assert.strictEqual((yield* replay(id)).waiting, 3)
              yield* runDue
              assert.deepStrictEqual(yield* setAside(id), [])
              assert.deepStrictEqual(
                numbers(arrived().filter(({ message, status }) => message.data.entity.id === bad && status === 204)),
                [1, 3, 5, 7]
              )
            }).pipe(actingAs(actor))
          })
      )

      it.effect(
        "a receiver that is down gets one delivery at a time, then the webhook is stopped; replay loses nothing",
        () =>
          Effect.gen(function* () {
            const { actor, arrived, id, receiver } = yield* aWebhook("/down")
            yield* Effect.gen(function* () {
              receiver.behaviour.answer = () => 503
              const products: Array<EntityId> = []
              for (let index = 0; index < 60; index++)
                products.push(yield* anEntity("product", { title: String(index) }))
              yield* runDue
              const begun = arrived().length
              assert.isAtLeast(begun, maxFailures)
              assert.isBelow(begun, 30)
              assert.deepStrictEqual(
                [(yield* get(id)).state, (yield* get(id)).problem],
                ["failing", "It answered 503."]
              )
              let attempts = begun
              for (let attempt = 1; attempt <= 5; attempt++) {
                yield* advance(6 * hour + 1_000)
                yield* runDue
                assert.strictEqual(arrived().length, ++attempts)
              }
              // The times of its changes have passed, but the webhook itself is tried in six hours.
              const next = (yield* get(id)).next_attempt_at ?? assert.fail("no next attempt")
              const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
              assert.isAbove(Date.parse(next) - now, 5 * hour)
              const times = (yield* setAside(id)).map(
                ({ next_attempt_at }) => next_attempt_at ?? assert.fail("no time")
              )
              assert.deepStrictEqual(
                times.filter((time) => time < next),
                []
              )
              yield* advance(5 * hour)
              assert.strictEqual(yield* runDue, 0)
              yield* advance(3 * day)
              yield* runDue
              const stopped = yield* get(id)
              assert.strictEqual(stopped.state, "stopped")
              assert.isAbove(stopped.parked, 0)
              assert.deepStrictEqual([stopped.waiting, stopped.last_seq], [0, 60])
              yield* advance(day)
              assert.strictEqual(yield* runDue, 0)
              receiver.behaviour.answer = () => 204
              assert.strictEqual((yield* replay(id)).state, "active")
              yield* runDue
              yield* runDue
              const accepted = arrived().filter(({ status }) => status === 204)
              assert.sameMembers(
                [...new Set(numbers(accepted))],
                Array.from({ length: 60 }, (_, index) => index + 1)
              )
              const last = yield* get(id)
              assert.deepStrictEqual([last.state, last.waiting, last.parked, last.position], ["active", 0, 0, 60])
              assert.isNull(last.next_attempt_at)
            }).pipe(actingAs(actor))
          })
      )

      it.effect.each([
        { setBack: 0, path: "/steady" },
        { setBack: 2 * 3_600_000, path: "/set-back" }
      ])(
        "a receiver that is slower than a turn gets each change once, also if the clock is set back by $setBack ms",
        ({ path, setBack }) =>
          Effect.gen(function* () {
            const { actor, arrived, id, receiver } = yield* aWebhook(path)
            const before = yield* Ref.get(ahead)
            yield* Effect.addFinalizer(() => Ref.set(ahead, before))
            yield* Effect.gen(function* () {
              const { apply } = yield* CatalogChanges
              const ids = yield* Effect.replicateEffect(mintId(EntityId), 100)
              yield* apply(
                ids.map((id) => CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: {} }))
              )
              yield* apply(ids.map((entityId) => CatalogChange.SetAttributes({ entityId, values: { title: "again" } })))
              receiver.behaviour.answer = () => {
                unsafeSetAhead(before - setBack)
                return sleep(200, 204)
              }
              assert.isAbove(yield* runDue, 1, "the deliveries take several turns")
              const sent = numbers(arrived())
              assert.lengthOf(sent, 200)
              assert.lengthOf(new Set(sent), 200)
              assert.deepStrictEqual(outOfOrder(arrived()), [])
              assert.strictEqual((yield* get(id)).position, 200)
            }).pipe(actingAs(actor))
          }).pipe(Effect.scoped)
      )

      it.effect(
        "changes that take longer to read than a turn are delivered, also one at a time to a failing receiver",
        () =>
          Effect.gen(function* () {
            const { accountId, actor, arrived, id, receiver } = yield* aWebhook("/slow-feed")
            yield* Effect.gen(function* () {
              for (let index = 0; index < maxFailures; index++) yield* anEntity("product", { title: String(index) })
              const readsBefore: Array<number> = []
              let reads = 0
              receiver.behaviour.answer = () => {
                readsBefore.push(reads)
                return 503
              }
              // The first three reads are slow, so that the test ends even if slow reads prevent deliveries.
              const slow = runDueReading(accountId, (read) => {
                reads = read
                return read <= 3 ? advance(3_000) : Effect.void
              })
              yield* slow
              assert.deepStrictEqual(readsBefore, Array(maxFailures).fill(1))
              assert.strictEqual((yield* get(id)).state, "failing")
              yield* advance(6 * hour)
              yield* slow
              assert.lengthOf(arrived(), maxFailures + 1)
              assert.deepStrictEqual(
                [(yield* get(id)).state, (yield* get(id)).problem],
                ["failing", "It answered 503."]
              )
              receiver.behaviour.answer = () => 204
              yield* advance(6 * hour)
              yield* slow
              yield* runDue
              const { position, problem, state, waiting } = yield* get(id)
              assert.deepStrictEqual([state, position, waiting, problem], ["active", maxFailures, 0, null])
            }).pipe(actingAs(actor))
          })
      )

      it.effect("the problem of a waiting change stays while changes of other topics are passed over", () =>
        Effect.gen(function* () {
          const { actor, id, receiver } = yield* aWebhook("/kept-problem", ["entity.created"])
          yield* Effect.gen(function* () {
            receiver.behaviour.answer = () => 500
            const product = yield* anEntity("product", { title: "1" })
            yield* runDue
            yield* retitle(product, "2")
            yield* runDue
            const { position, problem, waiting } = yield* get(id)
            assert.deepStrictEqual([position, waiting, problem], [2, 1, "It answered 500."])
            receiver.behaviour.answer = () => 204
            yield* advance(delayAfter(1) * 1_000)
            yield* runDue
            assert.deepStrictEqual([(yield* get(id)).waiting, (yield* get(id)).problem], [0, null])
          }).pipe(actingAs(actor))
        })
      )

      for (const connections of ["once", "endless"] as const)
        it.effect(
          `a receiver that accepts every message, and ${
            connections === "once" ? "cuts connections after one" : "does not end its answers"
          }, gets every change`,
          () =>
            Effect.gen(function* () {
              const { actor, arrived, id, receiver } = yield* aWebhook(`/${connections}`)
              receiver.behaviour.connections = connections
              yield* Effect.gen(function* () {
                const count = 2 * maxConnections + 1
                for (let index = 0; index < count; index++) yield* anEntity("product", { title: String(index) })
                yield* runDue
                assert.sameMembers(
                  numbers(arrived()),
                  Array.from({ length: count }, (_, index) => index + 1)
                )
                const { failing_since, position, problem, waiting } = yield* get(id)
                assert.deepStrictEqual([position, waiting, problem, failing_since], [count, 0, null, null])
              }).pipe(actingAs(actor))
            })
        )

      it.effect("410 ends a webhook, and redirects are not followed", () =>
        Effect.gen(function* () {
          const { actor, arrived, id, receiver } = yield* aWebhook("/gone")
          yield* Effect.gen(function* () {
            const product = yield* anEntity("product", { title: "1" })
            receiver.behaviour.answer = () => ({ status: 307, headers: { location: receiver.url("/elsewhere") } })
            yield* runDue
            assert.strictEqual((yield* setAside(id))[0]?.problem, "It answered 307: redirects are not followed.")
            assert.lengthOf(receiver.arrivals, 1)
            const waits = [
              { after: 6_000, retryAfter: () => "7000" },
              { after: 200_000, retryAfter: () => new Date(Date.now() + 7_000_000).toUTCString() }
            ]
            for (const { after, retryAfter } of waits) {
              receiver.behaviour.answer = () => ({ status: 429, headers: { "retry-after": retryAfter() } })
              yield* advance(after)
              assert.isAbove(yield* runDue, 0)
              yield* advance(6_900_000)
              assert.strictEqual(yield* runDue, 0, "it waits as long as the receiver asked")
            }
            receiver.behaviour.answer = () => 410
            yield* retitle(product, "2")
            const other = yield* anEntity("product", { title: "3" })
            yield* runDue
            const gone = yield* get(id)
            assert.deepStrictEqual([gone.state, gone.problem], ["gone", "It answered 410: it wants no more messages."])
            assert.deepStrictEqual([gone.waiting, gone.parked], [0, 2])
            assert.deepStrictEqual(
              (yield* setAside(id)).map(({ next_attempt_at, seq, state }) => [seq, state, next_attempt_at]),
              [1, 2].map((seq) => [seq, "parked", null])
            )
            yield* retitle(other, "4")
            yield* advance(day)
            assert.strictEqual(yield* runDue, 0)
            receiver.behaviour.answer = () => 204
            yield* replay(id)
            yield* runDue
            const accepted = arrived().filter(({ status }) => status === 204)
            assert.sameMembers(numbers(accepted), [1, 2, 3, 4])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("after a rotation both secrets verify for a day; SECRET_KEY can be changed", () =>
        Effect.gen(function* () {
          const { accountId, actor, arrived, id, secret } = yield* aWebhook("/rotated")
          yield* Effect.gen(function* () {
            const webhooks = yield* Webhooks
            const rotated = yield* webhooks.rotate(id)
            assert.notStrictEqual(Redacted.value(rotated.secret), Redacted.value(secret))
            assert.isNotNull(rotated.webhook.previous_secret_until)
            // Of several rotations of the same secret at the same moment, one succeeds.
            const other = yield* create((yield* Receiver).url("/rotated-once"))
            const digest = yield* webhooks.secretDigest(other.webhook.id)
            const several = yield* Effect.all(
              Array.from({ length: 5 }, () => Effect.either(webhooks.rotate(other.webhook.id, digest))),
              { concurrency: "unbounded" }
            )
            assert.deepStrictEqual(
              several.flatMap((result) => (Either.isLeft(result) ? [result.left._tag] : [])),
              Array(4).fill("SecretRotated")
            )
            yield* webhooks.delete(other.webhook.id)
            const product = yield* anEntity("product", { title: "1" })
            yield* runDue
            const [first = assert.fail("nothing arrived")] = arrived()
            assert.deepStrictEqual([isVerified(secret, first), isVerified(rotated.secret, first)], [true, true])
            assert.isFalse(isVerified(secret, { ...first, body: `${first.body} ` }))
            yield* advance(day + 1_000)
            yield* retitle(product, "2")
            yield* runDue
            const second = arrived()[1] ?? assert.fail("nothing arrived")
            assert.deepStrictEqual([isVerified(secret, second), isVerified(rotated.secret, second)], [false, true])
            assert.isNull((yield* get(id)).previous_secret_until)
            const repo = yield* WebhooksRepo
            const [, next] = ["ab", "cd"].map((byte) => Redacted.make(byte.repeat(32)))
            const previous = Redacted.make("ab".repeat(32))
            const keys = Layer.succeed(SecretKeySource, { _tag: "Setting", key: next ?? previous, previous })
            const Changed = Webhooks.layer.pipe(Layer.provideMerge(SecretBox.layer), Layer.provide(keys), Layer.fresh)
            yield* Effect.gen(function* () {
              assert.deepStrictEqual(yield* (yield* Webhooks).rotateSecrets(accountId), {
                rotated: 2,
                current: 0,
                unreadable: []
              })
              const { current, previous } = Option.getOrThrow(yield* repo.secrets(accountId, id))
              const box = yield* SecretBox
              for (const [sealed, expected] of [[current, rotated.secret] as const, [previous, secret] as const])
                assert.strictEqual(
                  Redacted.value(yield* box.open(sealed ?? assert.fail("no secret"), { accountId, webhookId: id })),
                  Redacted.value(expected)
                )
            }).pipe(Effect.provide(Changed))
            // This process has only the old key, so it cannot sign. The change waits.
            yield* retitle(product, "3")
            yield* runDue
            assert.lengthOf(arrived(), 2)
            assert.match((yield* get(id)).problem ?? "", /^The webhook's secret cannot be decrypted: SECRET_KEY is not/)
            // A new secret is enough, although the previous one cannot be read.
            const renewed = yield* webhooks.rotate(id)
            // The previous secret signs nothing, so nobody is told that it does, and no later change of the key reports it.
            assert.isNull(renewed.webhook.previous_secret_until)
            assert.isNull(Option.getOrThrow(yield* repo.secrets(accountId, id)).previous)
            yield* advance(day / 2)
            yield* runDue
            const third = arrived()[2] ?? assert.fail("the change did not arrive")
            assert.isTrue(isVerified(renewed.secret, third))
          }).pipe(actingAs(actor))
        })
      )

      it.effect("replay begins at any position of the feed; an error lists the valid positions", () =>
        Effect.gen(function* () {
          const { actor, arrived, id } = yield* aWebhook("/replayed")
          yield* Effect.gen(function* () {
            for (const title of ["1", "2", "3"]) yield* anEntity("product", { title })
            yield* advance(hour)
            const later = fromMillis((yield* Effect.clockWith((clock) => clock.currentTimeMillis)) - 60_000)
            for (const title of ["4", "5"]) yield* anEntity("product", { title })
            yield* runDue
            const places: ReadonlyArray<readonly [string, ReadonlyArray<number>]> = [
              ["oldest", [1, 2, 3, 4, 5]],
              ["3", [3, 4, 5]],
              [later, [4, 5]],
              ["latest", []],
              ["6", []]
            ]
            for (const [from, expected] of places) {
              const before = arrived().length
              yield* replay(id, from)
              yield* runDue
              assert.sameMembers(numbers(arrived().slice(before)), [...expected], from)
            }
            for (const from of ["0", "7"])
              assert.deepStrictEqual(yield* refusal(replay(id, from)), [
                { path: "from", message: "must be 1 to 6, the changes that the feed has" }
              ])
            assert.deepStrictEqual(yield* refusal(replay(id, "yesterday")), [
              {
                path: "from",
                message: "must be oldest, latest, the number of a change, or a time such as 2026-01-31T09:30:00Z"
              }
            ])
            assert.instanceOf(yield* Effect.flip(replay(yield* mintId(WebhookId))), NotFound)
          }).pipe(actingAs(actor))
        })
      )

      it.effect(
        "a webhook whose position is too old for the feed reports it, and delivers nothing until it is replayed",
        () =>
          Effect.gen(function* () {
            const { actor, arrived, id } = yield* aWebhook("/behind")
            yield* Effect.gen(function* () {
              yield* anEntity("product", { title: "lost" })
              yield* advance(31 * day)
              assert.isAtLeast(yield* (yield* ChangeFeed).forget, 1)
              yield* anEntity("product", { title: "kept" })
              assert.strictEqual((yield* get(id)).state, "behind")
              yield* runDue
              assert.strictEqual((yield* replay(id)).state, "behind")
              yield* runDue
              assert.deepStrictEqual(arrived(), [])
              assert.strictEqual((yield* replay(id, "oldest")).state, "active")
              yield* runDue
              assert.deepStrictEqual(numbers(arrived()), [2])
            }).pipe(actingAs(actor))
          })
      )

      it.effect(
        "a webhook whose next changes are deleted from the feed during its turn is behind, and skips none",
        () =>
          Effect.gen(function* () {
            const { accountId, actor, arrived, id } = yield* aWebhook("/overtaken")
            yield* Effect.gen(function* () {
              for (const title of ["lost", "lost too"]) yield* anEntity("product", { title })
              const forgetting = Effect.gen(function* () {
                yield* advance(31 * day)
                yield* anEntity("product", { title: "kept" })
                yield* (yield* ChangeFeed).forget
              })
              yield* runDueReading(accountId, (read) => (read === 1 ? forgetting : Effect.void))
              const { position, state } = yield* get(id)
              assert.deepStrictEqual([numbers(arrived()), position, state], [[], 0, "behind"])
              yield* replay(id, "oldest")
              yield* runDue
              assert.deepStrictEqual(numbers(arrived()), [3])
            }).pipe(actingAs(actor))
          })
      )

      it.effect("parked changes are kept for 30 days", () =>
        Effect.gen(function* () {
          const { actor, id, receiver } = yield* aWebhook("/parked")
          yield* Effect.gen(function* () {
            receiver.behaviour.answer = () => 400
            yield* anEntity("product", { title: "refused" })
            yield* runDue
            yield* advance(3 * day)
            yield* runDue
            assert.strictEqual((yield* get(id)).parked, 1)
            const { forget } = yield* Webhooks
            yield* advance(29 * day)
            yield* forget
            assert.strictEqual((yield* get(id)).parked, 1)
            yield* advance(2 * day)
            assert.isAtLeast(yield* forget, 1)
            assert.strictEqual((yield* get(id)).parked, 0)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("addresses that cannot receive are refused with the reason, and nothing is saved", () =>
        Effect.gen(function* () {
          const { actor, receiver } = yield* aWebhook("/address")
          yield* Effect.gen(function* () {
            const webhooks = yield* Webhooks
            const before = (yield* webhooks.list).length
            const refused = [
              ["hooks", "must be a URL, such as https://hooks.example.com/catalog"],
              [
                "http://hooks.example.com/",
                "must begin with https:// (http:// only for a host of the setting WEBHOOK_PRIVATE_HOSTS)"
              ],
              [
                "ftp://hooks.example.com/",
                "must begin with https:// (http:// only for a host of the setting WEBHOOK_PRIVATE_HOSTS)"
              ],
              [
                "https://me:secret@hooks.example.com/",
                "must not contain a user or a password; the signature proves who sends"
              ],
              ["https://hooks.example.com/#a", "must not have a fragment (the part from # on)"],
              [`https://hooks.example.com/${"a".repeat(2_048)}`, "must have at most 2048 characters"],
              ...["127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "[fd00::1]", "[::ffff:10.0.0.1]", "0x7f.1"].map(
                (host) => [`https://${host}/`, "cannot receive webhooks. Its host has an address that is not public."]
              ),
              ["https://no-such-host.invalid/", "cannot receive webhooks. Its host cannot be found."]
            ] as const
            for (const [url = "", message = ""] of refused)
              assert.deepStrictEqual(yield* refusal(create(url)), [{ path: "url", message }], url)
            assert.deepStrictEqual(yield* refusal(create(receiver.url("/"), ["entity.updated", "sold"])), [
              { path: "topics", message: `sold: choose from ${ChangeType.literals.join(", ")}, or none for all` }
            ])
            assert.strictEqual((yield* webhooks.list).length, before)
            const { webhook } = yield* create(receiver.url("/twice"))
            assert.strictEqual(
              (yield* Effect.flip(webhooks.create(webhook.id, { url: receiver.url("/twice"), topics: [] })))._tag,
              "WebhookExists"
            )
            for (let count = before + 1; count < maxWebhooks; count++) yield* create(receiver.url(`/many/${count}`))
            assert.deepStrictEqual(yield* refusal(create(receiver.url("/one-too-many"))), [
              { path: "", message: "An account has at most 50 webhooks" }
            ])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("creations at the same moment do not exceed the limit of 50, and one id is created once", () =>
        Effect.gen(function* () {
          const { actor, receiver } = yield* aWebhook("/first")
          yield* Effect.gen(function* () {
            const webhooks = yield* Webhooks
            const id = yield* mintId(WebhookId)
            const same = webhooks.create(id, { url: receiver.url("/same"), topics: [] })
            const twice = yield* Effect.all([Effect.either(same), Effect.either(same)], { concurrency: "unbounded" })
            const lost = twice.flatMap((result) => (Either.isLeft(result) ? [result.left._tag] : []))
            assert.deepStrictEqual(lost, ["WebhookExists"])
            const created = yield* Effect.forEach(
              Array.from({ length: maxWebhooks + 10 }, (_, index) => `/at-once/${index}`),
              (path) => Effect.either(create(receiver.url(path))),
              { concurrency: "unbounded" }
            )
            assert.lengthOf(yield* webhooks.list, maxWebhooks)
            const refused = created.flatMap((result) =>
              Either.isLeft(result) ? ["issues" in result.left ? result.left.issues : result.left._tag] : []
            )
            assert.deepStrictEqual(
              refused,
              Array.from({ length: 12 }, () => [{ path: "", message: "An account has at most 50 webhooks" }])
            )
            // At the limit, an id that exists is still recognized.
            assert.strictEqual((yield* Effect.flip(same))._tag, "WebhookExists")
          }).pipe(actingAs(actor))
        })
      )

      it.scoped("a host whose address becomes private, or whose certificate is not trusted, gets no message", () =>
        Effect.gen(function* () {
          const { actor } = yield* aWebhook("/unused")
          const host = yield* makeDocumentHost
          host.answers.set("/hook", { status: 200, body: "" })
          yield* Effect.gen(function* () {
            const { webhook } = yield* create("https://agent.example/hook")
            const product = yield* anEntity("product", { title: "1" })
            yield* runDue
            assert.deepStrictEqual(host.requested, ["/hook"])
            const { connections } = host.counts()
            host.addresses.set("agent.example", ["93.184.216.34", "10.0.0.7"])
            yield* retitle(product, "2")
            yield* runDue
            assert.deepStrictEqual(host.counts().connections, connections)
            const [first] = yield* setAside(webhook.id)
            assert.strictEqual(first?.problem, "Its host has an address that is not public.")
            assert.strictEqual(
              (yield* (yield* Webhooks).test(webhook.id)).problem,
              "Its host has an address that is not public."
            )
            host.addresses.set("agent.example", ["93.184.216.34"])
            assert.isNull((yield* (yield* Webhooks).test(webhook.id)).problem)
            yield* advance(6_000)
            yield* runDue
            assert.lengthOf(host.requested, 3)
            assert.deepStrictEqual(yield* setAside(webhook.id), [])

            // The same receiver, while nobody vouches for its certificate.
            const untrusted =
              "Its certificate is not trusted: it has expired, is for another host, or is signed by an authority that the service does not know."
            const dial = (address: string) => ({ ...host.network.dial(address), ca: [] })
            yield* retitle(product, "3")
            const tested = yield* Effect.zipRight(
              runDue,
              Effect.flatMap(Webhooks, ({ test }) => test(webhook.id))
            ).pipe(Effect.provideService(OutsideNetwork, { ...host.network, dial }))
            assert.strictEqual(tested.problem, untrusted)
            assert.deepStrictEqual(
              (yield* setAside(webhook.id)).map(({ problem, state }) => [state, problem]),
              [["waiting", untrusted]]
            )
            assert.lengthOf(host.requested, 3, "nothing is sent to it")
            yield* advance(6_000)
            yield* runDue
            assert.lengthOf(host.requested, 4)
          }).pipe(actingAs(actor), Effect.provideService(OutsideNetwork, host.network))
        })
      )

      it.scoped("a host whose name takes longer to resolve than a turn gets its changes in the first turn", () =>
        Effect.gen(function* () {
          const { actor } = yield* aWebhook("/unused-too")
          const host = yield* makeDocumentHost
          host.answers.set("/slow-name", { status: 200, body: "" })
          yield* Effect.gen(function* () {
            const { webhook } = yield* create("https://agent.example/slow-name").pipe(
              Effect.provideService(OutsideNetwork, host.network)
            )
            yield* anEntity("product", { title: "1" })
            const runtime = yield* Effect.runtime()
            let looks = 0
            const resolve: typeof host.network.resolve = async (name, isTrusted) => {
              // Only the first three look-ups are slow, so that the test ends even if slow look-ups prevent deliveries.
              if (name === "agent.example" && ++looks <= 3) await Runtime.runPromise(runtime)(advance(3_000))
              return host.network.resolve(name, isTrusted)
            }
            yield* runDue.pipe(Effect.provideService(OutsideNetwork, { ...host.network, resolve }))
            assert.deepStrictEqual([looks, host.requested], [1, ["/slow-name"]])
            assert.strictEqual((yield* get(webhook.id)).position, 1)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a host that was removed from WEBHOOK_PRIVATE_HOSTS gets no unencrypted messages", () =>
        Effect.gen(function* () {
          const { actor, arrived, id } = yield* aWebhook("/unencrypted")
          yield* Effect.gen(function* () {
            yield* anEntity("product", { title: "1" })
            const Removed = WebhookWorker.layer.pipe(
              Layer.provide([SecretBox.layer, Layer.succeed(PrivateReceivers, [])]),
              Layer.fresh
            )
            const network = { resolve: async () => ["93.184.216.34"], dial: () => ({ address: "127.0.0.1" }) }
            yield* runDue.pipe(Effect.provide(Removed), Effect.provideService(OutsideNetwork, network))
            assert.deepStrictEqual(arrived(), [])
            assert.deepStrictEqual(
              (yield* setAside(id)).map(({ problem, seq, state }) => [seq, state, problem]),
              [
                [
                  1,
                  "waiting",
                  "Its address begins with http://, and the setting WEBHOOK_PRIVATE_HOSTS does not have its host."
                ]
              ]
            )
            yield* advance(delayAfter(1) * 1_000)
            yield* runDue
            assert.deepStrictEqual(numbers(arrived()), [1])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a worker that is stopped sends again only the messages that were on their way", () =>
        Effect.gen(function* () {
          const { actor, arrived, id, receiver } = yield* aWebhook("/stopped")
          yield* Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const ids = yield* Effect.replicateEffect(mintId(EntityId), 100)
            yield* apply(
              ids.map((id) => CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: {} }))
            )
            const accepted = 60
            const never = new Promise<number>(() => {})
            receiver.behaviour.answer = ({ message }) => (message.data.seq <= accepted ? 204 : never)
            yield* hintsAreDue
            const working = yield* Effect.fork(Effect.flatMap(WebhookWorker, ({ work }) => work))
            // Then each connection waits for an answer, so all earlier answers were recorded.
            yield* Effect.sleep(20).pipe(Effect.repeat({ until: () => arrived().length === accepted + maxConnections }))
            yield* Fiber.interrupt(working)
            assert.strictEqual((yield* get(id)).position, accepted)
            receiver.behaviour.answer = () => 204
            yield* runDue
            const times = new Map<number, number>()
            for (const seq of numbers(arrived())) times.set(seq, (times.get(seq) ?? 0) + 1)
            const onTheirWay = [...times].filter(([, count]) => count === 2).map(([seq]) => seq)
            assert.deepStrictEqual(
              onTheirWay.sort((one, other) => one - other),
              Array.from({ length: maxConnections }, (_, index) => accepted + index + 1)
            )
            assert.lengthOf(numbers(arrived()), ids.length + maxConnections)
            assert.strictEqual((yield* get(id)).position, ids.length)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a worker that is stopped while it saves what was accepted sends none of it again", () =>
        Effect.gen(function* () {
          const { actor, arrived, id } = yield* aWebhook("/stopped-saving")
          yield* Effect.gen(function* () {
            for (const title of ["1", "2", "3"]) yield* anEntity("product", { title })
            yield* hintsAreDue
            const repo = yield* WebhooksRepo
            const isSaving = yield* Deferred.make<void>()
            // Only this wait can be interrupted, so the save begins when the interruption has arrived.
            const untilInterrupted = Effect.exit(Effect.interruptible(Effect.never))
            const save: typeof repo.save = (webhook, ...outcome) =>
              (webhook.id === id
                ? Effect.zipRight(Deferred.succeed(isSaving, undefined), untilInterrupted)
                : Effect.void
              ).pipe(Effect.zipRight(repo.save(webhook, ...outcome)))
            const Saving = WebhookWorker.layer.pipe(
              Layer.provide([SecretBox.layer, Layer.succeed(WebhooksRepo, { ...repo, save })]),
              Layer.fresh
            )
            const working = yield* Effect.flatMap(WebhookWorker, ({ work }) => work).pipe(
              Effect.provide(Saving),
              Effect.fork
            )
            yield* Deferred.await(isSaving)
            yield* Fiber.interrupt(working)
            assert.strictEqual((yield* get(id)).position, 3)
            yield* runDue
            assert.sameMembers(numbers(arrived()), [1, 2, 3])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a receiver that does not answer does not delay others", () =>
        Effect.gen(function* () {
          const { actor, arrived, receiver } = yield* aWebhook("/slow")
          yield* Effect.gen(function* () {
            yield* create(receiver.url("/fast"))
            let release = (_: number) => {}
            const released = new Promise<number>((resolve) => {
              release = resolve
            })
            receiver.behaviour.answer = ({ path }) => (path === "/slow" ? released : 204)
            const products: Array<EntityId> = []
            for (let index = 0; index < 40; index++) products.push(yield* anEntity("product", { title: String(index) }))
            const working = yield* Effect.fork(Effect.flatMap(WebhookWorker, ({ work }) => work))
            const fast = () => receiver.arrivals.filter(({ path }) => path === "/fast").length
            const until = (count: number) =>
              Effect.sleep(20).pipe(Effect.repeat({ until: () => fast() >= count }), Effect.asVoid)
            yield* until(40)
            for (const product of products) yield* retitle(product, "again")
            yield* until(80)
            assert.isTrue(arrived().every(({ status }) => status === undefined))
            assert.isAtMost(arrived().length, 16)
            release(204)
            yield* Effect.sleep(20).pipe(Effect.repeat({ until: () => new Set(numbers(arrived())).size === 80 }))
            assert.deepStrictEqual(outOfOrder(arrived()), [])
            yield* Fiber.interrupt(working)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("each claimed webhook is begun at once, in the order of the claims", () =>
        Effect.gen(function* () {
          const repo = yield* WebhooksRepo
          const hooks = [yield* aWebhook("/first"), yield* aWebhook("/second")]
          for (const { actor } of hooks) yield* anEntity("product", { title: "1" }).pipe(actingAs(actor))
          const ids = hooks.map(({ id }) => id)
          const begun: Array<string> = []
          const claimed = yield* repo.claim(100, 60, ({ id }) => Effect.sync(() => begun.push(id)))
          assert.deepStrictEqual(
            begun,
            claimed.map(({ id }) => id)
          )
          assert.includeMembers(begun, ids)
          for (const webhook of claimed) yield* repo.release(webhook, 0)
        })
      )

      it.effect("a webhook is claimed by one process; writes after a replay or a lost lease are refused", () =>
        Effect.gen(function* () {
          const { accountId, actor, id } = yield* aWebhook("/claimed")
          yield* Effect.gen(function* () {
            const repo = yield* WebhooksRepo
            yield* anEntity("product", { title: "1" })
            const mine = Effect.map(repo.claim(100, 60), (claimed) => claimed.filter((each) => each.id === id))
            const [claimed = assert.fail("not claimed")] = yield* mine
            assert.deepStrictEqual([claimed.accountId, claimed.position, claimed.hasWaiting], [accountId, 0, false])
            assert.deepStrictEqual(yield* mine, [])
            const handled = {
              position: 1,
              accepted: [],
              failed: [],
              setAside: [],
              state: "active" as const,
              failures: 0,
              problem: null,
              isAccepted: true,
              isRepaired: false
            }
            yield* advance(61_000)
            const [second = assert.fail("the lease has not expired")] = yield* mine
            assert.isFalse(yield* repo.save(claimed, handled, 60))
            yield* repo.release(claimed, 0)
            assert.deepStrictEqual(yield* mine, [])
            yield* replay(id, "oldest")
            assert.isFalse(yield* repo.save(second, handled, 60))
            assert.strictEqual((yield* get(id)).position, 0)
            const [third = assert.fail("not claimed")] = yield* mine
            assert.isTrue(yield* repo.save(third, handled, 60))
            assert.strictEqual((yield* get(id)).position, 1)
            yield* repo.release(third, 0)
            yield* (yield* Webhooks).delete(id)
          }).pipe(actingAs(actor))
        })
      )
    })
  })
}
