import type { Standing } from "../budgets/RateBudget.ts"

/** The rate headers of every answer: the key's window, or a full one while no key is concerned. */
export const rateHeaders = (standing: Standing) => ({
  "x-ratelimit-limit": String(standing.limit),
  "x-ratelimit-remaining": String(standing.remaining),
  "x-ratelimit-reset": String(standing.resetAtSeconds),
  "x-ratelimit-scope": standing.scope
})
