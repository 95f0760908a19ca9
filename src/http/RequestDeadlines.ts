import { Context } from "effect"
import type { BoundName } from "../api/TimeBound.ts"

/** The time within which every request is answered, in milliseconds from when it was received. */
export type RequestBounds = Readonly<Record<BoundName, number>>

export const defaultRequestBounds: RequestBounds = { usual: 10_000, batch: 60_000, scan: 660_000 }

/** Provided by `App.ts` from the settings. */
export class RequestDeadlines extends Context.Reference<RequestDeadlines>()("catalog/RequestDeadlines", {
  defaultValue: (): RequestBounds => defaultRequestBounds
}) {}
