import { Context } from "effect"

/** The largest body that an endpoint takes, in bytes; absent: 1 MiB. */
export class BodyLimit extends Context.Tag("catalog/BodyLimit")<BodyLimit, number>() {}
