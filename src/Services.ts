import { join } from "node:path"
import { Duration, Effect, Layer, Option } from "effect"
import type { AppConfig } from "./AppConfig.ts"
import { AccessRepo } from "./access/AccessRepo.ts"
import { AccountDeletion } from "./access/AccountDeletion.ts"
import { AccountDeletionRepo } from "./access/AccountDeletionRepo.ts"
import { Accounts } from "./access/Accounts.ts"
import { ApiKeys } from "./access/ApiKeys.ts"
import { SecondFactorsRepo } from "./access/SecondFactorsRepo.ts"
import { Sessions } from "./access/Sessions.ts"
import { Users } from "./access/Users.ts"
import { UsersRepo } from "./access/UsersRepo.ts"
import * as AdminInProcess from "./admin/AdminInProcess.ts"
import { BulkItemsRepo } from "./bulk/BulkItemsRepo.ts"
import { BulkJobs } from "./bulk/BulkJobs.ts"
import { Catalog } from "./catalog/Catalog.ts"
import { CatalogRepo } from "./catalog/CatalogRepo.ts"
import { Cursors } from "./catalog/Cursors.ts"
import { MerchantLists } from "./catalog/MerchantLists.ts"
import { MerchantListsRepo } from "./catalog/MerchantListsRepo.ts"
import { SavedViews } from "./catalog/SavedViews.ts"
import { SavedViewsRepo } from "./catalog/SavedViewsRepo.ts"
import { Activity } from "./connections/Activity.ts"
import { ActivityRepo } from "./connections/ActivityRepo.ts"
import { Authorization } from "./connections/Authorization.ts"
import { Connections } from "./connections/Connections.ts"
import { ConnectionsRepo } from "./connections/ConnectionsRepo.ts"
import { OAuthRepo } from "./connections/OAuthRepo.ts"
import { Undo } from "./connections/Undo.ts"
import { UndoRepo } from "./connections/UndoRepo.ts"
import * as Database from "./database/Database.ts"
import { whyLost } from "./database/DataVolume.ts"
import { LeaseHolder, onlyHolder } from "./database/LeaseHolder.ts"
import { LeasesRepo } from "./database/LeasesRepo.ts"
import * as Migrations from "./database/Migrations.ts"
import { Transaction } from "./database/Transaction.ts"
import { Demo } from "./demo/Demo.ts"
import { DemoEdits } from "./demo/DemoEdits.ts"
import { DemoFailures } from "./demo/DemoFailures.ts"
import { CatalogChanges } from "./drafts/CatalogChanges.ts"
import { DefinitionsRepo } from "./drafts/DefinitionsRepo.ts"
import { Drafts } from "./drafts/Drafts.ts"
import { DraftsRepo } from "./drafts/DraftsRepo.ts"
import { EntityUsesRepo } from "./drafts/EntityUsesRepo.ts"
import { HistoryRepo } from "./drafts/HistoryRepo.ts"
import { ImportLockRepo } from "./drafts/ImportLockRepo.ts"
import { MetafieldDefinitions, OwnDefinitions } from "./drafts/MetafieldDefinitions.ts"
import { Drops } from "./drops/Drops.ts"
import { DropsRepo } from "./drops/DropsRepo.ts"
import { layerReopenDrops } from "./drops/ReopenDrops.ts"
import { AccountEventsRepo } from "./events/AccountEventsRepo.ts"
import { ExportItemsRepo } from "./exports/ExportItemsRepo.ts"
import { ExportJobs } from "./exports/ExportJobs.ts"
import { Exports } from "./exports/Exports.ts"
import { ExportsRepo } from "./exports/ExportsRepo.ts"
import { ChangeFeed } from "./feed/ChangeFeed.ts"
import { FeedRepo } from "./feed/FeedRepo.ts"
import { AutomaticScans } from "./health/AutomaticScans.ts"
import { DataHealth } from "./health/DataHealth.ts"
import { HealthRepo } from "./health/HealthRepo.ts"
import { Remediation } from "./health/Remediation.ts"
import { layerScanAfterStoreJob } from "./health/ScanAfterStoreJob.ts"
import { layerImportJobOwner } from "./imports/ImportJobs.ts"
import { Imports } from "./imports/Imports.ts"
import { ImportsRepo } from "./imports/ImportsRepo.ts"
import { PulledRecordsRepo } from "./imports/PulledRecordsRepo.ts"
import { FoundEntitiesRepo } from "./jobs/FoundEntitiesRepo.ts"
import { Jobs } from "./jobs/Jobs.ts"
import { JobsRepo } from "./jobs/JobsRepo.ts"
import { DemoShops } from "./platform/demo/DemoShops.ts"
import { layerModules, layerPlatforms } from "./platform/Platforms.ts"
import { JobWorker } from "./programs/JobWorker.ts"
import { Programs } from "./programs/Programs.ts"
import { PublicationsRepo } from "./publishing/PublicationsRepo.ts"
import { Publishing } from "./publishing/Publishing.ts"
import { PublishJobs } from "./publishing/PublishJobs.ts"
import { FaultInjector } from "./runtime/FaultInjector.ts"
import { Mirror } from "./storedata/Mirror.ts"
import { MirrorRepo } from "./storedata/MirrorRepo.ts"
import { SalesChannels } from "./storedata/SalesChannels.ts"
import { StoreData } from "./storedata/StoreData.ts"
import { StoreDataRepo } from "./storedata/StoreDataRepo.ts"
import { SecretBox, SecretKeySource } from "./stores/SecretBox.ts"
import { StoreAccess } from "./stores/StoreAccess.ts"
import { StoreRecords } from "./stores/StoreRecords.ts"
import { Stores } from "./stores/Stores.ts"
import { StoresRepo } from "./stores/StoresRepo.ts"
import { PrivateReceivers } from "./webhooks/Addresses.ts"
import { Webhooks } from "./webhooks/Webhooks.ts"
import { WebhooksRepo } from "./webhooks/WebhooksRepo.ts"
import { WebhookWorker } from "./webhooks/WebhookWorker.ts"

const Repositories = Layer.mergeAll(
  AccessRepo.layer,
  AccountDeletionRepo.layer,
  AccountEventsRepo.layer,
  ActivityRepo.layer,
  BulkItemsRepo.layer,
  CatalogRepo.layer,
  ConnectionsRepo.layer,
  DefinitionsRepo.layer,
  DropsRepo.layer,
  FeedRepo.layer,
  EntityUsesRepo.layer,
  FoundEntitiesRepo.layer,
  layerPlatforms.pipe(Layer.provideMerge(DemoShops.layer), Layer.provide(Transaction.layer)),
  DraftsRepo.layer,
  ExportItemsRepo.layer,
  ExportsRepo.layer.pipe(Layer.provide(Transaction.layer)),
  HealthRepo.layer,
  HistoryRepo.layer,
  ImportLockRepo.layer,
  ImportsRepo.layer,
  JobsRepo.layer,
  LeasesRepo.layer,
  MerchantListsRepo.layer,
  OAuthRepo.layer,
  PublicationsRepo.layer,
  MirrorRepo.layer,
  StoreDataRepo.layer,
  PulledRecordsRepo.layer,
  SavedViewsRepo.layer,
  SecondFactorsRepo.layer,
  StoresRepo.layer,
  Transaction.layer,
  UndoRepo.layer,
  UsersRepo.layer,
  WebhooksRepo.layer
)

/** The SQL repositories, the clients of the stores' platforms, and the features that own jobs. */
export const RepositoriesOnDatabase = Layer.provideMerge(layerImportJobOwner, Repositories)

const CoreServices = Layer.mergeAll(
  Accounts.layer,
  Activity.layer,
  ApiKeys.layer,
  Catalog.layer,
  CatalogChanges.layer,
  ChangeFeed.layer.pipe(Layer.provide(Cursors.layer)),
  Cursors.layer,
  DemoEdits.layer,
  DataHealth.layer,
  DemoFailures.layer,
  Publishing.layer.pipe(Layer.provideMerge(StoreAccess.layer), Layer.provide(FaultInjector.layer)),
  Mirror.layer,
  StoreData.layer,
  OwnDefinitions.layer.pipe(Layer.provide(CatalogChanges.layer)),
  Stores.layer.pipe(
    Layer.provide(Layer.mergeAll(layerReopenDrops, layerScanAfterStoreJob, StoreAccess.layer)),
    Layer.provideMerge(Jobs.layer),
    Layer.provide(FaultInjector.layer)
  )
)

/** Everything but the surfaces, on repositories of any kind. */
export const Services = Layer.mergeAll(
  AccountDeletion.layer,
  Programs.layer,
  Webhooks.layer,
  WebhookWorker.layer,
  JobWorker.layer.pipe(Layer.provide(layerScanAfterStoreJob), Layer.provide(FaultInjector.layer))
).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      Demo.layer,
      StoreRecords.layer.pipe(Layer.provideMerge(Drafts.layer)),
      Drops.layer.pipe(Layer.provide(FaultInjector.layer)),
      PublishJobs.layer,
      ExportJobs.layer,
      BulkJobs.layer,
      Remediation.layer.pipe(Layer.provide(FaultInjector.layer)),
      SalesChannels.layer,
      Undo.layer.pipe(Layer.provide(FaultInjector.layer))
    )
  ),
  Layer.provideMerge(CoreServices),
  Layer.provideMerge(MetafieldDefinitions.layer),
  Layer.provideMerge(SecretBox.layer)
)

/**
 * At the start, ends the leases of killed processes of this host, so that other processes can take over their work at once. A node of a
 * cluster that does not answer must not prevent the start; the sweeper tries again.
 */
const EndedLeases = Layer.effectDiscard(
  Effect.flatMap(LeasesRepo, ({ endOfGone }) => endOfGone).pipe(
    Effect.disconnect,
    Effect.timeout("5 seconds"),
    Effect.catchAllCause((cause) => Effect.logWarning("Ending the leases of processes that are gone failed", cause))
  )
)

/** All services without the surfaces, on a migrated database. Users, connections and files of exports have no in-memory repositories. */
export const ServicesOnDatabase = Layer.mergeAll(
  Authorization.layer,
  Connections.layer,
  EndedLeases,
  Exports.layer.pipe(Layer.provide(MerchantLists.layer)),
  Imports.layer,
  MerchantLists.layer,
  SavedViews.layer,
  Sessions.layer,
  Users.layer
).pipe(
  Layer.provide(FaultInjector.layer),
  Layer.provideMerge(Services),
  Layer.provideMerge(RepositoriesOnDatabase),
  Layer.provideMerge(Migrations.layer)
)

/** Provides the source of the key that encrypts store credentials. */
const secretKeyOf = ({ databaseUrl, dataDirectory, previousSecretKey, secretKey }: AppConfig) =>
  Layer.succeed(
    SecretKeySource,
    Option.match(secretKey, {
      onSome: (key) => ({
        _tag: "Setting" as const,
        key,
        ...(Option.isSome(previousSecretKey) && { previous: previousSecretKey.value })
      }),
      onNone: () =>
        Option.isSome(databaseUrl)
          ? { _tag: "None" as const }
          : { _tag: "File" as const, path: join(dataDirectory, "secret.key") }
    })
  )

/** `ServicesOnDatabase` with the encryption key, the added platforms and the private receivers of the settings. */
export const servicesOf = (config: AppConfig) =>
  ServicesOnDatabase.pipe(
    Layer.provide(Layer.succeed(PrivateReceivers, config.webhookPrivateHosts)),
    Layer.provide(Layer.succeed(AutomaticScans, config.automaticScans)),
    Layer.provide(layerModules(config.platformModules)),
    Layer.provide(secretKeyOf(config))
  )

/** Opens the database of the settings. If that fails, the error names the setting. */
export const databaseOf = (config: AppConfig, startPatience = Duration.zero) => {
  const {
    databaseReadUrl,
    databaseUrl: url,
    dataDirectory,
    dataVolume,
    deadlines,
    nodeAccess,
    pooler,
    poolSizes,
    shares
  } = config
  const readUrl = Option.getOrUndefined(databaseReadUrl)
  const loss = Option.isNone(url) && dataVolume === "required" ? whyLost(dataDirectory) : undefined
  if (loss !== undefined)
    return Layer.fail(
      new Database.DatabaseUnreachable({
        message: `DATA_DIR: ${dataDirectory} ${loss}, so the embedded database would be lost with the container: mount a volume there, or set DATABASE_URL to a PostgreSQL server.`
      })
    )
  const setting = Option.isSome(url) ? "DATABASE_URL" : "DATA_DIR"
  const holder = Option.isSome(url) ? Layer.empty : Layer.sync(LeaseHolder, onlyHolder)
  const database = Layer.mapError(
    Database.layer({ url, readUrl, dataDirectory, deadlines, nodeAccess, pooler, poolSizes, shares, startPatience }),
    (error) =>
      error._tag === "DatabaseUnreachable"
        ? new Database.DatabaseUnreachable({ message: `${setting}: ${error.message}` })
        : error
  )
  return Layer.merge(database, holder)
}

/** Runs the operator's commands in this process, which opens the database itself. */
export const adminInProcessOf = (config: AppConfig) =>
  AdminInProcess.layer.pipe(
    Layer.provide(servicesOf(config)),
    Layer.provide(Layer.succeed(Migrations.NewerSchema, "refuse")),
    Layer.provide(databaseOf(config))
  )
