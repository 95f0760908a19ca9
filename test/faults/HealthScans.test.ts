import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Option, Ref, Schedule, Schema } from "effect"
import { CatalogChange, type LockedCatalog } from "../../src/drafts/CatalogChange.ts"
import { planChanges, stateAfter } from "../../src/drafts/ChangePlan.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { DataHealth } from "../../src/health/DataHealth.ts"
import {
  defaultRules,
  HealthDimension,
  type HealthIssue,
  HealthSnapshot,
  type HealthSnapshot as Snapshot,
  sectionsOf
} from "../../src/health/Health.ts"
import { HealthRepo } from "../../src/health/HealthRepo.ts"
import { scan } from "../../src/health/HealthScan.memory.ts"
import { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, nilUuid } from "../../src/model/Ids.ts"
import { builtInKeyRules } from "../../src/model/KeyRules.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { SecretBox } from "../../src/stores/SecretBox.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { Accounts, ApiKeys, actingAs, anAccount, CatalogChanges } from "../../src/testing/index.ts"
import { layerStores } from "../support/LayerStores.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { Dice, report, seed } from "./Dice.ts"
import { layerDatabase, layerPool } from "./ServerServices.ts"

const writers = 3
const writesEach = amount(60, 300)
const scannedWhileWritten = HealthDimension.literals.filter((dimension) => dimension !== "translations")

const servicesOn = (health: Layer.Layer<HealthRepo, never, Layer.Layer.Context<typeof HealthRepo.layer>>) =>
  DataHealth.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(Accounts.layer, ApiKeys.layer, CatalogChanges.layer, layerStores)),
    Layer.provide(SecretBox.layer),
    Layer.provideMerge(health),
    Layer.provideMerge(RepositoriesOnDatabase),
    Layer.provide(layerPool(12))
  )

const Database = layerDatabase(2)

const decodeSnapshot = Schema.decode(Schema.parseJson(HealthSnapshot))

/** Products with a variant each, on two stores. Every write is recorded with the version that it created. */
const aShop = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  // The stores have a platform, because sync has no issues without one.
  for (const store of stores) yield* (yield* StoresRepo).link(accountId, { ...store, platform: "demo" })
  const ids = yield* Effect.replicateEffect(Effect.all([mintId(EntityId), mintId(EntityId)]), 12)
  const changes = ids.flatMap(([product, variant]) => [
    CatalogChange.CreateEntity({ id: product, kind: "product", parentId: null, values: { title: "Tent" } }),
    CatalogChange.CreateEntity({ id: variant, kind: "variant", parentId: product, values: { sku: product } }),
    ...[product, variant].flatMap((entityId) =>
      stores.map((store) => CatalogChange.AddToStore({ entityId, storeId: store.id }))
    )
  ])
  yield* (yield* CatalogChanges).apply(changes).pipe(actingAs(actor))
  return { accountId, actor, storeIds: stores.map(({ id }) => id), ids }
})

type Shop = Effect.Effect.Success<typeof aShop>

/** A write that always changes a value, so that each creates a version. */
const aWrite = (dice: Dice, { ids, storeIds }: Shop, nonce: string): CatalogChange => {
  const [product, variant] = dice.pick(ids)
  const storeId = dice.pick(storeIds)
  return dice.pick([
    CatalogChange.SetOverrides({ entityId: product, storeId, values: { vendor: nonce } }),
    CatalogChange.SetOverrides({ entityId: product, storeId, values: { title: ` ${nonce}`, seo_title: null } }),
    CatalogChange.SetAttributes({ entityId: product, values: { description_html: `<p>${nonce}</p>` } }),
    CatalogChange.SetAttributes({ entityId: product, values: { product_type: nonce, status: nonce } }),
    CatalogChange.SetAttributes({ entityId: variant, values: { sku: dice.pick(["A", "B"]), price: nonce } }),
    CatalogChange.SetOverrides({ entityId: variant, storeId, values: { barcode: nonce } })
  ])
}

/** The version of an account, read inside the transaction that created it. */
const versionOf = (accountId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* Effect.orDie(sql`SELECT version FROM account_state WHERE account_id = ${accountId}`)
    return Number(row?.version)
  })

/** The results of a scan: the snapshot, and all rows of its sections from the same scan. */
interface Scanned {
  readonly snapshot: Extract<Snapshot, { readonly scanned: true }>
  readonly rows: ReadonlyArray<HealthIssue>
}

/**
 * Runs writers and a scanner concurrently, until there are enough writes and `enough` scans. Returns the scans that differ from the
 * result of the plain functions on the version that they read.
 */
const contradictions = (shop: Shop, name: string, enough: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const health = yield* DataHealth
    const changes = yield* CatalogChanges
    const drafts = yield* DraftsRepo
    const asOwner = actingAs(shop.actor)
    const written = yield* Ref.make(new Map<number, CatalogChange>())

    const writeOne = (change: CatalogChange) =>
      Effect.gen(function* () {
        yield* changes.apply([change])
        // The transaction's own version: the counter's row stays locked until the commit.
        return yield* versionOf(shop.accountId)
      }).pipe(
        sql.withTransaction,
        asOwner,
        Effect.flatMap((version) => Ref.update(written, (all) => new Map(all).set(version, change)))
      )

    const scans: Array<Scanned> = []
    let writing = writers
    const write = (writer: number) =>
      Effect.gen(function* () {
        const dice = new Dice(`${name}, writer ${writer}`)
        for (let n = 0; n < writesEach || scans.length < enough; n++)
          yield* writeOne(aWrite(dice, shop, `${writer}x${n}`))
      }).pipe(Effect.ensuring(Effect.sync(() => writing--)))

    const beginning = yield* sql.withTransaction(
      drafts.lock(
        shop.accountId,
        shop.ids.map(([product]) => product),
        []
      )
    )

    const scanOne = (dimension: HealthDimension) =>
      Effect.gen(function* () {
        const { text } = yield* health.scan(dimension)
        const snapshot = yield* decodeSnapshot(text)
        const pages = yield* Effect.forEach(sectionsOf(dimension), (section) =>
          health.issues({ section, page: 1, page_size: 100 })
        )
        assert(snapshot.scanned)
        // If another scan had run in between, the time would differ.
        const isOfOne = pages.every(({ scanned_at }) => scanned_at === snapshot.scanned_at)
        return isOfOne ? [{ snapshot, rows: pages.flatMap(({ data }) => data) } satisfies Scanned] : []
      }).pipe(asOwner)

    const scanAll = Effect.gen(function* () {
      for (let n = 0; writing > 0; n++)
        scans.push(...(yield* scanOne(scannedWhileWritten[n % scannedWhileWritten.length] ?? "sync")))
    })
    yield* Effect.all([scanAll, ...Array.from({ length: writers }, (_, writer) => write(writer))], {
      concurrency: "unbounded"
    })

    // Rebuilds the catalog of each version by repeating the changes in the order of the versions.
    const history = [...(yield* Ref.get(written))].sort(([left], [right]) => left - right)
    const known: Array<readonly [version: number, state: LockedCatalog]> = [[0, beginning]]
    for (const [version, change] of history) {
      const before = known.at(-1)?.[1] ?? beginning
      known.push([version, stateAfter(before, yield* planChanges(before, [change]))])
    }

    const wrong: Array<string> = []
    let compared = 0
    for (const { rows, snapshot } of scans) {
      // Scans raise the version too, so this is the newest state that is not newer than the version that was read.
      const [version, state] = known.findLast(([each]) => each <= snapshot.as_of_version) ?? [0, beginning]
      compared += 1
      const [expected] = scan(
        snapshot.dimension,
        {
          aggregates: [...state.aggregates.values()],
          stores: shop.storeIds.map((id) => ({
            id,
            platform: "demo",
            primary_locale: "en",
            locales: ["en"],
            currency: "EUR"
          })),
          rules: defaultRules,
          keys: builtInKeyRules,
          sources: [],
          translations: []
        },
        Option.none()
      )
      const said = JSON.stringify(snapshot.result)
      if (said !== JSON.stringify(expected?.result)) wrong.push(`${snapshot.dimension} at ${version}: other numbers`)
      const rowsOf = (items: ReadonlyArray<string>) => [...items].sort().join("\n")
      const found = rowsOf(rows.map((row) => `${row.entity_id} ${row.store_id} ${row.title} ${row.fields.join()}`))
      const wanted = rowsOf(
        (expected?.findings ?? []).map(
          ({ entityId, fields, storeId, title }) => `${entityId} ${storeId} ${title} ${fields.join()}`
        )
      )
      if (found !== wanted) wrong.push(`${snapshot.dimension} at ${version}: other rows`)
    }
    return { scans: scans.length, compared, writes: history.length, wrong }
  })

/** A planted fault: the counts are computed in a second statement, after the one that finds the rows. */
const twoReads = Layer.effect(
  HealthRepo,
  Effect.gen(function* () {
    const repo = yield* HealthRepo
    const sql = yield* SqlClient.SqlClient
    return {
      ...repo,
      scan: (accountId, dimension, storeId) =>
        Effect.gen(function* () {
          const step = yield* repo.scan(accountId, dimension, storeId)
          yield* Effect.sleep("5 millis")
          yield* Effect.orDie(sql`
            UPDATE health_snapshot s SET as_of_version = a.version
            FROM account_state a
            WHERE s.account_id = ${accountId} AND s.dimension = ${dimension} AND a.account_id = s.account_id`)
          return step
        })
    } satisfies typeof repo
  })
).pipe(Layer.provide(HealthRepo.layer))

/**
 * Every scan is a full scan with steps of five entities. `planted`: each step skips the notes of writes that were made
 * since the previous step.
 */
const inSteps = (steps: Ref.Ref<number>, planted: boolean) =>
  Layer.effect(
    HealthRepo,
    Effect.gen(function* () {
      const repo = yield* HealthRepo
      const sql = yield* SqlClient.SqlClient
      return {
        ...repo,
        scan: (accountId, dimension, storeId) =>
          Effect.gen(function* () {
            yield* sql`
              UPDATE health_base SET fingerprint = ''
              WHERE account_id = ${accountId} AND dimension = ${dimension} AND reached IS NULL`
            if (planted)
              yield* sql`
                UPDATE health_base b SET version = a.version
                FROM account_state a WHERE a.account_id = ${accountId} AND b.account_id = ${accountId}`
            yield* Ref.update(steps, (count) => count + 1)
            return yield* repo.scan(accountId, dimension, storeId)
          }).pipe(Effect.catchTag("SqlError", Effect.die))
      } satisfies typeof repo
    })
  ).pipe(Layer.provide(HealthRepo.layerOf({ entitiesPerStep: 5, rowsPerBlock: 3 })))

describe.skipIf(!serverAnswers)("scans while the catalog is written", () => {
  layer(Database, { excludeTestServices: true })((it) => {
    it.effect("have the same result as the plain functions for the same version", () =>
      Effect.gen(function* () {
        const shop = yield* aShop
        const { wrong, ...record } = yield* contradictions(shop, "Scans", amount(15, 75))
        report("Scans under writes", { ...record, wrong: wrong.length })
        assert.isAtLeast(record.writes, writers * writesEach)
        assert.isAtLeast(record.compared, amount(15, 75))
        assert.deepStrictEqual(wrong, [], `seed ${seed}`)
      }).pipe(Effect.provide(servicesOn(HealthRepo.layer)))
    )

    it.effect("have it too if each scan is a full one and writers run between its steps", () =>
      Effect.gen(function* () {
        const counter = yield* Ref.make(0)
        const { wrong, ...record } = yield* Effect.flatMap(aShop, (shop) =>
          contradictions(shop, "Scans in steps", amount(8, 40))
        ).pipe(Effect.provide(servicesOn(inSteps(counter, false))))
        const steps = yield* Ref.get(counter)
        report("Scans in steps under writes", { ...record, steps, wrong: wrong.length })
        assert.isAtLeast(record.compared, amount(8, 40))
        assert.isAtLeast(steps, 4 * record.compared)
        assert.deepStrictEqual(wrong, [], `seed ${seed}`)
      })
    )

    it.effect.runIf(runsPlanted)(
      "differ if a step ignores changes of entities that it has scanned (planted fault)",
      () =>
        Effect.gen(function* () {
          const counter = yield* Ref.make(0)
          const { wrong, ...record } = yield* Effect.flatMap(aShop, (shop) =>
            contradictions(shop, "Scans in steps, planted", amount(8, 40))
          ).pipe(Effect.provide(servicesOn(inSteps(counter, true))))
          report("Scans in steps under writes, planted", { ...record, wrong: wrong.length })
          assert.isNotEmpty(wrong, `seed ${seed}`)
        })
    )
  })

  layer(Database, { excludeTestServices: true })((it) => {
    it.effect.runIf(runsPlanted)("differ if their version is read after their data (planted fault)", () =>
      Effect.gen(function* () {
        const shop = yield* aShop
        const { wrong, ...record } = yield* contradictions(shop, "Scans, planted", amount(15, 75))
        report("Scans under writes, planted", { ...record, wrong: wrong.length })
        assert.isNotEmpty(wrong, `seed ${seed}`)
      }).pipe(Effect.provide(servicesOn(twoReads)))
    )
  })
})

describe.skipIf(!serverAnswers)("scans while their rules change", () => {
  layer(layerDatabase(4), { excludeTestServices: true })((it) => {
    it.effect("a request that arrives after a scan has read the rules gets another scan", () =>
      Effect.gen(function* () {
        const { accountId, actor } = yield* aShop
        const repo = yield* HealthRepo
        const sql = yield* SqlClient.SqlClient
        yield* (yield* DataHealth).scan("completeness").pipe(actingAs(actor))
        const [isLocked, mayEnd] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
        const rules = yield* Effect.fork(
          sql`LOCK TABLE completeness_rule IN ACCESS EXCLUSIVE MODE`.pipe(
            Effect.zipRight(Deferred.succeed(isLocked, undefined)),
            Effect.zipRight(Deferred.await(mayEnd)),
            sql.withTransaction
          )
        )
        yield* Deferred.await(isLocked)
        const scanning = yield* Effect.fork(sql.withTransaction(repo.scan(accountId, "completeness", null)))
        yield* Effect.repeat(
          sql`SELECT 1 FROM pg_locks WHERE relation = 'completeness_rule'::regclass AND NOT granted`,
          { until: ({ length }) => length > 0, schedule: Schedule.spaced("10 millis") }
        )
        const ticket = yield* repo.ticket
        yield* Deferred.succeed(mayEnd, undefined)
        yield* Fiber.join(rules)
        assert.isBelow((yield* Fiber.join(scanning)).run ?? Number.POSITIVE_INFINITY, ticket)
      }).pipe(Effect.provide(servicesOn(HealthRepo.layer)))
    )
  })
})

/** The runs, and the number of callers that have not drawn a ticket yet. `haveArrived`: all have. */
interface Counter {
  readonly runs: Array<number>
  readonly haveArrived: Deferred.Deferred<void>
  missing: number
}
class Counts extends Context.Tag("test/Counts")<Counts, Counter>() {}

/** Counts runs. A run ends when all callers have arrived: they must get a result, but not cause more than one further run. */
const counted = Layer.effect(
  HealthRepo,
  Effect.gen(function* () {
    const repo = yield* HealthRepo
    const counter = yield* Counts
    return {
      ...repo,
      ticket: Effect.tap(repo.ticket, () =>
        --counter.missing === 0 ? Deferred.succeed(counter.haveArrived, undefined) : Effect.void
      ),
      scan: (accountId, dimension, storeId) =>
        Effect.gen(function* () {
          const step = yield* repo.scan(accountId, dimension, storeId)
          if (step.run === null) return step
          counter.runs.push(step.run)
          if (counter.missing > 0) yield* Deferred.await(counter.haveArrived)
          return step
        })
    } satisfies typeof repo
  })
).pipe(Layer.provide(HealthRepo.layer))

/** A planted fault: any scan is accepted, even an earlier one. */
const stale = Layer.effect(
  HealthRepo,
  Effect.map(HealthRepo, (repo) => ({ ...repo, ticket: Effect.as(repo.ticket, 0) }))
).pipe(Layer.provide(counted))

/** A planted fault: scans by other processes are ignored. */
const unshared = Layer.effect(
  HealthRepo,
  Effect.map(HealthRepo, (repo) => ({ ...repo, lastRun: () => Effect.succeed(0) }))
).pipe(Layer.provide(counted))

describe.skipIf(!serverAnswers)("50 simultaneous requests for a scan", () => {
  /** Callers in several processes, each with its own services and pool on the same database. */
  const askAll = (health: typeof counted, processes: number, askersEach: number) =>
    Effect.gen(function* () {
      const counter: Counter = { runs: [], haveArrived: yield* Deferred.make<void>(), missing: 0 }
      const Counting = Layer.succeed(Counts, counter)
      const { actor, shop } = yield* Effect.map(aShop, (shop) => ({ shop, actor: shop.actor })).pipe(
        Effect.provide(servicesOn(HealthRepo.layer))
      )
      const everyProcess = yield* Effect.replicateEffect(
        Layer.build(Layer.fresh(servicesOn(health.pipe(Layer.provide(Counting))))),
        processes
      )
      const [someProcess = assert.fail("no process")] = everyProcess
      yield* Effect.flatMap(DataHealth, (health) => health.scan("sync")).pipe(
        actingAs(actor),
        Effect.provide(someProcess)
      )
      counter.runs.length = 0
      counter.missing = processes * askersEach
      const answers = yield* Effect.forEach(
        everyProcess.flatMap((context) => Array.from({ length: askersEach }, () => context)),
        (context, asker) =>
          Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const [product] = shop.ids[asker % shop.ids.length] ?? assert.fail("no product")
            // Each caller requests a scan right after a write of its own, which the result must include.
            yield* apply([CatalogChange.SetAttributes({ entityId: product, values: { [`own.n${asker}`]: "x" } })])
            const version = yield* versionOf(shop.accountId)
            return { version }
          }).pipe(actingAs(actor), Effect.provide(context)),
        { concurrency: 8 }
      ).pipe(
        Effect.flatMap((written) =>
          Effect.forEach(
            written,
            ({ version }, index) => {
              const context = everyProcess[Math.floor(index / askersEach)] ?? assert.fail("no process")
              return Effect.flatMap(DataHealth, (health) => health.scan("sync")).pipe(
                Effect.flatMap(({ text }) => decodeSnapshot(text)),
                Effect.map((snapshot) => ({ version, snapshot })),
                actingAs(actor),
                Effect.provide(context)
              )
            },
            { concurrency: "unbounded" }
          )
        )
      )
      return { answers, runs: counter.runs.length }
    })

  layer(Database, { excludeTestServices: true })((it) => {
    const isTrue = ({ snapshot, version }: Effect.Effect.Success<ReturnType<typeof askAll>>["answers"][number]) =>
      snapshot.scanned && snapshot.as_of_version >= version

    it.scoped("run at most two at a time in two processes, and each result includes earlier writes of its caller", () =>
      Effect.gen(function* () {
        const { answers, runs } = yield* askAll(counted, 2, 25)
        report("Scans at once", { asked: answers.length, runs })
        assert.lengthOf(answers, 50)
        assert.isAtLeast(runs, 1)
        assert.isAtMost(runs, 2)
        assert.isTrue(answers.every(isTrue))
      })
    )

    it.scoped.runIf(runsPlanted)("run more if scans of other processes are ignored (planted fault)", () =>
      Effect.gen(function* () {
        const { runs } = yield* askAll(unshared, 5, 2)
        report("Scans at once, planted", { runs })
        assert.isAbove(runs, 2)
      })
    )

    it.scoped.runIf(runsPlanted)("miss earlier writes if any scan is accepted (planted fault)", () =>
      Effect.gen(function* () {
        const { answers } = yield* askAll(stale, 2, 10)
        report("Scans at once, planted", { stale: answers.filter((answer) => !isTrue(answer)).length })
        assert.isFalse(answers.every(isTrue))
      })
    )
  })
})

/** Changes the rules of all kinds concurrently, repeatedly. Returns the kinds whose change was lost. */
const lostRules = (rounds: number) =>
  Effect.gen(function* () {
    const health = yield* DataHealth
    const { actor } = yield* aShop
    const lost = yield* Effect.forEach(Array.from({ length: rounds }), (_, round) =>
      Effect.gen(function* () {
        const fieldOf = (kind: EntityKind) => `${kind}.round_${round}`
        yield* Effect.forEach(
          EntityKind.literals,
          (kind) => health.changeRules(kind, { recommended: [fieldOf(kind)] }),
          { concurrency: "unbounded" }
        )
        const rules = yield* health.rules
        return EntityKind.literals.filter((kind) => !rules[kind].recommended.includes(fieldOf(kind)))
      })
    ).pipe(actingAs(actor))
    return lost.flat()
  })

/** A planted fault: the rules are read before they are written, without a lock. */
const unlocked = Layer.effect(
  HealthRepo,
  Effect.map(HealthRepo, (repo) => ({ ...repo, lockRules: repo.rules }))
).pipe(Layer.provide(HealthRepo.layer))

describe.skipIf(!serverAnswers)("concurrent changes of the rules of several kinds", () => {
  const rounds = amount(20, 100)

  layer(Database, { excludeTestServices: true })((it) => {
    it.effect("are all saved", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* lostRules(rounds), [])
      }).pipe(Effect.provide(servicesOn(HealthRepo.layer)))
    )

    it.effect("are lost if the rules are read without a lock (planted fault)", () =>
      Effect.gen(function* () {
        const lost = yield* lostRules(rounds)
        report("Rules at once, planted", { lost: lost.length })
        assert.isNotEmpty(lost)
      }).pipe(Effect.provide(servicesOn(unlocked)))
    )
  })
})

describe.skipIf(!serverAnswers)("a scan while its account is deleted", () => {
  layer(layerDatabase(4), { excludeTestServices: true })((it) => {
    it.effect("is refused as unavailable, not with a defect, and leaves no rows", () =>
      Effect.gen(function* () {
        const { accountId, actor } = yield* aShop
        const health = yield* DataHealth
        const sql = yield* SqlClient.SqlClient
        const rows = (table: string) => sql`SELECT 1 FROM ${sql(table)} t WHERE t.account_id = ${accountId}`
        const asOwner = actingAs(actor)
        yield* health.scan("completeness").pipe(asOwner)
        assert.isNotEmpty(yield* rows("health_list"))
        // The next step reads all entities again, so it writes lists, which refer to the base.
        yield* sql`UPDATE health_base SET reached = ${nilUuid}::uuid, starts = '{}' WHERE account_id = ${accountId}`
        yield* sql`DELETE FROM health_list WHERE account_id = ${accountId}`
        yield* sql`DELETE FROM health_issue WHERE account_id = ${accountId}`
        const [isDeleted, mayCommit] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
        const deletion = yield* Effect.fork(
          sql`UPDATE account SET deleting_since = app_now() WHERE id = ${accountId}`.pipe(
            Effect.zipRight(sql`DELETE FROM health_base WHERE account_id = ${accountId}`),
            Effect.zipRight(Deferred.succeed(isDeleted, undefined)),
            Effect.zipRight(Deferred.await(mayCommit)),
            sql.withTransaction
          )
        )
        yield* Deferred.await(isDeleted)
        const scanning = yield* Effect.fork(health.scan("completeness").pipe(asOwner))
        // The scan has read its base, and waits for the row that the deletion has locked.
        const waiting = sql`
          SELECT 1 FROM pg_stat_activity a
          WHERE a.datname = current_database() AND a.backend_type = 'client backend' AND a.wait_event_type = 'Lock'`
        yield* Effect.repeat(waiting, { until: ({ length }) => length > 0, schedule: Schedule.spaced("10 millis") })
        yield* Deferred.succeed(mayCommit, undefined)
        yield* Fiber.join(deletion)
        const assertUnavailable = (exit: Exit.Exit<unknown, unknown>) =>
          assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "a snapshot", /The account is being deleted\./)
        assertUnavailable(yield* Fiber.await(scanning))
        assert.isEmpty(yield* rows("health_base"))
        assert.isEmpty(yield* rows("health_issue"))
        yield* sql`DELETE FROM account_state WHERE account_id = ${accountId}`
        assertUnavailable(yield* Effect.exit(health.scan("completeness").pipe(asOwner)))
      }).pipe(Effect.provide(servicesOn(HealthRepo.layer)))
    )
  })
})
