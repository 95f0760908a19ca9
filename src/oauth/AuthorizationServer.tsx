import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Clock, Effect, Either, Option, Schema } from "effect"
import { Sessions } from "../access/Sessions.ts"
import { Authorization } from "../connections/Authorization.ts"
import { parametersOf, resourceUpTo } from "../connections/AuthorizationRequest.ts"
import { ClientDocuments } from "../connections/ClientDocuments.ts"
import { readClientMetadata } from "../connections/ClientMetadata.ts"
import { type Destination, ForgedDecision } from "../connections/Consents.ts"
import { type NotForwarded, OAuthRefused } from "../connections/OAuthErrors.ts"
import { withParameters } from "../connections/RedirectUri.ts"
import { Registrations } from "../connections/Registrations.ts"
import { scopeOf, Tier, tierOfQuery, upTo } from "../connections/Tier.ts"
import { formOf, PageRefused, pageLanguageOf, visitorOf } from "../console/Browser.ts"
import { html, pageHeaders, seeOther } from "../console/Html.ts"
import { enrolFirst, enrolmentFor, page, queryOf } from "../console/PageHandlers.ts"
import { refuseOnPage } from "../console/Refusals.tsx"
import { SignInPage } from "../console/signin/SignInPages.tsx"
import { anonymousViewer } from "../console/Viewer.tsx"
import { BaseUrl } from "../http/BaseUrl.ts"
import { readForm, readJson } from "../http/Body.ts"
import { addressOf } from "../http/ClientAddress.ts"
import { documentationPath } from "../http/Documents.ts"
import { splitTarget } from "../http/RequestHead.ts"
import { type Handler, type Surface, surfaceOf } from "../http/Surface.ts"
import { anyOrigin, json, preflight, refuse, refuseWith, tooMany } from "./Answers.ts"
import { ConsentPage, chosenStores, consentFields } from "./ConsentPage.tsx"
import { oauthPaths } from "./Paths.ts"

const scopes: ReadonlyArray<string> = Tier.literals

/**
 * Protected resource metadata (RFC 9728), which leads an agent without a token to the authorization server. `highest`: the tier
 * in the query of the agent's URL. It is part of `resource`, because strict clients compare `resource` with their URL.
 */
const resourceMetadata = (baseUrl: string, highest: Tier) => ({
  resource: resourceUpTo(baseUrl, highest),
  authorization_servers: [baseUrl],
  scopes_supported: upTo(highest),
  bearer_methods_supported: ["header"],
  resource_name: "Catalog",
  resource_documentation: `${baseUrl}${documentationPath}`
})

/** Authorization server metadata (RFC 8414). `documents`: whether client ids can be URLs of documents. */
const serverMetadata = (baseUrl: string, documents: boolean) => ({
  issuer: baseUrl,
  authorization_endpoint: `${baseUrl}${oauthPaths.authorize}`,
  token_endpoint: `${baseUrl}${oauthPaths.token}`,
  registration_endpoint: `${baseUrl}${oauthPaths.register}`,
  revocation_endpoint: `${baseUrl}${oauthPaths.revoke}`,
  scopes_supported: scopes,
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  token_endpoint_auth_methods_supported: ["none"],
  revocation_endpoint_auth_methods_supported: ["none"],
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
  ...(documents && { client_id_metadata_document_supported: true }),
  service_documentation: `${baseUrl}${documentationPath}`
})

/** Maximum bytes of a request body. */
const maxBytes = 16_384

const refuseRegistration = refuseWith("invalid_client_metadata", "Send the registration as JSON.")
const refuseForm = refuseWith("invalid_request", "Send the parameters as application/x-www-form-urlencoded.")

const routes = {
  resource: ["GET", oauthPaths.resource, refuseForm, "open"],
  resourcePreflight: ["OPTIONS", oauthPaths.resource, refuseForm, "open"],
  resourceAtRoot: ["GET", oauthPaths.resourceAtRoot, refuseForm, "open"],
  resourceAtRootPreflight: ["OPTIONS", oauthPaths.resourceAtRoot, refuseForm, "open"],
  server: ["GET", oauthPaths.server, refuseForm, "open"],
  serverPreflight: ["OPTIONS", oauthPaths.server, refuseForm, "open"],
  register: ["POST", oauthPaths.register, refuseRegistration, "open"],
  registerPreflight: ["OPTIONS", oauthPaths.register, refuseRegistration, "open"],
  authorize: ["GET", oauthPaths.authorize, refuseOnPage, "open"],
  decide: ["POST", oauthPaths.decision, refuseOnPage, "open"],
  token: ["POST", oauthPaths.token, refuseForm, "open"],
  tokenPreflight: ["OPTIONS", oauthPaths.token, refuseForm, "open"],
  revoke: ["POST", oauthPaths.revoke, refuseForm, "open"]
} as const

const isTier = Schema.is(Tier)

/** Whether the client sends an Authorization header, as confidential clients do. */
const authenticates = ({ headers }: HttpServerRequest.HttpServerRequest) => headers.authorization !== undefined

const publicClientsOnly = OAuthRefused.because(
  "invalid_client",
  "Clients do not authenticate here: send client_id with the other parameters, and no Authorization header."
)

const notForwarded = (error: NotForwarded) =>
  new PageRefused({
    status: error instanceof ForgedDecision ? 403 : 400,
    title: "This cannot continue",
    message: error.message
  })

/** OAuth 2.1 for agents: metadata, registration, consent, tokens, revocation. */
export const authorizationServer = ({
  trustedProxies
}: {
  /** Number of trusted proxies in front of the service, to find a client's IP address. */
  readonly trustedProxies: number
}): Surface<Authorization | BaseUrl | ClientDocuments | Registrations | Sessions> =>
  surfaceOf(
    routes,
    Effect.gen(function* () {
      const baseUrl = yield* BaseUrl
      const { isSupported } = yield* ClientDocuments
      const metadata = (body: unknown) => () =>
        Effect.succeed(json(body, { headers: { "cache-control": "public, max-age=300" } }))
      const resource: Handler = (request) => {
        const highest = Option.getOrElse(tierOfQuery(splitTarget(request.originalUrl).query), () => Tier.literals[2])
        return metadata(resourceMetadata(baseUrl, highest))()
      }
      const preflighted = () => Effect.succeed(preflight)
      return {
        resource,
        resourcePreflight: preflighted,
        resourceAtRoot: resource,
        resourceAtRootPreflight: preflighted,
        server: metadata(serverMetadata(baseUrl, isSupported)),
        serverPreflight: preflighted,
        registerPreflight: preflighted,
        tokenPreflight: preflighted,
        ...(yield* makeClientEndpoints(trustedProxies)),
        ...(yield* makeConsentPages)
      }
    })
  )

/** Endpoints that programs call: registration, tokens, revocation. */
const makeClientEndpoints = (trustedProxies: number) =>
  Effect.gen(function* () {
    const authorization = yield* Authorization
    const registrations = yield* Registrations
    const baseUrl = yield* BaseUrl

    return {
      register: (request) =>
        Effect.gen(function* () {
          const client = yield* readClientMetadata(yield* readJson(request, maxBytes))
          const { id, name, redirectUris } = yield* registrations.register(client, addressOf(request, trustedProxies))
          const registered = {
            client_id: id,
            client_id_issued_at: Math.floor((yield* Clock.currentTimeMillis) / 1_000),
            client_name: name,
            redirect_uris: redirectUris,
            grant_types: client.grantTypes,
            response_types: ["code"],
            token_endpoint_auth_method: "none",
            scope: scopeOf("pim:publish")
          }
          return json(registered, { status: 201 })
        }).pipe(
          Effect.catchTags({
            OAuthRefused: (error) => Effect.succeed(refuse(error)),
            TooManyRegistrations: (error) => Effect.succeed(tooMany(error))
          })
        ),
      token: (request) =>
        Effect.gen(function* () {
          const parameters = parametersOf(yield* readForm(request, maxBytes))
          if (authenticates(request) && parameters.get("client_id") === undefined) return yield* publicClientsOnly
          return json(yield* authorization.exchange(parameters, baseUrl))
        }).pipe(Effect.catchTag("OAuthRefused", (error) => Effect.succeed(refuse(error, authenticates(request))))),
      revoke: (request) =>
        Effect.gen(function* () {
          yield* authorization.revoke(parametersOf(yield* readForm(request, maxBytes)))
          return HttpServerResponse.empty({ status: 200, headers: { "cache-control": "no-store", ...anyOrigin } })
        })
    } satisfies Record<string, Handler>
  })

/** Pages that a browser shows: the consent page and its decision. */
const makeConsentPages = Effect.gen(function* () {
  const authorization = yield* Authorization
  const documents = yield* ClientDocuments
  const sessions = yield* Sessions
  const baseUrl = yield* BaseUrl

  /** Redirects the browser to the client's redirect URI, with the answer as parameters. */
  const answerClient = ({ redirectUri, state }: Destination, answer: Readonly<Record<string, string>>) =>
    HttpServerResponse.empty({
      status: 303,
      headers: {
        ...pageHeaders,
        "referrer-policy": "no-referrer",
        location: withParameters(redirectUri, {
          ...answer,
          ...(state !== undefined && { state }),
          iss: baseUrl
        })
      }
    })

  return {
    authorize: page((request) =>
      Effect.gen(function* () {
        const parameters = queryOf(request)
        const checked = yield* documents
          .admit(parameters)
          .pipe(Effect.zipRight(authorization.check(parameters, baseUrl)), Effect.mapError(notForwarded))
        if (checked._tag === "InvalidRequest") {
          const { code, description } = checked.refused
          return answerClient(checked, { error: code, error_description: description })
        }
        const target = request.originalUrl
        return yield* Option.match(yield* visitorOf(sessions, baseUrl, request), {
          // Not a redirect to the sign-in page: with this request's URL in its query, that URL could be too long.
          onNone: () =>
            Effect.succeed(html(anonymousViewer(pageLanguageOf(request)), <SignInPage returnTo={target} />)),
          onSome: (visitor) =>
            visitor.lacksFactor
              ? Effect.succeed(seeOther(enrolmentFor(target)))
              : Effect.map(authorization.createConsent(visitor, checked), (consent) =>
                  html(visitor, <ConsentPage visitor={visitor} request={checked} consent={consent} target={target} />)
                )
        })
      })
    ),
    decide: page((request) =>
      Effect.gen(function* () {
        const form = yield* formOf(request, baseUrl)
        const visitor = yield* Effect.mapError(
          yield* visitorOf(sessions, baseUrl, request),
          () =>
            new PageRefused({
              status: 403,
              title: "You are not signed in",
              message: "Your session has ended. Start again from the app that sent you."
            })
        )
        if (visitor.lacksFactor) return yield* enrolFirst()
        const tier = form.get(consentFields.tier)
        const isAllowed = form.get(consentFields.decision) === "allow" && tier !== undefined && isTier(tier)
        const decided = yield* Effect.mapError(
          authorization.decide(visitor, {
            consent: form.get(consentFields.consent) ?? "",
            formToken: form.get(consentFields.formToken) ?? "",
            allowed: isAllowed
              ? Option.some({
                  tier,
                  stores: chosenStores(form.names),
                  confirmPublish: form.get(consentFields.confirmPublish) !== undefined
                })
              : Option.none()
          }),
          notForwarded
        )
        return Either.match(decided.outcome, {
          onLeft: ({ code, description }) => answerClient(decided, { error: code, error_description: description }),
          onRight: (code) => answerClient(decided, { code })
        })
      })
    )
  }
})
