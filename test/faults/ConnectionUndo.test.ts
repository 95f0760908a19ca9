import { once } from "node:events"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Deferred, Effect, Fiber, Layer, Redacted, Schedule } from "effect"
import { Activity } from "../../src/connections/Activity.ts"
import { ActivityRepo } from "../../src/connections/ActivityRepo.ts"
import { firstPart, Undo } from "../../src/connections/Undo.ts"
import type { UndoWindow } from "../../src/connections/UndoRules.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import type { Actor } from "../../src/model/Actor.ts"
import { ConnectionId, EntityId } from "../../src/model/Ids.ts"
import { plusMicros } from "../../src/model/Timestamp.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { stopClock } from "../support/TestClock.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { bundledProgram, startProgram } from "./BundledProgram.ts"
import { Dice, report } from "./Dice.ts"
import { deadlocks, layerPool, layerServices, noticeDeadlocksSoon, untilQuiet } from "./ServerServices.ts"
import { lockWaits, openClient } from "./Stalls.ts"

const onStores = ["a.example", "b.example"] as const

/** Products on two stores whose titles an agent wrote, one store with an override by the agent. */
const aWorld = (count: number) =>
  Effect.gen(function* () {
    const { accountId, actor, stores } = yield* anAccount({ domains: onStores })
    const connectionId = yield* mintId(ConnectionId)
    const agent: Actor = { _tag: "Connection", accountId, connectionId }
    const ids = [...(yield* Effect.replicateEffect(mintId(EntityId), count))].sort()
    const { apply } = yield* CatalogChanges
    const each = (by: Actor, changesOf: (id: EntityId) => ReadonlyArray<CatalogChange>) =>
      Effect.forEach(Arr.chunksOf(ids, 250), (some) => apply(some.flatMap(changesOf)), { discard: true }).pipe(
        actingAs(by),
        Effect.orDie
      )
    yield* each(actor, (id) => [
      CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "Tent" } }),
      ...stores.map((store) => CatalogChange.AddToStore({ entityId: id, storeId: store.id }))
    ])
    const [here] = stores
    yield* each(agent, (entityId) => [
      CatalogChange.SetAttributes({ entityId, values: { title: "Agent", vendor: "Agent" } }),
      CatalogChange.SetOverrides({ entityId, storeId: here.id, values: { title: "Zelt" } })
    ])
    const until = yield* (yield* Undo).now
    const window: UndoWindow = { since: plusMicros(until, -3_600_000_000), until }
    return { accountId, actor, agent, connectionId, ids, window }
  })

/** Runs a complete undo, part by part. */
const undoAll = (id: ConnectionId, window: UndoWindow) =>
  Effect.gen(function* () {
    const undo = yield* Undo
    const total = { entities: 0, fields: 0, left: 0, parts: 0 }
    let after: EntityId | null = firstPart
    while (after !== null) {
      const part: Effect.Effect.Success<ReturnType<typeof undo.run>> = yield* undo.run(id, window, after)
      total.entities += part.entities
      total.fields += part.fields
      total.left += part.left.length
      total.parts++
      after = part.next
    }
    return total
  })

/** Products by title, vendor, overrides, revision and number of undos in their history. */
const states = (accountId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`
      SELECT concat_ws(' ', e.attributes #>> '{title,value}', coalesce(e.attributes #>> '{vendor,value}', '-'),
                       (SELECT count(*) FROM store_version v WHERE v.account_id = e.account_id AND v.entity_id = e.id AND v.overrides <> '{}'),
                       e.draft_revision,
                       (SELECT count(DISTINCT h.draft_revision) FROM entity_history h
                        WHERE h.account_id = e.account_id AND h.entity_id = e.id AND h.undo_of IS NOT NULL)) AS state
      FROM entity e WHERE e.account_id = ${accountId}`
    return Arr.groupBy(rows, ({ state }) => String(state))
  })

const countOf = (found: Effect.Effect.Success<ReturnType<typeof states>>) =>
  Object.fromEntries(Object.entries(found).map(([state, rows]) => [state, rows.length]))

const program = bundledProgram("test/faults/CrashUndoer.ts")

describe.skipIf(!serverAnswers)("undo on the server", () => {
  layer(layerServices(8), { excludeTestServices: true })((it) => {
    it.effect("two concurrent undos change each entity once, without deadlocks", () =>
      Effect.gen(function* () {
        yield* noticeDeadlocksSoon
        const count = amount(300, 2_000)
        const { accountId, actor, connectionId, ids, window } = yield* aWorld(count)
        const done = yield* Effect.all([undoAll(connectionId, window), undoAll(connectionId, window)], {
          concurrency: 2
        }).pipe(actingAs(actor))
        report("Two undos at once", done)
        assert.strictEqual(done[0].entities + done[1].entities, ids.length)
        assert.strictEqual(done[0].fields + done[1].fields, 3 * ids.length)
        // Created, written by the agent, undone.
        assert.deepStrictEqual(countOf(yield* states(accountId)), { "Tent - 0 3 1": count })
        assert.strictEqual(yield* deadlocks, 0)
      })
    )

    it.scoped("an undo has no writes that its review did not show, also if one was under way at the review", () =>
      Effect.gen(function* () {
        const { actor, agent, connectionId, ids, window } = yield* aWorld(1)
        const [entityId] = ids
        assert(entityId !== undefined)
        const { apply } = yield* CatalogChanges
        const watcher = yield* openClient(Redacted.value(yield* TestDatabaseUrl))
        const transaction = yield* Transaction
        const undo = yield* Undo
        const isWritten = yield* Deferred.make<void>()
        const isReviewed = yield* Deferred.make<void>()
        const writing = yield* apply([
          CatalogChange.SetAttributes({ entityId, values: { product_type: "Agent" } })
        ]).pipe(
          Effect.zipRight(Deferred.succeed(isWritten, undefined)),
          Effect.zipRight(Deferred.await(isReviewed)),
          transaction.run,
          actingAs(agent),
          Effect.fork
        )
        yield* Deferred.await(isWritten)
        const reviewing = yield* Effect.gen(function* () {
          const reviewed = { ...window, until: yield* undo.settledNow }
          return { reviewed, ...(yield* undo.review(connectionId, reviewed, firstPart, 100)) }
        }).pipe(actingAs(actor), Effect.fork)
        // The review waits for the write. On a cluster it waits at the node of the account.
        const isWaiting = Effect.promise(() => lockWaits(watcher)).pipe(
          Effect.repeat({ until: (waits) => waits > 0, schedule: Schedule.spaced("10 millis") })
        )
        yield* Effect.raceFirst(isWaiting, Fiber.await(reviewing))
        yield* Deferred.succeed(isReviewed, undefined)
        yield* Fiber.join(writing)
        const { fields, reviewed } = yield* Fiber.join(reviewing)
        assert.include(
          fields.map(({ key }) => key),
          "product_type"
        )
        const done = yield* undo.run(connectionId, reviewed, firstPart).pipe(actingAs(actor))
        assert.strictEqual(done.fields, fields.length)
      })
    )

    it.effect("concurrent edits by people are not lost", () =>
      Effect.gen(function* () {
        const count = amount(300, 2_000)
        const { accountId, actor, connectionId, ids, window } = yield* aWorld(count)
        const drafts = yield* Drafts
        const dice = new Dice("people beside an undo")
        const edited = new Set<EntityId>()
        const edit = (id: EntityId) =>
          Effect.gen(function* () {
            const { draft_revision } = yield* drafts.get(id, null)
            yield* drafts.updateAttributes(id, { draft_revision, attributes: [{ key: "title", value: "Person" }] })
            edited.add(id)
          }).pipe(Effect.catchTag("RevisionConflict", () => Effect.void))
        const people = Effect.forEach(dice.shuffle(ids).slice(0, count / 2), edit, { concurrency: 4, discard: true })
        const [done] = yield* Effect.all([undoAll(connectionId, window), people], { concurrency: 2 }).pipe(
          actingAs(actor),
          Effect.orDie
        )
        const sql = yield* SqlClient.SqlClient
        const titles = yield* sql`
          SELECT id, attributes #>> '{title,value}' AS title, attributes #>> '{vendor,value}' AS vendor
          FROM entity WHERE account_id = ${accountId}`
        const wrong = titles.filter(
          ({ id, title, vendor }) =>
            vendor !== null || title !== (edited.has(EntityId.make(String(id))) ? "Person" : "Tent")
        )
        report("People beside an undo", { ...done, edited: edited.size })
        assert.deepStrictEqual(wrong, [])
        assert.isAtLeast(edited.size, count / 10)
        // Some edits came before the undo, so it did not change their titles.
        assert.isAtLeast(done.left, 1)
      })
    )

    it.effect(
      "if a process is killed between two transactions, no entity is half undone, and the next run completes the undo",
      () =>
        Effect.gen(function* () {
          const { accountId, actor, connectionId, ids, window } = yield* aWorld(120)
          const url = yield* TestDatabaseUrl
          yield* Effect.scoped(
            Effect.gen(function* () {
              const child = yield* startProgram(program, {
                UNDO_DATABASE_URL: Redacted.value(url),
                UNDO_ACCOUNT: accountId,
                UNDO_CONNECTION: connectionId,
                UNDO_SINCE: window.since,
                UNDO_UNTIL: window.until
              })
              const [, signal] = yield* Effect.promise(() => once(child, "exit"))
              assert.strictEqual(signal, "SIGKILL")
            })
          )
          yield* untilQuiet
          assert.deepStrictEqual(countOf(yield* states(accountId)), { "Tent - 0 3 1": 50, "Agent Agent 1 2 0": 70 })
          const rest = yield* undoAll(connectionId, window).pipe(actingAs(actor))
          assert.deepStrictEqual(rest, { entities: 70, fields: 210, left: 0, parts: 1 })
          assert.deepStrictEqual(countOf(yield* states(accountId)), { "Tent - 0 3 1": ids.length })
        })
    )

    it.effect("more entities than a part are undone in parts", () =>
      Effect.gen(function* () {
        const count = amount(1_100, 10_000)
        const { accountId, actor, connectionId, window } = yield* aWorld(count)
        const startedAt = performance.now()
        const done = yield* undoAll(connectionId, window).pipe(actingAs(actor))
        report("Undo in parts", { ...done, millis: Math.round(performance.now() - startedAt) })
        assert.deepStrictEqual(done, { entities: count, fields: 3 * count, left: 0, parts: Math.ceil(count / 1_000) })
        assert.deepStrictEqual(countOf(yield* states(accountId)), { "Tent - 0 3 1": count })
      })
    )

    it.effect("processes that save call counts at the same time add every call, without deadlocks", () =>
      Effect.gen(function* () {
        const { accountId } = yield* anAccount()
        const ids = yield* Effect.replicateEffect(mintId(ConnectionId), 20)
        const dice = new Dice("counts at once")
        const rounds = 50
        const process = Effect.gen(function* () {
          const repo = yield* ActivityRepo
          for (let round = 0; round < rounds; round++)
            yield* repo.addCalls(dice.shuffle(ids).map((connectionId) => ({ accountId, connectionId, calls: 1 })))
        }).pipe(Effect.provide(Layer.fresh(RepositoriesOnDatabase).pipe(Layer.provide(layerPool(1)))))
        yield* Effect.all([process, process], { concurrency: 2 })
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql`
          SELECT sum(calls)::integer AS calls FROM connection_activity WHERE account_id = ${accountId} GROUP BY connection_id`
        assert.deepStrictEqual(
          rows.map(({ calls }) => calls),
          ids.map(() => 2 * rounds)
        )
        assert.strictEqual(yield* deadlocks, 0)
      })
    )

    it.effect("calls are saved when the service stops, stay counted if that fails, and are deleted after 90 days", () =>
      Effect.gen(function* () {
        // All counts are of one day, also at midnight in UTC.
        yield* stopClock
        const { accountId } = yield* anAccount()
        const connectionId = yield* mintId(ConnectionId)
        const sql = yield* SqlClient.SqlClient
        const stored = Effect.map(
          sql`SELECT calls::integer AS calls FROM connection_activity WHERE connection_id = ${connectionId} ORDER BY day`,
          (rows) => rows.map(({ calls }) => calls)
        )
        const repo = yield* ActivityRepo
        let isAway = true
        const sometimes = Layer.succeed(ActivityRepo, {
          ...repo,
          addCalls: (counts) => (isAway ? Effect.dieMessage("away") : repo.addCalls(counts))
        })
        yield* Effect.gen(function* () {
          const activity = yield* Activity
          yield* activity.countCall({ accountId, connectionId })
          yield* activity.writeCalls
          assert.deepStrictEqual(yield* stored, [])
          isAway = false
          yield* activity.countCall({ accountId, connectionId })
        }).pipe(Effect.provide(Layer.fresh(Activity.layer).pipe(Layer.provide(sometimes))), Effect.scoped)
        assert.deepStrictEqual(yield* stored, [2])
        const old = (days: number, calls: number) => sql`
          INSERT INTO connection_activity (account_id, connection_id, day, calls)
          VALUES (${accountId}, ${connectionId}, (app_now() AT TIME ZONE 'UTC')::date - ${days}::integer, ${calls})`
        yield* old(90, 90)
        yield* old(91, 91)
        assert.strictEqual(yield* repo.forget, 1)
        assert.deepStrictEqual(yield* stored, [90, 2])
      })
    )
  })
})
