import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import { RpcClient, type RpcClientError, RpcSerialization } from "@effect/rpc"
import { Context, Data, Duration, Effect, Layer, Option, Predicate, Schedule } from "effect"
import * as EmbeddedLock from "../database/EmbeddedLock.ts"
import { monotonicMillis } from "../runtime/MonotonicClock.ts"
import { AdminRpcs } from "./AdminRpcs.ts"

/** No process answers on the socket. */
class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly path: string }> {
  override get message() {
    return `No process answers at ${this.path}.`
  }
}

/** How long a command waits in total until the process that holds the database accepts it. */
const defaultPatience = Duration.seconds(10)

const betweenTries = Duration.millis(100)

const isInUse = (error: unknown): error is EmbeddedLock.DatabaseInUse => Predicate.isTagged(error, "DatabaseInUse")

/** Runs the operator's commands, in this or another process. RpcClientError: the other process ended before it answered. */
export class AdminClient extends Context.Tag("catalog/AdminClient")<
  AdminClient,
  RpcClient.FromGroup<typeof AdminRpcs, RpcClientError.RpcClientError>
>() {
  /** Sends commands to the process that listens at `path`. It must answer `hello` within `patience`. */
  static readonly layerSocket = (
    path: string,
    patience: Duration.Duration = defaultPatience
  ): Layer.Layer<AdminClient, NoAnswer> =>
    Layer.scoped(
      AdminClient,
      Effect.tap(RpcClient.make(AdminRpcs), (client) =>
        client.hello().pipe(
          Effect.timeout(patience),
          // All causes, because the RPC protocol reports a write to a closing socket as a defect.
          Effect.catchAllCause(() => new NoAnswer({ path }))
        )
      )
    ).pipe(
      Layer.provide(RpcClient.layerProtocolSocket()),
      // Not NDJSON, because its decoder corrupts a character that arrives in two packets.
      Layer.provide([RpcSerialization.layerMsgPack, Layer.orDie(NodeSocket.layerNet({ path }))])
    )

  /**
   * Runs commands `inProcess` if this process can open the database, otherwise in the process that holds it. If neither works (the
   * holder is starting or stopping), it tries both again, and fails with DatabaseInUse after `patience`.
   */
  static readonly layer = <E>(
    inProcess: Layer.Layer<AdminClient, E>,
    patience: Duration.Duration = defaultPatience
  ): Layer.Layer<AdminClient, E | EmbeddedLock.DatabaseInUse> =>
    Layer.unwrapEffect(
      Effect.map(monotonicMillis, (startedAt) => {
        const remaining = Effect.map(monotonicMillis, (now) =>
          Duration.subtract(patience, Duration.millis(now - startedAt))
        )
        const holder = (path: string) =>
          Layer.unwrapEffect(Effect.map(remaining, (rest) => AdminClient.layerSocket(path, rest)))
        return inProcess.pipe(
          Layer.catchAll(
            (error): Layer.Layer<AdminClient, E | EmbeddedLock.DatabaseInUse> =>
              isInUse(error)
                ? Option.match(error.socket, {
                    onNone: () => Layer.fail(error),
                    onSome: (path) =>
                      Layer.catchAll(holder(path), () =>
                        Layer.fail(new EmbeddedLock.DatabaseInUse({ ...error, isSilent: true }))
                      )
                  })
                : Layer.fail(error)
          ),
          Layer.retry(
            Schedule.spaced(betweenTries).pipe(
              Schedule.whileInputEffect((error: E | EmbeddedLock.DatabaseInUse) =>
                isInUse(error) ? Effect.map(remaining, Duration.greaterThan(betweenTries)) : Effect.succeed(false)
              )
            )
          )
        )
      })
    )

  /**
   * Builds `inProcess`, which loads its code. First fails with DatabaseInUse if another process holds `dataDirectory`.
   */
  static readonly unlessHeld = <E>(dataDirectory: string, inProcess: Layer.Layer<AdminClient, E>) =>
    Layer.unwrapEffect(Effect.as(EmbeddedLock.vacant(dataDirectory), inProcess)).pipe(
      Layer.provide(NodeFileSystem.layer)
    )
}
