import { Context, Effect, Layer } from "effect"
import type { SignedIn } from "../access/User.ts"
import type { Parameters } from "./AuthorizationRequest.ts"
import {
  type CheckedRequest,
  type Consent,
  type ConsentAnswer,
  type Decision,
  type InvalidRequest,
  makeConsents
} from "./Consents.ts"
import type { NotForwarded, OAuthRefused } from "./OAuthErrors.ts"
import { OAuthRepo } from "./OAuthRepo.ts"
import { makeTokenExchange, type TokenAnswer } from "./TokenExchange.ts"

/** The authorization server of OAuth 2.1: consents, codes and tokens. */
export class Authorization extends Context.Tag("catalog/Authorization")<
  Authorization,
  {
    /**
     * Checks a client's request before the merchant signs in. `baseUrl`: the service's own URL. NotForwarded: the client or
     * its redirect URI is unknown, so the answer must not be sent to that URI.
     */
    readonly check: (
      parameters: Parameters,
      baseUrl: string
    ) => Effect.Effect<CheckedRequest | InvalidRequest, NotForwarded>
    /** Stores the consent that the page then asks for. The merchant has ten minutes to decide. */
    readonly createConsent: (signedIn: SignedIn, request: CheckedRequest) => Effect.Effect<Consent>
    /**
     * Carries out the merchant's decision about a consent, once. ForgedDecision: the form did not come from the page that
     * this browser was shown. NotForwarded: the consent was decided already, or has expired.
     */
    readonly decide: (signedIn: SignedIn, decision: Decision) => Effect.Effect<ConsentAnswer, NotForwarded>
    /** The token endpoint: exchanges a code or a refresh token for tokens. */
    readonly exchange: (parameters: Parameters, baseUrl: string) => Effect.Effect<TokenAnswer, OAuthRefused>
    /** The revocation endpoint (RFC 7009). Revoking a refresh token ends its connection; revoking an access token ends only that. */
    readonly revoke: (parameters: Parameters) => Effect.Effect<void>
    /** Deletes expired consents, codes and tokens, and unused clients. Returns the number of rows. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    Authorization,
    Effect.gen(function* () {
      const { forget } = yield* OAuthRepo
      return { ...(yield* makeConsents), ...(yield* makeTokenExchange), forget }
    })
  )
}
