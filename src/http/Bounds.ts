import type { BodyBounds } from "./BodiesInFlight.ts"
import type { ConnectionBounds } from "./OpenConnections.ts"

/** Limits of a server's open connections, and of the request bodies in its memory. */
export type Bounds = BodyBounds & ConnectionBounds

export const defaultBounds: Bounds = {
  bytes: 64 * 1_048_576,
  bytesPerCredential: 16 * 1_048_576,
  connections: 4_096,
  connectionsPerAddress: 256,
  writeStallMillis: 30_000
}
