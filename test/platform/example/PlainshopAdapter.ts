import { HttpClient, HttpClientRequest } from "@effect/platform"
import { Chunk, Duration, Effect, Option, Redacted, Schema, Stream } from "effect"
import { EntityId } from "../../../src/model/Ids.ts"
import type { PlatformAdapter } from "../../../src/platform/PlatformAdapter.ts"
import type { PlatformClient, PlatformStore } from "../../../src/platform/PlatformClient.ts"
import { PlatformOutcomeUnknown, PlatformRefused, PlatformUnavailable } from "../../../src/platform/PlatformErrors.ts"
import { PlatformRecord } from "../../../src/platform/PlatformRecord.ts"
import { SalesChannel } from "../../../src/platform/SalesChannel.ts"
import { identified } from "../../../src/platform/UnreadRecord.ts"

const Facts = Schema.Struct({
  domain: Schema.String,
  name: Schema.String,
  primaryLocale: Schema.String,
  locales: Schema.Array(Schema.String),
  currency: Schema.String
})
const Page = Schema.Struct({ records: Schema.Array(PlatformRecord), next: Schema.NullOr(Schema.String) })
const Ids = Schema.Struct({ ids: Schema.Record({ key: EntityId, value: Schema.String }) })
const Records = Schema.Array(
  Schema.Struct({
    platformId: Schema.String,
    name: Schema.String,
    key: Schema.Literal("handle", "SKU")
  })
)
const Refusal = Schema.Struct({ code: Schema.String, message: Schema.String, field: Schema.NullOr(Schema.String) })

const revoked = new PlatformRefused({
  code: "UNAUTHORIZED",
  message: "The shop does not accept the key: it is wrong or was revoked.",
  field: null
})

/** A failed call. `isHarmless`: the shop certainly did nothing. */
class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {
  reason: Schema.Literal("throttled", "timeout", "transport", "server", "nonsense"),
  isHarmless: Schema.Boolean
}) {}

/** Calls the API of shops. `originOf`: the origin of a shop's API. */
export const makePlainshop = (
  originOf: (domain: string) => string
): Effect.Effect<PlatformClient["Type"], never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (client) => {
    // Tracing is off, because spans would contain the header with the key.
    const http = HttpClient.withTracerDisabledWhen(client, () => true)

    const send = <A, I>(store: PlatformStore, path: string, schema: Schema.Schema<A, I>, body?: unknown) =>
      Effect.gen(function* () {
        const url = `${originOf(store.domain)}${path}`
        const request = (body === undefined ? HttpClientRequest.get(url) : HttpClientRequest.put(url)).pipe(
          HttpClientRequest.bearerToken(store.credentials.key ?? Redacted.make("")),
          (one) => (body === undefined ? one : HttpClientRequest.bodyUnsafeJson(one, body))
        )
        const { status, text, wait } = yield* http.execute(request).pipe(
          Effect.flatMap((response) =>
            Effect.map(response.text, (text) => ({
              status: response.status,
              text,
              wait: Number(response.headers["retry-after"] ?? "1")
            }))
          ),
          Effect.scoped,
          Effect.mapError(() => new NoAnswer({ reason: "transport", isHarmless: false }))
        )
        const read = <B, J>(shape: Schema.Schema<B, J>) =>
          Effect.mapError(
            Schema.decode(Schema.parseJson(shape))(text),
            () => new NoAnswer({ reason: "nonsense", isHarmless: false })
          )
        if (status === 401) return yield* revoked
        if (status === 404) return Option.none<A>()
        if (status === 422) return yield* new PlatformRefused(yield* read(Refusal))
        if (status === 429) {
          yield* Effect.sleep(Duration.seconds(wait))
          return yield* new NoAnswer({ reason: "throttled", isHarmless: true })
        }
        if (status >= 400) return yield* new NoAnswer({ reason: "server", isHarmless: false })
        return Option.some(yield* read(schema))
      }).pipe(
        Effect.retry({ times: 2, while: (error) => error._tag === "NoAnswer" && error.isHarmless }),
        Effect.timeoutFail({
          duration: "30 seconds",
          onTimeout: () => new NoAnswer({ reason: "timeout", isHarmless: false })
        })
      )

    const find = <A, I>(store: PlatformStore, path: string, schema: Schema.Schema<A, I>, body?: unknown) =>
      Effect.catchTag(send(store, path, schema, body), "NoAnswer", ({ reason }) => new PlatformUnavailable({ reason }))

    const read = <A, I>(store: PlatformStore, path: string, schema: Schema.Schema<A, I>) =>
      Effect.flatMap(
        find(store, path, schema),
        Option.match({ onNone: () => new PlatformUnavailable({ reason: "nonsense" }), onSome: Effect.succeed })
      )

    const toPublished = ({ ids }: typeof Ids.Type) => ({
      platformIds: new Map(Object.entries(ids).map(([id, platformId]) => [EntityId.make(id), platformId]))
    })

    return {
      verify: (store) => read(store, "/shop", Facts),
      pull: (store) =>
        Stream.paginateChunkEffect("", (after) =>
          Effect.map(read(store, `/records?after=${encodeURIComponent(after)}`, Page), ({ next, records }) => [
            Chunk.fromIterable(records),
            Option.fromNullable(next)
          ])
        ),
      publish: (store, publication) =>
        Effect.gen(function* () {
          const toSend = yield* identified(publication, (each) =>
            Effect.map(
              find(store, "/same", Records, each),
              Option.getOrElse(() => [])
            )
          )
          const answer = yield* Effect.mapError(
            send(store, `/publications/${publication.key}`, Ids, toSend),
            (error) => {
              if (error._tag === "PlatformRefused") return error
              const { isHarmless, reason } = error
              return isHarmless ? new PlatformUnavailable({ reason }) : new PlatformOutcomeUnknown({ reason })
            }
          )
          if (Option.isNone(answer)) return yield* new PlatformUnavailable({ reason: "nonsense" })
          return toPublished(answer.value)
        }),
      readBack: (store, { key }) => Effect.map(find(store, `/publications/${key}`, Ids), Option.map(toPublished)),
      find: (store, _kind, { entityId }) => find(store, `/entities/${entityId}`, PlatformRecord),
      salesChannels: (store) => read(store, "/channels", Schema.Array(SalesChannel)),
      entityChannels: (store) =>
        Effect.map(read(store, "/channels", Schema.Array(SalesChannel)), (channels) =>
          channels.map(({ id, name }) => ({
            id,
            name,
            is_published: true,
            publish_date: null,
            state: "published" as const
          }))
        ),
      markets: () => Stream.empty,
      metafieldDefinitions: () => Stream.empty,
      metaobjectDefinitions: () => Stream.empty,
      metaobjectEntries: () => Stream.empty,
      translations: () => Stream.empty
    }
  })

export const plainshopAdapter: PlatformAdapter = {
  name: "plainshop",
  label: "Plainshop",
  summary: "its API is used, with a key",
  capabilities: ["salesChannels"],
  fields: [
    {
      name: "key",
      label: "an API key of the shop",
      isSecret: true,
      misfit: (value) => (/^[\x21-\x7e]{1,200}$/.test(value) ? undefined : "must be one word of at most 200 characters")
    }
  ],
  isVerified: true,
  domainMisfit: (domain) =>
    domain.endsWith(".plainshop.example") ? undefined : "must be an address such as tern.plainshop.example",
  ownsDomain: (domain) => domain.endsWith(".plainshop.example"),
  sortsByDefault: false,
  smallerPicture: () => undefined,
  make: makePlainshop((domain) => `https://${domain}`)
}
