import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { Etag, FileSystem, HttpApiBuilder, HttpPlatform, HttpRouter, HttpServer, Path } from "@effect/platform"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Duration, Effect, Layer, Runtime } from "effect"
import type { ApiKeys } from "../access/ApiKeys.ts"
import { RestApi } from "../api/RestApi.ts"
import { RateBudget } from "../budgets/RateBudget.ts"
import { Workload } from "../database/Deadlines.ts"
import { HasReplica } from "../database/Replica.ts"
import { Unavailable } from "../model/Errors.ts"
import { Programs } from "../programs/Programs.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { CurrentTracing, type Tracing } from "../telemetry/Tracing.ts"
import { boundBodies } from "./BodiesInFlight.ts"
import { type Bounds, defaultBounds } from "./Bounds.ts"
import { TrustedProxies } from "./ClientAddress.ts"
import { Documents, documentRoutes } from "./Documents.ts"
import { type DrainPatience, makeDrain } from "./Drain.ts"
import { withLeanFibers } from "./fast/LeanFibers.ts"
import { makeGate } from "./Gate.ts"
import { AuthenticationLive, Handlers } from "./Handlers.ts"
import { Health, healthRoutes, Readiness } from "./Health.ts"
import { answerNodeErrors, nodeHeaderLimit } from "./NodeErrors.ts"
import { boundConnections } from "./OpenConnections.ts"
import { toOriginForm } from "./RequestHead.ts"
import { observeRequests, type WriteAccessLog } from "./RequestLog.ts"
import type { Refuse } from "./RequestState.ts"
import { makeRouteTable, type Route, routesOf } from "./RouteTable.ts"
import { startTraced } from "./Spans.ts"
import { noSurface, type Surface } from "./Surface.ts"

const ownRoutes = [...routesOf(RestApi), ...documentRoutes, ...healthRoutes]

const Api = HttpApiBuilder.api(RestApi).pipe(Layer.provide(Handlers), Layer.provide(AuthenticationLive))

/** The gate as middleware of the whole API. A group's middleware would not see unknown routes and defects. */
const gateOf = (otherRoutes: ReadonlyArray<Route>, refuseAddress: Refuse | undefined, tracing: Tracing | undefined) =>
  HttpApiBuilder.middleware(makeGate(makeRouteTable([...ownRoutes, ...otherRoutes]), refuseAddress, tracing))

/** Services that the gate and the open routes need when they are built, but not for each request. */
type GateServices = ApiKeys | RateBudget | Readiness

const serve = <R>(
  { layer, refuseAddress, routes }: Surface<R>,
  services: Layer.Layer<R | GateServices>,
  tracing: Tracing | undefined
) =>
  HttpApiBuilder.serve().pipe(
    Layer.provide(
      Layer.mergeAll(gateOf(routes, refuseAddress, tracing), Documents, Health, layer).pipe(Layer.provide(services))
    ),
    Layer.provide(Api),
    Layer.provide(
      HttpRouter.setRouterConfig({ caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false })
    )
  )

/** Keeps only the services that the router and the handlers need, because the router copies them for each request. */
const needs: (context: Context.Context<Layer.Layer.Context<ReturnType<typeof serve<never>>>>) => typeof context =
  Context.pick(
    CurrentTracing,
    Workload,
    HasReplica,
    Programs,
    HttpServer.HttpServer,
    HttpPlatform.HttpPlatform,
    Etag.Generator,
    FileSystem.FileSystem,
    Path.Path
  )

/** Serves the API and a surface on the HttpServer that is provided. */
const serveWith = <R>(surface: Surface<R>) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const tracing = yield* CurrentTracing
      const served = serve(surface, Layer.succeedContext(yield* Effect.context<R | GateServices>()), tracing)
      yield* Effect.mapInputContext(Layer.buildWithScope(served, yield* Effect.scope), needs).pipe(
        Effect.provideService(Workload, "request"),
        Effect.provideServiceEffect(HttpServer.HttpServer, Effect.map(HttpServer.HttpServer, withLeanFibers)),
        // Built here and not in a layer of its own, so that the programs use services that a test replaces.
        Effect.provideServiceEffect(Programs, Programs.make),
        startTraced(tracing)
      )
    })
  )

/** Serves only the API, on the HttpServer that is provided. */
export const HttpLive = serveWith(noSurface)

/** How long a server waits for its clients. */
export interface Patience extends DrainPatience {
  /** Time for the whole head of a request to arrive. */
  readonly head: Duration.Duration
  /** Time for a whole request to arrive. */
  readonly request: Duration.Duration
  /** Interval of checks for connections that are too slow: the time by which such a check can be late. */
  readonly check: Duration.Duration
}

export const defaultPatience: Patience = {
  head: Duration.seconds(10),
  request: Duration.seconds(30),
  check: Duration.seconds(1),
  delay: Duration.zero,
  grace: Duration.millis(500),
  drain: Duration.seconds(10)
}

const makeServer = (patience: Patience) => {
  const server = createServer({
    // The gate refuses a missing Host header itself, with the envelope.
    requireHostHeader: false,
    // Node would keep only the first of two Authorization headers.
    joinDuplicateHeaders: true,
    maxHeaderSize: nodeHeaderLimit,
    headersTimeout: Duration.toMillis(patience.head),
    requestTimeout: Duration.toMillis(patience.request),
    connectionsCheckingInterval: Duration.toMillis(patience.check),
    keepAliveTimeout: 65_000
  })
  // No limit: by default, Node would silently drop headers beyond 2,000. The size of a head is limited instead.
  server.maxHeadersCount = 0
  return server
}

/** Holds early requests until the handlers are installed, because the server starts to listen a moment before. */
const holdUntilServed = (server: Server) => {
  const early: Array<readonly [IncomingMessage, ServerResponse]> = []
  const hold = (request: IncomingMessage, response: ServerResponse) => early.push([request, response])
  server.on("request", hold)
  server.on("newListener", (event, serve: typeof hold) => {
    if (event !== "request") return
    server.off("request", hold)
    for (const [request, response] of early.splice(0)) serve(request, response)
  })
}

const tooManyConnections = "Too many connections are open; retry with exponential backoff."

/** Serves the API and a surface on a Node server. Running requests are answered before the server closes. */
export const layer = <R = never>({
  bounds = defaultBounds,
  patience = defaultPatience,
  surface = noSurface,
  trustedProxies = 0,
  writeAccessLog,
  ...address
}: {
  readonly host: string
  readonly port: number
  readonly bounds?: Bounds
  readonly patience?: Patience
  readonly surface?: Surface<R>
  readonly trustedProxies?: number
  /** Undefined: there is no access log. */
  readonly writeAccessLog?: WriteAccessLog | undefined
}) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const budget = yield* RateBudget
      const runtime = yield* Effect.runtime()
      const readiness = yield* Readiness
      const server = makeServer(patience)
      boundConnections(server, bounds, {
        refuse: (socket) => {
          metrics.refusals.of("connections").add(1)
          refuse(socket, new Unavailable({ reason: tooManyConnections }))
        },
        note: (setting, total) =>
          Runtime.runFork(
            runtime,
            Effect.logWarning(
              `Refusing connections because of ${setting}: ${total} refused since the start (logged at most once a minute)`
            )
          )
      })
      const noteUnread = observeRequests(server, writeAccessLog)
      boundBodies(server, bounds, trustedProxies)
      const refuse = answerNodeErrors(server, () => Runtime.runSync(runtime, budget.fullBudget), noteUnread)
      const drain = makeDrain(server, patience)
      server.on("request", toOriginForm)
      holdUntilServed(server)
      const draining = Layer.scopedDiscard(
        Effect.zipRight(
          // Without an upgrade listener, Node handles a request that offers an upgrade (for example to h2c) as plain HTTP.
          Effect.sync(() => server.removeAllListeners("upgrade")),
          Effect.addFinalizer(() => Effect.zipRight(readiness.close, drain))
        )
      )
      return draining.pipe(
        Layer.provideMerge(serveWith<R>(surface)),
        Layer.provide(Layer.succeed(TrustedProxies, trustedProxies)),
        Layer.provideMerge(NodeHttpServer.layer(() => server, address))
      )
    })
  )
