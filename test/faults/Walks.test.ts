import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Array as Arr, Cause, Effect, Exit, Ref, Schema } from "effect"
import { Transaction } from "../../src/database/Transaction.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, nilUuid } from "../../src/model/Ids.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, Catalog, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { Dice, report, seed } from "./Dice.ts"
import { dwell, layerServices } from "./ServerServices.ts"
import { type Delivery, judge } from "./WalkJudge.ts"

const writers = 8
const movesEach = amount(230, 1_000)
const nothing = EntityId.make(nilUuid)
const ordinals = (count: number) => Array.from({ length: count }, (_, ordinal) => ordinal)

/** A row in a client's copy, and the time from which the client reads changes. */
interface Row extends Omit<Delivery, "walk"> {
  readonly since: Timestamp
}

/** A page of a list: from the start or after a cursor, with everything or with changes since a time. */
type ListPage<R> = (
  kind: EntityKind,
  limit: number,
  cursor: string | null,
  since: Timestamp | null
) => Effect.Effect<{ readonly rows: ReadonlyArray<Row>; readonly next: string | null }, never, R>

const ServedPage = Schema.parseJson(
  Schema.Struct({
    data: Schema.Array(
      Schema.Struct({ id: EntityId, title: Schema.String, draft_revision: Schema.Int, updated_at: Timestamp })
    ),
    next_cursor: Schema.NullOr(Schema.String)
  })
)

/** The list that the service serves. */
const served: ListPage<Catalog | CurrentActor> = (kind, limit, cursor, since) =>
  Effect.gen(function* () {
    const { text } = yield* (yield* Catalog).list(kind, {
      limit,
      cursor: cursor ?? undefined,
      updated_since: since ?? undefined
    })
    const { data, next_cursor } = yield* Schema.decode(ServedPage)(text)
    return {
      next: next_cursor,
      rows: data.map(({ draft_revision, id, title, updated_at }) => ({
        id,
        title,
        revision: draft_revision,
        updatedAt: updated_at,
        since: updated_at
      }))
    }
  }).pipe(Effect.orDie)

const PlantedRow = Schema.Struct({
  id: EntityId,
  title: Schema.String,
  revision: Schema.Int,
  updatedAt: Timestamp,
  since: Timestamp
})
const PlantedCursor = Schema.parseJson(Schema.Tuple(Timestamp, EntityId))

/** The column of the planted fault: the start time of the row's transaction, as `updated_at` usually is. */
const plantUpdatedAt = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`
    ALTER TABLE entity ADD COLUMN planted_updated_at timestamptz;
    CREATE FUNCTION plant_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.planted_updated_at = now();
      RETURN NEW;
    END $$;
    CREATE TRIGGER plant_updated_at BEFORE INSERT OR UPDATE OF attributes ON entity
      FOR EACH ROW EXECUTE FUNCTION plant_updated_at();
    CREATE INDEX planted_walk ON entity (account_id, kind, planted_updated_at, id);
  `)
}).pipe(Effect.orDie)

/** The planted fault: a list ordered by that column. */
const planted: ListPage<SqlClient.SqlClient | CurrentActor> = (kind, limit, cursor, since) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { accountId } = yield* CurrentActor
    const [time, id] = cursor === null ? ["-infinity", nilUuid] : yield* Schema.decode(PlantedCursor)(cursor)
    const found = yield* sql`
      SELECT id, title, draft_revision AS revision, rfc3339(canonical_changed_at) AS "updatedAt",
             rfc3339(planted_updated_at) AS since
      FROM entity
      WHERE account_id = ${accountId} AND kind = ${kind} AND planted_updated_at >= ${since ?? "-infinity"}
        AND (planted_updated_at, id) > (${time}::timestamptz, ${id}::uuid)
      ORDER BY planted_updated_at, id
      LIMIT ${limit} + 1`
    const rows = (yield* Schema.decodeUnknown(Schema.Array(PlantedRow))(found)).slice(0, limit)
    const last = rows.at(-1)
    const more = found.length > limit && last !== undefined
    return { rows, next: more ? yield* Schema.encode(PlantedCursor)([last.since, last.id]) : null }
  }).pipe(Effect.orDie)

/** How a client walks. */
interface Walker<R> {
  readonly list: ListPage<R>
  readonly limit: number
  /** Each walk starts from the beginning, or from the latest change that the client has. */
  readonly from: "nothing" | "latest"
}

/** The state that all writers share: the committed entities. */
type Known = Record<EntityKind, Array<EntityId>>

/** Walks every kind repeatedly, and once more after the writers have stopped. */
const syncing = <R>({ from, limit, list }: Walker<R>, known: Known, stopped: Ref.Ref<boolean>, dice: Dice) =>
  Effect.gen(function* () {
    const deliveries: Array<Delivery> = []
    const begun = new Map<number, ReadonlyArray<EntityId>>()
    const latest = new Map<EntityKind, Timestamp>()
    let walk = 0
    let pages = 0
    let last = false
    do {
      last = yield* Ref.get(stopped)
      for (const kind of EntityKind.literals) {
        const since = latest.get(kind) ?? null
        if (since === null) begun.set(walk, [...known[kind]])
        let cursor: string | null = null
        do {
          const page: Effect.Effect.Success<ReturnType<typeof list>> = yield* list(kind, limit, cursor, since)
          for (const { since: changed, ...row } of page.rows) {
            deliveries.push({ ...row, walk })
            if (from === "latest" && changed > (latest.get(kind) ?? "")) latest.set(kind, changed)
          }
          pages += 1
          cursor = page.next
          // Long enough for changes between two pages, most of them before the end of the list.
          yield* Effect.sleep(dice.below(cursor === null ? 60 : 6))
        } while (cursor !== null)
        walk += 1
      }
    } while (!last)
    return { begun, deliveries, pages, walks: walk }
  })

class Planned extends Schema.TaggedError<Planned>()("Planned", {}) {}

/** One small transaction: its changes, the entities that it creates, and whether it commits. */
interface Move {
  readonly changes: ReadonlyArray<CatalogChange>
  readonly created: ReadonlyArray<readonly [EntityKind, EntityId]>
  readonly ends: "committed" | "refused" | "undone"
}

const aMove = (dice: Dice, known: Known, storeId: CatalogChange & { _tag: "AddToStore" }, nonce: string) =>
  Effect.gen(function* () {
    const move = (changes: ReadonlyArray<CatalogChange>, created: Move["created"] = []): Move => {
      const chance = dice.next()
      return chance < 0.05
        ? {
            changes: [...changes, CatalogChange.SetAttributes({ entityId: nothing, values: {} })],
            created,
            ends: "refused"
          }
        : { changes, created, ends: chance < 0.1 ? "undone" : "committed" }
    }
    const chance = dice.next()
    if (chance < 0.25) {
      const [id, variantId] = [yield* mintId(EntityId), yield* mintId(EntityId)]
      return move(
        [
          CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: nonce } }),
          CatalogChange.AddToStore({ ...storeId, entityId: id }),
          CatalogChange.CreateEntity({ id: variantId, kind: "variant", parentId: id, values: { title: nonce } })
        ],
        [
          ["product", id],
          ["variant", variantId]
        ]
      )
    }
    if (chance < 0.35) {
      const kind = dice.pick(["variant", "collection", "media"] as const)
      const id = yield* mintId(EntityId)
      const parentId = kind === "variant" ? dice.pick(known.product) : null
      const values = kind === "media" ? { alt: nonce } : { title: nonce }
      return move([CatalogChange.CreateEntity({ id, kind, parentId, values })], [[kind, id]])
    }
    if (chance < 0.7) {
      const kind = dice.pick(EntityKind.literals)
      const values = kind === "media" ? { alt: nonce } : { title: nonce }
      return move([CatalogChange.SetAttributes({ entityId: dice.pick(known[kind]), values })])
    }
    if (chance < 0.85) {
      const values = { title: `store ${nonce}` }
      return move([CatalogChange.SetOverrides({ ...storeId, entityId: dice.pick(known.product), values })])
    }
    return chance < 0.93
      ? move([
          CatalogChange.SetGallery({
            entityId: dice.pick(known.product),
            entries: dice.some(known.media, 4).map((mediaId) => ({ mediaId, storeIds: [] }))
          })
        ])
      : move([
          CatalogChange.SetMembers({
            collectionId: dice.pick(known.collection),
            productIds: dice.some(known.product, 6)
          })
        ])
  })

/** Runs 8 writers against clients that walk. Returns the record of each client. */
const race = <R>(
  name: string,
  walkers: ReadonlyArray<Walker<R>>,
  { movesEach, round = 0 }: { readonly movesEach: number; readonly round?: number }
) =>
  Effect.gen(function* () {
    const { accountId, actor, stores } = yield* anAccount({ domains: [`${round}.example`] })
    const storeId = stores[0]?.id
    assert(storeId !== undefined)
    const sql = yield* SqlClient.SqlClient
    const catalog = yield* CatalogChanges
    const transaction = yield* Transaction
    const stopped = yield* Ref.make(false)

    const first = yield* mintId(EntityId)
    const known: Known = { product: [first], variant: [], collection: [], media: [] }
    for (const kind of ["variant", "collection", "media"] as const) known[kind].push(yield* mintId(EntityId))
    const toStore = CatalogChange.AddToStore({ entityId: first, storeId })
    yield* catalog
      .apply([
        ...EntityKind.literals.map((kind) =>
          CatalogChange.CreateEntity({
            id: known[kind][0] ?? nothing,
            kind,
            parentId: kind === "variant" ? first : null,
            values: {}
          })
        ),
        toStore
      ])
      .pipe(actingAs(actor))

    const writing = (writer: number) =>
      Effect.gen(function* () {
        const dice = new Dice(`${name} ${round}, writer ${writer}`)
        return yield* Effect.forEach(ordinals(movesEach), (ordinal) =>
          Effect.gen(function* () {
            const { changes, created, ends } = yield* aMove(dice, known, toStore, `${writer}x${ordinal}`)
            const applied = catalog.apply(changes)
            const exit = yield* Effect.exit(
              ends === "undone" ? transaction.run(Effect.zipRight(applied, new Planned())) : applied
            )
            if (Exit.isSuccess(exit)) for (const [kind, id] of created) known[kind].push(id)
            const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
            const expected = { committed: undefined, refused: "NotFound", undone: "Planned" }[ends]
            const isPlanned = (failure as { readonly _tag?: string } | undefined)?._tag === expected
            return { ends, surprise: isPlanned ? undefined : `${ends}: ${failure}` }
          })
        )
      })

    const [outcomes, walked] = yield* Effect.all(
      [
        Effect.forEach(ordinals(writers), writing, { concurrency: "unbounded" }).pipe(
          Effect.ensuring(Ref.set(stopped, true))
        ),
        Effect.forEach(
          walkers,
          (walker, index) => syncing(walker, known, stopped, new Dice(`${name} ${round}, walker ${index}`)),
          { concurrency: "unbounded" }
        )
      ],
      { concurrency: "unbounded" }
    ).pipe(actingAs(actor))

    const rows = yield* sql`
      SELECT id, title, rfc3339(canonical_changed_at) AS "updatedAt" FROM entity WHERE account_id = ${accountId}`
    const truth = new Map(
      rows.map((row) => [EntityId.make(String(row.id)), { title: String(row.title), updatedAt: String(row.updatedAt) }])
    )
    const [account] = yield* sql`SELECT version FROM account_state WHERE account_id = ${accountId}`
    const records = walked.map(({ begun, deliveries }) => ({ begun, deliveries, truth }))
    const verdicts = records.map(judge)
    const volume = {
      // The first transaction created the initial entities and does not count.
      committed: Number(account?.version) - 1,
      planned: Arr.countBy(outcomes.flat(), ({ ends }) => ends !== "committed"),
      entities: truth.size,
      walks: walked.map(({ walks }) => walks),
      pages: walked.map(({ pages }) => pages),
      deliveries: walked.map(({ deliveries }) => deliveries.length)
    }
    report(name, {
      ...volume,
      verdicts: verdicts.map((verdict) =>
        Object.fromEntries(Object.entries(verdict).map(([k, ids]) => [k, ids.length]))
      )
    })
    return { verdicts, volume, surprises: outcomes.flat().flatMap(({ surprise }) => surprise ?? []) }
  })

describe("the checker of walks", () => {
  const [a, b, c] = ["a", "b", "c"].map((digit) => EntityId.make(nilUuid.slice(0, -1) + digit))
  assert(a !== undefined && b !== undefined && c !== undefined)
  const row = (walk: number, id: EntityId, revision: number, title: string, updatedAt = title) => ({
    walk,
    id,
    revision,
    title,
    updatedAt
  })
  const truth = new Map([a, b].map((id) => [id, { title: "2", updatedAt: "2" }]))

  it("accepts entities that arrive late, again with a newer revision, or again in the next walk", () => {
    const deliveries = [row(0, a, 1, "1"), row(0, a, 2, "2"), row(1, a, 2, "2"), row(1, b, 4, "2")]
    assert.deepStrictEqual(judge({ begun: new Map([[0, [a]]]), deliveries, truth }), {
      skipped: [],
      repeated: [],
      stale: [],
      phantom: []
    })
  })

  it("reports entities that were skipped, repeated, outdated, or never existed", () => {
    const bad = [row(0, a, 1, "2"), row(0, a, 1, "1"), row(0, c, 1, "1")]
    assert.deepStrictEqual(judge({ begun: new Map(), deliveries: bad, truth }), {
      skipped: [b],
      repeated: [a],
      stale: [a],
      phantom: [c]
    })
    const changed = [row(0, a, 1, "2", "1"), row(0, b, 1, "2")]
    assert.deepStrictEqual(judge({ begun: new Map([[1, [a]]]), deliveries: changed, truth }), {
      skipped: [a],
      repeated: [],
      stale: [a],
      phantom: []
    })
  })
})

/**
 * Two clients that follow the changes, with small and medium pages, and one that starts from the beginning every time.
 */
const clients = <R>(list: ListPage<R>): ReadonlyArray<Walker<R>> => [
  { list, limit: 3, from: "latest" },
  { list, limit: 25, from: "latest" },
  { list, limit: 25, from: "nothing" }
]

describe.skipIf(!serverAnswers)("walks under 8 concurrent writers", () => {
  layer(layerServices(12), { excludeTestServices: true })((it) => {
    it.effect("skip nothing, repeat nothing, and end with a copy equal to the database", () =>
      Effect.gen(function* () {
        yield* dwell({ writeMillis: 6, commitMillis: 2 })
        const { surprises, verdicts, volume } = yield* race("Walks", clients(served), { movesEach })
        assert.deepStrictEqual(surprises, [], `seed ${seed}`)
        assert.isAtLeast(volume.committed, 0.8 * writers * movesEach)
        assert.isAtLeast(volume.planned, 0.05 * writers * movesEach)
        assert.isAtLeast(volume.entities, 400)
        assert.strictEqual(verdicts.length, 3)
        for (const walks of volume.walks) assert.isAtLeast(walks, 20)
        for (const pages of volume.pages) assert.isAtLeast(pages, 100)
        for (const verdict of verdicts) {
          assert.deepStrictEqual(verdict, { skipped: [], repeated: [], stale: [], phantom: [] }, `seed ${seed}`)
        }
      })
    )
  })

  layer(layerServices(12), { excludeTestServices: true })((it) => {
    it.effect.runIf(runsPlanted)("lose entities and changes with an updated_at cursor (planted fault)", () =>
      Effect.gen(function* () {
        yield* plantUpdatedAt
        yield* dwell({ writeMillis: 20, commitMillis: 2 })
        let lost = { skipped: 0, stale: 0 }
        for (let round = 0; round < 5 && (lost.skipped === 0 || lost.stale === 0); round++) {
          const { surprises, verdicts, volume } = yield* race("Walks, planted", clients(planted), {
            movesEach: 40,
            round
          })
          assert.deepStrictEqual(surprises, [], `seed ${seed}`)
          assert.isAtLeast(volume.committed, 200)
          lost = verdicts.reduce(
            ({ skipped, stale }, verdict) => ({
              skipped: skipped + verdict.skipped.length,
              stale: stale + verdict.stale.length
            }),
            lost
          )
        }
        assert.isAbove(lost.skipped, 0, `seed ${seed}`)
        assert.isAbove(lost.stale, 0, `seed ${seed}`)
      })
    )
  })
})
