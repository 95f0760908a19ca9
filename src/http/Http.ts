import { createServer, type Server } from "node:http"
import { HttpApiBuilder, HttpRouter } from "@effect/platform"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer, Runtime } from "effect"
import { RestApi } from "../api/RestApi.ts"
import { RateBudget } from "../services/RateBudget.ts"
import { AuthenticationLive } from "./Caller.ts"
import { CatalogHandlers } from "./CatalogHandlers.ts"
import { DataHealthHandlers } from "./DataHealthHandlers.ts"
import { Documents, documentRoutes } from "./Documents.ts"
import { makeGate } from "./Gate.ts"
import { Health, healthRoutes, Readiness } from "./Health.ts"
import { answerNodeErrors, nodeHeaderLimit } from "./NodeErrors.ts"
import { PingHandlers } from "./PingHandlers.ts"
import { makeRouteTable, routesOf } from "./RouteTable.ts"
import { StoresHandlers } from "./StoresHandlers.ts"

const routes = makeRouteTable([...routesOf(RestApi), ...documentRoutes, ...healthRoutes])

const Api = HttpApiBuilder.api(RestApi).pipe(
  Layer.provide([PingHandlers, CatalogHandlers, StoresHandlers, DataHealthHandlers]),
  Layer.provide(AuthenticationLive)
)

/** The gate sees unknown routes and defects only from here. */
const Gate = HttpApiBuilder.middleware(makeGate(routes))

/** Everything that is served, on whatever HttpServer is provided. Spans of every request would cost a third of its time. */
export const HttpLive = HttpApiBuilder.serve(Effect.withTracerEnabled(false)).pipe(
  Layer.provide([Gate, Documents, Health]),
  Layer.provide(Api),
  Layer.provide(
    HttpRouter.setRouterConfig({ caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false })
  )
)

/** How long a head and a whole request may take to come in. */
const headersTimeout = Duration.seconds(10)
const requestTimeout = Duration.seconds(30)
/** How long in-flight requests may take to finish when the service stops. */
const drainTimeout = Duration.seconds(10)

const makeServer = () =>
  createServer({
    // A missing Host is answered by us, in the envelope.
    requireHostHeader: false,
    // Two Authorization headers must not read as one.
    joinDuplicateHeaders: true,
    maxHeaderSize: nodeHeaderLimit,
    headersTimeout: Duration.toMillis(headersTimeout),
    requestTimeout: Duration.toMillis(requestTimeout),
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: 65_000
  })

/** Stops accepting, then waits until every request in flight is answered, at most `drainTimeout`. */
const drain = (server: Server, inFlight: () => number) =>
  Effect.async<void>((resume) => {
    server.close()
    const settle = () => {
      server.closeIdleConnections()
      if (inFlight() === 0) resume(Effect.void)
    }
    server.on("catalog-answered", settle)
    settle()
  }).pipe(Effect.timeoutOption(drainTimeout), Effect.ensuring(Effect.sync(() => server.closeAllConnections())))

/** Serves on a Node server that is drained before it is closed. */
export const layer = (options: { readonly host: string; readonly port: number }) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const budget = yield* RateBudget
      const runtime = yield* Effect.runtime()
      const readiness = yield* Readiness
      const server = makeServer()
      answerNodeErrors(server, () => Runtime.runSync(runtime, budget.untouched))
      let inFlight = 0
      server.on("request", (_request, response) => {
        inFlight += 1
        response.once("close", () => {
          inFlight -= 1
          server.emit("catalog-answered")
        })
      })
      const draining = Layer.scopedDiscard(
        Effect.addFinalizer(() =>
          Effect.zipRight(
            readiness.close,
            drain(server, () => inFlight)
          )
        )
      )
      return draining.pipe(
        Layer.provideMerge(HttpLive),
        Layer.provideMerge(NodeHttpServer.layer(() => server, options))
      )
    })
  )
