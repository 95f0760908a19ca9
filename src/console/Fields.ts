/** Names of form fields that several pages use. */
export const fieldNames = { csrf: "csrf", returnTo: "return_to", unsent: "unsent", kept: "kept" } as const

/** The prefix of the names of credential fields. */
export const credentialPrefix = "credential-"

const passwordNames = ["password", "current"] as const

/**
 * The attributes of an input for a password or a credential. No input sets this type itself, because error pages leave out only the
 * names that are allowed here.
 */
export const secretInput = (name: (typeof passwordNames)[number] | `${typeof credentialPrefix}${string}`) =>
  ({ type: "password", name }) as const

/** Whether a field may contain a password, a credential or a code. */
export const isSecretName = (name: string): boolean =>
  passwordNames.some((each) => each === name) || name.startsWith(credentialPrefix) || /password|(?<!bar)code/.test(name)

/** Query parameters that show the result of a form as a flash message. Each result is shown once. */
export const noteNames: ReadonlyArray<string> = ["note", "ended", "scanned", "repaired"]
