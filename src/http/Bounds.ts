import type { BodyBounds } from "./BodiesInFlight.ts"

/** How much a server takes on at once. */
export type Bounds = BodyBounds

export const defaultBounds: Bounds = { bytes: 64 * 1_048_576, bytesPerCredential: 16 * 1_048_576 }
