import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Option, Redacted, Schedule, Schema } from "effect"
import * as Database from "../../src/database/Database.ts"
import { EntityKind } from "../../src/model/Attribute.ts"
import { type AccountId, EntityId, nilUuid } from "../../src/model/Ids.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { Accounts, actingAs, anAccount, Catalog } from "../../src/testing/index.ts"
import { prepareDataDirectory } from "../support/CommandLine.ts"
import { isServerCluster, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { bundledProgram, killProgram, startProgram } from "./BundledProgram.ts"
import { type CrashVerdict, judge, Line } from "./CrashRecord.ts"
import { wrongDerivations } from "./Derivations.ts"
import { Dice, report, seed } from "./Dice.ts"
import { refusalOf } from "./Refusal.ts"
import { dwell, layerServices, untilQuiet } from "./ServerServices.ts"

const silent = Logger.remove(Logger.defaultLogger)

const program = bundledProgram("test/faults/CrashWriter.ts")

/** Starts a writer. `said(n)` waits for n lines of output; `end` kills it and returns its output. */
const aWriter = (environment: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const child = yield* startProgram(program, environment)
    const lines: Array<string> = []
    const reader = createInterface({ input: child.stdout })
    reader.on("line", (line) => lines.push(line))
    const closed = once(reader, "close")
    return {
      pid: child.pid ?? 0,
      said: (count: number) =>
        Effect.gen(function* () {
          assert.isNull(child.exitCode, "the writer ended by itself")
          return lines.length
        }).pipe(Effect.repeat({ until: (length) => length >= count, schedule: Schedule.spaced("2 millis") })),
      end: Effect.gen(function* () {
        assert.isNull(child.exitCode, "the writer ended by itself")
        yield* killProgram(child)
        assert.strictEqual(child.signalCode, "SIGKILL")
        yield* Effect.promise(() => closed)
        return yield* Effect.forEach(
          // The kill may have cut the last line.
          lines.filter((line) => line.endsWith("}")),
          (line) => Schema.decode(Line)(line)
        )
      })
    }
  })

const Found = Schema.Array(
  Schema.Struct({
    product: EntityId,
    numbers: Schema.Struct({
      product: Schema.NullOr(Schema.Int),
      override: Schema.NullOr(Schema.Int),
      variant: Schema.NullOr(Schema.Int),
      media: Schema.NullOr(Schema.Int),
      collection: Schema.NullOr(Schema.Int)
    })
  })
)

/** Every product, with its related entities. */
const findBundles = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* Schema.decodeUnknown(Found)(
    yield* sql`
      SELECT p.id AS product,
             json_build_object(
               'product', (p.attributes #>> '{title,value}')::int,
               'override', (
                 SELECT (v.overrides #>> '{title,value}')::int FROM store_version v
                 WHERE v.account_id = p.account_id AND v.entity_id = p.id
               ),
               'variant', (
                 SELECT (v.attributes #>> '{sku,value}')::int FROM entity v
                 WHERE v.account_id = p.account_id AND v.parent_id = p.id
               ),
               'media', (
                 SELECT (m.attributes #>> '{alt,value}')::int FROM entity_media g
                 JOIN entity m ON m.account_id = g.account_id AND m.id = g.media_id
                 WHERE g.account_id = p.account_id AND g.entity_id = p.id
               ),
               'collection', (
                 SELECT (c.attributes #>> '{title,value}')::int FROM collection_member m
                 JOIN entity c ON c.account_id = m.account_id AND c.id = m.collection_id
                 WHERE m.account_id = p.account_id AND m.product_id = p.id
               )
             ) AS numbers
      FROM entity p
      WHERE p.kind = 'product'`
  )
})

/** Other conditions after kills: the change order, guards, derived fields and walks are correct. */
const assertWhole = (accountId: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ids = (yield* sql`SELECT id FROM entity ORDER BY change_seq`).map(({ id }) => EntityId.make(String(id)))
    const broken = yield* sql`
      SELECT e.id FROM entity e JOIN account_state a ON a.account_id = e.account_id
      WHERE e.change_seq IS NULL OR e.change_seq > a.change_seq OR e.canonical_changed_at IS NULL
         OR e.canonical_changed_at > a.last_changed_at OR e.draft_revision < 1`
    assert.deepStrictEqual(broken, [])
    assert.deepStrictEqual((yield* wrongDerivations(accountId)).wrong, [])

    // A cluster has no guards of stamps.
    if (!isServerCluster) {
      assert.deepStrictEqual(yield* sql`SELECT id FROM entity WHERE stamped_by IS NULL`, [])
      const said = yield* refusalOf((sql) => sql`UPDATE entity SET attributes = '{}' WHERE id = ${ids[0] ?? nilUuid}`)
      assert.include(said, "was not stamped")
    }

    const catalog = yield* Catalog
    const delivered: Array<string> = []
    for (const kind of EntityKind.literals) {
      let cursor: string | undefined
      do {
        const { text } = yield* catalog
          .list(kind, { limit: 25, cursor })
          .pipe(actingAs({ _tag: "Cli", accountId }), Effect.orDie)
        const page = yield* Schema.decode(WalkedPage)(text)
        delivered.push(...page.data.map(({ id }) => id))
        cursor = page.next_cursor ?? undefined
      } while (cursor !== undefined)
    }
    assert.deepStrictEqual(delivered.sort(), [...ids].sort())
  })

const WalkedPage = Schema.parseJson(
  Schema.Struct({
    data: Schema.Array(Schema.Struct({ id: EntityId })),
    next_cursor: Schema.NullOr(Schema.String)
  })
)

const acknowledgedIn = (said: ReadonlyArray<Line>) => said.filter(({ _tag }) => _tag === "Done").length

/** Runs writers on the suite's database, three at a time, and kills each at a random moment. */
const killWriters = (name: string, count: number, environment: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const url = Redacted.value(yield* TestDatabaseUrl)
    const said = yield* Effect.forEach(
      Array.from({ length: count }, (_, index) => new Dice(`${name}, kill ${index}`)),
      (dice) =>
        Effect.scoped(
          Effect.gen(function* () {
            const writer = yield* aWriter({ ...environment, CRASH_DATABASE_URL: url })
            yield* writer.said(1 + dice.below(200))
            yield* Effect.sleep(dice.below(30))
            return yield* writer.end
          })
        ),
      { concurrency: 3 }
    )
    yield* untilQuiet
    return said
  })

const counts = (verdict: CrashVerdict) =>
  Object.fromEntries(Object.entries(verdict).map(([key, ids]) => [key, ids.length]))

describe.skipIf(!serverAnswers)("writers on the server that are killed at any moment", () => {
  const TestLayer = layerServices(4)

  layer(TestLayer, { excludeTestServices: true })((it) => {
    it.effect("lose no acknowledged write, and leave no partial write", () =>
      Effect.gen(function* () {
        const { accountId } = yield* anAccount({ domains: ["a.example"] })
        yield* dwell({ writeMillis: 6, commitMillis: 3 })
        const kills = amount(4, 40)
        const all = yield* killWriters("Crash", kills, {})
        const found = yield* findBundles
        const verdict = judge(all.flat(), found)
        const interrupted = all.filter((said) => acknowledgedIn(said) < said.length / 2).length
        const acknowledged = acknowledgedIn(all.flat())
        report("Crash", { kills: all.length, interrupted, acknowledged, bundles: found.length, ...counts(verdict) })
        assert.lengthOf(all, kills)
        assert.isAtLeast(interrupted, kills / 2, "kills that came in the middle of a change")
        assert.isAtLeast(acknowledged, 8 * kills)
        assert.isAtLeast(found.length, 2.5 * kills)
        assert.deepStrictEqual(verdict, { lost: [], half: [], unexplained: [] }, `seed ${seed}`)
        yield* assertWhole(accountId)
      })
    )
  })

  layer(TestLayer, { excludeTestServices: true })((it) => {
    it.effect.runIf(runsPlanted)(
      "are detected if they acknowledge too early, or write in two transactions (planted faults)",
      () =>
        Effect.gen(function* () {
          yield* anAccount({ domains: ["a.example"] })
          yield* dwell({ writeMillis: 6, commitMillis: 3 })
          const said: Array<Line> = []
          let verdict = judge([], [])
          let kills = 0
          while ((verdict.lost.length === 0 || verdict.half.length === 0) && kills < 12) {
            kills += 3
            said.push(...(yield* killWriters(`Crash, planted ${kills}`, 3, { CRASH_CARELESS: "true" })).flat())
            verdict = judge(said, yield* findBundles)
          }
          report("Crash, planted", { kills, ...counts(verdict) })
          assert.isNotEmpty(verdict.lost, `seed ${seed}`)
          assert.isNotEmpty(verdict.half, `seed ${seed}`)
        })
    )
  })
})

describe("writers on one embedded data directory", () => {
  it.scopedLive("are refused while one runs; after it is killed, the next one has all acknowledged writes", () =>
    Effect.gen(function* () {
      const dataDirectory = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const path = mkdtempSync(join(tmpdir(), "catalog-crash-"))
          prepareDataDirectory(path)
          return path
        }),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      const dice = new Dice("Crash, embedded")
      const Embedded = Database.layer({ url: Option.none(), dataDirectory })
      const said: Array<Line> = []
      const kills = amount(2, 10)
      for (let round = 0; round < kills; round++) {
        const writer = yield* aWriter({ CRASH_DATA_DIR: dataDirectory })
        yield* writer.said(20 + dice.below(40))
        const refused = yield* Effect.flip(Effect.scoped(Layer.build(Embedded)))
        assert.strictEqual(
          refused.message,
          `The database in ${dataDirectory} is in use by process ${writer.pid}: stop that process, or choose another DATA_DIR.`
        )
        said.push(...(yield* writer.end))
      }
      yield* Effect.gen(function* () {
        const [account] = yield* (yield* Accounts).list
        assert(account !== undefined)
        const found = yield* findBundles
        const verdict = judge(said, found)
        report("Crash, embedded", {
          kills,
          acknowledged: acknowledgedIn(said),
          bundles: found.length,
          ...counts(verdict)
        })
        assert.isAtLeast(acknowledgedIn(said), 15)
        assert.isAtLeast(found.length, 5)
        assert.deepStrictEqual(verdict, { lost: [], half: [], unexplained: [] }, `seed ${seed}`)
        yield* assertWhole(account.id)
      }).pipe(Effect.provide(ServicesOnDatabase.pipe(Layer.provideMerge(Embedded))))
    }).pipe(Effect.provide(silent))
  )
})
