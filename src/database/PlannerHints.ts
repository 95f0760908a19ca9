/** A comment in statements whose best plan depends on their parameters, such as a LIKE pattern. They are planned at each call. */
export const planCustom = "/* plan: custom */"

/** A comment in statements that read a whole account by design. Plans.test.ts refuses such a plan without it. */
export const readsAll = "/* reads the whole account */"

/**
 * A comment in statements that look for work in all accounts by design. On a cluster they run on every shard. Every other statement
 * names its account for each distributed table; Plans.test.ts refuses one that does not.
 */
export const allAccounts = "/* all accounts */"

/** A comment in statements that never run on a cluster. */
export const oneServer = "/* one server */"
