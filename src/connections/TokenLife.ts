import { OAuthRefused } from "./OAuthErrors.ts"
import { covers, type Tier, tierOfScope } from "./Tier.ts"

/** How long what the authorization server hands out is good for, in seconds. */
export const lifeSeconds = {
  /** A code on its way to its client. */
  code: 60,
  /** A consent page. */
  consent: 600,
  access: 3_600,
  /** From its last use. */
  refresh: 30 * 86_400,
  /** A connection, however often its tokens are refreshed. */
  connection: 180 * 86_400,
  /** After its use, a refresh token may be used again by who did not get, or wait for, the answer. */
  refreshGrace: 30
} as const

/** How many more tokens come of one refresh token within its grace. */
const mostSiblings = 3

/** A refresh token, read under the lock of its connection. */
export interface RefreshFacts {
  /** It, or its connection, or its user, is no longer good. */
  readonly dead: boolean
  readonly usedAgoSeconds: number | null
  /** Refresh tokens that came of it. */
  readonly successors: number
  /** Whether one of those was used. */
  readonly successorUsed: boolean
}

/**
 * What becomes of a refresh token that is shown. It is good for one use; used again within its grace while nothing that came
 * of it was used, it gives a sibling, so that concurrent refreshes and lost answers end no connection; used again later, somebody
 * else may have it. Siblings are few: beyond them it is refused, which ends nothing.
 */
export const judgeRefresh = ({
  dead,
  successors,
  successorUsed,
  usedAgoSeconds
}: RefreshFacts): "issue" | "refuse" | "replayed" => {
  if (dead) return "refuse"
  if (usedAgoSeconds === null) return "issue"
  if (successorUsed || usedAgoSeconds >= lifeSeconds.refreshGrace) return "replayed"
  return successors <= mostSiblings ? "issue" : "refuse"
}

/** The tier of a refreshed access token: as the connection's, or as low as it asks. */
export const refreshedTier = (granted: Tier, scope: string | undefined): Tier | OAuthRefused => {
  if (scope === undefined) return granted
  const asked = tierOfScope(scope)
  return asked !== undefined && covers(granted, asked)
    ? asked
    : OAuthRefused.because("invalid_scope", "The connection was not granted that scope: connect again to ask for more.")
}
