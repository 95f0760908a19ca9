import type { Standing } from "../budgets/RateBudget.ts"

/** Headers of every response of the API: caches must not share it, and must revalidate it. */
export const commonHeaders = { "cache-control": "private, no-cache", vary: "Authorization, Accept-Encoding" } as const

/** The rate headers of every response: the window of the key, or a full window if the request has no key. */
export const rateHeaders = (standing: Standing) => ({
  "x-ratelimit-limit": String(standing.limit),
  "x-ratelimit-remaining": String(standing.remaining),
  "x-ratelimit-reset": String(standing.resetAtSeconds),
  "x-ratelimit-scope": standing.scope
})
