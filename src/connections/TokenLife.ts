import { OAuthRefused } from "./OAuthErrors.ts"
import { covers, type Tier, tierOfScope } from "./Tier.ts"

/** Lifetimes in seconds. */
export const lifeSeconds = {
  code: 60,
  consent: 600,
  access: 3_600,
  /** Each refresh issues a new refresh token with this lifetime. */
  refresh: 30 * 86_400,
  /** The maximum lifetime of a connection, however often its tokens are refreshed. */
  connection: 180 * 86_400,
  /** Time after the first use of a refresh token in which a client that did not receive the answer can use it again. */
  refreshGrace: 30
} as const

/** Maximum number of repeated exchanges of one refresh token within `refreshGrace`. */
const maxSiblings = 3

/** A refresh token, read under the lock of its connection. */
interface RefreshFacts {
  /** Whether the token has expired, its connection has ended, or its user is disabled. */
  readonly dead: boolean
  readonly usedAgoSeconds: number | null
  /** Number of refresh tokens that were issued in exchange for this one. */
  readonly successors: number
  /** Whether one of these successors was used. */
  readonly successorUsed: boolean
}

/**
 * Decides about the use of a refresh token. The first use issues new tokens. While no successor was used, further uses within the
 * grace issue tokens again, at most `maxSiblings` times: so concurrent refreshes and lost answers do not end the connection. A
 * use after that (`replayed`) ends the connection, because somebody else may have a copy of the token.
 */
export const decideRefresh = ({
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

/** The tier of a refreshed access token: the connection's tier, or a lower one if `scope` asks for it. */
export const refreshedTier = (granted: Tier, scope: string | undefined): Tier | OAuthRefused => {
  if (scope === undefined) return granted
  const requested = tierOfScope(scope)
  return requested !== undefined && covers(granted, requested)
    ? requested
    : OAuthRefused.because("invalid_scope", "The connection does not include that scope: connect again to request it.")
}
