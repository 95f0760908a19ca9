import { hash } from "node:crypto"
import { Context, Effect, Either, Layer, Option, Schema } from "effect"
import { isOfKind } from "../access/OpaqueToken.ts"
import { hashOf, mintSecret } from "../access/Secrets.ts"
import type { SignedIn } from "../access/User.ts"
import { Transaction } from "../database/Transaction.ts"
import { type AccountId, ClientId, ConnectionId, ConsentId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import {
  type AuthorizationRequest,
  type Parameters,
  readAuthorizationRequest,
  readResource
} from "./AuthorizationRequest.ts"
import type { EndReason } from "./Connection.ts"
import { ConnectionsRepo } from "./ConnectionsRepo.ts"
import { NotForwarded, OAuthRefused } from "./OAuthErrors.ts"
import { type Client, type NewTokens, OAuthRepo } from "./OAuthRepo.ts"
import { destinationOf, isRegistered } from "./RedirectUri.ts"
import { lower, scopeOf, Tier } from "./Tier.ts"
import { judgeRefresh, refreshedTier } from "./TokenLife.ts"

/** Where an answer to a client goes: its redirect, with its state. */
export interface Destination {
  readonly redirectUri: string
  readonly state: string | undefined
}

/** A request that the merchant may be asked about. */
export interface Checked extends AuthorizationRequest {
  readonly _tag: "Checked"
  readonly client: Client
  readonly redirectUri: string
}

/** A request that is answered to its client at once. */
export interface SentBack extends Destination {
  readonly _tag: "SentBack"
  readonly refused: OAuthRefused
}

/** What a consent page shows, and what its form must send back. */
export interface Consent {
  readonly id: ConsentId
  /** Good for one decision about this consent. */
  readonly formToken: string
  /** The highest tier that may be chosen. */
  readonly highest: Tier
}

/** What the merchant decided. `tier`: the one that was chosen; none: Deny. */
export interface Decision {
  readonly consent: string
  readonly formToken: string
  readonly tier: Option.Option<Tier>
}

/** What comes of a decision: a code, or a refusal, for the client. */
export interface Decided extends Destination {
  readonly outcome: Either.Either<string, OAuthRefused>
}

/** RFC 6749, section 5.1. */
export interface TokenAnswer {
  readonly access_token: string
  readonly token_type: "Bearer"
  readonly expires_in: number
  readonly refresh_token: string
  readonly scope: string
}

const staleConsent = new NotForwarded({
  message:
    "This page is no longer good: it was used, or is older than ten minutes. Start again from the program that sent you."
})

/** A form that is not the one this browser was shown. */
export class ForgedDecision extends NotForwarded {}

const forged = new ForgedDecision({
  // A page that is older than a sweep is not known any more either.
  message:
    "This decision did not come from the page that asked you in this browser, or that page expired long ago. Start again from the program that sent you."
})

const isClientId = Schema.is(ClientId)
const isConsentId = Schema.is(ConsentId)

/** RFC 7636, section 4.1. */
const verifierForm = /^[A-Za-z0-9\-._~]{43,128}$/

const invalidGrant = (description: string) => OAuthRefused.because("invalid_grant", description)

/** A required parameter of a form. */
const required = (parameters: Parameters, name: string) => {
  const value = parameters.get(name)
  return value === undefined
    ? Either.left(OAuthRefused.because("invalid_request", `${name} is missing.`))
    : Either.right(value)
}

/** Consent, codes and tokens of OAuth 2.1: what a merchant lets an agent do, from the question to its end. */
export class Authorization extends Context.Tag("catalog/Authorization")<
  Authorization,
  {
    /**
     * Judges a client's request before anybody signs in. NotForwarded: client or redirect cannot be trusted, so nothing is
     * sent there. `baseUrl`: the service's own address.
     */
    readonly check: (parameters: Parameters, baseUrl: string) => Effect.Effect<Checked | SentBack, NotForwarded>
    /** Keeps what the merchant is about to be asked, for ten minutes. */
    readonly ask: (signedIn: SignedIn, request: Checked) => Effect.Effect<Consent>
    /**
     * Carries out a decision about what was kept, once. ForgedDecision: not the page's own form, or another browser's;
     * NotForwarded: the page was used or is too old.
     */
    readonly decide: (signedIn: SignedIn, decision: Decision) => Effect.Effect<Decided, NotForwarded>
    /** The token endpoint: a code, or a refresh token, for tokens. */
    readonly exchange: (parameters: Parameters, baseUrl: string) => Effect.Effect<TokenAnswer, OAuthRefused>
    /** The revocation endpoint (RFC 7009): a refresh token ends its connection, an access token itself; only for its client. */
    readonly revoke: (parameters: Parameters) => Effect.Effect<void>
    /** Deletes what is over. How many. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    Authorization,
    Effect.gen(function* () {
      const oauth = yield* OAuthRepo
      const connections = yield* ConnectionsRepo
      const transaction = yield* Transaction

      const findClient = (id: string | undefined) =>
        id !== undefined && isClientId(id) ? oauth.findClient(id) : Effect.succeedNone

      /** Where the codes of a request go: as registered, or the only one that was registered. */
      const trust = Effect.fnUntraced(function* (parameters: Parameters) {
        if (["client_id", "redirect_uri"].some((name) => parameters.repeated.includes(name)))
          return yield* new NotForwarded({ message: "The request names its client or its redirect twice." })
        const client = yield* Effect.mapError(
          yield* findClient(parameters.get("client_id")),
          () =>
            new NotForwarded({
              message:
                "The program that sent you is not registered here. Remove the connection there, and add it again."
            })
        )
        const [only, ...others] = client.redirectUris
        const redirectUri = parameters.get("redirect_uri") ?? (others.length === 0 ? only : undefined)
        if (redirectUri === undefined || !isRegistered(client.redirectUris, redirectUri))
          return yield* new NotForwarded({
            message: "The program that sent you asks for an answer at an address that it has not registered."
          })
        return { client, redirectUri }
      })

      const issue = Effect.fnUntraced(function* (
        accountId: AccountId,
        about: Pick<NewTokens, "grantId" | "parentHash" | "refreshTier" | "accessTier">
      ) {
        const access = yield* mintSecret("access")
        const refresh = yield* mintSecret("refresh")
        const seconds = yield* oauth.addTokens(accountId, {
          ...about,
          accessHash: hashOf(access),
          refreshHash: hashOf(refresh)
        })
        const answer: TokenAnswer = {
          access_token: access,
          token_type: "Bearer",
          expires_in: seconds,
          refresh_token: refresh,
          scope: scopeOf(about.accessTier)
        }
        return answer
      })

      /** What a transaction answers: a refusal must not undo what it did. */
      type Settled = Effect.Effect<Either.Either<TokenAnswer, OAuthRefused>, OAuthRefused>

      const ended = Effect.fnUntraced(function* (
        accountId: AccountId,
        id: ConnectionId,
        reason: EndReason,
        description: string
      ) {
        yield* connections.end(accountId, id, reason)
        return Either.left(invalidGrant(description))
      })

      const redeem = (client: Client, parameters: Parameters, baseUrl: string): Settled =>
        Effect.gen(function* () {
          const code = yield* required(parameters, "code")
          const verifier = yield* required(parameters, "code_verifier")
          const unknown = invalidGrant("The code is unknown, was used, has expired, or was given to another client.")
          if (!isOfKind("code", code)) return yield* unknown
          const codeHash = hashOf(code)
          const kept = yield* Effect.mapError(yield* oauth.lockCode(codeHash), () => unknown)
          const { accountId } = kept
          if (kept.clientId !== client.id) return yield* unknown
          if (kept.used)
            return kept.grantId === null
              ? yield* unknown
              : yield* ended(
                  accountId,
                  kept.grantId,
                  "code_replayed",
                  "The code was used before: its connection is ended."
                )
          if (kept.dead) return yield* unknown
          const redirectUri = parameters.get("redirect_uri")
          if (redirectUri !== undefined && redirectUri !== kept.redirectUri)
            return yield* invalidGrant("redirect_uri is not the one that the code was sent to.")
          const resource = yield* readResource(parameters.get("resource"), baseUrl)
          if (parameters.get("resource") !== undefined && resource !== kept.resource)
            return yield* OAuthRefused.because("invalid_target", "The code is for another resource.")
          if (!verifierForm.test(verifier) || hash("sha256", verifier, "base64url") !== kept.codeChallenge) {
            yield* oauth.spendCode(accountId, codeHash, null)
            return Either.left(invalidGrant("code_verifier does not belong to the code, which is now used up."))
          }
          const id = yield* mintId(ConnectionId)
          const { clientId, tier, userId } = kept
          yield* oauth.addGrant(accountId, {
            id,
            userId,
            clientId,
            clientName: kept.clientName,
            redirectHost: destinationOf(kept.redirectUri),
            tier,
            resource: kept.resource
          })
          yield* oauth.spendCode(accountId, codeHash, id)
          return Either.right(
            yield* issue(accountId, { grantId: id, parentHash: null, accessTier: tier, refreshTier: tier })
          )
        })

      const refresh = (client: Client, parameters: Parameters, baseUrl: string): Settled =>
        Effect.gen(function* () {
          const token = yield* required(parameters, "refresh_token")
          const unknown = invalidGrant("The refresh token is unknown, has expired, or its connection has ended.")
          if (!isOfKind("refresh", token)) return yield* unknown
          const tokenHash = hashOf(token)
          const kept = yield* Effect.mapError(yield* oauth.lockRefresh(tokenHash), () => unknown)
          const { accountId, grantId, tier } = kept
          if (kept.clientId !== client.id) return yield* unknown
          switch (judgeRefresh(kept)) {
            case "refuse":
              return yield* unknown
            case "replayed":
              return yield* ended(
                accountId,
                grantId,
                "token_replayed",
                "The refresh token was used before: its connection is ended."
              )
            case "issue": {
              const resource = yield* readResource(parameters.get("resource"), baseUrl)
              if (parameters.get("resource") !== undefined && resource !== kept.resource)
                return yield* OAuthRefused.because("invalid_target", "The refresh token is for another resource.")
              const accessTier = refreshedTier(tier, parameters.get("scope"))
              if (accessTier instanceof OAuthRefused) return yield* accessTier
              yield* oauth.useRefresh(accountId, tokenHash)
              return Either.right(
                yield* issue(accountId, { grantId, parentHash: tokenHash, accessTier, refreshTier: tier })
              )
            }
          }
        })

      return {
        check: Effect.fn("Authorization.check")(function* (parameters, baseUrl) {
          const { client, redirectUri } = yield* trust(parameters)
          return Either.match(readAuthorizationRequest(parameters, baseUrl), {
            onLeft: (refused): SentBack => ({
              _tag: "SentBack",
              redirectUri,
              state: parameters.repeated.includes("state") ? undefined : parameters.get("state"),
              refused
            }),
            onRight: (request): Checked => ({ _tag: "Checked", client, redirectUri, ...request })
          })
        }),
        ask: Effect.fn("Authorization.ask")(function* (signedIn, request) {
          const id = yield* mintId(ConsentId)
          const formToken = yield* mintSecret("form")
          const highest = request.asked ?? Tier.literals[2]
          yield* oauth.addConsent(signedIn.accountId, id, {
            userId: signedIn.userId,
            sessionHash: signedIn.sessionHash,
            formHash: hashOf(formToken),
            clientId: request.client.id,
            redirectUri: request.redirectUri,
            state: request.state ?? null,
            tier: highest,
            codeChallenge: request.codeChallenge,
            resource: request.resource
          })
          return { id, formToken, highest }
        }),
        decide: Effect.fn("Authorization.decide")(function* (signedIn, { consent, formToken, tier }) {
          if (!isConsentId(consent)) return yield* forged
          const code = yield* mintSecret("code")
          return yield* Effect.gen(function* () {
            const { accountId } = signedIn
            const kept = yield* Effect.mapError(yield* oauth.lockConsent(accountId, consent), () => forged)
            if (kept.sessionHash !== signedIn.sessionHash || kept.formHash !== hashOf(formToken)) return yield* forged
            if (kept.decided || kept.expired) return yield* staleConsent
            yield* oauth.decide(accountId, consent)
            const { clientId, codeChallenge, redirectUri, resource, userId } = kept
            const destination = { redirectUri, state: kept.state ?? undefined }
            if (Option.isNone(tier)) {
              const denied = OAuthRefused.because("access_denied", "The merchant did not consent.")
              return { ...destination, outcome: Either.left(denied) }
            }
            const chosen = lower(tier.value, kept.tier)
            const about = { userId, clientId, redirectUri, codeChallenge, resource, tier: chosen }
            yield* oauth.addCode(accountId, hashOf(code), about)
            return { ...destination, outcome: Either.right(code) }
          }).pipe(transaction.run)
        }),
        exchange: Effect.fn("Authorization.exchange")(function* (parameters, baseUrl) {
          if (parameters.repeated.length > 0)
            return yield* OAuthRefused.because("invalid_request", "A parameter is given more than once.")
          const grantType = yield* required(parameters, "grant_type")
          if (grantType !== "authorization_code" && grantType !== "refresh_token")
            return yield* OAuthRefused.because(
              "unsupported_grant_type",
              "grant_type may be authorization_code or refresh_token."
            )
          const clientId = yield* required(parameters, "client_id")
          const client = yield* Effect.mapError(yield* findClient(clientId), () =>
            OAuthRefused.because("invalid_client", "No such client: register again.")
          )
          const settle = grantType === "authorization_code" ? redeem : refresh
          return yield* yield* transaction.run(settle(client, parameters, baseUrl))
        }),
        revoke: Effect.fn("Authorization.revoke")(function* (parameters) {
          const token = parameters.get("token")
          if (token === undefined) return
          if (!isOfKind("access", token) && !isOfKind("refresh", token)) return
          const found = yield* oauth.findToken(hashOf(token))
          if (Option.isNone(found) || found.value.clientId !== parameters.get("client_id")) return
          const { accountId, grantId, kind } = found.value
          if (kind === "access") yield* oauth.dropToken(accountId, hashOf(token))
          else yield* connections.end(accountId, grantId, "revoked")
        }),
        forget: oauth.forget
      }
    })
  )
}
