import { Effect, Layer } from "effect"
import { databaseOf, loggerOf, ServicesOnDatabase } from "../App.ts"
import { type AppConfig, readAppConfig } from "../AppConfig.ts"

/** The database that the settings name, and the log as they ask for it. */
export const settled = <A, E, R>(use: (config: AppConfig) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(readAppConfig, (config) =>
    Effect.provide(use(config), Layer.provideMerge(databaseOf(config), loggerOf(config)))
  )

/** Runs a command on the services, over the migrated database that the settings name. */
export const withServices = <A, E, R>(command: Effect.Effect<A, E, R>) =>
  settled(() => Effect.provide(command, ServicesOnDatabase))
