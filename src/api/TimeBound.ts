import { Context } from "effect"

/** How long a request may take: as most, a batch of writes, or a scan of a whole account. */
export type BoundName = "usual" | "batch" | "scan"

/** The bound of an endpoint; absent: the usual one. */
export class TimeBound extends Context.Tag("catalog/TimeBound")<TimeBound, BoundName>() {}
