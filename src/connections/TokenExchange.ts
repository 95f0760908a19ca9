import { hash } from "node:crypto"
import { Effect, Either, Option } from "effect"
import { isOfKind } from "../access/OpaqueToken.ts"
import { hashOf, mintSecret } from "../access/Secrets.ts"
import { Transaction } from "../database/Transaction.ts"
import { type AccountId, ConnectionId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { type Parameters, readResource } from "./AuthorizationRequest.ts"
import type { EndReason } from "./Connection.ts"
import { ConnectionsRepo } from "./ConnectionsRepo.ts"
import { findClient } from "./Consents.ts"
import { OAuthRefused } from "./OAuthErrors.ts"
import type { Client, NewTokens, StoredCode } from "./OAuthRecords.ts"
import { OAuthRepo } from "./OAuthRepo.ts"
import { destinationOf } from "./RedirectUri.ts"
import { lower, scopeOf, tierOfRole } from "./Tier.ts"
import { decideRefresh, refreshedTier } from "./TokenLife.ts"

/** A successful token response: RFC 6749, section 5.1. */
export interface TokenAnswer {
  readonly access_token: string
  readonly token_type: "Bearer"
  readonly expires_in: number
  readonly refresh_token: string
  readonly scope: string
}

/** A transaction's result. A refusal as Left commits the transaction; a refusal as failure rolls it back. */
type ExchangeResult = Effect.Effect<Either.Either<TokenAnswer, OAuthRefused>, OAuthRefused>

/** The code verifier: RFC 7636, section 4.1. */
const verifierPattern = /^[A-Za-z0-9\-._~]{43,128}$/

const invalidGrant = (description: string) => OAuthRefused.because("invalid_grant", description)

const requireParameter = (parameters: Parameters, name: string) => {
  const value = parameters.get(name)
  return value === undefined
    ? Either.left(OAuthRefused.because("invalid_request", `${name} is missing.`))
    : Either.right(value)
}

/** Refuses a request for another resource than `resource`. */
const requireResource = (parameters: Parameters, baseUrl: string, resource: string, refusal: string) => {
  const requested = parameters.get("resource")
  return requested === undefined
    ? Either.right(resource)
    : Either.filterOrLeft(
        readResource(requested, baseUrl),
        (each) => each === resource,
        () => OAuthRefused.because("invalid_target", refusal)
      )
}

/** The token and revocation endpoints. */
export const makeTokenExchange = Effect.gen(function* () {
  const connections = yield* ConnectionsRepo
  const oauth = yield* OAuthRepo
  const transaction = yield* Transaction
  const issue = makeIssue(oauth)
  const redeem = makeRedeem(oauth, connections, issue)
  const refresh = makeRefresh(oauth, connections, issue)

  const exchange = Effect.fn("Authorization.exchange")(function* (parameters: Parameters, baseUrl: string) {
    if (parameters.repeated.length > 0)
      return yield* OAuthRefused.because("invalid_request", "A parameter is given more than once.")
    const grantType = yield* requireParameter(parameters, "grant_type")
    if (grantType !== "authorization_code" && grantType !== "refresh_token")
      return yield* OAuthRefused.because(
        "unsupported_grant_type",
        "grant_type may be authorization_code or refresh_token."
      )
    const clientId = yield* requireParameter(parameters, "client_id")
    const client = yield* Effect.mapError(yield* findClient(oauth, clientId), () =>
      OAuthRefused.because("invalid_client", "No such client: register again.")
    )
    const run = grantType === "authorization_code" ? redeem : refresh
    return yield* yield* transaction.run(run(client, parameters, baseUrl))
  })

  const revoke = Effect.fn("Authorization.revoke")(function* (parameters: Parameters) {
    const token = parameters.get("token")
    if (token === undefined) return
    if (!isOfKind("access", token) && !isOfKind("refresh", token)) return
    const found = yield* oauth.findToken(hashOf(token))
    const client = yield* findClient(oauth, parameters.get("client_id"))
    if (Option.isNone(found) || Option.isNone(client) || found.value.clientId !== client.value.id) return
    const { accountId, grantId, kind } = found.value
    if (kind === "access") yield* oauth.dropToken(accountId, hashOf(token))
    else yield* connections.end(accountId, grantId, "revoked")
  })

  return { exchange, revoke }
})

type NewTokenTerms = Pick<NewTokens, "grantId" | "parentHash" | "refreshTier" | "accessTier">

const makeIssue = (oauth: OAuthRepo["Type"]) =>
  Effect.fnUntraced(function* (accountId: AccountId, terms: NewTokenTerms) {
    const access = yield* mintSecret("access")
    const refresh = yield* mintSecret("refresh")
    const seconds = yield* oauth.addTokens(accountId, {
      ...terms,
      accessHash: hashOf(access),
      refreshHash: hashOf(refresh)
    })
    const answer: TokenAnswer = {
      access_token: access,
      token_type: "Bearer",
      expires_in: seconds,
      refresh_token: refresh,
      scope: scopeOf(terms.accessTier)
    }
    return answer
  })

type Issue = ReturnType<typeof makeIssue>

/** Ends a connection whose code or refresh token was used twice, because somebody else may have a copy. */
const endReplayed = (
  connections: ConnectionsRepo["Type"],
  accountId: AccountId,
  id: ConnectionId,
  reason: EndReason,
  description: string
) => Effect.as(connections.end(accountId, id, reason), Either.left(invalidGrant(description)))

/** Exchanges a code for a connection and its first tokens. */
const makeRedeem = (oauth: OAuthRepo["Type"], connections: ConnectionsRepo["Type"], issue: Issue) => {
  const begin = (codeHash: string, { accountId, ...code }: StoredCode) =>
    Effect.gen(function* () {
      const { clientId, clientName, confirmPublish, redirectUri, resource, role, stores, userId } = code
      const tier = lower(code.tier, tierOfRole(role))
      const id = yield* mintId(ConnectionId)
      const redirectHost = destinationOf(redirectUri)
      const bounds = { stores, confirmPublish }
      yield* oauth.addGrant(accountId, { id, userId, clientId, clientName, redirectHost, tier, resource, ...bounds })
      yield* oauth.spendCode(accountId, codeHash, id)
      return yield* issue(accountId, { grantId: id, parentHash: null, accessTier: tier, refreshTier: tier })
    })

  return (client: Client, parameters: Parameters, baseUrl: string): ExchangeResult =>
    Effect.gen(function* () {
      const code = yield* requireParameter(parameters, "code")
      const verifier = yield* requireParameter(parameters, "code_verifier")
      const unknown = invalidGrant("The code is unknown, was used, has expired, or was given to another client.")
      if (!isOfKind("code", code)) return yield* unknown
      const codeHash = hashOf(code)
      const stored = yield* Effect.mapError(yield* oauth.lockCode(codeHash), () => unknown)
      const { accountId, grantId } = stored
      if (stored.clientId !== client.id) return yield* unknown
      if (stored.used && grantId !== null) {
        const description = "The code was used before: its connection is ended."
        return yield* endReplayed(connections, accountId, grantId, "code_replayed", description)
      }
      if (stored.used || stored.dead) return yield* unknown
      const redirectUri = parameters.get("redirect_uri")
      if (redirectUri !== undefined && redirectUri !== stored.redirectUri)
        return yield* invalidGrant("redirect_uri is not the one that the code was sent to.")
      yield* requireResource(parameters, baseUrl, stored.resource, "The code is for another resource.")
      if (!verifierPattern.test(verifier) || hash("sha256", verifier, "base64url") !== stored.codeChallenge) {
        yield* oauth.spendCode(accountId, codeHash, null)
        return Either.left(invalidGrant("code_verifier does not match the code. The code is now invalid."))
      }
      return Either.right(yield* begin(codeHash, stored))
    })
}

/** Exchanges a refresh token for new tokens of the same connection. */
const makeRefresh =
  (oauth: OAuthRepo["Type"], connections: ConnectionsRepo["Type"], issue: Issue) =>
  (client: Client, parameters: Parameters, baseUrl: string): ExchangeResult =>
    Effect.gen(function* () {
      const token = yield* requireParameter(parameters, "refresh_token")
      const unknown = invalidGrant("The refresh token is unknown, has expired, or its connection has ended.")
      if (!isOfKind("refresh", token)) return yield* unknown
      const tokenHash = hashOf(token)
      const stored = yield* Effect.mapError(yield* oauth.lockRefresh(tokenHash), () => unknown)
      const { accountId, grantId, role, tier } = stored
      if (stored.clientId !== client.id) return yield* unknown
      switch (decideRefresh(stored)) {
        case "refuse":
          return yield* unknown
        case "replayed": {
          const description = "The refresh token was used before: its connection is ended."
          return yield* endReplayed(connections, accountId, grantId, "token_replayed", description)
        }
        case "issue": {
          yield* requireResource(parameters, baseUrl, stored.resource, "The refresh token is for another resource.")
          const requested = refreshedTier(tier, parameters.get("scope"))
          if (requested instanceof OAuthRefused) return yield* requested
          const accessTier = lower(requested, tierOfRole(role))
          yield* oauth.useRefresh(accountId, tokenHash)
          return Either.right(
            yield* issue(accountId, { grantId, parentHash: tokenHash, accessTier, refreshTier: tier })
          )
        }
      }
    })
