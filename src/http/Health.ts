import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Context, Effect, Layer, Ref } from "effect"
import { Unavailable } from "../model/Errors.ts"
import { openRoute } from "./RouteTable.ts"

export const readinessPath = "/readyz"

export const healthRoutes = [openRoute("/healthz"), openRoute(readinessPath)]

/** Whether the service can take requests. */
export class Readiness extends Context.Tag("catalog/Readiness")<
  Readiness,
  {
    /** Unavailable: the database does not answer, its schema is not current, or the service is shutting down. */
    readonly check: Effect.Effect<void, Unavailable>
    /** Makes the service not ready for good: it is shutting down. */
    readonly close: Effect.Effect<void>
  }
>() {
  /** `dependencies`: what must hold for the service to serve. */
  static readonly layer = <R>(dependencies: Effect.Effect<void, Unavailable, R>) =>
    Layer.effect(
      Readiness,
      Effect.gen(function* () {
        const closing = yield* Ref.make(false)
        const last = yield* Ref.make<string | undefined>(undefined)
        const context = yield* Effect.context<R>()
        /** Logs each change once. */
        const note = (reason: string | undefined) =>
          Effect.flatMap(Ref.getAndSet(last, reason), (before) => {
            if (before === reason) return Effect.void
            return reason === undefined ? Effect.logInfo("Ready again") : Effect.logWarning(`Not ready: ${reason}`)
          })
        const ask = Effect.provide(dependencies, context).pipe(
          Effect.tap(() => note(undefined)),
          Effect.tapError(({ message }) => note(message))
        )
        return {
          check: Effect.flatMap(Ref.get(closing), (closed) => (closed ? new Unavailable() : ask)),
          close: Ref.set(closing, true)
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
