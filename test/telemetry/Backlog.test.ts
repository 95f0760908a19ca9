import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, TestClock } from "effect"
import { ClusterNodes, NodeStates } from "../../src/database/ClusterNodes.ts"
import * as BacklogMetrics from "../../src/programs/BacklogMetrics.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { Backlog } from "../../src/telemetry/Backlog.ts"
import { writeMetrics } from "../../src/telemetry/Exposition.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { aSettableClock } from "../support/SettableClock.ts"
import { engines } from "../support/TestDatabase.ts"
import { parseExposition, sumOf } from "./Exposition.ts"

describe("the backlog", () => {
  it.effect("is read at most once in 10 s, however often it is requested", () =>
    Effect.gen(function* () {
      let reads = 0
      const read = Effect.sync(() => {
        reads++
      })
      yield* Effect.gen(function* () {
        const { refresh } = yield* Backlog
        yield* Effect.all(
          Array.from({ length: 50 }, () => refresh),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(reads, 1)
        yield* TestClock.adjust("9 seconds")
        yield* refresh
        assert.strictEqual(reads, 1)
        yield* TestClock.adjust("2 seconds")
        yield* refresh
        assert.strictEqual(reads, 2)
      }).pipe(Effect.provide(Backlog.layer(read, () => {})))
    })
  )

  it.effect("is read again after 10 s, also if the clock is set back by two hours", () =>
    Effect.gen(function* () {
      const { adjust, setBack, withClock } = yield* aSettableClock
      let reads = 0
      yield* Effect.gen(function* () {
        const { refresh } = yield* Backlog
        yield* refresh
        setBack()
        yield* adjust("9 seconds")
        yield* refresh
        assert.strictEqual(reads, 1)
        yield* adjust("2 seconds")
        yield* refresh
        assert.strictEqual(reads, 2)
      }).pipe(
        withClock,
        Effect.provide(
          Backlog.layer(
            Effect.sync(() => reads++),
            () => {}
          )
        )
      )
    })
  )

  it.effect("is given up after 2 s, and then reported as outdated", () =>
    Effect.gen(function* () {
      const outcomes: Array<boolean> = []
      const stuck = yield* Deferred.make<void>()
      // A statement that hangs, and whose cancellation hangs too.
      const read = Effect.uninterruptible(Deferred.await(stuck))
      yield* Effect.gen(function* () {
        const { refresh } = yield* Backlog
        const waiting = yield* Effect.fork(refresh)
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(waiting)
        assert.deepStrictEqual(outcomes, [false])
        yield* Deferred.succeed(stuck, undefined)
        yield* TestClock.adjust("11 seconds")
        yield* refresh
        assert.deepStrictEqual(outcomes, [false, true])
      }).pipe(Effect.provide(Backlog.layer(read, (isRead) => outcomes.push(isRead))))
    })
  )

  it.effect("of a database that fails does not fail a scrape", () =>
    Effect.gen(function* () {
      const outcomes: Array<boolean> = []
      yield* Effect.flatMap(Backlog, ({ refresh }) => refresh).pipe(
        Effect.provide(Backlog.layer(Effect.die("no database"), (isRead) => outcomes.push(isRead)))
      )
      assert.deepStrictEqual(outcomes, [false])
    })
  )
})

/** An account with an entity on a store, and the SQL that makes it wait. */
const anAccountWith = (statements: (sql: SqlClient.SqlClient, ids: Ids) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const { accountId, actor, stores } = yield* anAccount({ domains: [`${crypto.randomUUID()}.example`] })
    const storeId = stores[0]?.id ?? assert.fail("no store")
    const entityId = yield* anEntity("product", { title: "Boots" }, { on: stores }).pipe(actingAs(actor))
    yield* Effect.orDie(statements(yield* SqlClient.SqlClient, { accountId, storeId, entityId }))
    return accountId
  })

interface Ids {
  readonly accountId: string
  readonly storeId: string
  readonly entityId: string
}

/** A publish that was requested this number of minutes ago. */
const aPublish = (sql: SqlClient.SqlClient, { accountId, entityId, storeId }: Ids, minutes: number) => sql`
  INSERT INTO publication (account_id, id, sequence, entity_id, store_id, draft_revision, brings, content, actor, asked_at)
  VALUES (${accountId}, gen_random_uuid(), 1, ${entityId}, ${storeId}, 1, ARRAY[${entityId}::uuid], '{}', '{}',
          app_now() - make_interval(mins => ${minutes}::int))`

const aDrop = (sql: SqlClient.SqlClient, { accountId }: Ids, minutes: number) => sql`
  INSERT INTO drop (account_id, id, name, starts_at, timezone, actor)
  VALUES (${accountId}, gen_random_uuid(), 'Sale', app_now() - make_interval(mins => ${minutes}::int), 'UTC', '{}')`

/** A webhook with three changes to deliver, all of this age in minutes. */
const aWebhook = (
  sql: SqlClient.SqlClient,
  { accountId, entityId }: Ids,
  minutes: number,
  state: "active" | "stopped",
  failures: number
) =>
  Effect.all([
    sql`
      INSERT INTO webhook (account_id, id, url, topics, secret, position, state, failures)
      SELECT a.account_id, ${entityId}::uuid, 'https://hooks.example/', '{}', 'x', a.feed_seq, ${state}, ${failures}::integer
      FROM account_state a WHERE a.account_id = ${accountId}`,
    sql`UPDATE account_state SET feed_seq = feed_seq + 3 WHERE account_id = ${accountId}`,
    sql`
      INSERT INTO change_note (account_id, last_seq, version, rows, at, entities, skus, moved)
      SELECT a.account_id, a.feed_seq, a.version, 3, app_now() - ${minutes}::integer * interval '1 minute', '{}', '{}', '[]'
      FROM account_state a WHERE a.account_id = ${accountId}`
  ])

const aParkedChange = (sql: SqlClient.SqlClient, { accountId, entityId }: Ids, minutes: number) => sql`
  INSERT INTO webhook_delivery (account_id, webhook_id, seq, entity_id, change, state, attempts, since)
  VALUES (${accountId}, ${entityId}, 1, ${entityId}, '{}', 'parked', 9, app_now() - ${minutes}::integer * interval '1 minute')`

const anImport = (sql: SqlClient.SqlClient, { accountId, storeId }: Ids, phase: string, lease: string | null) => {
  const id = crypto.randomUUID()
  return Effect.zipRight(
    sql`
      INSERT INTO import_run (account_id, id, store_id, source, phase, lease_until)
      VALUES (${accountId}, ${id}, ${storeId}, 'refresh', ${phase}, app_now() + ${lease}::interval)`,
    sql`UPDATE import_lock SET run_id = ${id} WHERE account_id = ${accountId}`
  )
}

const aJob = (sql: SqlClient.SqlClient, { accountId }: Ids, state: string, due: string) => sql`
  INSERT INTO job (account_id, id, kind, state, title, subject, input, actor, author, due_at, claim)
  VALUES (${accountId}, gen_random_uuid(), 'store_link', ${state}, 'Link', gen_random_uuid()::text, '{}', '{}', '{}',
          app_now() + ${due}::interval, CASE WHEN ${state} = 'running' THEN gen_random_uuid() END)`

/** One entry of each kind of waiting work, and a webhook with three changes to deliver and one that is parked. */
const ofEachKind = (sql: SqlClient.SqlClient, ids: Ids) =>
  Effect.all([
    aPublish(sql, ids, 60),
    aDrop(sql, ids, 60),
    anImport(sql, ids, "reviewing", null),
    aJob(sql, ids, "queued", "-1 hour"),
    aWebhook(sql, ids, 60, "active", 0),
    aParkedChange(sql, ids, 60)
  ])

/** The number of entries of each kind of waiting work, after a new reading of the database. */
const countAll = Effect.gen(function* () {
  yield* TestClock.adjust("11 seconds")
  yield* (yield* Backlog).refresh
  const families = parseExposition(writeMetrics())
  assert.strictEqual(sumOf(families, "catalog_backlog_read"), 1)
  const kinds = ["publishes_pending", "drops_due", "imports_open", "jobs_open", "webhooks", "webhook_changes"]
  return kinds.map((kind) => sumOf(families, `catalog_${kind}`))
})

for (const { absent, layer: database, name } of engines)
  describe.skipIf(absent)(`waiting work (${name})`, () => {
    const services = BacklogMetrics.layer.pipe(
      Layer.provideMerge(ServicesOnDatabase),
      Layer.provideMerge(database),
      // The embedded database has no nodes of its own.
      Layer.provideMerge(Layer.succeed(ClusterNodes, new NodeStates())),
      Layer.orDie
    )
    layer(services)((it) => {
      it.effect("is counted with its age, by what it waits for", () =>
        Effect.gen(function* () {
          yield* anAccountWith((sql, ids) => aPublish(sql, ids, 3))
          yield* anAccountWith((sql, ids) => aPublish(sql, ids, 7))
          yield* anAccountWith((sql, ids) =>
            Effect.zipRight(
              aPublish(sql, ids, 10),
              sql`UPDATE publication SET next_attempt_at = app_now() + interval '1 minute' WHERE account_id = ${ids.accountId}`
            )
          )
          // The last attempt failed, and the next one is due.
          yield* anAccountWith((sql, ids) =>
            Effect.zipRight(
              aPublish(sql, ids, 9),
              sql`UPDATE publication SET error = '{"message": "down"}' WHERE account_id = ${ids.accountId}`
            )
          )
          yield* anAccountWith((sql, ids) =>
            Effect.zipRight(
              aPublish(sql, ids, 20),
              sql`UPDATE publication SET claim = ${crypto.randomUUID()}, lease_until = app_now() + interval '1 minute'
                  WHERE account_id = ${ids.accountId}`
            )
          )
          // The whole platform does not answer, and the next attempt runs. The other publish of the store waits for the platform too.
          yield* anAccountWith((sql, ids) =>
            Effect.all([
              aPublish(sql, ids, 2),
              sql`UPDATE publication SET error = '{"code": "PUBLISH_DELAYED"}', claim = gen_random_uuid(),
                    lease_until = app_now() + interval '1 minute'
                  WHERE account_id = ${ids.accountId}`,
              aPublish(sql, ids, 8)
            ])
          )
          // A publish that was attempted is as old as its first attempt, however long it waited before.
          for (const wait of ["running", "retry"])
            yield* anAccountWith((sql, ids) =>
              Effect.all([
                aPublish(sql, ids, 90),
                sql`
                  INSERT INTO publish_attempt (account_id, publication_id, ordinal, started_at)
                  SELECT p.account_id, p.id, n.ordinal, app_now() - n.minutes * interval '1 minute'
                  FROM publication p CROSS JOIN (VALUES (1, 8), (2, 1)) AS n (ordinal, minutes)
                  WHERE p.account_id = ${ids.accountId}`,
                sql`
                  UPDATE publication SET error = '{"message": "down"}',
                    claim = CASE WHEN ${wait}::text = 'running' THEN gen_random_uuid() END,
                    lease_until = CASE WHEN ${wait}::text = 'running' THEN app_now() + interval '1 minute' END
                  WHERE account_id = ${ids.accountId}`
              ])
            )
          yield* anAccountWith((sql, ids) =>
            Effect.all([aPublish(sql, ids, 30), aDrop(sql, ids, 5), anImport(sql, ids, "reviewing", null)])
          )
          yield* anAccountWith((sql, ids) =>
            Effect.all([
              aPublish(sql, ids, 40),
              sql`UPDATE store SET status = 'unlinked', unlinked_at_seq = 1 WHERE account_id = ${ids.accountId}`
            ])
          )
          yield* anAccountWith((sql, ids) => Effect.all([aDrop(sql, ids, 15), aDrop(sql, ids, -15)]))
          yield* anAccountWith((sql, ids) => anImport(sql, ids, "applying", "-1 second"))
          yield* anAccountWith((sql, ids) => anImport(sql, ids, "fetching", "1 minute"))
          for (const [state, due] of [
            ["queued", "-8 minutes"],
            ["running", "-6 minutes"],
            ["running", "1 minute"],
            ["queued", "1 minute"],
            ["paused", "-9 minutes"]
          ] as const)
            yield* anAccountWith((sql, ids) => aJob(sql, ids, state, due))
          yield* anAccountWith((sql, ids) => aWebhook(sql, ids, 4, "active", 4))
          yield* anAccountWith((sql, ids) => aWebhook(sql, ids, 99, "stopped", 9))
          yield* anAccountWith((sql, ids) =>
            Effect.all([aWebhook(sql, ids, 12, "active", 5), aParkedChange(sql, ids, 50)])
          )

          yield* (yield* Backlog).refresh
          const families = parseExposition(writeMetrics())
          const of = (metric: string, label: string, values: ReadonlyArray<string>) =>
            values.map((value) => sumOf(families, metric, { [label]: value }))
          const minutes = (seconds: ReadonlyArray<number>) => seconds.map((each) => Math.floor(each / 60))
          const waits = ["worker", "retry", "running", "import", "unlinked"]
          assert.strictEqual(sumOf(families, "catalog_backlog_read"), 1)
          assert.deepStrictEqual(of("catalog_publishes_pending", "wait", waits), [2, 5, 2, 1, 1])
          assert.deepStrictEqual(minutes(of("catalog_publish_oldest_age_seconds", "wait", waits)), [7, 10, 20, 30, 40])
          assert.deepStrictEqual(of("catalog_publish_stores", "wait", waits), [2, 4, 2, 1, 1])
          assert.deepStrictEqual(of("catalog_drops_due", "wait", ["worker", "import"]), [1, 1])
          assert.deepStrictEqual(minutes(of("catalog_drop_lateness_seconds", "wait", ["worker", "import"])), [15, 5])
          const phases = ["fetching", "reviewing", "applying"]
          assert.deepStrictEqual(of("catalog_imports_open", "phase", phases), [1, 1, 1])
          assert.strictEqual(sumOf(families, "catalog_imports_stalled"), 1)
          assert.deepStrictEqual(
            of("catalog_jobs_open", "wait", ["running", "paused", "later", "worker"]),
            [1, 1, 1, 2]
          )
          assert.deepStrictEqual(minutes([sumOf(families, "catalog_job_lateness_seconds")]), [8])
          assert.deepStrictEqual(of("catalog_webhooks", "state", ["active", "failing", "stopped"]), [1, 1, 1])
          const kinds = ["worker", "receiver", "waiting", "parked"]
          assert.deepStrictEqual(of("catalog_webhook_changes", "wait", kinds), [3, 3, 0, 1])
          assert.deepStrictEqual(minutes(of("catalog_webhook_oldest_age_seconds", "wait", kinds)), [4, 12, 0, 50])
        })
      )

      it.effect("of accounts whose node does not answer is left out", () =>
        Effect.gen(function* () {
          const before = yield* countAll
          const [waiting, served] = [yield* anAccountWith(ofEachKind), yield* anAccountWith(ofEachKind)]
          const nodes = yield* ClusterNodes
          const endCheck = (answers: boolean) =>
            nodes.endCheck([
              { address: "one:5432", answers, isCoordinator: false, accounts: [{ id: waiting, name: "One" }] },
              { address: "two:5432", answers: true, isCoordinator: false, accounts: [{ id: served, name: "Two" }] }
            ])
          yield* Effect.gen(function* () {
            endCheck(false)
            assert.deepStrictEqual(yield* countAll, [1, 1, 1, 1, 1, 4])
            endCheck(true)
            assert.deepStrictEqual(
              yield* countAll,
              before.map((count, kind) => count + ([2, 2, 2, 2, 2, 8][kind] ?? 0))
            )
          }).pipe(Effect.ensuring(Effect.sync(() => nodes.endCheck([]))))
        })
      )
    })
  })
