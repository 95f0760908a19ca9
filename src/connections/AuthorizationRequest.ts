import { Either, Option } from "effect"
import { OAuthRefused } from "./OAuthErrors.ts"
import { shortName, type Tier, tierOfQuery, tierOfScope } from "./Tier.ts"

/** The parameters of a query or a form. */
export interface Parameters {
  readonly get: (name: string) => string | undefined
  readonly names: ReadonlyArray<string>
  /** Parameters that occur more than once. */
  readonly repeated: ReadonlyArray<string>
  /** Whether a name or a value has U+0000 (NUL), which PostgreSQL cannot store. */
  readonly hasNul: boolean
}

export const parametersOf = (text: string): Parameters => {
  const parameters = new URLSearchParams(text)
  // Sets keep this linear: a form can have a hundred thousand parameters.
  const names = new Set<string>()
  const repeated = new Set<string>()
  for (const name of parameters.keys()) (names.has(name) ? repeated : names).add(name)
  return {
    hasNul: [...parameters].some(([name, value]) => name.includes("\u0000") || value.includes("\u0000")),
    names: [...names],
    // RFC 6749 (3.1): a parameter without a value counts as left out.
    get: (name) => parameters.get(name) || undefined,
    repeated: [...repeated]
  }
}

/** The valid parameters of a request, except client and redirect URI. */
export interface AuthorizationRequest {
  /** The highest requested tier. Undefined: the request has no tier, so the page offers all. */
  readonly requestedTier: Tier | undefined
  readonly state: string | undefined
  readonly codeChallenge: string
  /** The URL of the service for which the tokens are valid. */
  readonly resource: string
}

/** Maximum characters of `state`, which is stored until the decision. */
const maxStateCharacters = 4_096

/** The code challenge, BASE64URL(SHA256(verifier)): RFC 7636, section 4.2. */
const challengePattern = /^[A-Za-z0-9_-]{43}$/

const withoutSlashes = (path: string) => path.replace(/\/{1,64}$/, "")

/** The URL of the MCP server. */
export const resourceOf = (baseUrl: string): string => `${baseUrl}/mcp`

/** The URL of the MCP server for connections of at most this tier. */
export const resourceUpTo = (baseUrl: string, tier: Tier): string =>
  tier === "pim:publish" ? resourceOf(baseUrl) : `${resourceOf(baseUrl)}?tier=${shortName(tier)}`

/**
 * Reads the requested resource (RFC 8707). These mean the same: the service's URL with or without `/mcp`, with or without a tier
 * in its query, and no resource. Trailing slashes and the case of the host do not matter.
 */
export const readResource = (requested: string | undefined, baseUrl: string): Either.Either<string, OAuthRefused> => {
  const resource = resourceOf(baseUrl)
  if (requested === undefined) return Either.right(resource)
  const plain = (address: string) => {
    const { hash, origin, password, pathname, search, username } = new URL(address)
    return hash + username + password === "" && Option.isSome(tierOfQuery(search))
      ? origin + withoutSlashes(pathname)
      : undefined
  }
  const found = URL.canParse(requested) ? plain(requested) : undefined
  return found !== undefined && (found === plain(resource) || found === plain(baseUrl))
    ? Either.right(resource)
    : Either.left(OAuthRefused.because("invalid_target", `resource must be ${resource}.`))
}

const refuseRequest = (description: string) => Either.left(OAuthRefused.because("invalid_request", description))

/** Reads the parameters, except client and redirect URI. A refusal is sent to the client. */
export const readAuthorizationRequest = (
  parameters: Parameters,
  baseUrl: string
): Either.Either<AuthorizationRequest, OAuthRefused> => {
  const { get, repeated, hasNul } = parameters
  if (repeated.length > 0) return refuseRequest("A parameter is given more than once.")
  if (hasNul) return refuseRequest("A parameter has U+0000.")
  const state = get("state")
  if (state !== undefined && state.length > maxStateCharacters)
    return refuseRequest(`state must have at most ${maxStateCharacters} characters.`)
  const responseType = get("response_type")
  if (responseType === undefined) return refuseRequest("response_type is missing: send response_type=code.")
  if (responseType !== "code")
    return Either.left(OAuthRefused.because("unsupported_response_type", "The only response_type is code."))
  if (get("response_mode") !== undefined && get("response_mode") !== "query")
    return refuseRequest("The only response_mode is query.")
  const codeChallenge = get("code_challenge")
  if (codeChallenge === undefined) return refuseRequest("code_challenge is missing: PKCE is required.")
  if (get("code_challenge_method") !== "S256") return refuseRequest("The only code_challenge_method is S256.")
  if (!challengePattern.test(codeChallenge)) return refuseRequest("code_challenge must be a SHA-256 in base64url.")
  return Either.map(readResource(get("resource"), baseUrl), (resource) => ({
    requestedTier: tierOfScope(get("scope") ?? ""),
    state,
    codeChallenge,
    resource
  }))
}
