import { Effect } from "effect"
import { databaseOf, loggerOf, ServicesOnDatabase } from "../App.ts"
import { readAppConfig } from "../AppConfig.ts"

/** Runs a command on the services, over the migrated database that the settings name. */
export const withServices = <A, E, R>(
  command: Effect.Effect<A, E, R>
) =>
  Effect.flatMap(readAppConfig, (config) =>
    command.pipe(
      Effect.provide(ServicesOnDatabase),
      Effect.provide(databaseOf(config)),
      Effect.provide(loggerOf(config))
    )
  )
