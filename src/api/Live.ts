import { Context } from "effect"

/** Endpoints that read from a store's platform: the account's version does not tell whether a response is still current. */
export class Live extends Context.Tag("catalog/Live")<Live, true>() {}
