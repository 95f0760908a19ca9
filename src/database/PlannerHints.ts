/**
 * Marks statements whose best plan depends on their parameters, such as a LIKE pattern. They are planned at each call.
 */
export const planCustom = "/* plan: custom */"

/** Marks statements that read a whole account by design. Plans.test.ts refuses such a plan in other statements. */
export const readsAll = "/* reads the whole account */"

/**
 * Marks statements that look for work in all accounts by design. On a cluster they run on every shard. Plans.test.ts
 * checks that every other statement has a condition on the account for each distributed table.
 */
export const allAccounts = "/* all accounts */"

/** Marks statements that never run on a cluster. */
export const oneServer = "/* one server */"
