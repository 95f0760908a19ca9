import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Ref, Schedule } from "effect"
import { parametersOf } from "../../src/connections/AuthorizationRequest.ts"
import { firstPart, Undo } from "../../src/connections/Undo.ts"
import { makeUndoEdit } from "../../src/console/entities/UndoEdits.ts"
import { wordsIn } from "../../src/console/languages/Words.tsx"
import { DemoFailures } from "../../src/demo/DemoFailures.ts"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { copyOf } from "../../src/drafts/ProductCopy.ts"
import type { Drop } from "../../src/drops/Drop.ts"
import { Drops } from "../../src/drops/Drops.ts"
import type { Actor } from "../../src/model/Actor.ts"
import { ConnectionId, type DropId, EntityId } from "../../src/model/Ids.ts"
import { fromMillis, plusMicros } from "../../src/model/Timestamp.ts"
import { layerWorkers, Publishing } from "../../src/publishing/Publishing.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, anEntity, Drafts, Stores } from "../../src/testing/index.ts"
import { advance, ahead, layerMovableClock, layerStarted } from "../support/MovableClock.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

const hour = 3_600_000

/** A variant that is live on a shop with a price of its own there, a drop of that price, and an agent. */
const aSale = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  const connectionId = yield* mintId(ConnectionId)
  const agent: Actor = { _tag: "Connection", accountId, connectionId }
  return yield* Effect.gen(function* () {
    const drafts = yield* Drafts
    const undo = yield* Undo
    const { store } = yield* (yield* Stores).link({ domain: `${accountId}.demo.example`, platform: "demo" })
    const tent = yield* anEntity("product", { title: "Tent" }, { on: [store] })
    const small = yield* anEntity("variant", { title: "S", price: "12.00" }, { on: [store], of: tent })
    const write = (by: Actor, price: string | null) =>
      Effect.gen(function* () {
        const { draft_revision } = yield* drafts.get(small, null)
        yield* drafts.updateVersionAttributes(small, store.id, {
          draft_revision,
          attributes: [{ key: "price", value: price }]
        })
      }).pipe(actingAs(by), Effect.orDie)
    yield* write(actor, "10.00")
    const { request, settle } = yield* Publishing
    const asked = yield* request(tent, store.id)
    assert(asked.outcome === "requested")
    const [record] = yield* settle([asked.publicationId], () => Effect.void)
    assert.strictEqual(record?.state, "published")

    const drops = yield* Drops
    const now = Date.now() + (yield* Ref.get(ahead))
    const sale = yield* drops.create({
      name: "Sale",
      starts_at: fromMillis(now + hour),
      ends_at: fromMillis(now + 2 * hour),
      timezone: "UTC",
      changes: [{ entity_id: small, store_id: store.id, field: "price", value: "8.00" }]
    })
    /** Runs due steps until the drop has this status. */
    const until = (status: Drop["status"], id: DropId = sale.id) =>
      Effect.zipRight(drops.runDue, drops.get(id)).pipe(
        Effect.repeat({ until: (drop) => drop.status === status, schedule: Schedule.spaced("10 millis") }),
        Effect.orDie
      )
    /** Undoes all writes of the agent. Returns the values before that the review shows, and the price then. */
    const undone = Effect.gen(function* () {
      const reviewed = yield* undo.settledNow
      const window = { since: plusMicros(reviewed, -24 * hour * 1000), until: reviewed }
      const { fields } = yield* undo.review(connectionId, window, firstPart, 10)
      yield* undo.run(connectionId, window, firstPart)
      return { before: fields.map(({ before }) => before), price: yield* price }
    })
    /** Undoes the newest revision as the note of a saved cell does. Returns the price then. */
    const taken = Effect.gen(function* () {
      const { draft_revision } = yield* drafts.get(small, null)
      const form = { id: small, store: store.id, key: "price", revision: `${draft_revision}` }
      const undoEdit = yield* makeUndoEdit
      const outcome = yield* undoEdit(wordsIn("en"), parametersOf(`${new URLSearchParams(form)}`))
      assert.strictEqual(outcome._tag, "Undone")
      return yield* price
    })
    const priceOf = (id: EntityId) =>
      Effect.map(drafts.get(id, store.id), ({ attributes, overridden }) => ({
        value: attributes.find(({ key }) => key === "price")?.value,
        own: overridden.includes("price")
      }))
    const price = priceOf(small)
    /** Copies the product. Returns the price of the variant's copy. */
    const copied = Effect.gen(function* () {
      const id = yield* mintId(EntityId)
      const attributes = [{ key: "title", value: "Copy of Tent" }]
      yield* drafts.create(NewEntity.Copy({ id, productId: tent, attributes, storeIds: [store.id] }))
      return yield* priceOf(copyOf(id, small))
    })
    const start = Effect.zipRight(advance(hour), until("applied"))
    const end = Effect.zipRight(advance(hour), until("reverted"))
    return { actor, agent, copied, end, start, store, until, undone, price, taken, write }
  }).pipe(actingAs(actor))
}).pipe(Effect.orDie)

type Sale = Effect.Effect.Success<typeof aSale>

const inSale = <E, R>(body: (sale: Sale) => Effect.Effect<unknown, E, R>) =>
  Effect.flatMap(aSale, (sale) => actingAs(sale.actor)(body(sale)))

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`values that a drop has written, on ${engine.name}`, () => {
    const TestLayer = Layer.merge(layerWorkers, layerStarted).pipe(
      Layer.provideMerge(engine.layer),
      Layer.provideMerge(layerMovableClock)
    )
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect(
        "a copy that is made while the drop lasts has the value before the drop, or one that was written since",
        () =>
          inSale(({ actor, copied, end, start, write }) =>
            Effect.gen(function* () {
              yield* start
              assert.deepStrictEqual(yield* copied, { value: "10.00", own: true })
              yield* write(actor, "9.00")
              assert.deepStrictEqual(yield* copied, { value: "9.00", own: true })
              yield* write(actor, "8.00")
              yield* end
              assert.deepStrictEqual(yield* copied, { value: "10.00", own: true })
            })
          )
      )

      it.effect("a copy inherits the catalog's value if the store did before the drop", () =>
        inSale(({ actor, copied, end, price, start, write }) =>
          Effect.gen(function* () {
            yield* write(actor, null)
            yield* start
            assert.deepStrictEqual(yield* price, { value: "8.00", own: true })
            assert.deepStrictEqual(yield* copied, { value: "12.00", own: false })
            yield* end
            assert.deepStrictEqual(yield* copied, { value: "12.00", own: false })
          })
        )
      )

      it.effect("the undo of an agent, during the drop, restores the value of the drop, which its end takes back", () =>
        inSale(({ agent, end, price, start, undone, write }) =>
          Effect.gen(function* () {
            yield* start
            yield* write(agent, "9.00")
            assert.deepStrictEqual(yield* undone, { before: ["8.00"], price: { value: "8.00", own: true } })
            yield* end
            assert.deepStrictEqual(yield* price, { value: "10.00", own: true })
          })
        )
      )

      it.effect("the undo of an agent, after the drop, restores the value before the drop", () =>
        inSale(({ agent, end, start, undone, write }) =>
          Effect.gen(function* () {
            yield* start
            yield* write(agent, "9.00")
            yield* write(agent, "9.50")
            yield* end
            assert.deepStrictEqual(yield* undone, { before: ["10.00"], price: { value: "10.00", own: true } })
          })
        )
      )

      it.effect(
        "the undo of an agent, after the drop, restores the value of the drop if a person wrote it again after the drop",
        () =>
          inSale(({ actor, agent, end, start, undone, write }) =>
            Effect.gen(function* () {
              yield* start
              yield* write(actor, "8.50")
              yield* write(actor, "8.00")
              yield* write(agent, "9.00")
              yield* end
              assert.deepStrictEqual(yield* undone, { before: ["8.00"], price: { value: "8.00", own: true } })
            })
          )
      )

      it.effect("the undo of an agent, after a drop that failed, restores the value before the drop", () =>
        inSale(({ agent, store, undone, until, write }) =>
          Effect.gen(function* () {
            const failures = yield* DemoFailures
            yield* failures.fail(store.domain, { kind: "refuse", percent: 100, delayMillis: 0 })
            yield* advance(hour)
            yield* until("applying")
            yield* write(agent, "9.00")
            yield* until("failed")
            yield* failures.repair(store.domain)
            assert.deepStrictEqual(yield* undone, { before: ["10.00"], price: { value: "10.00", own: true } })
          })
        )
      )

      it.effect("the undo of a person, during the drop, restores the value of the drop, which its end takes back", () =>
        inSale(({ actor, end, price, start, taken, write }) =>
          Effect.gen(function* () {
            yield* start
            yield* write(actor, "9.00")
            assert.deepStrictEqual(yield* taken, { value: "8.00", own: true })
            yield* end
            assert.deepStrictEqual(yield* price, { value: "10.00", own: true })
          })
        )
      )

      it.effect(
        "the undo of a person, after the drop, restores the value before the drop; the undo of that undo restores what the person wrote",
        () =>
          inSale(({ actor, end, start, taken, write }) =>
            Effect.gen(function* () {
              yield* start
              yield* write(actor, "9.00")
              yield* end
              assert.deepStrictEqual(yield* taken, { value: "10.00", own: true })
              assert.deepStrictEqual(yield* taken, { value: "9.00", own: true })
            })
          )
      )

      it.effect(
        "the undo of a person restores the value before the drop if the drop ends just before the undo writes",
        () =>
          inSale(({ actor, start, taken, until, write }) =>
            Effect.gen(function* () {
              yield* start
              yield* write(actor, "9.00")
              yield* advance(hour)
              const drafts = yield* Drafts
              const updateLayers: typeof drafts.updateLayers = (...update) =>
                Effect.zipRight(until("reverted"), drafts.updateLayers(...update))
              const undone = Effect.provideService(taken, Drafts, { ...drafts, updateLayers })
              assert.deepStrictEqual(yield* undone, { value: "10.00", own: true })
            })
          )
      )

      it.effect(
        "the undo of a person, after the drop, restores the value of the drop if a person wrote it again after the drop",
        () =>
          inSale(({ actor, end, start, taken, write }) =>
            Effect.gen(function* () {
              yield* start
              for (const price of ["8.50", "8.00", "9.00"]) yield* write(actor, price)
              yield* end
              assert.deepStrictEqual(yield* taken, { value: "8.00", own: true })
            })
          )
      )

      it.effect(
        "the undo of a person, after the drop, makes the store inherit the catalog's price if it had none of its own before the drop",
        () =>
          inSale(({ actor, end, start, taken, write }) =>
            Effect.gen(function* () {
              yield* write(actor, null)
              yield* start
              yield* write(actor, "9.00")
              yield* end
              assert.deepStrictEqual(yield* taken, { value: "12.00", own: false })
            })
          )
      )
    })
  })
}
