import type { Standing } from "../budgets/RateBudget.ts"

/** On every answer of the API: it belongs to one credential, and is asked for again with its tag. */
export const commonHeaders = { "cache-control": "private, no-cache", vary: "Authorization" } as const

/** The rate headers of every answer: the key's window, or a full one while no key is concerned. */
export const rateHeaders = (standing: Standing) => ({
  "x-ratelimit-limit": String(standing.limit),
  "x-ratelimit-remaining": String(standing.remaining),
  "x-ratelimit-reset": String(standing.resetAtSeconds),
  "x-ratelimit-scope": standing.scope
})
