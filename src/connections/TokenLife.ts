import { OAuthRefused } from "./OAuthErrors.ts"
import { covers, type Tier, tierOfScope } from "./Tier.ts"

/** Lifetimes in seconds. */
export const lifeSeconds = {
  code: 60,
  consent: 600,
  access: 3_600,
  /** Each refresh issues a new refresh token with this lifetime. */
  refresh: 30 * 86_400,
  /** The maximum of a connection, however often its tokens are refreshed. */
  connection: 180 * 86_400,
  /** After its first use, a refresh token can be used again by a client that did not receive or wait for the answer. */
  refreshGrace: 30
} as const

/** Maximum number of further tokens from one refresh token within its grace. */
const maxSiblings = 3

/** A refresh token, read under the lock of its connection. */
export interface RefreshFacts {
  /** It has expired, its connection has ended, or its user is disabled. */
  readonly dead: boolean
  readonly usedAgoSeconds: number | null
  /** Number of refresh tokens that were issued for it. */
  readonly successors: number
  /** Whether one of those was used. */
  readonly successorUsed: boolean
}

/**
 * Decides about a refresh token. Its first use issues new tokens. A second use within the grace, while none of its successors
 * was used, issues tokens again, at most a few times: so concurrent refreshes and lost answers do not end the connection. A
 * later use means that somebody else may have a copy: the connection ends.
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
  return successors <= maxSiblings ? "issue" : "refuse"
}

/** The tier of a refreshed access token: the connection's, or a lower one from the scope. */
export const refreshedTier = (granted: Tier, scope: string | undefined): Tier | OAuthRefused => {
  if (scope === undefined) return granted
  const asked = tierOfScope(scope)
  return asked !== undefined && covers(granted, asked)
    ? asked
    : OAuthRefused.because("invalid_scope", "The connection does not include that scope: connect again to request it.")
}
