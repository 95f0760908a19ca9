import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer, Ref } from "effect"
import { Transaction } from "../../src/database/Transaction.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { HistoryRepo } from "../../src/drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { type AccountId, type EntityId, ImportId, type StoreId } from "../../src/model/Ids.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { Dice, report, seed } from "./Dice.ts"
import { deadlocks, dwell, layerChanges, layerDatabase, layerWriters, noticeDeadlocksSoon } from "./ServerServices.ts"

const writers = 8
const writesEach = amount(60, 300)
const toggles = amount(60, 300)
const keys = ["title", "vendor", "seo_title"] as const

/**
 * Runs a statement on a separate connection, outside the caller's transaction, so its locks are released when it
 * returns.
 */
const outside = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.mapInputContext(effect, (context: Context.Context<never>) =>
    Context.omit(SqlClient.TransactionConnection)(context as Context.Context<SqlClient.TransactionConnection>)
  )

/** A planted fault: rows are read and then written, without a lock in between. */
const selectThenUpdate = Layer.effect(
  DraftsRepo,
  Effect.map(DraftsRepo, (drafts) => ({ ...drafts, lock: (...request) => outside(drafts.lock(...request)) }))
)

/** A planted fault: the import lock is checked outside the transaction that writes. */
const lockSeenOutside = Layer.effect(
  ImportLockRepo,
  Effect.map(ImportLockRepo, (lock) => ({ ...lock, share: (accountId) => outside(lock.share(accountId)) }))
)

const withoutRowLocks = CatalogChanges.layer.pipe(
  Layer.provide(selectThenUpdate),
  Layer.provide(RepositoriesOnDatabase)
)
const withoutImportLock = CatalogChanges.layer.pipe(
  Layer.provide(lockSeenOutside),
  Layer.provide(RepositoriesOnDatabase)
)

/** A separate pool for the writers: the planted faults need a second connection each. */
const servicesOn = (changes: typeof layerChanges) => layerWriters(changes, 2 * writers + 2)

/** So few products that any two writers conflict, each on two stores. */
const aShop = (count: number) =>
  Effect.gen(function* () {
    const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
    const ids = yield* Effect.replicateEffect(anEntity("product", { title: "at first" }, { on: stores }), count).pipe(
      actingAs(actor)
    )
    return { accountId, actor, ids, layers: [null, ...stores.map(({ id }) => id)] }
  })

interface Write {
  readonly id: EntityId
  readonly layer: StoreId | null
  readonly key: string
  readonly value: string
  /** The revision that the writer sent. */
  readonly sent: number
}

type Outcome =
  | { readonly _tag: "accepted"; readonly revision: number }
  | { readonly _tag: "stale"; readonly current: number }
  | { readonly _tag: "locked" }
  /** Writes that the database's own guards refused. */
  | { readonly _tag: "died"; readonly defect: unknown }

const carryOut = ({ id, key, layer, sent, value }: Write) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const update = { draft_revision: sent, attributes: [{ key, value }] }
    return yield* layer === null
      ? drafts.updateAttributes(id, update)
      : drafts.updateVersionAttributes(id, layer, update)
  }).pipe(
    Effect.map(({ draft_revision }): Outcome => ({ _tag: "accepted", revision: draft_revision })),
    Effect.catchTags({
      RevisionConflict: ({ currentRevision }) => Effect.succeed<Outcome>({ _tag: "stale", current: currentRevision }),
      PimLocked: () => Effect.succeed<Outcome>({ _tag: "locked" })
    }),
    Effect.catchAllDefect((defect) => Effect.succeed<Outcome>({ _tag: "died", defect }))
  )

interface Told {
  readonly write: Write
  readonly outcome: Outcome
}

/** Like clients, a writer uses the revision of its last answer, and reads it only at first. */
const writeAll = (
  name: string,
  { ids, layers }: Effect.Effect.Success<ReturnType<typeof aShop>>,
  goOn: (done: number) => Effect.Effect<boolean>
) =>
  Effect.forEach(
    Array.from({ length: writers }, (_, writer) => writer),
    (writer) =>
      Effect.gen(function* () {
        const dice = new Dice(`${name}, writer ${writer}`)
        const known = new Map<EntityId, number>()
        const told: Array<Told> = []
        while (yield* goOn(told.length)) {
          const id = dice.pick(ids)
          const sent = known.get(id) ?? (yield* (yield* Drafts).get(id, null)).draft_revision
          const value = `${writer}x${told.length}`
          const write: Write = { id, layer: dice.pick(layers), key: dice.pick(keys), value, sent }
          const outcome = yield* carryOut(write)
          if (outcome._tag === "accepted") known.set(id, outcome.revision)
          if (outcome._tag === "stale") known.set(id, outcome.current)
          told.push({ write, outcome })
        }
        return told
      }),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((each) => each.flat()))

/**
 * Contradictions between answers and history. Empty: every accepted write is in the history and was based on the
 * previous revision.
 */
const contradictions = (accountId: AccountId, ids: ReadonlyArray<EntityId>, all: ReadonlyArray<Told>) =>
  Effect.gen(function* () {
    const history = yield* HistoryRepo
    const drafts = yield* Drafts
    const found: Array<string> = []
    for (const id of ids) {
      const draft = yield* drafts.get(id, null)
      const entries = (yield* history.list(accountId, id, 1_000_000, {})).toReversed()
      const accepted = all.flatMap(({ outcome, write }) =>
        write.id === id && outcome._tag === "accepted" ? [{ ...write, revision: outcome.revision }] : []
      )
      const revisions = accepted.map(({ revision }) => revision).sort((left, right) => left - right)
      if (revisions.some((revision, index) => revision !== index + 2)) found.push(`${id}: a revision was given twice`)
      if (draft.draft_revision !== accepted.length + 1) found.push(`${id}: ${accepted.length} writes, other revision`)
      if (entries.length !== accepted.length + 1) found.push(`${id}: ${accepted.length} writes, other history`)
      const values = new Map<string, string | null>([["null title", "at first"]])
      for (const { changes, draft_revision, store_id } of entries)
        for (const change of changes) {
          const place = `${store_id} ${change.key}`
          if ((values.get(place) ?? null) !== change.old) found.push(`${id}: revision ${draft_revision} lost an update`)
          values.set(place, change.new)
          const write = accepted.find(({ revision }) => revision === draft_revision)
          if (write === undefined || write.value !== change.new || `${write.layer} ${write.key}` !== place)
            found.push(`${id}: revision ${draft_revision} is not what was accepted`)
        }
      for (const { key, value } of draft.attributes)
        if (keys.some((known) => known === key) && (values.get(`null ${key}`) ?? "") !== value)
          found.push(`${id}: ${key} is not what was written last`)
    }
    for (const { outcome, write } of all) {
      if (outcome._tag === "died") found.push(`${write.id}: ${outcome.defect}`)
      if (outcome._tag === "stale" && outcome.current <= write.sent) found.push(`${write.id}: refused, and not stale`)
    }
    return found
  })

const tally = (all: ReadonlyArray<Told>) => ({
  writes: all.length,
  accepted: all.filter(({ outcome }) => outcome._tag === "accepted").length,
  stale: all.filter(({ outcome }) => outcome._tag === "stale").length,
  locked: all.filter(({ outcome }) => outcome._tag === "locked").length
})

const race = (name: string, changes: typeof layerChanges) =>
  Effect.gen(function* () {
    yield* noticeDeadlocksSoon
    yield* dwell({ writeMillis: 3, commitMillis: 1 })
    const result = yield* Effect.gen(function* () {
      const shop = yield* aShop(3)
      const all = yield* writeAll(name, shop, (done) => Effect.succeed(done < writesEach)).pipe(actingAs(shop.actor))
      const found = yield* contradictions(shop.accountId, shop.ids, all).pipe(actingAs(shop.actor))
      return { ...tally(all), contradictions: found }
    }).pipe(Effect.provide(servicesOn(changes)))
    const record = { ...result, deadlocks: yield* deadlocks }
    report(name, { ...record, contradictions: record.contradictions.length })
    return record
  })

/** Begins and ends imports while writers write. Returns the number of writes that became visible during an import. */
const raceImports = (name: string, changes: typeof layerChanges) =>
  Effect.gen(function* () {
    yield* noticeDeadlocksSoon
    yield* dwell({ writeMillis: 3, commitMillis: 1 })
    const result = yield* Effect.gen(function* () {
      const shop = yield* aShop(3)
      const { accountId } = shop
      const sql = yield* SqlClient.SqlClient
      const importLock = yield* ImportLockRepo
      const transaction = yield* Transaction
      const over = yield* Ref.make(false)
      const version = Effect.map(sql`SELECT version FROM account_state WHERE account_id = ${accountId}`, ([row]) =>
        Number(row?.version)
      ).pipe(Effect.orDie)
      const turn = (run: ImportId | null) =>
        transaction.run(
          importLock
            .takeDuringImport(accountId)
            .pipe(Effect.zipRight(importLock.keep(accountId, run)), Effect.zipRight(version))
        )
      const dwellFor = (seconds: number) => Effect.orDie(sql`SELECT pg_sleep(${seconds})`)
      const toggling = Effect.forEach(Array.from({ length: toggles }), () =>
        Effect.gen(function* () {
          const before = yield* turn(ImportId.make(crypto.randomUUID()))
          yield* dwellFor(0.01)
          const after = yield* turn(null)
          yield* dwellFor(0.02)
          return after - before
        })
      ).pipe(Effect.ensuring(Ref.set(over, true)))
      const writing = writeAll(name, shop, () => Effect.map(Ref.get(over), (is) => !is)).pipe(actingAs(shop.actor))
      const [inside, all] = yield* Effect.all([toggling, writing], { concurrency: "unbounded" })
      const found = yield* contradictions(accountId, shop.ids, all).pipe(actingAs(shop.actor))
      return {
        ...tally(all),
        toggles: inside.length,
        inside: inside.reduce((sum, count) => sum + count, 0),
        contradictions: found
      }
    }).pipe(Effect.provide(servicesOn(changes)))
    const record = { ...result, deadlocks: yield* deadlocks }
    report(name, { ...record, contradictions: record.contradictions.length })
    return record
  })

const TestLayer = Layer.provideMerge(RepositoriesOnDatabase, layerDatabase(1))

describe.skipIf(!serverAnswers)("writers of the same drafts", () => {
  layer(TestLayer, { excludeTestServices: true })("with revisions", (it) => {
    it.effect(
      "each accepted write raises the revision once, none is lost, and refused ones get the current revision",
      () =>
        Effect.gen(function* () {
          const record = yield* race("Drafts", layerChanges)
          assert.deepStrictEqual(record.contradictions, [], `seed ${seed}`)
          assert.strictEqual(record.writes, writers * writesEach)
          assert.strictEqual(record.accepted + record.stale, record.writes)
          assert.isAtLeast(record.accepted, 0.1 * record.writes)
          assert.isAtLeast(record.stale, 0.2 * record.writes)
          assert.strictEqual(record.deadlocks, 0, `seed ${seed}`)
        })
    )
  })

  layer(TestLayer, { excludeTestServices: true })("that read before they lock (planted fault)", (it) => {
    it.effect.runIf(runsPlanted)("lose updates", () =>
      Effect.gen(function* () {
        const record = yield* race("Drafts, planted", withoutRowLocks)
        assert.isAbove(record.contradictions.length, 0, `seed ${seed}`)
      })
    )
  })

  layer(TestLayer, { excludeTestServices: true })("while imports come and go", (it) => {
    it.effect("write nothing during the lock, without deadlocks", () =>
      Effect.gen(function* () {
        const record = yield* raceImports("Import lock", layerChanges)
        assert.strictEqual(record.inside, 0, `seed ${seed}`)
        assert.deepStrictEqual(record.contradictions, [], `seed ${seed}`)
        assert.strictEqual(record.toggles, toggles)
        assert.isAtLeast(record.accepted, toggles)
        assert.isAtLeast(record.locked, toggles)
        assert.strictEqual(record.deadlocks, 0, `seed ${seed}`)
      })
    )
  })

  layer(TestLayer, { excludeTestServices: true })(
    "that check the lock outside their transaction (planted fault)",
    (it) => {
      it.effect.runIf(runsPlanted)("write during the lock", () =>
        Effect.gen(function* () {
          const record = yield* raceImports("Import lock, planted", withoutImportLock)
          assert.isAbove(record.inside, 0, `seed ${seed}`)
        })
      )
    }
  )
})
