import { Context, Effect, type Tracer } from "effect"
import type { Sampler } from "./Sampling.ts"

/** How requests and background work are traced. */
export interface Tracing {
  readonly tracer: Tracer.Tracer
  readonly sample: Sampler
}

/** Undefined: nothing has spans. */
export class CurrentTracing extends Context.Reference<CurrentTracing>()("catalog/CurrentTracing", {
  defaultValue: (): Tracing | undefined => undefined
}) {}

/**
 * Gives a piece of background work, for example a publish or a step of a job, a trace of its own, if it is sampled. Attributes
 * may contain ids; a name must not.
 */
export const traceWork =
  (name: string, attributes: Readonly<Record<string, string>>) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(CurrentTracing, (tracing) => {
      if (tracing === undefined) return work
      // Otherwise its spans would be in the trace of the request that began it.
      if (!tracing.sample(undefined)) return Effect.withTracerEnabled(work, false)
      return work.pipe(
        Effect.withSpan(name, { root: true, kind: "consumer", attributes, captureStackTrace: false }),
        Effect.withTracerEnabled(true),
        Effect.withTracer(tracing.tracer)
      )
    })
