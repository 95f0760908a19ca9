import type { HttpApp, HttpMiddleware, HttpServer } from "@effect/platform"
import { Context, Effect, FiberRef, Scope } from "effect"
import { Workload } from "../../database/Deadlines.ts"

/** The services that a fiber of a request begins with. What a handler needs, it was made with. */
const pick: (context: Context.Context<Scope.Scope>) => Context.Context<Scope.Scope> = Context.pick(
  Workload,
  Scope.Scope
)

/**
 * A server whose requests begin with nothing but what they ask for. The router copies their context and their FiberRefs
 * several times a request, and a Map of V8 takes twice the room beyond 8 entries and again beyond 16.
 */
export const withLeanFibers = (server: HttpServer.HttpServer): HttpServer.HttpServer => ({
  ...server,
  serve: ((app: HttpApp.Default, middleware: HttpMiddleware.HttpMiddleware) =>
    // A fiber that yielded while the service started holds the default priority as a value of its own.
    Effect.zipRight(
      FiberRef.delete(FiberRef.currentSchedulingPriority),
      Effect.mapInputContext(server.serve(app, middleware), pick)
    )) as HttpServer.HttpServer["serve"]
})
