import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Tracer } from "effect"
import { RequestTracing } from "../../src/telemetry/Tracing.ts"
import { actingAs, anAccount, anEntity, Publishing, Stores, TestServices } from "../../src/testing/index.ts"

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

/** The spans of requesting and carrying out the publish of a product. */
const spansOfPublish = (isSampled: boolean) =>
  Effect.gen(function* () {
    const { spans, tracer } = yield* recorder
    const account = yield* Effect.gen(function* () {
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
    }).pipe(
      Effect.provide(Layer.fresh(TestServices)),
      Effect.withTracerEnabled(false),
      Effect.provideService(RequestTracing, { tracer, sample: () => isSampled })
    )
    return { account, spans }
  })

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
})
