import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Context, Deferred, Effect, Layer, Ref } from "effect"
import { Unavailable } from "../model/Errors.ts"
import { openRoute } from "./RouteTable.ts"

export const readinessPath = "/readyz"

export const healthRoutes = [openRoute("/healthz"), openRoute(readinessPath)]

const stopping = new Unavailable({ reason: "The service is shutting down." })

/** Tells whether the service can serve requests. */
export class Readiness extends Context.Tag("catalog/Readiness")<
  Readiness,
  {
    /** Unavailable: the database does not answer, its schema is not current, or the service is shutting down. */
    readonly check: Effect.Effect<void, Unavailable>
    /** Marks the service as not ready for good, at shutdown. */
    readonly close: Effect.Effect<void>
    /** Waits for `close`. Answers that never end by themselves end then. */
    readonly closed: Effect.Effect<void>
  }
>() {
  /** `dependencies`: fails while the service cannot serve requests. */
  static readonly layer = <R>(dependencies: Effect.Effect<void, Unavailable, R>) =>
    Layer.effect(
      Readiness,
      Effect.gen(function* () {
        const closing = yield* Deferred.make<void>()
        const last = yield* Ref.make<string | undefined>(undefined)
        const context = yield* Effect.context<R>()
        /** Logs each change of readiness once. `reason`: why it is not ready. */
        const note = (reason: string | undefined) =>
          Effect.flatMap(Ref.getAndSet(last, reason), (before) => {
            if (before === reason) return Effect.void
            return reason === undefined ? Effect.logInfo("Ready again") : Effect.logWarning(`Not ready: ${reason}`)
          })
        const checkDependencies = Effect.provide(dependencies, context).pipe(
          Effect.tap(() => note(undefined)),
          Effect.tapError(({ message }) => note(message))
        )
        return {
          check: Effect.flatMap(Deferred.isDone(closing), (closed) => (closed ? stopping : checkDependencies)),
          close: Effect.asVoid(Deferred.succeed(closing, undefined)),
          closed: Deferred.await(closing)
        }
      })
    )
}

/** /healthz: the process answers. /readyz: it can serve requests; 503 if it cannot. */
export const Health = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const readiness = yield* Readiness
    yield* router.get("/healthz", HttpServerResponse.json({ status: "ok" }))
    yield* router.get(
      readinessPath,
      Effect.flatMap(Effect.orDie(readiness.check), () => HttpServerResponse.json({ status: "ready" }))
    )
  })
)
