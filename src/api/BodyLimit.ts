import { Context } from "effect"

/** Maximum body size of an endpoint, in bytes. Absent: 1 MiB. */
export class BodyLimit extends Context.Tag("catalog/BodyLimit")<BodyLimit, number>() {}
