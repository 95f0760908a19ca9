/** Names of the fields that forms of several pages have. */
export const fieldNames = { csrf: "csrf", returnTo: "return_to", unsent: "unsent" } as const
