import { Context } from "effect"

/** Annotates endpoints that read from a store's platform: their responses can change while the account's version does not. */
export class LiveRead extends Context.Tag("catalog/LiveRead")<LiveRead, true>() {}
