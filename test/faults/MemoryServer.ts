/**
 * A process that serves the suite's database (MEMORY_DATABASE_URL) and reports its memory after a garbage collection
 * over IPC. MEMORY_LEAK plants a fault: it keeps the URL of every request.
 */

import { subscribe } from "node:diagnostics_channel"
import { setTimeout as sleep } from "node:timers/promises"
import { HttpServer } from "@effect/platform"
import { Config, Effect, Layer, Option, Redacted } from "effect"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import * as Database from "../../src/database/Database.ts"
import { Readiness } from "../../src/http/Health.ts"
import * as Http from "../../src/http/Http.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"

const kept: Array<unknown> = []
if (process.env.MEMORY_LEAK !== undefined)
  subscribe("http.server.request.start", (message) => {
    const { request } = message as { readonly request: { readonly url: string; readonly rawHeaders: unknown } }
    kept.push([request.url, request.rawHeaders])
  })

const collected = async () => {
  // Finalizers and weak maps of one collection allow the next one to free more.
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.()
    await sleep(50)
  }
  const { external, heapUsed, rss } = process.memoryUsage()
  return { heap: heapUsed + external, rss }
}

const Serving = Layer.unwrapEffect(
  Effect.map(Config.redacted("MEMORY_DATABASE_URL"), (url) =>
    Layer.effectDiscard(
      Effect.map(HttpServer.HttpServer, ({ address }) => {
        process.on("message", () => {
          void collected().then((memory) => process.send?.(memory))
        })
        process.send?.({ port: address._tag === "TcpAddress" ? address.port : 0 })
      })
    ).pipe(
      Layer.provide(Http.layer({ host: "127.0.0.1", port: 0 })),
      Layer.provide(Readiness.layer(Effect.void)),
      Layer.provide(RateBudget.layerProcess({ perKey: 999_999_999, perAccount: 999_999_999 })),
      Layer.provide(ServicesOnDatabase),
      Layer.provide(Database.layer({ url: Option.some(Redacted.make(Redacted.value(url))), dataDirectory: "" }))
    )
  )
)

process.on("disconnect", () => process.exit(1))
Effect.runFork(Effect.tapErrorCause(Layer.launch(Serving), Effect.logError))
