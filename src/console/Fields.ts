/** Names of the fields that forms of several pages have. */
export const fieldNames = { csrf: "csrf", returnTo: "return_to", unsent: "unsent" } as const

/** Parameters of an address that say what came of a form: each is shown once. */
export const noteNames: ReadonlyArray<string> = ["note", "ended", "scanned"]
