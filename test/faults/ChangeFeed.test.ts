import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted, Ref } from "effect"
import { isDistributed } from "../../src/database/Distribution.ts"
import { ChangeFeed } from "../../src/feed/ChangeFeed.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { type Copy, contents, copyAll, feedPage, follow } from "../support/FeedMirror.ts"
import { type Known, randomWrite } from "../support/FeedWrites.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { bundledProgram, killProgram, startProgram } from "./BundledProgram.ts"
import { Dice, report } from "./Dice.ts"
import { createTriggers, dwell, layerServices, untilQuiet } from "./ServerServices.ts"

const writers = 8
const writesEach = amount(40, 400)
const follower = bundledProgram("test/faults/FeedFollower.ts")

/**
 * The planted faults: a feed whose rows are inserted with the history, before the account's row is locked. `seq` is
 * drawn from a sequence there; `at` is the start time of the transaction.
 */
const plant = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE planted_feed (
      account_id uuid, seq bigint GENERATED ALWAYS AS IDENTITY, at timestamptz DEFAULT now(), entity_id uuid
    )`
  if (yield* isDistributed)
    yield* sql`SELECT create_distributed_table('planted_feed', 'account_id', colocate_with => 'account_state')`
  yield* sql`CREATE INDEX ON planted_feed (account_id, seq)`
  yield* sql`CREATE INDEX ON planted_feed (account_id, at, seq)`
  yield* createTriggers([
    `CREATE FUNCTION plant_feed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO planted_feed (account_id, entity_id) VALUES (NEW.account_id, NEW.entity_id);
        PERFORM pg_sleep(random() * 0.012);
        RETURN NULL;
      END $$`,
    "CREATE TRIGGER plant_feed AFTER INSERT ON entity_history FOR EACH ROW EXECUTE FUNCTION plant_feed()"
  ])
}).pipe(Effect.orDie)

/** Reads new rows repeatedly, and once more after the writers have stopped. */
const following = <A, R>(
  read: (last: A | undefined) => Effect.Effect<ReadonlyArray<A>, never, R>,
  stopped: Ref.Ref<boolean>
) =>
  Effect.gen(function* () {
    const all: Array<A> = []
    let reads = 0
    for (let isLast = false; ; ) {
      const rows = yield* read(all.at(-1))
      all.push(...rows)
      reads += 1
      if (rows.length > 0) continue
      if (isLast) return { all, reads }
      isLast = yield* Ref.get(stopped)
      yield* Effect.sleep(3)
    }
  })

describe.skipIf(!serverAnswers)("the feed of changes under concurrent writers", () => {
  layer(layerServices(20), { excludeTestServices: true })((it) => {
    it.effect("loses nothing; a feed by time and a feed by an early sequence lose rows (planted faults)", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { accountId, actor } = yield* anAccount()
        const { apply } = yield* CatalogChanges
        yield* Effect.gen(function* () {
          const ids = yield* Effect.replicateEffect(mintId(EntityId), writers * 3)
          yield* apply(ids.map((id) => CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: {} })))
          yield* plant
          yield* dwell({ writeMillis: 12, commitMillis: 12 })
          const stopped = yield* Ref.make(false)
          const { next_cursor: begun } = yield* feedPage("latest", 1)
          let cursor = begun
          const served = () =>
            Effect.map(Effect.orDie(feedPage(cursor, 7)), ({ data, next_cursor }) => {
              cursor = next_cursor
              return data
            })
          const bySequence = (last: { readonly seq: number } | undefined) =>
            Effect.orDie(sql<{ readonly seq: number }>`
              SELECT seq FROM planted_feed WHERE account_id = ${accountId} AND seq > ${last?.seq ?? 0} ORDER BY seq LIMIT 7`)
          const byTime = (last: { readonly seq: number; readonly at: string } | undefined) =>
            Effect.orDie(sql<{ readonly seq: number; readonly at: string }>`
              SELECT seq, at::text AS at FROM planted_feed
              WHERE account_id = ${accountId} AND (at, seq) > (${last?.at ?? "-infinity"}::timestamptz, ${last?.seq ?? 0}::bigint)
              ORDER BY planted_feed.at, planted_feed.seq LIMIT 7`)
          const writing = (writer: number) =>
            Effect.forEach(
              Array.from({ length: writesEach }, (_, index) => index),
              (index) =>
                apply([
                  CatalogChange.SetAttributes({
                    entityId: ids[writer * 3 + (index % 3)] ?? EntityId.make(""),
                    values: { title: `${writer} ${index}` }
                  })
                ]),
              { discard: true }
            )
          const [, ours, sequenced, timed] = yield* Effect.all(
            [
              Effect.forEach(
                Array.from({ length: writers }, (_, writer) => writer),
                writing,
                {
                  concurrency: "unbounded"
                }
              ).pipe(Effect.ensuring(Ref.set(stopped, true))),
              following(served, stopped),
              following(bySequence, stopped),
              following(byTime, stopped)
            ],
            { concurrency: "unbounded" }
          )
          const [{ count: planted = 0 } = {}] = yield* sql<{ count: number }>`
            SELECT count(*) AS count FROM planted_feed WHERE account_id = ${accountId}`
          const volume = writers * writesEach
          report("concurrent feed", {
            volume,
            reads: ours.reads,
            ours: ours.all.length,
            sequenced: sequenced.all.length,
            timed: timed.all.length
          })
          assert.strictEqual(planted, volume)
          assert.isAbove(ours.reads, volume / 20)
          // Every write changed a title. The feed has exactly these writes, in the order of their numbers.
          assert.lengthOf(ours.all, volume)
          assert.deepStrictEqual(
            ours.all.map(({ seq }) => seq),
            ours.all.map((_, index) => (ours.all[0]?.seq ?? 0) + index)
          )
          // The faulty feeds lost rows that were committed after the reader had passed them.
          assert.isBelow(new Set(sequenced.all.map(({ seq }) => seq)).size, volume)
          assert.isBelow(new Set(timed.all.map(({ seq }) => seq)).size, volume)
        }).pipe(actingAs(actor))
      })
    )

    it.effect("changes are kept for 30 days; an older cursor is refused", () =>
      Effect.gen(function* () {
        const { accountId, actor } = yield* anAccount()
        yield* Effect.gen(function* () {
          const old = (yield* feedPage("latest", 1)).next_cursor
          for (const title of ["1", "2"]) yield* anEntity("product", { title })
          const kept = (yield* feedPage("latest", 1)).next_cursor
          const sql = yield* SqlClient.SqlClient
          yield* sql`UPDATE change_note SET at = plus_micros(at, -31::bigint * 86400000000) WHERE account_id = ${accountId}`
          const third = yield* anEntity("product", { title: "3" })
          const feed = yield* ChangeFeed
          assert.isAtLeast(yield* feed.forget, 1)
          assert.strictEqual(yield* feed.forget, 0)
          const error = yield* Effect.flip(feedPage(old, 10))
          assert.strictEqual(error._tag, "CursorExpired")
          for (const cursor of [kept, undefined]) {
            const { data } = yield* feedPage(cursor, 10)
            assert.deepStrictEqual(
              data.map(({ entity, seq }) => [seq, entity.id]),
              [[3, third]]
            )
          }
          const { floor, last } = yield* feed.read(accountId, 0, 1)
          assert.deepStrictEqual([floor, last], [2, 3])
        }).pipe(actingAs(actor))
      })
    )

    it.scoped("a copy equals the catalog although its program was killed repeatedly", () =>
      Effect.gen(function* () {
        const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
        const url = Redacted.value(yield* TestDatabaseUrl)
        const folder = mkdtempSync(join(tmpdir(), "feed-"))
        yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true, force: true })))
        const file = join(folder, "copy.json")
        const dice = new Dice("killed copy")
        const known: Known = {
          ids: { product: [], variant: [], collection: [], media: [] },
          productOf: new Map(),
          stores
        }
        yield* Effect.gen(function* () {
          const stopped = yield* Ref.make(false)
          const kills = amount(6, 40)
          const killing = Effect.forEach(Array.from({ length: kills }), () =>
            Effect.scoped(
              Effect.gen(function* () {
                const child = yield* startProgram(follower, {
                  FEED_DATABASE_URL: url,
                  FEED_ACCOUNT: accountId,
                  FEED_FILE: file
                })
                if (child.stdout !== null)
                  yield* Effect.promise(() => once(child.stdout as NodeJS.ReadableStream, "data"))
                yield* Effect.sleep(dice.below(250))
                yield* killProgram(child)
              })
            )
          ).pipe(Effect.ensuring(Ref.set(stopped, true)))
          const writing = (writer: number) =>
            Effect.gen(function* () {
              const own = new Dice(`killed copy, writer ${writer}`)
              // On a slow machine the kills are over before there are enough entities.
              const isSmall = () => Object.values(known.ids).flat().length <= 30
              for (let write = 0; isSmall() || !(yield* Ref.get(stopped)); write++)
                yield* randomWrite(own, known, `${writer}.${write}`)
            })
          yield* Effect.all([killing, writing(0), writing(1)], { concurrency: "unbounded" })
          yield* untilQuiet
          const copy: Copy = JSON.parse(readFileSync(file, "utf8"))
          const late = yield* follow(copy, 250)
          const truth = yield* copyAll
          report("killed copy", { kills, late, entities: Object.keys(truth.entities).length })
          assert.deepStrictEqual(contents(copy), contents(truth))
          assert.isAbove(Object.keys(truth.entities).length, 20)
        }).pipe(actingAs(actor))
      })
    )
  })
})
