import { Socket } from "@effect/platform"
import { Cause, Effect, Layer, Option, Predicate } from "effect"
import { adminClientOf, databaseOf, loggerOf } from "../App.ts"
import { type AppConfig, readAppConfig } from "../AppConfig.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { Refused } from "./Output.ts"

/** Reads the settings, and provides the database and the logger that they configure. */
export const settled = <A, E, R>(use: (config: AppConfig) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(readAppConfig, (config) =>
    Effect.provide(use(config), Layer.provideMerge(databaseOf(config, config.startPatience), loggerOf(config)))
  )

/** Whether a command failed because the process that ran it stopped or died. */
const isCutOff = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Cause.isInterruptedOnly(cause) || Predicate.isTagged(error, "RpcClientError") || Socket.isSocketError(error)
}

const cutOff = new Refused({
  code: errorCode.Unavailable,
  message:
    "The process that holds the database ended before it answered: it is unknown whether the command took effect."
})

/** Runs a command in this process or, if another process holds the database, in that one. */
export const withAdmin = <A, E, R>(command: Effect.Effect<A, E, R>) =>
  Effect.flatMap(readAppConfig, (config) =>
    command.pipe(
      Effect.catchSomeCause((cause) => (isCutOff(cause) ? Option.some(Effect.fail(cutOff)) : Option.none())),
      Effect.provide(Layer.provideMerge(adminClientOf(config), loggerOf(config)))
    )
  )
