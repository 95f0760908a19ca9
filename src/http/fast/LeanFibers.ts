import type { HttpApp, HttpMiddleware, HttpServer } from "@effect/platform"
import { Context, Effect, FiberRef, Scope } from "effect"
import { Workload } from "../../database/Deadlines.ts"
import { CurrentTracing } from "../../telemetry/Tracing.ts"

/**
 * The services with which the fiber of a request starts. Handlers got their services when they were built. `CurrentTracing`, which is
 * there only if traces are on, is for work that a request begins in the background.
 */
const pick: (context: Context.Context<Scope.Scope>) => Context.Context<Scope.Scope> = Context.pick(
  CurrentTracing,
  Workload,
  Scope.Scope
)

/**
 * A server whose requests start with a minimal context. The router copies the context and the FiberRefs several times per
 * request, and a Map in V8 doubles its size beyond 8 entries and again beyond 16.
 */
export const withLeanFibers = (server: HttpServer.HttpServer): HttpServer.HttpServer => ({
  ...server,
  serve: ((app: HttpApp.Default, middleware: HttpMiddleware.HttpMiddleware) =>
    // A fiber that yielded during startup has set this FiberRef to its default value, which requests would copy too.
    Effect.zipRight(
      FiberRef.delete(FiberRef.currentSchedulingPriority),
      Effect.mapInputContext(server.serve(app, middleware), pick)
    )) as HttpServer.HttpServer["serve"]
})
