import { Effect, Layer, Logger } from "effect"
import type { AppConfig } from "./AppConfig.ts"
import * as Database from "./database/Database.ts"
import * as Migrations from "./database/Migrations.ts"
import { Transaction } from "./database/Transaction.ts"
import { Unavailable } from "./domain/Errors.ts"
import { Readiness } from "./http/Health.ts"
import * as Http from "./http/Http.ts"
import { AccessRepo } from "./repos/AccessRepo.ts"
import { CatalogRepo } from "./repos/CatalogRepo.ts"
import { DraftsRepo } from "./repos/DraftsRepo.ts"
import { StoresRepo } from "./repos/StoresRepo.ts"
import { Accounts } from "./services/Accounts.ts"
import { ApiKeys } from "./services/ApiKeys.ts"
import { Catalog } from "./services/Catalog.ts"
import { CatalogChanges } from "./services/CatalogChanges.ts"
import { Demo } from "./services/Demo.ts"
import { RateBudget } from "./services/RateBudget.ts"
import { Stores } from "./services/Stores.ts"

/** The SQL repositories. */
export const RepositoriesOnDatabase = Layer.mergeAll(
  AccessRepo.layer,
  CatalogRepo.layer,
  DraftsRepo.layer,
  StoresRepo.layer,
  Transaction.layer
)

const CoreServices = Layer.mergeAll(Accounts.layer, ApiKeys.layer, Catalog.layer, CatalogChanges.layer, Stores.layer)

/** Everything but the surfaces, on repositories of any kind. */
export const Services = Demo.layer.pipe(Layer.provideMerge(CoreServices))

/** Everything but the surfaces, on a migrated database. */
export const ServicesOnDatabase = Services.pipe(
  Layer.provideMerge(RepositoriesOnDatabase),
  Layer.provideMerge(Migrations.layer)
)

/** The database answers, and its schema is the one that this code expects. */
const isServing = Effect.filterOrFail(
  Effect.zipRight(Database.ping, Migrations.isCurrent),
  (current) => current,
  () => new Unavailable()
).pipe(Effect.asVoid)

/** The database that the settings name. */
export const databaseOf = (config: AppConfig) =>
  Database.layer({ url: config.databaseUrl, dataDirectory: config.dataDirectory })

/** The REST surface over the services. */
export const serverOf = (config: AppConfig) =>
  Http.layer({ host: config.host, port: config.port }).pipe(
    Layer.provide(Readiness.layer(isServing)),
    Layer.provide(RateBudget.layerProcess(config.budgets))
  )

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
