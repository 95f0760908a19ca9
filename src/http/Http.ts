import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { Etag, FileSystem, HttpApiBuilder, HttpPlatform, HttpRouter, HttpServer, Path } from "@effect/platform"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Duration, Effect, Layer, Runtime } from "effect"
import type { ApiKeys } from "../access/ApiKeys.ts"
import { RestApi } from "../api/RestApi.ts"
import { RateBudget } from "../budgets/RateBudget.ts"
import { Workload } from "../database/Deadlines.ts"
import { Unavailable } from "../model/Errors.ts"
import { Programs } from "../programs/Programs.ts"
import { metrics } from "../telemetry/Metrics.ts"
import type { Tracing } from "../telemetry/Tracing.ts"
import { boundBodies } from "./BodiesInFlight.ts"
import { type Bounds, defaultBounds } from "./Bounds.ts"
import { AuthenticationLive } from "./Caller.ts"
import { Documents, documentRoutes } from "./Documents.ts"
import { type DrainPatience, makeDrain } from "./Drain.ts"
import { withLeanFibers } from "./fast/LeanFibers.ts"
import { makeGate } from "./Gate.ts"
import { Handlers } from "./Handlers.ts"
import { Health, healthRoutes, Readiness } from "./Health.ts"
import { answerNodeErrors, nodeHeaderLimit } from "./NodeErrors.ts"
import { boundConnections } from "./OpenConnections.ts"
import type { Refuse } from "./Passage.ts"
import { toOriginForm } from "./RequestHead.ts"
import { observeRequests, type WriteAccessLog } from "./RequestLog.ts"
import { makeRouteTable, type Route, routesOf } from "./RouteTable.ts"
import { requestTracing, startTraced } from "./Spans.ts"
import { nothingBeside, type Surface } from "./Surface.ts"

const ownRoutes = [...routesOf(RestApi), ...documentRoutes, ...healthRoutes]

const Api = HttpApiBuilder.api(RestApi).pipe(Layer.provide(Handlers), Layer.provide(AuthenticationLive))

/** A middleware of the whole API: only there the gate sees unknown routes and defects. */
const gateOf = (besides: ReadonlyArray<Route>, refuseAddress: Refuse | undefined, tracing: Tracing | undefined) =>
  HttpApiBuilder.middleware(makeGate(makeRouteTable([...ownRoutes, ...besides]), refuseAddress, tracing))

/** Services that the gate and the routes beside the API need when they are made, but not for each request. */
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

/** Services that the router and the handlers need. The router copies them at each request. */
const needs: (context: Context.Context<Layer.Layer.Context<ReturnType<typeof serve<never>>>>) => typeof context =
  Context.pick(
    Workload,
    Programs,
    HttpServer.HttpServer,
    HttpPlatform.HttpPlatform,
    Etag.Generator,
    FileSystem.FileSystem,
    Path.Path
  )

/** The API and a surface beside it, on whatever HttpServer is provided. */
export const serveWith = <R>(surface: Surface<R>) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const tracing = yield* requestTracing
      const served = serve(surface, Layer.succeedContext(yield* Effect.context<R | GateServices>()), tracing)
      yield* Effect.mapInputContext(Layer.buildWithScope(served, yield* Effect.scope), needs).pipe(
        Effect.provideService(Workload, "request"),
        Effect.provideServiceEffect(HttpServer.HttpServer, Effect.map(HttpServer.HttpServer, withLeanFibers)),
        // Made here, so that the handlers use a service that a test replaces.
        Effect.provideServiceEffect(Programs, Programs.make),
        startTraced(tracing)
      )
    })
  )

/** The API alone, on whatever HttpServer is provided. */
export const HttpLive = serveWith(nothingBeside)

/** How long a server waits for its clients. */
export interface Patience extends DrainPatience {
  /** For the whole head of a request. */
  readonly head: Duration.Duration
  /** For a whole request. */
  readonly request: Duration.Duration
  /** Time between two checks of the connections: how late a missed time may be noticed. */
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
    // The gate answers a missing Host, with the envelope.
    requireHostHeader: false,
    // Node would keep only the first of two Authorization headers.
    joinDuplicateHeaders: true,
    maxHeaderSize: nodeHeaderLimit,
    headersTimeout: Duration.toMillis(patience.head),
    requestTimeout: Duration.toMillis(patience.request),
    connectionsCheckingInterval: Duration.toMillis(patience.check),
    keepAliveTimeout: 65_000
  })
  // The size of a head is limited, not the number of headers: Node would drop headers beyond 2,000.
  server.maxHeadersCount = 0
  return server
}

/** Holds requests that come in before the handlers are there: the server listens a moment earlier. */
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

/** Serves the API, and a surface beside it, on a Node server that is drained before it is closed. */
export const layer = <R = never>({
  bounds = defaultBounds,
  patience = defaultPatience,
  surface = nothingBeside,
  writeAccessLog,
  ...address
}: {
  readonly host: string
  readonly port: number
  readonly bounds?: Bounds
  readonly patience?: Patience
  readonly surface?: Surface<R>
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
            Effect.logWarning(`Connections are refused by ${setting}: ${total} since the start; told once a minute`)
          )
      })
      observeRequests(server, writeAccessLog)
      boundBodies(server, bounds)
      const refuse = answerNodeErrors(server, () => Runtime.runSync(runtime, budget.untouched))
      const drain = makeDrain(server, patience)
      server.on("request", toOriginForm)
      holdUntilServed(server)
      const draining = Layer.scopedDiscard(
        Effect.zipRight(
          // With a listener, Node would not handle a request that offers an upgrade (for example to h2c) as HTTP.
          Effect.sync(() => server.removeAllListeners("upgrade")),
          Effect.addFinalizer(() => Effect.zipRight(readiness.close, drain))
        )
      )
      return draining.pipe(
        Layer.provideMerge(serveWith<R>(surface)),
        Layer.provideMerge(NodeHttpServer.layer(() => server, address))
      )
    })
  )
