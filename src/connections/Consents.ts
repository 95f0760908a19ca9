import { Effect, Either, Option, Schema } from "effect"
import { hashOf, mintSecret } from "../access/Secrets.ts"
import type { SignedIn } from "../access/User.ts"
import { Transaction } from "../database/Transaction.ts"
import { type AccountId, ClientId, ConsentId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { type AuthorizationRequest, type Parameters, readAuthorizationRequest } from "./AuthorizationRequest.ts"
import { isClientAddress, readClientAddress } from "./ClientAddress.ts"
import { NotForwarded, OAuthRefused } from "./OAuthErrors.ts"
import type { Client } from "./OAuthRecords.ts"
import { OAuthRepo } from "./OAuthRepo.ts"
import { isRegistered } from "./RedirectUri.ts"
import { lower, Tier, tierOfRole } from "./Tier.ts"

/** The client's redirect URI that receives the answer, and its state. */
export interface Destination {
  readonly redirectUri: string
  readonly state: string | undefined
}

/** A valid request: the consent page can be shown. */
export interface CheckedRequest extends AuthorizationRequest {
  readonly _tag: "Checked"
  readonly client: Client
  readonly redirectUri: string
}

/** An invalid request: the client gets the refusal without a consent page. */
export interface InvalidRequest extends Destination {
  readonly _tag: "InvalidRequest"
  readonly refused: OAuthRefused
}

/** A consent for which a page asks. */
export interface Consent {
  readonly id: ConsentId
  /** Valid for one decision about this consent. */
  readonly formToken: string
  /** The highest tier that the merchant can choose. */
  readonly highest: Tier
  /** The stores that the connection can be limited to. */
  readonly stores: ReadonlyArray<Store>
}

/**
 * The access that the merchant allows. `stores`: ids of the stores to which the connection is limited; empty: all
 * stores.
 */
export interface AllowedConsent {
  readonly tier: Tier
  readonly stores: ReadonlyArray<string>
  readonly confirmPublish: boolean
}

/** The merchant's decision. `allowed` is none if the merchant denies. */
export interface Decision {
  readonly consent: string
  readonly formToken: string
  readonly allowed: Option.Option<AllowedConsent>
}

/** The answer to the client: a code, or a refusal. */
export interface ConsentAnswer extends Destination {
  readonly outcome: Either.Either<string, OAuthRefused>
}

/** The form did not come from the page that this browser was shown. */
export class ForgedDecision extends NotForwarded {}

const forged = new ForgedDecision({
  // A consent that was deleted after its expiry has the same answer.
  message:
    "This decision did not come from the page in this browser, or the page expired long ago. Start again from the app that sent you."
})

const staleConsent = new NotForwarded({
  message: "This page was used already, or is older than ten minutes. Start again from the app that sent you."
})

const unknownStore = new NotForwarded({
  message: "A store that you chose is no longer linked. Start again from the app that sent you."
})

const isClientId = Schema.is(ClientId)
const isConsentId = Schema.is(ConsentId)

/** Finds a client by its id: a registered client, or one whose document the authorization endpoint has read. */
export const findClient = (oauth: OAuthRepo["Type"], id: string | undefined) => {
  if (id === undefined) return Effect.succeedNone
  if (isClientId(id)) return oauth.findClient(id)
  return isClientAddress(id) && Either.isRight(readClientAddress(id)) ? oauth.findClientAt(id) : Effect.succeedNone
}

/** The steps from the client's request to the merchant's decision. */
export const makeConsents = Effect.gen(function* () {
  const oauth = yield* OAuthRepo
  const linked = yield* StoresRepo
  const transaction = yield* Transaction

  /** The limits that the merchant chose. An unlinked store is refused, because an empty list would mean all stores. */
  const boundsOf = Effect.fnUntraced(function* (accountId: AccountId, allowed: Decision["allowed"]) {
    const chosenStoreIds = Option.match(allowed, {
      onNone: (): ReadonlyArray<string> => [],
      onSome: ({ stores }) => stores
    })
    const confirmPublish = Option.exists(allowed, (each) => each.confirmPublish)
    if (chosenStoreIds.length === 0) return { stores: null, confirmPublish }
    const stores = (yield* linked.list(accountId)).map(({ id }) => id).filter((id) => chosenStoreIds.includes(id))
    if (stores.length < chosenStoreIds.length) return yield* unknownStore
    return { stores, confirmPublish }
  })

  /** Finds the client, and the redirect URI for its code: the requested one, or the only registered one. */
  const findDestination = Effect.fnUntraced(function* (parameters: Parameters) {
    if (["client_id", "redirect_uri"].some((name) => parameters.repeated.includes(name)))
      return yield* new NotForwarded({ message: "The request has client_id or redirect_uri twice." })
    const client = yield* Effect.mapError(
      yield* findClient(oauth, parameters.get("client_id")),
      () =>
        new NotForwarded({
          message: "The app that sent you is not registered here. In that app, remove the connection and add it again."
        })
    )
    const [only, ...others] = client.redirectUris
    const redirectUri = parameters.get("redirect_uri") ?? (others.length === 0 ? only : undefined)
    if (redirectUri === undefined || !isRegistered(client.redirectUris, redirectUri))
      return yield* new NotForwarded({
        message: "The app that sent you asks for a redirect to a URL that it has not registered."
      })
    return { client, redirectUri }
  })

  const check = Effect.fn("Authorization.check")(function* (parameters: Parameters, baseUrl: string) {
    const { client, redirectUri } = yield* findDestination(parameters)
    return Either.match(readAuthorizationRequest(parameters, baseUrl), {
      onLeft: (refused): InvalidRequest => ({
        _tag: "InvalidRequest",
        redirectUri,
        state: parameters.repeated.includes("state") ? undefined : parameters.get("state"),
        refused
      }),
      onRight: (request): CheckedRequest => ({ _tag: "Checked", client, redirectUri, ...request })
    })
  })

  const createConsent = Effect.fn("Authorization.createConsent")(function* (
    signedIn: SignedIn,
    request: CheckedRequest
  ) {
    const id = yield* mintId(ConsentId)
    const formToken = yield* mintSecret("form")
    const highest = lower(request.requestedTier ?? Tier.literals[2], tierOfRole(signedIn.role))
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
    return { id, formToken, highest, stores: yield* linked.list(signedIn.accountId) }
  })

  const decide = Effect.fn("Authorization.decide")(function* (
    signedIn: SignedIn,
    { allowed, consent, formToken }: Decision
  ) {
    if (!isConsentId(consent)) return yield* forged
    const code = yield* mintSecret("code")
    return yield* Effect.gen(function* () {
      const { accountId } = signedIn
      const stored = yield* Effect.mapError(yield* oauth.lockConsent(accountId, consent), () => forged)
      if (stored.sessionHash !== signedIn.sessionHash || stored.formHash !== hashOf(formToken)) return yield* forged
      if (stored.decided || stored.expired) return yield* staleConsent
      const bounds = yield* boundsOf(accountId, allowed)
      yield* oauth.decide(accountId, consent)
      const { clientId, codeChallenge, redirectUri, resource, userId } = stored
      const destination = { redirectUri, state: stored.state ?? undefined }
      if (Option.isNone(allowed)) {
        const denied = OAuthRefused.because("access_denied", "The merchant did not consent.")
        return { ...destination, outcome: Either.left(denied) }
      }
      // The role may have changed since the page was shown.
      const tier = lower(lower(allowed.value.tier, stored.tier), tierOfRole(signedIn.role))
      const terms = { userId, clientId, redirectUri, codeChallenge, resource, tier, ...bounds }
      yield* oauth.addCode(accountId, hashOf(code), terms)
      return { ...destination, outcome: Either.right(code) }
    }).pipe(transaction.run)
  })

  return { check, createConsent, decide }
})
