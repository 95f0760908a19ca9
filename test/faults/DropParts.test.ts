import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Schedule } from "effect"
import { Transaction } from "../../src/database/Transaction.ts"
import type { DropEffect, DueStep } from "../../src/drops/DropStep.ts"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import { DropId } from "../../src/model/Ids.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { isServerCluster, serverAnswers } from "../support/TestDatabase.ts"
import { layerServices } from "./ServerServices.ts"

const gate = 7_112_026

/** In a transaction with the setting `test.waits`, app_now() waits until nobody has the lock `gate`. */
const waitingClock = `
  CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
  BEGIN
    IF current_setting('test.waits', true) = 'on' THEN PERFORM pg_advisory_xact_lock_shared(${gate}); END IF;
    RETURN clock_timestamp();
  END $$`

/** A drop that is due to start, with a change of one product. */
const aDueDrop = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
  const [{ id: storeId }] = stores
  const entityId = yield* anEntity("product", { title: "Tent" }, { on: stores }).pipe(actingAs(actor))
  const id = yield* mintId(DropId)
  const change = {
    entity_id: entityId,
    entity_type: "product" as const,
    store_id: storeId,
    field: "title",
    value: "Sale"
  }
  yield* (yield* DropsRepo).insert(
    accountId,
    id,
    { name: "Sale", starts_at: fromMillis(Date.now() - 60_000), ends_at: null, timezone: "UTC", changes: [change] },
    actor
  )
  const due: DueStep = { accountId, id, step: "start" }
  const effect: DropEffect = {
    ordinal: 0,
    entityId,
    isDeleted: false,
    storeId,
    field: "title",
    value: "Sale",
    overrideBefore: null,
    acceptedBefore: "Tent",
    publicationId: null,
    outcome: null,
    error: null
  }
  return { due, effect }
})

// On a cluster the waiting statement is at a node.
describe.skipIf(!serverAnswers || isServerCluster)("the parts of a drop on two processes", () => {
  layer(layerServices(4), { excludeTestServices: true })((it) => {
    it.effect("a process that looked for a part while another saved the part before sees its effects", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const repo = yield* DropsRepo
        const { run } = yield* Transaction
        const { due, effect } = yield* aDueDrop
        yield* sql.unsafe(waitingClock)
        const [isLocked, isFound] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]

        const first = yield* Effect.fork(
          run(
            Effect.gen(function* () {
              assert.isTrue(Option.isSome(yield* repo.lock(due)))
              yield* Deferred.succeed(isLocked, undefined)
              yield* Deferred.await(isFound)
              yield* repo.move(due, { status: "applying", next: "start", effects: [effect], outcomes: [] })
            })
          )
        )
        yield* Deferred.await(isLocked)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const client = yield* sql.reserve
            yield* client.executeRaw(`SELECT pg_advisory_lock(${gate})`, [])
            const second = yield* Effect.fork(
              run(Effect.zipRight(sql`SELECT set_config('test.waits', 'on', true)`, repo.lock(due)))
            )
            yield* sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`.pipe(
              Effect.repeat({ until: (waiting) => waiting.length > 0, schedule: Schedule.spaced("10 millis") })
            )
            yield* Deferred.succeed(isFound, undefined)
            yield* Fiber.join(first)
            yield* client.executeRaw(`SELECT pg_advisory_unlock(${gate})`, [])
            const drop = yield* Fiber.join(second)
            assert.deepStrictEqual(Option.getOrThrow(drop).effects, [effect])
          })
        )
      })
    )
  })
})
