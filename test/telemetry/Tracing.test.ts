import { FileSystem } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Option, Tracer } from "effect"
import { Imports } from "../../src/imports/Imports.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { layerSpanLog } from "../../src/telemetry/SpanLog.ts"
import { CurrentTracing, traceWork } from "../../src/telemetry/Tracing.ts"
import { actingAs, anAccount, anEntity, Publishing, Stores, TestServices } from "../../src/testing/index.ts"
import { spanRecorder } from "../support/SpanRecorder.ts"
import { anyDatabase } from "../support/TestDatabase.ts"

/** A tracer that records all spans. */
const recorder = Effect.map(Effect.tracer, (native) => {
  const spans: Array<Tracer.Span> = []
  const tracer = Tracer.make({
    context: native.context,
    span: (...options) => {
      const span = native.span(...options)
      spans.push(span)
      return span
    }
  })
  return { spans, tracer }
})

/** Publishes a product. Returns the ids that its trace has. */
const publish = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { store } = yield* (yield* Stores).link({ domain: "traced.demo.example", platform: "demo" })
    const id = yield* anEntity("product", { title: "Boots" }, { on: [store] })
    const publishing = yield* Publishing
    const answer = yield* publishing.request(id, store.id, undefined, true)
    if (!("publicationId" in answer)) return assert.fail(answer.outcome)
    yield* publishing.settle([answer.publicationId], () => Effect.void)
    return { accountId, publicationId: answer.publicationId, storeId: store.id }
  }).pipe(actingAs(actor))
}).pipe(Effect.provide(Layer.fresh(TestServices)), Effect.withTracerEnabled(false))

const spansOfPublish = (isSampled: boolean) =>
  Effect.gen(function* () {
    const { spans, tracer } = yield* recorder
    const account = yield* Effect.provideService(publish, CurrentTracing, { tracer, sample: () => isSampled })
    return { account, spans }
  })

/** Imports a file into a store with a platform, which is read afterwards. Returns the ids that the traces have. */
const importFile = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const path = yield* files.makeTempFileScoped({ suffix: ".csv" })
  yield* files.writeFileString(
    path,
    "Handle,Title,Option1 Name,Option1 Value,Variant SKU\nhat,Hat,Title,Default Title,HAT\n"
  )
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    yield* (yield* Stores).link({ domain: "traced.demo.example", platform: "demo" })
    const imports = yield* Imports
    const quiet = () => Effect.void
    const { id } = yield* imports.csv(path, "traced.demo.example", quiet)
    const { phase } = yield* imports.accept(id, quiet)
    assert.strictEqual(phase, "applied")
    return { "catalog.account_id": accountId, "catalog.import_id": id }
  }).pipe(actingAs(actor))
}).pipe(
  Effect.provide(ServicesOnDatabase.pipe(Layer.provideMerge(anyDatabase), Layer.merge(NodeContext.layer))),
  Effect.withTracerEnabled(false)
)

describe("background work", () => {
  it.scopedLive("has a trace of its own for each attempt to publish, with ids as attributes only", () =>
    Effect.gen(function* () {
      const { account, spans } = yield* spansOfPublish(true)
      const roots = spans.filter(({ parent }) => Option.isNone(parent))
      assert.deepStrictEqual(
        roots.map(({ attributes, kind, name }) => ({ attributes: Object.fromEntries(attributes), kind, name })),
        [
          {
            name: "publish",
            kind: "consumer",
            attributes: {
              "catalog.account_id": account.accountId,
              "catalog.publication_id": account.publicationId,
              "catalog.store_id": account.storeId
            }
          }
        ]
      )
      assert.isTrue(spans.every(({ status }) => status._tag === "Ended"))
    })
  )

  it.scopedLive("has no span if it is not sampled", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* spansOfPublish(false)).spans, [])
    })
  )

  it.effect("has no span in the trace of the request that began it", () =>
    Effect.gen(function* () {
      const { spans, tracer } = yield* recorder
      yield* Effect.void.pipe(
        Effect.withSpan("a statement"),
        traceWork("import reading", {}),
        Effect.withSpan("POST /imports"),
        Effect.withTracer(tracer),
        Effect.provideService(CurrentTracing, { tracer, sample: () => false })
      )
      assert.deepStrictEqual(
        spans.map(({ name }) => name),
        ["POST /imports"]
      )
    })
  )

  it.scopedLive(
    "has a trace for each part of an import: its reading, comparison and batches, and the reading of the store",
    () =>
      Effect.gen(function* () {
        const { spans, tracer } = yield* recorder
        const ids = yield* Effect.provideService(importFile, CurrentTracing, { tracer, sample: () => true })
        const roots = spans.filter(({ parent }) => Option.isNone(parent))
        assert.deepStrictEqual(
          [...new Set(roots.map(({ name }) => name))],
          ["import reading", "import comparison", "import batch", "import answer"]
        )
        for (const { attributes } of roots) assert.deepStrictEqual(Object.fromEntries(attributes), ids)
        assert.isTrue(spans.every(({ status }) => status._tag === "Ended"))
      })
  )

  it.scopedLive("is logged for the share of TRACE_PERCENT", () =>
    Effect.gen(function* () {
      const logged = (percent: number) =>
        Effect.gen(function* () {
          const { logger, spans } = spanRecorder()
          yield* publish.pipe(
            Effect.provide(Layer.provide(layerSpanLog(percent), Logger.replace(Logger.defaultLogger, logger)))
          )
          return spans.filter(({ name }) => name === "publish").map(({ outcome }) => outcome)
        })
      assert.deepStrictEqual(yield* logged(100), ["success"])
      assert.deepStrictEqual(yield* logged(0), [])
    })
  )
})
