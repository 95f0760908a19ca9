import { Context } from "effect"
import type { BoundName } from "../api/TimeBound.ts"

/** Time limits of requests, in milliseconds from the receipt of the request. */
export type RequestBounds = Readonly<Record<BoundName, number>>

export const defaultRequestBounds: RequestBounds = { usual: 10_000, batch: 60_000, scan: 660_000 }

/** The time limits in use. `App.ts` provides them from the settings. */
export class RequestDeadlines extends Context.Reference<RequestDeadlines>()("catalog/RequestDeadlines", {
  defaultValue: (): RequestBounds => defaultRequestBounds
}) {}
