import { createServer } from "node:http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup, HttpRouter } from "@effect/platform"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer, Schema } from "effect"
import { Authentication, RequiredScope } from "../../src/api/Authentication.ts"
import { ForbiddenWire, ValidationFailedWire } from "../../src/api/ErrorEnvelope.ts"
import { makeGate } from "../../src/http/Gate.ts"
import { AuthenticationLive } from "../../src/http/Handlers.ts"
import { defaultPatience, type Patience } from "../../src/http/Http.ts"
import { answerNodeErrors } from "../../src/http/NodeErrors.ts"
import { observeRequests } from "../../src/http/RequestLog.ts"
import { makeRouteTable, routesOf } from "../../src/http/RouteTable.ts"
import { TestServices } from "../../src/testing/index.ts"

const Message = Schema.Struct({ text: Schema.String, more: Schema.optional(Schema.Unknown) })

class EchoGroup extends HttpApiGroup.make("echo")
  .add(HttpApiEndpoint.post("echo", "/echo").setPayload(Message).addSuccess(Message))
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotateEndpoints(RequiredScope, "pim:write") {}

class EchoApi extends HttpApi.make("echo").add(EchoGroup).addError(ValidationFailedWire).prefix("/api/v1") {}

const Handlers = HttpApiBuilder.group(EchoApi, "echo", (handlers) =>
  handlers.handle("echo", ({ payload }) => Effect.succeed(payload))
)

/** One endpoint that returns the body it receives, with the same request checks as the catalog's endpoints. */
export const echoServer = (patience: Patience) =>
  Layer.suspend(() => {
    const server = createServer({
      joinDuplicateHeaders: true,
      requestTimeout: Duration.toMillis(patience.request),
      connectionsCheckingInterval: Duration.toMillis(patience.check)
    })
    answerNodeErrors(
      server,
      () => ({ limit: 120, remaining: 120, resetAtSeconds: 60, scope: "key" }),
      observeRequests(server, undefined)
    )
    return HttpApiBuilder.serve().pipe(
      Layer.provide(HttpApiBuilder.middleware(makeGate(makeRouteTable(routesOf(EchoApi))))),
      Layer.provide(HttpApiBuilder.api(EchoApi).pipe(Layer.provide(Handlers), Layer.provide(AuthenticationLive))),
      Layer.provide(
        HttpRouter.setRouterConfig({ caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false })
      ),
      Layer.provideMerge(NodeHttpServer.layer(() => server, { host: "127.0.0.1", port: 0 })),
      Layer.provideMerge(TestServices)
    )
  })

export const EchoServer = echoServer(defaultPatience)
