import { Context, type Tracer } from "effect"
import type { Sampler } from "./Sampling.ts"

/** How requests are traced. */
export interface Tracing {
  readonly tracer: Tracer.Tracer
  readonly sample: Sampler
}

/** Undefined: no request has spans. */
export class RequestTracing extends Context.Reference<RequestTracing>()("catalog/RequestTracing", {
  defaultValue: (): Tracing | undefined => undefined
}) {}
