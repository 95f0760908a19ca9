import { Socket } from "@effect/platform"
import { Cause, Chunk, Effect, Exit, Layer, Logger, Option, ParseResult, Predicate } from "effect"
import { type AppConfig, readAppConfig } from "../AppConfig.ts"
import { AdminClient } from "../admin/AdminClient.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { Refused } from "./Output.ts"

/** The service's code. Loading it takes most of a command's time, so only commands that open the database import it. */
const services = Effect.promise(() => import("../Services.ts"))

/** Logs go to stderr, because stdout is for the results of commands. */
const loggerOf = ({ logFormat }: AppConfig) => {
  switch (logFormat) {
    case "pretty":
      return Logger.replace(Logger.defaultLogger, Logger.prettyLogger({ stderr: true }))
    case "json":
      return Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.jsonLogger))
    case "logfmt":
      return Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))
  }
}

/** Reads the settings, and provides the database and the logger that they configure. */
export const withDatabase = <A, E, R>(use: (config: AppConfig) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const config = yield* readAppConfig
    const { databaseOf } = yield* services
    return yield* Effect.provide(
      use(config),
      Layer.provideMerge(databaseOf(config, config.startPatience), loggerOf(config))
    )
  })

/** Runs the operator's commands in this process, or in the process that holds the embedded database. */
const adminOf = (config: AppConfig) => {
  const inProcess = Layer.unwrapEffect(Effect.map(services, ({ adminInProcessOf }) => adminInProcessOf(config)))
  return AdminClient.layer(
    Option.isSome(config.databaseUrl) ? inProcess : AdminClient.unlessHeld(config.dataDirectory, inProcess)
  )
}

/** Whether a command failed because the process that ran it stopped or died. */
const isCutOff = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Cause.isInterruptedOnly(cause) || Predicate.isTagged(error, "RpcClientError") || Socket.isSocketError(error)
}

const cutOffText = "The process that holds the database ended before it answered"

const cutOff = new Refused({
  code: errorCode.Unavailable,
  message: `${cutOffText}: it is unknown whether the command took effect.`
})

/** Why the result of a command cannot arrive any more. Undefined: it can. */
const whyLost = (cause: Cause.Cause<unknown>) => {
  if (isCutOff(cause)) return cutOffText
  return Predicate.isTagged(Cause.squash(cause), "Unavailable") ? "The database cannot be reached" : undefined
}

/** Explains what to do if the result of work that the command follows cannot arrive any more. The work may go on without the command. */
export const orLost =
  (next: string) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | Refused, R> =>
    Effect.catchSomeCause(work, (cause) =>
      Option.map(
        Option.fromNullable(whyLost(cause)),
        (why) => new Refused({ code: errorCode.Unavailable, message: `${why}. ${next}` })
      )
    )

/** Whether one process could not decode the request or the answer of the other. A defect that is a text: the request was unknown there. */
const isUnread = (cause: Cause.Cause<unknown>) =>
  Chunk.some(Cause.defects(cause), (defect) => typeof defect === "string" || ParseResult.isParseError(defect))

const ofOtherVersion = new Refused({
  code: errorCode.Unavailable,
  message:
    "The process that holds the database runs another version of the service: restart it. It is unknown whether the command took effect."
})

/** Fails with `ofOtherVersion`, or with the same cause if this process ran the command. The other process may answer no further call. */
const explainUnread = <E>(cause: Cause.Cause<E>) =>
  Effect.gen(function* () {
    const holder = yield* Effect.exit(Effect.timeout((yield* AdminClient).hello(), "2 seconds"))
    return yield* Exit.isSuccess(holder) && holder.value.pid === process.pid
      ? Effect.failCause(cause)
      : Effect.fail(ofOtherVersion)
  })

/** Runs a command in this process or, if another process holds the database, in that one. */
export const withAdmin = <A, E, R>(command: Effect.Effect<A, E, R>) =>
  Effect.flatMap(readAppConfig, (config) =>
    command.pipe(
      Effect.catchSomeCause((cause) => (isUnread(cause) ? Option.some(explainUnread(cause)) : Option.none())),
      Effect.catchSomeCause((cause) => (isCutOff(cause) ? Option.some(Effect.fail(cutOff)) : Option.none())),
      Effect.provide(Layer.provideMerge(adminOf(config), loggerOf(config)))
    )
  )
