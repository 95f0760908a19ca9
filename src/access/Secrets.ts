import { hash, randomBytes } from "node:crypto"
import { Effect } from "effect"
import { prefixes, type SecretKind, secretBytes } from "./OpaqueToken.ts"

/** A new secret of 256 random bits; who gets it is the only one to have it. */
export const mintSecret = (kind: SecretKind): Effect.Effect<string> =>
  Effect.sync(() => prefixes[kind] + randomBytes(secretBytes).toString("base64url"))

/** What is kept of a secret, and what it is found by: its SHA-256, in hexadecimal. */
export const hashOf = (secret: string): string => hash("sha256", secret, "hex")
