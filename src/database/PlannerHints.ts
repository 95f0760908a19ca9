/** A comment for a statement whose best plan depends on its parameters, such as a LIKE pattern: it is planned at each call. */
export const planCustom = "/* plan: custom */"

/** A comment for a statement that reads all of an account by design. Plans.test.ts refuses such a plan without it. */
export const readsAll = "/* reads the whole account */"
