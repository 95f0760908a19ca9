import { HttpApiBuilder, type HttpApp, HttpMiddleware } from "@effect/platform"
import { Context, Effect, Exit, Layer, Option, Runtime, Tracer } from "effect"

/** The share of requests whose spans are logged, in percent. */
export class SpanPercent extends Context.Reference<SpanPercent>()("catalog/SpanPercent", {
  defaultValue: (): number => 0
}) {}

/** Logs each span when it ends, with its duration in milliseconds. */
const loggingTracer = Effect.gen(function* () {
  const native = yield* Effect.tracer
  const runtime = yield* Effect.runtime()
  const log = ({ name, parent, spanId, traceId }: Tracer.Span, nanos: bigint, exit: Exit.Exit<unknown, unknown>) =>
    Effect.annotateLogs(Effect.logInfo(`span ${name}`), {
      ms: Number(nanos) / 1_000_000,
      outcome: Exit.isSuccess(exit) ? "success" : "failure",
      traceId,
      spanId,
      ...Option.match(parent, { onNone: () => ({}), onSome: (outer) => ({ parentId: outer.spanId }) })
    })
  return Tracer.make({
    context: native.context,
    span: (...options) => {
      const span = native.span(...options)
      const end = span.end.bind(span)
      span.end = (endTime, exit) => {
        end(endTime, exit)
        Runtime.runFork(runtime, log(span, endTime - span.status.startTime, exit))
      }
      return span
    }
  })
})

/** Turns the tracer off for requests that were not sampled (they have no span), so that their programs make no spans either. */
const onlySampled = HttpApiBuilder.middleware(
  Effect.succeed(
    <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E, R> =>
      Effect.withFiberRuntime((fiber) => (fiber.currentSpan === undefined ? Effect.withTracerEnabled(app, false) : app))
  )
)

/**
 * Starts a server that logs the spans of `percent` of its requests. At 0 percent the tracer is off, because spans of every
 * request would take a third of its time.
 */
export const sampleSpans =
  (percent: number) =>
  <A, E, R>(start: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    percent === 0
      ? start.pipe(
          HttpMiddleware.withTracerDisabledWhenEffect(() => true),
          Effect.withTracerEnabled(false)
        )
      : Effect.flatMap(loggingTracer, (tracer) =>
          start.pipe(
            HttpMiddleware.withTracerDisabledWhenEffect(() => Math.random() * 100 >= percent),
            Effect.withTracer(tracer)
          )
        )

/** Must be provided to the API that `sampleSpans` starts. */
export const spansMiddleware = (percent: number) => (percent === 0 ? Layer.empty : onlySampled)
