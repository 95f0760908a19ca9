import { createHmac, hash, randomBytes } from "node:crypto"
import { Effect } from "effect"
import { prefixes, type SecretKind, secretBytes } from "./OpaqueToken.ts"

/** Makes a secret of 256 random bits. The secret itself is never stored. */
export const mintSecret = (kind: SecretKind): Effect.Effect<string> =>
  Effect.sync(() => prefixes[kind] + randomBytes(secretBytes).toString("base64url"))

/**
 * A secret that follows from a form, so that the same form gives it again when it is sent twice. `session`: the token of the browser's
 * session, which is random and not stored: without it nobody can derive the secret.
 */
export const deriveSecret = (kind: SecretKind, session: string, form: string): string =>
  prefixes[kind] + createHmac("sha256", session).update(form).digest("base64url")

/** The SHA-256 of a secret in hexadecimal. It is stored instead of the secret, and used to find it. */
export const hashOf = (secret: string): string => hash("sha256", secret, "hex")
