import { Context } from "effect"

/** Annotates endpoints that read from a store's platform: their responses can change while the account's version does not. */
export class Live extends Context.Tag("catalog/Live")<Live, true>() {}
