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

/** Maximum traces per second that clients can request of a process. */
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
 * Makes a sampler by its OpenTelemetry name. `ratio`: the share of requests to sample, 0 to 1, for samplers that use
 * one.
 *
 * `parentbased_...` follows the client's decision: a trace that the client does not sample is not sampled here; one
 * that it samples is sampled here, up to 10 a second. Further requests are treated as if they had no parent, so that
 * clients cannot force the cost of spans on the service. The ratio is drawn at random, and not computed from the trace
 * id, because clients choose that.
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
