import { HttpClient, HttpServer, HttpServerResponse } from "@effect/platform"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import { Context, Effect, FiberRef, FiberRefs, Layer, Option } from "effect"
import { Workload } from "../../src/database/Deadlines.ts"
import { withLeanFibers } from "../../src/http/fast/LeanFibers.ts"

class Unneeded extends Context.Tag("test/Unneeded")<Unneeded, string>() {}

/** Reports the context with which the fiber of a request began. */
const app = Effect.gen(function* () {
  const services = [...(yield* Effect.context<never>()).unsafeMap.keys()].sort()
  const priority = FiberRefs.get(yield* Effect.getFiberRefs, FiberRef.currentSchedulingPriority)
  return HttpServerResponse.unsafeJson({ services, hasPriority: Option.isSome(priority) })
})

const seenBy = (change: (server: HttpServer.HttpServer) => HttpServer.HttpServer) =>
  Effect.gen(function* () {
    const server = yield* HttpServer.HttpServer
    yield* HttpServer.serveEffect(app).pipe(
      Effect.provideService(HttpServer.HttpServer, change(server)),
      Effect.provideService(Unneeded, "unneeded"),
      Effect.provideService(Workload, "request"),
      Effect.withSchedulingPriority(0)
    )
    const response = yield* (yield* HttpClient.HttpClient).get("/")
    return (yield* response.json) as { readonly services: ReadonlyArray<string>; readonly hasPriority: boolean }
  }).pipe(Effect.scoped, Effect.provide(Layer.fresh(NodeHttpServer.layerTest)))

it.effect("the fiber of a request begins with the context it needs, not with that of the server's construction", () =>
  Effect.gen(function* () {
    const plain = yield* seenBy((server) => server)
    assert.include(plain.services, "test/Unneeded")
    assert.isTrue(plain.hasPriority)
    const lean = yield* seenBy(withLeanFibers)
    assert.deepStrictEqual(lean, {
      // The span of the library's own tracer, which the service disables.
      services: ["@effect/platform/HttpServerRequest", "catalog/Workload", "effect/ParentSpan", "effect/Scope"],
      hasPriority: false
    })
  })
)
