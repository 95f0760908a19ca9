/**
 * A process that writes through the service until it is killed, and prints what it begins and what was acknowledged.
 * CRASH_DATABASE_URL or CRASH_DATA_DIR is the database. CRASH_CARELESS plants a fault: it acknowledges before it has
 * written, and writes in two transactions.
 */
import { Config, Effect, Layer, Option, Redacted, Schema } from "effect"
import { AccessRepo } from "../../src/access/AccessRepo.ts"
import { Accounts } from "../../src/access/Accounts.ts"
import * as Database from "../../src/database/Database.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import { CatalogChanges } from "../../src/drafts/CatalogChanges.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { HistoryRepo } from "../../src/drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { EntityId, StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { type Bundle, Line } from "./CrashRecord.ts"
import { endWithParent } from "./EndWithParent.ts"

const hands = 3
const bundlesEach = 5

const say = (line: Line) =>
  Effect.map(Effect.orDie(Schema.encode(Line)(line)), (text) => {
    // Writes to a pipe are synchronous: the line is out before the next statement runs.
    process.stdout.write(`${text}\n`)
  })

const write = Effect.gen(function* () {
  const careless = yield* Config.boolean("CRASH_CARELESS").pipe(Config.withDefault(false))
  const accounts = yield* Accounts
  const changes = yield* CatalogChanges
  const stores = yield* StoresRepo
  const account = (yield* accounts.list)[0] ?? (yield* accounts.create("Crash"))
  const domain = "a.example"
  const store = (yield* stores.list(account.id))[0] ?? {
    id: yield* mintId(StoreId),
    domain,
    name: domain,
    platform: "none",
    status: "linked",
    primary_locale: "en",
    locales: ["en"],
    currency: "EUR",
    last_imported_at: null
  }
  if ((yield* stores.list(account.id)).length === 0) yield* stores.link(account.id, store)

  const hand = Effect.gen(function* () {
    const bundles: Array<Bundle> = []

    const parts = ({ collection, media, number, product, variant }: Bundle) => ({
      first: [
        CatalogChange.SetAttributes({ entityId: product, values: { title: `${number}` } }),
        CatalogChange.SetAttributes({ entityId: variant, values: { sku: `${number}` } })
      ],
      second: [
        CatalogChange.SetOverrides({ entityId: product, storeId: store.id, values: { title: `${number}` } }),
        CatalogChange.SetAttributes({ entityId: media, values: { alt: `${number}` } }),
        CatalogChange.SetAttributes({ entityId: collection, values: { title: `${number}` } }),
        CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: media, storeIds: [store.id] }] }),
        CatalogChange.SetMembers({ collectionId: collection, productIds: [product] })
      ]
    })
    const beginnings = ({ collection, media, product, variant }: Bundle) => [
      CatalogChange.CreateEntity({ id: product, kind: "product", parentId: null, values: {} }),
      CatalogChange.AddToStore({ entityId: product, storeId: store.id }),
      CatalogChange.CreateEntity({ id: variant, kind: "variant", parentId: product, values: {} }),
      CatalogChange.CreateEntity({ id: media, kind: "media", parentId: null, values: {} }),
      CatalogChange.CreateEntity({ id: collection, kind: "collection", parentId: null, values: {} })
    ]

    for (let number = 1; ; number++) {
      const isNew = number <= bundlesEach
      const old = bundles[number % bundlesEach]
      const bundle: Bundle =
        isNew || old === undefined
          ? {
              product: yield* mintId(EntityId),
              variant: yield* mintId(EntityId),
              media: yield* mintId(EntityId),
              collection: yield* mintId(EntityId),
              number
            }
          : { ...old, number }
      const { first, second } = parts(bundle)
      const all = [...(isNew ? beginnings(bundle) : []), ...first]
      yield* say({ _tag: "Begun", product: bundle.product, number })
      if (careless) {
        yield* say({ _tag: "Done", bundle })
        yield* changes.apply(all)
        yield* changes.apply(second)
      } else {
        yield* changes.apply([...all, ...second])
        yield* say({ _tag: "Done", bundle })
      }
      bundles[number % bundlesEach] = bundle
    }
  })

  yield* Effect.all(
    Array.from({ length: hands }, () => hand),
    { concurrency: "unbounded" }
  ).pipe(Effect.provideService(CurrentActor, { _tag: "Cli", accountId: account.id }))
})

const DatabaseLive = Layer.unwrapEffect(
  Effect.gen(function* () {
    const url = yield* Config.string("CRASH_DATABASE_URL").pipe(Config.map(Redacted.make), Config.option)
    const dataDirectory = Option.isSome(url) ? "" : yield* Config.string("CRASH_DATA_DIR")
    return Database.layer({ url, dataDirectory, maxConnections: hands })
  })
)

endWithParent()

const Writing = Layer.mergeAll(Accounts.layer, CatalogChanges.layer).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      AccessRepo.layer,
      DraftsRepo.layer,
      HistoryRepo.layer,
      ImportLockRepo.layer,
      StoresRepo.layer,
      Transaction.layer
    )
  ),
  Layer.provideMerge(Migrations.layer),
  Layer.provide(DatabaseLive)
)

const end = Effect.sync((): void => process.exit(1))

Effect.runFork(
  write.pipe(
    Effect.provide(Writing),
    Effect.tapErrorCause(Effect.logError),
    Effect.onExit(() => end)
  )
)
