import { Effect, Layer, Logger, Option } from "effect"
import type { AppConfig } from "./AppConfig.ts"
import { AdminClient } from "./admin/AdminClient.ts"
import * as AdminServer from "./admin/AdminServer.ts"
import * as Database from "./database/Database.ts"
import * as Migrations from "./database/Migrations.ts"
import { Transaction } from "./database/Transaction.ts"
import { Unavailable } from "./domain/Errors.ts"
import { Readiness } from "./http/Health.ts"
import * as Http from "./http/Http.ts"
import { DemoShops } from "./platform/demo/DemoShops.ts"
import { AccessRepo } from "./repos/AccessRepo.ts"
import { CatalogRepo } from "./repos/CatalogRepo.ts"
import { DraftsRepo } from "./repos/DraftsRepo.ts"
import { HistoryRepo } from "./repos/HistoryRepo.ts"
import { ImportLockRepo } from "./repos/ImportLockRepo.ts"
import { ImportsRepo } from "./repos/ImportsRepo.ts"
import { StoresRepo } from "./repos/StoresRepo.ts"
import { Accounts } from "./services/Accounts.ts"
import { ApiKeys } from "./services/ApiKeys.ts"
import { Catalog } from "./services/Catalog.ts"
import { CatalogChanges } from "./services/CatalogChanges.ts"
import { Demo } from "./services/Demo.ts"
import { DemoFailures } from "./services/DemoFailures.ts"
import { Drafts } from "./services/Drafts.ts"
import { FaultInjector } from "./services/FaultInjector.ts"
import { Imports } from "./services/Imports.ts"
import { RateBudget } from "./services/RateBudget.ts"
import { Stores } from "./services/Stores.ts"

/** The SQL repositories. */
export const RepositoriesOnDatabase = Layer.mergeAll(
  AccessRepo.layer,
  CatalogRepo.layer,
  DemoShops.layer.pipe(Layer.provide(Transaction.layer)),
  DraftsRepo.layer,
  HistoryRepo.layer,
  ImportLockRepo.layer,
  ImportsRepo.layer,
  StoresRepo.layer,
  Transaction.layer
)

const CoreServices = Layer.mergeAll(
  Accounts.layer,
  ApiKeys.layer,
  Catalog.layer,
  CatalogChanges.layer,
  DemoFailures.layer,
  Stores.layer
)

/** Everything but the surfaces, on repositories of any kind. */
export const Services = Layer.mergeAll(Demo.layer, Drafts.layer).pipe(Layer.provideMerge(CoreServices))

/** Everything but the surfaces, on a migrated database: imports are staged there and nowhere else. */
export const ServicesOnDatabase = Imports.layer.pipe(
  Layer.provide(FaultInjector.layer),
  Layer.provideMerge(Services),
  Layer.provideMerge(RepositoriesOnDatabase),
  Layer.provideMerge(Migrations.layer)
)

/** The database answers, and its schema is the one that this code expects. */
const isServing = Effect.filterOrFail(
  Effect.zipRight(Database.ping, Migrations.isCurrent),
  (current) => current,
  () => new Unavailable()
).pipe(Effect.asVoid)

/** The database that the settings name; when it cannot be opened, the setting is named too. */
export const databaseOf = (config: AppConfig) => {
  const setting = Option.isSome(config.databaseUrl) ? "DATABASE_URL" : "DATA_DIR"
  return Layer.mapError(Database.layer({ url: config.databaseUrl, dataDirectory: config.dataDirectory }), (error) =>
    error._tag === "DatabaseUnreachable"
      ? new Database.DatabaseUnreachable({ message: `${setting}: ${error.message}` })
      : error
  )
}

/** Request budgets, kept where the settings say. */
const budgetOf = ({ budgets: sizes, redisUrl }: AppConfig) =>
  Option.match(redisUrl, {
    onNone: () => RateBudget.layerProcess(sizes),
    onSome: (url) => RateBudget.layerRedis({ url, sizes })
  })

/** The REST surface over the services. */
export const serverOf = (config: AppConfig) =>
  Http.layer({ host: config.host, port: config.port }).pipe(
    Layer.provide(Readiness.layer(isServing)),
    Layer.provide(budgetOf(config))
  )

/** The operator's commands: in this process, or in the one that holds the embedded database. */
export const adminClientOf = (config: AppConfig) =>
  AdminClient.layer(
    AdminClient.layerInProcess.pipe(Layer.provide(ServicesOnDatabase), Layer.provide(databaseOf(config)))
  )

/** Takes commands for the embedded database while this process holds it. A server's needs none: any process may open it. */
export const adminServerOf = (config: AppConfig) =>
  Option.isSome(config.databaseUrl) ? Layer.empty : AdminServer.layer(config.dataDirectory)

/** Logs go to stderr: stdout belongs to what a command answers. */
export const loggerOf = ({ logFormat }: AppConfig) => {
  switch (logFormat) {
    case "pretty":
      return Logger.replace(Logger.defaultLogger, Logger.prettyLogger({ stderr: true }))
    case "json":
      return Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.jsonLogger))
    case "logfmt":
      return Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))
  }
}
