import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Ref, Schedule } from "effect"
import { ChangeFeed } from "../../src/feed/ChangeFeed.ts"
import { type AccountId, EntityId, WebhookId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { Webhooks } from "../../src/webhooks/Webhooks.ts"
import { firstAccepted, layerReceiver, outOfOrder, Receiver } from "../support/Receiver.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { bundledProgram, killProgram, startProgram } from "./BundledProgram.ts"
import { Dice, report } from "./Dice.ts"
import { layerServices } from "./ServerServices.ts"

const sender = bundledProgram("test/faults/WebhookSender.ts")
const entities = 24

/** An account with entities and a webhook, and writers of titles that continue until they are stopped. */
const aWorld = (path: string) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    const receiver = yield* Receiver
    receiver.arrivals.length = 0
    const { apply } = yield* CatalogChanges
    const ids = yield* Effect.replicateEffect(mintId(EntityId), entities)
    yield* apply(ids.map((id) => CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: {} }))).pipe(
      actingAs(actor)
    )
    const { webhook } = yield* (yield* Webhooks)
      .create(yield* mintId(WebhookId), { url: receiver.url(path), topics: [] })
      .pipe(actingAs(actor))
    const stopped = yield* Ref.make(false)
    const writing = Effect.gen(function* () {
      for (let round = 0; !(yield* Ref.get(stopped)); round++) {
        yield* apply(
          ids
            .filter((_, index) => (index + round) % 3 === 0)
            .map((entityId) => CatalogChange.SetAttributes({ entityId, values: { title: `${round}` } }))
        )
        yield* Effect.sleep(60)
      }
    }).pipe(actingAs(actor), Effect.orDie)
    return { accountId, actor, id: webhook.id, receiver, stopped, writing }
  })

const start = (planted: boolean) =>
  Effect.gen(function* () {
    const child = yield* startProgram(sender, {
      WEBHOOKS_DATABASE_URL: Redacted.value(yield* TestDatabaseUrl),
      WEBHOOKS_HOST: (yield* Receiver).host,
      WEBHOOKS_KEY: "ab".repeat(32),
      WEBHOOKS_PLANTED: planted ? "yes" : "no"
    })
    const { stdout } = child
    if (stdout !== null) yield* Effect.promise(() => once(stdout, "data"))
    return child
  })

/** Two processes at a time deliver; one after the other is killed at a random moment. */
const killing = (dice: Dice, kills: number, planted: boolean) =>
  Effect.scoped(
    Effect.gen(function* () {
      let other = yield* start(planted)
      for (let kill = 0; kill < kills; kill++) {
        const next = yield* start(planted)
        yield* Effect.sleep(50 + dice.below(300))
        yield* killProgram(other)
        other = next
      }
    })
  )

/** Delivers until the webhook has no more changes. */
const drained = (id: WebhookId, planted: boolean) =>
  Effect.scoped(
    Effect.zipRight(
      start(planted),
      Effect.flatMap(Webhooks, ({ get }) => get(id)).pipe(
        Effect.repeat({
          until: ({ last_seq, position, waiting }) => position === last_seq && waiting === 0,
          schedule: Schedule.spaced("50 millis")
        })
      )
    )
  )

/** The numbers of all changes since the webhook was created. `first`: the number before them. */
const changesAfter = (accountId: AccountId, first: number) =>
  Effect.map(
    Effect.flatMap(ChangeFeed, ({ read }) => read(accountId, first, 100_000)),
    ({ changes }) => changes.map(({ seq }) => seq)
  )

describe.skipIf(!serverAnswers)("processes that deliver webhooks are killed", () => {
  layer(Layer.provideMerge(layerServices(10), layerReceiver), { excludeTestServices: true })((it) => {
    it.effect("every change arrives at least once, and changes of one entity in order", () =>
      Effect.gen(function* () {
        const { accountId, actor, id, receiver, stopped, writing } = yield* aWorld("/killed")
        const dice = new Dice("killed webhooks")
        const refused = new Set<number>()
        receiver.behaviour.answer = async ({ message: { data } }) => {
          await sleep(dice.below(12))
          // Every fiftieth change is refused once, so that it is set aside while others continue.
          if (refused.has(data.seq) || data.seq % 50 !== 0) return 204
          refused.add(data.seq)
          return 500
        }
        const kills = amount(5, 40)
        yield* Effect.all([Effect.ensuring(killing(dice, kills, false), Ref.set(stopped, true)), writing], {
          concurrency: "unbounded"
        })
        yield* drained(id, false).pipe(actingAs(actor))
        const expected = yield* changesAfter(accountId, entities)
        const { arrivals } = receiver
        const accepted = firstAccepted(arrivals)
        report("killed webhooks", {
          kills,
          changes: expected.length,
          arrivals: arrivals.length,
          refused: refused.size
        })
        assert.isAbove(expected.length, 200)
        assert.isAbove(refused.size, 0)
        assert.deepStrictEqual(
          accepted.map(({ message }) => message.data.seq).sort((one, other) => one - other),
          expected
        )
        assert.deepStrictEqual(outOfOrder(arrivals), [])
      })
    )

    it.effect.runIf(runsPlanted)("a position that is saved before the deliveries loses changes (planted fault)", () =>
      Effect.gen(function* () {
        const dice = new Dice("planted webhooks")
        /** Returns how many changes were lost. */
        const lose = Effect.gen(function* () {
          const { accountId, actor, id, receiver, stopped, writing } = yield* aWorld("/planted")
          // A slow receiver, so that a kill comes during a delivery.
          receiver.behaviour.answer = async () => {
            await sleep(20 + dice.below(40))
            return 204
          }
          yield* Effect.all([Effect.ensuring(killing(dice, amount(5, 40), true), Ref.set(stopped, true)), writing], {
            concurrency: "unbounded"
          })
          yield* drained(id, true).pipe(actingAs(actor))
          const expected = yield* changesAfter(accountId, entities)
          const accepted = firstAccepted(receiver.arrivals)
          report("planted webhooks", { changes: expected.length, accepted: accepted.length })
          assert.isAbove(expected.length, 200)
          return expected.length - accepted.length
        })
        // By chance, all kills of a round may come between two deliveries.
        const lost = yield* Effect.repeat(lose, { until: (lost) => lost > 0, times: 9 })
        assert.isAbove(lost, 0)
      })
    )
  })
})
