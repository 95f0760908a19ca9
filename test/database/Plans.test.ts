import { createHash } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Context, Effect, Layer, Logger, Option, Redacted } from "effect"
import { afterAll } from "vitest"
import { RepositoriesOnDatabase, Services } from "../../src/App.ts"
import * as Database from "../../src/database/Database.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import type { Actor } from "../../src/domain/Actor.ts"
import { EntityKind } from "../../src/domain/Attribute.ts"
import { type AccountId, EntityId, nilUuid, StoreId } from "../../src/domain/Ids.ts"
import { terms } from "../../src/domain/SearchText.ts"
import { fromMillis, type Timestamp } from "../../src/domain/Timestamp.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { AccessRepo } from "../../src/repos/AccessRepo.ts"
import { CatalogRepo, type ListFilters } from "../../src/repos/CatalogRepo.ts"
import { DraftsRepo } from "../../src/repos/DraftsRepo.ts"
import { HistoryRepo } from "../../src/repos/HistoryRepo.ts"
import { ImportsRepo } from "../../src/repos/ImportsRepo.ts"
import { StoresRepo } from "../../src/repos/StoresRepo.ts"
import { FaultInjector } from "../../src/services/FaultInjector.ts"
import { mintId } from "../../src/services/Identifiers.ts"
import { Imports } from "../../src/services/Imports.ts"
import { Stores } from "../../src/services/Stores.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { report } from "../faults/Dice.ts"
import { layerPool } from "../faults/ServerServices.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { countsBeside, fillLargeCatalog, largeCatalog } from "./LargeCatalog.ts"
import { outline, type RecordedPlan, recordPlans, reportPlans, scannedBy } from "./RecordedPlans.ts"

const products = amount(20_000, 1_000_000)
/** No statement may scan a larger table from end to end. */
const mostRowsScanned = 10_000
/** PostgreSQL plans a prepared statement for its parameters five times, and then decides whether to keep one plan. */
const rounds = 7

/** A transaction of an import owns a thousand, for so many of a small table a scan of it is the quicker way. */
const ownersAtOnce = amount(20, 1_000)

const folder = mkdtempSync(join(tmpdir(), "plans-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const recorded = recordPlans()
const called = new Set<string>()
const callable = new Set<string>()

/** Every repository, each of whose members tells when it is taken: a new one that nothing here runs is found. */
const Watched = Layer.map(RepositoriesOnDatabase, (repositories) => {
  const watched = [...repositories.unsafeMap].map(([key, repository]): [string, unknown] => {
    // The shops of the demo stand for a platform, which is somebody else's: they are as large as the demo.
    if (key === DemoShops.key) return [key, repository]
    for (const name of Object.keys(repository)) callable.add(`${key}.${name}`)
    const get = (target: object, name: string) => {
      called.add(`${key}.${name}`)
      return Reflect.get(target, name)
    }
    return [key, new Proxy(repository, { get })]
  })
  return Context.unsafeMake(new Map(watched)) as typeof repositories
})

const Filled = Layer.effectDiscard(
  Effect.gen(function* () {
    const url = Redacted.value(yield* TestDatabaseUrl)
    yield* Effect.promise(() => fillLargeCatalog(url, products))
    yield* Effect.promise(() => reportPlans(url))
  })
).pipe(Layer.provide(Migrations.layer), Layer.provide(layerPool(1)))

/** All services on one connection, whose statements are all planned as often as they run. */
const Live = Imports.layer.pipe(
  Layer.provide(FaultInjector.layer),
  Layer.provideMerge(Services),
  Layer.provideMerge(Watched),
  Layer.provideMerge(layerPool(1)),
  Layer.provide(Filled),
  Layer.provideMerge(layerServerUrl),
  Layer.provideMerge(Logger.remove(Logger.defaultLogger))
)

/** An account to read, and what of it to ask for. */
interface Sample {
  readonly accountId: AccountId
  readonly since: ReadonlyArray<Timestamp>
  readonly collections: ReadonlyArray<EntityId>
  readonly ids: Readonly<Record<EntityKind, EntityId>>
  readonly storeId: StoreId
}

/** Of many records and of one, of common words and rare ones, short ones, ones of a script without blanks, and of none. */
const searches = ["tent", "tent 4711", "4711", "xl", "x", "手机", "sku-4711", "qqqq zzzz"].map(terms)

/** Every combination of filters; `withSearch`: those too whose statements are planned for their term each time. */
const filtersOf = (kind: EntityKind, { collections, since }: Sample, withSearch: boolean): ReadonlyArray<ListFilters> =>
  [undefined, ...since].flatMap((updatedSince) =>
    ([undefined, "failed", "published"] as const).flatMap((status) =>
      [undefined, ...(kind === "product" ? collections : [])].flatMap((collectionId) =>
        [undefined, ...(withSearch ? searches : [])].map((needles) => ({ updatedSince, status, collectionId, needles }))
      )
    )
  )

const read = (sample: Sample, withSearch: boolean) =>
  Effect.gen(function* () {
    const catalog = yield* CatalogRepo
    const stores = yield* StoresRepo
    const { accountId, ids, storeId } = sample
    for (const kind of EntityKind.literals) {
      // 37 is no usual limit.
      for (const filters of filtersOf(kind, sample, withSearch))
        for (const limit of withSearch ? [50, 37] : [50]) yield* catalog.page(accountId, kind, filters, 0, limit)
      yield* catalog.page(accountId, kind, {}, products, 250)
      yield* catalog.find(accountId, kind, ids[kind])
      yield* catalog.versions(accountId, kind, ids[kind])
      yield* catalog.versions(accountId, kind, ids[kind], storeId)
    }
    yield* stores.list(accountId)
    yield* (yield* HistoryRepo).list(accountId, ids.product, 50)
    yield* stores.find(accountId, storeId)
  })

const { accountId, collection, media, product, stores, variant } = largeCatalog
const nowhere = StoreId.make(nilUuid)
const [firstStore = nowhere, secondStore = nowhere] = stores
const large: Sample = {
  accountId,
  since: [fromMillis(Date.UTC(2026, 0, 1)), fromMillis(Date.UTC(2026, 0, 5, 8) + 2 * products - 100)],
  collections: [collection(1), collection(countsBeside(products).collections)],
  ids: { product: product(4_711), variant: variant(4_711), collection: collection(1), media: media(4_711) },
  storeId: firstStore
}
const owner: Actor = { _tag: "Cli", accountId }

/** A new account with one record of each kind. */
const small = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
  const entity = (kind: EntityKind, of: EntityId | null = null) => anEntity(kind, {}, { on: stores, of })
  return yield* Effect.gen(function* () {
    const productId = yield* entity("product")
    const collectionId = yield* entity("collection")
    return {
      accountId,
      since: [fromMillis(0)],
      collections: [collectionId],
      ids: {
        product: productId,
        variant: yield* entity("variant", productId),
        collection: collectionId,
        media: yield* entity("media")
      },
      storeId: stores[0].id
    }
  }).pipe(actingAs(actor))
})

const keys = (round: number) =>
  Effect.gen(function* () {
    const access = yield* AccessRepo
    const hash = createHash("sha256")
      .update(`${4_711 + round}`)
      .digest("hex")
    const [key] = (yield* access.findCredentials([hash])).values()
    assert(key !== undefined)
    yield* access.recordUse(key.accountId, key.keyId)
    yield* access.listKeys(key.accountId)
    yield* access.revokeKey(key.accountId, key.keyId)
    yield* access.accounts
  })

const draft = (round: number) =>
  Effect.gen(function* () {
    const { apply } = yield* CatalogChanges
    const entityId = product(101 + round)
    const storeId = firstStore
    const [id, one, two] = yield* Effect.all([mintId(EntityId), mintId(EntityId), mintId(EntityId)])
    const entries = [media(7), media(8)].map((mediaId) => ({ mediaId, storeIds: [storeId] }))
    yield* apply([
      CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "New" } }),
      ...[one, two].map((id) => CatalogChange.CreateEntity({ id, kind: "variant", parentId: entityId, values: {} })),
      CatalogChange.AddToStore({ entityId: id, storeId }),
      CatalogChange.SetAttributes({ entityId, values: { title: `Changed ${round}` } }),
      CatalogChange.SetGallery({ entityId, entries }),
      CatalogChange.SetMembers({ collectionId: collection(2), productIds: [id, entityId] }),
      CatalogChange.OrderVariants({ productId: entityId, variantIds: [two, one, variant(101 + round)] }),
      CatalogChange.AcceptPublish({ entityId, storeId })
    ])
    yield* apply([
      CatalogChange.SetOverrides({ entityId, storeId: secondStore, values: { title: `There ${round}` } }),
      CatalogChange.RemoveFromStore({ entityId, storeId }),
      CatalogChange.SetGallery({ entityId, entries: [] }),
      CatalogChange.SetMembers({ collectionId: collection(2), productIds: [] })
    ])
    yield* apply([CatalogChange.AskPublish({ entityId, storeId: secondStore })])
    yield* apply([
      CatalogChange.RefusePublish({ entityId, storeId: secondStore, error: { code: "invalid", message: "Refused" } })
    ])
    const half = ownersAtOnce / 2
    const owners = [...Arr.makeBy(half, (n) => product(1 + n * 17)), ...Arr.makeBy(half, (n) => variant(1 + n * 19))]
    yield* (yield* DraftsRepo).lock(
      accountId,
      owners,
      Arr.makeBy(half, (n) => media(1 + n * 11))
    )
  }).pipe(actingAs(owner))

const importing = (round: number) =>
  Effect.gen(function* () {
    const imports = yield* Imports
    const path = join(folder, `${round}.csv`)
    const known = Arr.makeBy(ownersAtOnce / 4, (n) => [`product-${1_000 + n}`, `sku-${1_000 + n}`])
    const unknown = Arr.makeBy(ownersAtOnce / 4, (n) => [`new-${round}-${n}`, `new-${round}-${n}`])
    const lines = [...known, ...unknown].map(
      ([handle, sku]) => `${handle},Imported ${round},${sku},5.00,https://cdn.example/${handle}.jpg`
    )
    writeFileSync(path, ["Handle,Title,Variant SKU,Variant Price,Image Src", ...lines].join("\n"))
    const quiet = () => Effect.void
    const discarded = yield* imports.csv(path, "store-1.example", quiet)
    yield* imports.discard(discarded.id)
    const accepted = yield* imports.csv(path, "store-1.example", quiet)
    const { applied } = yield* imports.accept(accepted.id, quiet)
    assert.strictEqual(applied, known.length + unknown.length)
    yield* imports.list
    yield* imports.resume(Option.none())
    yield* imports.discardAbandoned
    yield* imports.forgetStaged
    // What only an interrupted process says.
    yield* (yield* ImportsRepo).release(owner.accountId, accepted.id)

    const stores = yield* Stores
    const domain = "store-of-few.example"
    yield* stores.link({ domain })
    yield* imports.accept((yield* imports.csv(path, domain, quiet)).id, quiet)
    yield* stores.unlink(domain)
    const { entities } = yield* stores.link({ domain })
    assert.isAtLeast(entities, lines.length)
    yield* stores.unlink(domain)
  }).pipe(actingAs(owner))

/** Tables of more rows than may be scanned, with their rows. */
const largeTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    SELECT relname AS name, reltuples::int AS rows FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > ${mostRowsScanned}`
  return new Map(rows.map(({ name, rows }) => [String(name), Number(rows)]))
})

/** Each statement that scanned one of these tables, with its plan. */
const findings = (plans: ReadonlyArray<RecordedPlan>, tables: ReadonlyMap<string, number>) => [
  ...new Map(
    plans
      .filter((plan) => scannedBy(plan).some((table) => tables.has(table)))
      .map((found) => [found.text, `${found.text}\n${outline(found)}`])
  ).values()
]

describe.skipIf(!serverAnswers)(`statements on ${products} products`, () => {
  layer(Live, { excludeTestServices: true })((it) => {
    it.effect("scan no large table from end to end, whether planned for their parameters or for any", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const tables = yield* largeTables
        assert.hasAllKeys(Object.fromEntries(tables), [
          ...["api_key", "collection_member", "entity", "entity_media", "import_item", "store_version"]
        ])
        assert.isAtLeast(tables.get("entity") ?? 0, 2 * products)
        for (let round = 0; round < rounds; round++) {
          const isFirst = round === 0
          // First every plan that fits its parameters, which a connection has for a statement's first five runs.
          yield* sql.unsafe(`SET plan_cache_mode = ${isFirst ? "force_custom_plan" : "auto"}`)
          yield* read(yield* small, isFirst)
          yield* read(large, isFirst)
          yield* keys(round)
          yield* draft(round)
          yield* importing(round)
          yield* Database.ping
          yield* Migrations.pending
        }
        assert.sameMembers([...called], [...callable], "a repository has a member that nothing here runs")
        const [kept] = yield* sql`SELECT count(*) AS statements FROM pg_prepared_statements WHERE generic_plans > 0`
        const texts = new Set(recorded.map(({ text }) => text))
        report("Plans", { products, runs: recorded.length, texts: texts.size, ...kept })
        assert.isAtLeast(texts.size, 100)
        assert.isAtLeast(Number(kept?.statements), 20)
        assert.deepStrictEqual(findings(recorded, tables), [])
      })
    )

    for (const [index, use] of Object.entries({
      entity_sku: Effect.flatMap(ImportsRepo, ({ match }) => match(accountId, ["sku-4711"], [])),
      entity_variants: Effect.flatMap(DraftsRepo, ({ lock }) => lock(accountId, [product(4_711)], []))
    }))
      it.effect(`are found to scan when the index ${index} is missing`, () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const tables = yield* largeTables
          const scans = (statement: typeof use) =>
            Effect.gen(function* () {
              const before = recorded.length
              yield* statement
              return findings(recorded.slice(before), tables)
            })
          const without = yield* Effect.zipRight(sql.unsafe(`DROP INDEX ${index}`), scans(use)).pipe(
            Effect.flatMap(Effect.fail),
            sql.withTransaction,
            Effect.flip
          )
          assert(Array.isArray(without))
          assert.isAtLeast(without.length, 1)
          assert.deepStrictEqual(yield* scans(use), [])
        })
      )
  })
})
