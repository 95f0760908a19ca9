import { Effect, Random, Schema, Stream } from "effect"
import {
  PlatformMetafieldDefinition,
  PlatformMetaobjectDefinition,
  PlatformMetaobjectEntry
} from "../../model/Definition.ts"
import { PlatformMarket } from "../Market.ts"
import type { PlatformClient, PlatformStore } from "../PlatformClient.ts"
import { PlatformOutcomeUnknown, PlatformRefused, PlatformUnavailable } from "../PlatformErrors.ts"
import type { EntityChannel, SalesChannel } from "../SalesChannel.ts"
import { PlatformTranslations } from "../Translation.ts"
import { identified } from "../UnreadRecord.ts"
import { refusalOf } from "./DemoRecords.ts"
import type { DemoFailure } from "./DemoShop.ts"
import { DemoShops } from "./DemoShops.ts"

const liveLimit = "5 seconds"
const callLimit = "30 seconds"

const refused = new PlatformRefused({
  code: "DEMO_REFUSED",
  message: "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it.",
  field: null
})

/** The sales channels of a demo shop. Published entities are on the first channel. */
const channels: ReadonlyArray<SalesChannel> = [
  {
    id: "demo://publication/online-store",
    name: "Online Store",
    handle: "online-store",
    catalog_kind: "app",
    auto_publish: true,
    supports_future_publishing: true
  },
  {
    id: "demo://publication/point-of-sale",
    name: "Point of Sale",
    handle: "point-of-sale",
    catalog_kind: "app",
    auto_publish: false,
    supports_future_publishing: false
  }
]

const onChannel = ({ auto_publish, id, name }: SalesChannel): EntityChannel => ({
  id,
  name,
  is_published: auto_publish,
  publish_date: null,
  state: auto_publish ? "published" : "unpublished"
})

/** The commerce platform of the demo. Its shops are stored in tables, and can be made to fail. */
export const makeDemoPlatform: Effect.Effect<PlatformClient["Type"], never, DemoShops> = Effect.map(
  DemoShops,
  (shops) => {
    /** Draws the failures of this call at random, by their percentages. */
    const drawFailures = (store: PlatformStore) =>
      Effect.flatMap(
        shops.failures(store),
        Effect.filter(({ percent }) => Effect.map(Random.nextIntBetween(0, 100), (drawn) => drawn < percent))
      )

    const find = (failures: ReadonlyArray<DemoFailure>, kind: DemoFailure["kind"]) =>
      failures.find((failure) => failure.kind === kind)

    /** Delays, fails or refuses a call before it has any effect. */
    const applyFailures = (failures: ReadonlyArray<DemoFailure>) =>
      Effect.gen(function* () {
        yield* Effect.sleep(find(failures, "delay")?.delayMillis ?? 0)
        if (find(failures, "error") !== undefined) return yield* new PlatformUnavailable({ reason: "server" })
        if (find(failures, "refuse") !== undefined) return yield* refused
      })

    const timeout = new PlatformUnavailable({ reason: "timeout" })

    const live = <A>(store: PlatformStore, read: Effect.Effect<A>) =>
      Effect.flatMap(drawFailures(store), applyFailures).pipe(
        Effect.zipRight(read),
        Effect.timeoutFail({ duration: liveLimit, onTimeout: () => timeout })
      )

    const call = (store: PlatformStore) =>
      Effect.flatMap(drawFailures(store), applyFailures).pipe(
        Effect.timeoutFail({ duration: callLimit, onTimeout: () => timeout })
      )

    const section = <A, I>(store: PlatformStore, name: string, schema: Schema.Schema<A, I>) =>
      Stream.unwrap(
        Effect.map(Effect.zipRight(call(store), shops.section(store, name)), (items) =>
          Stream.mapEffect(Stream.fromIterable(items), (item) =>
            Effect.mapError(Schema.decodeUnknown(schema)(item), () => new PlatformUnavailable({ reason: "nonsense" }))
          )
        )
      )

    return {
      verify: (store) =>
        live(
          store,
          Effect.succeed({
            domain: store.domain,
            name: store.domain,
            primaryLocale: "en",
            locales: ["en"],
            currency: "USD"
          })
        ),
      pull: (store) => Stream.unwrap(Effect.as(call(store), shops.records(store))),
      publish: (store, publication) =>
        Effect.gen(function* () {
          const failures = yield* drawFailures(store)
          yield* applyFailures(failures).pipe(
            Effect.timeoutFail({
              duration: callLimit,
              onTimeout: () => new PlatformOutcomeUnknown({ reason: "timeout" })
            })
          )
          const refusal = refusalOf(publication)
          if (refusal !== null) return yield* refusal
          const toSend = yield* identified(publication, (each) => shops.same(store, each))
          const published = yield* shops.apply(store, toSend)
          if (find(failures, "lost") !== undefined) return yield* new PlatformOutcomeUnknown({ reason: "transport" })
          return published
        }),
      readBack: (store, publication) => Effect.zipRight(call(store), shops.applied(store, publication.key)),
      find: (store, _kind, { entityId }) => Effect.zipRight(call(store), shops.find(store, entityId)),
      salesChannels: (store) => live(store, Effect.succeed(channels)),
      entityChannels: (store) => live(store, Effect.succeed(channels.map(onChannel))),
      markets: (store) => section(store, "markets", PlatformMarket),
      metafieldDefinitions: (store, ownerType) =>
        section(store, `metafield-definitions/${ownerType}`, PlatformMetafieldDefinition),
      metaobjectDefinitions: (store) => section(store, "metaobject-definitions", PlatformMetaobjectDefinition),
      metaobjectEntries: (store, type) => section(store, `metaobject-entries/${type}`, PlatformMetaobjectEntry),
      translations: (store, kind) => section(store, `translations/${kind}`, PlatformTranslations)
    }
  }
)
