/** Names of form fields that several pages use. */
export const fieldNames = { csrf: "csrf", returnTo: "return_to", unsent: "unsent", kept: "kept" } as const

/** Query parameters that show the result of a form as a flash message. Each result is shown once. */
export const noteNames: ReadonlyArray<string> = ["note", "ended", "scanned", "repaired"]
