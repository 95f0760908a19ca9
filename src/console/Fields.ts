/** Names of fields in forms of several pages. */
export const fieldNames = { csrf: "csrf", returnTo: "return_to", unsent: "unsent" } as const

/** Parameters of an address with the result of a form. A result is shown once. */
export const noteNames: ReadonlyArray<string> = ["note", "ended", "scanned"]
