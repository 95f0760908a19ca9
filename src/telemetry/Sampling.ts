import { Tracer } from "effect"

export const samplerNames = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const
export type SamplerName = (typeof samplerNames)[number]

/** Traces per second that clients can demand of a process. */
const demandedPerSecond = 10

/** The trace that a request belongs to by its `traceparent` header. Undefined: the header is absent or not valid. */
export const parentOf = (traceparent: string | undefined): Tracer.ExternalSpan | undefined => {
  const found = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? "")
  if (found === null) return undefined
  const [, traceId = "", spanId = "", flags = ""] = found
  return Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 })
}

/** Decides whether a request is traced. */
export type Sampler = (parent: Tracer.ExternalSpan | undefined) => boolean

/**
 * A sampler by its OpenTelemetry name. `ratio`: the share of requests of the two that have one, 0 to 1.
 *
 * `parentbased_...` follows the client: a trace that it does not sample is never sampled here, and one that it samples is, up
 * to 10 a second. Beyond that the request is treated like one without a parent, so that no client can force the cost of spans
 * on the service. The ratio is drawn at random instead of computed from the trace id, which a client chooses.
 */
export const makeSampler = (
  name: SamplerName,
  ratio: number,
  clock: () => number = () => performance.now(),
  draw: () => number = Math.random
): Sampler => {
  const root = () => {
    switch (name) {
      case "always_on":
      case "parentbased_always_on":
        return true
      case "always_off":
      case "parentbased_always_off":
        return false
      case "traceidratio":
      case "parentbased_traceidratio":
        return draw() < ratio
    }
  }
  if (!name.startsWith("parentbased_")) return root
  let demanded = 0
  let second = Number.NEGATIVE_INFINITY
  const isAllowed = () => {
    const now = Math.floor(clock() / 1_000)
    if (now !== second) {
      second = now
      demanded = 0
    }
    return demanded++ < demandedPerSecond
  }
  return (parent) => {
    if (parent === undefined) return root()
    return parent.sampled && (isAllowed() || root())
  }
}
