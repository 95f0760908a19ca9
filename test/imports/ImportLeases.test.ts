import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Chunk, Effect, Exit, Fiber, Option, Schedule, TestClock, TestContext } from "effect"
import { afterAll } from "vitest"
import { LeaseHolder, onlyHolder } from "../../src/database/LeaseHolder.ts"
import { LeasesRepo } from "../../src/database/LeasesRepo.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { ImportsRepo } from "../../src/imports/ImportsRepo.ts"
import { UserId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { processNameOf } from "../../src/runtime/ProcessName.ts"
import { actingAs, anAccount, anEntity, Stores } from "../../src/testing/index.ts"
import { createTriggers } from "../faults/ServerServices.ts"
import { makeHolding } from "../support/HeldStep.ts"
import { hintImport, leaveImport } from "../support/PlantedLeases.ts"
import { aProductOf } from "../support/ShopRecords.ts"
import { featureEngines } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "import-leases-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, "export.csv")
writeFileSync(file, "Handle,Title,Variant SKU,Variant Price\nhat,Hat,H-1,5.00\ncap,Cap,C-1,4.00\n")

const quiet = () => Effect.void

const { heldAt, layerOn } = makeHolding()

const anImport = Effect.gen(function* () {
  const imports = yield* Imports
  const { actor } = yield* anAccount({ domains: ["us.example"] })
  const sql = yield* SqlClient.SqlClient
  return {
    imports,
    actor,
    csv: imports.csv(file, "us.example", quiet).pipe(actingAs(actor)),
    /** Makes the lease of the account's import expire. */
    expire: Effect.zipRight(
      sql`UPDATE import_run SET lease_until = app_now() WHERE account_id = ${actor.accountId}`,
      hintImport(actor.accountId)
    ),
    newest: Effect.flatMap(actingAs(actor)(imports.list), ([run]) => Effect.fromNullable(run)),
    isWritable: anEntity("media", { alt: "free" }).pipe(actingAs(actor))
  }
})

for (const engine of featureEngines)
  describe.skipIf(engine.absent)(`leases of imports on ${engine.name}`, () => {
    const TestLayer = layerOn(engine.layer)

    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("are renewed every 15 s during the work", () =>
        Effect.gen(function* () {
          const { actor, csv, expire, imports } = yield* anImport
          const sql = yield* SqlClient.SqlClient
          const { id } = yield* csv
          const { fiber, goOn } = yield* heldAt("committed", imports.accept(id, quiet).pipe(actingAs(actor)))
          const isExpired = Effect.map(
            sql`SELECT lease_until <= app_now() AS expired FROM import_run WHERE id = ${id}`,
            ([row]) => row?.expired
          )
          // A renewal is seen in the database before the pause after it begins.
          const pauses = Effect.zipRight(
            Effect.promise(() => new Promise((resume) => setImmediate(resume))),
            TestClock.sleeps()
          )
          for (let renewal = 0; renewal < 3; renewal++) {
            const ends = yield* Effect.repeat(pauses, { while: Chunk.isEmpty })
            assert.deepStrictEqual(new Set(ends), new Set([15_000 * (renewal + 1)]))
            yield* expire
            yield* TestClock.adjust("14 seconds")
            assert.isTrue(yield* isExpired)
            yield* TestClock.adjust("1 seconds")
            // The renewal runs concurrently: wait for its result.
            yield* Effect.repeat(isExpired, { while: (expired) => expired === true, schedule: Schedule.forever })
          }
          yield* goOn
          assert.deepInclude(yield* Fiber.join(fiber), { phase: "applied", applied: 2 })
        }).pipe(Effect.provide(TestContext.TestContext))
      )

      it.effect("are held during a long batch, whose transaction the renewal does not wait for", () =>
        Effect.gen(function* () {
          const { actor, csv, imports } = yield* anImport
          const repo = yield* ImportsRepo
          const { id } = yield* csv
          const { fiber, goOn } = yield* heldAt("written", imports.accept(id, quiet).pipe(actingAs(actor)))
          const lease = { accountId: actor.accountId, id, phase: "applying", takeovers: 0 } as const
          // A renewal that waits for the batch would be cancelled by the time limit of statements.
          assert.isTrue(yield* repo.renew(lease))
          assert.isFalse(yield* repo.renew({ ...lease, takeovers: 1 }))
          yield* goOn
          assert.deepInclude(yield* Fiber.join(fiber), { phase: "applied", applied: 2 })
          assert.isFalse(yield* repo.renew(lease))
        })
      )

      it.effect("do not change the author: another process writes as the user who accepted the import", () =>
        Effect.gen(function* () {
          const { actor, csv, imports, newest } = yield* anImport
          const sql = yield* SqlClient.SqlClient
          const userId = UserId.make("0b7c1c62-8a51-4c2b-9d0e-6f1f4a1f9b12")
          const email = "owner@shop.example"
          yield* sql`INSERT INTO app_user (account_id, id, email, role) VALUES (${actor.accountId}, ${userId}, ${email}, 'admin')`
          const { id } = yield* csv
          const user = { _tag: "User", accountId: actor.accountId, userId } as const
          const { fiber } = yield* heldAt("written", imports.accept(id, quiet).pipe(actingAs(user)))
          yield* Fiber.interrupt(fiber)
          const authors = sql`
            SELECT DISTINCT actor_kind AS kind, actor_id::text AS id, actor_name AS name FROM entity_history
            WHERE account_id = ${actor.accountId} AND import_id = ${id}`
          assert.deepStrictEqual(yield* authors, [])
          assert.strictEqual(yield* imports.resume(Option.some(actor.accountId)), 1)
          const by = { kind: "user", id: userId, name: email }
          const run = yield* newest
          assert.deepInclude(run, { id, phase: "applied", applied: 2 })
          assert.deepStrictEqual(run.actor as object, by)
          assert.deepStrictEqual(yield* authors, [by])
        })
      )

      it.effect("of a killed process on this host end at once; those of other processes last", () =>
        Effect.gen(function* () {
          const { actor, csv, imports } = yield* anImport
          const sql = yield* SqlClient.SqlClient
          const leases = yield* LeasesRepo
          const { id } = yield* csv
          const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"])
          yield* Effect.promise(() => once(child, "spawn"))
          const childName = yield* Effect.fromNullable(processNameOf(child.pid ?? 0))
          const heldBy = (name: string) => leaveImport(actor.accountId, 3_600, { leasedBy: name, runId: id })
          // The process in another container with the same pid, the one of another boot, and the one that was killed.
          const [place = "", pid, start] = childName.split(" ")
          const others = [
            `pid:[1]:x ${pid} ${start}`,
            `${place}x ${pid} ${start}`,
            (yield* LeaseHolder).name,
            childName
          ]
          for (const name of others) {
            yield* heldBy(name)
            assert.strictEqual(yield* leases.endOfGone, 0, name)
          }
          const closed = once(child, "close")
          child.kill("SIGKILL")
          yield* Effect.promise(() => closed)
          assert.strictEqual(yield* leases.endOfGone, 1)
          assert.strictEqual(yield* imports.resume(Option.none()), 1)
          const [run] = yield* sql`SELECT phase FROM import_run WHERE id = ${id}`
          assert.strictEqual(run?.phase, "applied")
          // The lease of a publication ends in the same way.
          const claimed = yield* sql`
              INSERT INTO publication (account_id, id, entity_id, store_id, draft_revision, brings, content, actor, attempts,
                                       claim, lease_until, claimed_by, sequence)
              SELECT account_id, gen_random_uuid(), entity_id, store_id, 1, ARRAY[entity_id], '{}', '{}', 1,
                     gen_random_uuid(), app_now() + interval '1 hour', ${childName}, 1
              FROM store_version WHERE account_id = ${actor.accountId} LIMIT 1
              RETURNING id`
          assert.lengthOf(claimed, 1)
          assert.strictEqual(yield* leases.endOfGone, 1)
          const ended = yield* sql`
            SELECT lease_until <= app_now() AS ended FROM publication WHERE account_id = ${actor.accountId}`
          yield* sql`DELETE FROM publication WHERE account_id = ${actor.accountId}`
          assert.deepStrictEqual(ended, [{ ended: true }])
          // A later process with the same pid.
          const again = yield* csv
          yield* leaveImport(actor.accountId, 3_600, { leasedBy: `${place} ${process.pid} ${start}`, runId: again.id })
          assert.strictEqual(yield* leases.endOfGone, 1)
          assert.strictEqual(yield* imports.resume(Option.none()), 1)
        })
      )

      it.effect("of any other process end if only one process can have the database", () =>
        Effect.gen(function* () {
          const { actor, csv, imports } = yield* anImport
          const { id } = yield* csv
          const alone = onlyHolder()
          const ended = Effect.flatMap(LeasesRepo, ({ endOfGone }) => endOfGone).pipe(
            Effect.provide(LeasesRepo.layer),
            Effect.provideService(LeaseHolder, alone)
          )
          for (const [name, count] of [
            [alone.name, 0],
            ["unknown", 1]
          ] as const) {
            yield* leaveImport(actor.accountId, 3_600, { leasedBy: name, runId: id })
            assert.strictEqual(yield* ended, count)
          }
          assert.strictEqual(yield* imports.resume(Option.none()), 1)
        })
      )

      it.effect("leases that expire during the comparison of a file end the import for good", () =>
        Effect.gen(function* () {
          const { csv, expire, imports, isWritable, newest } = yield* anImport
          const sql = yield* SqlClient.SqlClient
          const { fiber, goOn } = yield* heldAt("staged", csv)
          yield* expire
          assert.strictEqual(yield* imports.resume(Option.none()), 1)
          yield* goOn
          const refused = yield* Effect.flip(Fiber.join(fiber))
          assert.strictEqual(refused.message, "import: stopped because its lease expired: import the file again")
          const run = yield* newest
          assert.deepInclude(run, {
            phase: "failed",
            error: "The process that read the file stopped; import it again."
          })
          assert.deepStrictEqual(yield* sql`SELECT ordinal FROM import_item WHERE run_id = ${run.id}`, [])
          yield* isWritable
        })
      )

      it.effect(
        "leases that were taken over while a store is read stay with the successor when the first process continues",
        () =>
          Effect.gen(function* () {
            const { actor, expire, imports, isWritable, newest } = yield* anImport
            const sql = yield* SqlClient.SqlClient
            const domain = `shop-${actor.accountId.slice(0, 8)}.example`
            const { store } = yield* Effect.flatMap(Stores, ({ link }) => link({ domain, platform: "demo" })).pipe(
              actingAs(actor)
            )
            const records = ["hat", "cap"].flatMap((handle) => aProductOf(handle, ["S"]))
            yield* Effect.flatMap(DemoShops, ({ put }) =>
              put({ accountId: actor.accountId, storeId: store.id }, records)
            )
            const { id } = yield* imports.csv(file, domain, quiet).pipe(actingAs(actor))
            const first = yield* heldAt("pulled", imports.accept(id, quiet).pipe(actingAs(actor)))
            yield* expire
            const second = yield* heldAt("storeAnswered", imports.resume(Option.some(actor.accountId)))
            const staged = sql`SELECT ordinal FROM import_item WHERE run_id = ${id} ORDER BY ordinal`
            const pulled = sql`SELECT ordinal FROM import_record WHERE run_id = ${id}`
            const before = [yield* staged, yield* pulled]
            assert.isAtLeast(before[0]?.length ?? 0, 3)
            yield* first.goOn
            assert.deepInclude(yield* Fiber.join(first.fiber), { id, phase: "applying", error: null })
            assert.deepStrictEqual([yield* staged, yield* pulled], before)
            yield* second.goOn
            assert.strictEqual(yield* Fiber.join(second.fiber), 1)
            const run = yield* newest
            assert.deepInclude(run, { id, phase: "applied", applied: 2, error: null })
            assert.deepInclude(run.summary.answer, { entities: 2 })
            yield* isWritable
          })
      )

      it.effect("leases that were taken over are neither renewed nor released, and cause no failure", () =>
        Effect.gen(function* () {
          const { actor, csv, expire, imports, newest } = yield* anImport
          const sql = yield* SqlClient.SqlClient
          const { id } = yield* csv
          const lease = Effect.map(
            sql`SELECT lease_until::text AS until, takeovers FROM import_run WHERE id = ${id}`,
            ([row]) => row
          )
          // If it were interrupted, the first process would release its lease.
          const first = yield* heldAt("committed", imports.accept(id, quiet).pipe(actingAs(actor)))
          yield* expire
          const repo = yield* ImportsRepo
          yield* repo.takeOver({ accountId: actor.accountId, id })
          const taken = yield* lease
          assert.strictEqual(taken?.takeovers, 1)
          yield* Fiber.interrupt(first.fiber)
          assert.deepStrictEqual(yield* lease, taken)
          const stale = { accountId: actor.accountId, id, phase: "applying", takeovers: 0 } as const
          assert.isFalse(yield* repo.renew(stale))
          assert.isFalse(yield* repo.holds(stale))
          assert.deepStrictEqual(yield* lease, taken)
          yield* expire
          assert.strictEqual(yield* imports.resume(Option.some(actor.accountId)), 1)
          assert.deepInclude(yield* newest, { id, phase: "applied", applied: 2, error: null })
        })
      )

      it.effect("hold an import whose failure could not be saved: the saving is repeated, so it keeps its reason", () =>
        Effect.gen(function* () {
          const { actor, imports, isWritable, newest } = yield* anImport
          const sql = yield* SqlClient.SqlClient
          yield* sql`
            CREATE FUNCTION refuse_failure() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'gone' USING ERRCODE = '57014'; END $$`
          yield* createTriggers([
            `CREATE TRIGGER refuse_failure BEFORE UPDATE ON import_run FOR EACH ROW
             WHEN (NEW.phase = 'failed') EXECUTE FUNCTION refuse_failure()`
          ])
          const path = join(folder, "empty.csv")
          writeFileSync(path, "Handle\n")
          const refused = yield* Effect.flip(imports.csv(path, "us.example", quiet).pipe(actingAs(actor)))
          assert.deepInclude(yield* newest, { phase: "fetching", error: null })
          yield* createTriggers(["DROP TRIGGER refuse_failure ON import_run"])
          // The saving runs concurrently: wait for its result.
          yield* Effect.repeat(Effect.zipRight(TestClock.adjust("2 seconds"), newest), {
            while: ({ phase }) => phase === "fetching",
            schedule: Schedule.forever
          })
          assert.deepInclude(yield* newest, { phase: "failed", error: refused.message })
          assert.strictEqual(yield* imports.resume(Option.none()), 0)
          yield* isWritable
        }).pipe(Effect.provide(TestContext.TestContext))
      )

      it.effect("of an interrupted import are released at once", () =>
        Effect.gen(function* () {
          const { actor, csv, imports, isWritable, newest } = yield* anImport
          const reading = yield* heldAt("staged", csv)
          yield* Fiber.interrupt(reading.fiber)
          assert.deepInclude(yield* newest, { phase: "failed", error: "The import was interrupted." })
          yield* isWritable
          assert.strictEqual(yield* imports.resume(Option.none()), 0)

          // The command has not shown the review, so nobody would accept or discard it.
          const reviewing = yield* heldAt("reviewing", csv)
          assert.strictEqual((yield* newest).phase, "reviewing")
          yield* Fiber.interrupt(reviewing.fiber)
          assert.deepInclude(yield* newest, { phase: "discarded", error: "The import was interrupted." })
          yield* isWritable

          const { id } = yield* csv
          const applying = yield* heldAt("committed", imports.accept(id, quiet).pipe(actingAs(actor)))
          yield* Fiber.interrupt(applying.fiber)
          assert.strictEqual((yield* newest).phase, "applying")
          assert.strictEqual(yield* imports.resume(Option.some(actor.accountId)), 1)
          assert.deepInclude(yield* newest, { phase: "applied", applied: 2 })
          yield* isWritable

          // A command tells its user that the import is applied before it accepts it.
          const next = yield* csv
          const accepting = yield* Effect.fork(imports.accept(next.id, quiet).pipe(actingAs(actor)))
          yield* Effect.yieldNow()
          yield* Fiber.interrupt(accepting)
          assert.deepInclude(yield* newest, { id: next.id, phase: "applying" })
          assert.strictEqual(yield* imports.resume(Option.some(actor.accountId)), 1)
          assert.deepInclude(yield* newest, { id: next.id, phase: "applied" })
          yield* isWritable
        })
      )

      it.effect("of stopped processes are handed over, however often: only lost processes count as interruptions", () =>
        Effect.gen(function* () {
          const { actor, csv, imports, isWritable, newest } = yield* anImport
          const { id } = yield* csv
          const resume = imports.resume(Option.some(actor.accountId))
          const first = yield* heldAt("written", imports.accept(id, quiet).pipe(actingAs(actor)))
          yield* Fiber.interrupt(first.fiber)
          for (let stop = 2; stop <= 4; stop++) {
            const { fiber } = yield* heldAt("written", resume)
            yield* Fiber.interrupt(fiber)
            assert.deepInclude(yield* newest, { phase: "applying", isPaused: false, applied: 0 })
          }
          assert.strictEqual(yield* resume, 1)
          assert.deepInclude(yield* newest, { id, phase: "applied", applied: 2, error: null })
          yield* isWritable
        })
      )

      it.effect("end at once if the import can never be applied, and continue if it can be retried", () =>
        Effect.gen(function* () {
          const { actor, expire, imports, isWritable, newest } = yield* anImport
          const sql = yield* SqlClient.SqlClient
          const path = join(folder, "refused.csv")
          const products = Array.from({ length: 600 }, (_, index) => `p-${index},Product,R-${index},5.00`)
          writeFileSync(path, `Handle,Title,Variant SKU,Variant Price\n${products.join("\n")}\n`)
          /** Makes the database refuse the last product with this SQLSTATE. */
          const refusing = (code: string) => sql`
            CREATE OR REPLACE FUNCTION refuse_last() RETURNS trigger LANGUAGE plpgsql AS ${sql.literal(
              `$$ BEGIN RAISE EXCEPTION 'of a secret' USING ERRCODE = '${code}'; END $$`
            )}`
          yield* refusing("54000")
          yield* createTriggers([
            `CREATE TRIGGER refuse_last BEFORE INSERT ON entity FOR EACH ROW
             WHEN (NEW.attributes #>> '{sku,value}' = 'R-599') EXECUTE FUNCTION refuse_last()`
          ])
          const bring = Effect.flatMap(imports.csv(path, "us.example", quiet), ({ id }) =>
            imports.accept(id, quiet)
          ).pipe(actingAs(actor))
          const error =
            "The import could not be applied: the database refused a value (54000); 500 of 600 products were applied."
          assert.strictEqual((yield* Effect.flip(bring)).message, `import: ${error}`)
          assert.deepInclude(yield* newest, { phase: "failed", applied: 500, error })
          yield* isWritable
          yield* expire
          assert.strictEqual(yield* imports.resume(Option.some(actor.accountId)), 0)

          yield* refusing("57014")
          assert.isTrue(Exit.isFailure(yield* Effect.exit(bring)))
          assert.deepInclude(yield* newest, { phase: "applying", applied: 0, error: null })
          yield* createTriggers(["DROP TRIGGER refuse_last ON entity"])
          yield* expire
          assert.strictEqual(yield* imports.resume(Option.some(actor.accountId)), 1)
          assert.deepInclude(yield* newest, { phase: "applied", applied: 100, error: null })
          yield* isWritable
        })
      )

      it.effect("are taken over with smaller batches; only interruptions since the last saved batch count", () =>
        Effect.gen(function* () {
          const { actor, expire, imports, isWritable, newest } = yield* anImport
          const path = join(folder, "interrupted.csv")
          const products = Array.from({ length: 600 }, (_, index) => `q-${index},Product,Q-${index},5.00`)
          writeFileSync(path, `Handle,Title,Variant SKU,Variant Price\n${products.join("\n")}\n`)
          // The batch with the last product fails each time. 1,000 entities are 500 products with a variant each.
          const sql = yield* SqlClient.SqlClient
          yield* sql`
            CREATE FUNCTION refuse_interrupted() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'gone' USING ERRCODE = '57014'; END $$`
          yield* createTriggers([
            `CREATE TRIGGER refuse_interrupted BEFORE INSERT ON entity FOR EACH ROW
             WHEN (NEW.attributes #>> '{sku,value}' = 'Q-599') EXECUTE FUNCTION refuse_interrupted()`
          ])
          const bring = Effect.flatMap(imports.csv(path, "us.example", quiet), ({ id }) => imports.accept(id, quiet))
          assert.isTrue(Exit.isFailure(yield* Effect.exit(bring.pipe(actingAs(actor)))))
          const applied = [(yield* newest).applied]
          while ((yield* newest).phase === "applying") {
            yield* expire
            assert.strictEqual(yield* imports.resume(Option.some(actor.accountId)), 1)
            applied.push((yield* newest).applied)
          }
          // The third takeover writes 125 entities at most, and its second batch fails.
          assert.deepStrictEqual(applied, [500, 500, 500, 562, 562, 562, 562, 562])
          assert.deepInclude(yield* newest, {
            phase: "failed",
            error:
              "Applying the import was interrupted 4 times; 562 of 600 products were applied. Import the file again to complete it."
          })
          yield* isWritable
        })
      )

      it.effect("of running imports refuse other imports, with the name of the import", () =>
        Effect.gen(function* () {
          const { actor, csv, imports } = yield* anImport
          const { id } = yield* csv
          const { fiber, goOn } = yield* heldAt("committed", imports.accept(id, quiet).pipe(actingAs(actor)))
          const refusal = <A, E extends Error, R>(work: Effect.Effect<A, E, R>) =>
            Effect.map(Effect.flip(work), ({ message }) => message)
          assert.strictEqual(
            yield* refusal(imports.accept(id, quiet).pipe(actingAs(actor))),
            "import: is already being applied; if its process stopped, another process continues within 75 s"
          )
          assert.strictEqual(
            yield* refusal(imports.discard(id).pipe(actingAs(actor))),
            "import: is applying, not under review"
          )
          assert.strictEqual(
            yield* refusal(csv),
            `import ${id} is being applied: see \`catalog import show ${id}\`, and try again when it is done`
          )
          yield* goOn
          assert.deepInclude(yield* Fiber.join(fiber), { phase: "applied", applied: 2 })
        })
      )

      it.effect("held by the second of two concurrent imports end when the first is under review", () =>
        Effect.gen(function* () {
          const { actor, csv, imports, newest } = yield* anImport
          const second = yield* heldAt("staged", csv)
          const { id } = yield* csv
          yield* second.goOn
          assert.strictEqual(
            (yield* Effect.flip(Fiber.join(second.fiber))).message,
            `import ${id} is under review: accept it with \`catalog import accept ${id}\` or discard it with \`catalog import discard ${id}\` first`
          )
          const runs = yield* imports.list.pipe(actingAs(actor))
          assert.sameMembers(
            runs.map(({ phase }) => phase),
            ["reviewing", "failed"]
          )
          assert.strictEqual((yield* newest).phase, "reviewing")
        })
      )

      it.effect("are not held during reviews: a review is discarded after 7 days, and staged data is deleted", () =>
        Effect.gen(function* () {
          const { actor, csv, imports, isWritable } = yield* anImport
          const sql = yield* SqlClient.SqlClient
          const shown = (id: Effect.Effect.Success<typeof csv>["id"]) => imports.get(id).pipe(actingAs(actor))
          const age = (span: string) =>
            sql`UPDATE import_run SET updated_at = app_now() - ${span}::interval WHERE account_id = ${actor.accountId}`
          const staged = Effect.map(
            sql`SELECT count(*) AS count FROM import_item WHERE account_id = ${actor.accountId}`,
            ([row]) => row?.count
          )
          yield* sql`UPDATE import_run SET updated_at = app_now()`

          const applied = yield* Effect.flatMap(csv, ({ id }) => imports.accept(id, quiet).pipe(actingAs(actor)))
          yield* age("6 days 23 hours")
          assert.strictEqual(yield* imports.forgetStaged, 0)
          assert.strictEqual(yield* staged, 2)
          yield* age("7 days")
          assert.strictEqual(yield* imports.forgetStaged, 2)
          assert.strictEqual(yield* staged, 0)
          assert.deepInclude(yield* shown(applied.id), { phase: "applied", applied: 2 })
          assert.strictEqual(yield* imports.forgetStaged, 0)

          const { id } = yield* csv
          yield* age("6 days 23 hours")
          assert.strictEqual(yield* imports.discardAbandoned, 0)
          assert.strictEqual((yield* shown(id)).phase, "reviewing")
          yield* age("7 days")
          assert.strictEqual(yield* imports.forgetStaged, 0)
          assert.strictEqual(yield* imports.discardAbandoned, 1)
          assert.deepInclude(yield* shown(id), {
            phase: "discarded",
            error: "Nobody accepted or discarded it within 7 days."
          })
          yield* isWritable
          assert.strictEqual(yield* imports.discardAbandoned, 0)
        })
      )
    })
  })
