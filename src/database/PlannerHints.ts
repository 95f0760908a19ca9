/** A comment in statements whose best plan depends on their parameters, such as a LIKE pattern. They are planned at each call. */
export const planCustom = "/* plan: custom */"

/** A comment in statements that read a whole account by design. Plans.test.ts refuses such a plan without it. */
export const readsAll = "/* reads the whole account */"
