import { hash, randomBytes } from "node:crypto"
import { Effect } from "effect"
import { prefixes, type SecretKind, secretBytes } from "./OpaqueToken.ts"

/** A new secret of 256 random bits. It is stored nowhere. */
export const mintSecret = (kind: SecretKind): Effect.Effect<string> =>
  Effect.sync(() => prefixes[kind] + randomBytes(secretBytes).toString("base64url"))

/** The SHA-256 of a secret in hexadecimal: what is stored, and by which the secret is found. */
export const hashOf = (secret: string): string => hash("sha256", secret, "hex")
