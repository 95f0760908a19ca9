import { Effect, Exit, Layer, Option, Runtime, Tracer } from "effect"
import { makeSampler } from "./Sampling.ts"
import { CurrentTracing } from "./Tracing.ts"

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

/** Logs the spans of a share of requests and of background work. `percent`: 0 to 100. */
export const layerSpanLog = (percent: number): Layer.Layer<never> =>
  percent === 0
    ? Layer.empty
    : Layer.effect(
        CurrentTracing,
        Effect.map(loggingTracer, (tracer) => ({
          tracer,
          sample: makeSampler("parentbased_traceidratio", percent / 100)
        }))
      )
