import { Context, Duration, Effect, Either, Fiber, Layer, Predicate } from "effect"
import { ClientId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { makeTimedCache } from "../runtime/TimedCache.ts"
import type { Parameters } from "./AuthorizationRequest.ts"
import { isClientAddress, readClientAddress } from "./ClientAddress.ts"
import { type ClientMetadata, readClientMetadata } from "./ClientMetadata.ts"
import { DocumentUnread, fetchDocument } from "./DocumentFetch.ts"
import { NotForwarded } from "./OAuthErrors.ts"
import { OAuthRepo } from "./OAuthRepo.ts"
import { OutsideNetwork } from "./OutsideRequest.ts"

/** How long a document is cached, in seconds: the max-age of its response, clamped to these bounds. */
const keptSeconds = { min: 300, max: 86_400 }
const maxKept = 256

/** Maximum number of concurrent fetches. Further ones are refused. Requests for the same URL share a fetch. */
const maxFetches = 8

const refuseDocument = (message: string) => Either.left(new DocumentUnread({ message }))

/** Decodes a document. It must name this client and be valid as a registration. Unsupported grant types are ignored. */
const readDocument = (clientId: string, text: string): Either.Either<ClientMetadata, DocumentUnread> =>
  Either.gen(function* () {
    const document = yield* Either.try({
      try: (): unknown => JSON.parse(text),
      catch: () => new DocumentUnread({ message: "It is not JSON." })
    })
    if (!Predicate.isRecord(document)) return yield* refuseDocument("It is not a JSON object.")
    if (document.client_id !== clientId) return yield* refuseDocument("Its client_id is not its own address.")
    if ("client_secret" in document || "client_secret_expires_at" in document)
      return yield* refuseDocument("It has a client secret, which would be public.")
    const { token_endpoint_auth_method: method = "none", ...metadata } = document
    if (method !== "none") return yield* refuseDocument("Its token_endpoint_auth_method must be none.")
    const { grant_types: grants = ["authorization_code"], ...registration } = metadata
    if (!Array.isArray(grants) || !grants.includes("authorization_code"))
      return yield* refuseDocument("Its grant_types must include authorization_code.")
    return yield* Either.mapLeft(
      readClientMetadata(registration),
      ({ description }) => new DocumentUnread({ message: description })
    )
  })

interface KeptDocument {
  readonly client: ClientMetadata
  readonly maxAge: number
}

/** Clients whose id is the URL of a document about them (draft-ietf-oauth-client-id-metadata-document). */
export class ClientDocuments extends Context.Tag("catalog/ClientDocuments")<
  ClientDocuments,
  {
    /** Whether documents of at least one host are accepted. */
    readonly isSupported: boolean
    /**
     * If the client id of a request is a URL, reads the document there and stores the client as if it had registered. Ignores
     * other requests. NotForwarded: the host is not accepted, or the document cannot be read or is not valid.
     */
    readonly admit: (parameters: Parameters) => Effect.Effect<void, NotForwarded>
  }
>() {
  /** `hosts`: the hosts whose documents are accepted, with a port if it is not 443. */
  static readonly layer = (hosts: ReadonlyArray<string>) =>
    Layer.scoped(
      ClientDocuments,
      Effect.gen(function* () {
        const oauth = yield* OAuthRepo
        const network = yield* OutsideNetwork
        const scope = yield* Effect.scope
        let running = 0

        const withinLimit = <A>(fetch: Effect.Effect<A, DocumentUnread>) =>
          Effect.suspend(() => {
            if (running >= maxFetches)
              return new DocumentUnread({ message: "Too many documents are being read: try again in a moment." })
            running += 1
            return Effect.ensuring(
              fetch,
              Effect.sync(() => {
                running -= 1
              })
            )
          })

        const fetchClient = (clientId: string) =>
          Effect.gen(function* () {
            const url = yield* Either.mapLeft(readClientAddress(clientId), (message) => new DocumentUnread({ message }))
            const { maxAge = keptSeconds.min, text } = yield* withinLimit(fetchDocument(url))
            const client = yield* readDocument(clientId, text)
            const document: KeptDocument = {
              client,
              maxAge: Math.min(Math.max(maxAge, keptSeconds.min), keptSeconds.max)
            }
            return document
          }).pipe(Effect.provideService(OutsideNetwork, network))

        const readKept = yield* makeTimedCache({
          capacity: maxKept,
          lookup: fetchClient,
          keptFor: ({ maxAge }) => Duration.seconds(maxAge)
        })

        // Requests for one URL share a fetch. It has its own fiber, so that it continues when one of the requests is aborted.
        const read = (clientId: string) => Effect.flatMap(Effect.forkIn(readKept(clientId), scope), Fiber.join)

        const admit = Effect.fn("ClientDocuments.admit")(function* ({ get, repeated }: Parameters) {
          const clientId = get("client_id") ?? ""
          if (!isClientAddress(clientId) || repeated.includes("client_id")) return
          const host = URL.canParse(clientId) ? new URL(clientId).host : ""
          if (!hosts.includes(host))
            return yield* new NotForwarded({
              message:
                "This service does not accept the app that sent you: its client id is a URL on a host that is not allowed. Ask the administrator to add the host to OAUTH_CLIENT_METADATA_HOSTS, or use an app that registers itself."
            })
          const { client } = yield* Effect.mapError(
            read(clientId),
            ({ message }) =>
              new NotForwarded({
                message: `The app that sent you has a client metadata document at ${host} that cannot be used. ${message}`
              })
          )
          yield* oauth.keepDocument(yield* mintId(ClientId), clientId, client)
        })

        return { isSupported: hosts.length > 0, admit }
      })
    )
}
