import { Context } from "effect"

/** Endpoints whose answers come from elsewhere: no version of the account says whether one is still true. */
export class Live extends Context.Tag("catalog/Live")<Live, true>() {}
