import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Redacted } from "effect"
import { emptyAccess, layerAccessRepoMemory } from "../access/AccessRepo.memory.ts"
import { emptyDeletion, layerAccountDeletionRepoMemory } from "../access/AccountDeletionRepo.memory.ts"
import { type BudgetSizes, RateBudget } from "../budgets/RateBudget.ts"
import { emptyBulkItems, layerBulkItemsRepoMemory } from "../bulk/BulkItemsRepo.memory.ts"
import { layerCatalogRepoMemory } from "../catalog/CatalogRepo.memory.ts"
import { emptyCatalog } from "../catalog/CatalogState.memory.ts"
import { emptyActivity, layerActivityRepoMemory } from "../connections/ActivityRepo.memory.ts"
import { layerUndoRepoMemory } from "../connections/UndoRepo.memory.ts"
import { type MemorySlices, MemoryStore } from "../database/MemoryStore.memory.ts"
import { layerMemoryTransaction } from "../database/MemoryTransaction.memory.ts"
import { layerDefinitionsRepoMemory } from "../drafts/DefinitionsRepo.memory.ts"
import { emptyFeed, layerDraftsRepoMemory } from "../drafts/DraftsRepo.memory.ts"
import { layerEntityUsesRepoMemory } from "../drafts/EntityUsesRepo.memory.ts"
import { emptyHistory, layerHistoryRepoMemory } from "../drafts/HistoryRepo.memory.ts"
import { emptyImportLock, layerImportLockRepoMemory } from "../drafts/ImportLockRepo.memory.ts"
import { emptyDefinitions } from "../drafts/MirroredDefinitions.memory.ts"
import { emptyDrops, layerDropsRepoMemory } from "../drops/DropsRepo.memory.ts"
import { layerExportItemsRepoMemory } from "../exports/ExportItemsRepo.memory.ts"
import { layerFeedRepoMemory } from "../feed/FeedRepo.memory.ts"
import { emptyHealth, layerHealthRepoMemory } from "../health/HealthRepo.memory.ts"
import { Readiness } from "../http/Health.ts"
import { HttpLive } from "../http/Http.ts"
import { layerImportJobOwner } from "../imports/ImportJobs.ts"
import { Imports } from "../imports/Imports.ts"
import { emptyImports, layerImportsRepoMemory } from "../imports/ImportsRepo.memory.ts"
import { emptyPulledRecords, layerPulledRecordsRepoMemory } from "../imports/PulledRecordsRepo.memory.ts"
import { layerFoundEntitiesRepoMemory } from "../jobs/FoundEntitiesRepo.memory.ts"
import { emptyJobs, layerJobsRepoMemory } from "../jobs/JobsRepo.memory.ts"
import { AddedPlatforms } from "../platform/AddedPlatforms.ts"
import { layerDemoShopsMemory } from "../platform/demo/DemoShops.memory.ts"
import type { PlatformAdapter } from "../platform/PlatformAdapter.ts"
import { layerOfflinePlatforms } from "../platform/Platforms.ts"
import { emptyTranslations } from "../platform/Translations.memory.ts"
import { emptyPublishing } from "../publishing/MemoryPublication.memory.ts"
import { layerPublicationsRepoMemory } from "../publishing/PublicationsRepo.memory.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { Services } from "../Services.ts"
import { layerMirrorRepoMemory } from "../storedata/MirrorRepo.memory.ts"
import { layerStoreDataRepoMemory } from "../storedata/StoreDataRepo.memory.ts"
import { emptyStoreData } from "../storedata/StoreDataState.memory.ts"
import { SecretKeySource } from "../stores/SecretBox.ts"
import { emptyStores, layerStoresRepoMemory } from "../stores/StoresRepo.memory.ts"
import { emptyWebhooks, layerWebhooksRepoMemory } from "../webhooks/WebhooksRepo.memory.ts"

const emptyAccount: MemorySlices = {
  ...emptyCatalog,
  ...emptyDefinitions,
  ...emptyFeed,
  ...emptyHistory,
  ...emptyImportLock,
  ...emptyImports,
  ...emptyPulledRecords,
  ...emptyTranslations,
  ...emptyStores,
  ...emptyHealth,
  ...emptyPublishing,
  ...emptyAccess,
  ...emptyDeletion,
  ...emptyActivity,
  ...emptyStoreData,
  ...emptyDrops,
  ...emptyJobs,
  ...emptyBulkItems,
  ...emptyWebhooks
}

/**
 * The in-memory layers of all repositories and platforms. They share one store, which is empty at first, and call nothing
 * outside the process. They pass the same contract suites as the SQL layers.
 */
export const MemoryRepositories = layerImportJobOwner.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      layerAccessRepoMemory(emptyAccount),
      layerAccountDeletionRepoMemory,
      layerActivityRepoMemory,
      layerBulkItemsRepoMemory,
      layerCatalogRepoMemory,
      layerDefinitionsRepoMemory,
      layerOfflinePlatforms.pipe(Layer.provideMerge(layerDemoShopsMemory)),
      layerDraftsRepoMemory,
      layerDropsRepoMemory,
      layerEntityUsesRepoMemory,
      layerFeedRepoMemory,
      layerFoundEntitiesRepoMemory,
      layerExportItemsRepoMemory,
      layerHealthRepoMemory,
      layerHistoryRepoMemory,
      layerImportLockRepoMemory,
      layerImportsRepoMemory,
      layerJobsRepoMemory,
      layerPublicationsRepoMemory,
      layerMirrorRepoMemory,
      layerPulledRecordsRepoMemory,
      layerStoreDataRepoMemory,
      layerStoresRepoMemory,
      layerMemoryTransaction,
      layerUndoRepoMemory,
      layerWebhooksRepoMemory
    )
  ),
  Layer.provideMerge(MemoryStore.layer)
)

const usual: BudgetSizes = { perKey: 120, perAccount: 240 }

/** Credentials and secrets of webhooks are encrypted with this key, unless the test provides another source. */
const layerSecretKey = Layer.effect(
  SecretKeySource,
  Effect.map(SecretKeySource, (given) =>
    given._tag === "None" ? { _tag: "Setting" as const, key: Redacted.make("0".repeat(64)) } : given
  )
)

/** The request budgets of `testServices`, and the adapters of further platforms that its stores can be on. */
export interface TestSettings extends Partial<BudgetSizes> {
  readonly adapters?: ReadonlyArray<PlatformAdapter>
}

/**
 * Every service on the in-memory repositories. By default, 120 requests per key and 240 per account are allowed in a minute, and stores can
 * be on the demo platform.
 */
export const testServices = ({ adapters = [], ...budgets }: TestSettings = {}) =>
  Layer.mergeAll(
    Services,
    Imports.layer.pipe(Layer.provide(FaultInjector.layer), Layer.provide(Services)),
    RateBudget.layerProcess({ ...usual, ...budgets })
  ).pipe(
    Layer.provideMerge(MemoryRepositories),
    Layer.provide(layerSecretKey),
    Layer.provide(Layer.succeed(AddedPlatforms, adapters))
  )

/** `testServices` with its defaults. */
export const TestServices = testServices()

/** `testServices` behind the real REST surface, on a free port. The layer's HttpClient sends requests to that server. */
export const testServer = (settings: TestSettings = {}) =>
  HttpLive.pipe(
    Layer.provide(Readiness.layer(Effect.void)),
    Layer.provideMerge(testServices(settings)),
    Layer.provideMerge(NodeHttpServer.layerTest)
  )

/** `testServer` with its defaults. */
export const TestServer = testServer()
