import type { RateStatus } from "../budgets/RateBudget.ts"

/** Headers of every response of the API: caches must not share it, and must revalidate it. */
export const commonHeaders = { "cache-control": "private, no-cache", vary: "Authorization, Accept-Encoding" } as const

/** The rate headers of every response: the window of the key, or a full window if the request has no key. */
export const rateHeaders = (rateStatus: RateStatus) => ({
  "x-ratelimit-limit": String(rateStatus.limit),
  "x-ratelimit-remaining": String(rateStatus.remaining),
  "x-ratelimit-reset": String(rateStatus.resetAtSeconds),
  "x-ratelimit-scope": rateStatus.scope
})
