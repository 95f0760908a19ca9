import { Context } from "effect"

/** Names of time limits: for a batch of writes, for a scan of a whole account, and for all other requests. */
export type BoundName = "usual" | "batch" | "scan"

/** The time limit of an endpoint. Absent: `usual`. */
export class TimeBound extends Context.Tag("catalog/TimeBound")<TimeBound, BoundName>() {}
